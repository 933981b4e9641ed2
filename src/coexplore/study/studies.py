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
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple, TypeVar

from coexplore import engines
from coexplore.engines.base import Engine, State
from coexplore.engines.guard import fault, home
from coexplore.results.listing import Results
from coexplore.run import Result, Run
from coexplore.settings import refusal
from coexplore.store import Store, Unwritable
from coexplore.study.callbacks import Callback, Caller, Raised, Stopped, checked_callback
from coexplore.study.cluster import checked_address, train_on_cluster
from coexplore.study.progress import Shown, shown
from coexplore.study.snapshots import MOMENTS
from coexplore.study.work import Failure, Work, failure_lines

MOST_WAITING = 64  # threads for groups of a GPU
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
    snapshots: int = MOMENTS,
    cluster: str | None = None,
    callback: Callback | None = None,
) -> Results:
    """Train every one of the `runs`, and return the results in the same order. `engine` is the first that can, unless
    it is named; `progress` shows bars; one thread per core, unless `threads` says otherwise.

    With a `store` (a folder), finished runs are read instead of trained, an interrupted training goes on, and
    `snapshots` says how often networks are looked at on the way (0: at the end alone). With a `cluster` ("ray", or the
    address of one) its machines train, at most `threads` groups of runs at a time if that is given.

    A `callback` is called with a `Moment` of each run, `snapshots` times on its way. A run for which it answers STOP
    trains no further, and has no result; with a store it leaves a checkpoint.
    """
    done = study(runs, engine, progress, threads, store, snapshots, cluster, callback)
    if done.failures:
        raise RuntimeError("; ".join(failure_lines(done.failures)))
    return Results(done.results)


def study(
    runs: Run | Iterable[Run],
    engine: str = "auto",
    progress: bool = True,
    threads: int | None = None,
    store: str | Path | None = None,
    snapshots: int = MOMENTS,
    cluster: str | None = None,
    callback: Callback | None = None,
) -> Study:
    runs, began = listed(runs), time.perf_counter()
    checked_callback(callback, cluster)
    distinct = list(dict.fromkeys(runs))
    faults = faulty(distinct)
    train_these = _trainer([run for run in distinct if run not in faults], engine, threads, cluster)
    folder = None if store is None else Store(store)
    if folder:
        folder.announce(distinct)
    caller = Caller(callback, snapshots) if callback else None
    with shown(runs, progress) as show, _kept(folder):
        work = Work(engine, folder, show, threads or _cores(), snapshots if folder else None, caller=caller)
        _train_left(work, distinct, faults, lambda left: _train(train_these, work, left, folder, show))
        if work.stopped and progress:
            show.say(f"{len(work.stopped)} of {len(distinct)} runs were stopped by the callback")
    return _done(runs, work, folder, time.perf_counter() - began)


@contextlib.contextmanager
def _kept(store: Store | None) -> Iterator[None]:
    """Whoever reads that something cannot be written should read that nothing is lost."""
    try:
        yield
    except Unwritable as error:
        if store:
            error.strerror = f"{error.strerror}; what is there is kept in {store.folder}, and the same command goes on"
        raise


def _train_left(work: Work, runs: Sequence[Run], faults: dict[Run, str], train: Callable[[list[Run]], None]) -> None:
    """Train what the store does not have, but for what cannot be trained."""
    kept = work.take_finished(runs)
    for run, why in faults.items():
        if run not in kept:
            work.fail(run, home(run), why)
    error = None
    try:
        train([run for run in runs if run not in kept and run not in faults])
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


def _done(runs: list[Run], work: Work, folder: Store | None, seconds: float) -> Study:
    if folder and work.trained:
        folder.update_index(work.finished.values())
    results = [work.finished[run] for run in runs if run in work.finished]
    seconds = max(seconds - work.compile_seconds, 0.0)
    return Study(results, work.failures, work.problems, len(work.trained), seconds, work.compile_seconds, work.stopped)


def faulty(runs: Iterable[Run]) -> dict[Run, str]:
    """The runs whose rule, task or environment cannot be trained, and why; which the seed does not decide."""
    runs = list(runs)
    found = {setting: fault(setting) for setting in dict.fromkeys(run.setting for run in runs)}
    return {run: why for run in runs if (why := found[run.setting])}


def _trainer(runs: Sequence[Run], engine: str, threads: int | None, cluster: str | None) -> Trainer:
    """Who trains what is left: this machine, whose engines are asked right away, or a cluster, which is asked later."""
    if cluster is not None:
        return functools.partial(train_on_cluster, checked_address(cluster), threads)
    chosen = _choose(runs, engine)
    for each in {engine.name: engine for engine in chosen.values()}.values():
        each.prepare()
    return functools.partial(_train_here, chosen)


def listed(runs: Run | Iterable[Run]) -> list[Run]:
    runs = list(runs) if isinstance(runs, Iterable) else [runs]
    for run in runs:
        if not isinstance(run, Run):
            raise refusal("runs", run, "Runs, such as Run() or grid(Run(), seed=range(5))")
    return runs


def _choose(runs: Sequence[Run], engine: str) -> Chosen:
    """An engine for each run; what it depends on is the setting, not the seed."""
    settings = {run.setting: run for run in runs}
    chosen = {setting: engines.choose(run, engine) for setting, run in settings.items()}
    return {run: chosen[run.setting] for run in runs}


def _caution(chosen: Chosen, show: Shown) -> None:
    settings = {run.setting: engine for run, engine in chosen.items()}
    for line in dict.fromkeys(filter(None, (engine.caution(run) for run, engine in settings.items()))):
        show.say(line)


def _train_here(chosen: Chosen, work: Work, runs: Sequence[Run], store: Store | None, show: Shown) -> None:
    """Train these runs; those that another process holds are looked at again until they are done."""
    _caution(chosen, show)
    show.begin()
    chosen = {run: chosen[run] for run in runs}
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
