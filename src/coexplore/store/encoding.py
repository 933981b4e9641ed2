"""A Result as plain data and named tensors, and back."""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import jax
import numpy as np

from coexplore import engines, rules
from coexplore.run.contents import Held, score
from coexplore.run.result import Result, Tensors
from coexplore.run.run import Run
from coexplore.run.upgrade import upgraded_names
from coexplore.settings import Json, refusal
from coexplore.store.door import (
    CURVE,
    PARAMS,
    SNAPSHOTS,
    check_kinds,
    check_values,
    checked_engine,
    checked_provenance,
    named_path,
    shapes,
    sizes_of,
)
from coexplore.store.sealed import SUFFIX, Kinds, kinds_of, readable, seal, unseal, unsealed
from coexplore.store.texts import StoreError
from coexplore.tasks import registry

T = TypeVar("T")


def key(run: Run, engine: str) -> str:
    """What files about this run and engine are called."""
    return f"{run.digest}.{engine}-{engines.stream(run, engine)}"


def former_key(run: Run, engine: str) -> str:
    """What they are called where the run is described in former names."""
    return f"{run.digest_in_file()}.{engine}-{engines.stream(run, engine)}"


def about(run: Run, engine: str) -> dict[str, Json]:
    return {"run": run.to_dict(), "engine": engine, "stream": engines.stream(run, engine)}


def encoded(result: Result) -> Tensors:
    """A result's tensors by name."""
    params = jax.tree_util.tree_leaves_with_path(result.params)
    return {
        CURVE: result.curve,
        **{PARAMS + named_path(path): np.asarray(leaf) for path, leaf in params},
        **with_prefix(SNAPSHOTS, result.snapshots),
    }


def checked_tensors(result: Result) -> Tensors:
    """The same of a result that is to be kept: what is written can be read."""
    tensors = encoded(result)
    with readable(f"the result of {result.run.digest[:12]}…"):
        check_kinds(result.run, kinds_of(tensors))
        check_values(result.run, tensors)
    return tensors


def write_result(result: Result, path: Path) -> None:
    """A file of one result, under any name: what `Result.save` writes."""
    if path.suffix != SUFFIX:
        raise refusal("path", str(path), f"a name that ends in {SUFFIX}")
    provenance = {name: value for name, value in result.provenance.items() if name != "sha256"}  # it is made anew
    seal(path, about(result.run, result.engine), checked_tensors(result), provenance)


Result.writer = write_result


def read_result(path: Path, run: Run | None = None) -> Result:
    """A file of a store, whose arrays are read again when somebody asks for them. Whoever looks for a run has it."""
    result = _named_result(path, run)
    contents = Stored(path.parent, path.name, result.run)
    return Result.stored(result.run, result.engine, contents, result.provenance, result.scores)


def _named_result(path: Path, run: Run | None) -> Result:
    """What is in the file, if its name fits that."""
    stated, tensors, provenance = unseal(path, functools.partial(check_about, run=run))
    result = decoded(path, stated, tensors, provenance, run)
    digests = {result.run.digest, result.run.digest_in_file(stated["run"])}
    if path.name not in {f"{each}.{stated['engine']}-{stated.get('stream')}{SUFFIX}" for each in digests}:
        raise StoreError(f"{path}: the name does not fit the run inside, {result.run.digest[:12]}…")
    return result


def received(run: Run, engine: str, data: bytes) -> Result:
    """The result of a run that was trained elsewhere, from the bytes of its file."""
    source = f"what came for {run.digest[:12]}…"
    stated, tensors, provenance = unsealed(data, source, functools.partial(check_about, run=run))
    if stated != json.loads(json.dumps(about(run, engine))):
        raise StoreError(f"{source}: it is about another run, or from another engine")
    return decoded(source, stated, tensors, provenance, run)


def check_about(stated: Json, kinds: Kinds, run: Run | None = None) -> None:
    """That arrays of these kinds can be those of the run."""
    check_kinds(_run(stated, run), upgraded_names(stated["run"], kinds))


def decoded(
    source: Path | str, stated: Json, tensors: Tensors, provenance: dict[str, Json], run: Run | None = None
) -> Result:
    """The result again, from arrays whose kinds have been checked, of that run if it is about it. Or else its rule and
    its task must be ours, installed as plug-ins, or already imported: a file never makes us import anything else."""
    with readable(source):
        known, tensors = _run(stated, run), upgraded_names(stated["run"], tensors)
        check_values(known, tensors)
        engine, arrays = checked_engine(stated["engine"]), held(known, tensors)
        return Result.stored(known, engine, arrays, checked_provenance(provenance), score(known, arrays))


def _run(stated: Json, run: Run | None) -> Run:
    return run if run is not None and is_about(stated["run"], run) else run_of(stated["run"])


def is_about(stated: Json, run: Run) -> bool:
    """Whether plain data describe the run as it describes itself."""
    return stated == {**_described(run.setting), "seed": run.seed}


@functools.lru_cache(maxsize=1000)
def _described(setting: Run) -> dict[str, Json]:
    return json.loads(json.dumps(setting.to_dict()))


def held(run: Run, tensors: Tensors) -> Held:
    """The arrays of a result, which have come through the door."""
    params, tree = without_prefix(PARAMS, tensors), None
    if params and sizes_of(run):
        structure, named = shapes(run)
        tree = jax.tree.unflatten(structure, [params[name] for name in named])
    return Held(tensors[CURVE], tree, without_prefix(SNAPSHOTS, tensors))


class Stored:
    """The contents of a result in a file of a store: read, and checked, when they are asked for."""

    def __init__(self, folder: Path, name: str, run: Run) -> None:
        self._folder, self._name, self._run = folder, name, run

    def read(self) -> Held:
        path = self._folder / self._name
        try:
            status = path.stat()
        except OSError:
            raise StoreError(f"{path}: there is no such file any more") from None
        result = _latest(path, status.st_size, status.st_mtime_ns, self._run)
        run = self._run  # whose digest, and so all that makes it equal, may be what a list has told of it
        if (result.run.setting, result.run.seed) != (run.setting, run.seed):
            raise StoreError(f"{path}: not the run that it was")
        return result.contents.read()


@functools.lru_cache(maxsize=16)  # whoever asks for the parameters may ask for the snapshots next
def _latest(path: Path, size: int, time: int, run: Run) -> Result:
    """The file as it was at that size and time."""
    return _named_result(path, run)


def run_of(data: Json) -> Run:
    """The run that plain data describes; see `decoded`. Settings of ours are made once."""
    if not _is_ours(data):
        return Run.from_dict(data, imported_only=True)
    shared = {name: value for name, value in data.items() if name != "seed"}
    return _setting(json.dumps(shared, sort_keys=True)).with_seed(data.get("seed", 0))


def _is_ours(data: Json) -> bool:
    parts = data["rule"] if isinstance(data["rule"], list) else [data["rule"]]
    return all(part["name"] in rules.BUILT_IN for part in parts) and data["task"]["name"] in registry.TASKS


@functools.lru_cache(maxsize=10_000)
def _setting(text: str) -> Run:
    return Run.from_dict(json.loads(text), imported_only=True)


def with_prefix(prefix: str, tensors: Tensors) -> Tensors:
    return {prefix + name: tensor for name, tensor in tensors.items()}


def without_prefix(prefix: str, tensors: Mapping[str, T]) -> dict[str, T]:
    """Those whose name begins with it."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
