"""Runs that are being trained, read from their checkpoints while a study writes them."""

import dataclasses
import math
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coexplore import engines
from coexplore.run.run import Run
from coexplore.store.checkpoints import checked_checkpoint
from coexplore.store.door import checked_engine
from coexplore.store.encoding import run_of
from coexplore.store.sealed import readable, unseal

FRESH = 30.0  # seconds after which a store that nobody writes to is thought to be left alone


@dataclasses.dataclass(frozen=True, eq=False)
class UnderWay:
    run: Run
    done: int  # updates
    curve: NDArray[np.float64]  # mean reward of each bin that is full
    fresh: bool

    @property
    def episodes(self) -> int:
        return self.done * self.run.batch


def read_under_way(path: Path) -> UnderWay:
    """What a checkpoint tells of its run; the engine that wrote it reads its curve."""
    fresh = age(path) < FRESH
    about, tensors, _ = unseal(path)
    with readable(path, "checkpoint"):
        run = run_of(about["run"])
        engine = checked_engine(about["engine"])
        point = checked_checkpoint(run, engine, tensors)
        return UnderWay(run, point.done, engines.find(engine).curve(run, point.tensors), fresh)


def age(path: Path) -> float:
    """Seconds since it was written."""
    try:
        return time.time() - path.stat().st_mtime
    except OSError:  # it is gone already
        return math.inf
