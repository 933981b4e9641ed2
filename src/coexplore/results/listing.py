"""A list of results that shows what they came to: a line for each setting, in a terminal and in a notebook."""

import collections
import html
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, SupportsIndex, overload

from coexplore.run import Failure, Result, Run, by_purpose, failure_count, labels
from coexplore.run.accuracy import HEADING
from coexplore.run.frozen import may_freeze
from coexplore.run.result import JUDGING, NONE, Purpose
from coexplore.settings import refusal
from coexplore.stats.bounded import Bounds
from coexplore.stats.estimates import SHARE
from coexplore.stats.seed_summary import METHOD, SeedSummary, notes

SCORES = {"first": "first quarter", "last": "last quarter", "accuracy": HEADING}
MOST_ROWS = 20
WIDEST = 80  # characters of a setting's name in a terminal


class Lines(NamedTuple):
    """The cells of a table and what to say below it; `more` settings do not fit into it."""

    headings: list[str]
    rows: list[list[str]]
    notes: list[str]
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
        headings, rows, below, more = lines(self, MOST_ROWS)
        rows = [headings, *([_cut(name), *rest] for name, *rest in rows)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        padded = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
        return "\n".join([self._heading(), *(line.rstrip() for line in padded), *below, *self._below(more)])

    def _repr_html_(self) -> str:
        if not self:
            return "no results"
        headings, rows, below, more = lines(self, MOST_ROWS)
        table = "".join([_html("th", headings), *(_html("td", row) for row in rows)])
        told = "".join(f"<p>{html.escape(line)}</p>" for line in (*below, *self._below(more)))
        return f"<p>{self._heading()}</p><table>{table}</table>{told}"

    def _heading(self) -> str:
        return f"{tally(self)}; reward: {METHOD}"

    def _below(self, more: int) -> list[str]:
        """The last lines below the table, of whose settings `more` are not shown."""
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


def seed_summary(same: Sequence[Result], score: str) -> SeedSummary:
    """What runs of one setting came to in a score: `reward`, `first`, `last` or `accuracy`, of those that have it."""
    task = same[0].setting.task
    ends = (SHARE, SHARE) if score == "accuracy" else (task.reward_range, task.possible_rewards)
    return summarised(same, [getattr(result, score) for result in same], *ends)


def summaries(same: Sequence[Result]) -> dict[str, SeedSummary]:
    """What runs of one setting came to in each score that they have, the reward over all episodes first."""
    found = {score: seed_summary(same, score) for score in ("reward", *SCORES)}
    return {score: one for score, one in found.items() if one.n}


def summarised(
    same: Sequence[Result], values: Sequence[float | None], bounds: Bounds | None, possible: Bounds
) -> SeedSummary:
    """The summary of a value for each run of one setting, None where there is none."""
    known = [(float(value), result.frozen) for result, value in zip(same, values, strict=True) if value is not None]
    learned, froze = (tuple(value for value, stuck in known if stuck is kind) for kind in (False, True))
    return SeedSummary(learned, froze, may_freeze(same[0].setting), bounds, possible)


def lines(results: Iterable[Result], most: int | None = None, judged: bool = False) -> Lines:
    """A row for each setting, the first `most` of them; `judged`: on seeds that did not choose these settings. Seeds
    that chose a setting and seeds that judged it are two rows."""
    groups = by_purpose(results)
    shown = dict(itertools.islice(groups.items(), most))
    found = [summaries(same) for same in shown.values()]
    scores = [name for name in SCORES if any(name in each for each in found)]
    freezing = any(each["last"].frozen for each in found)
    searched = {purpose for _, purpose in groups} - {NONE}
    rows = [
        [label, *[purpose] * bool(searched), str(len(same))]
        + [each[name].text if name in each else "" for name in scores]
        + [str(each["last"].frozen or "")] * freezing
        for label, ((_, purpose), same), each in zip(
            labels([setting for setting, _ in shown]), shown.items(), found, strict=True
        )
    ]
    headings = ["setting", *["trained for"] * bool(searched), "seeds", *map(SCORES.__getitem__, scores)]
    said = notes(each[name] for each in found for name in scores if name in each)
    luck = [] if judged else best_of(setting for setting, purpose in groups if purpose != JUDGING)
    return Lines([*headings, *["frozen"] * freezing], rows, said + luck, len(groups) - len(shown))


def group_labels(groups: Iterable[Purpose], rule_name: Callable[[str], str] = str) -> list[str]:
    """A label for each group; what its runs were trained for is in it where groups differ in that."""
    groups = list(groups)
    named = labels([setting for setting, _ in groups], rule_name)
    if len({purpose for _, purpose in groups}) == 1:
        return named
    return [f"{label} trained-for={purpose}" for label, (_, purpose) in zip(named, groups, strict=True)]


def best_of(settings: Iterable[Run]) -> list[str]:
    """What to say where a rule has several settings on one task: the lead of the best of them is partly luck."""
    alike = collections.Counter((tuple(rule.name for rule in run.rules), run.task.label) for run in settings)
    most = max(alike.values(), default=0)
    return [f"best of {most}: judge it on other seeds (`coexplore tune`)"] if most > 1 else []


def tally(results: Sequence[Result]) -> str:
    """How many there are, who trained them and how many froze."""
    engines = ", ".join(sorted({result.engine for result in results}))
    return f"{len(results)} runs ({engines}), {sum(result.frozen for result in results)} of them frozen"


def _cut(name: str) -> str:
    return name if len(name) <= WIDEST else name[: WIDEST - 1] + "…"


def _html(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"
