"""Results from packs. Everything is checked before it is believed: a pack may come from anywhere.

A run is a row of its setting's matrices, and costs next to nothing to read. What a pack keeps of one seed alone is put
together when it is asked for.
"""

import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from coexplore.run import bins
from coexplore.run.contents import Held, Scores
from coexplore.run.frozen import FIRING, frozen
from coexplore.run.result import Result, Tensors
from coexplore.run.run import Run
from coexplore.settings import FieldError, Json, Unknown
from coexplore.store.encoding import CURVE, decoded, run_of, without_prefix
from coexplore.store.packs import ACCURACY, FROZEN, SCORES, SHA256, VERSION, WHOLE
from coexplore.store.sealed import LeftOut, StoreError, UnknownError, left_out

SHAPES = {SCORES: (3,), FROZEN: (), SHA256: (32,)}  # of a row; the others have one dimension
KINDS = {FROZEN: "b", SHA256: "u"}  # the others are floats


def is_pack(about: Json) -> bool:
    return isinstance(about, list) or (isinstance(about, dict) and "pack" in about)


def unpack(path: Path, about: Json, tensors: Tensors) -> tuple[list[Result], list[LeftOut]]:
    """The results again, from what a sealed file holds, and lines about rules and tasks that are not known here."""
    try:
        if isinstance(about, list):
            return _unpack_first(path, about, tensors)
        if about["pack"] not in (2, VERSION):
            raise StoreError(f"{path}: a pack of version {str(about['pack'])[:20]!r}; this coexplore reads {VERSION}")
        parts = _parts(tensors, len(about["settings"]))
        return _all(path, zip(about["settings"], parts, strict=True), _results)
    except StoreError:
        raise
    except FieldError as error:
        raise StoreError(f"{path}: {error}") from None
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        what = f": {error}" if type(error) in (ValueError, KeyError) else ""
        raise StoreError(f"{path}: not a readable pack ({type(error).__name__}{what})") from None


def _unpack_first(path: Path, about: list[Json], tensors: Tensors) -> tuple[list[Result], list[LeftOut]]:
    """Of the first version, in which every run had a header and tensors of its own."""
    pairs = zip(about, _parts(tensors, len(about)), strict=True)
    return _all(path, pairs, lambda path, stated, part: [decoded(path, stated, part, dict(stated["provenance"]))])


def _all(
    path: Path, pairs: Iterable[tuple[Json, Tensors]], read: Callable[[Path, Json, Tensors], Iterable[Result]]
) -> tuple[list[Result], list[LeftOut]]:
    results: list[Result] = []
    unknown = []
    for stated, part in pairs:
        try:
            results += read(path, stated, part)
        except Unknown as error:
            unknown += [UnknownError(f"{path}: {error}")] * len(stated["seeds"])
        except UnknownError as error:
            unknown.append(error)
    return results, left_out(path, unknown)


def _parts(tensors: Tensors, count: int) -> list[Tensors]:
    """Tensors by the number that their names begin with."""
    parts: list[Tensors] = [{} for _ in range(count)]
    for name, tensor in tensors.items():
        i, _, rest = name.partition(".")
        if not i.isdecimal():
            raise ValueError(f"{name!r} belongs to no setting")
        parts[int(i)][rest] = tensor
    return parts


def _results(path: Path, stated: Json, tensors: Tensors) -> Iterator[Result]:
    """Those of one setting."""
    whole = without_prefix(WHOLE, tensors)
    matrices = {name: x for name, x in tensors.items() if not name.startswith(WHOLE)}
    runs = _runs(stated)
    _check(runs, matrices)
    engine, place = str(stated["engine"]), stated["whole"]
    if place not in (None, *range(len(runs))) or (place is None and whole):
        raise ValueError("what is kept of one seed alone belongs to none")
    rows = zip(runs, _provenances(stated, matrices, len(runs)), _scores(runs[0], matrices), strict=True)
    for i, (run, provenance, scores) in enumerate(rows):
        contents = Packed(path, run, matrices, i, whole if i == place else {})
        curve = matrices[CURVE][i] if CURVE in matrices else None
        yield Result.stored(run, engine, contents, provenance, scores, curve)


def _runs(stated: Json) -> list[Run]:
    seeds: list[int] = stated["seeds"]
    if not seeds or len(set(seeds)) < len(seeds) or any(type(seed) is not int for seed in seeds):
        raise ValueError("seeds must be whole numbers, each of them once")
    setting = run_of({**stated["run"], "seed": 0})
    return [setting.with_seed(seed) for seed in seeds]


def _check(runs: list[Run], matrices: Tensors) -> None:
    """That every matrix is one that a pack has, has a row for each run, and holds numbers."""
    for name, x in matrices.items():
        if name not in (CURVE, ACCURACY, *SHAPES) and not name.startswith(FIRING):
            raise ValueError(f"no pack has {name!r}")
        row = SHAPES.get(name, x.shape[1:])
        if x.shape != (len(runs), *row) or (name not in SHAPES and (len(row) != 1 or not row[0])):
            raise ValueError(f"{name!r} of shape {list(x.shape)} for {len(runs)} runs")
        if x.dtype.kind != KINDS.get(name, "f") or not np.all(np.isfinite(x)):
            raise ValueError(f"{name!r} is not all numbers")
    if CURVE in matrices and bins(runs[0].updates) % matrices[CURVE].shape[1]:
        raise ValueError(f"a curve of {matrices[CURVE].shape[1]} points for {runs[0].updates} updates")


def _scores(run: Run, matrices: Tensors) -> list[Scores]:
    numbers, froze = matrices[SCORES].tolist(), matrices[FROZEN].tolist()
    seen = matrices[ACCURACY][:, -1].tolist() if ACCURACY in matrices else [None] * len(numbers)
    firing = {name: x[:, None] for name, x in matrices.items() if name.startswith(FIRING)}
    if firing:  # older packs counted units that are not binary as well
        rows = ({name: x[i] for name, x in firing.items()} for i in range(len(numbers)))
        froze = [frozen(run, row[-1], rates, None) for row, rates in zip(numbers, rows, strict=True)]
    return [Scores(*row, *rest) for row, *rest in zip(numbers, froze, seen, strict=True)]


def _provenances(stated: Json, matrices: Tensors, count: int) -> list[dict[str, Json]]:
    each = {name: _listed(values) for name, values in stated["each"].items()}
    if SHA256 in matrices:
        each[SHA256] = [row.tobytes().hex() for row in matrices[SHA256]]
    if any(len(values) != count for values in each.values()):
        raise ValueError("what runs differ in must be told of each")
    shared = dict(stated["shared"])
    return [{**shared, **{name: values[i] for name, values in each.items()}} for i in range(count)]


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
            stated = {"run": self._run.to_dict(), "engine": ""}
            return decoded(self._path, stated, {**self._whole, CURVE: curve}, {}).contents.read()
        firing = {name: x[self._i : self._i + 1] for name, x in self._matrices.items() if name.startswith(FIRING)}
        accuracy = {name: x[self._i] for name, x in self._matrices.items() if name == ACCURACY}
        return Held(curve, None, {**firing, **accuracy})
