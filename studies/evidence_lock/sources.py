"""Loads each data set in its own layout: a context, two answers, and which of them people prefer."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Literal

from shared.draws import number
from shared.reading import Placed, Row, SourceError, hub_rows, json_lines, json_list, made, visible
from studies.evidence_lock.params import Dataset, DatasetParams, Fault

EMBEDDED = Path("data/embedded/evidence_lock/pairs.jsonl")

Label = Literal["1", "2", "tie"]
Rater = Literal["human", "gold", "intended"]

RATERS: Mapping[Dataset, Rater] = {
    "embedded": "intended",  # the answer that its writer made the better one
    "feedbackqa": "human",
    "lfqa": "human",
    "llmbar": "gold",  # pairs that were written or chosen so that one answer is better by any reader's lights
    "llmbar_processed": "human",
    "helpsteer3": "human",
    "coval": "human",
}
"""Whose opinion a data set's labels are: one a data set, so that no result mixes two."""

REASONS = ("wrong_fact", "missed_constraint", "unanswered_part")
"""Why the worse answer of an embedded pair is worse."""

UNRANKED = "unranked"
"""Two completions that no ranking compares: they have no label, so they are left out, and counted."""

FILES: Mapping[Dataset, str] = {
    "feedbackqa": "pairs.jsonl",
    "lfqa": "expert_pairs.jsonl",
    "helpsteer3": "validation.jsonl",
    "coval": "comparisons.jsonl",
}
"""What a data set of one file calls it, where its path names a folder."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two answers to the same context.

    Attributes
    ----------
    context : str
        A question or an instruction; a conversation is written out, turn by turn.
    answer_1, answer_2 : str
        In the file's order, which no judge is bound to; "" for an empty one.
    label : str
        Which one people prefer: "1", "2" or "tie".
    subset : str
        File, domain or field inside the data set; "" for none.
    id : str
        Unique in its data set. Where the file has none, a hash of the question and the two answers (in
        either order), so that another row moves no id; "" before it is made.
    margin : float
        How far people prefer one, from 0 (a tie); its unit is the data set's own; nan where it tells none.
    n_raters : float
        How many people the label rests on; nan where the data set does not say. 0 is `UNRANKED`.
    reason, told : str
        Why the worse answer is worse, as a word of `REASONS` and as a sentence; "" where it is not known.
    expert : str
        Whose single opinion the label is, where a pair stands once for each of several experts.
    """

    context: str
    answer_1: str
    answer_2: str
    label: Label
    subset: str = ""
    id: str = ""
    margin: float = float("nan")
    n_raters: float = float("nan")
    reason: str = ""
    told: str = ""
    expert: str = ""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a data set holds: its pairs, and how many were left out by the name of what is wrong with them."""

    pairs: list[Pair]
    left_out: Mapping[str, int] = field(default_factory=dict)


def load(name: Dataset, settings: DatasetParams, external_dir: Path, root: Path) -> Loaded:
    """All pairs of a data set.

    Parameters
    ----------
    name : str
        The data set's: it tells the layout.
    settings : DatasetParams
        ``source`` with ``path`` or ``hub`` says where it lies; ``leave_out`` which faults leave a pair
        out instead of stopping: ``empty_answer``, ``identical_answers`` (to a reader), ``repeated`` and
        ``contradicted`` (the same question with the same two answers, in either order, with the same label
        and with another; the first one stays).
    external_dir : Path
        ``data.external_dir``, below which ``path`` lies.
    root : Path
        The repository's, below which the embedded pairs lie.

    Returns
    -------
    Loaded
        Pairs in the files' order.

    Raises
    ------
    SourceError
        If the data set cannot be read, a column is lacking, a label is unknown, an id stands twice, or a
        pair has a fault that ``leave_out`` does not name. All bad rows are told in one error.
    """
    left_out = Counter[str]()
    kept = _keeper(name, settings.leave_out or (), left_out)
    rows = _rows(name, settings, external_dir, root)
    found = made(
        ((where, (where, *row)) for where, row in rows),
        lambda row: list(filter(None, (kept(row[0], pair) for pair in _PAIRS[name](row[1], row[2])))),
    )
    pairs = [pair for _, several in found for pair in several]
    return Loaded(_majorities(pairs) if name == "lfqa" else pairs, left_out)


def question(pair: Pair) -> str:
    """A hash of the context as a reader sees it: pairs with the same one are not independent.

    Ids of questions that files have are not asked: LFQA's ``q_id`` stands at ten different questions.
    """
    return f"{number('question', _seen(pair.context)):016x}"


def _content(pair: Pair) -> str:
    """The same of a pair's question and answers, in either order."""
    answers = sorted((_seen(pair.answer_1), _seen(pair.answer_2)))
    return f"{number('pair', _seen(pair.context), *answers):016x}"


