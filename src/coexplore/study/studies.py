"""Train many runs: dealt out to engines, in chunks, on all cores, with progress; what a store has is not done again.

With a store, a run that is stopped goes on where it was, several processes may share the work, and a run that fails
is written down while the others go on.
"""

import os
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple, TypeVar

from coexplore import engines
from coexplore.engines.base import Engine, State
from coexplore.run import Result, Run
from coexplore.settings import refusal
from coexplore.store import Store
from coexplore.study.progress import Shown, shown
from coexplore.study.work import Failure, Work

PATIENCE = 0.5  # seconds between two looks at runs that another process is training
T = TypeVar("T")
Chosen = dict[Run, Engine[State]]


class Study(NamedTuple):
    """`results` has the runs asked for, in order, but for those in `failures`; `problems` are lines about the store."""

    results: list[Result]
    failures: list[Failure]
    problems: list[str]
    trained: int
    seconds: float
    compile_seconds: float


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with the results of the runs that were finished by then."""

    def __init__(self, finished: list[Result]) -> None:
        self.finished = finished


def train(
    runs: Run | Iterable[Run],
    engine: str = "auto",
    progress: bool = True,
    threads: int | None = None,
    store: str | Path | None = None,
) -> list[Result]:
    """Train every run, and return the results in the same order. One thread per core, unless `threads` says otherwise.

    With a `store` (a folder), finished runs are read instead of trained, and an interrupted training goes on.
    """
    done = study(runs, engine, progress, threads, store)
    if done.failures:
        raise RuntimeError("; ".join(map(str, done.failures)))
    return done.results


def study(
    runs: Run | Iterable[Run],
    engine: str = "auto",
    progress: bool = True,
    threads: int | None = None,
    store: str | Path | None = None,
) -> Study:
    runs = list(runs) if isinstance(runs, Iterable) else [runs]
    for run in runs:
        if not isinstance(run, Run):
            raise refusal("runs", run, "Runs, such as Run() or grid(Run(), seed=range(5))")
    began, distinct = time.perf_counter(), list(dict.fromkeys(runs))
    chosen = {run: engines.choose(run, engine) for run in distinct}
    folder = None if store is None else Store(store)
    if folder:
        folder.announce(distinct)
    with shown(runs, progress) as show:
        _prepare(chosen, show)
        work = Work(engine, folder, show)
        kept = work.take_finished(distinct)
        _train(work, {run: chosen[run] for run in distinct if run not in kept}, threads or _cores())
    results = [work.finished[run] for run in runs if run in work.finished]
    seconds = max(time.perf_counter() - began - work.compile_seconds, 0.0)
    return Study(results, work.failures, work.problems, len(work.trained), seconds, work.compile_seconds)


def _prepare(chosen: Chosen, show: Shown) -> None:
    for engine in {engine.name: engine for engine in chosen.values()}.values():
        engine.prepare()
    cautions = (engine.caution(run) for run, engine in chosen.items())
    for line in dict.fromkeys(filter(None, cautions)):
        show.say(line)


def _train(work: Work, chosen: Chosen, threads: int) -> None:
    """Train these runs; those that another process holds are looked at again until they are done."""
    waiting = sum(engine.waits for engine, _ in _groups(chosen))
    with ThreadPoolExecutor(threads + waiting) as pool:
        try:
            while chosen:
                futures = [pool.submit(work.train_group, engine, group) for engine, group in _groups(chosen)]
                elsewhere = [run for left in _all(futures) for run in left]
                if len(elsewhere) == len(chosen):
                    work.show.wait_for(len(elsewhere))
                    time.sleep(PATIENCE)
                chosen = {run: chosen[run] for run in elsewhere}
        except BaseException as error:
            work.stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            if isinstance(error, KeyboardInterrupt):
                raise Interrupted(list(work.finished.values())) from None
            raise


def _groups(chosen: Chosen) -> list[tuple[Engine[State], list[Run]]]:
    """The runs in the groups in which their engines train them."""
    theirs: dict[str, list[Run]] = {}
    for run, engine in chosen.items():
        theirs.setdefault(engine.name, []).append(run)
    return [(chosen[group[0]], group) for runs in theirs.values() for group in chosen[runs[0]].groups(runs)]


def _all(futures: Sequence[Future[T]]) -> list[T]:
    """Every result, or the first exception. Waits in short naps, so that Ctrl-C gets through."""
    while True:
        done, not_done = wait(futures, timeout=0.2, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
        if not not_done:
            return [future.result() for future in futures]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
