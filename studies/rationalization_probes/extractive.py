"""Extractive summaries by TextRank, LexRank, KL-Sum and SumBasic; nothing is downloaded."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args

from shared.sentences import segment

if TYPE_CHECKING:
    from sumy.models.dom import ObjectDocumentModel

System = Literal["textrank", "lexrank", "klsum", "sumbasic"]
SYSTEMS: tuple[System, ...] = get_args(System)

_PARAGRAPH = re.compile(r"\n\s*\n")
# A word starts with a letter and may go on with letters, digits, hyphens and apostrophes, in any alphabet.
_WORD = re.compile(r"[^\W\d_][\w'\u2019-]*")


class Tokenizer:
    """Sentences and words for sumy, without the corpora that its own tokenizer downloads."""

    language = "english"

    @staticmethod
    def to_sentences(text: str) -> tuple[str, ...]:
        """Sentences of a text, in order, white space collapsed; one never spans two paragraphs."""
        paragraphs = (" ".join(part.split()) for part in _PARAGRAPH.split(text))
        return tuple(s.strip() for part in paragraphs for s in segment(part) if s.strip())

    @staticmethod
    def to_words(text: str) -> tuple[str, ...]:
        """Lower-case words of a sentence; numbers and punctuation are no words."""
        return tuple(word.lower() for word in _WORD.findall(text))


def summarise(text: str, sentences: int) -> dict[System, str]:
    """The extract that each of the four systems makes of a text.

    Parameters
    ----------
    text : str
        A document; blank lines separate paragraphs.
    sentences : int
        How many sentences an extract has, at least 1. A document with no more than that many is its
        own extract.

    Returns
    -------
    dict of System to str
        Sentences verbatim (white space collapsed), in document order, joined by a space.

    Raises
    ------
    ValueError
        If ``sentences`` is below 1 or the text holds no word.

    Notes
    -----
    sumy 0.12 with its English stop words and without a stemmer: its SumBasic stems before it drops stop
    words in one place and after it in another, and fails where a stem is a stop word. KL-Sum's cost
    grows with the square of the number of sentences.

    References
    ----------
    Mihalcea and Tarau 2004 (TextRank); Erkan and Radev 2004 (LexRank); Haghighi and Vanderwende 2009
    (KL-Sum); Nenkova and Vanderwende 2005 (SumBasic). The paper names the systems and no settings.
    """
    if sentences < 1:
        raise ValueError(f"extractive_sentences must be at least 1, not {sentences}")
    # A sentence without words (a rule of asterisks) has nothing to be ranked by.
    usable = [s for s in Tokenizer.to_sentences(text) if Tokenizer.to_words(s)]
    if not usable:
        raise ValueError("a text without words has no extractive summary")
    if len(usable) <= sentences:
        return dict.fromkeys(SYSTEMS, " ".join(usable))
    model = _model(usable)
    return {name: " ".join(map(str, _summariser(name)(model, sentences))) for name in SYSTEMS}


def _model(sentences: Sequence[str]) -> ObjectDocumentModel:
    """sumy's document, built directly: its plain-text parser takes lines in capitals for headings."""
    from sumy.models.dom import ObjectDocumentModel, Paragraph, Sentence

    return ObjectDocumentModel([Paragraph([Sentence(s, Tokenizer) for s in sentences])])


@cache
def _summariser(system: System) -> Callable[[ObjectDocumentModel, int], Any]:
    # sumy is imported where it is used: a stage that only loads documents starts without it.
    from sumy.summarizers.kl import KLSummarizer
    from sumy.summarizers.lex_rank import LexRankSummarizer
    from sumy.summarizers.sum_basic import SumBasicSummarizer
    from sumy.summarizers.text_rank import TextRankSummarizer
    from sumy.utils import get_stop_words

    classes = {
        "textrank": TextRankSummarizer,
        "lexrank": LexRankSummarizer,
        "klsum": KLSummarizer,
        "sumbasic": SumBasicSummarizer,
    }
    summariser = classes[system]()
    summariser.stop_words = get_stop_words(Tokenizer.language)
    return summariser
