"""What a study has set out to train, left in the store so that a report can tell how far it is.

A plan holds a line for each setting: its digest, its rule, its episodes, and the digests of its runs in one text of 43
letters each. Nothing depends on it.
"""

import base64
import contextlib
import functools
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from coexplore.run.run import Run
from coexplore.settings import Json
from coexplore.store.sealed import readable, write
from coexplore.store.texts import StoreError, read_json

SIZE = 32  # bytes of a digest


class Planned(NamedTuple):
    digest: str
    setting: str
    rule: str
    episodes: int


def planned(run: Run) -> Planned:
    return Planned(run.digest, run.setting.digest, run.rules[0].name, run.length)


def write_plan(folder: Path, runs: Iterable[Run]) -> None:
    """The same runs make the same file, so that processes that share a study share its plan."""
    settings: dict[tuple[str, str, int], list[str]] = {}
    for digest, setting, rule, episodes in map(planned, dict.fromkeys(runs)):
        settings.setdefault((setting, rule, episodes), []).append(digest)
    text = json.dumps([[*shared, _letters(digests)] for shared, digests in settings.items()])
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    with contextlib.suppress(OSError):  # a plan is a courtesy: no training fails for it
        write(folder / f"{name}.json", text.encode())


def read_latest_plan(folder: Path) -> list[Planned]:
    """The runs of the plan that was written last; none where there is no plan that can be read."""
    plans: list[tuple[int, Path]] = []
    for path in folder.glob("*.json"):
        with contextlib.suppress(OSError):  # it may be gone again
            plans.append((path.stat().st_mtime_ns, path))
    for written, path in sorted(plans, reverse=True):
        with contextlib.suppress(StoreError):
            return _read(path, written)
    return []


@functools.lru_cache(maxsize=1)  # a served report asks every other second
def _read(path: Path, written: int) -> list[Planned]:
    with readable(path, "plan"):
        return [_checked(run) for line in read_json(path) for run in _runs(*line)]


def _runs(*line: Json) -> list[Planned]:
    first, second, third, last = line
    if isinstance(last, int):  # of an earlier version, with a line for each run
        return [Planned(first, second, third, last)]
    return [Planned(digest, first, second, third) for digest in _digests(last)]


def _checked(run: Planned) -> Planned:
    if not all(isinstance(word, str) for word in run[:3]) or type(run.episodes) is not int or run.episodes < 1:
        raise ValueError("not runs")
    return run


def _letters(digests: list[str]) -> str:
    return base64.b64encode(bytes.fromhex("".join(digests))).decode()


def _digests(letters: str) -> list[str]:
    data = base64.b64decode(letters, validate=True)
    if not data or len(data) % SIZE:
        raise ValueError("not digests")
    return [data[i : i + SIZE].hex() for i in range(0, len(data), SIZE)]
