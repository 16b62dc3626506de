"""What a test that finds nothing could have found: minimum detectable effects of paired cluster designs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

from shared.metrics.permutation import smallest_p
from shared.metrics.resampling import Array


def minimum_detectable_effect(
    cluster_effects: npt.ArrayLike, alpha: float = 0.05, power: float = 0.8, *, graded: bool = False
) -> float:
    """The smallest true mean effect that a two-sided paired test over clusters would mostly find.

    Parameters
    ----------
    cluster_effects : array_like, shape (clusters,)
        Each cluster's effect, of something bounded by -1 and 1 (a change of an outcome), on the scale of
        the reported mean (see `cluster_contributions`).
    alpha : float
        Two-sided level.
    power : float
        Probability of finding it.
    graded : bool
        True where an effect moves every cluster by some amount (a distance), not few of them by a whole unit
        (a verdict).

    Returns
    -------
    float
        Positive, and for whole units never below `minimum_detectable_share`: with few moved clusters their
        spread is small, or nothing, and yet no test could have found them. nan where no number of moved
        clusters is enough, and for degrees where all clusters agree to the last digit.

    Notes
    -----
    Above that: the effect d with P(T > t_crit) = power, T noncentral t with noncentrality d sqrt(n) / sd.
    Finding an effect with the wrong sign is no success; at any useful power its probability is negligible.

    See Also
    --------
    statsmodels.stats.power.TTestPower : the oracle.
    """
    effects = np.asarray(cluster_effects, dtype=float)
    n = len(effects)
    if n < 2:
        return float("nan")
    critical = stats.t.ppf(1 - alpha / 2, n - 1)
    noncentrality = optimize.brentq(
        lambda x: stats.nct.sf(critical, n - 1, x) - power, 0.0, 2 * critical + 10
    )
    by_spread = noncentrality * effects.std(ddof=1) / np.sqrt(n)
    share = minimum_detectable_share(n, alpha, power)
    if graded:
        return float(by_spread) if by_spread > 1e-12 and np.isfinite(share) else float("nan")
    return float(np.maximum(by_spread, share))


def minimum_detectable_share(n_clusters: int, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest share of clusters that must move, all one way, for the sign-flip test to mostly see it.

    The test rejects from m moved clusters on, the first m with 2 / 2^m <= alpha (6 at 0.05); the share is
    the one that moves at least m of n with probability ``power``.

    Returns
    -------
    float
        In (0, 1); nan where even n moved clusters would not be enough.

    Examples
    --------
    >>> round(minimum_detectable_share(25), 3), minimum_detectable_share(5)
    (0.298, nan)
    """
    needed = next(m for m in range(1, 64) if smallest_p(m) <= alpha)
    if n_clusters < needed:
        return float("nan")
    # P(Binomial(n, share) >= m) = power  <=>  share is the `power` quantile of Beta(m, n - m + 1).
    return float(stats.beta.ppf(power, needed, n_clusters - needed + 1))


def cluster_contributions(sums: npt.ArrayLike, counts: npt.ArrayLike) -> Array:
    """Put unequal clusters on the scale of the mean over observations.

    Parameters
    ----------
    sums, counts : array_like, shape (clusters,)
        Each cluster's summed effect and number of observations.

    Returns
    -------
    ndarray, shape (clusters,)
        The mean m plus each cluster's linear contribution (s - c m) n / N, for n clusters and N
        observations. Its mean is m, its variance over n that of m; for equal clusters it is s / c.
    """
    s, c = np.asarray(sums, dtype=float), np.asarray(counts, dtype=float)
    if c.sum() == 0:
        return np.full(len(s), np.nan)
    mean = s.sum() / c.sum()
    return mean + (s - c * mean) * len(s) / c.sum()
