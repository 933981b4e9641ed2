"""The mean of numbers that have bounds: what it may be, whatever law they come from (Gaffke 2005).

    m_low = Σ_i D_i x_i + D_(n+1) low        D ~ Dirichlet(1, …, 1), n + 1 of them
    m_high = Σ_i D_i x_i + D_(n+1) high

The interval goes from the lower quantile of m_low to the upper one of m_high. One more value at the bound stands for
what the sample did not happen to hold: of twenty runs in twenty that learned, one in six may still freeze.
For a difference of means, m_low of one less m_high of the other, drawn independently, and the reverse.

The draws depend on nothing but the size of a group.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

DRAWS = 9999
CELLS = 256
AT_ONCE, ROWS = 1000, 32  # values whose weights are held, 80 MB of them; of more, the weights of so many at a time
STRIDES = (1, 6181)  # of two groups; near the golden section of the draws, and without a common divisor
Floats = NDArray[np.float64]
Bounds = tuple[float, float]


class Drawn(NamedTuple):
    """Draws of m_low and of m_high, or of their differences."""

    low: Floats
    high: Floats

    def plus(self, other: "Drawn") -> "Drawn":
        return Drawn(self.low + other.low, self.high + other.high)

    def times(self, w: float) -> "Drawn":
        return Drawn(w * self.low, w * self.high) if w >= 0 else Drawn(w * self.high, w * self.low)

    def minus(self, other: "Drawn") -> "Drawn":
        return self.plus(other.times(-1.0))

    @property
    def interval(self) -> tuple[Any, Any]:
        """Its ends, at 95 %: beyond them p is below 0.05."""
        tail = (self.low.shape[-1] + 1) // 40 - 2
        last = self.low.shape[-1] - 1 - tail
        return np.partition(self.low, tail)[..., tail], np.partition(self.high, last)[..., last]

    def p(self, at: float) -> float:
        """Twice the share of draws on the other side of `at`: below 0.05 just where the interval leaves it out."""
        beyond = min(np.count_nonzero(self.low <= at), np.count_nonzero(self.high >= at))
        return min(1.0, 2 * (1 + beyond) / (1 + len(self.low)))


def drawn(values: Floats, bounds: Bounds, group: int = 0, every: int = 1) -> Drawn:
    """Of values [n], or of each row of [P, n]. Two groups that are compared must have different numbers.

    A value beyond a bound is the bound. Of the draws only each `every`-th is made, where a picture needs no more."""
    x = np.sort(values)
    if x.shape[-1] > AT_ONCE:
        inside, last = _in_parts(x, group, every)
    else:
        D = weights(x.shape[-1], group)[:, ::every]
        inside, last = x @ D[:-1], D[-1]
    low, high = np.minimum(bounds[0], x[..., :1]), np.maximum(bounds[1], x[..., -1:])
    return Drawn(inside + last * low, inside + last * high)


def drawn_of_many(values: Floats, bounds: Bounds) -> Drawn:
    """Of as many values as one likes: equal ones share a weight, and are made equal by moving each to the next of CELLS
    places between the bounds, down for m_low and up for m_high. Of values that are one of two this is
    Clopper's and Pearson's interval."""
    low, high = min(bounds[0], values.min()), max(bounds[1], values.max())
    places = np.linspace(low, high, CELLS + 1)
    down = np.searchsorted(places, values, "right") - 1
    up = np.searchsorted(places, values, "left")
    rng = np.random.default_rng(0)
    return Drawn(_weighed(places, down, low, rng), _weighed(places, up, high, rng))


def _weighed(places: Floats, at: NDArray[np.int64], bound: float, rng: np.random.Generator) -> Floats:
    """Draws of Σ D_i x_i + D_(n+1) bound, for values at these places: k that are equal have the weight Gamma(k)."""
    where, counts = np.unique(at, return_counts=True)
    shares, rest = rng.standard_gamma(counts, (DRAWS, len(where))), rng.standard_exponential(DRAWS)
    return (shares @ places[where] + rest * bound) / (shares.sum(axis=1) + rest)


@functools.lru_cache(maxsize=8)  # 16 MB each with 200 seeds; the sizes in use are few
def weights(n: int, group: int) -> Floats:
    """D [n + 1, DRAWS]: D_(n+1) has the law Beta(1, n), and the others share the rest as exponential numbers do.

    D_(n+1), which matters most where no run froze, is not drawn but spread evenly over its law, in an order in which
    the two groups of a comparison are spread evenly together. (Further groups have an order at random.)"""
    rest = _rest(n, group)
    shares = _shares(n, group, np.arange(n * DRAWS, dtype=np.uint32).reshape(n, DRAWS))
    return np.vstack([shares / shares.sum(axis=0) * rest, 1 - rest])


def _in_parts(x: Floats, group: int, every: int) -> tuple[Floats, Floats]:
    """Σ_i D_i x_i and D_(n+1) with the same weights, of so many values that nobody should hold the weights of all."""
    n, draws = x.shape[-1], np.arange(0, DRAWS, every)
    total, inside = np.zeros(len(draws)), np.zeros((*x.shape[:-1], len(draws)))
    for i in range(0, n, ROWS):
        rows = np.arange(i, min(i + ROWS, n))
        shares = _shares(n, group, (rows[:, None] * DRAWS + draws).astype(np.uint32))
        total += shares.sum(axis=0)
        inside += x[..., i : i + ROWS] @ shares
    rest = _rest(n, group)[draws]
    return inside / total * rest, 1 - rest


def _rest(n: int, group: int) -> Floats:
    """1 − D_(n+1)."""
    return ((_order(group) + 0.5) / DRAWS) ** (1 / n)


def _shares(n: int, group: int, places: NDArray[np.uint32]) -> Floats:
    """Exponential numbers, those at these places of a group of n."""
    own = 2 * n + group % 2 + (group // 2 << 16)  # no two groups share one, whatever their sizes
    numbers = mixed(mixed(places) ^ mixed(np.array([own], np.uint32)))
    return -np.log((numbers + 0.5) / 2.0**32)


def _order(group: int) -> NDArray[np.int64]:
    if group < len(STRIDES):
        return np.arange(DRAWS) * STRIDES[group] % DRAWS
    return np.argsort(mixed(np.arange(DRAWS, dtype=np.uint32) ^ mixed(np.array([group], np.uint32))), kind="stable")


def mixed(x: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Random bits from a count: a bijection in which each bit of the input turns over half of those of the output."""
    for shift, factor in ((16, 0x21F0AAAD), (15, 0x735A2D97)):
        x = (x ^ (x >> np.uint32(shift))) * np.uint32(factor)
    return x ^ (x >> np.uint32(15))


