"""How layers draw: independent binary units, coupled ones, numbers, and actions of one or several choices."""

from coexplore.laws.bernoulli import Bernoulli
from coexplore.laws.chain import (
    Beside,
    Chain,
    Coupled,
    Further,
    Lazy,
    OneByOne,
    Path,
    SingleDraws,
    Sweeps,
    Synchronous,
)
from coexplore.laws.gaussian import Gaussian, noisy
from coexplore.laws.joint import Bits, Softmaxes, together
from coexplore.laws.law import AbstractActivity, Activity, FeedForward, Law, Output, with_first
from coexplore.laws.softmax import Categorical, Softmax

__all__ = [
    "AbstractActivity",
    "Activity",
    "Bernoulli",
    "Beside",
    "Bits",
    "Categorical",
    "Chain",
    "Coupled",
    "FeedForward",
    "Further",
    "Gaussian",
    "Law",
    "Lazy",
    "OneByOne",
    "Output",
    "Path",
    "SingleDraws",
    "Softmax",
    "Softmaxes",
    "Sweeps",
    "Synchronous",
    "noisy",
    "together",
    "with_first",
]
