"""Notebooks: each runs from top to bottom, with data and without, and is committed without outputs."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from nbclient import NotebookClient
from ruamel.yaml import YAML

from shared.params import PARAMS, parse_common, read
from shared.reporting import tables as reporting
from studies.rationalization_probes.design import ITEMS, TRIALS, design
from studies.rationalization_probes.judge import RESPONSES, with_texts
from studies.rationalization_probes.params import TrialSet
from studies.rationalization_probes.protocols import Protocols, Trial
from tests.studies.evidence_lock import small_study as small_lock
from tests.studies.evidence_lock import small_tables as lock_tables
from tests.studies.rationalization_probes import scripted_tables
from tests.studies.rationalization_probes.support import attacked, item, items, obedient, params, play
from tests.studies.rubric_position_bias import small_study, small_tables

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
COPIED = ("notebooks", "paper_tables", "figures", "params.yaml", "pyproject.toml")
TABLES = Path("paper_tables/rationalization_probes")
PROBES = "rationalization_probes.ipynb"
RUBRIC = "rubric_position_bias.ipynb"
LOCK = "evidence_lock.ipynb"

LACKING = {
    PROBES: ("invariance", "invariance-table"),
    RUBRIC: ("budget", "budget-table"),
    LOCK: ("orders", "orders-table"),
}
"""A table that is taken away from a fresh clone, and the cell that shows it."""

FIRST, SECOND = item("one:equal"), item("two:equal") | {"source": "A second document."}


def opened(name: str) -> nbformat.NotebookNode:
    return nbformat.read(ROOT / "notebooks" / name, as_version=nbformat.NO_CONVERT)


def sources(name: str, kind: str) -> list[str]:
    return [cell.source for cell in opened(name).cells if cell.cell_type == kind]


# --- as committed -----------------------------------------------------------------------------------


def test_every_study_has_its_notebook():
    studies = sorted(path.parent.name for path in (ROOT / "studies").glob("*/__init__.py"))
    assert [f"{study}.ipynb" for study in studies] == NOTEBOOKS


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_is_valid_and_holds_no_output(name):
    notebook = opened(name)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    for cell in notebook.cells:
        assert cell.cell_type == "markdown" or (cell.outputs, cell.execution_count) == ([], None), cell.id


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_names_no_place_on_a_machine(name):
    text = (ROOT / "notebooks" / name).read_text(encoding="utf-8")
    assert not re.search(r"(?<![\w.~}])/(?:home|root|Users|work|workspace|mnt|tmp)/\w", text)
    assert str(ROOT) not in text


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_no_number_is_typed_into_its_text(name):
    prose = re.sub(r"```.*?```", "", "\n".join(sources(name, "markdown")), flags=re.DOTALL)
    assert not re.findall(r"\d+\.\d+|\d+ ?%", prose)


def called(name: str, function: str) -> Iterator[str]:
    """The texts that a function is given, as they stand in the code."""
    for source in sources(name, "code"):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == function:
                yield from (arg.value for arg in node.args if isinstance(arg, ast.Constant))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_asks_for_tables_and_figures_that_are_made(name):
    """A misspelt name would read as a table that is not there yet."""
    study = Path(name).stem
    made = (ROOT / "studies" / study / "dvc.yaml").read_text(encoding="utf-8")
    tables = {source.split()[0] for source in called(name, "table") if "=" in source}
    assert len(tables) >= 8
    for table in tables:
        assert f"- paper_tables/{study}/{table}.csv:" in made
    figures = set(called(name, "drawn"))
    assert len(figures) >= 6
    for figure in figures:
        assert f"- figures/{study}/{figure}.svg:" in made


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_asks_for_quantities_that_tables_have(name):
    known = import_module(f"studies.{Path(name).stem}.pages").QUANTITY_NAMES
    asked = re.findall(r"quantity=([\w,]+)", "\n".join(sources(name, "code")))
    assert {quantity for quantities in asked for quantity in quantities.split(",")} <= set(known)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_judge_that_it_shows_how_to_add_is_one(name):
    [block] = re.findall(r"```yaml\n(.*?)```", "\n".join(sources(name, "markdown")), re.DOTALL)
    added = YAML(typ="safe", pure=True).load(block)["judges"]
    document = read(ROOT / PARAMS)
    common = parse_common({**document, "judges": {**document["judges"], **added}})
    assert common.judges["my_judge"].engine == "endpoint"
    assert len(block.splitlines()) == 5


# --- as run -----------------------------------------------------------------------------------------


def cloned(folder: Path) -> Path:
    """What a notebook finds in a fresh clone."""
    clone = folder / "clone"
    clone.mkdir()
    for name in COPIED:
        take = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        take(ROOT / name, clone / name)
    return clone


def outputs(clone: Path, name: str, started_in: Path) -> dict[str, str]:
    """Run a notebook; by cell, all that it shows, as text. A cell that fails is an error."""
    notebook = nbformat.read(clone / "notebooks" / name, as_version=4)
    where = {"metadata": {"path": str(started_in)}}
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", str(ROOT))
        for variable in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR"):
            environment.setenv(variable, str(clone.parent / "kernel"))  # else they are in the home folder
        NotebookClient(notebook, timeout=None, startup_timeout=500, resources=where).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return {cell.id: "\n".join(map(as_text, cell.outputs)) for cell in code}


def as_text(output: nbformat.NotebookNode) -> str:
    data = output.get("data", {})
    told = [output.get("text"), *(data.get(f"text/{form}") for form in ("markdown", "html"))]
    return "\n".join(filter(None, [*told, data.get("image/svg+xml")]))


@pytest.fixture(scope="module")
def fresh(tmp_path_factory) -> Callable[[str], dict[str, str]]:
    """What a notebook shows before any run, and while one table is not there yet; each is run once."""

    @cache
    def run(name: str) -> dict[str, str]:
        clone = cloned(tmp_path_factory.mktemp("fresh"))
        (clone / "paper_tables" / Path(name).stem / f"{LACKING[name][0]}.csv").unlink(missing_ok=True)
        return outputs(clone, name, clone / "notebooks")

    return run


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_without_data_it_runs_and_says_how_to_get_them(fresh, name):
    assert any("run `make repro` first" in text for text in fresh(name).values())


def test_without_data_it_shows_the_committed_tables(fresh):
    shows = fresh(PROBES)
    assert shows["texts"] == shows["baseline-answers"] == shows["pbp-answers"] == ""
    rows = reporting.read(ROOT / TABLES / "table_02_blind.csv")
    tie = rows[rows["quantity"] == "share_tie"].iloc[0]
    assert reporting.interval(tie["value"], tie["ci_low"], tie["ci_high"]) in shows["table-2"]
    assert "competence gate" in shows["gate-in-words"]
    assert "<svg" in shows["paper-figures"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_table_that_is_not_there_is_named_and_stops_nothing(fresh, name):
    table, cell = LACKING[name]
    assert fresh(name)[cell].startswith(f"*`{table}` is not there yet: run `make repro`")


def test_without_data_there_is_no_text_under_three_orders(fresh):
    shows = fresh(RUBRIC)
    assert shows["prompt"] == shows["order-lines"] == ""
    assert not re.findall("</td>", shows["score-answers"] + shows["option-distributions"])


def test_without_data_there_is_no_pair_under_the_lock(fresh):
    shows = fresh(LOCK)
    assert shows["pair"].strip() == shows["lock-prompts"] == ""
    assert not re.findall("</td>", shows["records"] + shows["all-answers"] + shows["verdicts-of-the-pair"])


def answered(section, trial: Trial) -> list[dict[str, object]]:
    """What the obedient judge says to one trial, as the stage ``judge`` writes it."""
    transcript = play(Protocols(section, structured=True), trial, obedient)
    rows = zip(transcript.steps, transcript.requests, strict=True)
    done = {"finish_reason": "stop", "error": None}
    return [
        {"trial": trial.trial, "step": step, "text": obedient(step, asked), **done} for step, asked in rows
    ]


def with_data(clone: Path) -> None:
    """Two pairs, all probes, a scripted judge; and tables by script beside those that are committed."""
    probes = ["blind", "empty", "truth", "flip", "placebo"]
    schemes = ["scot", "forced", "pbp_repeated"]
    chosen = TrialSet(items=None, schemes=schemes, probes=probes, reveal=True)
    section = params(sets={"equal": chosen})
    texts, rewritten = items(FIRST, SECOND), attacked()
    trials = design(texts, rewritten, section, seed=1)
    answers = [row for trial in with_texts(trials, texts, rewritten) for row in answered(section, trial)]
    (clone / RESPONSES).mkdir(parents=True)
    texts.to_parquet(clone / ITEMS)
    trials.to_parquet(clone / TRIALS)
    pd.DataFrame(answers).to_parquet(clone / RESPONSES / f"{section.judges[0]}.parquet")
    for name, rows in scripted_tables.all_tables().items():
        rows = rows.assign(profile="smoke", fingerprint="0123456789ab")
        reporting.write(clone / TABLES / f"{name}.csv", rows, ["# A page"])


def test_with_data_it_shows_answers_side_by_side_and_every_table(tmp_path):
    clone = cloned(tmp_path)
    with_data(clone)
    shows = outputs(clone, PROBES, clone)
    assert "make repro" not in shows["load-answers"]
    # both documents, in trial order
    assert 0 < shows["texts"].index(FIRST["source"]) < shows["texts"].index(SECOND["source"])
    assert "was written by LLM" in shows["cue-lines"]
    for cell, scheme in (("baseline-answers", "forced"), ("pbp-answers", "pbp_repeated")):
        assert (
            f"`one:equal` under `{scheme}`" in shows[cell] and f"`two:equal` under `{scheme}`" in shows[cell]
        )
        told = set(re.findall(r">(blind|truth|flip|placebo|reveal)</td>", shows[cell]))
        assert len(told) == 5
    assert shows["baseline-answers"].count("verdict: summary_1; rationale: words") == 2 * 6
    assert ">narrate</td>" in shows["pbp-answers"]
    # scripted: 1.5 errors, with half a width of 0.5; each scheme further from 0 than the one before
    assert "1.500 [1.000, 2.000]" in shows["price-table"]
    assert "0.100 [0.050, 0.150]" in shows["invariance-table"]
    assert not [cell for cell, text in shows.items() if "is not there yet" in text]


def test_with_data_it_shows_one_text_under_three_orders_and_every_table(tmp_path):
    clone = cloned(tmp_path)
    small_study.write(clone)
    for name, rows in small_tables.tables().items():
        file = clone / "paper_tables" / Path(RUBRIC).stem / f"{name}.csv"
        reporting.write(file, rows, ["# A page"])
    shows = outputs(clone, RUBRIC, clone)
    assert "make repro" not in shows["load-answers"]
    assert shows["prompt"].count("<response>") == 1
    assert re.findall("--- order (\\d+)", shows["order-lines"]) == ["12345", "54321", "34512"]
    # the judge takes what stands first, whatever it is
    told = re.findall(r">([^<]*)</td>", shows["score-answers"])
    assert told[:5] == ["12345", "1", "ok", "1", "1"] and told[10:15] == ["34512", "3", "ok", "3", "1"]
    assert ">3: 0.900</td>" in shows["option-distributions"]
    assert shows["criteria-answers"].count("(place 1)") == 3
    assert "under base" in shows["gate-in-words"]
    for cell in ("position-table", "budget-table", "paper-curve-table", "paper-ranking-table"):
        assert "| smollm2_135m" in shows[cell] or "0.700" in shows[cell]
    assert not [cell for cell, text in shows.items() if "is not there yet" in text]


def test_with_data_it_shows_one_pair_under_every_protocol_and_every_table(tmp_path):
    clone = cloned(tmp_path)
    small_lock.write(clone)
    for name, rows in lock_tables.tables().items():
        reporting.write(clone / "paper_tables" / Path(LOCK).stem / f"{name}.csv", rows, ["# A page"])
    page = clone / "paper_tables" / Path(LOCK).stem / "lost_examples.md"
    page.write_text("# What the record lost\n\nTwo.\n\n## 1. one\n\n## 2. other\n")
    shows = outputs(clone, LOCK, clone)
    assert "make repro" not in shows["load-answers"]
    assert shows["pair"].startswith("When does it leave, and where?")
    seen, decided = shows["lock-prompts"].split("--- verdict")
    assert "from platform two" in seen and "from platform two" not in decided and "<record>" in decided
    told = re.findall(r">([^<]*)</td>", shows["verdicts-of-the-pair"])
    assert told[:1] == ["standard"] and told[3::5] == ["yes"] * 7  # the judge takes what stands first
    assert shows["records"].count(">none</td>") == 2
    assert shows["all-answers"].count(">assess_2</td>") == 1
    assert "competence gate under" in shows["gate-in-words"]
    assert "0.700 to 0.717" in shows["paper-agreement"] and "-0.060 to -0.040" in shows["paper-loss"]
    assert not [cell for cell, text in shows.items() if "Not run" in text or "is not there yet" in text]
