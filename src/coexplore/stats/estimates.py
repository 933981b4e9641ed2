"""Statistics over seeds: the seed is the unit of replication, so every value here is one run's. (But where a network is
judged by itself: there it is one episode's, see `over_episodes`.)

Intervals are at 95 %, and p-values come from the same law. Where the values have bounds, as rewards have, that is
Gaffke's (bounded.py); where nobody knows any, as for returns, Student's and Welch's.
Of scipy only the special functions are used: scipy.stats takes longer to import than all verdicts to reach.
"""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from coexplore.stats.bounded import Bounds, Drawn, drawn, drawn_of_many, seeds_for

Values = Sequence[float | int] | NDArray[np.floating]

LEVEL = 0.95
SHARE: Bounds = (0.0, 1.0)  # of shares, accuracy among them


@runtime_checkable
class Scored(Protocol):
    """A result: something of a setting, whose scores have names."""

    @property
    def setting(self) -> Any: ...


class Summary(NamedTuple):
    """The mean of a group, its standard deviation, and the ends of its 95 % interval."""

    mean: float
    sd: float
    low: float
    high: float

    def __str__(self) -> str:
        if math.isnan(self.sd):
            return f"{self.mean:.3f}"
        return f"{self.mean:.3f} ± {self.sd:.3f}  [{self.low:.3f}, {self.high:.3f}]"


class Student(NamedTuple):
    """Student's law around an effect."""

    effect: float
    se: float
    df: float

    @property
    def interval(self) -> tuple[float, float]:
        half = float(student(self.df)) * self.se if self.df > 0 else math.nan
        return self.effect - half, self.effect + half

    def p(self, at: float) -> float:
        from scipy.special import stdtr

        if self.se == 0:
            return float(self.effect == at)
        return float(2 * stdtr(self.df, -abs(self.effect - at) / self.se))


@dataclasses.dataclass(frozen=True, eq=False)
class Estimate:
    """An effect with its interval; `groups` are the values behind it."""

    effect: float
    law: Student | Drawn
    groups: tuple[Values, ...]
    bounds: Bounds | None
    weights: tuple[float, ...] = (1.0, -1.0)  # of the groups' means in the effect

    @functools.cached_property
    def interval(self) -> tuple[float, float]:
        low, high = self.law.interval
        return float(low), float(high)

    @property
    def low(self) -> float:
        return self.interval[0]

    @property
    def high(self) -> float:
        return self.interval[1]

    @functools.cached_property
    def welch(self) -> "Estimate":
        """The same effect with Welch's interval (of one mean Student's), whatever bounds there are."""
        parts = [(w**2 * _variance(group), len(group)) for group, w in zip(self.groups, self.weights, strict=False)]
        law = self.law if isinstance(self.law, Student) else _welch(self.effect, parts)
        return dataclasses.replace(self, law=law, bounds=None)

    def p(self, at: float = 0.0) -> float:
        """Two-sided p-value of the hypothesis that the effect is `at`; NaN where there is too little to tell."""
        return self.law.p(at)

    def seeds_for(self, half: float) -> int:
        """How many seeds would make half the interval's width `half`, if they are spread as these are."""
        assert self.bounds is not None
        groups = [np.asarray(group, float) for group in self.groups]
        return math.ceil(seeds_for(half, self.bounds, groups, self.weights[: len(groups)]) * min(map(len, groups)))


def summary(values: Values, bounds: Bounds | None = None) -> Summary:
    """Mean, standard deviation (n − 1), 95 % interval of the mean; NaN for what one value cannot tell."""
    mean = level(values, bounds)
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
    return Summary(mean.effect, sd, mean.low, mean.high)


def over_episodes(rewards: NDArray[np.float64], bounds: Bounds | None) -> Summary:
    """Of what one network earned, episode by episode, between the bounds of a single reward, if it has any."""
    if not bounds:
        return summary(rewards)
    low, high = drawn_of_many(rewards, bounds).interval
    sd = float(np.std(rewards, ddof=1)) if len(rewards) > 1 else math.nan
    return Summary(float(np.mean(rewards)), sd, float(low), float(high))


def window(same: Sequence[Scored], name: str) -> Summary:
    """Of the reward over `first`, `last` or all (`reward`) of the episodes, of runs of one setting."""
    return summary([getattr(result, name) for result in same], same[0].setting.task.reward_range)


def level(values: Values, bounds: Bounds | None = None) -> Estimate:
    """The mean of one group."""
    n, mean = len(values), float(np.mean(values))
    if bounds:
        return Estimate(mean, _drawn(tuple(map(float, values)), bounds, 0), (values,), bounds)
    se = float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return Estimate(mean, Student(mean, se, float(n - 1)), (values,), None)


def difference(a: Values, b: Values, bounds: Bounds | None = None) -> Estimate:
    """mean(a) − mean(b); without bounds by Welch: the groups may have different variances."""
    effect = float(np.mean(a) - np.mean(b))
    if bounds:
        of_a, of_b = (_drawn(tuple(map(float, x)), bounds, i) for i, x in enumerate((a, b)))
        return Estimate(effect, of_a.minus(of_b), (a, b), bounds)
    return Estimate(effect, _welch(effect, [(_variance(x), len(x)) for x in (a, b)]), (a, b), None)


def beside(values: Values, mean: float, variance: float, n: int) -> Estimate:
    """mean(values) − mean, by Welch, of n values of which nothing but their mean and variance (n − 1) is known."""
    effect = float(np.mean(values)) - mean
    return Estimate(effect, _welch(effect, [(_variance(values), len(values)), (variance, n)]), (values,), None)


def _variance(values: Values) -> float:
    return float(np.var(values, ddof=1)) if len(values) > 1 else math.nan


def _welch(effect: float, groups: Sequence[tuple[float, int]]) -> Student:
    """Of groups with these variances and sizes."""
    if min(n for _, n in groups) < 2:
        return Student(effect, math.nan, math.nan)
    parts = [variance / n for variance, n in groups]
    spread = sum(part**2 / (n - 1) for part, (_, n) in zip(parts, groups, strict=True))
    df = sum(parts) ** 2 / spread if spread else float(sum(n - 1 for _, n in groups))
    return Student(effect, math.sqrt(sum(parts)), df)


def combination(groups: Sequence[Values], weights: Sequence[float], bounds: Bounds | None) -> Estimate:
    """Σ w · mean, of groups that are independent of each other."""
    assert bounds is not None
    pairs = list(zip(groups, weights, strict=True))
    parts = [_drawn(tuple(map(float, x)), bounds, i).times(w) for i, (x, w) in enumerate(pairs)]
    effect = float(sum(w * np.mean(x) for x, w in pairs))
    return Estimate(effect, functools.reduce(Drawn.plus, parts), tuple(groups), bounds, tuple(weights))


@functools.lru_cache(maxsize=256)  # 160 kB each; a setting is compared with many
def _drawn(values: tuple[float, ...], bounds: Bounds, group: int) -> Drawn:
    return drawn(np.asarray(values), bounds, group)


def student(df: Any) -> Any:
    """Half the width of an interval, in standard errors; of many degrees of freedom at once if given an array."""
    from scipy.special import stdtrit

    return stdtrit(df, 0.5 + LEVEL / 2)


def clopper_pearson(count: int, n: int) -> Bounds:
    """The 95 % interval of a share, from `count` of `n`."""
    from scipy.special import betaincinv

    tail = (1 - LEVEL) / 2
    low = float(betaincinv(count, n - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, n - count, 1 - tail)) if count < n else 1.0
    return low, high


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
