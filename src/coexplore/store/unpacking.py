"""Results from packs. Everything is checked before it is believed: a pack may come from anywhere (door.py).

A run is a row of its setting's matrices, and costs next to nothing to read. What a pack keeps of one seed alone is put
together when it is asked for.
"""

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np

from coexplore.run.contents import Held, Scores
from coexplore.run.frozen import FIRING, frozen
from coexplore.run.result import Result, Tensors
from coexplore.run.run import Run
from coexplore.run.upgrade import upgraded_names
from coexplore.settings import FieldError, Json, Unknown
from coexplore.store.door import (
    ACCURACY,
    CURVE,
    check_curve,
    check_finite,
    check_kinds,
    check_rewards,
    check_shares,
    check_values,
    checked_engine,
    checked_provenance,
)
from coexplore.store.encoding import check_about, decoded, held, run_of, without_prefix
from coexplore.store.packs import FROZEN, SCORES, SHA256, VERSION, WHOLE
from coexplore.store.sealed import (
    Kind,
    Kinds,
    LeftOut,
    UnknownError,
    kinds_of,
    left_out,
    readable,
    told_origins,
    unknown_error,
)

T = TypeVar("T")
SHAPES = {SCORES: (3,), FROZEN: (), SHA256: (32,)}  # of a row; the others have one dimension
KINDS = {FROZEN: "b", SHA256: "u"}  # the others are floats


def is_pack(about: Json) -> bool:
    return isinstance(about, list) or (isinstance(about, dict) and "pack" in about)


def check_pack(about: Json, kinds: Kinds) -> None:
    """That arrays of these kinds can be those of the settings that the pack names."""
    if isinstance(about, list):  # of the first version, whose runs are looked at one by one
        return
    if about["pack"] not in (2, VERSION):
        raise FieldError(f"a pack of version {str(about['pack'])[:20]!r}; this coexplore reads {VERSION}")
    for stated, part in zip(about["settings"], _parts(kinds, len(about["settings"])), strict=True):
        with contextlib.suppress(Unknown):  # it will be left out
            _check_kinds(_setting(stated), len(_seeds(stated)), upgraded_names(stated["run"], part))


def unpack(path: Path, about: Json, tensors: Tensors) -> tuple[list[Result], list[LeftOut]]:
    """The results again, from what a sealed file holds, and lines about rules and tasks that are not known here."""
    with readable(path, "pack"):
        if isinstance(about, list):
            return _unpack_first(path, about, tensors)
        parts = _parts(tensors, len(about["settings"]))
        return _all(path, zip(about["settings"], parts, strict=True), _results)


def _unpack_first(path: Path, about: list[Json], tensors: Tensors) -> tuple[list[Result], list[LeftOut]]:
    """Of the first version, in which every run had a header and tensors of its own."""
    return _all(path, zip(about, _parts(tensors, len(about)), strict=True), _first_result)


def _first_result(path: Path, stated: Json, tensors: Tensors) -> list[Result]:
    check_about(stated, kinds_of(tensors))
    return [decoded(path, stated, tensors, dict(stated["provenance"]))]


def _all(
    path: Path, pairs: Iterable[tuple[Json, Tensors]], read: Callable[[Path, Json, Tensors], Iterable[Result]]
) -> tuple[list[Result], list[LeftOut]]:
    results: list[Result] = []
    unknown = []
    for stated, part in pairs:
        try:
            with told_origins(stated.get("shared", {})):
                results += read(path, stated, part)
        except Unknown as error:
            unknown += [unknown_error(path, error)] * len(stated["seeds"])
        except UnknownError as error:
            unknown.append(error)
    return results, left_out(path, unknown)


def _parts(tensors: Mapping[str, T], count: int) -> list[dict[str, T]]:
    """Tensors by the number that their names begin with."""
    parts: list[dict[str, T]] = [{} for _ in range(count)]
    for name, tensor in tensors.items():
        i, _, rest = name.partition(".")
        if not (i.isascii() and i.isdecimal() and len(i) < 10 and int(i) < count):
            raise ValueError(f"{name!r} belongs to no setting")
        parts[int(i)][rest] = tensor
    return parts


def _results(path: Path, stated: Json, tensors: Tensors) -> Iterator[Result]:
    """Those of one setting."""
    tensors = upgraded_names(stated["run"], tensors)
    whole = without_prefix(WHOLE, tensors)
    matrices = {name: x for name, x in tensors.items() if not name.startswith(WHOLE)}
    runs = list(map(_setting(stated).with_seed, _seeds(stated)))
    engine, place = checked_engine(stated["engine"]), stated["whole"]
    if (place is not None and (type(place) is not int or not 0 <= place < len(runs))) or (place is None and whole):
        raise ValueError("what is kept of one seed alone belongs to none")
    _check_values(runs[0], matrices, whole)
    rows = zip(runs, _provenances(stated, matrices, len(runs)), _scores(runs[0], matrices), strict=True)
    for i, (run, provenance, scores) in enumerate(rows):
        contents = Packed(path, run, matrices, i, whole if i == place else {})
        curve = matrices[CURVE][i] if CURVE in matrices else None
        yield Result.stored(run, engine, contents, provenance, scores, curve)


