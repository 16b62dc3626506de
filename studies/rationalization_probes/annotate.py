"""Collects people's blind verdicts on pairs of equal content, in the terminal (the paper's human check, A.1).

``python -m studies.rationalization_probes.annotate NAME [PAIRS]`` asks one annotator what is still missing;
``python -m studies.rationalization_probes.annotate agreement`` compares all annotators.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from shared.draws import draw, number
from shared.errors import UserError, run_stage
from shared.frames import cells, read, rows_of
from shared.metrics.resampling import Array, Inference, named_generator, rate_interval, ratio
from shared.params import load
from shared.reporting import published, tables
from studies.rationalization_probes.design import ITEMS
from studies.rationalization_probes.params import Section
from studies.rationalization_probes.rows import entropy_of, estimate, frame, row

ANNOTATIONS = Path("data/annotations/rationalization_probes")
PAIRS = 100
"""As many as the paper's annotators judged."""

PAPER_TIES = ("rationalization_probes.claim.000-118", "rationalization_probes.claim.000-119")
KIND = "equal"
VERDICTS = ("1", "2", "tie")

Ask = Callable[[str], str]
Show = Callable[[str], None]
Record = dict[str, Any]

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_QUESTION = "Which summary is better? 1, 2, t (tie), s (skip for now), q (quit): "
_REPLIES = {**{key: key for key in "12tsq"}, "tie": "t", "skip": "s", "quit": "q"}
_WIDTH = 88


# --- What is asked ------------------------------------------------------------------------------------


class Pair(NamedTuple):
    """A pair as it is shown: ``screen_order`` says which identity stands first."""

    item: str
    cluster: str
    source: str
    first: str
    second: str
    screen_order: str

    @property
    def digest(self) -> str:
        """Of all that is read: a verdict holds for these texts alone."""
        texts = "\x1f".join([self.source, self.first, self.second])
        return hashlib.sha256(texts.encode()).hexdigest()[:12]


def drawn_pairs(items: pd.DataFrame, pairs: int, seed: int) -> list[Pair]:
    """Pairs of equal content, the same for every annotator: which, in what order, and what stands first.

    Parameters
    ----------
    items : DataFrame
        As the stage ``data`` writes them.
    pairs : int
        How many; fewer where there are fewer. A larger number keeps those of a smaller one, at the front.
    seed : int
        With the items' ids it decides everything; what stands first is what it decides for the judges too.

    Raises
    ------
    UserError
        If there is no such pair.
    """
    equal = items[items["kind"] == KIND]
    if equal.empty:
        raise UserError(f"{ITEMS}: holds no pair of kind {KIND}; give documents two paraphrases each")
    drawn = sorted(rows_of(equal), key=lambda item: number(seed, item["item"], "annotation"))
    return [_pair(item, draw(["12", "21"], seed, item["item"], "screen order")) for item in drawn[:pairs]]


def _pair(item: Mapping[str, str], order: str) -> Pair:
    first, second = (item[f"candidate_{identity}"] for identity in order)
    return Pair(item["item"], item["cluster"], item["source"], first, second, order)


def collect(pairs: Sequence[Pair], file: Path, ask: Ask, show: Show) -> None:
    """Ask one annotator for what is missing; each verdict is on disk before the next pair is shown.

    Parameters
    ----------
    pairs : sequence of Pair
    file : Path
        The annotator's answers; made where it is absent, gone on with where it is not.
    ask : callable
        Shows a prompt and returns what was typed. EOFError and KeyboardInterrupt end the session, as "q"
        does.
    show : callable
        Shows a text.

    Raises
    ------
    UserError
        If the file holds something else than answers.
    """
    _mend(file, show)
    done = _done(file)
    with suppress(EOFError, KeyboardInterrupt):
        for at, pair in enumerate(pairs, start=1):
            if (pair.item, pair.digest) in done:
                continue
            show(_page(pair, f"Pair {at} of {len(pairs)}"))
            reply = _reply(ask, show)
            if reply == "q":
                break
            if reply != "s":
                _append(file, _record(pair, reply))
    left = len({(pair.item, pair.digest) for pair in pairs} - _done(file))
    show(f"\n{len(pairs) - left} of {len(pairs)} pairs judged" + ("; run again to go on" if left else ""))


def _page(pair: Pair, title: str) -> str:
    """The document and both texts, without a label."""
    parts = {f"{title}: the document": pair.source, "Summary 1": pair.first, "Summary 2": pair.second}
    return "\n".join(f"\n=== {name} ===\n{_wrapped(text)}" for name, text in parts.items()) + "\n"


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.fill(line, _WIDTH) for line in text.splitlines())