@lru_cache(64)
def _seen(text: str) -> str:
    """Cached, since a text is asked for several times, and may stand in several pairs in a row.

    Letters and their accents are one, and what shows nothing by itself is gone, so that two texts that a
    reader can't tell apart are the same.
    """
    return visible(_SHOWS_NOTHING.sub("", unicodedata.normalize("NFC", text)))


_SHOWS_NOTHING = re.compile("[\ufe00-\ufe0f\u2800]")
"""Variation selectors, and the Braille pattern without a dot."""


# --- what is wrong with a pair ----------------------------------------------------------------------


def _keeper(
    name: Dataset, leave_out: Collection[Fault], left_out: Counter[str]
) -> Callable[[str, Pair], Pair | None]:
    """Gives a pair its id, or None for one that is left out: counted where it may be, refused elsewhere."""
    ids, contents = dict[str, str](), dict[tuple[str, str], tuple[str, Pair]]()

    def kept(where: str, pair: Pair) -> Pair | None:
        if pair.n_raters == 0:
            left_out[UNRANKED] += 1
            return None
        place, content = _place(where, pair), _content(pair)
        there, first = contents.setdefault((content, pair.expert), (place, pair))
        if fault := _fault(pair, place, there, first):
            _refuse_unless(fault, pair, name, leave_out)
            left_out[fault[0]] += 1
            return None
        if pair.id and (namesake := ids.setdefault(pair.id, where)) != where:
            raise ValueError(f"id {pair.id!r} stands at {namesake} too; rename one")
        return replace(pair, id=pair.id or content)

    return kept


def _place(where: str, pair: Pair) -> str:
    """Several pairs may be made of one row; those have ids."""
    return f"{where} ({pair.id})" if pair.id else where


def _fault(pair: Pair, where: str, there: str, first: Pair) -> tuple[Fault, str] | None:
    """What is wrong, by its name and in words; ``there`` is where the same pair stands ``first``."""
    for place, answer in (("first", pair.answer_1), ("second", pair.answer_2)):
        if not answer:
            return "empty_answer", f"the {place} answer is empty"
    if _seen(pair.answer_1) == _seen(pair.answer_2):
        return "identical_answers", "both answers are the same to a reader"
    if there != where and _label_seen_from(first, pair) != first.label:
        return "contradicted", f"the same question and answers stand at {there} with another label"
    if there != where:
        return "repeated", f"the same question and answers stand at {there} too"
    return None


def _refuse_unless(fault: tuple[Fault, str], pair: Pair, name: Dataset, leave_out: Collection[Fault]) -> None:
    kind, told = fault
    if kind not in leave_out:
        which = f"pair {pair.id!r}: " if pair.id else ""
        fix = f"mend or remove the row, or add {kind} to datasets.{name}.leave_out in params.yaml"
        raise ValueError(f"{which}{told}; {fix}")


# --- where the rows are -----------------------------------------------------------------------------