def seeds_for(half: float, bounds: Bounds, groups: Sequence[Floats], weights: Sequence[float]) -> float:
    """How many times as many values, spread like these, would make half the interval's width `half`.

    A sample that is there k times over has weights Dirichlet(k, …, k, 1), for any k: solved for k by halving."""
    few, many = -10.0, 20.0  # powers of two
    for _ in range(14):
        middle = (few + many) / 2
        few, many = (middle, many) if _half_width(2.0**middle, bounds, groups, weights) > half else (few, middle)
    return float(2.0**many)


def _half_width(k: float, bounds: Bounds, groups: Sequence[Floats], weights: Sequence[float]) -> float:
    rng, (low, high), sum_ = np.random.default_rng(0), bounds, Drawn(np.zeros(999), np.zeros(999))
    for x, w in zip(groups, weights, strict=True):
        D = np.column_stack([rng.standard_gamma(k, (999, len(x))), rng.standard_exponential(999)])
        D /= D.sum(axis=1, keepdims=True)
        inside = D[:, :-1] @ x
        one = Drawn(inside + D[:, -1] * min(low, x.min()), inside + D[:, -1] * max(high, x.max()))
        sum_ = sum_.plus(one.times(w))
    return float(np.quantile(sum_.high, 0.975) - np.quantile(sum_.low, 0.025)) / 2
