"""One group of runs from start, or from its checkpoint, to its results: the work of one thread of a study."""

import contextlib
import dataclasses
import datetime
import os
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import numpy as np

from coexplore import __version__, engines
from coexplore.flags import command
from coexplore.progress import Shown
from coexplore.result import Result
from coexplore.run import Run
from coexplore.snapshots import moments, snapshot, stacked, unstacked
from coexplore.store import SNAPSHOTS, Store

CHUNK_SECONDS = 0.4  # what Ctrl-C waits for
SIDE_BY_SIDE = ThreadPoolExecutor(os.cpu_count())  # snapshots of a group that trains elsewhere
CHECKPOINT_SECONDS = 5.0  # what a sudden death may cost


class Failure(NamedTuple):
    run: Run
    engine: str
    reason: str

    def __str__(self) -> str:
        return f"{command(self.run) or self.run.digest[:12]} --engine {self.engine}: {self.reason}"


@dataclasses.dataclass
class Training:
    """What the threads of a study share. Lists and dictionaries change by single operations, which need no lock."""

    engine: str  # as asked for: auto accepts any engine's results from the store
    store: Store | None
    show: Shown
    stop: threading.Event = dataclasses.field(default_factory=threading.Event)
    finished: dict[Run, Result] = dataclasses.field(default_factory=dict)
    failures: list[Failure] = dataclasses.field(default_factory=list)
    problems: list[str] = dataclasses.field(default_factory=list)
    trained: list[Run] = dataclasses.field(default_factory=list)
    compile_seconds: float = 0.0

    def found(self, runs: Iterable[Run]) -> set[Run]:
        """Take over the runs that the store already has."""
        taken: set[Run] = set()
        if not self.store:
            return taken
        for run in runs:
            result, problems = self.store.find(run, self.engine)
            self.problems += problems
            if result is not None:
                self.finished[run] = result
                self.show.advance(run, run.episodes, result.last)
                self.show.ended()
                taken.add(run)
        return taken

    def group(self, name: str, runs: list[Run]) -> list[Run]:
        """Train a group, and return the runs that another process is training just now."""
        with contextlib.ExitStack() as locks:
            mine = [run for run in runs if not self.store or locks.enter_context(self.store.lock(run, name))]
            elsewhere = [run for run in runs if run not in mine]
            kept = self.found(mine)  # another process may have finished them a moment ago
            saved = {run: self._saved(run, name) for run in mine if run not in kept}
            for done in sorted({done for done, _ in saved.values()}):
                same = [run for run in saved if saved[run][0] == done]
                self._guarded(name, same, [saved[run][1] for run in same])
        return elsewhere

    def _saved(self, run: Run, name: str) -> tuple[int, dict[str, np.ndarray] | None]:
        """How many updates the run's checkpoint has done, and the checkpoint."""
        if not self.store:
            return 0, None
        tensors, problems = self.store.checkpoint(run, name, engines.find(name).built())
        self.problems += problems
        return (0, None) if tensors is None else (int(tensors["done"]), tensors)

    def _guarded(self, name: str, runs: list[Run], saved: list[Any]) -> None:
        """An engine may fail in its own way: that ends these runs, not the others."""
        try:
            self._train(name, runs, saved)
        except Exception as error:
            for run in runs:
                self._fail(run, name, " ".join(f"{type(error).__name__}: {error}".split())[:300])

    def _fail(self, run: Run, name: str, reason: str) -> None:
        self.failures.append(Failure(run, name, reason))
        if self.store:
            self.store.fail(run, name, reason)

    def _train(self, name: str, runs: list[Run], saved: list[Any]) -> None:
        if self.stop.is_set():
            return
        began = time.perf_counter()
        group = Group(name, runs, saved)
        self.compile_seconds = max(self.compile_seconds, time.perf_counter() - began)
        for run in runs:
            self.show.advance(run, group.done * run.batch, None)
        kept = time.perf_counter()
        while True:
            if self.store and runs[0].task.one_step:  # an environment has no states to look at as one likes
                group.look()
            if group.done == runs[0].updates:
                break
            if self.stop.is_set() or time.perf_counter() - kept > CHECKPOINT_SECONDS:
                group.keep(self.store)
                kept = time.perf_counter()
            if self.stop.is_set():
                return
            updates = group.chunk()
            for run, reward in zip(runs, group.state.reward, strict=True):
                self.show.advance(run, updates * run.batch, None if np.isnan(reward) else float(reward))
        self._end(name, group.results(), (time.perf_counter() - began) / len(runs))

    def _end(self, name: str, results: Sequence[Result], seconds: float) -> None:
        about = {"seconds": round(seconds, 3), "finished": _now(), "coexplore": __version__}
        for result in results:
            if not all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(result.params)):
                self._fail(result.run, name, "its parameters are no longer finite; a lower learning rate may help")
                continue
            whole = dataclasses.replace(result, provenance={**result.provenance, **about})
            if self.store:
                self.store.save(whole)
            self.finished[result.run] = whole
            self.trained.append(result.run)
            self.show.ended()


class Group:
    """Runs that an engine trains together, with what was seen of them on the way."""

    def __init__(self, name: str, runs: list[Run], saved: list[Any]) -> None:
        self.name, self.runs, self.module = name, runs, engines.find(name)
        state = self.module.restore(runs, saved) if saved[0] is not None else self.module.start(runs)
        self.state = self.module.advance(state, 0)
        self.seen = [_snapshots(tensors) for tensors in saved]
        self.moments, self.updates = moments(runs[0].updates), 64

    @property
    def done(self) -> int:
        return self.state.done

    def look(self) -> None:
        """Take a snapshot of every run, if this is a moment for one and it has not been taken."""
        if self.done in self.moments and (not self.seen[0] or self.seen[0][-1]["updates"] < self.done):
            done = [self.done] * len(self.runs)
            taken = map if len(self.runs) == 1 else SIDE_BY_SIDE.map
            for seen, one in zip(
                self.seen, taken(snapshot, self.runs, self.module.params(self.state), done), strict=True
            ):
                seen.append(one)

    def chunk(self) -> int:
        """Train for about CHUNK_SECONDS, but not past the next moment; returns how many updates that was."""
        before, began = self.done, time.perf_counter()
        most = next(moment for moment in self.moments if moment > before) - before
        self.state = self.module.advance(self.state, min(self.updates, most))
        rate = (self.done - before) / max(time.perf_counter() - began, 1e-6)
        self.updates = max(1, min(4 * self.updates, int(rate * CHUNK_SECONDS)))
        return self.done - before

    def keep(self, store: Store | None) -> None:
        """Write a checkpoint of every run."""
        if store and self.done:
            for run, tensors, seen in zip(self.runs, self.module.tensors(self.state), self.seen, strict=True):
                looks = {SNAPSHOTS + name: x for name, x in stacked(seen).items()}
                store.save_checkpoint(run, self.name, {**tensors, **looks}, self.module.built())

    def results(self) -> list[Result]:
        finished = zip(self.module.finish(self.state), self.seen, strict=True)
        return [dataclasses.replace(result, snapshots=stacked(seen)) for result, seen in finished]


def _snapshots(tensors: dict[str, np.ndarray] | None) -> list[dict[str, np.ndarray]]:
    named = {name.removeprefix(SNAPSHOTS): x for name, x in (tensors or {}).items() if name.startswith(SNAPSHOTS)}
    return unstacked(named)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