def _rows(
    name: Dataset, settings: DatasetParams, external_dir: Path, root: Path
) -> list[Placed[tuple[str, Row]]]:
    """The rows, each after the subset that its file stands for ("" for none)."""
    if name == "embedded":
        return _of_no_subset(json_lines(root / EMBEDDED, "restore it from version control"))
    if settings.source == "hub":
        return _of_no_subset(_from_hub(name, settings))
    place = external_dir / (settings.path or "")
    if name in ("llmbar", "llmbar_processed"):
        return _llmbar(place, name)
    return _of_no_subset(json_lines(_file(place, FILES[name]), _fix(name)))


def _of_no_subset(rows: Sequence[Placed[Row]]) -> list[Placed[tuple[str, Row]]]:
    return [(where, ("", row)) for where, row in rows]


def _from_hub(name: Dataset, settings: DatasetParams) -> list[Placed[Row]]:
    assert settings.hub is not None, "params refuse source: hub without a hub"
    try:
        return hub_rows(settings.hub.dataset, settings.hub.revision, settings.hub.split)
    except SourceError as error:
        fix = "or put the file below data.external_dir and use source: external"
        raise SourceError(f"datasets.{name}.hub: {error}; {fix}") from error


def _file(place: Path, name: str) -> Path:
    """A data set of one file may be named by its folder, and the file be packed."""
    if not place.is_dir():
        return place
    packed = place / f"{name}.gz"
    return packed if packed.is_file() and not (place / name).is_file() else place / name


def _fix(name: str) -> str:
    return f"put it there, or change datasets.{name}.path (below data.external_dir) in params.yaml"


def _llmbar(folder: Path, name: Dataset) -> list[Placed[tuple[str, Row]]]:
    """The rows of LLMBar's own sets (``Natural``, ``Adversarial_*``), or of those that it processed.

    The files lie side by side (``Adversarial_Manual.json``, ``processed_FairEval.json``), or as in the
    release's folder ``Dataset`` (``LLMBar/Adversarial/Manual/dataset.json``).
    """
    found = sorted({*folder.glob("*.json"), *folder.rglob("dataset.json")})
    files = [(_subset(file, folder), file) for file in found]
    if name == "llmbar":
        chosen = [(subset, file) for subset, file in files if subset.startswith(("Natural", "Adversarial_"))]
    else:
        chosen = [(subset[10:], file) for subset, file in files if subset.lower().startswith("processed_")]
    if not chosen:
        wanted = "Natural.json or Adversarial_*.json" if name == "llmbar" else "processed_*.json"
        raise SourceError(f"{folder}: no {wanted} there; {_fix(name)}")
    return [(at, (subset, row)) for subset, file in chosen for at, row in json_list(file, _fix(name))]


def _subset(file: Path, folder: Path) -> str:
    parts = file.relative_to(folder).with_suffix("").parts
    return "_".join(part for part in parts if part not in ("LLMBar", "dataset"))


# --- what a row is ----------------------------------------------------------------------------------


def _embedded(_: str, row: Row) -> list[Pair]:
    """A pair that was written for this project; a tie has no reason."""
    label = _label(row, "label", _NUMBERS)
    reason = row.text_or_nothing("reason")
    if (label == "tie") != (reason == "") or reason not in ("", *REASONS):
        allowed = "empty, since the pair is a tie" if label == "tie" else f"one of {', '.join(REASONS)}"
        raise ValueError(f"reason should be {allowed}, not {reason!r}; correct it")
    pair = _pair(row, "question", "answer_1", "answer_2", label)
    told = row.text("told") if reason else row.text_or_nothing("told")
    return [replace(pair, id=row.name("id"), reason=reason, told=told)]


def _feedbackqa(_: str, row: Row) -> list[Pair]:
    """Two passages retrieved for a question, rated 1 to 4 by two or three people each.

    The label is the better mean; the margin the difference of means, in points of that scale.
    """
    label = _label(row, "label", _LETTERS)
    means = [row.mean_score(f"ratings_{letter}", 1, 4) for letter in "ab"]
    if label != _preferred(*means):
        raise ValueError(f"label is {row.value('label')!r}, but the ratings say otherwise; correct one")
    pair = _pair(row, "question", "answer_a", "answer_b", label)
    raters = min(len(row.value(f"ratings_{letter}")) for letter in "ab")
    return [replace(pair, subset=row.name("domain"), margin=abs(means[0] - means[1]), n_raters=float(raters))]


