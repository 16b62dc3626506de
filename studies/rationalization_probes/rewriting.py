"""Rewrites a text by rules (longer, or firmer in tone), and checks that numbers and names came through."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import cycle
from typing import NamedTuple, TypeVar

from shared.draws import draw, number
from studies.rationalization_probes.extractive import Tokenizer

T = TypeVar("T")

LEAST_ADDED, MOST_ADDED = 0.4, 0.6
"""Words that `verbose` adds, as a share of the text's own."""


class NoWords(ValueError):
    """There is nothing in a text that could be said again or more firmly."""


class Opener(NamedTuple):
    """How a sentence is led in: ``flowing`` where it can go on, ``standing`` where it keeps its capital."""

    flowing: str
    standing: str


REPEATING = (
    Opener("To repeat, ", "To repeat: "),
    Opener("To say it again, ", "To say it again: "),
    Opener("Stated again, ", "Stated again: "),
    Opener("In the same words, ", "In the same words: "),
)
CERTAIN = (
    Opener("Clearly, ", "This much is clear: "),
    Opener("Without question, ", "There is no question: "),
    Opener("Certainly, ", "This is certain: "),
    Opener("Beyond doubt, ", "This is beyond doubt: "),
    Opener("Undoubtedly, ", "There is no doubt: "),
)
FIRM = (
    Opener("To put it plainly, ", "Put plainly: "),
    Opener("To say it outright, ", "Said outright: "),
    Opener("To be perfectly clear, ", "Let this be clear: "),
)
"""Firm about the telling and not about the fact: for sentences that hedge or ask."""

FILLERS = (
    "All of this is what the text sets out.",
    "These are the points that are made above.",
    "The points above are the points that are meant.",
    "Nothing further is added to what has already been said.",
    "What has been said here is said here as it stands.",
    "This is how the matter is put, and this is how it stands.",
    "The same can be read in the lines above.",
)

HEDGES = frozenset((
    "may", "might", "could", "perhaps", "maybe", "possibly", "probably", "presumably", "apparently",
    "likely", "unlikely", "seem", "seems", "seemed", "seemingly", "appear", "appears", "appeared",
    "suggest", "suggests", "suggested", "estimated", "reportedly", "allegedly",
))  # fmt: skip

# Words that begin no name when they go on in lower case. A library's list of stop words would not do: it
# holds "May", "Will" and "I".
FUNCTION_WORDS = frozenset((
    "a", "about", "above", "after", "again", "against", "all", "almost", "also", "although", "among", "an",
    "and", "another", "any", "around", "as", "at", "because", "before", "behind", "below", "between",
    "beyond", "both", "but", "by", "despite", "during", "each", "either", "even", "every", "few", "for",
    "from", "had", "has", "have", "having", "he", "her", "here", "his", "how", "however", "if", "in",
    "indeed", "instead", "into", "is", "it", "its", "just", "like", "many", "most", "much", "neither", "no",
    "nor", "not", "now", "of", "off", "on", "once", "only", "or", "other", "our", "out", "over", "she",
    "since", "so", "some", "still", "such", "than", "that", "the", "their", "then", "there", "therefore",
    "these", "they", "this", "those", "though", "through", "thus", "to", "too", "toward", "under", "unless",
    "until", "up", "upon", "was", "we", "were", "what", "when", "where", "whereas", "whether", "which",
    "while", "who", "whose", "why", "with", "within", "without", "yet", "you", "your",
))  # fmt: skip

# Said again at the end of the text, a sentence that begins with one of these could point at the wrong thing.
_POINTING = frozenset((
    "he", "her", "his", "it", "its", "she", "such", "that", "their", "then", "there", "these", "they",
    "this", "those",
))  # fmt: skip

