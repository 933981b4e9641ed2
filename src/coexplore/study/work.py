"""The work of a study's threads: each takes a group of runs from start, or from its checkpoint, to its results."""

import contextlib
import dataclasses
import datetime
import threading
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import jax
import numpy as np

from coexplore import __version__
from coexplore.engines.base import Engine, State
from coexplore.run import Result, Run, command
from coexplore.store import Checkpoint, Store
from coexplore.study.group import Group
from coexplore.study.progress import Shown

CHECKPOINT_SECONDS = 5.0  # what a sudden death may cost


class Failure(NamedTuple):
    run: Run
    engine: str
    reason: str

    def __str__(self) -> str:
        return f"{command(self.run) or self.run.digest[:12]} --engine {self.engine}: {self.reason}"


@dataclasses.dataclass
class Work:
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

    def take_finished(self, runs: Iterable[Run]) -> set[Run]:
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
                self.show.end_run()
                taken.add(run)
        return taken

    def train_group(self, engine: Engine[State], runs: list[Run]) -> list[Run]:
        """Train a group, and return the runs that another process is training just now."""
        with contextlib.ExitStack() as locks:
            mine = [run for run in runs if not self.store or locks.enter_context(self.store.lock(run, engine.name))]
            elsewhere = [run for run in runs if run not in mine]
            kept = self.take_finished(mine)  # another process may have finished them a moment ago
            saved = {run: self._checkpoint(run, engine) for run in mine if run not in kept}
            done = {run: checkpoint.done if checkpoint else 0 for run, checkpoint in saved.items()}
            for updates in sorted(set(done.values())):
                same = [run for run in saved if done[run] == updates]
                self._train_guarded(engine, same, [saved[run] for run in same])
        return elsewhere

    def _checkpoint(self, run: Run, engine: Engine[State]) -> Checkpoint | None:
        if not self.store:
            return None
        checkpoint, problems = self.store.checkpoint(run, engine.name, engine.built())
        self.problems += problems
        return checkpoint

    def _train_guarded(self, engine: Engine[State], runs: list[Run], saved: Sequence[Checkpoint | None]) -> None:
        """An engine may fail in its own way: that ends these runs, not the others."""
        try:
            self._train(engine, runs, saved)
        except Exception as error:
            for run in runs:
                self._fail(run, engine.name, " ".join(f"{type(error).__name__}: {error}".split())[:300])

    def _fail(self, run: Run, engine: str, reason: str) -> None:
        self.failures.append(Failure(run, engine, reason))
        if self.store:
            self.store.fail(run, engine, reason)

    def _train(self, engine: Engine[State], runs: list[Run], saved: Sequence[Checkpoint | None]) -> None:
        if self.stop.is_set():
            return
        began = time.perf_counter()
        group = Group(engine, runs, saved)
        self.compile_seconds = max(self.compile_seconds, time.perf_counter() - began)
        for run in runs:
            self.show.advance(run, group.done * run.batch, None)
        if self._train_to_end(group):
            self._keep(group.results(), engine.name, (time.perf_counter() - began) / len(runs))

    def _train_to_end(self, group: Group[State]) -> bool:
        """Whether it got there, and was not stopped."""
        kept = time.perf_counter()
        while True:
            if self.store:
                group.look()
            if group.finished:
                return True
            if self.store and (self.stop.is_set() or time.perf_counter() - kept > CHECKPOINT_SECONDS):
                group.save_checkpoint(self.store)
                kept = time.perf_counter()
            if self.stop.is_set():
                return False
            updates = group.train_chunk()
            for run, reward in zip(group.runs, group.state.reward, strict=True):
                self.show.advance(run, updates * run.batch, None if np.isnan(reward) else float(reward))

    def _keep(self, results: Sequence[Result], engine: str, seconds: float) -> None:
        about = {"seconds": round(seconds, 3), "finished": _now(), "coexplore": __version__}
        for result in results:
            if not all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(result.params)):
                self._fail(result.run, engine, "its parameters are no longer finite; a lower learning rate may help")
                continue
            whole = dataclasses.replace(result, provenance={**result.provenance, **about})
            if self.store:
                self.store.save(whole)
            self.finished[result.run] = whole
            self.trained.append(result.run)
            self.show.end_run()


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
