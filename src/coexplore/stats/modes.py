"""Whether runs of a setting come out in two kinds: then their mean is that of neither, and each run must be seen."""

import numpy as np

from coexplore.stats.bounded import Bounds

LEAST, SHARE, APART = 5, 0.85, 0.1


def bimodal(values: np.ndarray | list[float], bounds: Bounds | None) -> bool:
    """Cut in two at the best place, at least SHARE of the variance lies between the parts (of a normal law it is 2/π,
    of a uniform one 3/4), and they are far enough apart, of what is possible, to be worth telling."""
    x = np.sort(np.asarray(values, dtype=float))
    n = len(x)
    if n < LEAST or x[0] == x[-1]:
        return False
    below = np.arange(1, n)
    left = np.cumsum(x)[:-1] / below
    right = (x.sum() - np.cumsum(x)[:-1]) / (n - below)
    between = below * (n - below) / n**2 * (right - left) ** 2
    best = int(between.argmax())
    least = APART * (bounds[1] - bounds[0]) if bounds else 0.0
    return bool(between[best] >= SHARE * x.var() and right[best] - left[best] >= least)
