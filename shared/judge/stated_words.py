"""The words by which a rationale judges: praise, criticism, comparison, choice, likeness."""

from __future__ import annotations

import re


def any_of(listed: str) -> str:
    """A group of alternatives, each a regular expression; ", " stands between them."""
    return f"(?:{'|'.join(' '.join(listed.split()).split(', '))})"


def _compiled(*alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(alternatives)})(?!\w)")


# --- Praise and criticism of one candidate ------------------------------------------------------------

_GOOD = any_of(r"""
    accurate, clear, complete, concise, succinct, fluent, faithful, detailed, comprehensive, readable,
    coherent, cohesive, precise, correct, thorough, informative, balanced, specific, good, great,
    excellent, strong, solid, nice, impressive, crisp, full, rich, helpful, useful, relevant, reliable,
    trustworthy, credible, convincing, consistent, logical, natural, smooth, polished, direct,
    effective, perfect, flawless, engaging, nuanced, exact, elegant, well[- ]\w+, error[- ]free,
    to the point, on point, true to, easy to (?:read|follow|understand)
""")
_BAD = any_of(r"""
    inaccurate, unclear, incomplete, verbose, wordy, redundant, repetitive, repetitious, vague, awkward,
    wrong, incorrect, false, misleading, confusing, confused, clumsy, choppy, disjointed, rambling,
    weak, poor, bad, sloppy, unsupported, irrelevant, incoherent, superficial, shallow, long-winded,
    bloated, muddled, imprecise, garbled, generic, flawed, unfaithful, unreliable, inconsistent,
    ungrammatical, stilted, cryptic, overlong, lengthy, sparse, patchy, distorted, truncated,
    unfinished, off-topic, ambiguous, convoluted, unnecessary, missing, absent, lacking, invented,
    thin, flat, (?:hard|difficult) to (?:read|follow|understand)
""")
FAULTS = any_of(r"""
    errors?(?!-free), mistakes?, slips?, inaccurac(?:y|ies), flaws?, gaps?, omissions?, repetitions?,
    redundanc(?:y|ies), padding, filler, typos?, (?<!strengths and )weakness(?:es)?, distortions?,
    contradictions?, hallucinations?, inventions?
""")
_ADVERBS = any_of(r"""
    accurately, faithfully, correctly, fluently, concisely, precisely, thoroughly, coherently,
    completely, closely, clearly, fully, directly, smoothly, naturally, effectively
""")
_DOES_WELL = any_of(r"""
    cover(?:s|ed|ing)?, captur(?:es?|ed|ing), includ(?:es?|ed|ing), keeps?, keeping, kept,
    preserv(?:es?|ed|ing), retain(?:s|ed|ing)?, convey(?:s|ed|ing)?, reflects?, flows?, reads well,
    sticks, adheres, supported, succeeds?, excels?, highlights?, answers? (?=the |it),
    (?:has|contains|gives|states|mentions|provides) (?:all|every),
    follows the (?:document|source|text|passage|question), stays (?:close|true|faithful),
    gets? (?:\w+ ){0,4}right,
    (?:accurately|faithfully|correctly|fluently|concisely|precisely|thoroughly|coherently),
    (?:clearly|fully|completely) (?=(?:stat|explain|describ|present|convey|cover|captur|answer|summari)\w*)\w+
""")
_DOES_BADLY = any_of(r"""
    lack(?:s|ed|ing)?, omit(?:s|ted|ting)?, miss(?:es|ed), fail(?:s|ed|ing)?,
    leav(?:es|ing) (?:\w+ ){0,4}?out, left out, drop(?:s|ped|ping)?, skip(?:s|ped|ping)?,
    ignor(?:es|ed|ing), overlook(?:s|ed|ing)?, neglect(?:s|ed|ing)?, contradict(?:s|ed|ing)?,
    invent(?:s|ing), fabricat(?:es?|ed|ing), hallucinat(?:es?|ed|ing),
    mis(?:states?|stated|represents?|represented|reads|quotes?|reports?|leads?), distort(?:s|ing),
    exaggerat(?:es?|ed|ing), overstat(?:es?|ed|ing), understat(?:es?|ed), repeat(?:s|ed|ing)?,
    rambl(?:es|ed), wanders, strays, drifts, departs, deviates, confuses, conflates, mixes up, suffers,
    falls short, struggles, buries, drags, makes up, stops halfway,
    leaves (?:the reader|us|it|one), gets? (?:\w+ ){0,4}wrong, needs? (?:more|better|to),
    too (?!close)\w+, overly, unnecessarily, excessively,
    (?:only|merely|just|barely) (?:cover|mention|state|describe|give|touch|list|name|report|include)(?:s|es)?,
    (?:longer|more) than (?:needed|necessary|required),
    (?:(?:does|do|did) not|never) (?:\w+ )?(?:mention|state|say|explain|describe|give|provide)s?,
    (?:(?:does|do|did) not|never) (?:\w+ )?(?:report|note|tell|discuss|name|show|make|reflect)s?,
    (?:(?:does|do|did) not|never) (?:\w+ )?(?:represent|support|match|convey|answer|address)(?:s|es)?,
    (?:does|do|did) not contain the
""")

