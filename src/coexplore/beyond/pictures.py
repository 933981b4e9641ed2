"""Pictures of what was trained beyond the paper."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coexplore.beyond import control, supervised
from coexplore.results import plots


def draw(comparison: Any, rows: Any, folder: Path) -> Path:
    """NAME.png."""
    picture = returns if isinstance(comparison, control.Comparison) else labels
    path = folder / f"{comparison.name}.png"
    plots.save(picture(comparison, rows), path)
    return path


def labels(comparison: supervised.Comparison, rows: Sequence[supervised.Row]) -> Any:
    """Held-out accuracy at the end with 95 % intervals, and on the way there, a panel for each kind of reward."""
    curves = supervised.learning(rows)
    page, axes = plots.panels(1 + len(curves))
    plots.intervals(axes[0], supervised.accuracies(rows))
    axes[0].set_ylabel("held-out accuracy")
    for panel, (title, traces) in zip(axes[1:], curves.items(), strict=True):
        plots.traces(panel, traces, plots.lines({rule: rule for rule in traces}))
        panel.set_title(title, size=10)
        if panel is not axes[-1]:
            panel.get_legend().remove()  # one will do
    page.suptitle(f"{comparison.title}: one hidden layer of 64 units", size=12)
    return page


def returns(comparison: control.Comparison, rows: dict[str, list[control.Row]]) -> Any:
    """Learning curves, a panel for the author's settings and one for equal conditions."""
    titles = {"author": "the author's settings", "equal": "equal conditions"}
    shown = {titles[kind]: {row.entry.label: row.results for row in mine} for kind, mine in rows.items() if mine}
    page, axes = plots.panels(len(shown))
    axes[0].set_ylabel("return of an episode")
    for panel, (title, groups) in zip(axes, shown.items(), strict=True):
        bands = len(groups) <= 6  # more of them, in environments so noisy, hide the curves
        lines = plots.lines({label: plots.rule_of(same) for label, same in groups.items()})
        plots.curves(panel, groups, lines, bands=bands)
        panel.set_title(f"{title}, {plots.caption(groups.values(), bands)}", size=10)
    page.suptitle(comparison.title, size=12)
    return page
