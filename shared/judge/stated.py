"""Which of two candidates a text states to be better, or names as better, read by rules over its clauses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from shared.judge import stated_words as words
from shared.judge.stated_marks import marked, plain

Stated = Literal["first", "second", "tie", "none"]

CHOICE, COMPARISON, BOTH_BEST, REMARK, LIKENESS = 4, 3, 2, 1, 0
"""How directly a clause states a preference: a choice outranks a comparison, which outranks calling both the
best, which outranks praise or criticism of one candidate alone, which outranks saying that both are alike."""


def stated_preference(rationale: str, candidate: str = "summary") -> Stated:
    """Which candidate the rationale itself states to be better.

    Parameters
    ----------
    rationale : str
        Any text. It names candidates by their place on the screen ("summary_1", "the second one").
    candidate : str
        What candidates are called, besides "summary", "answer", "candidate", "option" and "response".

    Returns
    -------
    {"first", "second", "tie", "none"}
        A place on the screen; ``tie`` where it says that they are equal or that neither is better; ``none``
        where it states nothing, only describes, praises or criticises both apart, or contradicts itself.

    Notes
    -----
    Rules over words, for English. Praise of one candidate alone, or criticism of the other alone, counts as
    stating it better; what is conceded ("although ...") gives way; a negation turns what stands up to four
    words after it. Limits: irony; a quality word that is the document's own ("explains why the old design
    was weak" reads as criticism); a word that is in no list; a rationale that names no candidate; "the
    former" and "the latter", which are taken as the first and the second.

    Examples
    --------
    >>> stated_preference("Summary_2 omits the date, while summary_1 has no errors.")
    'first'
    >>> stated_preference("Neither summary is clearly better.")
    'tie'
    """
    text = marked(plain(rationale), candidate)
    stated = _decide(_evidence(text))
    return stated if stated != "none" else _by_scores(text)


def named_better(text: str, candidate: str = "answer") -> Stated:
    """Which candidate a text names as better in so many words: by a choice or a comparison alone.

    Parameters
    ----------
    text, candidate : str
        As in `stated_preference`.

    Returns
    -------
    {"first", "second", "tie", "none"}
        A place on the screen; ``tie`` where it chooses neither, or both; ``none`` where it names nobody,
        whatever it praises or criticises, and where its choices, or its comparisons without a choice,
        contradict each other: "both are the best" contradicts "the second is the best".

    Notes
    -----
    A comparison in one respect ("more complete") names its candidate as better, as a choice does. Scores,
    and that both are alike in something, name nobody. The limits are those of `stated_preference`.

    Examples
    --------
    >>> named_better("Answer 1 omits the date. Answer 2 gives it and is more complete.")
    'second'
    >>> named_better("Answer 1 omits the date. Answer 2 gives it.")
    'none'
    """
    return _decide(_evidence(marked(plain(text), candidate)), BOTH_BEST)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a clause says: how directly, of whom (a mark), and whether it speaks for it.

    ``about`` BOTH or NEITHER speaks for a tie.
    """

    level: int
    about: str
    good: bool
    conceded: bool = False

    @property
    def favours(self) -> Stated:
        if self.about not in ("FIRST", "SECOND"):
            return "tie"
        return "first" if (self.about == "FIRST") == self.good else "second"


def _decide(found: Sequence[Evidence], least: int = LIKENESS) -> Stated:
    """What the most direct evidence says, at least so direct; where that contradicts itself, nothing."""
    live = [evidence for evidence in found if not evidence.conceded] or found
    both_best = any(evidence.level == BOTH_BEST for evidence in live)
    alike = both_best or any(evidence.level == LIKENESS for evidence in live)
    for level in (CHOICE, COMPARISON, BOTH_BEST):
        favoured = {evidence.favours for evidence in live if evidence.level == level}
        if level == CHOICE and favoured and both_best:
            favoured.add("tie")  # what chooses both contradicts what chooses one
        if len(favoured) == 1:
            return favoured.pop()
        if favoured:
            return "tie" if alike and level == COMPARISON else "none"
    if least > REMARK:
        return "none"
    balance = _net(live, "FIRST") - _net(live, "SECOND")
    if balance:
        return "first" if balance > 0 else "second"
    return "tie" if alike else "none"


def _net(found: Sequence[Evidence], about: str) -> int:
    """1: more praise than criticism of this candidate; -1: less; 0: as much, or neither."""
    signs = [1 if e.good else -1 for e in found if e.level == REMARK and e.about == about]
    return (sum(signs) > 0) - (sum(signs) < 0)


