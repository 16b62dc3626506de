"""Loads each data set in its own layout: texts, the criteria that they are judged by, reference scores."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from shared.reading import (
    GREATEST,
    LEAST,
    Placed,
    Row,
    json_entries,
    json_lines,
    made,
    name_of,
    raise_for,
    visible,
)
from studies.rubric_position_bias.params import Dataset

T = TypeVar("T")

EMBEDDED = Path("data/embedded/rubric_position_bias")

Rater = Literal["human", "model", "intended"]

RATERS: Mapping[Dataset, Rater] = {
    "embedded": "intended",  # the level that its writer aimed at
    "mt_bench": "model",
    "vicuna": "model",
    "hanna": "human",
    "summeval": "human",
    "writingprompts": "human",
}
"""Who gave a data set's reference scores: one rater a data set, so that no result mixes two."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """What a text is judged by.

    Attributes
    ----------
    name : str
        "" for the rubric of a single prompt, which its question tells.
    question : str
    levels : tuple of str
        Five texts, worst first; none where the criterion is only scored in a range, beside others.
    """

    name: str
    question: str
    levels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text that is judged.

    Attributes
    ----------
    cluster : str
        What it was written for (a prompt, an article): the independent source in its data set.
    system : str
        Its id among the candidates of its cluster.
    text : str
    criteria : tuple of Criterion
    references : mapping of str to float
        Reference score by the criterion's name, 1 to 5.
    instruction, source, reference_answer : str
        What was asked, the document that the text is a summary of, a model answer; "" for none.
    writer : str
        Who wrote it, where one writer may have several texts in a cluster; "" where the system did.
    """

    cluster: str
    system: str
    text: str
    criteria: tuple[Criterion, ...]
    references: Mapping[str, float]
    instruction: str = ""
    source: str = ""
    reference_answer: str = ""
    writer: str = ""


def load(name: Dataset, place: Path, embedded: Path) -> list[Candidate]:
    """All candidates of a data set.

    Parameters
    ----------
    name : str
        The data set's: it tells the layout.
    place : Path
        The folder, or for a data set of one file that file; not used for ``embedded``.
    embedded : Path
        The project's own texts and criteria.

    Returns
    -------
    list of Candidate
        In the files' order.

    Raises
    ------
    SourceError
        If a file is absent or not readable, a column is lacking, a text is empty, a score is no number from
        1 to 5, or a candidate stands twice. All bad lines of a file are told in one error.
    """
    match name:
        case "embedded":
            return embedded_texts(embedded)
        case "mt_bench" | "vicuna":
            return prometheus(_file(place, f"{name}_eval_parsed.jsonl"), name)
        case "hanna":
            return hanna(place, criteria(embedded, name))
        case "summeval":
            return summeval(place, criteria(embedded, name))
        case "writingprompts":
            return writing_prompts(_file(place, "wp_a.json"), criteria(embedded, name))


# --- the project's own ------------------------------------------------------------------------------


def criteria(embedded: Path, name: str) -> tuple[Criterion, ...]:
    """The criteria of a data set, with the level texts that were written for it."""
    rows = json_lines(embedded / "criteria" / f"{name}.jsonl", "restore it from version control")
    return tuple(criterion for _, criterion in made(rows, _criterion))


def _criterion(row: Row) -> Criterion:
    levels = _five(row.texts("levels"), "levels") if "levels" in row.values else ()
    return Criterion(row.name("criterion"), row.text("question"), levels)


def embedded_texts(folder: Path) -> list[Candidate]:
    """Responses to prompts that have a rubric each, and texts that are judged by several criteria."""
    fix = "restore it from version control"
    several = criteria(folder, "embedded")
    prompts = made(json_lines(folder / "prompts.jsonl", fix), _responses)
    texts = made(json_lines(folder / "texts.jsonl", fix), lambda row: [_text(row, several)])
    return _candidates((where, one) for where, found in (*prompts, *texts) for one in found)


