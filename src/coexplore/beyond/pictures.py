"""Pictures of what was trained beyond the paper."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coexplore.beyond import control, supervised
from coexplore.results import marks, plots
from coexplore.run.accuracy import HEADING


def draw(comparison: Any, rows: Any, folder: Path) -> Path:
    """NAME.png."""
    picture = returns if isinstance(comparison, control.Comparison) else labels
    path = folder / f"{comparison.name}.png"
    plots.save(picture(comparison, rows), path)
    return path


def labels(comparison: supervised.Comparison, rows: Sequence[supervised.Row]) -> Any:
    """Held-out accuracy at the end with 95 % intervals, and on the way there, a panel for each kind of reward."""
    curves, accuracies = supervised.learning(rows), supervised.accuracies(rows)
    page, axes = plots.above(len(curves))
    best_first = sorted(rows, key=lambda row: -row.accuracy.mean)
    lines = plots.lines({row.rule: row.rule for row in best_first})
    marks.intervals(axes[0], accuracies, lines)
    axes[0].set_xlabel(f"{HEADING}, in the end")
    for panel, (title, traces) in zip(axes[1:], curves.items(), strict=True):
        marks.traces(panel, traces, [line for line in lines if line.label in traces])
        panel.set_title(title, size=10)
    axes[1].set_ylabel(HEADING)
    page.suptitle(f"{comparison.title}: one hidden layer of 64 units", size=12)
    return page


def returns(comparison: control.Comparison, rows: dict[str, list[control.Row]]) -> Any:
    """Learning curves, a panel for the author's settings and one for equal conditions."""
    titles = {"author": "the author's settings", "equal": "equal conditions"}
    shown = {titles[kind]: {row.entry.label: row.results for row in mine} for kind, mine in rows.items() if mine}
    page, axes = plots.panels(len(shown), wide=True)
    for panel, (title, groups) in zip(axes, shown.items(), strict=True):
        lines = plots.lines({label: plots.rule_of(same) for label, same in groups.items()})
        marks.curves(panel, groups, lines)
        panel.set_ylabel("return of an episode")
        panel.set_title(f"{title}, {plots.caption(groups.values())}", size=10)
    page.suptitle(comparison.title, size=12)
    return page