def _reply(ask: Ask, show: Show) -> str:
    while (reply := _REPLIES.get(ask(_QUESTION).strip().casefold())) is None:
        show("please type 1, 2, t, s or q")
    return reply


def _record(pair: Pair, reply: str) -> Record:
    """The verdict by identity, never by place."""
    verdict = "tie" if reply == "t" else pair.screen_order[int(reply) - 1]
    kept = {"item": pair.item, "cluster": pair.cluster, "digest": pair.digest}
    return {**kept, "screen_order": pair.screen_order, "verdict": verdict}


# --- Answers on disk ----------------------------------------------------------------------------------


def read_answers(file: Path) -> tuple[list[Record], int]:
    """An annotator's answers, and at which byte they end: what follows is a last line that was cut off.

    Raises
    ------
    UserError
        If another line is no answer; it names the line.
    """
    *lines, rest = file.read_bytes().split(b"\n") if file.is_file() else [b""]
    answers, end = [], 0
    for at, line in enumerate(lines, start=1):
        answer = _answer(line)
        if answer is None and at == len(lines) and not rest:
            break
        if answer is None:
            raise UserError(f"{file}:{at}: not an answer; remove this line, and its pair is asked again")
        answers.append(answer)
        end += len(line) + 1
    return answers, end


def _answer(line: bytes) -> Record | None:
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        return None
    texts = ("item", "cluster", "digest", "verdict")
    if not isinstance(answer, dict) or not all(isinstance(answer.get(key), str) for key in texts):
        return None
    return answer if answer["verdict"] in VERDICTS else None


def _done(file: Path) -> set[tuple[str, str]]:
    return {(answer["item"], answer["digest"]) for answer in read_answers(file)[0]}


def _mend(file: Path, show: Show) -> None:
    """Cut a damaged last line off, so that the next answer does not become part of it."""
    _, end = read_answers(file)
    if file.is_file() and end < file.stat().st_size:
        os.truncate(file, end)
        show(f"note: the last line of {file} was damaged and is removed; its pair is asked again")


def _append(file: Path, record: Record) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as out:
        out.write(json.dumps(record).encode() + b"\n")
        out.flush()
        os.fsync(out.fileno())


def read_annotators(folder: Path, show: Show) -> pd.DataFrame:
    """The answers of all annotators: ``annotator``, item, cluster, digest, verdict.

    Raises
    ------
    UserError
        If there are fewer than two annotators with an answer.
    """
    found = [
        {**answer, "annotator": file.stem}
        for file in sorted(folder.glob("*.jsonl"))
        for answer in _told(file, show)
    ]
    columns = ["annotator", "item", "cluster", "digest", "verdict"]
    answers = pd.DataFrame(found, columns=columns)
    names = sorted(set(answers["annotator"]))
    if len(names) < 2:
        raise UserError(
            f"{folder}: agreement needs two annotators, there are {len(names)}; run "
            "`python -m studies.rationalization_probes.annotate NAME` for each"
        )
    return answers.drop_duplicates(["annotator", "item", "digest"], keep="last")


def _told(file: Path, show: Show) -> list[Record]:
    answers, end = read_answers(file)
    if end < file.stat().st_size:
        show(f"note: the last line of {file} is damaged and does not count")
    return answers


# --- Agreement ----------------------------------------------------------------------------------------