def _responses(row: Row) -> list[Candidate]:
    rubric = Criterion("", row.text("question"), _five(row.texts("levels"), "levels"))
    return [
        Candidate(
            cluster=row.name("id"),
            system=response.name("system"),
            text=response.text("text"),
            criteria=(rubric,),
            references={rubric.name: response.score("level")},
            instruction=row.text("instruction"),
        )
        for response in row.parts("responses")
    ]


def _text(row: Row, several: tuple[Criterion, ...]) -> Candidate:
    levels = row.part("levels")
    return Candidate(
        cluster=row.name("id"),
        system="text",
        text=row.text("text"),
        criteria=several,
        references={criterion.name: levels.score(criterion.name) for criterion in several},
        instruction=row.text("instruction"),
    )


# --- MT-Bench and Vicuna, in the layout of Prometheus -----------------------------------------------


def prometheus(file: Path, name: str) -> list[Candidate]:
    """Four models' responses to a prompt, which has a rubric of its own.

    The reference is the mean of three GPT-4 scores, so it is a model's opinion, not a human's. A second turn
    of MT-Bench follows a model's own first answer: candidates for a prompt share its last request, not
    all of the instruction.
    """
    return _candidates(made(json_lines(file, _fix(name)), _rated_response))


def _rated_response(row: Row) -> Candidate:
    rubric = Criterion("", row.text("criterion"), _levels(row.part("levels")))
    return Candidate(
        cluster=row.name("idx"),
        system=row.name("response_source"),
        text=row.text("response"),
        criteria=(rubric,),
        references={rubric.name: row.mean_score("gpt4_score")},
        instruction=row.text("instruction"),
        reference_answer=row.text_or_nothing("reference_answer"),
    )


def _levels(row: Row) -> tuple[str, ...]:
    texts = tuple(row.text(str(level)) for level in range(LEAST, GREATEST + 1))
    return _five(texts, "levels")


# --- HANNA ------------------------------------------------------------------------------------------


def hanna(folder: Path, six: tuple[Criterion, ...]) -> list[Candidate]:
    """Stories with three people's ratings on six criteria; the reference is their mean.

    ``human_stories_scored_96.jsonl`` has one human story a prompt. ``hypoeval30_scored.jsonl`` may lie beside
    it: its machine stories are further candidates for those prompts, and its human ones are there already.
    """
    files = (folder / "human_stories_scored_96.jsonl", folder / "hypoeval30_scored.jsonl")
    found = made(json_lines(files[0], _fix("hanna")), lambda row: _rated_story(row, six))
    if files[1].is_file():
        more = made(json_lines(files[1], _fix("hanna")), lambda row: _rated_story(row, six))
        known = {(story.cluster, story.system, visible(story.text)) for _, story in found}
        found += [
            (where, story)
            for where, story in more
            if (story.cluster, story.system, visible(story.text)) not in known
        ]
    return _candidates(found)


def _rated_story(row: Row, six: tuple[Criterion, ...]) -> Candidate:
    ratings = row.part("ratings")
    return Candidate(
        cluster=row.name("prompt_index"),
        system=row.name("system"),
        text=row.text("story"),
        criteria=six,
        references={one.name: ratings.mean_score(one.name.capitalize()) for one in six},
        instruction=_story_for(row.text("prompt")),
    )


def _story_for(prompt: str) -> str:
    return f"Write a short story for this prompt: {prompt}"


# --- SummEval ---------------------------------------------------------------------------------------


def summeval(folder: Path, four: tuple[Criterion, ...]) -> list[Candidate]:
    """Systems' summaries of articles; the reference is the mean of three experts on each of four criteria."""
    articles = made(
        json_lines(folder / "articles.jsonl", _fix("summeval")),
        lambda row: (row.name("doc_id"), row.text("source")),
    )
    sources = dict(_distinct(articles, lambda article: article[0], lambda article: f"doc_id {article[0]!r}"))
    rows = json_lines(folder / "summaries.jsonl", _fix("summeval"))
    return _candidates(made(rows, lambda row: _summary(row, sources, four)))


