"""A store that is being written to, as the served page asks for it: how far the study is, and the report so far."""

import dataclasses
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from coexplore.report.data import report, text
from coexplore.report.remaining import Costs
from coexplore.report.settings import short
from coexplore.results.palette import both_names
from coexplore.run import Result, labels, select
from coexplore.run.curve import POINTS
from coexplore.settings import FieldError
from coexplore.store import Planned, Store, StoreError, UnderWay, planned, read

MOST_LINES = 12
SHARE = 2  # a report is made again at the earliest after so many times the time that making it took …
LONGEST_REST = 20.0  # … or so many seconds


@dataclasses.dataclass
class Follower:
    path: Path
    select: str = ""
    episodes: int | None = None
    seeds: range | None = None
    results: list[Result] = dataclasses.field(default_factory=list)
    costs: Costs = dataclasses.field(default_factory=lambda: Costs([]))
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)
    latest: Any = None
    stamp: str = ""
    rest_until: float = 0.0

    @property
    def store(self) -> Store:
        return Store(self.path)

    def report(self) -> Any:
        """The report of what is finished; made again only when that has changed and the last one is paid off."""
        with self.lock:
            stamp = _stamp(self.store.names())
            if self.latest is None or (stamp != self.stamp and time.monotonic() > self.rest_until):
                began = time.monotonic()
                self.results, problems = self._read()
                self.costs = Costs(self.results)
                self.latest = {**report(self.results, str(self.path), problems, self.episodes), "stamp": stamp}
                self.stamp, now = stamp, time.monotonic()
                self.rest_until = now + min(SHARE * (now - began), LONGEST_REST)
            return {**self.latest, "live": True}

    def live(self) -> dict[str, Any]:
        """Small enough to be asked for every other second."""
        running, plan, names = self.store.under_way(), self.store.plan(), self.store.names()
        done = {name.partition(".")[0] for name in names}
        fresh = [going for going in running if going.fresh]
        remaining = _remaining(plan, done, running)
        busy = (self.store.training() or {going.run.digest for going in fresh}) - done
        trained = {going.run.digest: going.episodes for going in running}
        return {
            "stamp": _stamp(names),
            "finished": sum(run.digest in done for run in plan) if plan else len(done),
            "planned": len(plan) or None,
            "share": _share(plan, done, running),
            "left": short(self.costs.left(remaining.values(), trained, len(busy))),
            "busy": len(busy),
            "running": [_line(going, label) for going, label in _labelled(fresh[:MOST_LINES])],
            "idle": len(running) - len(fresh),
            "failures": [text(reason) for reason in self.store.failures()],
        }

    def _read(self) -> tuple[list[Result], list[str]]:
        try:
            results, problems = read(self.path)
            chosen = select(results, self.select)
            return [r for r in chosen if self.seeds is None or r.seed in self.seeds], problems
        except (StoreError, FieldError) as error:  # nothing is finished yet, or the folder has gone
            return [], [str(error)]


def _stamp(names: list[str]) -> str:
    """Changes when a finished run is added or taken away."""
    return f"{len(names)}-{hash(tuple(names)) & 0xFFFFFFFF:x}"


def _remaining(plan: list[Planned], done: set[str], running: Iterable[UnderWay]) -> dict[str, Planned]:
    """What is not finished; where nothing was announced, the runs under way are all there is to know of."""
    known = plan or [planned(going.run) for going in running]
    return {run.digest: run for run in known if run.digest not in done}


def _share(plan: list[Planned], done: set[str], running: list[UnderWay]) -> float | None:
    """Episodes trained, of all that are planned."""
    known = {run.digest: run.episodes for run in plan or [planned(going.run) for going in running]}
    partly = {going.run.digest: going.episodes for going in running}
    trained = sum(n if digest in done else partly.get(digest, 0) for digest, n in known.items())
    return short(trained / sum(known.values())) if known else None


def _labelled(running: list[UnderWay]) -> list[tuple[UnderWay, str]]:
    named = zip(running, labels([going.run for going in running], both_names), strict=True)
    return sorted(((going, f"{label}, seed {going.run.seed}") for going, label in named), key=lambda pair: pair[1])


def _line(going: UnderWay, label: str) -> dict[str, Any]:
    """A curve that has not reached its end."""
    step = max(1, -(-len(going.curve) // POINTS))
    whole = going.curve[: len(going.curve) // step * step].reshape(-1, step).mean(axis=1)
    width = going.episodes / max(len(going.curve), 1) * step
    points = [[round((i + 1) * width), short(y)] for i, y in enumerate(whole)]
    return {
        "label": label,
        "rule": going.run.rules[0].name,
        "digest": going.run.digest,
        "done": going.episodes,
        "episodes": going.run.length,
        "points": points,
    }
