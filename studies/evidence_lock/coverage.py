"""How far a record covers an answer: how near its nearest sentence is to each sentence of the answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import numpy as np

from shared.errors import UserError
from shared.metrics.resampling import Array, ratio
from shared.sentences import segment

Vectors = Mapping[str, Array]
"""A vector of each sentence, from `shared.embedding.read_vectors`."""

UNNAMED = "the answer"

_MARKER = re.compile(r"\A\s*(?:[-*+•·>]+|#{1,6}|\(?\d{1,3}[.)])\s+")
_WORD = re.compile(r"\w")
_SPACE = re.compile(r"\s+")


def sentences(text: str) -> list[str]:
    """Sentences of an answer or a record, in order.

    Parameters
    ----------
    text : str

    Returns
    -------
    list of str
        White space collapsed, without the marks of lists and headings. A sentence never spans two lines,
        since the lines of a list are its points. What has no word or number is no sentence.

    Notes
    -----
    A line that `segment` does not give back whole is one sentence: nothing of a text is lost.

    Examples
    --------
    >>> sentences("Two ways:\\n- Call Dr. Voss. She answers.\\n- Write.\\n***")
    ['Two ways:', 'Call Dr. Voss.', 'She answers.', 'Write.']
    """
    return list(_sentences(text))


@cache
def _sentences(text: str) -> tuple[str, ...]:
    lines = (" ".join(_MARKER.sub("", line).split()) for line in text.splitlines())
    return tuple(found for line in lines for found in _of_line(line) if _WORD.search(found))


def _of_line(line: str) -> list[str]:
    found = [sentence.strip() for sentence in segment(line)]
    return found if _SPACE.sub("", "".join(found)) == _SPACE.sub("", line) else [line]


def unnamed(text: str, names: Iterable[str]) -> str:
    """A record's text with `UNNAMED` for each name of a candidate, which stands in no answer.

    Parameters
    ----------
    text : str
    names : iterable of str
        Neutral names: a letter would be an article, too.

    Notes
    -----
    To the embedded encoder "Cedar gives 1932 as the year" is less like the answer's own sentence than "Gives
    1932 as the year", by about 0.1 of cosine; "the answer gives 1932 as the year" is as like it.

    Examples
    --------
    >>> unnamed("Cedar gives the year; cedar's tone is calm.", ("Cedar", "Holly"))
    "the answer gives the year; the answer's tone is calm."
    """
    either = "|".join(map(re.escape, names))
    return re.sub(rf"\b(?:{either})\b", UNNAMED, text, flags=re.IGNORECASE)


def coverage(answer: Sequence[str], record: Sequence[str], vectors: Vectors) -> Array:
    """Of each sentence of an answer, the cosine to the nearest sentence of a record.

    Parameters
    ----------
    answer, record : sequence of str
        Sentences, from `sentences`.
    vectors : mapping
        Of any length.

    Returns
    -------
    ndarray, shape (len(answer),)
        In [-1, 1]: 1 where the record has the sentence itself. nan where the record has no sentence, or a
        vector has no direction.

    Raises
    ------
    UserError
        If a sentence has no vector.

    Notes
    -----
    A sentence encoder is near-sighted for single words: a record that gets a number or a "not" wrong still
    covers the sentence. And two sentences about one subject are alike in any case: the floor is what the
    text on one answer covers of the other (see `lost.lost_rows`, ``own_less_other``).

    References
    ----------
    Zhang et al. (2020), BERTScore, ICLR: recall by the greatest cosine, there over tokens.

    Examples
    --------
    >>> vectors = {"a": np.array([1.0, 0.0]), "b": np.array([0.0, 2.0]), "c": np.array([3.0, 4.0])}
    >>> coverage(["a", "b"], ["a", "c"], vectors).round(6).tolist()
    [1.0, 0.8]
    """
    if not answer or not record:
        return np.full(len(answer), np.nan)
    return np.asarray((_unit(answer, vectors) @ _unit(record, vectors).T).max(axis=1))


def _unit(texts: Sequence[str], vectors: Vectors) -> Array:
    """Vectors of length 1, shape (n, d)."""
    try:
        array = np.stack([vectors[text] for text in texts]).astype(float)
    except KeyError as absent:
        told = f"no vector of {absent.args[0][:80]!r}; run the `embed` stage (make repro)"
        raise UserError(f"data/evidence_lock/embeddings.parquet: {told}") from None
    return ratio(array, np.linalg.norm(array, axis=1, keepdims=True))
