"""Networks of stochastic units that learn as a team of reinforcement-learning agents, without backpropagation."""

import contextlib
import importlib
from typing import TYPE_CHECKING, Any

from coexplore import tasks

if TYPE_CHECKING:
    from coexplore.critic import Critic as Critic
    from coexplore.fields import Linear as Linear
    from coexplore.flags import grid as grid
    from coexplore.pack import load as load
    from coexplore.plots import plot as plot
    from coexplore.result import Result as Result
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
    from coexplore.run import Run as Run
    from coexplore.study import train as train
    from coexplore.tasks.control import Control as Control
    from coexplore.tasks.multiplexer import Multiplexer as Multiplexer
    from coexplore.tasks.supervised import Boolean as Boolean
    from coexplore.tasks.supervised import Digits as Digits

__version__ = "0.1.0"

# Where each public name lives: loaded when first asked for, so that importing the package costs nothing.
_HOMES = {
    "Backprop": "rules",
    "Boolean": "tasks.supervised",
    "Boltzmann": "rules",
    "Control": "tasks.control",
    "Critic": "critic",
    "Digits": "tasks.supervised",
    "Feedback": "rules",
    "Linear": "fields",
    "MapProp": "rules",
    "Multiplexer": "tasks.multiplexer",
    "Recurrent": "rules",
    "Reinforce": "rules",
    "Result": "result",
    "Rule": "rules",
    "Run": "run",
    "StraightThrough": "rules",
    "UnbiasedWeightMax": "rules",
    "WeightMax": "rules",
    "grid": "flags",
    "load": "pack",
    "plot": "plots",
    "train": "study",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605 (it is a list)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'coexplore' has no attribute {name!r}")
    return getattr(importlib.import_module(f"coexplore.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__]


# Gymnasium knows an environment once the package that brings it has been imported.
with contextlib.suppress(ImportError):  # … and training needs no Gymnasium
    tasks.register()
