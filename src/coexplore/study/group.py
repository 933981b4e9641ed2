"""A group of runs that an engine trains together: from start, or from its checkpoint, to its results."""

import math
import time
from collections.abc import Sequence
from typing import Generic

import numpy as np

from coexplore.engines.base import Engine, S
from coexplore.run.result import Result, Tensors
from coexplore.run.run import Run
from coexplore.store import Checkpoint
from coexplore.study.roles import Shelf
from coexplore.study.snapshots import moments, of_each

CHUNK_SECONDS = 0.4  # what Ctrl-C waits for


class Group(Generic[S]):
    """The runs, how far they are, and what was seen of them on the way."""

    def __init__(self, engine: Engine[S], runs: list[Run], saved: Sequence[Checkpoint | None], looks: int) -> None:
        self.engine, self.runs = engine, runs
        known = [checkpoint for checkpoint in saved if checkpoint is not None]
        state = engine.restore(runs, [checkpoint.tensors for checkpoint in known]) if known else engine.start(runs)
        self.state = engine.advance(state, 0)
        self.before: list[Tensors] = [point.snapshots if point else {} for point in saved]
        self.seen: list[Tensors] = []  # since then, with a row for each run
        self.looked = int(self.before[0]["updates"][-1]) if self.before[0] else -1
        self.moments, self.updates = moments(runs[0].updates, looks), 64
        self.rate = 0.0  # updates per second

    @property
    def done(self) -> int:
        return self.state.done

    @property
    def finished(self) -> bool:
        return self.done == self.runs[0].updates

    @property
    def seconds_left(self) -> float:
        return (self.runs[0].updates - self.done) / self.rate if self.rate else math.inf

    def look(self) -> None:
        """Take a snapshot of every run, if this is a moment for one and it has not been taken."""
        if not self.engine.snapshots or self.done not in self.moments or self.looked == self.done:
            return
        self.looked = self.done
        self.seen.append({"updates": np.full(len(self.runs), self.done), **self.engine.look(self.state)})

    def train_chunk(self) -> int:
        """Train for about CHUNK_SECONDS, but not past the next moment; returns how many updates that was."""
        before, began = self.done, time.perf_counter()
        most = next(moment for moment in self.moments if moment > before) - before
        self.state = self.engine.advance(self.state, min(self.updates, most))
        self.rate = (self.done - before) / max(time.perf_counter() - began, 1e-6)
        self.updates = max(1, min(4 * self.updates, int(self.rate * CHUNK_SECONDS)))
        return self.done - before

    def save_checkpoint(self, store: Shelf) -> None:
        """Write down where every run stands."""
        if self.done:
            built = self.engine.built()
            snapshots = of_each(self.seen, self.before)
            for run, tensors, seen in zip(self.runs, self.engine.tensors(self.state), snapshots, strict=True):
                store.save_checkpoint(run, self.engine.name, Checkpoint(tensors, seen), built)

    def results(self) -> list[Result]:
        finished = zip(self.engine.finish(self.state), of_each(self.seen, self.before), strict=True)
        return [result.replaced(snapshots=seen) for result, seen in finished]
