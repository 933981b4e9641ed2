"""The work of a study's threads: each takes a group of runs from start, or from its checkpoint, to its results.

There is room for as many groups at a time as there are cores, or for as many runs as keep a GPU busy. A thread makes
room before it packs, hashes and writes what it trained: meanwhile another one trains the next group.
"""

import contextlib
import dataclasses
import datetime
import functools
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from coexplore import __version__
from coexplore.engines.base import Engine, Fault, State
from coexplore.engines.watched import not_finite, too_large
from coexplore.programs import in_our_config
from coexplore.run import Failure, Result, Run, origin
from coexplore.store import Checkpoint, Unwritable
from coexplore.study.callbacks import Caller, Raised, Stopped
from coexplore.study.group import SPOILT, Group, unusable
from coexplore.study.roles import Audience, Shelf
from coexplore.study.snapshots import moments, usual

CHECKPOINT_SECONDS = 5.0  # what a sudden death may cost, and a little more: what ends sooner is not written down
DEARER = 20  # … or so many times what writing it down takes, where a group has hundreds of runs
Trained = tuple[Group[State], float]
WAITING = 2048  # runs at a time of an engine whose threads only wait: several times what a GPU has in work at once
STARTS = 4  # of its groups at a time: the first ones, which have most to do, should not wait for all the others


class Again(Exception):
    """Runs whose checkpoints are of no use begin again; nothing else has happened."""


class Room:
    """Room for so much at a time; more than that goes in alone."""

    def __init__(self, size: int) -> None:
        self._size = self._free = size
        self._door, self._changed = threading.Lock(), threading.Condition()

    @contextlib.contextmanager
    def taken(self, much: int) -> Iterator[None]:
        much = min(much, self._size)
        with self._door, self._changed:  # who comes first waits at the door, so that small ones do not slip past
            self._changed.wait_for(lambda: self._free >= much)
            self._free -= much
        try:
            yield
        finally:
            with self._changed:
                self._free += much
                self._changed.notify()


