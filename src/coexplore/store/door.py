"""The door through which a result comes in: what its arrays and its provenance must be for its run.

Whoever has a Result may rely on this: the curve has as many points as its run gives it, parameters and snapshots have
the shapes of its network, and all of them are numbers that can be averaged, squared and drawn. Nobody looks again.
"""

import functools
import math
from collections.abc import Mapping

import jax
import numpy as np

from coexplore import engines
from coexplore.run.curve import bins
from coexplore.run.frozen import FIRING, kinds_in
from coexplore.run.result import Tensor, Tensors
from coexplore.run.run import Run
from coexplore.settings import FieldError, Json, Unknown
from coexplore.store.sealed import Kind, Kinds

CURVE, PARAMS, SNAPSHOTS, ACCURACY, UPDATES = "curve", "params.", "snapshots.", "accuracy", "updates"
PACKED = 200, 100  # points of a packed curve: quarters and twentieths are whole numbers of points, so no mean changes
LARGEST = 1e15  # of a reward: squares of such numbers, and sums of these, still are numbers
MAY_BE_INFINITE = ("norm.", "critic_error")  # sizes of what is finite itself
Shapes = tuple[jax.tree_util.PyTreeDef, dict[str, Kind]]
_TRACED: dict[object, Shapes] = {}  # by the structure of a network and its sizes


def check_kinds(run: Run, kinds: Kinds) -> None:
    """Shapes and types, before anything is read."""
    strange = [name for name in kinds if name != CURVE and not name.startswith((PARAMS, SNAPSHOTS))]
    if strange:
        raise ValueError(f"no result has {strange[0]!r}")
    check_curve(run, kinds[CURVE].shape, kinds[CURVE])
    sizes = sizes_of(run)
    params = {name.removeprefix(PARAMS): kind for name, kind in kinds.items() if name.startswith(PARAMS)}
    if params and sizes and (len(sizes) > len(params) + 1 or params != shapes(run)[1]):
        raise ValueError("parameters that do not fit the run")
    seen = {name.removeprefix(SNAPSHOTS): kind for name, kind in kinds.items() if name.startswith(SNAPSHOTS)}
    check_snapshots(sizes, seen)


def check_curve(run: Run, shape: tuple[int, ...], kind: Kind) -> None:
    """`shape` is that of one curve, of which an array may hold many."""
    P = bins(run.updates)
    if len(shape) != 1 or shape[0] < min(P, *PACKED) or P % shape[0]:
        points = shape[0] if len(shape) == 1 else f"shape {list(shape)} instead of"
        raise ValueError(f"a curve of {points} points for {run.updates} updates")
    if np.dtype(kind.dtype).kind != "f":
        raise ValueError(f"{CURVE!r} is not all numbers")


def check_snapshots(sizes: tuple[int, ...], seen: Kinds) -> None:
    """A number for each moment; of firing rates a row, no longer than the widest layer. (Packs have rates of the last
    moment alone, and do not say which that was.)"""
    widest = max(sizes, default=np.inf) + 1  # some outputs draw one more than they have drives
    for name, (shape, dtype) in seen.items():
        K = seen.get(UPDATES, seen[name]).shape[:1]
        wide = shape[1:2] if name.startswith(FIRING) else ()
        right = len(K) == 1 and len(wide) == name.startswith(FIRING) and all(widest >= N for N in wide)
        if not right or shape != (*K, *wide) or 0 in shape:
            raise ValueError(f"{name!r} of shape {list(shape)} was not seen of this run")
        if np.dtype(dtype).kind not in ("iu" if name == UPDATES else "f"):
            raise ValueError(f"{name!r} is not all numbers")


def check_values(run: Run, tensors: Tensors) -> None:
    """The numbers themselves, once their shapes are known to be right."""
    for name, x in tensors.items():
        if name.startswith(PARAMS):
            check_finite(name, x)
    check_rewards(CURVE, tensors[CURVE])
    check_seen(run.updates, {n.removeprefix(SNAPSHOTS): x for n, x in tensors.items() if n.startswith(SNAPSHOTS)})


def check_seen(updates: int, seen: Tensors) -> None:
    """What was seen in so many updates."""
    for name, x in seen.items():
        if not name.startswith(MAY_BE_INFINITE):
            check_finite(name, x)
    moments = seen.get(UPDATES, np.zeros(1, int))
    if moments[0] < 0 or moments[-1] > updates or not np.all(moments[1:] > moments[:-1]):
        raise ValueError(f"{UPDATES!r} are not moments of {updates} updates")
    check_shares(seen.get(ACCURACY))


def check_finite(name: str, x: Tensor) -> None:
    if not np.all(np.isfinite(x)):
        raise ValueError(f"{name!r} is not all numbers")


def check_rewards(name: str, x: Tensor) -> None:
    check_finite(name, x)
    if x.size and float(np.max(np.abs(x))) > LARGEST:
        raise ValueError(f"{name!r} has numbers beyond {LARGEST:g}")


def check_shares(x: Tensor | None) -> None:
    if x is not None and not (np.all(x >= 0) and np.all(x <= 1)):
        raise ValueError(f"{ACCURACY!r} is not from 0 to 1")


def checked_engine(name: Json) -> str:
    """The engine that trained it. Another one than ours may be a later version's."""
    if not isinstance(name, str):
        raise TypeError("an engine that is no text")
    if name not in engines.NAMES:
        raise Unknown(f"engine: {name[:40]!r} is not known here")
    return name


def checked_provenance(told: Mapping[str, Json]) -> dict[str, Json]:
    """What tables sort and add up must be numbers and texts; the rest is shown, if at all, as a text."""
    seconds, finished = told.get("seconds", 0), told.get("finished", "")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
        raise ValueError(f"'seconds' of {str(seconds)[:40]!r}")
    if not isinstance(finished, str):
        raise ValueError(f"'finished' of {str(finished)[:40]!r}")
    return dict(told)


def sizes_of(run: Run) -> tuple[int, ...]:
    """None at all where an environment is not installed here."""
    try:
        return _sizes(run.setting, *kinds_in(run))
    except FieldError:
        return ()


@functools.lru_cache(maxsize=10_000)
def _sizes(run: Run, *kinds: type) -> tuple[int, ...]:
    return run.sizes


def shapes(run: Run) -> Shapes:
    """Of its parameters."""
    return _shapes(run.setting, *kinds_in(run))


@functools.lru_cache(maxsize=10_000)  # thousands of seeds share them
def _shapes(run: Run, *kinds: type) -> Shapes:
    """Tracing takes 10 ms: settings that differ in numbers alone share it."""
    alike = jax.tree.structure(run.network), run.sizes
    if alike not in _TRACED:
        traced = jax.eval_shape(run.init)
        leaves = jax.tree_util.tree_leaves_with_path(traced)
        named = {named_path(path): Kind(leaf.shape, leaf.dtype) for path, leaf in leaves}
        _TRACED[alike] = jax.tree.structure(traced), named
    return _TRACED[alike]


def named_path(path: jax.tree_util.KeyPath) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")
