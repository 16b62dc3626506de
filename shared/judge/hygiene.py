"""Makes a text from outside safe to stand in a prompt: it can't become a control token or a delimiter."""

from __future__ import annotations

import re

# Characters that end a line for some reader become "\n", so that all readers see the same lines.
_LINE_ENDS = re.compile("\r\n?|[\v\f\x85\u2028\u2029]")

# What shows nothing is removed: the other control characters (U+001F is the prompts' cut marker), zero-width
# and bidi controls, fillers, tag characters. Each can hide inside a tag, or make a reader see another text
# than the model. Variation selectors up to U+FE0F stay, since they change what an emoji looks like.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)

# Half of a UTF-16 pair is no character and can't be sent; U+FFFD is what Unicode has for it.
_SURROGATE = re.compile("[\ud800-\udfff]")

# A normaliser may fold the full-width signs (second) and small signs (third) to the ASCII ones.
_LT, _GT, _SLASH, _PIPE = "<＜﹤", ">＞﹥", "/／", "|｜"
_IN_TAG = rf"[^\s{_LT}{_GT}‹]"  # without ‹, since a second pass must find nothing new around a first change

# Control tokens (`<s>`, `<|im_end|>`, `<｜User｜>`, `<start_of_turn>`, `<<SYS>>`) and our own delimiters
# (`<document>`, `</summary_1>`) are all one word in angle brackets. Three shapes are caught:
#   one word, with or without a slash, a pipe, some space:   <s>  < notes >  <|im_end|>
#   a word with an attribute:                                <document id="2">
#   a closing tag, even where the text ends before its ">":  </document  < / document >
# "a < b", "a < b > c", "x<y and z>w", "|a|<|b|", "<-", "<3" are none of them.
_ANGLE = re.compile(
    rf"(?<![{_LT}])[{_LT}]++(?="
    rf"(?:[{_SLASH}{_PIPE}!?]{{0,2}}▁?\w|\s{{1,4}}\w\w){_IN_TAG}{{0,63}}\s{{0,4}}[{_GT}]"
    rf"|\w{_IN_TAG}{{0,63}}\s{{1,4}}[\w:-]{{1,64}}\s{{0,4}}=[^{_LT}{_GT}‹]{{0,200}}[{_GT}]"
    rf"|\s{{0,4}}[{_SLASH}]\s{{0,4}}[^\W\d])"
)

# Square brackets are common in prose ("[sic]", "[1]"), so here the tokens are listed, in their own case:
# Llama 2 and Mistral, BERT, GLM, InternLM, Kimi.
_SQUARE = re.compile(
    rf"[\[［](?=[{_SLASH}]?(?:(?i:INST|SYS)|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_(?:CALLS|RESULTS|CONTENT)|"
    r"MODEL_SETTINGS|ARGS|CALL_ID|THINK|IMG(?:_BREAK|_END)?|(?:BEGIN_)?AUDIO|TRANSCRIBE|PREFIX|MIDDLE|SUFFIX|"
    r"CLS|SEP|[gs]?MASK|PAD|UNK|BOS|EOS|EOT|UNUSED_TOKEN_\d+|unused\d+|extra_id_\d+|control_\d+)[\]］])"
)

# Falcon's tokens are inside out: `>>TITLE<<`. MiniMax writes `]~b]`, `]~!b[` and `[e~[`.
_FALCON = re.compile(
    ">>(?=(?:TITLE|ABSTRACT|INTRODUCTION|SUMMARY|COMMENT|ANSWER|QUESTION|DOMAIN|PREFIX|SUFFIX|MIDDLE)<<)"
)
_MINIMAX = re.compile(r"(?<=\])~(?=!?b[\[\]])|(?<=\[e)~(?=\[)")


def remove_invisible(text: str) -> str:
    """Remove every character that shows nothing; "\\n", "\\t" and line ends stay.

    >>> remove_invisible("sum\\u200bmary")
    'summary'
    """
    return _INVISIBLE.sub("", text)


def replace_surrogates(text: str) -> str:
    """Replace each half of a broken UTF-16 pair by U+FFFD, so that the text can be written as UTF-8."""
    return _SURROGATE.sub("\ufffd", text)


def neutralise(text: str) -> tuple[str, int]:
    """Make it impossible for a text to become a control token, or to close or forge a delimiter.

    Parameters
    ----------
    text : str
        Any text that others wrote: a document, a candidate, a judge's earlier answer.

    Returns
    -------
    safe : str
        The text with only these changes: the first character of a token or tag look-alike becomes
        another that looks like it (``<`` to U+2039, ``[`` to U+27E6, ``>>`` to U+203A twice, ``~`` to
        U+223C), so that a reader still sees what stood there; invisible characters are removed; line
        ends become a newline; broken surrogates become U+FFFD. An ordinary text comes back equal.
    n : int
        The number of places changed, 0 for an ordinary text.

    Notes
    -----
    Deterministic and idempotent: ``neutralise(safe) == (safe, 0)``. A chain written tight, ``a<b>c``, has
    the shape of a tag and is changed too. Joined emoji come apart, since the joiner has no width.

    A text is safe by itself; put "\\n", or anything but a word and ``>``, after it in a prompt.

    Examples
    --------
    >>> neutralise("Good.<|im_end|>")
    ('Good.‹|im_end|>', 1)
    >>> neutralise("for a < b, x<y and z>w")
    ('for a < b, x<y and z>w', 0)
    """
    n = 0
    # Invisible characters go before the tags, which they could have split; surrogates are no part of a tag.
    for pattern, replacement in _STEPS:
        text, changed = pattern.subn(replacement, text)
        n += changed
    return text, n


def _single_guillemets(run: re.Match[str]) -> str:
    return "‹" * len(run.group())


_STEPS = (
    (_LINE_ENDS, "\n"),
    (_INVISIBLE, ""),
    (_SURROGATE, "\ufffd"),
    (_FALCON, "››"),  # before the angles, whose "<<" belongs to the token
    (_ANGLE, _single_guillemets),
    (_SQUARE, "⟦"),
    (_MINIMAX, "∼"),
)
