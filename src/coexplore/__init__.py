"""Networks of stochastic units that learn as a team of reinforcement-learning agents, without backpropagation through
the team; the critic, which predicts their reward, learns by backprop unless a local one is chosen."""

import importlib
from typing import TYPE_CHECKING

from coexplore.tasks.later import register_later

if TYPE_CHECKING:
    from coexplore.critic import Critic as Critic
    from coexplore.results.frames import frame as frame
    from coexplore.results.listing import Results as Results
    from coexplore.results.plots import plot as plot
    from coexplore.rules import HNCA as HNCA
    from coexplore.rules import Backprop as Backprop
    from coexplore.rules import Boltzmann as Boltzmann
    from coexplore.rules import Feedback as Feedback
    from coexplore.rules import MapProp as MapProp
    from coexplore.rules import Recurrent as Recurrent
    from coexplore.rules import Reinforce as Reinforce
    from coexplore.rules import Rule as Rule
    from coexplore.rules import StraightThrough as StraightThrough
    from coexplore.rules import UnbiasedWeightMax as UnbiasedWeightMax
    from coexplore.rules import WeightMax as WeightMax
    from coexplore.run import Failure as Failure
    from coexplore.run import Run as Run
    from coexplore.run import grid as grid
    from coexplore.settings import Linear as Linear
    from coexplore.settings import choice as choice
    from coexplore.settings import count as count
    from coexplore.settings import number as number
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
    from coexplore.units import drive as drive
    from coexplore.units import outer as outer
    from coexplore.units import probability as probability

__version__ = "0.1.0"

# Where each public name lives: loaded when first asked for, so that importing the package costs nothing.
_HOMES = {
    "Backprop": "rules",
    "Bandit": "tasks.bandit",
    "Boolean": "tasks.supervised",
    "Boltzmann": "rules",
    "Control": "tasks.control",
    "Critic": "critic",
    "Dataset": "tasks.dataset",
    "Digits": "tasks.supervised",
    "Failure": "run",
    "Feedback": "rules",
    "HNCA": "rules",
    "Linear": "settings",
    "MapProp": "rules",
    "Moment": "study",
    "Multiplexer": "tasks.multiplexer",
    "Recurrent": "rules",
    "Reinforce": "rules",
    "Result": "store",
    "Results": "results.listing",
    "Rule": "rules",
    "Run": "run",
    "STOP": "study",
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
    "grid": "run",
    "load": "store",
    "number": "settings",
    "outer": "units",
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