def _summary(row: Row, sources: Mapping[str, str], four: tuple[Criterion, ...]) -> Candidate:
    article = row.name("doc_id")
    if article not in sources:
        raise ValueError(f"doc_id {article!r} is no article; add it to articles.jsonl, or remove the row")
    return Candidate(
        cluster=article,
        system=row.name("system_id"),
        text=row.text("summary"),
        criteria=four,
        references={one.name: row.score(one.name) for one in four},
        source=sources[article],
    )


# --- WritingPrompts ---------------------------------------------------------------------------------


def writing_prompts(file: Path, four: tuple[Criterion, ...]) -> list[Candidate]:
    """Stories by people and by GPT-2; the reference is the mean of three teachers on each of four criteria.

    The prompt is told by its text, so stories for the same words are one cluster, which is named by
    the key of its first story. One writer may have several stories there, so each is a system of its own.
    """
    stories = made(json_entries(file, _fix("writingprompts")), lambda entry: _keyed_story(*entry, four))
    first: dict[str, str] = {}
    return _distinct(
        (
            (where, replace(story, cluster=first.setdefault(visible(story.instruction), story.cluster)))
            for where, story in stories
        ),
        lambda story: (story.cluster, story.writer, visible(story.text)),
        lambda story: f"this story of {story.writer!r}",
    )


def _keyed_story(key: str, row: Row, four: tuple[Criterion, ...]) -> Candidate:
    number = name_of(key, "the key")
    writer = _WRITERS[_flag(row, "human_written")]
    return Candidate(
        cluster=number,
        system=f"{writer}-{number}",
        text=row.text("story"),
        criteria=four,
        references={one.name: row.mean_score(one.name) for one in four},
        instruction=_story_for(row.text("prompt")),
        writer=writer,
    )


_WRITERS = ("gpt2", "human")


def _flag(row: Row, column: str) -> int:
    value = row.value(column)
    if value not in (0, 1):
        raise ValueError(f"{column} should be 0 or 1, not {value!r}; correct it")
    return int(value)


# --- what all share ---------------------------------------------------------------------------------


def _file(place: Path, name: str) -> Path:
    """A data set of one file may be named by its folder."""
    return place / name if place.is_dir() else place


def _fix(name: str) -> str:
    return f"put it there, or change datasets.{name}.path (below data.external_dir) in params.yaml"


def _five(levels: tuple[str, ...], what: str) -> tuple[str, ...]:
    """Five texts, all different to a reader."""
    if len(levels) != GREATEST:
        raise ValueError(f"{what} should be {GREATEST} texts, worst first, not {len(levels)}; write them all")
    if len(set(map(visible, levels))) < GREATEST:
        raise ValueError(f"{what} holds the same text twice; reword one")
    return levels


def _distinct(
    found: Iterable[Placed[T]], key: Callable[[T], Hashable], called: Callable[[T], str]
) -> list[T]:
    """All that was found, if no two have the same key; ``called`` names one in the error."""
    first: dict[Hashable, str] = {}
    kept, problems = list[T](), list[str]()
    for where, one in found:
        kept.append(one)
        if (there := first.setdefault(key(one), where)) != where:
            problems.append(f"{where}: {called(one)} stands at {there} too; remove one")
    raise_for(problems)
    return kept


def _candidates(found: Iterable[Placed[Candidate]]) -> list[Candidate]:
    """The candidates, none of them twice.

    Two systems may have written the same text: they are two candidates, and each has its own ratings.
    """
    return _distinct(
        found,
        lambda one: (one.cluster, one.system),
        lambda one: f"a text of system {one.system!r} for {one.cluster!r}",
    )
