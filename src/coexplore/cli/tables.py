"""Results on a terminal, and as plain data for scripts."""

import itertools
import math
import sys
from typing import Any

from rich.console import Console
from rich.table import Table

from coexplore.results.stats import SHARE, summary, window
from coexplore.run import Result, by_setting, command, labels
from coexplore.study import Tuned

MOST_ROWS = 100


def console() -> Console:
    return Console() if sys.stdout.isatty() else Console(width=140)


def result_table(results: list[Result], what: str = "reward") -> Table:
    """A line for each setting."""
    settings = by_setting(results)
    shown = dict(itertools.islice(settings.items(), MOST_ROWS))
    table = Table(title=f"{what}: mean ± sd over seeds [95 % interval of the mean]")
    for heading in ("setting", "seeds", "first quarter", "last quarter"):
        table.add_column(heading, justify="right" if heading == "seeds" else "left")
    if judged := any(result.accuracy is not None for same in shown.values() for result in same):
        table.add_column("held-out accuracy")
    for label, same in zip(labels(list(shown)), shown.values(), strict=True):
        first, last = window(same, "first"), window(same, "last")
        table.add_row(label, str(len(same)), str(first), str(last), *([_accuracy(same)] if judged else []))
    if len(settings) > MOST_ROWS:
        table.caption = f"… and {len(settings) - MOST_ROWS} settings more: --select narrows, `runs export` has them all"
    return table


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


def _accuracy(same: list[Result]) -> str:
    known = [result.accuracy for result in same if result.accuracy is not None]
    return str(summary(known, SHARE)) if known else ""


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
