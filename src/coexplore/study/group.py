"""A group of runs that an engine trains together: from start, or from its checkpoint, to its results."""

import dataclasses
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic

from coexplore.engines.base import Engine, S
from coexplore.run.result import Result, Tensors
from coexplore.run.run import Run
from coexplore.store import Checkpoint, Store
from coexplore.study.snapshots import moments, snapshot, stacked, unstacked

CHUNK_SECONDS = 0.4  # what Ctrl-C waits for
SIDE_BY_SIDE = ThreadPoolExecutor(os.cpu_count())  # snapshots of a group that trains elsewhere


class Group(Generic[S]):
    """The runs, how far they are, and what was seen of them on the way."""

    def __init__(self, engine: Engine[S], runs: list[Run], saved: Sequence[Checkpoint | None]) -> None:
        self.engine, self.runs = engine, runs
        known = [checkpoint for checkpoint in saved if checkpoint is not None]
        state = engine.restore(runs, [checkpoint.tensors for checkpoint in known]) if known else engine.start(runs)
        self.state = engine.advance(state, 0)
        self.seen: list[list[Tensors]] = [unstacked(point.snapshots) if point else [] for point in saved]
        self.moments, self.updates = moments(runs[0].updates), 64

    @property
    def done(self) -> int:
        return self.state.done

    @property
    def finished(self) -> bool:
        return self.done == self.runs[0].updates

    def look(self) -> None:
        """Take a snapshot of every run, if this is a moment for one and it has not been taken."""
        if not self.engine.snapshots or self.done not in self.moments:
            return
        if self.seen[0] and self.seen[0][-1]["updates"] >= self.done:
            return
        done = [self.done] * len(self.runs)
        each = map if len(self.runs) == 1 else SIDE_BY_SIDE.map
        taken = each(snapshot, self.runs, self.engine.params(self.state), done)
        for seen, new in zip(self.seen, taken, strict=True):
            seen.append(new)

    def train_chunk(self) -> int:
        """Train for about CHUNK_SECONDS, but not past the next moment; returns how many updates that was."""
        before, began = self.done, time.perf_counter()
        most = next(moment for moment in self.moments if moment > before) - before
        self.state = self.engine.advance(self.state, min(self.updates, most))
        rate = (self.done - before) / max(time.perf_counter() - began, 1e-6)
        self.updates = max(1, min(4 * self.updates, int(rate * CHUNK_SECONDS)))
        return self.done - before

    def save_checkpoint(self, store: Store) -> None:
        """Write down where every run stands."""
        if self.done:
            for run, tensors, seen in zip(self.runs, self.engine.tensors(self.state), self.seen, strict=True):
                checkpoint = Checkpoint(tensors, stacked(seen))
                store.save_checkpoint(run, self.engine.name, checkpoint, self.engine.built())

    def results(self) -> list[Result]:
        finished = zip(self.engine.finish(self.state), self.seen, strict=True)
        return [dataclasses.replace(result, snapshots=stacked(seen)) for result, seen in finished]