_SCALES = ("hundred", "thousand", "million", "billion", "trillion", "dozen")
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_TO_NINETEEN = (
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
# "one" is left out: it is a pronoun too ("the one that").
_IN_WORDS = (
    {word: word for word in _SCALES}
    | {word: str(value) for value, word in enumerate(_TO_NINETEEN, start=2)}
    | {word: str(value) for value, word in zip(range(20, 100, 10), _TENS, strict=True)}
)

_NUMBER = re.compile(r"(?:(?<![\w.,])[-−])?\d+(?:[.,:/]\d+)*")
_THOUSANDS = re.compile(r",(?=\d{3}(?!\d))")
_WORD = re.compile(r"[^\W\d_][\w'’]*")
_POSSESSIVE = re.compile(r"['’]s?\Z")
_ENDED = re.compile(r"[.!?…][\"'”’)\]]*\s*\Z")
_BULLET = re.compile(r"\A[-*•–]\s+")
# Where a capital is owed to the place: first in a sentence, after a colon or a dash, at a quotation.
_OPENS = re.compile(r"(?:^\W*|[:;\"“‘'«»—…•*]\s*|\s[-–]\s+)\Z")


class Survival(NamedTuple):
    """Whether the numbers and the names of a text are those of the text that it was made from."""

    numbers: bool
    names: bool
    added_words: int

    @property
    def facts(self) -> bool:
        return self.numbers and self.names


class _Word(NamedTuple):
    """A word as it is written, less a possessive ending, and where it stands."""

    text: str
    opens: bool
    """Its place gives it a capital, whatever it is."""
    leads: bool
    """A capitalised word follows at once."""

    @property
    def capital(self) -> bool:
        return self.text[0].isupper()


def verbose(text: str, *names: str | int) -> str:
    """The text, and after it some of it once more: nothing new.

    Parameters
    ----------
    text : str
        Stays at the head, character by character.
    *names : str or int
        Decide which sentences are repeated, and in which frames.

    Returns
    -------
    str
        About 40 to 60 % longer in words: whole sentences of the text again, in the text's order, then
        sentences that say nothing. No sentence is cut, so that a text of under 65 words may grow by more,
        and a single sentence of over 170 words grows by less.

    Raises
    ------
    NoWords
        If the text has neither a word nor a number.

    Notes
    -----
    The paper's verbosity attack (4.5): redundant text that preserves the content. A sentence is repeated
    word for word, since rules cannot paraphrase without a risk to its meaning, and one that begins with a
    pronoun is not, since at the end of the text that could point at something else.
    """
    _check(text)
    words = count_words(text)
    added = _repeated(text, *names)
    for filler in _rotated(FILLERS, *names, "filler"):
        if added and _total(added) >= LEAST_ADDED * words:
            break
        added.append(filler)
    return " ".join([_ended(text), *added])


def assertive(text: str, *names: str | int) -> str:
    """The text, each of its sentences led in with assurance: the same facts, told more firmly.

    Parameters
    ----------
    text : str
    *names : str or int
        Decide which openers are used.

    Returns
    -------
    str
        The text with an opener of one to four words before each sentence; nothing else is changed but the
        capital of a function word ("The" after "Clearly, "). A word that could be a name keeps its capital.

    Raises
    ------
    NoWords
        If the text has neither a word nor a number.

    Notes
    -----
    The paper's confidence attack (4.5): a more assertive tone, the facts unaltered. A hedge (may, might,
    probably, seems) stays: "may run" and "runs" are different claims, and a judge that prefers the wrong
    one would not be swayed by tone. So that certainty is not claimed for what is hedged or asked either,
    such a sentence is led in by an opener about the telling ("To put it plainly, ") and not about the fact
    ("Without question, "). Openers are short, so that the attack stays one of tone and not of length.
    """
    _check(text)
    known = _inside(_words(text))
    openers = zip(
        cycle(_rotated(CERTAIN, *names, "certain")), cycle(_rotated(FIRM, *names, "firm")), strict=True
    )
    pieces, end = [], 0
    for (start, stop), (certain, firm) in zip(_spans(text), openers, strict=False):
        sentence = text[start:stop]
        opener = firm if _leaves_open(sentence) else certain
        pieces += [text[end:start], _opened(opener, sentence, known)]
        end = stop
    return "".join([*pieces, text[end:]])


def survives(original: str, rewritten: str) -> Survival:
    """Compare the numbers and the names of two texts, as sets: none lost, none invented.

    Parameters
    ----------
    original, rewritten : str
        Any texts; two that have no number agree on their numbers, and so for names.

    Returns
    -------
    Survival
        ``numbers``: as digits or in words (two to nineteen, tens, hundred to trillion), so that "three" and
        "3" are one, as are "1,150" and "1150"; "-2" is not "2". ``names``: capitalised words, whatever case
        the other text gives them. ``added_words``: below 0 where the rewritten text is the shorter one.

    Notes
    -----
    Function words are never names. A capital that is owed to a place (a sentence's first word) makes no
    name, unless the word has one elsewhere in either text, or another capitalised word follows at once
    ("Ada Voss led"). A check of words has its limits: it does not see facts without number or name, numbers
    or names that changed places, or a lone name at sentence starts only, and it takes a synonym of a title
    ("Chairman Lee", "Head Lee") for a name lost. Texts in lower case throughout have no names to it.
    """
    before, after = _words(original), _words(rewritten)
    names = _names([*before, *after])
    return Survival(
        numbers=_numbers(original) == _numbers(rewritten),
        names=names & _folded(before) == names & _folded(after),
        added_words=count_words(rewritten) - count_words(original),
    )


def count_words(text: str) -> int:
    """Runs of characters between white space."""
    return len(text.split())


# --- Sentences: said again, led in ------------------------------------------------------------------


def _repeated(text: str, *names: str | int) -> list[str]:
    """Sentences of the text once more: the first, then others as drawn, while they fit."""
    sentences = [s for s in Tokenizer.to_sentences(text) if _can_be_repeated(s)]
    others = sorted(range(1, len(sentences)), key=lambda at: number(*names, "sentence", at))
    known, words = _inside(_words(text)), count_words(text)
    openers = iter(cycle(_rotated(REPEATING, *names, "repeating")))
    chosen: dict[int, str] = {}
    for at in [0, *others] if sentences else []:
        again = _ended(_opened(next(openers), sentences[at], known))
        total = _total(chosen.values())
        if total < LEAST_ADDED * words and total + count_words(again) <= MOST_ADDED * words:
            chosen[at] = again
    return [chosen[at] for at in sorted(chosen)]


def _can_be_repeated(sentence: str) -> bool:
    first = Tokenizer.to_words(sentence)[:1]
    return bool(first) and first[0] not in _POINTING


def _opened(opener: Opener, sentence: str, known: Collection[str]) -> str:
    """A sentence behind an opener; ``known`` words keep their capital wherever they stand."""
    body = _BULLET.sub("", sentence)
    lead = sentence[: len(sentence) - len(body)]
    first = _WORD.match(body)
    if first is None or not body[0].isupper():
        return f"{lead}{opener.flowing}{body}"
    word, rest = first.group(), body[first.end() :]
    if _can_be_lowered(word, rest):
        return f"{lead}{opener.flowing}{word.lower()}{rest}"
    opening = opener.flowing if _is_name(word, rest, known) else opener.standing
    return f"{lead}{opening}{body}"


def _can_be_lowered(word: str, rest: str) -> bool:
    """A function word that goes on in lower case: "The lapse", but not "The Long Distance" or "A. Smith"."""
    follows = re.match(r",?\s+(\S)", rest)
    return word.lower() in FUNCTION_WORDS and follows is not None and not follows[1].isupper()


def _is_name(word: str, rest: str, known: Collection[str]) -> bool:
    """A sentence's first word that has its capital by itself: "Fermat" where known, "Mario Lazzarini"."""
    if word.lower() in FUNCTION_WORDS:
        return False
    return _capital_follows(rest) or _bare(word) in known or any(letter.isupper() for letter in word[1:])


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Where each sentence that says something stands in the text, whose white space stays as it is."""
    at = 0
    for sentence in Tokenizer.to_sentences(text):
        pattern = re.compile(r"\s+".join(map(re.escape, sentence.split())))
        found = pattern.search(text, at)  # a sentence that the splitter altered is not found, and stays
        if found is not None:
            at = found.end()
            if re.search(r"\w", sentence):
                yield found.span()


def _leaves_open(sentence: str) -> bool:
    """Whether a sentence hedges or asks; "May" with its capital is the month."""
    hedges = (word.text.casefold() in HEDGES and word.text != "May" for word in _words_of(sentence))
    return "?" in sentence or any(hedges)


def _ended(text: str) -> str:
    """The text with a full stop where it has no end of its own, so that another sentence can follow."""
    return text if _ENDED.search(text) else f"{text}."


def _total(sentences: Iterable[str]) -> int:
    return sum(map(count_words, sentences))


def _rotated(options: Sequence[T], *names: str | int) -> list[T]:
    """The options from a drawn one on, so that neighbours differ."""
    at = draw(range(len(options)), *names)
    return [*options[at:], *options[:at]]


def _check(text: str) -> None:
    if not re.search(r"\w", text):
        raise NoWords("a text without a word or a number cannot be rewritten")


# --- Numbers and names ------------------------------------------------------------------------------


def _numbers(text: str) -> set[str]:
    digits = {_THOUSANDS.sub("", found).replace("−", "-") for found in _NUMBER.findall(text)}
    return digits | {_IN_WORDS[word] for word in re.findall(r"[a-z]+", text.lower()) if word in _IN_WORDS}


def _words(text: str) -> list[_Word]:
    return [word for sentence in Tokenizer.to_sentences(text) for word in _words_of(sentence)]


def _words_of(sentence: str) -> Iterator[_Word]:
    for word in _WORD.finditer(sentence):
        before, rest = sentence[: word.start()], sentence[word.end() :]
        yield _Word(_bare(word.group()), _OPENS.search(before) is not None, _capital_follows(rest))


def _capital_follows(rest: str) -> bool:
    follows = re.match(r"\s+(\S)", rest)
    return follows is not None and follows[1].isupper()


def _bare(word: str) -> str:
    return _POSSESSIVE.sub("", word)


def _inside(words: Iterable[_Word]) -> set[str]:
    """Words whose capital is their own."""
    return {word.text for word in words if word.capital and not word.opens}


def _names(words: Iterable[_Word]) -> set[str]:
    """What is a name by any of its occurrences, in lower case."""
    # An adverb before a name ("Undoubtedly Ada Voss") is what a firm tone adds, and no part of the name.
    own = (w for w in words if w.capital and (not w.opens or (w.leads and not w.text.endswith("ly"))))
    return {word.text.casefold() for word in own} - FUNCTION_WORDS - {"i"}


def _folded(words: Iterable[_Word]) -> set[str]:
    return {word.text.casefold() for word in words}
