"""Train many runs: dealt out to engines, in chunks, on all cores, with progress; what a store has is not done again.

With a store, a run that is stopped goes on where it was, several processes may share the work, and a run that fails
is written down while the others go on.
"""

import contextlib
import functools
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple, TypeVar

from coexplore import engines
from coexplore.engines.base import Engine, State
from coexplore.engines.guard import fault, home
from coexplore.programs import in_our_config
from coexplore.results.listing import Results
from coexplore.rules import Rule
from coexplore.run import Failure, Result, Run, failure_count, failure_lines, needs
from coexplore.run.editions import difference
from coexplore.run.seeded import Runs, Seeded, counted, portions
from coexplore.settings import Count, refusal
from coexplore.store import Store, Unwritable
from coexplore.study.callbacks import Callback, Caller, Raised, Stopped, checked_callback
from coexplore.study.cluster import checked_address, train_on_cluster
from coexplore.study.progress import Shown, shown
from coexplore.study.snapshots import MOMENTS
from coexplore.study.work import Work
from coexplore.tasks.base import AnyTask

MOST_WAITING = 64  # threads for groups of a GPU
PORTION = 10_000  # runs that are made at a time, where there are more
THREADS = Count("how many runs to train at a time", low=1, high=1024)
SNAPSHOTS = Count("how often to look at networks", low=0, high=10_000)
PATIENCE = 0.5  # seconds between two looks at runs that another process is training
T = TypeVar("T")
Chosen = dict[Run, Engine[State]]
Trainer = Callable[[Work, Sequence[Run], Store | None, Shown], None]


