"""What a study has set out to train, left in the store so that a report can tell how far it is.

A plan holds a line for each run: its digest, its setting's, its rule and its episodes. Nothing depends on it.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from coexplore.run.run import Run
from coexplore.settings import Json
from coexplore.store.sealed import write


class Planned(NamedTuple):
    digest: str
    setting: str
    rule: str
    episodes: int


def planned(run: Run) -> Planned:
    return Planned(run.digest, run.setting.digest, run.rules[0].name, run.episodes)


def write_plan(folder: Path, runs: Iterable[Run]) -> None:
    """The same runs make the same file, so that processes that share a study share its plan."""
    text = json.dumps([planned(run) for run in dict.fromkeys(runs)])
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    with contextlib.suppress(OSError):  # a plan is a courtesy: no training fails for it
        write(folder / f"{name}.json", text.encode())


def read_latest_plan(folder: Path) -> list[Planned]:
    """The runs of the plan that was written last; none where there is no plan that can be read."""
    plans: list[tuple[float, Path]] = []
    for path in folder.glob("*.json"):
        with contextlib.suppress(OSError):  # it may be gone again
            plans.append((path.stat().st_mtime, path))
    for _, path in sorted(plans, reverse=True):
        with contextlib.suppress(OSError, ValueError, TypeError, OverflowError):
            return [_checked(*line) for line in json.loads(path.read_text())]
    return []


def _checked(digest: Json, setting: Json, rule: Json, episodes: Json) -> Planned:
    return Planned(str(digest), str(setting), str(rule), int(episodes))
