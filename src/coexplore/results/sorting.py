"""Results in an order that a person can follow: settings side by side, their seeds together."""

from collections.abc import Callable, Iterable

import numpy as np

from coexplore.results.frames import OUTCOMES, parts
from coexplore.results.tables import Cell
from coexplore.run import Result, by_purpose, dashed
from coexplore.run.result import Purpose
from coexplore.settings import refusal

FROM_THE_TOP = ("reward", "first", "last", "accuracy", "frozen", "seconds", "finished")  # best, most or latest first
Key = list[tuple[int, Cell]]


def ordered(results: Iterable[Result], column: str | None = None) -> list[Result]:
    """By rule, task and settings, numbers by their size; or by one column of the table first: settings from the
    smallest, what came out (its mean over seeds) from the largest. Seeds that chose a setting and seeds that judged it
    are sorted as two settings would be."""
    groups = {group: sorted(same, key=lambda r: r.seed) for group, same in by_purpose(results).items()}
    settings = {setting: _flat(parts(setting).values()) for setting in dict.fromkeys(setting for setting, _ in groups)}
    cells = {group: settings[group[0]] for group in groups}
    columns = list(dict.fromkeys(name for own in cells.values() for name in own))
    order = sorted(groups, key=lambda group: (_key(cells[group], columns), group[1]))
    if column is not None:
        name = column.lstrip("-").replace("-", "_")
        known = [*columns, *OUTCOMES]
        if name not in known:
            raise refusal("sort", column, f"one of {', '.join(map(dashed, known))}", map(dashed, known))
        if name in columns:
            order.sort(key=lambda group: _key(cells[group], [name]))
        else:
            order.sort(key=_outcome(groups, name), reverse=name in FROM_THE_TOP)
    return [result for group in order for result in groups[group]]


def _flat(parts: Iterable[dict[str, Cell]]) -> dict[str, Cell]:
    return {name: cell for own in parts for name, cell in own.items()}


def _key(cells: dict[str, Cell], columns: list[str]) -> Key:
    """Numbers, then words; what is missing comes last."""
    values = [cells.get(name) for name in columns]
    return [(2, "") if value is None else (int(isinstance(value, str)), value) for value in values]


def _outcome(groups: dict[Purpose, list[Result]], name: str) -> Callable[[Purpose], tuple[bool, Cell]]:
    """Of all seeds of a group: the mean of numbers, else the largest; where nobody knows it, less than all others."""

    def key(group: Purpose) -> tuple[bool, Cell]:
        known = [value for result in groups[group] if (value := OUTCOMES[name](result)) is not None]
        words = [value for value in known if isinstance(value, str)]
        numbers = [float(value) for value in known if not isinstance(value, str)]
        return bool(known), max(words) if words else float(np.mean(numbers)) if numbers else ""

    return key
