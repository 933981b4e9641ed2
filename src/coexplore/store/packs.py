"""Many results in one small file: every curve, and parameters and snapshots of one seed per setting."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from coexplore.run.result import Result, Tensor, Tensors, by_setting
from coexplore.settings import Json
from coexplore.store.encoding import CURVE, SNAPSHOTS, decoded, encoded, with_prefix
from coexplore.store.sealed import StoreError, seal

POINTS = 200  # of a packed curve: a quarter is a whole number of points, so no window's mean changes


def pack(results: Sequence[Result], path: str | Path) -> None:
    about: list[Json] = []
    tensors: Tensors = {}
    whole = {min(same, key=lambda result: result.run.seed).run for same in by_setting(results).values()}
    for i, result in enumerate(results):
        about.append({"run": result.run.to_dict(), "engine": result.engine, "provenance": result.provenance})
        kept = encoded(result) if result.run in whole else _end(result)
        tensors |= with_prefix(f"{i}.", {**kept, CURVE: _thinned(result)})
    seal(Path(path), about, tensors, {})


def unpack(path: Path, about: Json, tensors: Tensors) -> list[Result]:
    """The results again, from what a sealed file holds."""
    try:
        parts: list[Tensors] = [{} for _ in about]
        for name, tensor in tensors.items():
            i, _, rest = name.partition(".")
            parts[int(i)][rest] = tensor
        pairs = zip(about, parts, strict=True)
        return [decoded(path, stated, part, dict(stated["provenance"])) for stated, part in pairs]
    except StoreError:
        raise
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise StoreError(f"{path}: not a readable pack ({type(error).__name__})") from None


def _end(result: Result) -> Tensors:
    """The last firing rates, which tell whether the run collapsed, and how the accuracy went, if there is one."""
    firing = {name: x[-1:] for name, x in result.snapshots.items() if name.startswith("firing.")}
    accuracy = {name: x for name, x in result.snapshots.items() if name == "accuracy"}
    return with_prefix(SNAPSHOTS, {**firing, **accuracy})


def _thinned(result: Result) -> Tensor:
    """Means of neighbouring points, where all points stand for equally many updates."""
    P = len(result.curve)
    if P % POINTS or result.run.updates % P:
        return result.curve
    return result.curve.reshape(POINTS, -1).mean(axis=1, dtype=np.float64).astype(np.float32)
