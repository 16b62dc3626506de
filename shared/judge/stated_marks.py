"""The candidates that a text names, made into marks: words in capitals, where all others are small.

FIRST, SECOND, BOTH and NEITHER are spoken of; THAN_FIRST and THAN_SECOND are what these are compared with.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from shared.judge.stated_words import any_of

NAMES = ("summary", "answer", "candidate", "option", "response")


def plain(text: str) -> str:
    """Small letters, no markup, straight quotes, single spaces, "not" for "n't"."""
    text = unicodedata.normalize("NFKC", text).casefold()
    text = "".join(char for char in text if unicodedata.category(char) != "Cf")
    text = re.sub(r"\n\s*\n|\n\s*(?:[-•*]|\d[.)])\s", ". ", text)  # a paragraph or a point ends a sentence
    text = re.sub(r"[‘’ʼ´]", "'", text)
    text = re.sub(r"\s*[–—]\s*|\s+--?\s+", ", ", text)
    text = re.sub(r"[*_`#~\\|<>\[\]{}\"“”„«»]", " ", text)
    text = re.sub(r"\bcan(?:not|'t)\b", "can not", text)
    return " ".join(re.sub(r"n't\b", " not", text).split())


def numbered(text: str, names: Sequence[str], candidate: str = "answer") -> str:
    """A text that names its candidates by their numbers: "Cedar" becomes "answer 1".

    Parameters
    ----------
    text : str
        As it was written, not yet `plain`.
    names : sequence of str
        What the text calls the candidates, the first shown first.
    candidate : str
        What comes before the number.

    Returns
    -------
    str
        Names are found as whole words in any case, with "the answer" before them or without. A name of one
        letter is read as one after such a word, and in capitals before a verb or a mark ("A is", "than B."),
        since "A clear text" names nobody.

    Examples
    --------
    >>> numbered("Answer Cedar gives the date, willow doesn't.", ("Cedar", "Willow"))
    "answer 1 gives the date, answer 2 doesn't."
    """
    found = re.compile("|".join(f"({_called(name)})" for name in names))
    return found.sub(lambda match: f"{candidate} {match.lastindex}", text)


def _called(name: str) -> str:
    """A regular expression for one name, without groups that capture."""
    noun = rf"(?i:\b(?:the )?(?:{'|'.join(NAMES)})[ :_#-]{{1,2}})"
    word = rf"['‘]?(?<![^\W_]){re.escape(name)}(?![^\W_])(?:['’](?!\w))?"
    if len(name) == 1:
        return rf"{noun}{word}|(?<![^\W_]){re.escape(name)}{_LETTER_ENDS}"
    return rf"{noun}?(?i:{word})"


def marked(text: str, candidate: str) -> str:
    """A `plain` text with marks for its candidates.

    Parameters
    ----------
    text : str
    candidate : str
        What candidates are called, besides `NAMES`.
    """
    names = list(dict.fromkeys((candidate.casefold(), *NAMES)))
    for pattern, mark in _patterns(names):
        text = re.sub(pattern, mark, text)
    while found := re.search(r"\bOTHER\b", text):
        before, after = text[: found.start()], text[found.end() :]
        text = f"{before}{_other(before, after)}{after}"
    text = re.sub(
        rf"(\b{_COMPARED}|, (?:and )?not) (?:that of |those of |what )?(FIRST|SECOND)\b", r"\1 THAN_\2", text
    )
    text = re.sub(rf"\bnot {_THINK} (FIRST|SECOND|BOTH) (is|are|was|were)\b", r"\1 \2 not", text)
    return re.sub(rf"\b({_FAULT}) (?:in|of|from|by) (FIRST|SECOND)\b", r", \2 \1, ", text)


def _patterns(names: list[str]) -> Iterator[tuple[str, str]]:
    """Regular expressions and the marks that take their place, in the order in which they apply."""
    name = f"(?:{'|'.join(map(re.escape, names))})"
    names_ = f"(?:{'|'.join(re.escape(re.sub('y$', 'ie', one)) + 's' for one in names)})"
    numbered = rf"\b{name}(?:\s*(?:no\.?|number|[-:]))?\s*\(?"
    yield rf"\b{names_} 1{_AND}2\b|{numbered}1\b\)?{_AND}(?:the )?2\b", "BOTH"
    for number, mark in ((rf"(?:1|one{_COUNTED})", "FIRST"), (rf"(?:2|two{_COUNTED})", "SECOND")):
        yield rf"(?:\bthe )?{numbered}{number}\b(?!\.\d)\)?", mark
    for ordinal, old, mark in (("first|1st", "former", "FIRST"), ("second|2nd", "latter", "SECOND")):
        adjective = r"(?: (?!and\b|or\b|than\b|to\b|of\b)[\w-]+,?)?"
        yield rf"\b(?:the )?(?:{ordinal}),?{adjective} (?:{name}|one|text|version|output)\b", mark
        yield rf"\bthe (?:{ordinal}|{old}){_ENDS}", mark
    yield rf"\b(?:(?:the )?first|FIRST){_AND}(?:the )?SECOND\b|\bSECOND{_AND}FIRST\b", "BOTH"
    yield rf"\bneither BOTH\b|\b(?:neither|no) (?:{name}|one)\b(?= \w)", "NEITHER"
    yield rf"\bneither\b(?= {_SINGULAR_VERB}\b)", "NEITHER"
    two = rf"(?:the |these |those )?(?:two )?(?:{names_}|texts|versions|them|ones|BOTH)\b"
    yield rf"\b(?:neither|none) (?:of )?{two}", "NEITHER"
    yield rf"\b(?:of|among|between) (?:the two|both)\b(?: (?:{names_}|texts))?|\b(?:among|between) {two}", " "
    yield rf"\b(?:both|either) (?:of )?{two}|\beither (?:{name}|one)\b|\bthey (?:both|all|are both)\b", "BOTH"
    yield rf"\b(?:the |these )(?:two )?{names_}\b|\bboth\b(?= {_PLURAL_VERB}\b)", "BOTH"
    yield rf"\bthe other(?: (?:{name}|one)\b|{_ENDS})|\b(?:its|the) (?:rival|counterpart)\b", "OTHER"


def _other(before: str, after: str) -> str:
    """The candidate that "the other" means: not the one named last, or else not the one named next."""
    named = [*re.findall(r"FIRST|SECOND", after)[:1], *re.findall(r"FIRST|SECOND", before)]
    return "FIRST" if named and named[-1] == "SECOND" else "SECOND"


_AND = r"\s*(?:,? and|or|nor|&|/|as well as)\s*"
_COUNTED = r"(?! (?:more|of|question))"  # "answer one question" names none
_FOLLOWS = any_of(r"""
    is, was, are, has, had, does, did, do, can, could, would, should, lacks?, misses, omits, gives, covers,
    keeps, captures, includes, provides, states, mentions, reads, offers, contains, leaves, fails, adds,
    makes, uses, explains, describes, presents, wins, drops, skips, repeats, gets, flows, stays, seems,
    feels, but, and, or, while, whereas, because, since, as, for, in, over, by, with, which, that, also,
    only, even, just, more, less, better, clearly, accurately, correctly
