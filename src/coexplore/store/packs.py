"""Many results in one small file. A setting is there once, with a row for each seed in its matrices:

    curve [seeds, points], firing.0 [seeds, N] … the last rates, accuracy [seeds, moments] where inputs are held out,
    scores [seeds, 3] reward, first and last, collapsed [seeds] whether they froze, sha256 [seeds, 32] of the files
    they came from;
    whole.… parameters and snapshots of one seed.

Of runs that only served to choose a setting there are scores and nothing else; of settings with many seeds, if wanted,
a curve beside them and no more.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from coexplore.run.curve import bin_sizes
from coexplore.run.frozen import FIRING
from coexplore.run.result import Result, Tensor, Tensors, by_setting
from coexplore.run.run import Run
from coexplore.settings import Json
from coexplore.store.door import ACCURACY, CURVE, PACKED
from coexplore.store.encoding import encoded, with_prefix
from coexplore.store.sealed import seal
from coexplore.store.texts import StoreError

VERSION = 3  # the first had a header for each run, the second no short lists
POINTS, FEWER = PACKED
FROZEN, SCORES, SHA256, WHOLE = "collapsed", "scores", "sha256", "whole."
Rows = list[tuple[Result, Tensors]]


def pack(
    results: Sequence[Result],
    path: str | Path,
    scores_only: Collection[Run] = (),
    brief: Mapping[Run, int] | None = None,
) -> None:
    """Write them; of runs in `scores_only`, or with a setting there, no arrays are kept, of settings in `brief` a curve
    of so many points."""
    brief = brief or {}
    about: list[Json] = []
    tensors: Tensors = {}
    first = {min(same, key=lambda result: result.run.seed).run for same in by_setting(results).values()}
    for rows in _alike(results, set(scores_only), brief):
        first_of = (i for i, (result, row) in enumerate(rows) if result.run in first and CURVE in row)
        whole = None if rows[0][0].setting in brief else next(first_of, None)
        kept = {} if whole is None else _whole(rows[whole][0])
        tensors |= with_prefix(f"{len(about)}.", {**_matrices(rows), **with_prefix(WHOLE, kept)})
        about.append({**_described([result for result, _ in rows]), "whole": whole})
    seal(Path(path), {"pack": VERSION, "settings": about}, tensors, {})


def _alike(results: Sequence[Result], scores_only: set[Run], brief: Mapping[Run, int]) -> list[Rows]:
    """Those that fit into one matrix together: the same setting and engine, arrays alike, the same provenance known."""
    groups: dict[object, Rows] = {}
    for result in {(result.run, result.engine): result for result in results}.values():
        bare = result.setting in scores_only or result.run in scores_only or not result.has_curve
        row = _scored(result) if bare else _row(result, brief.get(result.setting))
        shapes = tuple((name, x.shape, x.dtype.str) for name, x in row.items())
        known = tuple(sorted(result.provenance)), _is_hash(result.provenance.get(SHA256))
        alike = (result.run.setting, result.engine, shapes, known)
        groups.setdefault(alike, []).append((result, row))
    return list(groups.values())


def _row(result: Result, points: int | None) -> Tensors:
    """The last firing rates, and how the accuracy went if there is one, beside the curve."""
    if not np.all(np.isfinite(result.curve)):
        raise StoreError(f"{result.run.digest[:12]}…: its curve is not finite, so it cannot be packed")
    if points:
        return {CURVE: _thinned(result, points), **_scored(result)}
    firing = {name: x[-1] for name, x in result.snapshots.items() if name.startswith(FIRING)}
    accuracy = {name: x for name, x in result.snapshots.items() if name == ACCURACY}
    return {CURVE: _thinned(result, POINTS), **firing, **accuracy}


def _scored(result: Result) -> Tensors:
    accuracy = result.scores.accuracy
    return {} if accuracy is None else {ACCURACY: np.array([accuracy])}


def _whole(result: Result) -> Tensors:
    """Parameters and snapshots."""
    return {name: x for name, x in encoded(result).items() if name != CURVE}


def _matrices(rows: Rows) -> Tensors:
    """What their arrays and scores are, a row for each."""
    results = [result for result, _ in rows]
    matrices: Tensors = {name: np.stack([row[name] for _, row in rows]) for name in rows[0][1]}
    matrices[SCORES] = np.array([(result.reward, result.first, result.last) for result in results])
    matrices[FROZEN] = np.array([result.frozen for result in results])
    if _is_hash(results[0].provenance.get(SHA256)):
        hashes = bytes.fromhex("".join(result.provenance[SHA256] for result in results))
        matrices[SHA256] = np.frombuffer(hashes, np.uint8).reshape(-1, 32)
    return matrices


def _is_hash(text: Json) -> bool:
    return isinstance(text, str) and re.fullmatch("[0-9a-f]{64}", text) is not None


def _described(same: list[Result]) -> dict[str, Json]:
    """What they share, once; of what they differ in, a list with a value for each."""
    run, shared, each = same[0].run.to_dict(), {}, {}
    for name in same[0].provenance:
        values = [result.provenance[name] for result in same]
        if name == SHA256 and _is_hash(values[0]):
            continue  # a matrix has them
        if len({json.dumps(value, sort_keys=True) for value in values}) == 1:
            shared[name] = values[0]
        else:
            each[name] = _short(values)
    del run["seed"]
    seeds = [result.run.seed for result in same]
    return {"run": run, "engine": same[0].engine, "seeds": seeds, "shared": shared, "each": each}


def _short(values: list[Json]) -> Json:
    """Where most are the same, such as the second in which runs finished: each of them once, and which it is."""
    places: dict[str, int] = {}
    which = [places.setdefault(json.dumps(value, sort_keys=True), len(places)) for value in values]
    return {"once": list(map(json.loads, places)), "which": which} if 2 * len(places) < len(values) else values


def _thinned(result: Result, points: int) -> Tensor:
    """Means of neighbouring points, each counted for its updates: those of so many points from the start."""
    P = len(result.curve)
    if P % points:
        return result.curve
    sizes = bin_sizes(result.run.updates).reshape(P, -1).sum(axis=1)  # a packed curve has fewer points
    sums = (result.curve.astype(np.float64) * sizes).reshape(points, -1).sum(axis=1)
    return (sums / sizes.reshape(points, -1).sum(axis=1)).astype(np.float32)
