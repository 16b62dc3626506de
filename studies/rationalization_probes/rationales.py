"""What cues do to a judge's rationales: how far they move from Blind's, and whose label they sound like.

The paper's explanation drift and label alignment (sections 4.3 and 5.7), over frames of judgements and the
vectors of their texts. A judge rewrites its rationale at any change of the prompt, and a rationale about a
summary may sound like one label without any label: so drift stands beside two noise floors, and alignment
beside what the same scorer gives on Blind's rationales.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from shared.errors import UserError
from shared.frames import cells
from shared.metrics.resampling import (
    Array,
    Inference,
    named_generator,
    rate_interval,
    ratio,
    signed_interval,
)
from studies.rationalization_probes.pairing import KEY, paired
from studies.rationalization_probes.params import Rationales
from studies.rationalization_probes.rows import entropy_of, estimate, frame, graded_estimate, row, signed_test

Vectors = Mapping[str, Array]
"""A vector of each text, from `shared.embedding.read_vectors`."""

Descriptors = Mapping[str, Sequence[tuple[str, str]]]
"""Wordings by family, each (the cue's side, the other side)."""

FLOORS = ("empty", "resample")
"""Probes without a cue: what a meaningless line does, and what sampling does."""

PROBE_FAMILY: Mapping[str, str] = {
    "truth": "label",
    "flip": "label",
    "relabel_llm": "label",
    "relabel_tradml": "label",
    "placebo": "placebo",
    "verbosity": "verbosity",
    "confidence": "confidence",
}
"""Which descriptors a probe's rationales are compared with; a probe that is not here shows no cue.

Under Truth, Flip and `relabel_llm` the favoured descriptor is that of the LLM label, under `relabel_tradml`,
which shows no other, that of TradML. The paper favours [1,2] under
Truth, where 1 is labelled LLM, and [2,1] under Flip, where 2 is: the same label, in another place.
"""

CELL = ("judge", "scheme", "kind", "probe")


# --- Equations ----------------------------------------------------------------------------------------


def distance(first: npt.ArrayLike, second: npt.ArrayLike) -> Array:
    """delta(x, y) = (1 - cos(x, y)) / 2, the normalised cosine distance (section 4.3).

    Parameters
    ----------
    first, second : array_like, shape (..., d)
        Vectors of any length, broadcast against each other.

    Returns
    -------
    ndarray, shape (...)
        In [0, 1]: 0 for the same direction, 0.5 for orthogonal ones, 1 for opposite ones. nan where a
        vector has no direction.

    Notes
    -----
    Computed as |u - v|^2 / 4 of the unit vectors, which is the same, and exactly 0 for equal vectors.

    Examples
    --------
    >>> distance([1.0, 0.0], [[2.0, 0.0], [0.0, 1.0], [-3.0, 0.0]]).tolist()
    [0.0, 0.5, 1.0]
    """
    squares = np.square(_unit(first) - _unit(second)).sum(axis=-1) / 4
    return np.asarray(np.clip(squares, 0, 1))


def _unit(vectors: npt.ArrayLike) -> Array:
    array = np.asarray(vectors, dtype=float)
    return ratio(array, np.linalg.norm(array, axis=-1, keepdims=True))


def alpha(rationale: npt.ArrayLike, favoured: npt.ArrayLike, opposite: npt.ArrayLike) -> Array:
    """alpha(e, L): which of two descriptors a rationale is nearer to (section 4.3).

    Parameters
    ----------
    rationale, favoured, opposite : array_like, shape (..., d)

    Returns
    -------
    ndarray of {0, 0.5, 1}, shape (...)
        1: cos(e, d_fav) > cos(e, d_opp); 0: the other way round; 0.5: equal. nan where a vector has no
        direction.

    Examples
    --------
    >>> alpha([[2.0, 1.0], [1.0, 2.0], [1.0, 1.0]], [1.0, 0.0], [0.0, 1.0]).tolist()
    [1.0, 0.0, 0.5]
    """
    nearer = np.sign(distance(rationale, opposite) - distance(rationale, favoured))
    return np.asarray((1 + nearer) / 2)


# --- Pairs of rationales ------------------------------------------------------------------------------


def compared(judgements: pd.DataFrame, vectors: Vectors) -> pd.DataFrame:
    """Each rationale under a cue beside Blind's of the same pair, order and replicate.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``; only the stage ``first`` is used.
    vectors : mapping of str to ndarray

    Returns
    -------
    DataFrame
        The rows of `pairing.paired` with ``same`` (both answers parsed, and the same verdict) and ``delta``
        (`distance` of the two rationales; nan where one is lacking).

    Raises
    ------
    UserError
        If a rationale has no vector.
    ValueError
        If a judgement has no Blind to be compared with, or several.
    """
    pairs = paired(judgements)
    both = pairs["rationale"].notna() & pairs["rationale_blind"].notna()
    delta = pd.Series(np.nan, index=pairs.index)
    delta[both] = distance(
        *(_matrix(pairs.loc[both, name], vectors) for name in ("rationale", "rationale_blind"))
    )
    same = pairs["parsed"] & (pairs["verdict"] == pairs["verdict_blind"])
    return pairs.assign(same=same.astype(bool), delta=delta)


def beside_floor(pairs: pd.DataFrame, floor: str) -> pd.DataFrame:
    """Each pair under a cue beside the pair of the same item, order and replicate under a noise floor.

    Parameters
    ----------
    pairs : DataFrame
        From `compared`.
    floor : str
        A probe.

    Returns
    -------
    DataFrame
        The pairs under probes that are no floor, with ``floor_asked`` (there is such a judgement),
        ``delta_floor``, ``same_floor`` and ``above``: ``delta`` less ``delta_floor``, in [-1, 1], nan where
        a rationale is lacking.
    """
    columns = [*KEY, "delta", "same"]
    cued = pairs[~pairs["probe"].isin([*FLOORS, floor])]
    base = pairs.loc[pairs["probe"] == floor, columns]
    joined = cued.merge(
        base, on=KEY, how="left", suffixes=("", "_floor"), validate="many_to_one", indicator="_found"
    )
    return joined.assign(
        floor_asked=joined["_found"] == "both",
        same_floor=joined["same_floor"].eq(True),
        above=joined["delta"] - joined["delta_floor"],
    ).drop(columns="_found")


def _matrix(texts: pd.Series, vectors: Vectors) -> Array:
    """One vector a row, in the order of the texts."""
    if texts.empty:
        return np.empty((0, 1))  # of width 1: broadcasts against vectors of any width
    absent = next((text for text in texts if text not in vectors), None)
    if absent is not None:
        raise UserError(f"no vector of the text {absent[:60]!r}: run the `embed` stage (make repro)")
    return np.array([vectors[text] for text in texts], dtype=float)


# --- Drift --------------------------------------------------------------------------------------------


def drift(
    judgements: pd.DataFrame,
    vectors: Vectors,
    thresholds: Sequence[float],
    rng: np.random.Generator,
    inference: Inference,
) -> pd.DataFrame:
    """How far rationales move from Blind's (section 5.7, Figures 5a, 6c and 7c).

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``. Every probe but Blind is a condition, the noise floors too.
    vectors : mapping of str to ndarray
    thresholds : sequence of float
        The tau of the change rate, each in [0, 1), fixed beforehand.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        `rows.COLUMNS`, one row a judge, scheme, kind, probe, ``over`` and quantity. ``drift``: the mean of
        delta, in [0, 1]; ``cosine``: the mean of the cosine itself, in [-1, 1]; ``change_rate``: the share
        of pairs whose delta is above the threshold that ``wording`` names ("> 0.1"), with its ``count``.
        ``over`` is ``all`` pairs, or the pairs of the ``same`` decision, which is the paper's, and selects by
        what the cue may have changed. Both need both rationales; ``n_unparsed`` counts the pairs without
        them, out of all pairs, or out of those whose two verdicts were parsed and are equal. nan for no pair;
        ``drift`` and ``cosine`` have no interval under `rows.FEWEST_GRADED` clusters.

    Notes
    -----
    Being a size, drift is above 0 by noise alone: `drift_above_floor` is its test. Under an attack one text
    differs as well, so that a rationale has a reason to move.
    """
    entropy = entropy_of(rng)
    rows = [
        found
        for names, cell in cells(compared(judgements, vectors), CELL)
        for over, part in _parts(cell)
        for found in _drift_rows({**names, "over": over}, part, thresholds, entropy, inference)
    ]
    return frame(rows)


def _parts(cell: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    yield "all", cell
    yield "same", cell[cell["same"]]


def _drift_rows(
    names: dict[str, str],
    part: pd.DataFrame,
    thresholds: Sequence[float],
    entropy: int,
    inference: Inference,
) -> Iterator[dict[str, object]]:
    told = part[part["delta"].notna()]
    delta = told["delta"].to_numpy(dtype=float)
    for quantity, values, bounds in (("drift", delta, (0, 1)), ("cosine", 1 - 2 * delta, (-1, 1))):
        generator = named_generator(entropy, quantity, *names.values())
        found = graded_estimate(values, told, generator, inference, bounds)
        yield row(quantity, names, told, part, found)
    for threshold in thresholds:
        key = {**names, "wording": f"> {threshold:g}"}
        generator = named_generator(entropy, "change_rate", *key.values())
        moved = delta > threshold
        found = rate_interval(moved, told["cluster"], generator, inference)
        yield row("change_rate", key, told, part, found) | {"count": moved.sum()}


def drift_above_floor(
    judgements: pd.DataFrame,
    vectors: Vectors,
    rng: np.random.Generator,
    inference: Inference,
    floors: Sequence[str] = FLOORS,
) -> pd.DataFrame:
    """How much further a cue moves a rationale than noise does.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``.
    vectors : mapping of str to ndarray
    rng : numpy.random.Generator
    inference : Inference
    floors : sequence of str
        Probes whose drift is taken off, pair by pair.

    Returns
    -------
    DataFrame
        `rows.COLUMNS`, a row for each cue that is no floor. ``drift_above_<floor>``: the mean of delta under
        the cue less delta under the floor, of the same item, order and replicate, in [-1, 1]; at most 0
        shows no cue at work. ``over`` is ``all`` pairs, or those whose verdict is the ``same`` as Blind's
        under the cue and under the floor. ``p``, from sign flips of whole clusters, is not corrected;
        ``mde`` as in `metrics.cue_effects`. ``n_unparsed`` counts the pairs without all three rationales,
        out of those that were asked under the floor. nan for no pair, as where the floor was not asked; no
        interval under `rows.FEWEST_GRADED` clusters.
    """
    entropy = entropy_of(rng)
    pairs = compared(judgements, vectors)
    rows = [
        _above_row(f"drift_above_{floor}", {**names, "over": over}, part, entropy, inference)
        for floor in floors
        for names, cell in cells(beside_floor(pairs, floor), CELL)
        for over, part in _parts_beside_floor(cell)
    ]
    return frame(rows)


def _parts_beside_floor(cell: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    asked = cell[cell["floor_asked"]]
    yield "all", asked
    yield "same", asked[asked["same"] & asked["same_floor"]]


def _above_row(
    quantity: str, names: dict[str, str], part: pd.DataFrame, entropy: int, inference: Inference
) -> dict[str, object]:
    told = part[part["above"].notna()]
    return _effect_row(quantity, names, told["above"].to_numpy(dtype=float), told, part, entropy, inference)


# --- Alignment ----------------------------------------------------------------------------------------


def alignment(
    judgements: pd.DataFrame,
    vectors: Vectors,
    descriptors: Descriptors,
    rng: np.random.Generator,
    inference: Inference,
) -> pd.DataFrame:
    """Whose label rationales sound like (section 5.7, Figure 5b), or whether like the attack (6d, 7d).

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``. Probes that show no cue are left out.
    vectors : mapping of str to ndarray
        Of rationales and descriptors.
    descriptors : mapping of str to sequence of (str, str)
        Wordings of each family in `PROBE_FAMILY`, each (the cue's side, the other side).
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        `rows.COLUMNS`, one row a judge, scheme, kind, probe, ``over``, ``wording`` and quantity. ``lai``: the
        mean of `alpha` over the rationales under the cue, in [0, 1], with ``p`` and ``mde`` against 0.5;
        ``lai_blind``: the same scorer on Blind's rationales of the same pairs; ``lai_excess``: the paired
        difference, in [-1, 1], with ``p`` and ``mde`` against 0. ``wording`` counts the wordings from 1, and
        is ``mean`` where alpha is averaged over them, pair by pair; ``lai_wording_range`` is the largest
        ``lai`` of a wording less the smallest. ``over`` and ``n_unparsed`` as in `drift`; LAI as the paper
        has it is ``same``. No ``p`` is corrected. nan for no pair: where no decision is unchanged.

    Raises
    ------
    UserError
        If a rationale or a descriptor has no vector.
    ValueError
        If a family has no descriptors, or as in `compared`.

    Notes
    -----
    A scorer has a lean of its own: what is said of any summary may be nearer to one descriptor. LAI against
    0.5 tests cue and lean together; ``lai_excess`` is the cue's part.
    """
    entropy = entropy_of(rng)
    pairs = compared(judgements, vectors)
    rows = [
        found
        for names, cell in cells(pairs[pairs["probe"].isin(list(PROBE_FAMILY))], CELL)
        for over, part in _parts(cell)
        for found in _alignment_rows(
            {**names, "over": over}, part, _wordings(names["probe"], descriptors), vectors, entropy, inference
        )
    ]
    return frame(rows)


def descriptor_pairs(rationales: Rationales) -> dict[str, list[tuple[str, str]]]:
    """The descriptors of params, as `alignment` takes them."""
    return {
        family: [(wording.favoured, wording.opposite) for wording in wordings]
        for family, wordings in rationales.descriptors.items()
    }


def _wordings(probe: str, descriptors: Descriptors) -> Sequence[tuple[str, str]]:
    """The descriptors of a probe's family, the cue's first: where only TradML is shown, that is the cue."""
    family = PROBE_FAMILY[probe]
    if not descriptors.get(family):
        raise ValueError(f"probe {probe!r} needs descriptors of {family!r}, and there are none: give some")
    if probe == "relabel_tradml":
        return [(opposite, favoured) for favoured, opposite in descriptors[family]]
    return descriptors[family]


def _alignment_rows(
    names: dict[str, str],
    part: pd.DataFrame,
    wordings: Sequence[tuple[str, str]],
    vectors: Vectors,
    entropy: int,
    inference: Inference,
) -> Iterator[dict[str, object]]:
    told = part[part["delta"].notna()]
    cued, blind = (_leanings(told[name], wordings, vectors) for name in ("rationale", "rationale_blind"))
    for wording in range(cued.shape[1]):
        key = {**names, "wording": "mean" if wording == len(wordings) else str(wording + 1)}
        scores = cued[:, wording], blind[:, wording]
        yield from _wording_rows(key, *scores, told, part, entropy, inference)
    generator = named_generator(entropy, "lai_wording_range", *names.values())
    found = estimate(_range, _with_ones(cued[:, :-1]), told, generator, inference, (0, 1))
    yield row("lai_wording_range", names, told, part, found)


def _leanings(texts: pd.Series, wordings: Sequence[tuple[str, str]], vectors: Vectors) -> Array:
    """alpha of each text under each wording, and their mean, shape (n, wordings + 1)."""
    rationales = _matrix(texts, vectors)
    each = np.column_stack([alpha(rationales, *_matrix(pd.Series(pair), vectors)) for pair in wordings])
    return np.column_stack([each, each.mean(axis=1)])


def _wording_rows(
    key: dict[str, str],
    cued: Array,
    blind: Array,
    told: pd.DataFrame,
    part: pd.DataFrame,
    entropy: int,
    inference: Inference,
) -> Iterator[dict[str, object]]:
    """Alignment under the cue, under Blind, and their paired difference, for one wording."""
    for quantity, values in (("lai", cued), ("lai_blind", blind)):
        generator = named_generator(entropy, quantity, *key.values())
        found = rate_interval(values, told["cluster"], generator, inference)
        against = _against_half(values, told, generator, inference) if quantity == "lai" else {}
        yield row(quantity, key, told, part, found) | against
    yield _effect_row("lai_excess", key, cued - blind, told, part, entropy, inference)


def _against_half(
    scores: Array, told: pd.DataFrame, rng: np.random.Generator, inference: Inference
) -> dict[str, float]:
    """The test of a mean of `alpha` against 0.5; ``mde`` is a departure from 0.5."""
    # Twice the departure, which spans [-1, 1], as the minimum detectable effect takes it.
    tested = signed_test(2 * scores - 1, told, rng, inference)
    return tested | {"mde": tested["mde"] / 2} if tested else {}


# --- Columns to be summed, and rows -------------------------------------------------------------------


def _effect_row(
    quantity: str,
    names: dict[str, str],
    effects: Array,
    told: pd.DataFrame,
    part: pd.DataFrame,
    entropy: int,
    inference: Inference,
) -> dict[str, object]:
    """The mean of a signed, paired effect with its interval and test."""
    generator = named_generator(entropy, quantity, *names.values())
    graded = quantity.startswith("drift")  # a distance moves a little everywhere; alpha is there or not
    if graded:
        found = graded_estimate(effects, told, generator, inference, (-1, 1))
    else:
        found = signed_interval(effects, told["cluster"], generator, inference)
    tested = signed_test(effects, told, generator, inference, graded=graded)
    return row(quantity, names, told, part, found) | tested


def _with_ones(values: Array) -> Array:
    """Columns (1, values): the count of rows, then what is summed."""
    return np.column_stack([np.ones(len(values)), values])


def _range(sums: Array) -> Array:
    """The largest mean less the smallest."""
    means = ratio(sums[..., 1:], sums[..., :1])
    return np.asarray(means.max(axis=-1) - means.min(axis=-1))
