"""Results on a terminal, and as plain data for scripts."""

import math
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from coexplore.results.listing import lines, score_values
from coexplore.results.tables import Cell, as_it_is, comma_separated, latex, markdown
from coexplore.run import Result, by_purpose, command, labels
from coexplore.run.evaluation import Evaluation
from coexplore.run.result import NONE
from coexplore.stats.bounded import Bounds
from coexplore.stats.estimates import summary
from coexplore.study import Tuned
from coexplore.tasks.base import AnyTask

MOST_ROWS = 100
CELLS = "mean ± sd over seeds [95 % interval of the mean]"
FORMATS = ("table", "markdown", "latex", "csv")


def console() -> Console:
    """Of plain words: what somebody calls a task or a folder may look like rich's markup."""
    return Console(markup=False, emoji=False, width=None if sys.stdout.isatty() else 140)


def result_table(results: list[Result], what: str = "reward", most: int = MOST_ROWS) -> Table:
    """A line for each setting."""
    headings, rows, more = lines(results, most, _summed_up)
    table = Table(title=f"{what}: {CELLS}")
    for heading in headings:
        table.add_column(heading, justify="right" if heading == "seeds" else "left")
    for row in rows:
        table.add_row(*row)
    if more:
        table.caption = f"… and {more} settings more: `runs --export FILE` has them all, --select narrows"
    return table


def result_text(results: list[Result], form: str) -> str:
    """The same table with all settings, in one of the FORMATS that is a text."""
    if form == "csv":
        rows = number_rows(results)
        columns = list(dict.fromkeys(name for row in rows for name in row))
        return comma_separated(columns, [[row.get(name) for name in columns] for row in rows])
    headings, cells, _ = lines(results, None, _summed_up)
    title = f"reward: {CELLS}"
    if form == "latex":
        return f"% {title}; needs the package booktabs\n{latex(headings, cells)}\n"
    named = [[as_it_is(label), *rest] for label, *rest in cells]
    return f"{title}\n\n{markdown(headings, named)}\n"


def number_rows(results: list[Result]) -> list[dict[str, Cell]]:
    """The same table with each number by itself, named as the columns of a frame are: `last_mean`, `last_sd` …"""
    groups = by_purpose(results)
    named = labels([setting for setting, _ in groups])
    rows = []
    for label, ((_, purpose), same) in zip(named, groups.items(), strict=True):
        row: dict[str, Cell] = {"setting": label, "trained_for": purpose, "seeds": len(same)}
        for score, (values, bounds) in score_values(same).items():
            found = {**summary(values, bounds)._asdict(), "n": len(values)}
            row |= {f"{score}_{name}": null(number) for name, number in found.items()}
        rows.append(row)
    return rows


def _summed_up(values: Sequence[float], bounds: Bounds | None) -> str:
    return str(summary(values, bounds))


def candidate_table(tuned: Tuned) -> Table:
    """A line for each setting that was tried, best first."""
    table = Table(title=f"{tuned.by} on the seeds that choose: mean ± sd [95 % interval]; the first is luck and merit")
    for heading in ("candidate", tuned.by):
        table.add_column(heading)
    shown = list(tuned.scores)[:MOST_ROWS]
    for label, run in zip(labels(shown), shown, strict=True):
        table.add_row(label, str(tuned.scores[run]))
    if tuned.tried > MOST_ROWS:
        table.caption = f"… and {tuned.tried - MOST_ROWS} settings more: --json has them all"
    return table


def evaluation_table(found: dict[Result, Evaluation], task: AnyTask | None) -> Table:
    """A line for each setting; `task` is what they were evaluated on, if not their own."""
    groups = by_purpose(found)
    searched = {purpose for _, purpose in groups} - {NONE}
    about = f"reward, {next(iter(found.values())).actions}"
    table = Table(title=f"{about}: mean ± sd over seeds [95 % interval]; of a single one, over its episodes")
    for heading in ("setting", *(["trained for"] if searched else []), "seeds", "episodes", "reward"):
        table.add_column(heading, justify="right" if heading in ("seeds", "episodes") else "left")
    shown = list(groups)[:MOST_ROWS]
    for label, (setting, purpose) in zip(labels([setting for setting, _ in shown]), shown, strict=True):
        same = groups[setting, purpose]
        each = [found[result] for result in same]
        over_seeds = summary([one.mean for one in each], (task or setting.task).reward_range)
        reward = each[0].summary if len(same) == 1 else over_seeds
        why = [purpose] if searched else []
        table.add_row(label, *why, str(len(same)), str(len(each[0].rewards)), str(reward))
    if len(groups) > MOST_ROWS:
        table.caption = f"… and {len(groups) - MOST_ROWS} settings more: --select narrows, --json has them all"
    return table


def described(result: Result) -> dict[str, Any]:
    """A result as JSON has it."""
    repeat = command(result.run, result.provenance)
    return {
        "run": result.run.to_dict(),
        "command": repeat and f"{repeat} --engine {result.engine}",
        "digest": result.run.digest,
        "engine": result.engine,
        "reward": null(result.reward),
        "first": null(result.first),
        "last": null(result.last),
        **({} if result.accuracy is None else {"accuracy": result.accuracy}),
        "curve": _points(result) if result.has_curve else None,
    }


def _points(result: Result) -> list[list[float | None]]:
    return [[float(x), null(float(r))] for x, r in zip(result.episodes, result.curve, strict=True)]


def null(x: float) -> float | None:
    return x if math.isfinite(x) else None
