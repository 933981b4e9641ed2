"""Runs under way, read from their checkpoints while a study writes them. What cannot be read is left out."""

import contextlib
import dataclasses
import math
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from coexplore.fields import FieldError
from coexplore.files import SUFFIX, StoreError, unseal
from coexplore.result import bin_sizes, bins
from coexplore.run import Run

FRESH = 30.0  # seconds after which a store that nobody writes to is thought to be left alone


@dataclasses.dataclass(frozen=True, eq=False)
class UnderWay:
    run: Run
    done: int  # updates
    curve: np.ndarray  # mean reward of each bin that is full
    fresh: bool

    @property
    def episodes(self) -> int:
        return self.done * self.run.batch


def under_way(store: Path) -> Iterator[UnderWay]:
    for path in sorted(store.glob(f"checkpoints/*{SUFFIX}")):
        with contextlib.suppress(StoreError, FieldError, OSError, ValueError, KeyError, TypeError, AttributeError):
            yield _read(path, fresh=_age(path) < FRESH)


def held(store: Path) -> set[str]:
    """Digests of the runs that are being trained: those with a lock. A process that was killed leaves its locks
    behind, and trying them would get in a study's way: so they count for as long as the store changes."""
    locks = list(store.glob(".locks/*"))
    alive = any(_age(path) < FRESH for path in (*locks, *store.glob(f"checkpoints/*{SUFFIX}")))
    return {path.name.partition(".")[0] for path in locks} if alive else set()


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:  # it is gone already
        return math.inf


def _read(path: Path, fresh: bool) -> UnderWay:
    about, tensors, _ = unseal(path)
    run = Run.from_dict(about["run"], imported_only=True)
    done, P = int(tensors["done"]), bins(run.updates)
    if not 0 <= done <= run.updates:
        raise ValueError("more updates than the run has")
    sums = _sums(tensors)
    full = done * P // run.updates
    curve = sums[:full] / bin_sizes(run.updates)[:full]
    if np.issubdtype(sums.dtype, np.integer):  # cuda counts right answers: from their share to the reward
        worst = 2 * run.task.chance - 1
        curve = worst + (1 - worst) * curve / run.batch
    if sums.shape != (P,) or not np.all(np.isfinite(curve)):
        raise ValueError("not the curve of this run")
    return UnderWay(run, done, curve, fresh)


def _sums(tensors: dict[str, np.ndarray]) -> np.ndarray:
    """Sums of reward: under its name from the cpu engine; xla numbers its leaves, of which the curve is the last."""
    numbered = [int(name) for name in tensors if name.isdecimal()]
    return tensors["curve"] if "curve" in tensors else tensors[str(max(numbered))]
