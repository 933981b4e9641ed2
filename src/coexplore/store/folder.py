"""Finished runs, checkpoints and failures in a folder that several processes may share.

<digest>.<engine>-<stream>.safetensors   a finished run; `stream` counts the versions of the engine's random numbers
checkpoints/…                            the same name, for a run under way
failed/….json                            the same name, for a run that ended in an error: it is tried again
damaged/…                                files that were not what their hash says: kept, never used
plans/….json                             what studies set out to train
.locks/…                                 held by the process that trains the run; free when that process is gone

Nobody outside this package knows these names.
"""

import contextlib
import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from coexplore import engines
from coexplore.run.result import Result, Tensors
from coexplore.run.run import Run
from coexplore.settings import FieldError, Json
from coexplore.store.encoding import SNAPSHOTS, about, encoded, key, read_result, with_prefix, without_prefix
from coexplore.store.locks import locked
from coexplore.store.plans import Planned, read_latest_plan, write_plan
from coexplore.store.sealed import SUFFIX, StoreError, seal, unseal, write
from coexplore.store.under_way import FRESH, UnderWay, age, read_under_way

STALE = 60.0  # seconds after which a temporary file cannot be one that is being written
CHECKPOINTS, FAILED, DAMAGED, PLANS, LOCKS = "checkpoints", "failed", "damaged", "plans", ".locks"
MOST_FAILURES = 20


class Checkpoint(NamedTuple):
    """Where a run stands: what its engine needs to go on, and what was seen of it so far."""

    tensors: Tensors
    snapshots: Tensors

    @property
    def done(self) -> int:
        return int(self.tensors["done"])


