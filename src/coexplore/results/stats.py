"""Statistics over seeds: the seed is the unit of replication, so every value here is one run's.

Intervals are at 95 %: Student's and Welch's below 20 seeds (a bootstrap over 5 covers 83 %), bootstrap from there.
Of scipy only the special functions are used: scipy.stats takes longer to import than all verdicts to reach.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coexplore.results.bootstrap import interval

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
        from scipy.special import stdtr

        if self.se == 0:
            return float(self.effect == at)
        return float(2 * stdtr(self.df, -abs(self.effect - at) / self.se))


def summary(values: Values) -> Summary:
    """Mean, standard deviation (n − 1), 95 % interval of the mean; NaN for what one value cannot tell."""
    mean = level(values)
    return Summary(mean.effect, mean.se * math.sqrt(len(values)), mean.low, mean.high)


def level(values: Values) -> Estimate:
    """The mean of one group."""
    n, mean = len(values), float(np.mean(values))
    se = float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return _with_interval(mean, se, float(n - 1), values)


def difference(a: Values, b: Values) -> Estimate:
    """mean(a) − mean(b), by Welch: the groups may have different variances."""
    effect = float(np.mean(a) - np.mean(b))
    if min(len(a), len(b)) < 2:
        return Estimate(effect, math.nan, math.nan, math.nan, math.nan)
    parts = [float(np.var(x, ddof=1)) / len(x) for x in (a, b)]
    spread = sum(v**2 / (len(x) - 1) for v, x in zip(parts, (a, b), strict=True))
    df = sum(parts) ** 2 / spread if spread else len(a) + len(b) - 2.0
    return _with_interval(effect, math.sqrt(sum(parts)), df, a, b)


def student(df: Any) -> Any:
    """Half the width of an interval, in standard errors; of many degrees of freedom at once if given an array."""
    from scipy.special import stdtrit

    return stdtrit(df, 0.5 + LEVEL / 2)


def kendall(x: Values, y: Values) -> float:
    """Rank correlation: 1 if y only ever rises with x, −1 if it only falls, 0 if it does neither or never moves."""
    of_x, of_y = (np.sign(np.subtract.outer(values, values)).astype(int) for values in (np.asarray(x), np.asarray(y)))
    moved_x, moved_y = np.count_nonzero(of_x) // 2, np.count_nonzero(of_y) // 2  # pairs that are not tied
    if not moved_x or not moved_y:
        return 0.0
    tau = int((of_x * of_y).sum()) // 2 / math.sqrt(moved_x) / math.sqrt(moved_y)
    return min(1.0, max(-1.0, tau))


def holm(p: Sequence[float]) -> list[float]:
    """p-values that stay honest when several are looked at and the smallest is picked (Holm's step-down)."""
    adjusted, worst = [1.0] * len(p), 0.0
    for rank, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        worst = max(worst, min(1.0, (len(p) - rank) * p[i]))
        adjusted[i] = worst
    return adjusted


def _with_interval(effect: float, se: float, df: float, *groups: Values) -> Estimate:
    if min(map(len, groups)) >= MANY and se > 0:
        low, high = interval(LEVEL, *(tuple(map(float, group)) for group in groups))
        return Estimate(effect, se, df, low, high)
    half = float(student(df)) * se if df > 0 else math.nan
    return Estimate(effect, se, df, effect - half, effect + half)
