"""Train many runs: dealt out to an engine, in chunks, on all cores, with progress; Ctrl-C stops between chunks."""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

from coexplore import engines
from coexplore.fields import refuse
from coexplore.progress import shown
from coexplore.result import Result
from coexplore.run import Run

CHUNK_SECONDS = 0.4  # what an interruption may cost


class Study(NamedTuple):
    results: list[Result]
    seconds: float  # training alone
    compile_seconds: float


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with the results of the runs that were finished by then."""

    def __init__(self, finished: list[Result]) -> None:
        self.finished = finished


def train(
    runs: Run | Iterable[Run], engine: str = "auto", progress: bool = True, threads: int | None = None
) -> list[Result]:
    """Train every run, and return the results in the same order. One thread a core, unless `threads` says otherwise."""
    return study(runs, engine, progress, threads).results


def study(runs: Run | Iterable[Run], engine: str = "auto", progress: bool = True, threads: int | None = None) -> Study:
    runs = list(runs) if isinstance(runs, Iterable) else [runs]
    for run in runs:
        if not isinstance(run, Run):
            raise refuse("runs", run, "Runs, such as Run() or grid(Run(), seed=range(5))")
    work = list(_dealt(list(dict.fromkeys(runs)), engine))
    stop, finished = threading.Event(), {}
    with shown(runs, progress) as show, ThreadPoolExecutor(threads or _cores()) as pool:
        try:
            began = time.perf_counter()
            states = _all(pool.submit(_ready, module, group) for module, group in work)
            compiled = time.perf_counter()

            def go(module: Any, state: Any) -> None:
                for result in _chunks(module, state, stop, show):
                    finished[result.run] = result

            _all(pool.submit(go, module, state) for (module, _), state in zip(work, states, strict=True))
        except BaseException as error:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            if isinstance(error, KeyboardInterrupt):
                raise Interrupted(list(finished.values())) from None
            raise
    return Study([finished[run] for run in runs], time.perf_counter() - compiled, compiled - began)


def _dealt(runs: list[Run], engine: str) -> Iterator[tuple[Any, list[Run]]]:
    """The runs in groups, each with its engine."""
    chosen: dict[str, list[Run]] = {}
    for run in runs:
        chosen.setdefault(engines.choose(run, engine), []).append(run)
    for name, theirs in chosen.items():
        module = engines.find(name)
        for group in module.groups(theirs):
            yield module, group


def _ready(module: Any, group: list[Run]) -> Any:
    return module.advance(module.start(group), 0)


def _chunks(module: Any, state: Any, stop: threading.Event, show: Callable[..., None]) -> list[Result]:
    """Advance a group to its end, looking up between chunks."""
    updates, run = 64, state.runs[0]
    while state.done < run.updates:
        if stop.is_set():
            return []
        before, began = state.done, time.perf_counter()
        state = module.advance(state, updates)
        show(state.runs, (state.done - before) * run.batch, state.reward)
        spent = max(time.perf_counter() - began, 1e-6)
        updates = max(1, int(updates * min(4.0, CHUNK_SECONDS / spent)))
    return module.finish(state)


def _all(futures: Iterable[Future[Any]]) -> list[Any]:
    """Every result, or the first exception. Waits in short naps, so that Ctrl-C gets through."""
    futures = list(futures)
    while True:
        done, not_done = wait(futures, timeout=0.2, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
        if not not_done:
            return [future.result() for future in futures]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
