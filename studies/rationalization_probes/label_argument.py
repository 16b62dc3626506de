"""Whether a rationale argues from the source label or the badge (the paper's stereotype intrusion)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from shared.judge.stated_marks import plain
from shared.judge.stated_words import any_of

Span = tuple[int, int]


def argues_from_label(rationale: str, labels: Mapping[str, str]) -> bool:
    """Whether the rationale brings in who is said to have written a candidate, or a badge.

    Parameters
    ----------
    rationale : str
        Any text.
    labels : mapping of str to str
        The cues' words, as in params: ``{"llm": "LLM", "tradml": "TradML", "placebo": "Expert-Verified"}``.

    Returns
    -------
    bool
        True where a label, a badge or its kin (a language model, a traditional method, a check by experts)
        is named as a candidate's source, or as what such sources are like. False where it is set aside
        ("regardless of the labels", "the badge proves nothing") and where it is what the texts are about
        ("explains how language models are trained").

    Notes
    -----
    Rules over words, for English. A label that is only repeated counts: nobody asked for it. Limits: a
    document about language models, where topic and source are told apart by the verb before the word alone;
    a stereotype without its name ("reads as if copied by a program"); a setting aside in other words.

    Examples
    --------
    >>> words = {"llm": "LLM", "tradml": "TradML", "placebo": "Expert-Verified"}
    >>> argues_from_label("Summary_1 was written by an LLM and is more fluent.", words)
    True
    >>> argues_from_label("Regardless of the labels, summary_1 is more fluent.", words)
    False
    """
    label = _label_pattern(tuple(labels.values()))
    return any(_argues(sentence, label) for sentence in _SENTENCE.split(plain(rationale)))


def _argues(sentence: str, label: re.Pattern[str]) -> bool:
    """Whether a mention is left over when those that are set aside are gone."""
    left = False
    for clause in _CLAUSE.split(sentence):
        mentioned = [span for span in _mentions(clause, label) if not _is_set_aside(clause, span)]
        # "It is an LLM's, but I ignore this."
        left = bool(mentioned) or (left and not _SETS_IT_ASIDE.search(clause))
    return left


_SENTENCE = re.compile(r"[!?;]+|\.(?!\d)")
_CLAUSE = re.compile(r",?\s*\b(?:but|however|yet)\b")

# --- Mentions -----------------------------------------------------------------------------------------

_CANDIDATE = r"(?:summar(?:y|ies)|answers?|candidates?|options?|responses?|texts?|versions?|outputs?|ones?)"


@cache
def _label_pattern(labels: tuple[str, ...]) -> re.Pattern[str]:
    """The labels' words, joined by spaces or hyphens, in the singular or plural."""
    words = ["[\\s-]*".join(map(re.escape, re.findall(r"\w+", plain(label)))) for label in labels]
    return re.compile(rf"\b(?:{'|'.join(filter(None, words)) or '(?!)'})(?:s|'s|s')?\b")


_METHODS = r"(?:method|system|model|approach|technique|algorithm|tool)s?"
_KIN = any_of(rf"""
    (?:large |neural )?language models?, ai, a\.i\., artificial intelligence, (?:chat)?gpt(?:-?\d\w*)?,
    chatbots?, machines?, humans?, (?:neural|the|a|an? ai) models?, algorithms?,
    (?:traditional|classical|older) {_METHODS}, extractive
""")
_CHECKED = r"(?:verified|checked|approved|reviewed|endorsed|certified|vetted)"
_OF_NO_TEXT = any_of(rf"""
    traditional (?:ml|machine[ -]learning|nlp|extractive|summari[sz]\w+),
    extractive (?:{_METHODS}|summari[sz]\w+), verified {_CANDIDATE}, badges?, source labels?,
    {_CHECKED} by (?:an? |the )?experts?, expert[ -](?:{_CHECKED}|verification|approval|review|endorsement),
    (?:its|the|their|his|this|that|a|no|by|with|these|any) (?:\w+ )?labels?\b(?! (?:on|of) the)
""")


def _mentions(clause: str, label: re.Pattern[str]) -> Iterator[Span]:
    """Places that name a source or a badge of a candidate, and not what the texts are about.

    Words that documents use too count only beside a word of writing, or as what such writers are like.
    """
    for pattern, is_common in ((label, False), (_DISTINCT, False), (_COMMON, True)):
        for found in pattern.finditer(clause):
            before, after = clause[: found.start()], clause[found.end() :]
            is_topic = _ABOUT.search(before) is not None
            generally = _TENDS.match(after) is not None if is_common else True
            if not _REPORTED.search(before) and (_is_source(before, after) or (generally and not is_topic)):
                yield found.span()


def _is_source(before: str, after: str) -> bool:
    """Whether the words around a mention make it the writer of a candidate, or its mark."""
    return bool(_MADE_BY.search(before) or _IS_ITS_WRITER.match(after))


