"""Results from whatever holds them: a store's folder, a pack, one file, or a folder of such folders."""

from pathlib import Path

from coexplore import engines
from coexplore.run.result import Result
from coexplore.run.run import Run
from coexplore.store.encoding import decoded, rightly_named
from coexplore.store.folder import CHECKPOINTS, DAMAGED, Store
from coexplore.store.packs import unpack
from coexplore.store.sealed import SUFFIX, StoreError, unseal


def load(path: str | Path) -> list[Result]:
    """The results in a store's folder, in a pack, or in one file; an error if any of them is damaged."""
    results, problems = read(path)
    if problems:
        raise StoreError(problems[0])
    return results


def read(path: str | Path, engine: str = "auto") -> tuple[list[Result], list[str]]:
    """One result per run, from that engine or the first that has one; and a line for each file that cannot be used."""
    path = Path(path)
    if not path.exists():
        raise StoreError(f"{path}: there is no such file")
    files = _files(path)
    if not files:
        raise StoreError(f"{path}: no results here; give a folder with {SUFFIX} files, or one such file")
    results: list[Result] = []
    problems = []
    for file in files:
        try:
            results += _results(file, is_member=file != path)
        except StoreError as error:
            problems.append(str(error))
    order = list(engines.NAMES) if engine == "auto" else [engine]
    chosen: dict[Run, Result] = {}
    for result in sorted((r for r in results if r.engine in order), key=lambda r: order.index(r.engine)):
        chosen.setdefault(result.run, result)
    return list(chosen.values()), problems


def _files(path: Path) -> list[Path]:
    """The file itself, those of the folder or, where it has none, those of the folders in it."""
    if not path.is_dir():
        return [path]
    folders = sorted(each for each in path.iterdir() if each.is_dir() and each.name not in (CHECKPOINTS, DAMAGED))
    return Store(path).files() or [file for folder in folders for file in Store(folder).files()]


def _results(path: Path, is_member: bool) -> list[Result]:
    about, tensors, provenance = unseal(path)
    if not isinstance(about, dict):
        return unpack(path, about, tensors)
    result = decoded(path, about, tensors, provenance)
    return [rightly_named(path, about, result) if is_member else result]
