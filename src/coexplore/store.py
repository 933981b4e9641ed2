"""Finished runs, checkpoints and failures in a folder that several processes may share.

<digest>.<engine>-<stream>.safetensors   a finished run; `stream` counts the versions of the engine's random numbers
checkpoints/…                            the same name, for a run under way
failed/….json                            the same name, for a run that ended in an error: it is tried again
damaged/…                                files that were not what their hash says: kept, never used
.locks/…                                 held by the process that trains the run; free when that process is gone
"""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from coexplore import engines, network
from coexplore.fields import FieldError
from coexplore.files import SUFFIX, StoreError, seal, unseal, write
from coexplore.result import Result
from coexplore.run import Run

STALE = 60.0  # seconds after which a temporary file cannot be one that is being written
CURVE, PARAMS, SNAPSHOTS = "curve", "params.", "snapshots."


class Store:
    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def save(self, result: Result) -> Path:
        """Write a finished run; its checkpoint and any earlier failure are over."""
        name = key(result.run, result.engine)
        path = self.folder / f"{name}{SUFFIX}"
        seal(path, _about(result.run, result.engine), encoded(result), result.provenance)
        (self.folder / "checkpoints" / path.name).unlink(missing_ok=True)
        (self.folder / "failed" / f"{name}.json").unlink(missing_ok=True)
        return path

    def find(self, run: Run, engine: str = "auto") -> tuple[Result | None, list[str]]:
        """The run's result, from that engine or from any; and what was found damaged and set aside on the way."""
        problems: list[str] = []
        for name in engines.TITLES if engine == "auto" else [engine]:
            path = self.folder / f"{key(run, name)}{SUFFIX}"
            if path.exists():
                try:
                    return read_result(path), problems
                except StoreError as error:
                    problems.append(f"{error}; set aside in {self._set_aside(path)}")
        return None, problems

    def save_checkpoint(self, run: Run, engine: str, tensors: dict[str, np.ndarray], built: dict[str, Any]) -> None:
        path = self.folder / "checkpoints" / f"{key(run, engine)}{SUFFIX}"
        seal(path, _about(run, engine), tensors, {"built": built})

    def checkpoint(
        self, run: Run, engine: str, built: dict[str, Any]
    ) -> tuple[dict[str, np.ndarray] | None, list[str]]:
        """Where the run stood. One made by another build of the engine is of no use: its low bits differ."""
        path = self.folder / "checkpoints" / f"{key(run, engine)}{SUFFIX}"
        if not path.exists():
            return None, []
        try:
            about, tensors, provenance = unseal(path)
            if about != _about(run, engine):
                raise StoreError(f"{path}: another run's checkpoint under this name")
            return (tensors if provenance["built"] == built else None), []
        except StoreError as error:
            return None, [f"{error}; set aside in {self._set_aside(path)}"]

    def fail(self, run: Run, engine: str, reason: str) -> None:
        text = json.dumps({"run": run.to_dict(), "engine": engine, "reason": reason}, sort_keys=True)
        write(self.folder / "failed" / f"{key(run, engine)}.json", text.encode() + b"\n")

    def prune(self, results: Sequence[Result]) -> int:
        """Remove these results, checkpoints of finished runs, what was set aside, and half-written files."""
        names = {path.name for path in self.folder.glob(f"*{SUFFIX}")}
        doomed = [self.folder / f"{key(result.run, result.engine)}{SUFFIX}" for result in results]
        doomed += [path for path in self.folder.glob("checkpoints/*") if path.name in names]
        doomed += [*self.folder.glob("damaged/*"), *self.folder.glob("failed/*")]
        doomed += [path for path in self.folder.glob(f"**/.*{SUFFIX}.*") if time.time() - path.stat().st_mtime > STALE]
        for path in doomed:
            path.unlink(missing_ok=True)
        return len(doomed)

    @contextlib.contextmanager
    def lock(self, run: Run, engine: str) -> Iterator[bool]:
        """Gives whether this process may train the run now; the system frees the lock when a process dies."""
        path = self.folder / ".locks" / key(run, engine)
        handle = _locked(path)
        try:
            yield handle is not None
        finally:
            if handle is not None:
                path.unlink(missing_ok=True)  # while it is held: whoever waits at the old file sees that it is gone
                os.close(handle)

    def _set_aside(self, path: Path) -> Path:
        folder = self.folder / "damaged"
        folder.mkdir(exist_ok=True)
        for i in range(1_000_000):
            place = folder / (f"{path.name}.{i}" if i else path.name)
            if not place.exists():
                break
        with contextlib.suppress(FileNotFoundError):  # another process was faster
            path.rename(place)
        return place


def key(run: Run, engine: str) -> str:
    return f"{run.digest}.{engine}-{engines.STREAMS[engine]}"


def read_result(path: Path) -> Result:
    about, tensors, provenance = unseal(path)
    result = decoded(path, about, tensors, provenance)
    if path.name != f"{result.run.digest}.{about['engine']}-{about['stream']}{SUFFIX}":
        raise StoreError(f"{path}: the name does not fit the run inside, {result.run.digest[:12]}…")
    return result


def encoded(result: Result) -> dict[str, np.ndarray]:
    """A result's tensors by name."""
    params = jax.tree_util.tree_leaves_with_path(result.params)
    return {
        CURVE: result.curve,
        **{PARAMS + _path(path): np.asarray(leaf) for path, leaf in params},
        **{SNAPSHOTS + name: x for name, x in result.snapshots.items()},
    }


def decoded(path: Path, about: Any, tensors: dict[str, np.ndarray], provenance: dict[str, Any]) -> Result:
    """The result again; its rule must be ours or already imported, since a file never makes us import anything."""
    try:
        run = Run.from_dict(about["run"], imported_only=True)
        params = {name.removeprefix(PARAMS): x for name, x in tensors.items() if name.startswith(PARAMS)}
        snapshots = {name.removeprefix(SNAPSHOTS): x for name, x in tensors.items() if name.startswith(SNAPSHOTS)}
        curve, engine = tensors[CURVE], str(about["engine"])
        can_act = params and not getattr(run.task, "missing", None)  # an environment may not be installed here
        return Result(run, engine, curve, _params(run, params) if can_act else None, provenance, snapshots)
    except FieldError as error:
        raise StoreError(f"{path}: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{path}: not a readable result ({type(error).__name__})") from None


def _about(run: Run, engine: str) -> dict[str, Any]:
    return {"run": run.to_dict(), "engine": engine, "stream": engines.STREAMS[engine]}


def _locked(path: Path) -> int | None:
    """A handle on the lock, or None if another process has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        with contextlib.suppress(FileNotFoundError):
            if os.fstat(handle).st_ino == path.stat().st_ino:
                return handle
        os.close(handle)  # its last holder removed this file after we had opened it


def _params(run: Run, tensors: dict[str, np.ndarray]) -> network.Params:
    """The parameters as the run shapes them: names and shapes must fit exactly."""
    shapes = jax.eval_shape(lambda: network.init(run))
    named = {_path(path): leaf.shape for path, leaf in jax.tree_util.tree_leaves_with_path(shapes)}
    if {name: tensor.shape for name, tensor in tensors.items()} != named:
        raise ValueError("tensors do not fit the run")
    return jax.tree.unflatten(jax.tree.structure(shapes), [tensors[name] for name in named])


def _path(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")
