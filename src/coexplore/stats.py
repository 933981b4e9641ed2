"""Statistics over seeds: the seed is the unit of replication."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Summary(NamedTuple):
    mean: float
    sd: float
    low: float
    high: float

    def __str__(self) -> str:
        if math.isnan(self.sd):
            return f"{self.mean:.3f}"
        return f"{self.mean:.3f} ± {self.sd:.3f}  [{self.low:.3f}, {self.high:.3f}]"


def summary(values: Sequence[float]) -> Summary:
    """Mean, standard deviation (n − 1), Student's 95 % interval of the mean; NaN for what one value cannot tell."""
    from scipy.stats import t  # slow to import, and only needed when there is something to report

    n, mean = len(values), float(np.mean(values))
    if n < 2:
        return Summary(mean, math.nan, math.nan, math.nan)
    sd = float(np.std(values, ddof=1))
    half = float(t.ppf(0.975, n - 1)) * sd / math.sqrt(n)
    return Summary(mean, sd, mean - half, mean + half)
