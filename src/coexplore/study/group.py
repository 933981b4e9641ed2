"""A group of runs that an engine trains together: from start, or from its checkpoint, to its results."""

import math
import time
from collections.abc import Sequence
from typing import Generic

import numpy as np

from coexplore.engines.base import Engine, S
from coexplore.engines.guard import foreign
from coexplore.network import Params
from coexplore.programs import make_room
from coexplore.run.result import Result, Tensors
from coexplore.run.run import Run
from coexplore.store import Checkpoint, cause
from coexplore.study.roles import Shelf
from coexplore.study.snapshots import of_each

CHUNK_SECONDS = 0.4  # what Ctrl-C waits for
SPOILT = (ValueError, KeyError, TypeError, IndexError, OverflowError, AssertionError)  # a checkpoint, if there is one


class Group(Generic[S]):
    """The runs, how far they are, and what was seen of them on the way."""

    def __init__(
        self,
        engine: Engine[S],
        runs: list[Run],
        saved: Sequence[Checkpoint | None],
        looks: Sequence[int] = (),  # the counts of updates at which to take a snapshot …
        calls: Sequence[int] = (),  # … and at which a callback is called
    ) -> None:
        make_room()
        self.engine, self.runs = engine, runs
        known = [checkpoint for checkpoint in saved if checkpoint is not None]
        state = engine.restore(runs, [checkpoint.tensors for checkpoint in known]) if known else engine.start(runs)
        self.state = engine.advance(state, 0)
        self.before: list[Tensors] = [point.snapshots if point else {} for point in saved]
        self.seen: list[Tensors] = []  # since then, with a row for each run
        self.looked = int(self.before[0]["updates"][-1]) if self.before[0] else -1
        self.looks, self.calls, self.updates = looks, calls, 1
        self.moments = sorted({*looks, *calls, runs[0].updates})
        self.rate = 0.0  # updates per second
        self.steps = 0  # of environments, in the last chunk
        self.out: dict[int, str] = {}  # places of the runs that go no further, and why: their numbers mean nothing
        self.watched, self.told = foreign(runs[0]), self.done
        self.rewards, self.recent = np.full(len(runs), np.nan), np.zeros((2, len(runs)))  # sums, and of how much

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
        if not self.engine.snapshots or self.done not in self.looks or self.looked == self.done:
            return
        self.looked = self.done
        self.seen.append({"updates": np.full(len(self.runs), self.done), **self.engine.look(self.state)})

    def train_chunk(self) -> int:
        """Train for about CHUNK_SECONDS, but not past the next moment; returns how many updates that was."""
        before, start, began = self.state, self.done, time.perf_counter()
        steps = getattr(before, "steps", 0)  # those of environments, where there are any
        most = next(moment for moment in self.moments if moment > start) - start
        self.state = self.engine.advance(before, min(self.updates, most))
        self.steps = getattr(self.state, "steps", 0) - steps
        self.rate = (self.done - start) / max(time.perf_counter() - began, 1e-6)
        self.updates = max(1, min(4 * self.updates, int(self.rate * CHUNK_SECONDS)))
        known = np.isfinite(self.state.reward)
        self.recent += np.where(known, [self.state.reward, np.ones(len(known))], 0.0) * max(self.done - start, 1)
        if self.watched or hasattr(self.state, "lost"):
            self._weed(before)
        return self.done - start

    def _weed(self, before: S) -> None:
        """Leave out the runs that have lost their numbers."""
        from coexplore.engines.blame import lost  # which no rule of ours needs

        self.out |= lost(before, self.state, self.out)

    @property
    def here(self) -> list[int]:
        """The places of the runs that are still in it."""
        return [i for i in range(len(self.runs)) if i not in self.out]

    def moment(self) -> bool:
        """Whether it has come to a moment that nobody was told of; `rewards` are then those since the one before."""
        if self.done not in self.calls or self.told == self.done:
            return False
        self.told, (sums, weights) = self.done, self.recent
        self.rewards = np.where(weights > 0, sums / np.maximum(weights, 1), self.rewards)
        self.recent = np.zeros_like(self.recent)
        return True

    def params(self) -> list[Params]:
        return self.engine.params(self.state)

    def save_checkpoint(self, store: Shelf, only: int | None = None) -> None:
        """Write down where the runs that are still in it stand, or one of them."""
        if self.done:
            built, saved = self.engine.built(), self.engine.tensors(self.state)
            snapshots = of_each(self.seen, self.before)
            for i in self.here if only is None else [only]:
                store.save_checkpoint(self.runs[i], self.engine.name, Checkpoint(saved[i], snapshots[i]), built)

    def results(self) -> list[Result]:
        """Of the runs that are still in it."""
        finished, snapshots = self.engine.finish(self.state), of_each(self.seen, self.before)
        return [finished[i].replaced(snapshots=snapshots[i]) for i in self.here]


def unusable(engine: Engine[S], run: Run, point: Checkpoint) -> str:
    """Why the engine cannot go on from it; nothing if it can."""
    try:
        engine.restore([run], [point.tensors])
    except SPOILT as error:
        return cause(error) or "its arrays do not fit"
    return ""
