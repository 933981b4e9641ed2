"""Results on a terminal, and as plain data for scripts."""

import math
import sys
from typing import Any

from rich.console import Console
from rich.table import Table

from coexplore.results.listing import lines, summaries, summarised
from coexplore.results.tables import Cell, as_it_is, comma_separated, latex, markdown
from coexplore.run import Result, by_purpose, command, labels
from coexplore.run.evaluation import Evaluation
from coexplore.run.result import NONE
from coexplore.stats.seed_summary import METHOD, SeedSummary, notes
from coexplore.study import Tuned
from coexplore.tasks.base import AnyTask

MOST_ROWS = 100
FORMATS = ("table", "markdown", "latex", "csv")
RANKED = "best first by the mean of all runs"
OF_ONE = "of a single run: mean ± sd of its episodes [bounded 95 % interval; Student's where nobody knows bounds]"


def console() -> Console:
    """Of plain words: what somebody calls a task or a folder may look like rich's markup."""
    return Console(markup=False, emoji=False, width=None if sys.stdout.isatty() else 140)


def result_table(results: list[Result], what: str = "reward", most: int = MOST_ROWS, judged: bool = False) -> Table:
    """A line for each setting; where they were `judged` on seeds of their own, none of them is the best by luck."""
    headings, rows, below, more = lines(results, most, judged)
    table = _table(f"{what}: {METHOD}")
    for heading in headings:
        table.add_column(heading, justify="right" if heading == "seeds" else "left")
    for row in rows:
        table.add_row(*map(_in_two, row))
    rest = [f"… and {more} settings more: `runs --export FILE` has them all, --select narrows"] if more else []
    table.caption = _caption([*below, *rest])
    return table


def result_text(results: list[Result], form: str) -> str:
    """The table of `result_table` with all settings, in one of the FORMATS that is a text."""
    if form == "csv":
        rows = number_rows(results)
        columns = list(dict.fromkeys(name for row in rows for name in row))
        return comma_separated(columns, [[row.get(name) for name in columns] for row in rows])
    headings, cells, below, _ = lines(results)
    title = f"reward: {METHOD}"
    if form == "latex":
        comments = "".join(f"% {line}\n" for line in (f"{title}; needs the package booktabs", *below))
        return f"{comments}{latex(headings, cells)}\n"
    named = [[as_it_is(label), *rest] for label, *rest in cells]
    said = "".join(f"\n- {as_it_is(line)}" for line in below)
    return f"{title}\n\n{markdown(headings, named)}\n" + (f"{said}\n" if said else "")


def number_rows(results: list[Result]) -> list[dict[str, Cell]]:
    """A row for each setting with each number by itself, named by its score: `last_mean`, `last_sd` …"""
    groups = by_purpose(results)
    named = labels([setting for setting, _ in groups])
    rows = []
    for label, ((_, purpose), same) in zip(named, groups.items(), strict=True):
        row: dict[str, Cell] = {"setting": label, "trained_for": purpose, "seeds": len(same)}
        for score, found in summaries(same).items():
            row |= {f"{score}_{name}": number for name, number in found.to_dict().items()}
        rows.append(row)
    return rows


def _table(title: str) -> Table:
    return Table(title=title, caption_justify="left")


def _in_two(cell: str) -> str:
    """A cell with what is said of all runs in a line of its own."""
    return cell.replace("; all ", "\nall ")


def _caption(lines: list[str]) -> str | None:
    return "\n".join(lines) or None


def described_settings(results: list[Result]) -> list[dict[str, Any]]:
    """What the runs of each setting came to, as JSON has it."""
    return [
        {
            "run": setting.to_dict(),
            "trained_for": purpose,
            **{name: found.to_dict() for name, found in summaries(same).items()},
        }
        for (setting, purpose), same in by_purpose(results).items()
    ]


def candidate_table(tuned: Tuned) -> Table:
    """A line for each setting that was tried, best first."""
    table = _table(f"{tuned.by} on the seeds that choose: {METHOD}; the first is luck and merit")
    for heading in ("candidate", tuned.by, "frozen"):
        table.add_column(heading)
    shown = list(tuned.scores)[:MOST_ROWS]
    for label, run in zip(labels(shown), shown, strict=True):
        table.add_row(label, _in_two(tuned.scores[run].text), str(tuned.scores[run].frozen or ""))
    more = tuned.tried - MOST_ROWS
    rest = [f"… and {more} settings more: --json has them all"] if more > 0 else []
    table.caption = _caption([RANKED, *notes(tuned.scores[run] for run in shown), *rest])
    return table


def evaluation_table(found: dict[Result, Evaluation], task: AnyTask | None) -> Table:
    """A line for each setting; `task` is what they were evaluated on, if not their own."""
    groups = by_purpose(found)
    searched = {purpose for _, purpose in groups} - {NONE}
    about = f"reward, {next(iter(found.values())).actions}"
    table = _table(f"{about}: {METHOD}; of a single run, over its episodes")
    for heading in ("setting", *(["trained for"] if searched else []), "seeds", "episodes", "reward", "frozen"):
        table.add_column(heading, justify="right" if heading in ("seeds", "episodes") else "left")
    shown = list(groups)[:MOST_ROWS]
    over_seeds = [_evaluated(groups[each], found, task) for each in shown]
    for label, each, over in zip(labels([setting for setting, _ in shown]), shown, over_seeds, strict=True):
        first = found[groups[each][0]]
        reward = str(first.summary) if over.n == 1 else _in_two(over.text)
        why = [each[1]] if searched else []
        table.add_row(label, *why, str(over.n), str(len(first.rewards)), reward, str(over.frozen or ""))
    more = len(groups) - MOST_ROWS
    rest = [f"… and {more} settings more: --select narrows, --json has them all"] if more > 0 else []
    table.caption = _caption([*notes(over_seeds), *([OF_ONE] if any(one.n == 1 for one in over_seeds) else []), *rest])
    return table


def _evaluated(same: list[Result], found: dict[Result, Evaluation], task: AnyTask | None) -> SeedSummary:
    """What the networks of one setting earn, each the mean over its episodes."""
    where = task or same[0].setting.task
    return summarised(same, [found[result].mean for result in same], where.reward_range, where.possible_rewards)


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
        "frozen": result.frozen,
        "curve": _points(result) if result.has_curve else None,
    }


def _points(result: Result) -> list[list[float | None]]:
    return [[float(x), null(float(r))] for x, r in zip(result.episodes, result.curve, strict=True)]


def null(x: float) -> float | None:
    return x if math.isfinite(x) else None
