"""Statistics over seeds: the seed is the unit of replication, so every value here is one run's.

Intervals are at 95 %: Student's and Welch's below 20 seeds (a bootstrap over 5 covers 83 %), bootstrap from there.
scipy is slow to import and only needed when there is something to report: each function imports what it uses.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = Sequence[float | int] | NDArray[np.floating]

LEVEL = 0.95
MANY = 20  # seeds from which the bootstrap is trusted: there it covers 93 %


class Summary(NamedTuple):
    mean: float
    sd: float
    low: float
    high: float

    def __str__(self) -> str:
        if math.isnan(self.sd):
            return f"{self.mean:.3f}"
        return f"{self.mean:.3f} ± {self.sd:.3f}  [{self.low:.3f}, {self.high:.3f}]"


class Estimate(NamedTuple):
    """An effect with its standard error, Student's degrees of freedom and its interval."""

    effect: float
    se: float
    df: float
    low: float
    high: float

    def p(self, at: float = 0.0) -> float:
        """Two-sided p-value of the hypothesis that the effect is `at`; NaN where there is too little to tell."""
        from scipy.stats import t

        if self.se == 0:
            return float(self.effect == at)
        return float(2 * t.sf(abs(self.effect - at) / self.se, self.df))


def summary(values: Values) -> Summary:
    """Mean, standard deviation (n − 1), 95 % interval of the mean; NaN for what one value cannot tell."""
    found = level(values)
    return Summary(found.effect, found.se * math.sqrt(len(values)), found.low, found.high)


def level(values: Values) -> Estimate:
    """The mean of one group."""
    n, mean = len(values), float(np.mean(values))
    se = float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return _with_interval(mean, se, float(n - 1), np.mean, values)


def difference(a: Values, b: Values) -> Estimate:
    """mean(a) − mean(b), by Welch: the groups may have different variances."""
    effect = float(np.mean(a) - np.mean(b))
    if min(len(a), len(b)) < 2:
        return Estimate(effect, math.nan, math.nan, math.nan, math.nan)
    parts = [float(np.var(x, ddof=1)) / len(x) for x in (a, b)]
    spread = sum(v**2 / (len(x) - 1) for v, x in zip(parts, (a, b), strict=True))
    df = sum(parts) ** 2 / spread if spread else len(a) + len(b) - 2.0
    return _with_interval(effect, math.sqrt(sum(parts)), df, _difference_of_means, a, b)


def iqm(values: Values) -> Estimate:
    """Interquartile mean: that of the middle half, which a few collapsed runs cannot move.

    Its standard error is Tukey and McLaughlin's, sd of the winsorised values / ((1 − 2·¼) √n).
    """
    from scipy.stats import trim_mean
    from scipy.stats.mstats import winsorize

    n, cut = len(values), int(0.25 * len(values))
    mean = float(trim_mean(values, 0.25))
    if n - 2 * cut < 2:
        return Estimate(mean, math.nan, math.nan, math.nan, math.nan)
    clipped = np.asarray(winsorize(np.asarray(values, dtype=float), limits=(cut / n, cut / n)))
    se = float(np.std(clipped, ddof=1)) / ((1 - 2 * cut / n) * math.sqrt(n))
    return _with_interval(mean, se, float(n - 2 * cut - 1), _trimmed, values)


def improvement(a: Values, b: Values) -> Summary:
    """Probability that a run of `a` beats a run of `b` (a draw counts half), with Newcombe's score interval.

    The interval holds every θ with |θ̂ − θ| ≤ z √Var(θ), Var by Hanley and McNeil: unlike a bootstrap it does
    not shrink to nothing where the groups do not overlap.
    """
    from scipy.optimize import brentq
    from scipy.stats import norm

    x, y = np.asarray(a, dtype=float)[:, None], np.asarray(b, dtype=float)
    found = float(np.mean((x > y) + 0.5 * (x == y)))
    n, z = (len(a) + len(b)) / 2, float(norm.ppf(0.5 + LEVEL / 2))

    def gap(theta: float) -> float:
        spread = 1 + (n - 1) * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        return (found - theta) ** 2 - z**2 * theta * (1 - theta) * spread / (len(a) * len(b))

    beside = 1e-9  # at 0 and 1 the estimate itself is a root, and not the one wanted
    low = 0.0 if found == 0 else brentq(gap, 0.0, found - beside)
    high = 1.0 if found == 1 else brentq(gap, found + beside, 1.0)
    return Summary(found, math.nan, float(low), float(high))


def student(df: Any) -> Any:
    """Half the width of an interval, in standard errors; of many degrees of freedom at once if given an array."""
    from scipy.stats import t

    return t.ppf(0.5 + LEVEL / 2, df)


def kendall(x: Values, y: Values) -> float:
    """Rank correlation: 1 if y only ever rises with x, −1 if it only falls, 0 if it does neither or never moves."""
    from scipy.stats import kendalltau

    tau = float(kendalltau(x, y).statistic)
    return 0.0 if math.isnan(tau) else tau


def holm(p: Sequence[float]) -> list[float]:
    """p-values that stay honest when several are looked at and the smallest is picked (Holm's step-down)."""
    adjusted, worst = [1.0] * len(p), 0.0
    for rank, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        worst = max(worst, min(1.0, (len(p) - rank) * p[i]))
        adjusted[i] = worst
    return adjusted


def _with_interval(effect: float, se: float, df: float, statistic: Any, *groups: Values) -> Estimate:
    from scipy.stats import bootstrap

    if min(map(len, groups)) >= MANY and se > 0:
        rng = np.random.default_rng(0)  # the same values give the same interval
        found = bootstrap(groups, statistic, confidence_level=LEVEL, vectorized=True, rng=rng).confidence_interval
        return Estimate(effect, se, df, float(found.low), float(found.high))
    half = float(student(df)) * se if df > 0 else math.nan
    return Estimate(effect, se, df, effect - half, effect + half)


def _difference_of_means(a: Any, b: Any, axis: int = -1) -> Any:
    return np.mean(a, axis=axis) - np.mean(b, axis=axis)


def _trimmed(values: Any, axis: int = -1) -> Any:
    from scipy.stats import trim_mean

    return trim_mean(values, 0.25, axis=axis)
