"""How layers draw: independent binary units, coupled ones, numbers, and actions of one or several choices."""

from coexplore.laws.bernoulli import Bernoulli
from coexplore.laws.chain import (
    Chain,
    Coupled,
    Lazy,
    OneByOne,
    Path,
    Phases,
    SingleDraws,
    Sweeps,
    Synchronous,
    TwoPhase,
)
from coexplore.laws.gaussian import Gaussian, noisy
from coexplore.laws.joint import Bits, Softmaxes, together
from coexplore.laws.law import AbstractActivity, Activity, FeedForward, Law, Output, with_first
from coexplore.laws.softmax import Categorical, Softmax

__all__ = [
    "AbstractActivity",
    "Activity",
    "Bernoulli",
    "Bits",
    "Categorical",
    "Chain",
    "Coupled",
    "FeedForward",
    "Gaussian",
    "Law",
    "Lazy",
    "OneByOne",
    "Output",
    "Path",
    "Phases",
    "SingleDraws",
    "Softmax",
    "Softmaxes",
    "Sweeps",
    "Synchronous",
    "TwoPhase",
    "noisy",
    "together",
    "with_first",
]