def agreement(answers: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> pd.DataFrame:
    """How often annotators say tie, and how far each two of them agree.

    Parameters
    ----------
    answers : DataFrame
        From `read_annotators`.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        `rows.COLUMNS`, with annotators for judges. ``tie_rate`` of each, with its ``count``; of each two
        ("a, b"), over the pairs of texts that both judged, ``agreement`` (the share of equal verdicts) and
        ``kappa`` (Cohen's, in [-1, 1]; nan where both gave one and the same verdict throughout).

    References
    ----------
    Cohen (1960), Educational and Psychological Measurement 20, 37-46.
    """
    entropy = entropy_of(rng)
    by_annotator = {names["annotator"]: own for names, own in cells(answers, ["annotator"])}
    rows = [_tie_row(name, own, entropy, inference) for name, own in sorted(by_annotator.items())]
    for one, other in itertools.combinations(sorted(by_annotator), 2):
        both = by_annotator[one].merge(by_annotator[other], on=["item", "cluster", "digest"])
        rows += _agreement_rows(f"{one}, {other}", both, entropy, inference)
    return frame(rows)


def _tie_row(name: str, own: pd.DataFrame, entropy: int, inference: Inference) -> Record:
    ties = own["verdict"] == "tie"
    found = rate_interval(ties, own["cluster"], named_generator(entropy, "tie_rate", name), inference)
    return row("tie_rate", _cell(name), own, own, found) | {"count": int(ties.sum())}


def _agreement_rows(names: str, both: pd.DataFrame, entropy: int, inference: Inference) -> Iterator[Record]:
    equal = both["verdict_x"] == both["verdict_y"]
    generator = named_generator(entropy, "agreement", names)
    found = rate_interval(equal, both["cluster"], generator, inference)
    yield row("agreement", _cell(names), both, both, found) | {"count": int(equal.sum())}
    pairs = list(itertools.product(VERDICTS, VERDICTS))
    said = [(both["verdict_x"] == x) & (both["verdict_y"] == y) for x, y in pairs]
    generator = named_generator(entropy, "kappa", names)
    columns = np.column_stack(said).astype(float)
    yield row(
        "kappa", _cell(names), both, both, estimate(kappa, columns, both, generator, inference, (-1, 1))
    )


def _cell(name: str) -> dict[str, str]:
    return {"judge": name, "kind": KIND, "probe": "blind"}


def kappa(counts: Array) -> Array:
    """Cohen's kappa of two raters: agreement beyond chance, over the most that there could be.

    Parameters
    ----------
    counts : ndarray, shape (..., 9)
        The table of `VERDICTS` by `VERDICTS`, row after row.

    Returns
    -------
    ndarray, shape (...)
        In [-1, 1]; nan for no pairs, and where both gave one verdict only.

    See Also
    --------
    sklearn.metrics.cohen_kappa_score : the oracle, which has no leading axes to resample over.
    """
    table = counts.reshape(*counts.shape[:-1], 3, 3)
    total = table.sum(axis=(-2, -1))
    observed = ratio(np.trace(table, axis1=-2, axis2=-1), total)
    expected = ratio((table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1), total**2)
    return ratio(observed - expected, 1 - expected)


def report(found: pd.DataFrame, inference: Inference) -> str:
    """The rows of `agreement` in words, beside what the paper printed."""
    lines = [_line(line, inference) for line in rows_of(found)]
    ties = " and ".join(f"{published.value(id):g}" for id in PAPER_TIES)
    return "\n".join([*lines, f"the paper's two annotators: tie on {ties} of {PAIRS}"])


def _line(found: Record, inference: Inference) -> str:
    value = tables.interval(found["value"], found["ci_low"], found["ci_high"])
    few = f" ({tables.TOO_FEW})" if found["n_clusters"] < inference.few_clusters else ""
    if found["quantity"] == "kappa":
        return f"{found['judge']}: Cohen's kappa {value}{few}"
    verb = "tie" if found["quantity"] == "tie_rate" else "agree"
    of = f"{tables.whole(found['count'])} of {tables.whole(found['n_trials'])}"
    return f"{found['judge']}: {verb} on {of}: {value}{few}"


# --- The command --------------------------------------------------------------------------------------


def arguments(argv: Sequence[str]) -> tuple[str, int]:
    """The annotator's name and how many pairs.

    Raises
    ------
    UserError
        If either can't be used.
    """
    if len(argv) not in (2, 3):
        raise UserError("name the annotator after the command, and how many pairs (100 if left out)")
    if not _NAME.fullmatch(argv[1]) or argv[1] == "agreement":
        raise UserError(f"annotator {argv[1]!r}: use lower case letters, digits and _; it names a file")
    pairs = argv[2] if len(argv) == 3 else str(PAIRS)
    if not (pairs.isascii() and pairs.isdigit() and int(pairs)):
        raise UserError(f"{pairs!r} pairs: give a whole number above 0")
    return argv[1], int(pairs)


def main() -> None:
    common, _ = load("rationalization_probes", Section)
    inference = Inference(**common.statistics.model_dump())
    if sys.argv[1:] == ["agreement"]:
        rng = np.random.default_rng(number(common.seed, "annotators"))
        print(report(agreement(read_annotators(ANNOTATIONS, print), rng, inference), inference))
        return
    name, wanted = arguments(sys.argv)
    pairs = drawn_pairs(read(ITEMS, "data"), wanted, common.seed)
    if len(pairs) < wanted:
        print(f"note: {wanted} pairs asked for; there are {len(pairs)}")
    collect(pairs, ANNOTATIONS / f"{name}.jsonl", input, print)


if __name__ == "__main__":
    run_stage(main)
