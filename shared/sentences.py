"""Sentences of a paragraph, by rules; nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache


def segment(paragraph: str) -> list[str]:
    """The sentences of an English text without line breaks, in order, each with the space that follows it.

    Notes
    -----
    pysbd, Sadvilkar and Neumann (2020), Proceedings of NLP-OSS, 110-114. It finds its sentences again in the
    text: one that its rules have changed on the way is left out.
    """
    return list(_segmenter()(paragraph))


@cache
def _segmenter() -> Callable[[str], list[str]]:
    # Imported where it is used: a stage that only loads texts starts without it.
    from pysbd import Segmenter

    return Segmenter(language="en", clean=False).segment
