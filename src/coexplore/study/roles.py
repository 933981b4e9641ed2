"""Whom the work of a study deals with: on one machine a store and a person, on a machine of a cluster the driver."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from coexplore.run import Result, Run
from coexplore.settings import Json
from coexplore.store import Checkpoint


@runtime_checkable
class Shelf(Protocol):
    """What runs are taken from and put into: a Store or, on a machine that has none, a Parcel."""

    def save(self, result: Result) -> Result: ...

    def find_all(self, runs: Iterable[Run], engine: str) -> tuple[dict[Run, Result], list[str]]: ...

    def save_checkpoint(self, run: Run, engine: str, checkpoint: Checkpoint, built: dict[str, Json]) -> None: ...

    def checkpoint(self, run: Run, engine: str, built: dict[str, Json]) -> tuple[Checkpoint | None, list[str]]: ...

    def refuse_checkpoint(self, run: Run, engine: str, why: str) -> str: ...

    def lock(self, run: Run, engine: str) -> AbstractContextManager[bool]: ...

    def fail(self, run: Run, engine: str, reason: str) -> None: ...


@runtime_checkable
class Audience(Protocol):
    """Who is told how far the runs are."""

    def advance(
        self, runs: Sequence[Run], updates: int, rewards: NDArray[np.float64] | None, steps: int = 0
    ) -> None: ...

    def take(self, results: Iterable[Result]) -> None: ...

    def end_runs(self, count: int) -> None: ...