def _by_scores(text: str) -> Stated:
    """The preference of a rationale that does no more than give both their scores ("4.5 of 5")."""
    scores = {mark: float(score) for mark, score in _SCORE.findall(text)}
    if len(scores) < 2:
        return "none"
    difference = scores["FIRST"] - scores["SECOND"]
    return "tie" if not difference else "first" if difference > 0 else "second"


_SCORE = re.compile(r"\b(FIRST|SECOND)\b(?:(?!FIRST|SECOND)\D){0,30}?([1-5](?:\.\d+)?) ?(?:of|/|out of) ?5\b")

# --- Clauses ------------------------------------------------------------------------------------------

_CONCEDES = ("although", "though", "even though", "despite", "admittedly")
_CONTRASTS = ("while", "whilst", "whereas")
_TURNS = ("but", "however", "nevertheless", "yet")
_CONCLUDES = ("thus", "therefore", "hence", "so")

_SENTENCE = re.compile(r"[!?;]+|\.(?!\d)")
_ALWAYS_LINK = (*_CONCEDES, *_CONTRASTS, *_TURNS[:-1], *_CONCLUDES[:-1], "because", "since")
_LINK = re.compile(rf"\b({'|'.join(_ALWAYS_LINK)})\b|(?:^|(?<=, ))(yet|so)\b")
_NEXT_NAMED = re.compile(r"(?:[,:()]\s*(?:and\s+)?|\band\s+)(?=[^,:()]*\b(?:FIRST|SECOND|BOTH|NEITHER)\b)")
_MARK = re.compile(r"\b(FIRST|SECOND|BOTH|NEITHER)\b")
_LEADS_TO_MARK = re.compile(r"\b(?:in|from|of|by|with|for|on|to|is|makes?|making|gives?|only)\W*$")
_RELATIVE = re.compile(r"\b(?:that|which|what|where)\W*$")
_NOT_A_CANDIDATE = re.compile(
    r"^\W*(?:the|this) (?:document|source|text|article|passage|question|original)\b"
)
_ALONE = re.compile(r"\bonly (FIRST|SECOND)\b|\b(FIRST|SECOND) (?:alone\b|is the only\b|only *$)")
_OVERALL = re.compile(r"\b(?:overall|on balance|in the end|ultimately|all in all|altogether|in sum)\b")


def _evidence(text: str) -> list[Evidence]:
    """What all clauses say; one that names nobody is about the candidate that was named last."""
    found: list[Evidence] = []
    subject, start = "", 0
    for sentence in _SENTENCE.split(text):
        named = ""
        for link, clause in _clauses(sentence.strip()):
            parts = list(_parts(clause, named, subject))
            said = _said(clause, parts, link) or list(_opposite(clause, parts[-1][0], found[start:]))
            if link in _TURNS and said:
                found[start:] = [_giving_way(evidence, said[-1].about) for evidence in found[start:]]
            start = len(found)
            found += said
            subject = parts[-1][0] or subject
            named = subject if _MARK.search(clause) else named
    return found


def _opposite(clause: str, about: str, before: Sequence[Evidence]) -> Iterator[Evidence]:
    """What "the second does not" says: the opposite of the clause before it."""
    if about in ("FIRST", "SECOND") and words.LIKEWISE_NOT.search(clause):
        good = not before[-1].good if before and before[-1].about != about else " not" not in clause
        yield Evidence(REMARK, about, good)


def _clauses(sentence: str) -> Iterator[tuple[str, str]]:
    """Clauses, each with the word that leads it in; "while" concedes where it opens the sentence."""
    at, link = 0, ""
    for found in _LINK.finditer(sentence):
        yield from _pieces(link, sentence[at : found.start()])
        link = found[1] or found[2]
        if link in _CONTRASTS and found.start() == 0:
            link = "although"
        at = found.end()
    yield from _pieces(link, sentence[at:])


def _pieces(link: str, text: str) -> Iterator[tuple[str, str]]:
    """The text, split where another candidate is named; a concession ends at a comma."""
    if link in _CONCEDES and "," in text.strip(" ,"):
        conceded, text = text.strip(" ,").split(",", 1)
        yield link, conceded
        link = ""
    for piece in _NEXT_NAMED.split(text):
        if piece.strip(" ,:"):
            yield link, piece.strip()
            link = "" if link in _CONCEDES else link