def _lfqa(_: str, row: Row) -> list[Pair]:
    """One expert's preference between two long answers; `_majorities` makes one pair of several."""
    pair = _pair(row, "question", "answer_a", "answer_b", _label(row, "better", _LETTERS))
    domain = row.name("domain")
    return [replace(pair, subset=domain, expert=f"{domain}/{row.name('rater')}")]


def _majorities(opinions: Sequence[Pair]) -> list[Pair]:
    """One pair for all experts who compared the same two answers, in the order that the first one saw.

    The label is what most of them prefer, "tie" where as many prefer either; the margin is the difference
    of both sides' shares, 0 to 1.
    """
    groups = defaultdict[str, list[Pair]](list)
    for opinion in opinions:
        groups[opinion.id].append(opinion)
    return [_majority(group) for group in groups.values()]


def _majority(group: Sequence[Pair]) -> Pair:
    first = group[0]
    votes = Counter(_label_seen_from(first, opinion) for opinion in group)
    share = (votes["1"] - votes["2"]) / len(group)
    label = _preferred(votes["1"], votes["2"])
    return replace(first, label=label, margin=abs(share), n_raters=float(len(group)), expert="")


def _label_seen_from(first: Pair, opinion: Pair) -> Label:
    """The opinion's label, in the first one's order of answers."""
    if _seen(opinion.answer_1) == _seen(first.answer_1):
        return opinion.label
    return _SWAPPED[opinion.label]


def _llmbar_pair(subset: str, row: Row) -> list[Pair]:
    """Two outputs for an instruction, one of which is better."""
    pair = _pair(row, "input", "output_1", "output_2", _label(row, "label", _STRICT))
    return [replace(pair, subset=subset)]


def _helpsteer3(_: str, row: Row) -> list[Pair]:
    """Two responses to a conversation; people's preference runs from -3 (response 1) to 3 (response 2).

    The margin is its size, 0 to 3.
    """
    preference = row.score("overall_preference", -3, 3)
    several = row.parts("individual_preference") if row.values.get("individual_preference") else []
    return [
        Pair(
            context=conversation(row.parts("context")),
            answer_1=_answer(row, "response1"),
            answer_2=_answer(row, "response2"),
            label=_preferred(0, preference),
            subset=row.name("domain"),
            margin=abs(preference),
            n_raters=float(len(several)) if several else float("nan"),
        )
    ]


def _coval(_: str, row: Row) -> list[Pair]:
    """Every two of a prompt's completions (four in the release, so six pairs), labelled by most rankings.

    A person ranked the completions twice, by what they themselves prefer and by what is best for the
    world; the second is the one that everyone was asked for, and the one that counts here. Of those whose
    ranking (such as "B>A=C>D") holds both completions, most decide; as many on either side are a tie, and a
    "=" counts for neither. The margin is the difference of both sides' shares of those rankings, 0 to 1.
    Two completions that no ranking compares are left out (`UNRANKED`).
    """
    context = conversation(row.part("prompt").parts("messages"))
    texts, prompt = _completions(row), row.name("prompt_id")
    rankings = [_places(ranking, texts) for ranking in _rankings(row)]
    return [
        _ranked(
            Pair(context, texts[one], texts[other], "tie", id=f"{prompt}-{one}-{other}"),
            [ranking[other] - ranking[one] for ranking in rankings if one in ranking and other in ranking],
        )
        for one, other in combinations(sorted(texts), 2)
    ]


def _ranked(pair: Pair, leads: Sequence[int]) -> Pair:
    """The pair as rankings have it; a lead is above 0 where one prefers the first, below where the second."""
    first, second = sum(lead > 0 for lead in leads), sum(lead < 0 for lead in leads)
    margin = abs(first - second) / len(leads) if leads else float("nan")
    return replace(pair, label=_preferred(first, second), margin=margin, n_raters=float(len(leads)))


