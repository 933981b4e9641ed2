"""What a result holds, in memory or wherever its arrays are."""

import abc
import dataclasses
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from coexplore.network import Params
from coexplore.run.curve import bin_sizes
from coexplore.run.frozen import frozen
from coexplore.run.run import Run
from coexplore.settings import Json

Tensor = NDArray[Any]  # type: ignore[explicit-any]  # of any shape and type
Tensors = dict[str, Tensor]


@dataclasses.dataclass(frozen=True, eq=False)
class Held:
    """The arrays of a result, in memory."""

    curve: NDArray[np.float32]
    params: Params | None
    snapshots: Tensors

    def read(self) -> "Held":
        return self


@runtime_checkable
class Contents(Protocol):
    """The arrays of a result, in memory or wherever they are read from when somebody asks for them."""

    def read(self) -> Held: ...


class Scores(NamedTuple):
    """What a run came to, without its arrays."""

    reward: float
    first: float
    last: float
    frozen: bool
    accuracy: float | None  # as the last snapshot has it, if it has


class Listed(abc.ABC):
    """Contents of a result that is known from a list of many: more is worked out when somebody asks for it."""

    __slots__ = ()

    @abc.abstractmethod
    def run(self) -> Run: ...
    @abc.abstractmethod
    def provenance(self) -> dict[str, Json]: ...
    @abc.abstractmethod
    def scores(self) -> Scores: ...
    @abc.abstractmethod
    def read(self) -> Held: ...


def score(run: Run, held: Held) -> Scores:
    curve, snapshots = held.curve, held.snapshots
    weights = bin_sizes(run.updates).reshape(len(curve), -1).sum(axis=1)  # a packed curve has fewer points
    quarter = max(1, len(curve) // 4)
    first, last = float(np.mean(curve[:quarter])), float(np.mean(curve[-quarter:]))
    froze = frozen(run, last, snapshots, held.params)
    seen = float(snapshots["accuracy"][-1]) if "accuracy" in snapshots else None
    return Scores(float(np.average(curve, weights=weights)), first, last, froze, seen)
