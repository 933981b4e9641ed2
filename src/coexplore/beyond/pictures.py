"""Pictures of what was trained beyond the paper."""

from collections.abc import Sequence
from pathlib import Path

from coexplore import plots
from coexplore.beyond.supervised import Comparison, Row, accuracies, learning


def draw(comparison: Comparison, rows: Sequence[Row], folder: Path) -> Path:
    """NAME.png: held-out accuracy at the end with 95 % intervals, and on the way there, a panel a kind of reward."""
    curves = learning(rows)
    page, axes = plots.panels(1 + len(curves))
    plots.intervals(axes[0], accuracies(rows))
    axes[0].set_ylabel("held-out accuracy")
    for one, (title, traces) in zip(axes[1:], curves.items(), strict=True):
        plots.traces(one, traces, plots.lines(list(traces)))
        one.set_title(title, size=10)
        if one is not axes[-1]:
            one.get_legend().remove()  # one will do
    page.suptitle(f"{comparison.title}: one hidden layer of 64 units", size=12)
    path = folder / f"{comparison.name}.png"
    plots.save(page, path)
    return path