def _completions(row: Row) -> dict[str, str]:
    """A prompt's completions by letter."""
    texts = dict[str, str]()
    for response in row.parts("responses"):
        letter = response.name("response_index")
        if letter in texts:
            raise ValueError(f"the response {letter!r} stands twice; rename one")
        written = [_answer(message, "content") for message in response.parts("messages")]
        texts[letter] = "\n\n".join(filter(None, written))
    if len(texts) < 2:
        raise ValueError("responses holds one completion, which cannot be compared; remove the row")
    return texts


def _rankings(row: Row) -> list[str]:
    """What people think best for the world; those who ranked nothing are passed over."""
    metadata = row.part("metadata")
    if not metadata.values.get("assessments"):
        return []
    ranked = []
    for assessment in metadata.parts("assessments"):
        if assessment.values.get("ranking_blocks"):
            blocks = assessment.part("ranking_blocks")
            ranked += blocks.parts("world") if blocks.values.get("world") else []
    return [ranking for one in ranked if (ranking := one.text_or_nothing("ranking"))]


def _places(ranking: str, completions: Collection[str]) -> dict[str, int]:
    """Each completion's place in a ranking such as "B>A=C>D", from 0 for the best."""
    tiers = [[letter.strip() for letter in tier.split("=")] for tier in ranking.split(">")]
    letters = [letter for tier in tiers for letter in tier]
    if wrong := [letter for letter in letters if letter not in completions or letters.count(letter) > 1]:
        told = f"the ranking {ranking!r} names {wrong[0]!r}, which is no response, or stands twice"
        raise ValueError(f"{told}; correct it")
    return {letter: place for place, tier in enumerate(tiers) for letter in tier}


# --- what all share ---------------------------------------------------------------------------------


_NUMBERS: Mapping[str, Label] = {"1": "1", "2": "2", "tie": "tie"}
_STRICT: Mapping[str, Label] = {"1": "1", "2": "2"}
_LETTERS: Mapping[str, Label] = {"A": "1", "B": "2", "tie": "tie"}
_SWAPPED: Mapping[Label, Label] = {"1": "2", "2": "1", "tie": "tie"}


def _label(row: Row, column: str, labels: Mapping[str, Label]) -> Label:
    value = row.value(column)
    if str(value) not in labels:  # as text, so that true is not taken for 1
        raise ValueError(f"{column} should be one of {', '.join(labels)}, not {value!r}; correct it")
    return labels[str(value)]


def _preferred(one: float, other: float) -> Label:
    """Which of two is the greater."""
    return "tie" if one == other else "1" if one > other else "2"


def _pair(row: Row, context: str, answer_1: str, answer_2: str, label: Label) -> Pair:
    return Pair(row.text(context), _answer(row, answer_1), _answer(row, answer_2), label)


def _answer(row: Row, column: str) -> str:
    """A text whose column must be there; "" where it is empty, which is a fault that can be left out."""
    row.value(column)
    return row.text_or_nothing(column)


def conversation(messages: Sequence[Row]) -> str:
    """A conversation as one text: a single user's turn as it is, several turns each after its role.

    Turns that show nothing are passed over.

    Raises
    ------
    ValueError
        If no turn shows anything.
    """
    turns = [(message.name("role"), _answer(message, "content")) for message in messages]
    seen = [(role, text) for role, text in turns if text]
    if not seen:
        raise ValueError("the conversation is empty; write it, or remove the row")
    if len(seen) == 1 and seen[0][0] == "user":
        return seen[0][1]
    return "\n\n".join(f"{role.capitalize()}: {text}" for role, text in seen)


_PAIRS: Mapping[Dataset, Callable[[str, Row], list[Pair]]] = {
    "embedded": _embedded,
    "feedbackqa": _feedbackqa,
    "lfqa": _lfqa,
    "llmbar": _llmbar_pair,
    "llmbar_processed": _llmbar_pair,
    "helpsteer3": _helpsteer3,
    "coval": _coval,
}
