"""An index of the finished runs of a store, so that a hundred thousand of them need not be opened to be listed.

It holds nothing that the files do not, and may be removed or made again at any time. One process writes it under a
temporary name and renames it. A file whose size and time are still as the index has them is trusted from it, and
verified when its arrays are read; if it is not what the index says, the index is made again.
"""

import contextlib
import dataclasses
import json
import math
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from coexplore.run.contents import Held, Listed, Scores
from coexplore.run.result import Result, Tensor, Tensors
from coexplore.run.run import Run
from coexplore.settings import Json
from coexplore.store.door import check_rewards, checked_engine, checked_provenance
from coexplore.store.encoding import Stored, run_of
from coexplore.store.sealed import SUFFIX, Kinds, readable, seal, unseal
from coexplore.store.texts import StoreError, UnreadableError, parsed

INDEX = Path(".index") / f"runs{SUFFIX}"  # in the folder of a store
VERSION = 2
DIGEST = 64  # characters of a file's name that are its run's digest, which is checked when it is read
WHOLE = ("size", "time", "setting", "seed", "engine", "origin")
TEXTS = ("finished", "sha256")
SHARED = ("settings", "engines", "origins")  # of which many runs share one
NUMBERS = ("seconds", "reward", "first", "last", "accuracy")  # NaN for none


class Stamp(NamedTuple):
    """By which a file is known not to have changed."""

    size: int
    time: int  # of the last change, in nanoseconds


