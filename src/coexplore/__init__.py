"""Networks of stochastic units that learn as a team of reinforcement-learning agents, without backpropagation through
the team; the critic, which predicts their reward, learns by backprop unless a local one is chosen."""

import importlib
from typing import TYPE_CHECKING

from coexplore.tasks.later import register_later

if TYPE_CHECKING:
    from coexplore.critic import Critic as Critic
    from coexplore.laws import Activity as Activity
    from coexplore.laws import Bernoulli as Bernoulli
    from coexplore.laws import FeedForward as FeedForward
    from coexplore.laws import Law as Law
    from coexplore.results.frames import frame as frame
    from coexplore.results.listing import Results as Results
    from coexplore.results.plots import plot as plot
    from coexplore.rules import HNCA as HNCA
    from coexplore.rules import Backprop as Backprop
    from coexplore.rules import Boltzmann as Boltzmann
    from coexplore.rules import Layer as Layer
    from coexplore.rules import Local as Local
    from coexplore.rules import MapProp as MapProp
    from coexplore.rules import Message as Message
    from coexplore.rules import Outcome as Outcome
    from coexplore.rules import Recurrent as Recurrent
    from coexplore.rules import Reinforce as Reinforce
    from coexplore.rules import Rule as Rule
    from coexplore.rules import Sizes as Sizes
    from coexplore.rules import StraightThrough as StraightThrough
    from coexplore.rules import UnbiasedWeightMax as UnbiasedWeightMax
    from coexplore.rules import WeightMax as WeightMax
    from coexplore.rules.baseline import Baseline as Baseline
    from coexplore.rules.baseline import Chains as Chains
    from coexplore.rules.baseline import Expectation as Expectation
    from coexplore.rules.baseline import Nothing as Nothing
    from coexplore.rules.baseline import Predicted as Predicted
    from coexplore.rules.baseline import Probability as Probability
    from coexplore.rules.eligibility import Alone as Alone
    from coexplore.rules.eligibility import Eligibility as Eligibility
    from coexplore.rules.eligibility import Pair as Pair
    from coexplore.rules.learning_signal import Advantage as Advantage
    from coexplore.rules.learning_signal import Reward as Reward
    from coexplore.rules.learning_signal import Signal as Signal
    from coexplore.run import Failure as Failure
    from coexplore.run import Run as Run
    from coexplore.run import grid as grid
    from coexplore.settings import Linear as Linear
    from coexplore.settings import Part as Part
    from coexplore.settings import choice as choice
    from coexplore.settings import count as count
    from coexplore.settings import number as number
    from coexplore.settings import part as part
    from coexplore.settings import switch as switch
    from coexplore.store import Result as Result
    from coexplore.store import load as load
    from coexplore.study import STOP as STOP
    from coexplore.study import Moment as Moment
    from coexplore.study import Tuned as Tuned
    from coexplore.study import train as train
    from coexplore.study import tune as tune
    from coexplore.study.tensorboard import TensorBoard as TensorBoard
    from coexplore.tasks.bandit import Bandit as Bandit
    from coexplore.tasks.base import Task as Task
    from coexplore.tasks.control import Control as Control
    from coexplore.tasks.dataset import Dataset as Dataset
    from coexplore.tasks.multiplexer import Multiplexer as Multiplexer
    from coexplore.tasks.supervised import Boolean as Boolean
    from coexplore.tasks.supervised import Digits as Digits
    from coexplore.units import Affine as Affine
    from coexplore.units import drive as drive
    from coexplore.units import glorot as glorot
    from coexplore.units import outer as outer
    from coexplore.units import probability as probability

__version__ = "0.1.0"

# Where each public name lives: loaded when first asked for, so that importing the package costs nothing.
_HOMES = {
    "Activity": "laws",
    "Advantage": "rules.learning_signal",
    "Affine": "units",
    "Alone": "rules.eligibility",
    "Backprop": "rules",
    "Bandit": "tasks.bandit",
    "Baseline": "rules.baseline",
    "Bernoulli": "laws",
    "Boltzmann": "rules",
    "Boolean": "tasks.supervised",
    "Chains": "rules.baseline",
    "Control": "tasks.control",
    "Critic": "critic",
    "Dataset": "tasks.dataset",
    "Digits": "tasks.supervised",
    "Eligibility": "rules.eligibility",
    "Expectation": "rules.baseline",
    "Failure": "run",
    "FeedForward": "laws",
    "HNCA": "rules",
    "Law": "laws",
    "Layer": "rules",
    "Linear": "settings",
    "Local": "rules",
    "MapProp": "rules",
    "Message": "rules",
    "Moment": "study",
    "Multiplexer": "tasks.multiplexer",
    "Nothing": "rules.baseline",
    "Outcome": "rules",
    "Pair": "rules.eligibility",
    "Part": "settings",
    "Predicted": "rules.baseline",
    "Probability": "rules.baseline",
    "Recurrent": "rules",
    "Reinforce": "rules",
    "Result": "store",
    "Results": "results.listing",
    "Reward": "rules.learning_signal",
    "Rule": "rules",
    "Run": "run",
    "STOP": "study",
    "Signal": "rules.learning_signal",
    "Sizes": "rules",
    "StraightThrough": "rules",
    "Task": "tasks.base",
    "TensorBoard": "study.tensorboard",
    "Tuned": "study",
    "UnbiasedWeightMax": "rules",
    "WeightMax": "rules",
    "choice": "settings",
    "count": "settings",
    "drive": "units",
    "frame": "results.frames",
    "glorot": "units",
    "grid": "run",
    "load": "store",
    "number": "settings",
    "outer": "units",
    "part": "settings",
    "plot": "results.plots",
    "probability": "units",
    "switch": "settings",
    "train": "study",
    "tune": "study",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605 (it is a list)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'coexplore' has no attribute {name!r}")
    return getattr(importlib.import_module(f"coexplore.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__]


register_later()  # Gymnasium knows an environment once the package that brings it has been imported
