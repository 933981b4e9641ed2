"""A list of results that shows what they came to: a line for each setting, in a terminal and in a notebook."""

import html
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, SupportsIndex, overload

import numpy as np

from coexplore.run import Failure, Result, by_purpose, failure_count, labels
from coexplore.run.accuracy import HEADING
from coexplore.run.result import NONE, Purpose
from coexplore.settings import refusal
from coexplore.stats.bounded import Bounds
from coexplore.stats.estimates import SHARE

WHAT = "reward, mean ± sd over seeds"
SCORES = {"first": "first quarter", "last": "last quarter", "accuracy": HEADING}
MOST_ROWS = 20
WIDEST = 80  # characters of a setting's name in a terminal


class Lines(NamedTuple):
    """The cells of a table; `more` settings do not fit into it."""

    headings: list[str]
    rows: list[list[str]]
    more: int


class Results(list[Result]):
    """A list of `results` that prints as a table: what `train` and `load` return. Slices and sums of it are such lists.

    `failures` has a `Failure` for each run that `train` could not finish. A slice, a sum or a sorted copy has none.
    """

    def __init__(self, results: Iterable[Result] = (), failures: Iterable[Failure] = ()) -> None:
        super().__init__(results)
        self.failures = tuple(failures)

    @overload
    def __getitem__(self, place: SupportsIndex) -> Result: ...
    @overload
    def __getitem__(self, place: slice) -> "Results": ...
    def __getitem__(self, place: SupportsIndex | slice) -> "Result | Results":
        return Results(super().__getitem__(place)) if isinstance(place, slice) else super().__getitem__(place)

    def __add__(self, others: list) -> "Results":  # type: ignore[override]  # of results, as the list is
        return Results([*self, *others])

    def __repr__(self) -> str:
        if not self:
            return "no results"
        headings, rows, more = lines(self, MOST_ROWS)
        rows = [headings, *([_cut(name), *rest] for name, *rest in rows)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        padded = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
        return "\n".join([f"{tally(self)}; {WHAT}", *(line.rstrip() for line in padded), *self._below(more)])

    def _repr_html_(self) -> str:
        if not self:
            return "no results"
        headings, rows, more = lines(self, MOST_ROWS)
        table = "".join([_html("th", headings), *(_html("td", row) for row in rows)])
        below = "".join(f"<p>{html.escape(line)}</p>" for line in self._below(more))
        return f"<p>{tally(self)}; {WHAT}</p><table>{table}</table>{below}"

    def _below(self, more: int) -> list[str]:
        """The lines below the table, of whose settings `more` are not shown."""
        cut = [f"… and {more} settings more; coexplore.frame(…) has every run"] if more else []
        return [*cut, *([failure_count(self.failures)] if self.failures else [])]


def gathered(results: object) -> list[Result]:
    """One result or several, as somebody gives them."""
    found: list[Result] = []
    for each in results if isinstance(results, Iterable) else [results]:
        if not isinstance(each, Result):
            raise refusal("results", each, "Results, such as train(…) and load(…) give")
        found.append(each)
    return found


def brief(values: Sequence[float], bounds: Bounds | None = None) -> str:
    """Mean and standard deviation; no interval, which would take longer than a glance."""
    return f"{np.mean(values):.3f}" + (f" ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else "")


def lines(
    results: Iterable[Result],
    most: int | None = None,
    cell: Callable[[Sequence[float], Bounds | None], str] = brief,
) -> Lines:
    """A row for each setting, the first `most` of them; a `cell` is made of the values of all seeds. Seeds that chose a
    setting and seeds that judged it are two rows."""
    groups = by_purpose(results)
    shown = dict(itertools.islice(groups.items(), most))
    found = {group: score_values(same) for group, same in shown.items()}
    scores = [name for name in SCORES if any(name in values for values in found.values())]
    searched = {purpose for _, purpose in groups} - {NONE}
    rows = []
    for label, (group, values) in zip(labels([setting for setting, _ in shown]), found.items(), strict=True):
        cells = [cell(*values[name]) if name in values else "" for name in scores]
        rows.append([label, *([group[1]] if searched else []), str(len(shown[group])), *cells])
    headings = ["setting", *(["trained for"] if searched else []), "seeds", *map(SCORES.__getitem__, scores)]
    return Lines(headings, rows, len(groups) - len(shown))


def group_labels(groups: Iterable[Purpose], rule_name: Callable[[str], str] = str) -> list[str]:
    """A label for each group; what its runs were trained for is in it where groups differ in that."""
    groups = list(groups)
    named = labels([setting for setting, _ in groups], rule_name)
    if len({purpose for _, purpose in groups}) == 1:
        return named
    return [f"{label} trained-for={purpose}" for label, (_, purpose) in zip(named, groups, strict=True)]


def score_values(same: Sequence[Result]) -> dict[str, tuple[list[float], Bounds | None]]:
    """The values of each score that the runs of a setting have, and its bounds."""
    known = {name: [value for result in same if (value := getattr(result, name)) is not None] for name in SCORES}
    bounds = {name: SHARE if name == "accuracy" else same[0].setting.task.reward_range for name in SCORES}
    return {name: (values, bounds[name]) for name, values in known.items() if values}


def tally(results: Sequence[Result]) -> str:
    """How many there are, who trained them and how many froze."""
    engines = ", ".join(sorted({result.engine for result in results}))
    return f"{len(results)} runs ({engines}), {sum(result.frozen for result in results)} of them frozen"


def _cut(name: str) -> str:
    return name if len(name) <= WIDEST else name[: WIDEST - 1] + "…"


def _html(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"
