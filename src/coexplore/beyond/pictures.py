"""Pictures of what was trained beyond the paper."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coexplore import plots
from coexplore.beyond import control, supervised


def draw(comparison: Any, rows: Any, folder: Path) -> Path:
    """NAME.png."""
    make = returns if isinstance(comparison, control.Comparison) else labels
    path = folder / f"{comparison.name}.png"
    plots.save(make(comparison, rows), path)
    return path


def labels(comparison: supervised.Comparison, rows: Sequence[supervised.Row]) -> Any:
    """Held-out accuracy at the end with 95 % intervals, and on the way there, a panel a kind of reward."""
    curves = supervised.learning(rows)
    page, axes = plots.panels(1 + len(curves))
    plots.intervals(axes[0], supervised.accuracies(rows))
    axes[0].set_ylabel("held-out accuracy")
    for one, (title, traces) in zip(axes[1:], curves.items(), strict=True):
        plots.traces(one, traces, plots.lines(list(traces)))
        one.set_title(title, size=10)
        if one is not axes[-1]:
            one.get_legend().remove()  # one will do
    page.suptitle(f"{comparison.title}: one hidden layer of 64 units", size=12)
    return page


def returns(comparison: control.Comparison, rows: dict[str, list[control.Row]]) -> Any:
    """Learning curves, a panel for the author's settings and one for equal conditions."""
    titles = {"author": "the author's settings", "equal": "equal conditions"}
    shown = {titles[kind]: {row.entry.label: row.results for row in found} for kind, found in rows.items() if found}
    page, axes = plots.panels(len(shown))
    axes[0].set_ylabel("return of an episode")
    for one, (title, groups) in zip(axes, shown.items(), strict=True):
        bands = len(groups) <= 6  # more of them, in environments so noisy, hide the curves
        plots.curves(one, groups, plots.lines(list(groups)), bands=bands)
        one.set_title(f"{title}, {plots.told(groups.values(), bands)}", size=10)
    page.suptitle(comparison.title, size=12)
    return page
