"""What an engine owes. Engines are different ways to train the same Run: modules that meet `Engine`.

Nothing outside the Run changes a result on the same engine, build and instruction set: not its neighbours, not how the
updates are cut into advances, not an interruption. Where low bits depend on how wide a group is, an engine has few
widths, its results state theirs, and an interrupted run goes on in its own. Engines draw different random numbers:
between them, results agree in distribution.
"""

from collections.abc import Sequence
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import DTypeLike, NDArray

from coexplore.network import Params
from coexplore.run.result import Result, Tensor, Tensors
from coexplore.run.run import Run
from coexplore.settings import Json

NO_GPU = "there is no NVIDIA GPU"  # a reason to be missing that a person who did not ask for one need not be told of


class Fault(Exception):
    """What a rule, a task or an environment of somebody's own did wrong, in one line.

    `run` is the only one of its group that it concerns, if there is one: the others may go on.
    """

    def __init__(self, line: str, run: Run | None = None) -> None:
        super().__init__(line)
        self.run = run


def said(error: BaseException) -> str:
    """What an error says, in one line; JAX's go on for many."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}"[:200] if lines else type(error).__name__


def fitting(saved: Tensors, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> Tensor:
    """An array of a checkpoint, if it is what the engine would have written: a file may hold anything."""
    x = np.asarray(saved[name])
    if x.shape != shape or x.dtype != dtype:
        raise ValueError(f"{name!r} has shape {list(x.shape)} and should have {list(shape)}")
    return x


def checked_width(saved: Tensors, widths: tuple[int, int]) -> int:
    width, (narrow, wide) = int(fitting(saved, "width", (), saved["width"].dtype)), widths
    if not narrow <= width <= wide:
        raise ValueError(f"'width' is {width}, and should be from {narrow} to {wide}")
    return width


@runtime_checkable
class State(Protocol):
    """A group of runs under way. It is frozen, and spent once it has been advanced."""

    @property
    def runs(self) -> tuple[Run, ...]: ...

    @property
    def done(self) -> int:
        """Updates so far; the same for all runs of the group."""

    @property
    def reward(self) -> NDArray[np.float64]:
        """Mean reward of each run over the last advance; NaN before the first."""


S = TypeVar("S", bound=State)


@runtime_checkable
class Engine(Protocol[S]):
    name: str
    title: str  # what it trains, in a line
    stream: int  # counts the versions of its random numbers and arithmetic: another version gives other results
    waits: bool  # whether its threads only wait for a device, so that they need no core
    snapshots: bool  # whether there are states to look at its networks in while they train

    def missing(self) -> str | None:
        """None, or why it cannot train anything on this machine. Asks, and changes nothing."""

    def prepare(self) -> None:
        """Whatever must be in place before JAX starts its backends; called once before training."""

    def supports(self, run: Run) -> str | None:
        """None, or why it cannot train this run."""

    def caution(self, run: Run) -> str | None:
        """None, or what a person should know before it trains this run."""

    def groups(self, runs: Sequence[Run]) -> list[list[Run]]:
        """The runs as this engine trains them together; those of a group share a shape and a length."""

    def start(self, runs: list[Run]) -> S:
        """A group before its first update."""

    def advance(self, state: S, updates: int) -> S:
        """At most so many more updates, and never past the end; 0 compiles what the others will need.

        It may come back early where updates are long (environments), but has always moved on when asked to.
        """

    def finish(self, state: S) -> list[Result]:
        """The Results of a group whose updates are all done."""

    def params(self, state: S) -> list[Params]:
        """The present parameters of each run."""

    def look(self, state: S) -> Tensors:
        """What the networks do on fixed states, by name (see `Result`) with a row for each run: one call for all.

        On one device per engine and as wide as the group, so that neither neighbours nor load change a bit.
        """

    def tensors(self, state: S) -> list[Tensors]:
        """A checkpoint of each run: arrays under names of the engine's own, one of which is `done`."""

    def restore(self, runs: list[Run], tensors: list[Tensors]) -> S:
        """The state again, to go on bit for bit; all runs must have done equally many updates, in equal widths.

        ValueError, KeyError, TypeError or IndexError where these are not arrays that `tensors` can have given.
        """

    def width(self, tensors: Tensors) -> int | None:
        """How wide the group of a checkpoint was, and will be again: so many may go on together. None: any number."""

    def curve(self, run: Run, tensors: Tensors) -> NDArray[np.float64]:
        """Mean rewards of the bins that a checkpoint has filled."""

    def built(self) -> dict[str, Json]:
        """What the low bits of a result depend on besides the run and the width of its group, as plain data."""