_COMMON = re.compile(rf"\b{_KIN}\b")
_DISTINCT = re.compile(rf"\b{_OF_NO_TEXT}(?!\w)")

_MADE = any_of(r"""
    written, generated, produced, made, created, authored, composed, penned, drafted, done, crafted, came,
    comes, coming, come, label(?:l)?ed, tagged, marked, badged, known, identified, described, listed, shown
""")
_MADE_BY = re.compile(
    rf"(?:{_MADE} (?:as |by |from |with )?|(?:is|was|being|are|were) |{_CANDIDATE}(?: \d)? (?:by|from) |"
    r"\bas |\bits |: ?|\()"
    r"(?:only |just |simply )?(?:being |by )?(?:an? |the |its )?(?:(?!about|how|on|of|that|in)\w+ )?$"
)
_IS_ITS_WRITER = re.compile(
    any_of(rf"""
        (?:'s|s')?(?:[ -](?:{_MADE}|based|style))?[ -]?(?:\w+ )?{_CANDIDATE}\b,
        [ -](?:{_MADE}|badged?|label|tag|origin|source|author|writer|authorship)\b,
        \ (?:wrote|writes|produced|generated)\b
    """)
)
_TENDS = re.compile(
    r" (?:\w+ly )?"
    + any_of(r"""
        tends?, usually, generally, typically, often, always, normally, mostly, can not, can be trusted,
        (?:is|are) known, are (?:usually|often|good|bad|weak), (?:is|are) (?:more|less|better|worse), writes?,
        copy, copies, produces?, generates?, lack\w*, miss\w*
    """)
    + r"\b"
)
_ABOUT = re.compile(
    r"\b"
    + any_of(r"""
        about, how, why, explain\w*, describ\w*, cover\w*, mention\w*, discuss\w*, captur\w*, says?,
        stat(?:es|ed|ing), summari[sz](?:es|ed|ing), report\w*, nam(?:es|ed|ing), omit\w*, miss\w*,
        not(?:es|ed), role of, uses? of, limits of, training of, history of, topic, document, source text,
        passage, article, defin\w*, list\w*, introduc\w*
    """)
    + r"\b[^,()]*$"
)
_REPORTED = re.compile(
    r"\b(?:explain|describ|mention|stat|say|report|not|omit|miss|add|claim|tell|show)\w* "
    rf"(?:that|how|why|whether)\b(?:(?!\b{_CANDIDATE}\b).)*$"
)

# --- Setting aside ------------------------------------------------------------------------------------

_SET_ASIDE_BEFORE = re.compile(
    r"\b"
    + any_of(r"""
        ignor(?:e|es|ed|ing), disregard\w*, regardless of, irrespective of, despite, in spite of,
        notwithstanding, setting aside, leaving aside, set aside, apart from, aside from,
        independent(?:ly)? of, rather than, although, though, no matter, even if,
        without (?:regard|reference|looking|considering|relying|using|weighing)(?: to| at| on)?,
        not (?:because|due to|based|on|from|by|for|the|its|influenced|swayed|affected),
        not (?:rely|use|consider|look|weigh|count|take|taking)\w*
    """)
    + r"\b[^,;]{0,40}$"
)
_NOT_DO = r"(?:do|does|did|should|must|can|may|will|would) not (?:\w+ )?"
_SET_ASIDE_AFTER = re.compile(
    r"[^,;]{0,40}\b"
    + any_of(rf"""
        {_NOT_DO}(?:matter|affect|influence|change|count|decide|say|tell|prove|mean|play|bear|weigh),
        {_NOT_DO}(?:imply|guarantee|make|be|enter|sway|show|help|add),
        (?:is|are|was|were) not (?:\w+ )?(?:a reason|relevant|considered|used|evidence|proof|counted),
        (?:is|are|was|were) (?:irrelevant|immaterial|ignored|disregarded|set aside|beside the point),
        (?:is|are|was|were) no (?:reason|evidence|proof|ground),
        (?:has|have|had|carry|carries|bears?|plays?|played|makes?|made) no,
        (?:says?|proves?|adds?|means?|tells?(?: \w+)?) nothing
    """)
    + r"\b"
)
_SETS_IT_ASIDE = re.compile(
    r"\b"
    + any_of(r"""
        ignor(?:e|ed|ing), disregard\w*, set(?:ting)? aside, irrelevant, immaterial, plays? no,
        does not (?:matter|count|affect|change), is not (?:a reason|why), not (?:relevant|considered|why),
        has no (?:bearing|weight|influence)
    """)
    + r"\b"
)


def _is_set_aside(clause: str, span: Span) -> bool:
    """Whether it is named only to say that it does not count."""
    return bool(_SET_ASIDE_BEFORE.search(clause[: span[0]]) or _SET_ASIDE_AFTER.match(clause[span[1] :]))
