"""Reads a judge's answer strictly: any string gives a status, and only a clear answer gives a verdict."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeVar

from shared.judge.hygiene import remove_invisible, replace_surrogates
from shared.judge.records import Status

_T = TypeVar("_T")

PARSER_VERSION = 2
"""Raise it whenever some answer would be read otherwise than before."""

MIN_SPAN_WORDS = 3
"""Shorter quotations ("the", "of a") are in nearly every source, so finding them shows nothing."""

# The words of the servers in use: OpenAI and vLLM, Anthropic, Mistral, Gemini.
_CUT = {"length", "max_tokens", "model_length"}
_REFUSED = {"content_filter", "refusal", "safety"}
_BROKEN = {"abort", "error"}

# All that may stand around an answer without being part of it.
_BLANK = " \t\n\r\v\f\x85\xa0\u2028\u2029\u200b\u200c\u200d\u2060\ufeff\u3000"
_MARKUP = "*_ \t"  # markdown's bold and italic

_THINK_OPEN = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_THINK_CLOSE = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_WHOLE_FENCE = re.compile(r"```(?:json)?[ \t]*\n(\s*\{.*\})\s*```", re.IGNORECASE | re.DOTALL)
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_INDENTED_CODE = re.compile(r" {4}| {0,3}\t")
_INLINE_QUOTE = re.compile(r"\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|`[^`]*`")
_REFUSAL = re.compile(
    r"(?:i'm |i am )?(?:(?:very |really )?sorry|unable to|not able to|not comfortable)\b"
    r"|(?:unfortunately,? )?i (?:cannot|can't|can not|won't|will not|must decline|decline|apologi[sz]e)\b"
    r"|as an ai\b"
)
_NUMBERED = re.compile(r"[0-9]{1,2}[.)]\s+")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,8}")
_QUOTE_AT_END = re.compile(
    r"\bquote[*_\s]*:[*_\s]*(?:\"(?P<straight>[^\"]*)\"|“(?P<curly>[^“”]*)”)[)*_.\s]*\Z", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """What could be read in one answer.

    ``verdict`` is one of the allowed strings as the caller spelt it, and only where ``status`` is "ok"
    and a verdict was asked for. ``fields`` holds the rest (``rationale``, ``scores``, ``notes``, and what
    else a JSON answer held, its keys in one spelling: ``Key point`` is ``key_point``); it is empty unless
    ``status`` is "ok".
    """

    status: Status
    verdict: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)


def parse_verdict(text: str, finish_reason: str, allowed: Sequence[str], label: str = "verdict") -> Parsed:
    """Read one verdict.

    Parameters
    ----------
    text : str
        The answer as it came. Anything.
    finish_reason : str
        The server's word for why the answer ended.
    allowed : sequence of str
        The verdicts that the prompt names, such as ``("summary_1", "summary_2", "tie")``.
    label : str
        The JSON field, or the word before the colon of the last line.

    Returns
    -------
    Parsed
        "ok" with the verdict, and ``fields`` with the ``rationale`` (free text: all before the verdict)
        or with the other fields (JSON); otherwise "truncated" (token limit, or a think block that never
        ends), "refused", "failed" (the server broke off) or "unparsed". Never a default verdict.

    Raises
    ------
    ValueError
        Where two allowed verdicts read the same.

    Notes
    -----
    An answer that begins with ``{`` (or is one fenced JSON block) must be one valid JSON object without
    NaN, infinities or two keys that read the same, whose field is exactly one allowed string. Any other must
    have ``Verdict: <allowed>`` as its last line; bold, heading marks and a final full stop may stand
    around it. A line in a quotation, a ``>`` quote or code is not the judge's own; neither is anything
    after a quotation mark that is never closed. Where the judge's own words name another verdict after
    the label elsewhere, there is none. In both forms, and in JSON keys, case, full-width letters, invisible
    characters and the sign between words (space, ``_``, ``-``) do not matter.

    Examples
    --------
    >>> parse_verdict("Both are fine.\\n**Verdict:** Summary 1.", "stop", ("summary_1", "tie")).verdict
    'summary_1'
    >>> parse_verdict("Verdict: tied", "stop", ("summary_1", "tie")).status
    'unparsed'
    """
    forms = _by_form((name, name) for name in allowed)
    status, answer = _open(text, finish_reason)
    if status != "ok":
        return Parsed(status)
    read = _verdict_in_json if _is_json(answer) else _verdict_in_text
    return read(answer, forms, label) or _without_answer(answer)


def parse_scores(
    text: str, finish_reason: str, candidates: Sequence[str], criteria: Sequence[str], low: int, high: int
) -> Parsed:
    """Read one integer score for each candidate and criterion.

    Parameters
    ----------
    text, finish_reason : str
        As in `parse_verdict`.
    candidates, criteria : sequence of str
        The names in the prompt, such as ``("summary_1", "summary_2")`` and ``("accuracy", "clarity")``.
    low, high : int
        The ends of the scale, both allowed.

    Returns
    -------
    Parsed
        "ok" only if every score is there exactly once, as an integer in the range; then
        ``fields["scores"][candidate][criterion]`` is an int. One score missing, given twice or out of
        range makes the whole answer "unparsed". ``verdict`` is always None.

    Raises
    ------
    ValueError
        Where two names read the same.

    Notes
    -----
    JSON: ``{"scores": {candidate: {criterion: 4}}}``, or the candidates at the top; a JSON integer, so
    neither ``4.0`` nor ``"4"`` nor ``true`` nor ``null``. Free text: lines ``summary_1 accuracy: 4`` of
    the judge's own with nothing after the number: ``4/5``, ``4-5`` and ``0-10`` are not scores, and a
    number without its label is never one. What else was said is in ``fields``, as in `parse_verdict`.
    """
    pairs = _pairs(candidates, criteria)
    status, answer = _open(text, finish_reason)
    if status != "ok":
        return Parsed(status)
    rest, cells = _cells(answer, "scores", candidates, criteria, pairs)
    if not _is_json(answer):
        cells = {pair: _integer(value) for pair, value in cells.items()}
    in_range = all(type(value) is int and low <= value <= high for value in cells.values())
    if set(cells) != set(pairs.values()) or not in_range:  # `type`, since True is an int too
        return _without_answer(answer)
    return Parsed("ok", fields={**rest, "scores": _nested(cells, candidates, criteria)})


def parse_score(text: str, finish_reason: str, legal: Collection[int], key: str = "score") -> Parsed:
    """Read one score.

    Parameters
    ----------
    text, finish_reason : str
        As in `parse_verdict`.
    legal : collection of int
        The scores that the prompt offers, such as ``range(1, 6)``; none below 0.
    key : str
        The JSON field, or the word before the number.

    Returns
    -------
    Parsed
        "ok" with the score under ``fields[key]``, an int, and what else was said in the other fields, as in
        `parse_verdict`. ``verdict`` is always None.

    Raises
    ------
    ValueError
        Where no score is legal.

    Notes
    -----
    JSON: an object whose field is an integer (neither ``3.0`` nor ``"3"`` nor ``true``). Free text: the
    number is the whole answer, ``3``, or ``Score 3`` as rubrics name it; or it ends the answer on a line of
    its own, ``Score: 3``, and the judge's own words name no other number in that way before. A full stop,
    markdown's bold and full-width digits do not matter. Anything else that holds a number is not read:
    ``3/5``, ``3 out of 5``, ``3-4``, a number in a sentence, an option with its description
    (``Score 3: Mostly right.``, which may be the prompt said again), two numbers, even equal ones.

    Examples
    --------
    >>> parse_score("3", "stop", range(1, 6)).fields["score"]
    3
    >>> parse_score('{"reasoning": "Two gaps.", "score": 3}', "stop", range(1, 6)).fields["score"]
    3
    >>> parse_score("3/5", "stop", range(1, 6)).status
    'unparsed'
    """
    scores = {str(score): score for score in legal}
    forms = _by_form((name, name) for name in scores)
    status, answer = _open(text, finish_reason)
    if status != "ok":
        return Parsed(status)
    if _is_json(answer):
        fields = _json_object(answer) or {}
        said = fields.pop(_form(key), None)
        score = said if type(said) is int and said in scores.values() else None  # True is an int too
        return _without_answer(answer) if score is None else Parsed("ok", fields={**fields, key: score})
    read = _whole_answer(answer, forms, key) or _score_in_text(answer, forms, key)
    if read is None:
        return _without_answer(answer)
    return Parsed("ok", fields={**read.fields, key: scores[str(read.verdict)]})


def parse_ratings(
    text: str, finish_reason: str, criteria: Sequence[str], low: int, high: int, key: str = "scores"
) -> Parsed:
    """Read one integer score for each criterion, of a single text.

    Parameters
    ----------
    text, finish_reason, criteria, low, high
        As in `parse_scores`.
    key : str
        The JSON field that may hold the table.

    Returns
    -------
    Parsed
        "ok" only if every score is there exactly once, as an integer in the range; then
        ``fields[key][criterion]`` is an int. ``verdict`` is always None.

    Raises
    ------
    ValueError
        Where two criteria read the same.

    Notes
    -----
    As `parse_scores`, without a candidate. JSON: ``{"clarity": 4, ...}``, or that object under ``key``. Free
    text: lines ``clarity: 4``.
    """
    forms = _by_form((name, name) for name in criteria)
    status, answer = _open(text, finish_reason)
    if status != "ok":
        return Parsed(status)
    if _is_json(answer):
        rest, ratings = _ratings_in_json(answer, key, criteria)
    else:
        rest, cells = _cells_in_text(answer, {form: ("", name) for form, name in forms.items()})
        ratings = {name: _integer(value) for (_, name), value in cells.items()}
    in_range = all(type(value) is int and low <= value <= high for value in ratings.values())
    if set(ratings) != set(criteria) or not in_range:
        return _without_answer(answer)
    return Parsed("ok", fields={**rest, key: {name: ratings[name] for name in criteria}})


def parse_notes(text: str, finish_reason: str, candidates: Sequence[str], criteria: Sequence[str]) -> Parsed:
    """Read one note and its quotation for each candidate and criterion.

    Parameters
    ----------
    text, finish_reason, candidates, criteria
        As in `parse_scores`.

    Returns
    -------
    Parsed
        "ok" only if every note is there exactly once and not blank; then
        ``fields["notes"][candidate][criterion]`` is ``{"note": str, "quote": str}``. The quote is ""
        where the judge quoted nothing. ``verdict`` is always None.

    Raises
    ------
    ValueError
        Where two names read the same.

    Notes
    -----
    JSON: ``{"notes": {candidate: {criterion: {"note": "...", "quote": "..."}}}}``, or the candidates at the
    top. Free text: lines ``summary_1 accuracy: the note. Quote: "the span"``. Notes are the judge's text:
    `shared.judge.hygiene.neutralise` them before they stand in another prompt.
    """
    pairs = _pairs(candidates, criteria)
    status, answer = _open(text, finish_reason)
    if status != "ok":
        return Parsed(status)
    rest, cells = _cells(answer, "notes", candidates, criteria, pairs)
    if not _is_json(answer):
        cells = {pair: _note_of_line(value) for pair, value in cells.items()}
    if set(cells) != set(pairs.values()) or not all(_is_note(value) for value in cells.values()):
        return _without_answer(answer)
    notes = {pair: {"note": value["note"], "quote": value["quote"]} for pair, value in cells.items()}
    return Parsed("ok", fields={**rest, "notes": _nested(notes, candidates, criteria)})


def parse_evidence(
    text: str, finish_reason: str, candidates: Sequence[str], *, criteria: bool = True
) -> Parsed:
    """Read a record: the criteria that matter, and the evidence about each candidate.

    Parameters
    ----------
    text, finish_reason : str
        As in `parse_verdict`.
    candidates : sequence of str
        The names in the prompt, such as ``("Cedar", "Willow")``, or a single one.
    criteria : bool
        Whether the record must hold criteria too.

    Returns
    -------
    Parsed
        "ok" only if ``fields["criteria"]`` is a str and ``fields["evidence"][candidate]`` is one for every
        candidate, none of them blank, each as the judge wrote it. ``verdict`` is always None.

    Raises
    ------
    ValueError
        Where two names read the same.

    Notes
    -----
    JSON alone: ``{"criteria": "...", "evidence": {candidate: "..."}}``; what else the object holds (such as a
    verdict) is in ``fields``, as in `parse_verdict`. Text without that form is never taken for evidence. The
    texts are the judge's: `shared.judge.hygiene.neutralise` them before they stand in another prompt.

    Examples
    --------
    >>> record = '{"criteria": "Facts.", "evidence": {"cedar": "Names Paris.", "Willow": "Names Lyon."}}'
    >>> parse_evidence(record, "stop", ("Cedar", "Willow")).fields["evidence"]
    {'Cedar': 'Names Paris.', 'Willow': 'Names Lyon.'}
    >>> parse_evidence(record, "stop", ("Cedar", "Maple")).status
    'unparsed'
    """
    _by_form((name, name) for name in candidates)
    status, answer = _open(text, finish_reason)
    if status != "ok":
        return Parsed(status)
    fields = (_json_object(answer) or {}) if _is_json(answer) else {}
    evidence = _pick(fields.pop("evidence", None), candidates)
    said = [evidence.get(name) for name in candidates] + ([fields.get("criteria")] if criteria else [])
    if not all(isinstance(one, str) and remove_invisible(one).strip() for one in said):
        return _without_answer(answer)
    return Parsed("ok", fields={**fields, "evidence": {name: evidence[name] for name in candidates}})


def parse_texts(text: str, finish_reason: str, keys: Sequence[str]) -> Parsed:
    """Read an answer that is one JSON object of texts.

    Parameters
    ----------
    text, finish_reason : str
        As in `parse_verdict`.
    keys : sequence of str
        The keys in the prompt, such as ``("criteria", "assessment")``.

    Returns
    -------
    Parsed
        "ok" only if every key is there with a text that is not blank; then ``fields`` holds exactly these, as
        the judge wrote them. ``verdict`` is always None.
    """
    status, answer = _open(text, finish_reason)
    if status != "ok":
        return Parsed(status)
    fields = _pick(_json_object(answer) if _is_json(answer) else None, keys)
    said = [fields.get(key) for key in keys]
    if not all(isinstance(one, str) and remove_invisible(one).strip() for one in said):
        return _without_answer(answer)
    return Parsed("ok", fields=dict(zip(keys, said, strict=True)))


def parse_rationale(text: str, finish_reason: str) -> Parsed:
    """Read an answer that is nothing but a rationale.

    Parameters
    ----------
    text, finish_reason
        As in `parse_verdict`.

    Returns
    -------
    Parsed
        "ok" with ``fields["rationale"]``, never blank: the JSON field of that name, or the whole of a
        free text. ``verdict`` is always None.
    """
    status, answer = _open(text, finish_reason)
    if status != "ok":
        return Parsed(status)
    said = (_json_object(answer) or {}).get("rationale") if _is_json(answer) else answer
    if not isinstance(said, str) or not remove_invisible(said).strip():
        return Parsed("unparsed")
    return Parsed("ok", fields={"rationale": said})


def status_before_reading(text: str, finish_reason: str) -> Status:
    """What an answer's end already says: "ok" where it came to its own end and says something.

    "truncated" (token limit, or a think block that never ends), "refused" (a filter), "failed" (the
    server broke off) or "unparsed" (blank) otherwise. The same in protocols, parser and generator.
    """
    return _open(text, finish_reason)[0]


def found_spans(quotes: Iterable[str], source: str) -> tuple[int, int]:
    """Count the quoted spans that really stand in the source.

    Parameters
    ----------
    quotes : iterable of str
        Spans that a judge gave as quotations.
    source : str
        The text that they should come from.

    Returns
    -------
    found, quoted : int
        ``0 <= found <= quoted``. The share ``found / quoted`` is undefined (nan) where ``quoted`` is 0.

    Notes
    -----
    A span is found if it stands in the source word for word, between word boundaries. Case, runs of white
    space, the kind of quotation mark, and punctuation at the ends of the span do not matter. A span of
    fewer than `MIN_SPAN_WORDS` words, the empty one included, counts neither as found nor as quoted. A
    span with words left out ("the cat ... the mat") is not found.

    Examples
    --------
    >>> found_spans(["The CAT sat", "a dog sat down", "cat", ""], "Yesterday the cat\\nsat down.")
    (1, 2)
    """
    haystack = _plain(source)
    needles = [_plain(quote).strip(" .,;:!?…\"'") for quote in quotes]
    spans = [needle for needle in needles if len(re.findall(r"\w+", needle)) >= MIN_SPAN_WORDS]
    return sum(bool(re.search(rf"(?<!\w){re.escape(span)}(?!\w)", haystack)) for span in spans), len(spans)


def _open(text: str, finish_reason: str) -> tuple[Status, str]:
    """The answer proper, with "ok" where it may be read; otherwise the status it has before any reading."""
    reason = finish_reason.strip().casefold()
    if reason in _CUT:
        return "truncated", ""
    if reason in _REFUSED:
        return "refused", ""
    if reason in _BROKEN:
        return "failed", ""
    answer = replace_surrogates(text).replace("\r\n", "\n").replace("\r", "\n").strip(_BLANK)
    if not answer.startswith("{"):  # a JSON string may speak of think blocks
        answer = _THINK_CLOSE.split(answer)[-1].strip(_BLANK)
        if _THINK_OPEN.search(answer):
            return "truncated", ""
    if not remove_invisible(answer).strip():
        return "unparsed", ""
    fence = _WHOLE_FENCE.fullmatch(answer)
    return "ok", fence[1].strip() if fence else answer


def _is_json(answer: str) -> bool:
    """What begins like an object is only read as one: its strings may hold lines that look like a verdict."""
    return answer.startswith("{")


def _without_answer(answer: str) -> Parsed:
    """Tell an answer that declines from one that can't be read."""
    start = _fold(answer[:200]).replace("’", "'").casefold().lstrip("*_# \n")
    return Parsed("refused" if _REFUSAL.match(start) else "unparsed")


# --- JSON ---


def _json_object(answer: str) -> dict[str, Any] | None:
    """The object, or None for anything but one valid object that can be written as UTF-8 again."""
    try:
        value = json.loads(
            answer, object_pairs_hook=_by_spelling, parse_constant=_refuse, parse_float=_finite
        )
        json.dumps(value, ensure_ascii=False).encode()  # an escaped half surrogate raises here
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _by_spelling(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object with its keys in one spelling: ``verdict`` and ``Verdict`` are the same key, given twice."""
    fields = {_form(key): value for key, value in pairs}
    if len(fields) < len(pairs):
        raise ValueError("two keys read the same")
    return fields


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _finite(digits: str) -> float:
    if not math.isfinite(value := float(digits)):
        raise ValueError(f"{digits} is not finite")
    return value


def _verdict_in_json(answer: str, forms: Mapping[str, str], label: str) -> Parsed | None:
    fields = _json_object(answer)
    if fields is None or not isinstance(said := fields.pop(_form(label), None), str):
        return None
    verdict = forms.get(_form(said))
    return None if verdict is None else Parsed("ok", verdict, fields)


# --- free text ---


def _verdict_in_text(answer: str, forms: Mapping[str, str], label: str) -> Parsed | None:
    *before, last = _lines(answer)
    if not last.own or (said := _labelled_verdict(last.text, forms, label)) is None:
        return None
    if any(other != said for line in before if line.own for other in _mentions(line.text, forms, label)):
        return None
    rationale = "\n".join(line.raw for line in before).strip()
    return Parsed("ok", said, {"rationale": rationale})


def _whole_answer(answer: str, forms: Mapping[str, str], label: str) -> Parsed | None:
    """The option that is all of the answer, in one line: ``3``, or ``Score 3``."""
    if len(answer.splitlines()) > 1:
        return None
    option = forms.get(_form(_bare(_fold(answer))).removeprefix(f"{_form(label)}_"))
    return None if option is None else Parsed("ok", option, {"rationale": ""})


def _score_in_text(answer: str, forms: Mapping[str, str], label: str) -> Parsed | None:
    """As `_verdict_in_text`, but any other number after the label counts against it, a legal one or not."""
    *before, last = _lines(answer)
    if not last.own or (said := _labelled_verdict(last.text, forms, label)) is None:
        return None
    parts = (part for line in before if line.own for part in _after_label(line.text, label))
    numbers = (re.match(r"-?[0-9][^_]*", part) for part in parts)
    if any(number[0].rstrip(".,;:!?)") != said for number in numbers if number):
        return None
    return Parsed("ok", said, {"rationale": "\n".join(line.raw for line in before).strip()})


def _labelled_verdict(line: str, forms: Mapping[str, str], label: str) -> str | None:
    """The verdict of a line that is nothing but ``Verdict: X``."""
    match = re.fullmatch(rf"[#*_\s]*{re.escape(label)}[*_\s]*:(.*)", line, re.IGNORECASE)
    if match is None:
        return None
    return forms.get(_form(_bare(match[1])))


def _mentions(line: str, forms: Mapping[str, str], label: str) -> Iterator[str]:
    """Each verdict that follows the label anywhere in a line, quotations and code apart."""
    for part in _after_label(line, label):
        yield from (
            verdict for form, verdict in forms.items() if re.match(rf"{re.escape(form)}(?![^\W_])", part)
        )


def _after_label(line: str, label: str) -> list[str]:
    """What follows each ``label:`` of a line, in one spelling, quotations and code apart."""
    said = _form(_INLINE_QUOTE.sub(" ", line).replace("*", ""))
    return re.split(rf"(?<![^\W_]){re.escape(_form(label))}_*:_*", said)[1:]


@dataclass(frozen=True, slots=True)
class _Line:
    raw: str  # as the judge wrote it
    text: str  # folded, for reading
    own: bool  # the judge's own words: in no quotation and no code


def _lines(answer: str) -> list[_Line]:
    """The lines of an answer, each marked as the judge's own or as something that it quotes."""
    lines: list[_Line] = []
    fenced = block_quote = False
    open_mark = ""
    for raw in answer.split("\n"):
        text = _fold(raw)
        fence = bool(_FENCE.match(text))
        # A markdown quote runs on over lines without ">" until the paragraph ends.
        block_quote = text.lstrip().startswith(">") or (block_quote and bool(text.strip()))
        own = not (fence or fenced or block_quote or open_mark or _INDENTED_CODE.match(text))
        lines.append(_Line(raw, text, own))
        fenced ^= fence
        open_mark = _open_mark(text, open_mark)
    return lines


_CLOSING = {'"': '"', "“": "”", "„": "“”", "«": "»"}


def _open_mark(line: str, mark: str) -> str:
    """The double quotation mark that is still open after the line, or ""."""
    for char in line:
        if mark and char in _CLOSING[mark]:
            mark = ""
        elif not mark and char in _CLOSING:
            mark = char
    return mark


def _bare(value: str) -> str:
    """A value without markup and the full stop at its end."""
    return re.sub(r"[.。]$", "", value.strip(_MARKUP)).strip(_MARKUP)


# --- tables of scores and notes ---

_Pair = tuple[str, str]


def _pairs(candidates: Sequence[str], criteria: Sequence[str]) -> dict[str, _Pair]:
    pairs = product(candidates, criteria)
    return _by_form((" ".join(pair), pair) for pair in pairs)


def _cells(
    answer: str, name: str, candidates: Sequence[str], criteria: Sequence[str], pairs: Mapping[str, _Pair]
) -> tuple[dict[str, Any], dict[_Pair, Any]]:
    """The other fields, and the value of each pair that the answer holds; none where one comes twice."""
    if _is_json(answer):
        return _cells_in_json(answer, name, candidates, criteria)
    return _cells_in_text(answer, pairs)


def _cells_in_json(
    answer: str, name: str, candidates: Sequence[str], criteria: Sequence[str]
) -> tuple[dict[str, Any], dict[_Pair, Any]]:
    fields = _json_object(answer) or {}
    if name in fields:
        table = fields.pop(name)
    else:
        forms = {_form(candidate) for candidate in candidates}
        table = {key: fields.pop(key) for key in list(fields) if key in forms}
    rows = {candidate: _pick(row, criteria) for candidate, row in _pick(table, candidates).items()}
    return fields, {(cand, criterion): row[criterion] for cand, row in rows.items() for criterion in row}


def _ratings_in_json(answer: str, key: str, criteria: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The other fields, and the value of each criterion that the object, or its field ``key``, holds."""
    fields = _json_object(answer) or {}
    if _form(key) in fields:
        table = fields.pop(_form(key))
    else:
        forms = {_form(criterion) for criterion in criteria}
        table = {name: fields.pop(name) for name in list(fields) if name in forms}
    return fields, _pick(table, criteria)


def _pick(row: Any, names: Sequence[str]) -> dict[str, Any]:
    """The values under the names; the keys are in one spelling already (`_by_spelling`)."""
    if not isinstance(row, dict):
        return {}
    forms = _by_form((name, name) for name in names)
    return {forms[key]: value for key, value in row.items() if key in forms}


def _cells_in_text(answer: str, pairs: Mapping[str, _Pair]) -> tuple[dict[str, Any], dict[_Pair, Any]]:
    cells: dict[_Pair, Any] = {}
    others: list[str] = []
    for line in _lines(answer):
        label, colon, value = line.text.partition(":")
        pair = pairs.get(_form(_NUMBERED.sub("", label.strip("-#•" + _MARKUP)).strip(_MARKUP)))
        if not (colon and line.own and pair):
            others.append(line.raw)
        elif pair in cells:  # said twice, so not said
            return {}, {}
        else:
            cells[pair] = value.strip(_MARKUP)
    return {"rationale": "\n".join(others).strip()}, cells


def _integer(value: str) -> int | None:
    value = _bare(value)
    return int(value) if _INTEGER.fullmatch(value) else None


def _note_of_line(value: str) -> dict[str, str]:
    match = _QUOTE_AT_END.search(value)
    if match is None:
        return {"note": value, "quote": ""}
    return {
        "note": value[: match.start()].rstrip("|;(" + _MARKUP),
        "quote": match["straight"] or match["curly"] or "",
    }


def _is_note(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    note, quote = value.get("note"), value.get("quote")
    return isinstance(note, str) and isinstance(quote, str) and bool(remove_invisible(note).strip())


def _nested(cells: Mapping[_Pair, Any], candidates: Sequence[str], criteria: Sequence[str]) -> dict[str, Any]:
    return {cand: {criterion: cells[cand, criterion] for criterion in criteria} for cand in candidates}


# --- spelling ---


def _fold(text: str) -> str:
    """NFKC without invisible characters: full-width signs become ASCII.

    A superscript or circled digit becomes U+FFFD: NFKC would make 42 of a 4 with the footnote mark 2.
    """
    isolated = "".join("\ufffd" if c.isdigit() and not c.isdecimal() else c for c in text)
    return unicodedata.normalize("NFKC", remove_invisible(isolated))


def _form(name: str) -> str:
    """One spelling for all that count as the same name: ``Summary 1``, ``summary-1``, ``summary\\_1``."""
    return re.sub(r"\s+|[_‐-]", "_", _fold(name).strip().casefold().replace("\\_", "_"))


def _by_form(named: Iterable[tuple[str, _T]]) -> dict[str, _T]:
    forms: dict[str, _T] = {}
    for name, value in named:
        if (form := _form(name)) in forms:
            raise ValueError(f"{name!r} reads the same as another name ({form!r}): give them different names")
        forms[form] = value
    if not forms:
        raise ValueError("no names to look for: give at least one verdict, candidate and criterion")
    return forms


def _plain(text: str) -> str:
    """A text for looking up quotations: one case, one space, one kind of each quotation mark."""
    text = re.sub(r"[“”„‟«»″]", '"', _fold(text).casefold())
    return re.sub(r"\s+", " ", re.sub(r"[‘’‚‛‹›′`]", "'", text)).strip()
