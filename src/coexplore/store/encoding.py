"""A Result as plain data and named tensors, and back."""

import contextlib
import functools
import json
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np

from coexplore import engines, rules
from coexplore.network import Params
from coexplore.run.contents import Held, score
from coexplore.run.result import Result, Tensors
from coexplore.run.run import Run
from coexplore.settings import FieldError, Json, Unknown
from coexplore.store.sealed import SUFFIX, StoreError, UnknownError, unseal, unsealed
from coexplore.tasks import registry

CURVE, PARAMS, SNAPSHOTS = "curve", "params.", "snapshots."
Shapes = tuple[jax.tree_util.PyTreeDef, dict[str, tuple[int, ...]]]
_TRACED: dict[object, Shapes] = {}  # by the structure of a network and its sizes


def key(run: Run, engine: str) -> str:
    """What files about this run and engine are called."""
    return f"{run.digest}.{engine}-{engines.find(engine).stream}"


def about(run: Run, engine: str) -> dict[str, Json]:
    return {"run": run.to_dict(), "engine": engine, "stream": engines.find(engine).stream}


def encoded(result: Result) -> Tensors:
    """A result's tensors by name."""
    params = jax.tree_util.tree_leaves_with_path(result.params)
    return {
        CURVE: result.curve,
        **{PARAMS + _path(path): np.asarray(leaf) for path, leaf in params},
        **with_prefix(SNAPSHOTS, result.snapshots),
    }


def read_result(path: Path, run: Run | None = None) -> Result:
    """A file of a store, whose arrays are read again when somebody asks for them. Whoever looks for a run has it."""
    stated, tensors, provenance = unseal(path)
    result = rightly_named(path, stated, decoded(path, stated, tensors, provenance, run))
    return Result.stored(
        result.run, result.engine, Stored(path.parent, path.name, result.run), provenance, result.scores
    )


def rightly_named(path: Path, stated: Json, result: Result) -> Result:
    """The result, if the file's name fits what is inside."""
    if path.name != f"{result.run.digest}.{stated['engine']}-{stated['stream']}{SUFFIX}":
        raise StoreError(f"{path}: the name does not fit the run inside, {result.run.digest[:12]}…")
    return result


def received(run: Run, engine: str, data: bytes) -> Result:
    """The result of a run that was trained elsewhere, from the bytes of its file."""
    source = f"what came for {run.digest[:12]}…"
    stated, tensors, provenance = unsealed(data, source)
    if stated != json.loads(json.dumps(about(run, engine))):
        raise StoreError(f"{source}: it is about another run, or from another engine")
    with _readable(source):
        return _result(run, stated, tensors, provenance)


def decoded(path: Path, stated: Json, tensors: Tensors, provenance: dict[str, Json], run: Run | None = None) -> Result:
    """The result again, of that run if it is about it. Or else its rule and its task must be ours, installed as
    plug-ins, or already imported: a file never makes us import anything else."""
    with _readable(path):
        known = run if run is not None and is_about(stated["run"], run) else run_of(stated["run"])
        return _result(known, stated, tensors, provenance)


def is_about(stated: Json, run: Run) -> bool:
    """Whether plain data describe the run as it describes itself."""
    return stated == json.loads(json.dumps(run.to_dict()))


def _result(run: Run, stated: Json, tensors: Tensors, provenance: dict[str, Json]) -> Result:
    params, snapshots = without_prefix(PARAMS, tensors), without_prefix(SNAPSHOTS, tensors)
    held = Held(tensors[CURVE], _params(run, params) if params and _has_sizes(run) else None, snapshots)
    return Result.stored(run, str(stated["engine"]), held, provenance, score(run, held))


def _has_sizes(run: Run) -> bool:
    """An environment may not be installed here."""
    try:
        return len(run.sizes) > 0
    except FieldError:
        return False


@contextlib.contextmanager
def _readable(source: Path | str) -> Iterator[None]:
    try:
        yield
    except Unknown as error:
        raise UnknownError(f"{source}: {error}") from None
    except FieldError as error:
        raise StoreError(f"{source}: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{source}: not a readable result ({type(error).__name__})") from None


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
        if result.run != self._run:
            raise StoreError(f"{path}: another run than before")
        return result.contents.read()


@functools.lru_cache(maxsize=16)  # whoever asks for the parameters may ask for the snapshots next
def _latest(path: Path, size: int, time: int, run: Run) -> Result:
    """The file as it was at that size and time."""
    stated, tensors, provenance = unseal(path)
    return rightly_named(path, stated, decoded(path, stated, tensors, provenance, run))


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


def without_prefix(prefix: str, tensors: Tensors) -> Tensors:
    """Those whose name begins with it."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _params(run: Run, tensors: Tensors) -> Params:
    """The parameters as the run shapes them: names and shapes must fit exactly."""
    structure, named = _shapes(run)
    if {name: tensor.shape for name, tensor in tensors.items()} != named:
        raise ValueError("tensors do not fit the run")
    return jax.tree.unflatten(structure, [tensors[name] for name in named])


def _shapes(run: Run) -> Shapes:
    """Tracing takes 10 ms: runs that differ in numbers alone, such as a seed or a coupling, share it."""
    alike = jax.tree.structure(run.network), run.sizes
    if alike not in _TRACED:
        shapes = jax.eval_shape(run.init)
        named = {_path(path): leaf.shape for path, leaf in jax.tree_util.tree_leaves_with_path(shapes)}
        _TRACED[alike] = jax.tree.structure(shapes), named
    return _TRACED[alike]


def _path(path: jax.tree_util.KeyPath) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")