PRAISE = _compiled(_GOOD, _DOES_WELL)
CRITICISM = _compiled(_BAD, FAULTS, _DOES_BADLY)
LIKEWISE_NOT = re.compile(
    r"\b(?:(?:does|did|do|is|was|has) not|(?:has|have|shows|contains|makes) none|does|did|do)\W*$"
)
"""The end of a clause that leaves out what the one before has said, of which it says the opposite."""
WOULD_GAIN = _compiled(
    r"(?:could|should|might) (?:have been |have |be |use |do )(?:\w+ )?(?:\w+er|more|less)(?: \w+)?",
    r"would (?:be|have been) (?:\w+ )?\w+(?= if\b)",
)
_SOURCE = r"(?:document|source|text|passage|article|original)"
NOT_ENOUGH = _compiled(
    r"not (?:\w+ )?enough",
    r"(?:partly|partially|half) (?:correct|accurate|complete|true|right)",
    rf"{_SOURCE} (?:does not|never) (?:contain|mention|say|state|support|give|make)s?",
    rf"(?:\w+ ){{0,6}}not (?:\w+ )?(?:in|by|from) the {_SOURCE}",
)

# --- Comparison of two --------------------------------------------------------------------------------

_SCORED = any_of(r"""
    scores?, totals?, ratings?, marks?, accuracy, completeness, conciseness, fluency, quality, clarity,
    coverage, details?, precision, faithfulness, readability, depth
""")
BETTER = _compiled(
    any_of(r"""
        better, best, superior, stronger, strongest, clearer, clearest, fuller, richer, tighter,
        sharper, smoother, closer, truer, safer, easier, cleaner, nicer, finer, crisper, neater, tidier,
        simpler, ahead, outperforms, beats, surpasses, exceeds, outdoes, edges out, edges, tops, ahead of,
        advantage, upper hand, the edge
    """),
    rf"(?:higher|highest|greater|greatest) (?:\w+ )?{_SCORED}",
    r"(?:scor|rat|rank)\w+ (?:\w+ )?high(?:er|est)",
)
WORSE = _compiled(
    any_of(r"""
        worse, worst, inferior, weaker, weakest, poorer, poorest, vaguer, wordier, duller, looser,
        rougher, sloppier, harder, clumsier, falls behind, lags, trails, loses
    """),
    rf"(?:lower|lowest) (?:\w+ )?{_SCORED}",
    r"(?:scor|rat|rank)\w+ (?:\w+ )?low(?:er|est)",
)
NOT_AS = _compiled(r"not (?:\w+ )?(?:as|so) ([\w-]+) as")
MORE = _compiled(r"(more|most|less|least|fewer|fewest) ((?:\w+ly )?)([\w-]+)")

_CONTENT = any_of(r"""
    details?, facts?, information, points?, content, context, evidence, ground, nuance, coverage, depth,
    examples?, numbers?, names?, specifics, of
""")
_ADJECTIVE = r"[\w-]+(?:ate|ive|ent|ant|ful|ous|al|ed|ing|able|ible|ic|ary)"
_NO_QUALITY = any_of(r"""
    important, significant, recent, expensive, technical, formal, general, original, additional
""")


def is_more_good(found: re.Match[str]) -> bool | None:
    """Whether a match of `MORE` speaks for its candidate; None where it is about no quality."""
    amount, adverb, word = found.groups()
    if re.fullmatch(f"{_BAD}|{FAULTS}", word):
        return amount not in ("more", "most")
    if (amount, word) in (("most", "of"), ("least", "of")) or re.fullmatch(_NO_QUALITY, word):
        return None
    known = re.fullmatch(f"{_GOOD}|{_CONTENT}|{_ADJECTIVE}|{_ADVERBS}", word)
    if known or re.fullmatch(_ADVERBS, adverb.strip()):
        return amount in ("more", "most")
    return None


