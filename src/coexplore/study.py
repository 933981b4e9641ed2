"""Train many runs: dealt out to engines, in chunks, on all cores, with progress; what a store has is not done again.

With a store, a run that is stopped goes on where it was, several processes may share the work, and a run that fails
is written down while the others go on.
"""

import os
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

from coexplore import engines
from coexplore.fields import refuse
from coexplore.plan import announce
from coexplore.progress import Shown, shown
from coexplore.result import Result
from coexplore.run import Run
from coexplore.store import Store
from coexplore.training import Failure, Training

PATIENCE = 0.5  # seconds between two looks at runs that another process is training


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
    """Train every run, and return the results in the same order. One thread a core, unless `threads` says otherwise.

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
            raise refuse("runs", run, "Runs, such as Run() or grid(Run(), seed=range(5))")
    began, distinct = time.perf_counter(), list(dict.fromkeys(runs))
    chosen = {run: engines.choose(run, engine) for run in distinct}
    if store is not None:
        announce(Path(store), distinct)
    with shown(runs, progress) as show:
        for line in dict.fromkeys(filter(None, map(engines.caution, distinct, chosen.values()))):
            show.say(line)
        training = Training(engine, None if store is None else Store(store), show)
        kept = training.found(distinct)
        _trained(training, {run: name for run, name in chosen.items() if run not in kept}, show, threads or _cores())
    results = [training.finished[run] for run in runs if run in training.finished]
    seconds = time.perf_counter() - began - training.compile_seconds
    return Study(
        results,
        training.failures,
        training.problems,
        len(training.trained),
        max(seconds, 0.0),
        training.compile_seconds,
    )


def _trained(training: Training, chosen: dict[Run, str], show: Shown, threads: int) -> None:
    """Train these runs; those that another process holds are looked at again until they are done."""
    waiting = sum(name in engines.ELSEWHERE for name, _ in _dealt(chosen))
    with ThreadPoolExecutor(threads + waiting) as pool:
        try:
            while chosen:
                futures = [pool.submit(training.group, name, group) for name, group in _dealt(chosen)]
                elsewhere = [run for left in _all(futures) for run in left]
                if len(elsewhere) == len(chosen):
                    show.waiting(len(elsewhere))
                    time.sleep(PATIENCE)
                chosen = {run: chosen[run] for run in elsewhere}
        except BaseException as error:
            training.stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            if isinstance(error, KeyboardInterrupt):
                raise Interrupted(list(training.finished.values())) from None
            raise


def _dealt(chosen: dict[Run, str]) -> list[tuple[str, list[Run]]]:
    """The runs in the groups in which their engines train them."""
    theirs: dict[str, list[Run]] = {}
    for run, name in chosen.items():
        theirs.setdefault(name, []).append(run)
    return [(name, group) for name, runs in theirs.items() for group in engines.find(name).groups(runs)]


def _all(futures: Sequence[Future[Any]]) -> list[Any]:
    """Every result, or the first exception. Waits in short naps, so that Ctrl-C gets through."""
    while True:
        done, not_done = wait(futures, timeout=0.2, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
        if not not_done:
            return [future.result() for future in futures]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