def _parts(clause: str, named: str, subject: str) -> Iterator[tuple[str, str]]:
    """What is said of whom: what follows a name, and what stands before it where it leads to it.

    ``named`` was named last in the sentence, ``subject`` in the text.
    """
    before, *rest = _MARK.split(clause)
    if not rest:
        yield ("" if _NOT_A_CANDIDATE.match(clause) else subject), clause
        return
    texts = rest[1::2]
    if _LEADS_TO_MARK.search(before) or not (named or _RELATIVE.search(before)):
        texts[0] = f"{before} / {texts[0]}"
    elif named:
        yield named, before
    yield from zip(rest[::2], texts, strict=True)


def _giving_way(evidence: Evidence, about: str) -> Evidence:
    """Before a "but", likeness gives way, and praise of the candidate that the "but" is about."""
    gives_way = evidence.favours == "tie" or (evidence.level == REMARK and evidence.about == about)
    return replace(evidence, conceded=evidence.conceded or gives_way)


# --- What a clause says -------------------------------------------------------------------------------


def _said(clause: str, parts: Sequence[tuple[str, str]], link: str) -> list[Evidence]:
    conceded = link in _CONCEDES
    concluding = link in _CONCLUDES or _OVERALL.search(clause) is not None
    said = [evidence for about, text in parts for evidence in _of_part(about, text, concluding, conceded)]
    if (alone := _ALONE.search(clause)) and not said:
        said = [Evidence(REMARK, alone[1] or alone[2], True, conceded)]
    said += [
        Evidence(BOTH_BEST if found[1] == "BOTH" else CHOICE, found[1], _holds(clause, found), conceded)
        for found in words.CHOOSES.finditer(clause)
    ]
    if any(_holds(clause, found) for found in words.NO_CHOICE.finditer(clause)):
        return [*said, Evidence(CHOICE, "BOTH", True, conceded)]
    if any(_holds(clause, found) for found in words.ALIKE.finditer(clause)):
        # "Equally clear" is no praise of one.
        said = [evidence for evidence in said if evidence.level != REMARK]
        return [*said, Evidence(LIKENESS, "BOTH", True, conceded)]
    return said


def _of_part(about: str, text: str, concluding: bool, conceded: bool) -> Iterator[Evidence]:
    """Judgements about one candidate; about both, or neither, they say that these are alike."""
    compared = re.search(r"\bTHAN_(FIRST|SECOND)\b", text)
    if compared and about in ("", compared[1]):
        about = "SECOND" if compared[1] == "FIRST" else "FIRST"
    for level, good in _judged(" ".join(text.split())):
        raised = CHOICE if concluding and level == COMPARISON else level
        if about == "NEITHER" and level >= COMPARISON:
            yield Evidence(CHOICE, about, good, conceded)
        elif about in ("BOTH", "NEITHER"):
            yield Evidence(BOTH_BEST if raised == CHOICE else LIKENESS, about, good, conceded)
        elif about:
            yield Evidence(raised, about, good, conceded)


def _judged(text: str) -> Iterator[tuple[int, bool]]:
    """Each judging word: how direct it is, and whether it speaks for its candidate."""
    text = words.ALIKE.sub(lambda found: " " if _holds(found.string, found) else found[0], text)
    for pattern, level, good in _RULES:
        for found in pattern.finditer(text):
            speaks_for = good(found) if callable(good) else good
            if speaks_for is not None:
                yield level, speaks_for == _holds(text, found)
        if level > REMARK or pattern in _PHRASES:
            text = pattern.sub(" - ", text)


_PHRASES = (words.WOULD_GAIN, words.NOT_ENOUGH, words.NOT_AS)
_RULES: tuple[tuple[re.Pattern[str], int, bool | Callable[[re.Match[str]], bool | None]], ...] = (
    (words.WOULD_GAIN, REMARK, False),
    (words.NOT_ENOUGH, REMARK, False),
    (words.NOT_AS, COMPARISON, words.is_not_as_good),
    (words.CHOSEN, CHOICE, True),
    (words.MORE, COMPARISON, words.is_more_good),
    (words.BETTER, COMPARISON, True),
    (words.WORSE, COMPARISON, False),
    (words.CRITICISM, REMARK, False),
    (words.PRAISE, REMARK, True),
)
"""What is looked for in turn; a comparison that was read is taken out of the text."""


def _holds(text: str, found: re.Match[str]) -> bool:
    return not words.is_negated(text, *found.span())
