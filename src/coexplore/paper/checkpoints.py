"""Networks on their way: where a run first earns so much, how fast it got there, and the table of what was measured.

While no rate changes, a run of fewer episodes is the beginning of a longer one bit for bit: a checkpoint is a run of
its own, kept in the store like any other. The table stands beside the runs: `gradients.json` in the folder of a store,
NAME.json beside NAME.safetensors.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coexplore.paper.evidence import Row
from coexplore.paper.figure import resized
from coexplore.paper.gradients import PARTS, RIGHT, STATISTICS
from coexplore.paper.open_figures.why import BACKPROP, ESTIMATES, SIZES, at_size
from coexplore.run import Result, Run, change
from coexplore.store import LARGEST, read_json, readable, write

LEVELS, SEEDS = (0.1, 0.3, 0.5, 0.7), 5  # of reward; how many seeds of a setting are looked at on their way
WINDOW = 16_000  # episodes whose mean reward has to reach a level
POINTS = 200  # of a curve as packs keep it
NAME = "gradients.json"
WORDS = ("label", "digest", "setting", "engine")
COUNTS = ("units", "seed", "episodes")


def networks() -> dict[tuple[str, int], Run]:
    """What is looked at, by label and size."""
    drawing = {(label, N): at_size(run, N) for label, run in ESTIMATES.items() for N in SIZES}
    return {**drawing, ("plain backprop", BACKPROP.hidden[0]): BACKPROP}


def checkpoint(result: Result, level: float) -> Run | None:
    """The same run, stopped where the mean reward of a window first reached the level; None where it never does."""
    P, run = len(result.curve), result.run
    width = max(1, P * WINDOW // run.episodes)
    means = np.convolve(result.curve, np.full(width, 1 / width), "valid")
    passed = np.flatnonzero(means >= level)
    if not len(passed):
        return None
    updates = (int(passed[0]) + width) * run.updates // P
    return change(run, "episodes", updates * run.batch)


def checkpoints(results: Iterable[Result], episodes: int) -> list[tuple[dict[str, Any], Run]]:
    """Of the first seeds of each network: the head of a row of the table, and the run that ends there."""
    wanted = {resized(run, episodes).setting: label for (label, _), run in networks().items()}
    known = [result for result in results if result.setting in wanted]
    seeds = sorted({result.seed for result in known})[:SEEDS]
    found = []
    for result in known:
        head = {"label": wanted[result.setting], "units": result.run.hidden[0], "seed": result.seed}
        head["setting"] = result.setting.digest
        for level in LEVELS if result.seed in seeds else ():
            if run := checkpoint(result, level):
                found.append(({**head, "level": level, "episodes": run.episodes}, run))
    return found


def episodes_to(result: Result, level: float) -> float | None:
    """When the curve reached a level, from a point's middle to the next in a straight line; None: it never did."""
    curve = np.asarray(result.curve, np.float64)
    curve = curve.reshape(POINTS, -1).mean(axis=1) if len(curve) % POINTS == 0 else curve
    passed, stretch = np.flatnonzero(curve >= level), result.run.episodes / len(curve)
    if not len(passed):
        return None
    i = int(passed[0])
    before, at = (float(curve[i - 1]) if i else 0.0), float(curve[i])
    share = max(0.0, level - before) / (at - before) if at > before else 1.0
    return float((i - 0.5 + share) * stretch) if i else 0.5 * share * stretch


def path_of(source: str | Path) -> Path:
    """Where the table of a store or a pack is."""
    source = Path(source)
    return source.with_suffix(".json") if source.suffix == ".safetensors" else source / NAME


def read_table(source: str | Path) -> list[Row]:
    """Nothing, if nothing was measured; StoreError if it is not such a table."""
    path = path_of(source)
    if not path.exists():
        return []
    with readable(path, "table of gradients"):
        rows = read_json(path)["gradients"]
        if not isinstance(rows, list) or not all(map(_is_row, rows)):
            raise ValueError("rows that were not measured")
        return rows


def write_table(source: str | Path, rows: Sequence[Row]) -> None:
    """A line for each network."""
    ordered = sorted(rows, key=lambda row: (row["label"], row["units"], row["level"], row["seed"], row["engine"]))
    lines = ",\n".join(json.dumps(row, sort_keys=True, allow_nan=False) for row in ordered)
    write(path_of(source), f'{{"gradients": [\n{lines}\n]}}\n'.encode())


def _is_row(row: Any) -> bool:
    if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in WORDS):
        return False
    counts = all(type(row.get(name)) is int and row[name] >= 0 for name in COUNTS)
    homes = [row, *([row[RIGHT]] if row.get(RIGHT) != {} and RIGHT in row else [])]
    if not all(isinstance(home, dict) and "forward" in home for home in homes):
        return False
    parts = [home[part] for home in homes for part in PARTS if part in home]
    return counts and _is_number(row.get("level")) and _is_number(row.get("reward")) and all(map(_is_part, parts))


def _is_part(part: Any) -> bool:
    return isinstance(part, dict) and all(_is_estimate(part.get(name)) for name in STATISTICS)


def _is_estimate(pair: Any) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(x is None or _is_number(x) for x in pair)


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool) and abs(x) <= LARGEST