class Store:
    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    # Finished runs

    def save(self, result: Result) -> Path:
        """Write a finished run; its checkpoint and any earlier failure are over."""
        name = key(result.run, result.engine)
        path = self.folder / f"{name}{SUFFIX}"
        seal(path, about(result.run, result.engine), encoded(result), result.provenance)
        (self.folder / CHECKPOINTS / path.name).unlink(missing_ok=True)
        (self.folder / FAILED / f"{name}.json").unlink(missing_ok=True)
        return path

    def find(self, run: Run, engine: str = "auto") -> tuple[Result | None, list[str]]:
        """The run's result, from that engine or from any; and what was found damaged and set aside on the way."""
        problems: list[str] = []
        for name in engines.NAMES if engine == "auto" else [engine]:
            path = self.folder / f"{key(run, name)}{SUFFIX}"
            if path.exists():
                try:
                    return read_result(path), problems
                except StoreError as error:
                    problems.append(f"{error}; set aside in {self._set_aside(path)}")
        return None, problems

    def files(self) -> list[Path]:
        """Those of finished runs."""
        return sorted(self.folder.glob(f"*{SUFFIX}")) if self.folder.is_dir() else []

    def finished(self) -> set[str]:
        """Digests of the finished runs, by their names alone."""
        return {path.name.partition(".")[0] for path in self.files()}

    # Runs under way

    def save_checkpoint(self, run: Run, engine: str, checkpoint: Checkpoint, built: dict[str, Json]) -> None:
        path = self.folder / CHECKPOINTS / f"{key(run, engine)}{SUFFIX}"
        seen = with_prefix(SNAPSHOTS, checkpoint.snapshots)
        seal(path, about(run, engine), {**checkpoint.tensors, **seen}, {"built": built})

    def checkpoint(self, run: Run, engine: str, built: dict[str, Json]) -> tuple[Checkpoint | None, list[str]]:
        """Where the run stood. One made by another build of the engine is of no use: its low bits differ."""
        path = self.folder / CHECKPOINTS / f"{key(run, engine)}{SUFFIX}"
        if not path.exists():
            return None, []
        try:
            stated, tensors, provenance = unseal(path)
            if not _is_about(stated, run, engine):
                raise StoreError(f"{path}: another run's checkpoint under this name")
            seen = without_prefix(SNAPSHOTS, tensors)
            own = {name: tensor for name, tensor in tensors.items() if not name.startswith(SNAPSHOTS)}
            return (Checkpoint(own, seen) if provenance["built"] == built else None), []
        except StoreError as error:
            return None, [f"{error}; set aside in {self._set_aside(path)}"]

    def under_way(self) -> list[UnderWay]:
        """Runs that have a checkpoint; one that cannot be read, perhaps because it is just being moved, is left out."""
        running = []
        for path in sorted(self.folder.glob(f"{CHECKPOINTS}/*{SUFFIX}")):
            with contextlib.suppress(StoreError, FieldError, OSError, ValueError, KeyError, TypeError, AttributeError):
                running.append(read_under_way(path))
        return running

    def training(self) -> set[str]:
        """Digests of the runs that are being trained: those with a lock. A process that was killed leaves its locks
        behind, and trying them would get in a study's way: so they count for as long as the store changes."""
        locks = list(self.folder.glob(f"{LOCKS}/*"))
        alive = any(age(path) < FRESH for path in (*locks, *self.folder.glob(f"{CHECKPOINTS}/*{SUFFIX}")))
        return {path.name.partition(".")[0] for path in locks} if alive else set()

    def lock(self, run: Run, engine: str) -> contextlib.AbstractContextManager[bool]:
        """Gives whether this process may train the run now."""
        return locked(self.folder / LOCKS / key(run, engine))

    # Studies

    def announce(self, runs: Iterable[Run]) -> None:
        """Leave a note of what a study sets out to train."""
        write_plan(self.folder / PLANS, runs)

    def plan(self) -> list[Planned]:
        """What the latest study set out to train."""
        return read_latest_plan(self.folder / PLANS)

    def fail(self, run: Run, engine: str, reason: str) -> None:
        text = json.dumps({"run": run.to_dict(), "engine": engine, "reason": reason}, sort_keys=True)
        write(self.folder / FAILED / f"{key(run, engine)}.json", text.encode() + b"\n")

    def failures(self) -> list[str]:
        """Why runs failed, as far as it can be read."""
        reasons = []
        for path in sorted(self.folder.glob(f"{FAILED}/*.json"))[:MOST_FAILURES]:
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                reasons.append(str(json.loads(path.read_text())["reason"]))
        return reasons

    # Housekeeping

    def others(self) -> list[str]:
        """A line for each kind of file besides finished runs that there is."""
        kinds = {CHECKPOINTS: "under way or interrupted", FAILED: "failed", DAMAGED: "set aside"}
        counts = {name: len(list(self.folder.glob(f"{name}/*"))) for name in kinds}
        return [f"{count} {kinds[name]}: {self.folder / name}" for name, count in counts.items() if count]

    def prune(self, results: Sequence[Result]) -> int:
        """Remove these results, checkpoints of finished runs, what was set aside, plans that nobody is following any
        more, and half-written files."""
        names = {path.name for path in self.files()}
        doomed = [self.folder / f"{key(result.run, result.engine)}{SUFFIX}" for result in results]
        doomed += [path for path in self.folder.glob(f"{CHECKPOINTS}/*") if path.name in names]
        doomed += [*self.folder.glob(f"{DAMAGED}/*"), *self.folder.glob(f"{FAILED}/*")]
        doomed += [] if self.training() else self.folder.glob(f"{PLANS}/*.json")
        doomed += [path for path in self.folder.glob(f"**/.*{SUFFIX}.*") if time.time() - path.stat().st_mtime > STALE]
        for path in doomed:
            path.unlink(missing_ok=True)
        return len(doomed)

    def _set_aside(self, path: Path) -> Path:
        folder = self.folder / DAMAGED
        folder.mkdir(exist_ok=True)
        for i in range(1_000_000):
            place = folder / (f"{path.name}.{i}" if i else path.name)
            if not place.exists():
                break
        with contextlib.suppress(FileNotFoundError):  # another process was faster
            path.rename(place)
        return place


def _is_about(stated: Json, run: Run, engine: str) -> bool:
    """By digest: a Run may have gained fields, at their defaults, since the file was written."""
    try:
        same = Run.from_dict(stated["run"], imported_only=True) == run
        return same and {**stated, "run": {}} == {**about(run, engine), "run": {}}
    except (ValueError, KeyError, TypeError, AttributeError):
        return False
