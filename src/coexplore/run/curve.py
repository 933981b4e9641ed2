"""Learning curves: rewards averaged over bins of updates, so that a curve of any run is short.

Update t of U falls into bin ⌊t·P / U⌋ of P; `first` and `last` of a Result are quarters of these bins.
"""

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

POINTS = 125  # of a curve that is drawn


def bins(updates: int) -> int:
    """P = min(1000, U), rounded down to a multiple of 4 once there are four updates."""
    P = min(1000, updates)
    return P - P % 4 if P >= 4 else P


@functools.lru_cache(maxsize=1000)
def bin_sizes(updates: int) -> NDArray[np.int64]:
    """How many updates fall into each bin."""
    P = bins(updates)
    sizes = np.diff(-(-np.arange(P + 1, dtype=np.int64) * updates // P))
    sizes.flags.writeable = False  # many share it
    return sizes


def full_bins(done: int, updates: int) -> int:
    """How many bins the first `done` updates have filled."""
    return done * bins(updates) // updates


def thinned(curves: Sequence[NDArray[np.float32]], length: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Episodes [P], rewards [seeds, P]: neighbouring points are averaged, single ones are mostly noise."""
    P = min(map(len, curves))  # packed curves may stand beside whole ones
    values = np.stack([curve.reshape(P, -1).mean(axis=1) for curve in curves])
    starts = np.arange(0, P, -(-P // POINTS))
    sizes = np.diff([*starts, P])
    ends = np.cumsum(sizes) * (length / P)
    return ends, np.add.reduceat(values, starts, axis=1) / sizes