def _setting(stated: Json) -> Run:
    return run_of({**stated["run"], "seed": 0})


def _seeds(stated: Json) -> list[int]:
    seeds: list[int] = stated["seeds"]
    if not seeds or len(set(seeds)) < len(seeds) or any(type(seed) is not int for seed in seeds):
        raise ValueError("seeds must be whole numbers, each of them once")
    return seeds


def _check_kinds(run: Run, count: int, kinds: Kinds) -> None:
    """That every matrix is one that a pack has, has a row for each of the runs of this setting, and holds numbers."""
    whole = without_prefix(WHOLE, kinds)
    for name, kind in kinds.items():
        if name.startswith(WHOLE):
            continue
        if name not in (CURVE, ACCURACY, *SHAPES) and not name.startswith(FIRING):
            raise ValueError(f"no pack has {name!r}")
        row = SHAPES.get(name, kind.shape[1:])
        if kind.shape != (count, *row) or (name not in SHAPES and (len(row) != 1 or not row[0])):
            raise ValueError(f"{name!r} of shape {list(kind.shape)} for {count} runs")
        if np.dtype(kind.dtype).kind != KINDS.get(name, "f"):
            raise ValueError(f"{name!r} is not all numbers")
    if CURVE in kinds:
        curve = Kind(kinds[CURVE].shape[1:], kinds[CURVE].dtype)
        check_curve(run, curve.shape, curve)
        check_kinds(run, {CURVE: curve, **whole})
    elif whole:
        raise ValueError("parameters without a curve")


def _check_values(run: Run, matrices: Tensors, whole: Tensors) -> None:
    for name, x in matrices.items():
        check_finite(name, x)
    for name in {CURVE, SCORES} & set(matrices):
        check_rewards(name, matrices[name])
    check_shares(matrices.get(ACCURACY))
    if whole:
        check_values(run, {CURVE: matrices[CURVE][0], **whole})


def _scores(run: Run, matrices: Tensors) -> list[Scores]:
    numbers, froze = matrices[SCORES].tolist(), matrices[FROZEN].tolist()
    seen = matrices[ACCURACY][:, -1].tolist() if ACCURACY in matrices else [None] * len(numbers)
    firing = {name: x[:, None] for name, x in matrices.items() if name.startswith(FIRING)}
    if firing:  # older packs counted units that are not binary as well
        rows = ({name: x[i] for name, x in firing.items()} for i in range(len(numbers)))
        froze = [frozen(run, row[-1], rates, None) for row, rates in zip(numbers, rows, strict=True)]
    return [Scores(*row, *rest) for row, *rest in zip(numbers, froze, seen, strict=True)]


def _provenances(stated: Json, matrices: Tensors, count: int) -> list[dict[str, Json]]:
    each: dict[str, list[Json]] = {name: _listed(values) for name, values in stated["each"].items()}
    if SHA256 in matrices:
        each[SHA256] = [row.tobytes().hex() for row in matrices[SHA256]]
    if any(len(values) != count for values in each.values()):
        raise ValueError("what runs differ in must be told of each")
    shared = dict(stated["shared"])
    return [checked_provenance({**shared, **{name: values[i] for name, values in each.items()}}) for i in range(count)]


def _listed(values: Json) -> list[Json]:
    return [values["once"][i] for i in values["which"]] if isinstance(values, dict) else list(values)


class Packed:
    """The arrays of one run of a pack: a row of its setting's, and parameters and snapshots if it is the one seed."""

    def __init__(self, path: Path, run: Run, matrices: Tensors, i: int, whole: Tensors) -> None:
        self._path, self._run, self._matrices, self._i, self._whole = path, run, matrices, i, whole

    def read(self) -> Held:
        return self._held

    @functools.cached_property
    def _held(self) -> Held:
        if CURVE not in self._matrices:
            return Held(np.zeros(0, np.float32), None, {})
        curve = self._matrices[CURVE][self._i]
        if self._whole:
            return held(self._run, {**self._whole, CURVE: curve})
        firing = {name: x[self._i : self._i + 1] for name, x in self._matrices.items() if name.startswith(FIRING)}
        accuracy = {name: x[self._i] for name, x in self._matrices.items() if name == ACCURACY}
        return Held(curve, None, {**firing, **accuracy})