class Study(NamedTuple):
    """`results` has the runs asked for, in order, but for those in `failures` and those that a callback has `stopped`;
    `problems` are lines about the store."""

    results: list[Result]
    failures: list[Failure]
    problems: list[str]
    trained: int
    seconds: float
    compile_seconds: float
    stopped: Sequence[Stopped] = ()


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with the results of the runs that were finished by then, and lines about the store."""

    def __init__(self, finished: list[Result], problems: Sequence[str] = ()) -> None:
        self.finished, self.problems = finished, problems


def train(
    runs: Run | Iterable[Run],
    engine: str = "auto",
    progress: bool = True,
    threads: int | None = None,
    store: str | Path | None = None,
    snapshots: int | None = None,
    cluster: str | None = None,
    callback: Callback | None = None,
) -> Results:
    """Train every one of the `runs`, and return the results in the same order. `engine` is the first that can, unless
    it is named; `progress` shows bars; one thread per core, unless `threads` says otherwise.

    A run that fails has no result: it is one of the `failures` of the Results, and one warning says so. If no run
    finished, a RuntimeError says why.

    With a `store` (a folder), finished runs are read instead of trained, and an interrupted training goes on. With a
    `cluster` ("ray", or the address of one) its machines train, at most `threads` groups of runs at a time if that is
    given.

    `snapshots` is how often each network is looked at on its way (0: at the end alone): `result.snapshots` has what
    was seen. If it is not given, a run with a store has 20 snapshots, or fewer if it is short; without one it has none.

    A `callback` is called with a `Moment` of each run, `snapshots` times on its way, 20 if that is not given. A run for
    which it answers STOP trains no further, and has no result; with a store it leaves a checkpoint.
    """
    return _finished(study(runs, engine, progress, threads, store, snapshots, cluster, callback))


def _finished(done: Study) -> Results:
    """The results, with a warning at the caller of `train` if some runs failed; an error if all that ended did."""
    if done.failures and not done.results:
        raise RuntimeError("; ".join(failure_lines(done.failures)))
    if done.failures:
        warnings.warn(failure_count(done.failures), stacklevel=3)
    return Results(done.results, done.failures)


@in_our_config
def study(
    runs: Run | Iterable[Run] | Seeded,
    engine: str = "auto",
    progress: bool = True,
    threads: int | None = None,
    store: str | Path | None = None,
    snapshots: int | None = None,
    cluster: str | None = None,
    callback: Callback | None = None,
    trained_for: Mapping[Run, str] | None = None,
) -> Study:
    """Train the runs as `train` does; `trained_for` says of runs of a search what they are trained for."""
    runs, began, folder = listed(runs), time.perf_counter(), None if store is None else Store(store)
    checked_callback(callback, cluster)
    faults = faulty(runs)
    sound = [setting for setting in counted(runs) if setting not in faults]
    at_once = _threads(sound, threads, snapshots, cluster)
    needs.check_all_fit(counted(runs), folder is None)
    train_these = _trainer(sound, engine, threads, cluster)
    caller = Caller(callback, MOMENTS if snapshots is None else snapshots) if callback else None
    looking = folder is not None or snapshots is not None
    with shown(runs, progress) as show, _kept(folder):
        work = Work(
            engine, folder, show, at_once, snapshots, looking=looking, trained_for=trained_for or {}, caller=caller
        )
        for some in portions(runs, PORTION):
            _train_left(work, folder, some, faults, lambda left: _train(train_these, work, left, folder, show))
        if work.stopped and progress:
            show.say(f"{len(work.stopped)} of {show.runs} runs were stopped by the callback")
    return _done(runs, work, folder, time.perf_counter() - began)


def _threads(settings: Sequence[Run], threads: int | None, snapshots: int | None, cluster: str | None) -> int:
    """How many runs to train at a time: as many as fit; a FieldError where one alone does not."""
    if snapshots is not None:
        SNAPSHOTS.check("snapshots", snapshots)
    asked = _cores() if threads is None else THREADS.check("threads", threads)
    largest = max(map(needs.check_fits, settings), default=0) if cluster is None else 0
    return max(1, min(asked, needs.memory() // max(largest, 1)))


@contextlib.contextmanager
def _kept(store: Store | None) -> Iterator[None]:
    """Whoever reads that something cannot be written should read that nothing is lost."""
    try:
        yield
    except Unwritable as error:
        if store:
            error.strerror = f"{error.strerror}; what is there is kept in {store.folder}, and the same command goes on"
        raise


def _train_left(
    work: Work,
    store: Store | None,
    runs: Sequence[Run],
    faults: dict[Run, str],
    train: Callable[[list[Run]], None],
) -> None:
    """Train what the store does not have, but for what cannot be trained."""
    if store:
        store.announce(runs)
    kept = work.take_finished(runs)
    for run in runs if faults else ():
        if run not in kept and run.setting in faults:
            work.fail(run, home(run), faults[run.setting])
    error = None
    try:
        train([run for run in runs if run not in kept and run.setting not in faults])
    except KeyboardInterrupt:
        raise Interrupted(list(work.finished.values()), work.problems) from None
    except Raised as raised:
        error = raised.error
    if error:  # as it was, without how it came here
        raise error


def _train(train_these: Trainer, work: Work, runs: list[Run], store: Store | None, show: Shown) -> None:
    if runs and store and (why := store.no_locks()):
        show.say(f"{store.folder}: no locks here ({why}): another process would train the same runs, so use one alone")
    train_these(work, runs, store, show)


def _done(runs: Runs, work: Work, folder: Store | None, seconds: float) -> Study:
    if folder and work.trained:
        folder.update_index(work.finished.values())
    results = [work.finished[run] for run in runs if run in work.finished]
    failed = {failure.run: failure for failure in work.failures}
    failures = [failed.pop(run) for run in runs if run in failed] if failed else []  # in the order of the runs
    seconds = max(seconds - work.compile_seconds, 0.0)
    return Study(results, failures, work.problems, len(work.trained), seconds, work.compile_seconds, work.stopped)


def faulty(runs: Runs) -> dict[Run, str]:
    """The settings whose rule, task or environment cannot be trained, and why; the seed does not matter."""
    line: dict[tuple[type, str, str], str] = {}  # of each part; many settings share one
    found = {}
    for setting in counted(runs):
        parts: list[Rule | AnyTask] = [*setting.rules, setting.task]
        keys = [(type(part), part.edition, setting.task.label) for part in parts]
        line |= {key: difference(part) for key, part in zip(keys, parts, strict=True) if key not in line}
        changed = next((f"{line[key]}; make the Run again" for key in keys if line[key]), None)
        if why := changed or fault(setting):
            found[setting] = why
    return found


def _trainer(settings: Sequence[Run], engine: str, threads: int | None, cluster: str | None) -> Trainer:
    """Who trains what is left: this machine, whose engines are asked right away, or a cluster, which is asked later."""
    if cluster is not None:
        return functools.partial(train_on_cluster, checked_address(cluster), threads)
    chosen = {setting: engines.choose(setting, engine) for setting in settings}
    for each in {engine.name: engine for engine in chosen.values()}.values():
        each.prepare()
    return functools.partial(_train_here, chosen)


def listed(runs: Run | Iterable[Run] | Seeded) -> Runs:
    if isinstance(runs, Seeded):
        return runs
    runs = list(runs) if isinstance(runs, Iterable) else [runs]
    for run in runs:
        if not isinstance(run, Run):
            raise refusal("runs", run, "Runs, such as Run() or grid(Run(), seed=range(5))")
    return runs


def _train_here(engine_of: Chosen, work: Work, runs: Sequence[Run], store: Store | None, show: Shown) -> None:
    """Train these runs; those that another process holds are looked at again until they are done."""
    for line in filter(None, (engine.caution(setting) for setting, engine in engine_of.items())):
        show.say(line)
    show.begin()
    chosen = {run: engine_of[run.setting] for run in runs}
    waiting = min(sum(engine.waits for engine, _ in _groups(chosen)), MOST_WAITING)
    # Some train, the others write what they have trained.
    with _listening() as heard, ThreadPoolExecutor(2 * work.threads + waiting) as pool:
        try:
            while chosen:
                futures = [pool.submit(work.train_group, engine, group) for engine, group in _groups(chosen)]
                elsewhere = [run for left in _all(futures, heard) for run in left]
                if len(elsewhere) == len(chosen):
                    show.wait_for(len(elsewhere))
                    time.sleep(PATIENCE)
                chosen = {run: chosen[run] for run in elsewhere}
        except BaseException:
            work.stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _groups(chosen: Chosen) -> list[tuple[Engine[State], list[Run]]]:
    """The runs in the groups in which their engines train them."""
    theirs: dict[str, list[Run]] = {}
    for run, engine in chosen.items():
        theirs.setdefault(engine.name, []).append(run)
    return [(chosen[group[0]], group) for runs in theirs.values() for group in chosen[runs[0]].groups(runs)]


@contextlib.contextmanager
def _listening() -> Iterator[list[int]]:
    """Signals that have come meanwhile: Ctrl-C, and being told to end, which is like it. By itself Python would raise
    at any moment, while a lock is half taken, say. What whoever calls us does about signals stays."""
    heard: list[int] = []
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number, usual in ((signal.SIGINT, ()), (signal.SIGTERM, (signal.SIG_DFL,))):
            if signal.getsignal(number) in (signal.default_int_handler, *usual):
                before[number] = signal.signal(number, lambda number, _: heard.append(number))
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if heard:
        raise KeyboardInterrupt


def _all(futures: Sequence[Future[T]], heard: Sequence[int]) -> list[T]:
    """Every result, or the first exception. Waits in short naps, so that signals get through."""
    while True:
        done, not_done = wait(futures, timeout=0.2, return_when=FIRST_EXCEPTION)
        if heard:
            raise KeyboardInterrupt
        for future in done:
            future.result()
        if not not_done:
            return [future.result() for future in futures]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
