"""The bootstrap interval of a mean, or of the difference of two: bias-corrected and accelerated (Efron 1987).

It is scipy's, to the last bit. The random numbers depend on nothing but the sizes of the groups, so they are drawn
once for all comparisons of that size, and the means that they give once for each group.
"""

import functools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 9999
Floats = NDArray[np.floating]


def interval(level: float, *groups: Sequence[float]) -> tuple[float, float]:
    """Of the first group's mean, less the second's if there is one."""
    from scipy.special import ndtr, ndtri

    drawn = _combined([_resampled(group, tuple(map(len, groups)), i) for i, group in enumerate(groups)])
    found = _combined([np.mean(group) for group in groups])
    below = (np.count_nonzero(drawn < found) + np.count_nonzero(drawn <= found)) / (2 * RESAMPLES)
    bias, z, acceleration = ndtri(below), float(ndtri((1 - level) / 2)), _acceleration(groups)
    shifted = [bias + z, bias - z]
    low, high = (float(ndtr(bias + num / (1 - acceleration * num))) for num in shifted)
    return _quantile(drawn, low), _quantile(drawn, high)


def _combined(parts: Sequence[Floats | np.floating]) -> Floats:
    return np.asarray(parts[0] if len(parts) == 1 else parts[0] - parts[1])


@functools.lru_cache(maxsize=512)  # 80 kB each; a setting is compared with many
def _resampled(values: tuple[float, ...], sizes: tuple[int, ...], i: int) -> Floats:
    """The means of the i-th of groups of these sizes, drawn again and again."""
    return np.mean(np.asarray(values)[_draws(sizes)[i]], axis=-1)


@functools.lru_cache(maxsize=4)
def _draws(sizes: tuple[int, ...]) -> list[NDArray[np.int64]]:
    rng = np.random.default_rng(0)
    return [rng.integers(0, n, (RESAMPLES, n)) for n in sizes]


def _acceleration(groups: Sequence[Sequence[float]]) -> float:
    """From what the value would be without each seed (the jackknife)."""
    numerator = denominator = 0.0
    for i, group in enumerate(groups):
        n, rest = float(len(group)), np.asarray(group)[_others(len(group))]
        parts = [np.mean(rest, axis=-1) if j == i else np.mean(other) for j, other in enumerate(groups)]
        without = _combined(parts)
        influence = (n - 1) * (np.mean(without) - without)
        numerator += np.sum(influence**3) / n**3
        denominator += np.sum(influence**2) / n**2
    return 1 / 6 * numerator / denominator ** (3 / 2)


@functools.lru_cache(maxsize=4)
def _others(n: int) -> NDArray[np.int64]:
    """[n, n − 1]: in row i every place but i."""
    return np.broadcast_to(np.arange(n), (n, n))[~np.eye(n, dtype=bool)].reshape(n, n - 1)


def _quantile(values: Floats, share: float) -> float:
    """Between the two values on either side; NaN where all draws lie on one side of what was found."""
    if math.isnan(share):
        return math.nan
    last, place = len(values) - 1, share * len(values) + (1 - share)
    below, above = (min(max(int(place // 1) - 1 + i, 0), last) for i in (0, 1))
    parted = np.partition(values, (below, above))
    return float((1 - place % 1) * parted[below] + place % 1 * parted[above])
