"""Finished runs, checkpoints and failures in a folder that several processes may share.

<digest>.<engine>-<stream>.safetensors   a finished run; `stream` counts the versions of the engine's random numbers
checkpoints/…                            the same name, for a run under way
failed/….json                            the same name, for a run that ended in an error: it is tried again
damaged/…                                files that were not what their hash or their run says: kept, never used
plans/….json                             what studies set out to train
.index/…                                 what there is, so that it need not all be opened to be listed (index.py)
.locks/…                                 held by the process that trains the run; free when that process is gone

Nobody outside this package knows these names.
"""

import contextlib
import errno
import functools
import gc
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from coexplore import engines
from coexplore.files import Unwritable, write, writing
from coexplore.run.result import Result
from coexplore.run.run import Run
from coexplore.settings import Json, checked_path
from coexplore.store.checkpoints import Checkpoint, opened_checkpoint, sealed_checkpoint
from coexplore.store.encoding import Stored, about, checked_tensors, former_key, key, read_result, received
from coexplore.store.index import INDEX, Index, Stamp, read_index, stamp_of, stamps_of, write_index
from coexplore.store.locks import locked, no_locks
from coexplore.store.plans import Planned, read_latest_plan, write_plan
from coexplore.store.sealed import SUFFIX, UnknownError, left_out, readable, sealed, unseal
from coexplore.store.texts import StoreError, UnreadableError, one_line, read_json
from coexplore.store.under_way import FRESH, UnderWay, age, read_under_way

STALE = 60.0  # seconds after which a temporary file cannot be one that is being written
CHECKPOINTS, FAILED, DAMAGED, PLANS, LOCKS = "checkpoints", "failed", "damaged", "plans", ".locks"
OWN = (CHECKPOINTS, FAILED, DAMAGED, PLANS, LOCKS, ".index")
NAME = re.compile(rf"[0-9a-f]{{64}}\.[a-z]+-[0-9]+{re.escape(SUFFIX)}")  # of a finished run
LEAST_INDEXED = 100  # fewer files than that are opened as fast
MANY = 1000  # runs for which it is faster to list the whole folder than to look at each file
MOST_FAILURES = 20