def is_not_as_good(found: re.Match[str]) -> bool:
    """Whether a match of `NOT_AS` speaks for its candidate: "not as wordy as" does."""
    return re.fullmatch(_BAD, found[1]) is not None


# --- Choice of one ------------------------------------------------------------------------------------

_NAMES = "one|summary|answer|candidate|option|response|text|choice"
_AFTER = rf"(?:overall|{_NAMES}|than|because|since|and|as|for|of|match|by|THAN_\w+)"
# "better" that is better all in all: not "better coverage", not "better at names".
_ALL_IN_ALL = rf"(?=\W*(?:$|[,.:)]|{_AFTER}\b))"
CHOSEN = _compiled(
    rf"(?:better|best|superior){_ALL_IN_ALL}",
    any_of(r"""
        preferred, preferable, winner, wins, won, chosen, favou?red, selected, stands out,
        the (?:clear |obvious )?choice
    """),
)
_CHOOSING = any_of(r"""
    prefer, preferring, favou?r, favou?rs, favou?ring, choose, chose, choosing, pick, picked, select,
    go with, opt for, recommend, vote for, in favou?r of, lean\w* (?:to|towards?),
    preference (?:is |goes )?(?:for|to)
""")
_CHOICE_IS = (
    rf"(?:result|winner|verdict|decision|preference|preferred|better|best|stronger|superior|{_NAMES})"
    rf"(?: (?:{_NAMES}))?(?: overall)?(?: is| was| goes to| must be|:)"
)
CHOOSES = re.compile(
    rf"\b(?:{_CHOOSING}|{_CHOICE_IS})[:,]? (?:that |the |therefore |clearly )*"
    r"(FIRST|SECOND|BOTH(?=\W*(?:$|[,.:)])))\b"
)

# --- Likeness of both ---------------------------------------------------------------------------------

NO_CHOICE = _compiled(
    any_of(r"""
        tied?(?! (?:to|together|up|the)\b), a draw, evenly matched, too close, no (?:\w+ )?winner,
        no (?:\w+ )?preference, no reason to prefer, hard to (?:choose|separate),
        can not (?:choose|separate|be separated|decide|tell), equally (?:good|strong|well),
        nothing (?:separates|to choose|distinguishes)
    """)
)
_NO_LIKENESS = r"(?! (?:topic|subject|theme|document|event|idea|sentence|word|phrase|time))"
_NOT_MUCH = r"not (?:any|much|clearly|significantly|noticeably|really|necessarily)"
ALIKE = _compiled(
    any_of(rf"""
        equal, equally, equivalent, identical, same{_NO_LIKENESS}, indistinguishable, on par,
        comparabl[ey], similar, similarly, alike, equals, interchangeable, match(?:es)? THAN_\w+,
        do(?:es)? not differ, no (?:\w+ ){{0,2}}(?:differences?|distinction|gap),
        (?:no|{_NOT_MUCH}) (?:better|worse|more \w+|less \w+)
    """),
    r"as (?!well|soon|long|far|much)\w+ as(?= THAN_)",
)

# --- Negation -----------------------------------------------------------------------------------------

_NEGATOR = any_of(r"""
    not(?! only| just| merely| simply), no(?! doubt), never, without, free (?:of|from), hardly, barely,
    (?<!a )(?:few|little), minimal, avoid\w*, fail\w* to, lack\w*, nor, neither, nothing, none
""")
_PHRASE_ENDS = r"(?:but|because|is|are|was|were|has|that|which|while|it|so|and)"
_NOT = re.compile(
    rf"\b{_NEGATOR}\b(?: (?!{_PHRASE_ENDS}\b)[\w'-]+){{0,4}} ?$|\bnothing(?: [\w'-]+){{0,3}} ?$"
)
_REACH = 80  # characters: more than five words, and a long text stays quick
_NOTHING = re.compile(r"^ (?:nothing|none|no)\b")


def is_negated(text: str, start: int, end: int) -> bool:
    """Whether a negation stands up to four words before the place, in its phrase, or right after it."""
    return bool(_NOT.search(text[max(0, start - _REACH) : start])) != bool(_NOTHING.match(text[end:]))
