"""A Result as plain data and named tensors, and back."""

from pathlib import Path

import jax
import numpy as np

from coexplore import engines
from coexplore.network import Params
from coexplore.run.result import Result, Tensors
from coexplore.run.run import Run
from coexplore.settings import FieldError, Json
from coexplore.store.sealed import SUFFIX, StoreError, unseal

CURVE, PARAMS, SNAPSHOTS = "curve", "params.", "snapshots."


def key(run: Run, engine: str) -> str:
    """What files about this run and engine are called."""
    return f"{run.digest}.{engine}-{engines.find(engine).stream}"


def about(run: Run, engine: str) -> dict[str, Json]:
    return {"run": run.to_dict(), "engine": engine, "stream": engines.find(engine).stream}


def read_result(path: Path) -> Result:
    """A file of a store."""
    stated, tensors, provenance = unseal(path)
    return rightly_named(path, stated, decoded(path, stated, tensors, provenance))


def rightly_named(path: Path, stated: Json, result: Result) -> Result:
    """The result, if the file's name fits what is inside."""
    if path.name != f"{result.run.digest}.{stated['engine']}-{stated['stream']}{SUFFIX}":
        raise StoreError(f"{path}: the name does not fit the run inside, {result.run.digest[:12]}…")
    return result


def encoded(result: Result) -> Tensors:
    """A result's tensors by name."""
    params = jax.tree_util.tree_leaves_with_path(result.params)
    return {
        CURVE: result.curve,
        **{PARAMS + _path(path): np.asarray(leaf) for path, leaf in params},
        **with_prefix(SNAPSHOTS, result.snapshots),
    }


def decoded(path: Path, stated: Json, tensors: Tensors, provenance: dict[str, Json]) -> Result:
    """The result again; its rule must be ours or already imported, since a file never makes us import anything."""
    try:
        run = Run.from_dict(stated["run"], imported_only=True)
        params, snapshots = without_prefix(PARAMS, tensors), without_prefix(SNAPSHOTS, tensors)
        can_act = params and not run.task.missing  # an environment may not be installed here
        whole = _params(run, params) if can_act else None
        return Result(run, str(stated["engine"]), tensors[CURVE], whole, provenance, snapshots)
    except FieldError as error:
        raise StoreError(f"{path}: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{path}: not a readable result ({type(error).__name__})") from None


def with_prefix(prefix: str, tensors: Tensors) -> Tensors:
    return {prefix + name: tensor for name, tensor in tensors.items()}


def without_prefix(prefix: str, tensors: Tensors) -> Tensors:
    """Those whose name begins with it."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _params(run: Run, tensors: Tensors) -> Params:
    """The parameters as the run shapes them: names and shapes must fit exactly."""
    shapes = jax.eval_shape(run.init)
    named = {_path(path): leaf.shape for path, leaf in jax.tree_util.tree_leaves_with_path(shapes)}
    if {name: tensor.shape for name, tensor in tensors.items()} != named:
        raise ValueError("tensors do not fit the run")
    return jax.tree.unflatten(jax.tree.structure(shapes), [tensors[name] for name in named])


def _path(path: jax.tree_util.KeyPath) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")