class Store:
    def __init__(self, folder: str | Path) -> None:
        self.folder = checked_path("store", folder)

    # Finished runs

    def save(self, result: Result) -> Result:
        """Write a finished run, whose checkpoint and any earlier failure are over; gives it as it is in the store."""
        sha256, data = sealed(about(result.run, result.engine), checked_tensors(result), result.provenance)
        return self._put(result, {**result.provenance, "sha256": sha256}, data)

    def adopt(self, run: Run, engine: str, data: bytes) -> Result:
        """The same for a run that was trained elsewhere and came as the bytes of its file, which are checked."""
        result = received(run, engine, data)
        return self._put(result, result.provenance, data)

    def _put(self, result: Result, provenance: dict[str, Json], data: bytes) -> Result:
        name, path = key(result.run, result.engine), self.path(result.run, result.engine)
        write(path, data)
        with contextlib.suppress(OSError):  # what stays behind does no harm
            for each in {name, former_key(result.run, result.engine)}:
                (self.folder / CHECKPOINTS / f"{each}{SUFFIX}").unlink(missing_ok=True)
            (self.folder / FAILED / f"{name}.json").unlink(missing_ok=True)
        contents = Stored(self.folder, path.name, result.run)
        return Result.stored(result.run, result.engine, contents, provenance, result.scores, result.curve)

    def path(self, run: Run, engine: str) -> Path:
        """Where a finished run is, or would be."""
        return self.folder / f"{key(run, engine)}{SUFFIX}"

    def find(self, run: Run, engine: str = "auto") -> tuple[Result | None, list[str]]:
        """The run's result, from that engine or from any; and what was found damaged and set aside on the way."""
        known, problems = self.find_all([run], engine)
        return known.get(run), problems

    def find_all(self, runs: Iterable[Run], engine: str = "auto") -> tuple[dict[Run, Result], list[str]]:
        """The same for many."""
        runs, names = list(runs), engines.NAMES if engine == "auto" else [engine]
        keys = [(run, name(run, each)) for run in runs for each in names for name in (key, former_key)]
        files = [(run, f"{name}{SUFFIX}") for run, name in dict.fromkeys(keys)]
        known: dict[Run, Result] = {}
        problems: list[str] = []
        learned: dict[str, Result] = {}
        with _without_collector() if len(runs) > MANY else contextlib.nullcontext():
            stamps = self._stamps() if len(runs) > MANY else stamps_of(self.folder, [name for _, name in files])
            indexed = self._index.results(self.folder, stamps)
            for run, name in files:
                if name in stamps and run not in known:
                    try:
                        known[run] = indexed.get(name) or read_result(self.folder / name, run)
                        if name not in indexed:
                            learned[name] = known[run]
                    except (UnknownError, UnreadableError) as error:  # it may mean something elsewhere, or later
                        problems.append(f"{error}; the run is trained again")
                    except StoreError as error:
                        problems.append(f"{error}; set aside in {self._set_aside(self.folder / name)}")
        if len(learned) >= LEAST_INDEXED:  # or the next study would open them all again
            self._learn(learned, {**self._stamps(), **{name: stamps[name] for name in learned}})
        return known, problems

    def results(self) -> tuple[list[Result], list[str]]:
        """All of them, and a line for each file that cannot be used. What the index did not know, it learns."""
        results, problems, learned = [], [], {}
        unknown: list[UnknownError] = []
        with _without_collector():
            stamps = self._stamps()
            indexed = self._index.results(self.folder, stamps)
            for name in sorted(stamps):
                try:
                    results.append(indexed.get(name) or read_result(self.folder / name))
                    if name not in indexed:
                        learned[name] = results[-1]
                except UnknownError as error:
                    unknown.append(error)
                except StoreError as error:
                    problems.append(str(error))
        if learned:
            self._learn(learned, stamps)
        return results, [*problems, *left_out(self.folder, unknown)]

    def update_index(self, results: Iterable[Result]) -> None:
        """Let the index know these results of the store, which must all still be there."""
        stamps = self._stamps()
        named = {self.path(result.run, result.engine).name: result for result in results}
        self._learn({name: result for name, result in named.items() if name in stamps}, stamps)
        unlisted = named.keys() - stamps.keys()  # a list that comes over a network may be a minute old
        if gone := len(unlisted - stamps_of(self.folder, unlisted).keys()):
            why = f"{gone} of {len(named)} finished runs were removed from it: the same command trains them again"
            raise Unwritable(errno.ENOENT, why, str(self.folder))

    def _learn(self, results: dict[str, Result], stamps: dict[str, Stamp]) -> None:
        if len(stamps) < LEAST_INDEXED:
            return
        for name, result in results.items():
            self._index.add(name, stamps[name], result)
        self._index.keep(stamps)
        with contextlib.suppress(OSError):  # a store that cannot be written to is read more slowly
            write_index(self.folder / INDEX, self._index)

    @functools.cached_property
    def _index(self) -> Index:
        return read_index(self.folder / INDEX)

    def _stamps(self) -> dict[str, Stamp]:
        """Of every file of a finished run, by its name."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(self.folder) as entries:
            found = ((entry.name, entry) for entry in entries)
            ours = ((name, entry) for name, entry in found if name in self._index.rows or NAME.fullmatch(name))
            return {name: stamp for name, entry in ours if (stamp := stamp_of(entry))}
        return {}

    def names(self) -> list[str]:
        """Of the files of finished runs; they begin with the run's digest."""
        return sorted(filter(NAME.fullmatch, os.listdir(self.folder))) if self.folder.is_dir() else []

    def strangers(self) -> list[Path]:
        """Files beside them that hold results, such as packs."""
        names = os.listdir(self.folder) if self.folder.is_dir() else []
        others = (name for name in names if name not in self._index.rows and not NAME.fullmatch(name))
        return [self.folder / name for name in sorted(others) if name.endswith(SUFFIX) and not name.startswith(".")]

    # Runs under way

    def save_checkpoint(self, run: Run, engine: str, checkpoint: Checkpoint, built: dict[str, Json]) -> None:
        self.adopt_checkpoint(run, engine, sealed_checkpoint(run, engine, checkpoint, built))

    def adopt_checkpoint(self, run: Run, engine: str, data: bytes) -> None:
        """One that came as the bytes of its file; they are checked when somebody goes on from it."""
        write(self._checkpoint_path(run, engine), data)

    def checkpoint(self, run: Run, engine: str, built: dict[str, Json]) -> tuple[Checkpoint | None, list[str]]:
        """Where the run stood, and what was found damaged; nothing if another build of the engine left it."""
        path = self._checkpoint_path(run, engine)
        if not path.exists():
            return None, []
        try:
            return opened_checkpoint(path, unseal(path), run, engine, built), []
        except StoreError as error:
            return None, [f"{error}; set aside in {self._set_aside(path)}"]

    def refuse_checkpoint(self, run: Run, engine: str, why: str) -> str:
        """A line about one that the engine cannot go on from, which is set aside."""
        path = self._checkpoint_path(run, engine)
        return f"{path}: not a checkpoint of this run ({why}); set aside in {self._set_aside(path)}"

    def checkpoint_bytes(self, run: Run, engine: str) -> bytes | None:
        """The bytes of its file, for somebody who trains the run elsewhere."""
        with contextlib.suppress(OSError):
            return self._checkpoint_path(run, engine).read_bytes()
        return None

    def _checkpoint_path(self, run: Run, engine: str) -> Path:
        return self.folder / CHECKPOINTS / f"{key(run, engine)}{SUFFIX}"

    def under_way(self) -> list[UnderWay]:
        """Runs that have a checkpoint; one that cannot be read, perhaps because it is just being moved, is left out."""
        running = []
        for path in sorted(self.folder.glob(f"{CHECKPOINTS}/*{SUFFIX}")):
            with contextlib.suppress(StoreError):
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

    def no_locks(self) -> str | None:
        """What the system says where processes cannot keep out of each other's way."""
        return no_locks(self.folder / LOCKS)

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
            try:
                with readable(path, "failure"):
                    reasons.append(one_line(str(read_json(path)["reason"])))
            except StoreError as error:
                reasons.append(str(error))
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
        names = set(self.names())
        keys = {name(result.run, result.engine) for result in results for name in (key, former_key)}
        doomed = [self.folder / name for name in names & {f"{each}{SUFFIX}" for each in keys}]
        doomed += [path for path in self.folder.glob(f"{CHECKPOINTS}/*") if path.name in names]
        doomed += [*self.folder.glob(f"{DAMAGED}/*"), *self.folder.glob(f"{FAILED}/*")]
        doomed += [] if self.training() else self.folder.glob(f"{PLANS}/*.json")
        doomed += [path for path in self.folder.glob(f"**/.*{SUFFIX}.*") if age(path) > STALE]
        for path in doomed:
            path.unlink(missing_ok=True)
        return len(doomed)

    def _set_aside(self, path: Path) -> Path:
        folder = self.folder / DAMAGED
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            for i in range(1_000_000):
                place = folder / (f"{path.name}.{i}" if i else path.name)
                if not place.exists():
                    break
            with contextlib.suppress(FileNotFoundError):  # another process was faster
                path.rename(place)
        return place


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Disable the garbage collector: all that is read stays, and it would go through all of that again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