""")
_ENDS = rf"(?=\s*(?:$|[,.;:!?)])| {_FOLLOWS}\b)"  # "the first" by itself, not "the first sentence"
_LETTER_ENDS = (
    rf"(?:(?=['’]s\b)|(?=['’]? ?[*\"”_]*(?:\Z|[\n,.;:!?)]))|(?= {_FOLLOWS}\b)"
    r"(?! (?:more|less|better|also|only|even|just|clearly|accurately|correctly)\b))"
)  # "A better answer" names none
_SINGULAR_VERB = any_of(r"""
    is, was, has, does, can, could, seems, clearly, really, stands?, omits, misses, adds, contains, covers
""")
_PLURAL_VERB = any_of(r"""
    are, were, have, do, cover, capture, omit, lack, miss, fail, contain, include, provide, give, keep,
    read, get, seem, say, state, tell, share, describe, mention, convey, present, equally, also,
    accurately, correctly
""")
_COMPARED = any_of(r"""
    than, over, unlike, compared (?:to|with), in (?:contrast|comparison) (?:to|with), relative to,
    as opposed to, rather than, instead of, versus, vs\.?, against, ahead of, above, outperforms, beats,
    surpasses, exceeds, outdoes, edges(?: out)?, tops, behind, below, as [\w-]+ as, similar to, same as,
    equal to, equivalent to, identical to, comparable (?:to|with), matches, equals, on par with
""")
_THINK = r"(?:think|believe|find|feel|say)(?: that)?"
_FAULT = (
    r"(?:(?:no|nothing|nothing is|without|any|fewer|more|the|an?|some) )?(?:\w+ )?"
    r"(?:errors?|mistakes?|omissions?|gaps?|flaws?|repetition|redundancy|wordiness|inaccuracy|"
    r"inaccuracies|missing|absent)"
)
