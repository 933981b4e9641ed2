"""Many results in one small file: every curve, and parameters and snapshots of one seed a setting."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coexplore import engines
from coexplore.files import SUFFIX, StoreError, seal, unseal
from coexplore.result import Result, by_setting
from coexplore.store import CURVE, SNAPSHOTS, decoded, encoded, read_result

POINTS = 200  # of a packed curve: a quarter is a whole number of points, so no window's mean changes


def load(path: str | Path) -> list[Result]:
    """The results in a store's folder, in a pack, or in one file; an error if any of them is damaged."""
    results, problems = read(path)
    if problems:
        raise StoreError(problems[0])
    return results


def read(path: str | Path, engine: str = "auto") -> tuple[list[Result], list[str]]:
    """One result a run, from that engine or the first that has one; and a line for each file that cannot be used."""
    path = Path(path)
    files = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
    if not path.exists():
        raise StoreError(f"{path}: there is no such file")
    if not files:
        raise StoreError(f"{path}: no results here; give a folder with {SUFFIX} files, or one such file")
    found, problems = [], []
    for file in files:
        try:
            found += _results(file, is_member=path.is_dir())
        except StoreError as error:
            problems.append(str(error))
    order = list(engines.TITLES) if engine == "auto" else [engine]
    chosen: dict[Any, Result] = {}
    for result in sorted((r for r in found if r.engine in order), key=lambda r: order.index(r.engine)):
        chosen.setdefault(result.run, result)
    return list(chosen.values()), problems


def pack(results: Sequence[Result], path: str | Path) -> None:
    about, tensors = [], {}
    chosen = {id(min(same, key=lambda r: r.run.seed)) for same in by_setting(results).values()}
    for i, result in enumerate(results):
        about.append({"run": result.run.to_dict(), "engine": result.engine, "provenance": result.provenance})
        kept = encoded(result) if id(result) in chosen else _end(result)
        for name, tensor in {**kept, CURVE: _thinned(result)}.items():
            tensors[f"{i}.{name}"] = tensor
    seal(Path(path), about, tensors, {})


def _end(result: Result) -> dict[str, np.ndarray]:
    """The last firing rates, which tell whether the run collapsed, and how the accuracy went, if there is one."""
    firing = {name: x[-1:] for name, x in result.snapshots.items() if name.startswith("firing.")}
    accuracy = {name: x for name, x in result.snapshots.items() if name == "accuracy"}
    return {SNAPSHOTS + name: x for name, x in {**firing, **accuracy}.items()}


def _thinned(result: Result) -> np.ndarray:
    """Means of neighbouring points, where all points stand for equally many updates."""
    P = len(result.curve)
    if P % POINTS or result.run.updates % P:
        return result.curve
    return result.curve.reshape(POINTS, -1).mean(axis=1, dtype=np.float64).astype(np.float32)


def _results(path: Path, is_member: bool) -> list[Result]:
    about, tensors, provenance = unseal(path)
    if isinstance(about, dict):
        return [read_result(path)] if is_member else [decoded(path, about, tensors, provenance)]
    try:
        parts: list[dict[str, np.ndarray]] = [{} for _ in about]
        for name, tensor in tensors.items():
            i, _, rest = name.partition(".")
            parts[int(i)][rest] = tensor
        return [decoded(path, one, part, dict(one["provenance"])) for one, part in zip(about, parts, strict=True)]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise StoreError(f"{path}: not a readable pack ({type(error).__name__})") from None