@dataclasses.dataclass
class Work:
    """What the threads of a study share. Lists and dictionaries change by single operations, which need no lock."""

    engine: str  # as asked for: auto accepts any engine's results from the store
    store: Shelf | None
    show: Audience
    threads: int
    looks: int | None  # how many snapshots on the way of each run; None: the usual number
    checkpoint_seconds: float | None = None  # if other than usual
    stop: threading.Event = dataclasses.field(default_factory=threading.Event)
    looking: bool = True  # whether any snapshots are taken
    trained_for: Mapping[Run, str] = dataclasses.field(default_factory=dict)  # of runs of a search
    finished: dict[Run, Result] = dataclasses.field(default_factory=dict)
    failures: list[Failure] = dataclasses.field(default_factory=list)
    problems: list[str] = dataclasses.field(default_factory=list)
    trained: list[Run] = dataclasses.field(default_factory=list)
    stopped: list[Stopped] = dataclasses.field(default_factory=list)
    caller: Caller | None = None
    compile_seconds: float = 0.0

    def __post_init__(self) -> None:
        self._cores, self._device = Room(self.threads), Room(WAITING)
        self._starts = threading.Semaphore(STARTS)

    def take_finished(self, runs: Iterable[Run]) -> set[Run]:
        """Take over the runs that the store already has."""
        if not self.store:
            return set()
        known, problems = self.store.find_all(runs, self.engine)
        self.problems += problems
        self.finished |= known
        self.show.take(known.values())
        return set(known)

    @in_our_config
    def train_group(self, engine: Engine[State], runs: list[Run]) -> list[Run]:
        """Train a group, and return the runs that another process is training just now."""
        with contextlib.ExitStack() as locks:
            with (
                self._device.taken(len(runs)) if engine.waits else self._cores.taken(1),
                self._start(engine) as started,
            ):
                mine = {run: None for run in runs if self._locked(run, engine, locks)}
                kept = self.take_finished(mine)  # another process may have finished them a moment ago
                trained = self._train_all(engine, [run for run in mine if run not in kept], started.close)
            for group, seconds in trained:
                left = [group.runs[i] for i in group.here]
                self._guard(engine, left, functools.partial(self._keep_all, group, seconds))
        return [run for run in runs if run not in mine]

    def _locked(self, run: Run, engine: Engine[State], locks: contextlib.ExitStack) -> bool:
        return not self.store or locks.enter_context(self.store.lock(run, engine.name))

    def _start(self, engine: Engine[State]) -> contextlib.ExitStack:
        """To be closed as soon as the group has started."""
        stack = contextlib.ExitStack()
        if engine.waits:
            stack.enter_context(self._starts)
        return stack

    def _train_all(self, engine: Engine[State], runs: list[Run], started: Callable[[], None]) -> list[Trained]:
        """Those that got to their end, with the seconds that each run of theirs took."""
        saved = {run: self._checkpoint(run, engine) for run in runs}
        trained: list[Trained] = []
        waiting = _together(engine, saved)
        for same in waiting:
            train = functools.partial(self._train, engine, same, saved, trained, started)
            waiting += _together(engine, {run: saved[run] for run in self._guard(engine, same, train)})
        return trained

    def _checkpoint(self, run: Run, engine: Engine[State]) -> Checkpoint | None:
        if not self.store:
            return None
        checkpoint, problems = self.store.checkpoint(run, engine.name, engine.built())
        self.problems += problems
        return checkpoint

    def _guard(self, engine: Engine[State], runs: list[Run], work: Callable[[], None]) -> list[Run]:
        """An engine may fail in its own way: that ends these runs, not the others. Gives those to begin again: if one
        run alone is to blame, its neighbours. A store that cannot be written to ends them all."""
        try:
            work()
        except Unwritable as error:
            self.problems.append(str(error))
            raise
        except Again:
            return runs
        except Exception as error:
            over = {failure.run for failure in self.failures} | {stopped.run for stopped in self.stopped}
            left = [run for run in runs if run not in over]
            failed = [error.run] if isinstance(error, Fault) and error.run else left
            line = str(error) if isinstance(error, Fault) else f"{type(error).__name__}: {error}"
            for run in failed:
                self.fail(run, engine.name, " ".join(line.split())[:300])
            return [run for run in left if run not in failed]
        return []

    def fail(self, run: Run, engine: str, reason: str) -> None:
        self.failures.append(Failure(run, engine, reason))
        if self.store:
            with contextlib.suppress(Unwritable):  # it is told of at the end
                self.store.fail(run, engine, reason)

    def _train(
        self,
        engine: Engine[State],
        runs: list[Run],
        saved: dict[Run, Checkpoint | None],
        trained: list[Trained],
        started: Callable[[], None],
    ) -> None:
        if self.stop.is_set():
            return
        began = time.perf_counter()
        group = self._group(engine, runs, saved)
        started()
        self.compile_seconds = max(self.compile_seconds, time.perf_counter() - began)
        self.show.advance(runs, group.done, None)
        try:
            if self._train_to_end(group):
                trained.append((group, (time.perf_counter() - began) / len(runs)))
        except Fault:
            self.show.advance(runs, -group.done, None)  # those that begin again
            raise

    def _group(self, engine: Engine[State], runs: list[Run], saved: dict[Run, Checkpoint | None]) -> Group[State]:
        try:
            return Group(engine, runs, [saved[run] for run in runs], self._looks(runs[0]), self._calls(runs[0]))
        except SPOILT as error:
            if self._put_aside(engine, runs, saved):
                raise Again from error
            raise

    def _put_aside(self, engine: Engine[State], runs: list[Run], saved: dict[Run, Checkpoint | None]) -> bool:
        """Whether any of the checkpoints was of no use to the engine: its run begins again."""
        spoilt = {run: why for run in runs if (point := saved[run]) and (why := unusable(engine, run, point))}
        for run, why in spoilt.items():
            saved[run] = None
            if self.store:
                self.problems.append(self.store.refuse_checkpoint(run, engine.name, why))
        return bool(spoilt)

    def _looks(self, run: Run) -> list[int]:
        """The counts of updates at which to take a snapshot."""
        count = usual(run) if self.looks is None else self.looks
        return moments(run.updates, count) if self.looking else []

    def _calls(self, run: Run) -> list[int]:
        """The counts of updates at which the callback is called."""
        return moments(run.updates, self.caller.count) if self.caller else []

    def _train_to_end(self, group: Group[State]) -> bool:
        """Whether it got there, and was not stopped."""
        kept, often = time.perf_counter(), self.checkpoint_seconds or CHECKPOINT_SECONDS
        while True:
            group.look()
            self._call_back(group)
            if group.finished or not group.here:
                return bool(group.here)
            late = min(time.perf_counter() - kept, group.seconds_left) > often
            if self.store and (self.stop.is_set() or late):
                began = time.perf_counter()
                group.save_checkpoint(self.store)
                kept = time.perf_counter()
                often = max(often, DEARER * (kept - began))
            if self.stop.is_set():
                return False
            self._train_chunk(group)

    def _train_chunk(self, group: Group[State]) -> None:
        before = set(group.out)
        updates = group.train_chunk()
        self.show.advance(group.runs, updates, group.state.reward, group.steps)
        for i in group.out.keys() - before:
            self.fail(group.runs[i], group.engine.name, group.out[i])

    def _call_back(self, group: Group[State]) -> None:
        """Tell the callback where the runs are. Those that it stops leave a checkpoint, from which they may go on."""
        try:
            stopped = self.caller.call(group) if self.caller else []
        except Raised:
            if self.store:
                with contextlib.suppress(Unwritable):  # what the callback raised matters more
                    group.save_checkpoint(self.store)
            raise
        for i in stopped:
            if self.store:
                group.save_checkpoint(self.store, i)
            group.out[i] = "stopped"
            self.stopped.append(Stopped(group.runs[i], group.done))

    def _keep_all(self, group: Group[State], seconds: float) -> None:
        about = {"seconds": round(seconds, 3), "finished": _now(), "coexplore": __version__}
        for result in group.results():
            why = {"trained_for": self.trained_for[result.run]} if result.run in self.trained_for else {}
            whole = result.replaced(provenance={**result.provenance, **about, **why, **origin(result.run)})
            self._guard(group.engine, [result.run], functools.partial(self._keep, whole))
        self.show.end_runs(len(group.here))

    def _keep(self, result: Result) -> None:
        if names := not_finite(result.params):
            self.fail(result.run, result.engine, too_large(names))
            return
        self.finished[result.run] = self.store.save(result) if self.store else result
        self.trained.append(result.run)


def _together(engine: Engine[State], saved: dict[Run, Checkpoint | None]) -> list[list[Run]]:
    """The runs as they go on: equally far, and in groups as wide as they were in."""
    alike = defaultdict(list)
    for run, point in saved.items():
        alike[(point.done, engine.width(point.tensors)) if point else (0, None)].append(run)
    cut = [(same, width or len(same)) for (_, width), same in alike.items()]
    return [same[i : i + width] for same, width in cut for i in range(0, len(same), width)]


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