def stamp_of(file: Path | os.DirEntry[str]) -> Stamp | None:
    """None if it is not there, or not any more."""
    try:
        status = file.stat()
    except OSError:
        return None
    return Stamp(status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def stamps_of(folder: Path, names: Iterable[str]) -> dict[str, Stamp]:
    """Of those files that are there, where they are few."""
    return {name: stamp for name in names if (stamp := stamp_of(folder / name))}


class Row(NamedTuple):
    """What the index knows of a file."""

    size: int
    time: int
    setting: int  # its place among the settings that runs share …
    seed: int
    engine: int  # … among the engines …
    origin: int  # … and among the provenances
    finished: str
    sha256: str
    seconds: float
    reward: float
    first: float
    last: float
    accuracy: float
    frozen: bool


Shared = tuple[list[Run | None], list[str], list[dict[str, Json]]]  # settings, engines, provenances


@dataclasses.dataclass(slots=True, eq=False)
class InIndex(Listed):
    """What the index tells of a file, when it is asked for."""

    folder: Path
    name: str
    row: Row
    shared: Shared

    def run(self) -> Run:
        setting = self.shared[0][self.row.setting]
        assert setting is not None
        return setting.with_seed(self.row.seed, _digest_in(self.name, setting))

    def provenance(self) -> dict[str, Json]:
        own = {"seconds": self.row.seconds, "finished": self.row.finished, "sha256": self.row.sha256}
        if math.isnan(self.row.seconds):
            del own["seconds"]
        return {**self.shared[2][self.row.origin], **own}

    def scores(self) -> Scores:
        row = self.row
        accuracy = None if math.isnan(row.accuracy) else row.accuracy
        return Scores(row.reward, row.first, row.last, row.frozen, accuracy)

    def read(self) -> Held:
        try:
            return Stored(self.folder, self.name, self.run()).read()
        except UnreadableError:
            raise
        except StoreError as error:
            with contextlib.suppress(OSError):
                (self.folder / INDEX).unlink()
            raise StoreError(f"{error}; the folder is listed anew, and the same command goes on") from None


class Index:
    """Rows by file name; settings, engines and provenances, of which many runs share one, are kept once."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.settings: dict[str, int] = {}  # as JSON, and where in the order of their coming
        self.engines: dict[str, int] = {}
        self.origins: dict[str, int] = {}
        self.shared: Shared = [], [], []

    def results(self, folder: Path, stamps: Mapping[str, Stamp]) -> dict[str, Result]:
        """Those in files of the folder, by name, that are still as the index has them."""
        if len(self.shared[0]) != len(self.settings):  # made once for all runs that share them
            settings = list(map(_known, self.settings))
            self.shared = settings, list(self.engines), list(map(json.loads, self.origins))
        runs, engines, _ = shared = self.shared
        return {
            name: Result.listed(
                InIndex(folder, name, row, shared),
                engines[row.engine],
                run,
                row.seed,
                _digest_in(name, run) or run.with_seed(row.seed).digest,
            )
            for name, row in ((name, self.rows[name]) for name in stamps if name in self.rows)
            if row[:2] == stamps[name] and (run := runs[row.setting]) is not None
        }

    def add(self, name: str, stamp: Stamp, result: Result) -> None:
        origin, scores = dict(result.provenance), result.scores
        seconds, finished, sha256 = (origin.pop(part, None) for part in ("seconds", "finished", "sha256"))
        described = {part: value for part, value in result.run.to_dict().items() if part != "seed"}
        self.shared = [], [], []
        self.rows[name] = Row(
            *stamp,
            _place(self.settings, json.dumps(described, sort_keys=True)),
            result.run.seed,
            _place(self.engines, result.engine),
            _place(self.origins, json.dumps(origin, sort_keys=True)),
            str(finished or ""),
            str(sha256 or ""),
            float(seconds) if isinstance(seconds, int | float) else math.nan,
            *scores[:3],
            math.nan if scores.accuracy is None else scores.accuracy,
            scores.frozen,
        )

    def keep(self, names: Iterable[str]) -> None:
        """Forget all files but these."""
        self.rows = {name: self.rows[name] for name in names if name in self.rows}


def _digest_in(name: str, setting: Run) -> str | None:
    """The digest of a run, which is in the name of its file; None if that may be made of former names."""
    return name[:DIGEST] if setting.digest == setting.digest_in_file() else None


def _known(text: str) -> Run | None:
    """None where its rule or its task means nothing here: whoever opens the file is told so."""
    try:
        with readable(".index"):
            return run_of(parsed(text))
    except StoreError:
        return None


def _place(known: dict[str, int], text: str) -> int:
    return known.setdefault(text, len(known))


def read_index(path: Path) -> Index:
    """Empty where there is none, or none that can be used."""
    index = Index()
    with contextlib.suppress(StoreError), readable(path, "index"):
        about, tensors, _ = unseal(path, _check)
        _check_values(about, tensors)
        columns = [tensors[column].tolist() for column in WHOLE]
        columns += [_lines(tensors[column]) for column in TEXTS]
        columns += [tensors[column].tolist() for column in (*NUMBERS, "frozen")]
        rows = map(Row._make, zip(*columns, strict=True))
        index.rows = dict(zip(_lines(tensors["names"]), rows, strict=True))
        index.settings, index.engines, index.origins = ({text: i for i, text in enumerate(about[k])} for k in SHARED)
    return index


def _check(about: Json, kinds: Kinds) -> None:
    """That it is an index of this version, of columns equally long."""
    if about["version"] != VERSION or {len(kinds[name].shape) for name in kinds} != {1}:
        raise ValueError("another version's")
    for names, kind in ((WHOLE, "i"), (NUMBERS, "f"), (("frozen",), "b"), ((*TEXTS, "names"), "u")):
        if any(np.dtype(kinds[name].dtype).kind != kind for name in names):
            raise ValueError("columns of another kind")


def _check_values(about: Json, tensors: Tensors) -> None:
    """That rows name places that there are, engines and seeds that there can be, and scores that are numbers."""
    places = {kind.removesuffix("s"): len(set(about[kind])) for kind in SHARED}
    for name, count in {**places, "seed": 2**32}.items():
        if len(tensors[name]) and not 0 <= tensors[name].min() <= tensors[name].max() < count:
            raise ValueError(f"{name!r} of nobody")
    for name in ("reward", "first", "last"):
        check_rewards(name, tensors[name])
    for engine in about["engines"]:
        checked_engine(engine)
    for origin in about["origins"]:
        checked_provenance(parsed(origin))


def write_index(path: Path, index: Index) -> None:
    columns: Tensors = {"names": _text(index.rows)}
    for name, column in zip(Row._fields, zip(*index.rows.values(), strict=True), strict=True):
        kind = np.int64 if name in WHOLE else np.float64 if name in NUMBERS else np.bool_
        columns[name] = _text(column) if name in TEXTS else np.array(column, kind)
    shared = {"settings": list(index.settings), "engines": list(index.engines), "origins": list(index.origins)}
    seal(path, {"version": VERSION, **shared}, columns, {})


def _text(lines: Iterable[str]) -> Tensor:
    return np.frombuffer("\n".join(lines).encode(), np.uint8)


def _lines(text: Tensor) -> list[str]:
    return text.tobytes().decode().split("\n")
