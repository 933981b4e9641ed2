"""Results from whatever holds them: a store's folder, a pack, one file, or a folder of such folders."""

import functools
import warnings
from pathlib import Path

from coexplore import engines
from coexplore.results.listing import Results
from coexplore.run.result import Result
from coexplore.settings import Json, checked_path
from coexplore.store.encoding import check_about, decoded
from coexplore.store.folder import OWN, Store
from coexplore.store.sealed import SUFFIX, Kinds, LeftOut, NoRunsError, readable, unseal
from coexplore.store.texts import StoreError
from coexplore.store.unpacking import check_pack, is_pack, unpack


def load(path: str | Path) -> Results:
    """The results at `path`: a store's folder, a pack, or one file; an error if any of them is damaged.

    Runs whose rule or task is not known here are left out, with a warning: import what defines them first.
    """
    results, problems = read(path)
    damaged = [line for line in problems if not isinstance(line, LeftOut)]
    if damaged or not results:
        raise StoreError([*damaged, *problems][0])
    for line in problems:
        warnings.warn(line, stacklevel=2)
    return Results(results)


def read(path: str | Path, engine: str = "auto") -> tuple[list[Result], list[str]]:
    """One result per run, from that engine or the first that has one; and a line for each file that cannot be used."""
    path = checked_path("path", path)
    if not path.exists():
        raise StoreError(f"{path}: there is no such file")
    results, problems = _read_folders(path) if path.is_dir() else _read_file(path)
    if not results and not problems:
        raise StoreError(f"{path}: no results here; give a folder with {SUFFIX} files, or one such file")
    order = list(engines.NAMES) if engine == "auto" else [engine]
    chosen: dict[str, Result] = {}
    for result in sorted((r for r in results if r.engine in order), key=lambda r: order.index(r.engine)):
        chosen.setdefault(result.digest, result)
    return list(chosen.values()), problems


def _read_folders(path: Path) -> tuple[list[Result], list[str]]:
    """Those of the folder or, where it has none, those of the folders in it."""
    results, problems = _read_folder(path)
    if not results and not problems:
        for folder in sorted(each for each in path.iterdir() if each.is_dir() and each.name not in OWN):
            more, others = _read_folder(folder)
            results, problems = results + more, problems + others
    return results, problems


def _read_folder(path: Path) -> tuple[list[Result], list[str]]:
    """A store, and whatever packs lie in it."""
    store = Store(path)
    results, problems = store.results()
    for file in store.strangers():
        try:
            more, lines = _read_file(file)
            results, problems = results + more, problems + lines
        except NoRunsError:  # another program's
            continue
        except StoreError as error:
            problems.append(str(error))
    return results, problems


def _read_file(path: Path) -> tuple[list[Result], list[str]]:
    about, tensors, provenance = unseal(path, functools.partial(_check, path))
    if not is_pack(about):
        return [decoded(path, about, tensors, provenance)], []
    results, unknown = unpack(path, about, tensors)
    return results, [*unknown]


def _check(path: Path, about: Json, kinds: Kinds) -> None:
    if not is_pack(about):
        return check_about(about, kinds)
    with readable(path, "pack"):
        check_pack(about, kinds)
