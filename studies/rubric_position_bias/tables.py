"""The study's tables (stage ``tables``): estimates beside what the paper printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_limits

from shared.errors import run_stage
from shared.frames import read_judges
from shared.metrics.resampling import Inference
from shared.params import load
from shared.reporting import tables
from shared.reporting.results import Study
from studies.rubric_position_bias import pages
from studies.rubric_position_bias.agreement import agreement_rows, claim_rows, gain_rows, k_curve_rows
from studies.rubric_position_bias.budget import budget_rows
from studies.rubric_position_bias.calibration import calibration_rows
from studies.rubric_position_bias.captions import ABSENT
from studies.rubric_position_bias.criteria import criteria_rows
from studies.rubric_position_bias.first_token import first_token_rows
from studies.rubric_position_bias.gate import balanced_of
from studies.rubric_position_bias.grid import coded
from studies.rubric_position_bias.instrument_tables import answer_rows, order_rows
from studies.rubric_position_bias.judgements import JUDGEMENTS
from studies.rubric_position_bias.logit import arm_rows, logit_rows, temperature_rows
from studies.rubric_position_bias.params import Section
from studies.rubric_position_bias.position import position_rows, size_rows
from studies.rubric_position_bias.ranking import ranking_rows
from studies.rubric_position_bias.results import MAIN, finisher, gates_of, main_design, verdicts
from studies.rubric_position_bias.strategies import CELL

FOLDER = Path("paper_tables/rubric_position_bias")

MANY = 200_000
"""Judgements from which a second process, whose start takes two seconds, is worth it."""

Named = tuple[str, pd.DataFrame]

COMPARED_SIZES = (MAIN["size"], 9)
"""Numbers of options at which strategies differ: of two and three the balanced orders are all there are."""


def all_tables(study: Study, params: Section) -> Iterator[Named]:
    """Every table by name, its rows as `results.finisher` leaves them."""
    study = replace(study, judgements=coded(study.judgements, but=["trial"]))
    # Ids are long: chosen with the other columns in table after table, they would cost more than all of them.
    unnamed = replace(study, judgements=study.judgements.drop(columns="trial"))
    gates, estimates = _gates_and_estimates(unnamed, params)
    finish = finisher(study, verdicts(gates))
    for name, rows in estimates:
        yield name, finish(name, rows)
    yield "competence", finish("competence", gates)
    yield "answers", finish("answers", pd.DataFrame(answer_rows(study)))
    yield "orders", finish("orders", order_rows())


def _gates_and_estimates(study: Study, params: Section) -> tuple[pd.DataFrame, Iterable[Named]]:
    """The gates of all cells, a third of the work, and the tables: of many judgements on two cores at once.

    What comes out is the same: each table and each cell's gate have generators of their own.
    """
    if len(study.judgements) < MANY:
        return gates_of(study), _estimates(study, params)
    # One thread each: products of thin matrices wait for each other's threads longer than they take.
    second = ProcessPoolExecutor(1, get_context("spawn"), initializer=threadpool_limits, initargs=(1,))
    with threadpool_limits(1), second as second_core:
        gates = second_core.submit(gates_of, replace(study, judgements=balanced_of(study.judgements)))
        estimates = list(_estimates(study, params))
        return gates.result(), estimates


def _estimates(study: Study, params: Section) -> Iterator[Named]:
    """The paper's results 1 to 9, then what goes beyond it: each table's name and rows."""
    every, main, inference = study.judgements, main_design(study.judgements), study.inference
    compared = strategies_compared(every)
    agreement = agreement_rows(compared, study.rng("agreement"), inference)
    yield "position", position_rows(main, study.rng("position"), inference)
    yield "rubric_size", size_rows(every, study.rng("rubric_size"), inference)
    by_place = criteria_rows(main, study.rng("criterion_order"), inference)
    yield "criterion_order", by_place.assign(setting="criteria")
    parts = [agreement, _of_several(claim_rows(agreement)), _by_criterion(study, main)]
    yield "agreement", pd.concat(parts, ignore_index=True)
    yield "gain", gain_rows(compared, study.rng("gain"), inference)
    yield "k_curve", k_curve_rows(compared, study.rng("k_curve"), inference)
    yield "ranking", ranking_rows(compared, study.rng("ranking"), inference)
    yield "logit", logit_rows(main, study.rng("logit"), inference)
    yield "prompt_arms", arm_rows(every, study.rng("prompt_arms"), inference)
    yield "temperature", _by_temperature(study)
    yield "first_token", first_token_rows(main, study.rng("first_token"), inference)
    yield "calibration", calibration_rows(main, study.rng("calibration"), inference, params.calibration)
    yield "budget", budget_rows(main, study.rng("budget"), inference, params.budget)


def strategies_compared(judgements: pd.DataFrame) -> pd.DataFrame:
    """The judgements in which strategies are compared: the main design, and the same of nine options."""
    chosen = judgements["size"].isin(COMPARED_SIZES) | (judgements["setting"] == "criteria")
    for name in ("scheme", "temperature", "effort"):
        chosen &= judgements[name] == MAIN[name]
    return judgements[chosen]


def _by_criterion(study: Study, main: pd.DataFrame) -> pd.DataFrame:
    """r of each of several criteria in one prompt, where the rows above pool them."""
    several = main[main["setting"] == "criteria"]
    rng = study.rng("agreement", "criterion")
    return agreement_rows(several, rng, study.inference, (*CELL, "criterion"), ["pearson"])


def _by_temperature(study: Study) -> pd.DataFrame:
    """sd(alpha) over temperatures and efforts; beside it, of the same cells, the paper's chi-square and r.

    r is of Balanced and of Fixed, which above temperature 0 is asked as often, and the difference.
    """
    found = temperature_rows(study.judgements, study.rng("temperature"), study.inference)
    if found.empty:
        return found
    rows = study.judgements
    base = rows[(rows["setting"] == "score") & (rows["scheme"] == "base") & (rows["size"] == 5)]
    base = base[base["strategy"].isin(["balanced", "fixed"])]
    places = position_rows(base, study.rng("temperature", "position"), study.inference)
    rng = study.rng("temperature", "agreement")
    agreement = agreement_rows(base, rng, study.inference, quantities=["pearson"])
    chi_square = places[places["quantity"].isin(["chi_square", "cramers_v"])].drop(columns="p_holm")
    return pd.concat([found, chi_square, agreement], ignore_index=True)


def _of_several(rows: pd.DataFrame) -> pd.DataFrame:
    """Counts of cells, where there is more than one to count."""
    return rows[~(rows["n_cells"] <= 1)] if "n_cells" in rows else rows


def write_all(study: Study, params: Section, folder: Path = FOLDER) -> Iterable[str]:
    """Write every table with its page, and tell of each that has no rows."""
    for name, rows in all_tables(study, params):
        page = pages.page(name, rows, study.profile, study.inference.confidence)
        tables.write(folder / f"{name}.csv", rows, page)
        if rows.empty:
            yield f"{name}: no rows; {ABSENT[name]}"


def main() -> None:
    common, params = load("rubric_position_bias", Section)
    judged = read_judges(JUDGEMENTS, params.judges, "judgements")
    study = Study(judged, Inference(**common.statistics.model_dump()), common.seed, common.profile)
    for line in write_all(study, params):
        print(line)
    print(f"{FOLDER}: tables of {', '.join(params.judges)}, profile {common.profile}")


if __name__ == "__main__":
    run_stage(main)
