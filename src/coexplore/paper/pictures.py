"""Each figure drawn from the results there are."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from coexplore.paper.evidence import Evidence, Found, NotRun, found
from coexplore.paper.figure import SCALES, Figure
from coexplore.paper.figures import heading
from coexplore.paper.measures import draws
from coexplore.results import plots
from coexplore.run import Result
from coexplore.stats.estimates import Summary
from coexplore.stats.estimates import window as summary

WINDOWS = {"first": "first {:,} episodes", "last": "last {:,} episodes", "reward": "all episodes"}


def draw(
    figure: Figure, results: Iterable[Result], folder: str | Path, episodes: int = SCALES["paper"].episodes
) -> list[Path]:
    """Write NAME.png and NAME.svg. What is not trained is left out, and the picture says so; NotRun if all is."""
    evidence = Evidence(results, figure.length(episodes))
    drawn, missing = found(figure, evidence)
    if not drawn:
        raise NotRun(f"{figure.name}: nothing of it")
    page, axes = plots.panels(max(1, len(figure.windows)), 10.0 if figure.kind == "bars" else 8.0)
    PAINTERS[figure.kind](figure, axes, drawn)
    for panel, window in zip(axes, figure.windows, strict=False):
        panel.set_ylabel(f"reward, {WINDOWS[window].format(evidence.episodes // 4)}")
    if figure.kind == "bars":
        plots.add_shared_legend(page, axes[0], heading(figure))
    else:
        page.suptitle(heading(figure), size=12)
        for legend in filter(None, (panel.get_legend() for panel in axes[:-1])):
            legend.remove()  # one will do
    page.supxlabel(_caption(drawn, missing, evidence, figure.kind != "map"), size=8, color="#444444")
    paths = [Path(folder) / f"{figure.name}.{kind}" for kind in ("png", "svg")]
    Path(folder).mkdir(parents=True, exist_ok=True)
    plots.save(page, *paths)
    return paths


def _caption(found: Found, missing: int, evidence: Evidence, bands: bool) -> str:
    groups = [results for places in found.values() for _, results in places.values()]
    text = plots.caption(groups, bands)
    if evidence.episodes != SCALES["paper"].episodes:
        text += f" · {evidence.episodes:,} episodes, not the paper's {SCALES['paper'].episodes:,}"
    return text + (f" · {missing} setting{'s' * (missing > 1)} not trained" if missing else "")


def _curves(figure: Figure, axes: list[Any], found: Found) -> None:
    groups = {label: results for label, places in found.items() for _, results in places.values()}
    plots.curves(axes[0], groups, _lines(figure, found))


def _compute(figure: Figure, axes: list[Any], found: Found) -> None:
    groups = {label: results for label, places in found.items() for _, results in places.values()}
    plots.curves(axes[0], groups, _lines(figure, found), lambda result: draws(result.run))


def _sweep(figure: Figure, axes: list[Any], found: Found) -> None:
    for panel, window in zip(axes, figure.windows, strict=True):
        plots.sweep(panel, _summaries(found, window), _lines(figure, found), figure.axis)


def _map(figure: Figure, axes: list[Any], found: Found) -> None:
    for panel, window in zip(axes, figure.windows, strict=True):
        plots.heat(panel, _summaries(found, window), figure.axis)


def _bars(figure: Figure, axes: list[Any], found: Found) -> None:
    notes = {
        label: {x: _chosen(figure, label, x, best) for x, (best, _) in places.items()}
        for label, places in found.items()
    }
    for panel, window in zip(axes, figure.windows, strict=True):
        plots.bars(panel, _summaries(found, window), _lines(figure, found), notes, figure.axis)


def _chosen(figure: Figure, label: str, x: Any, best: Any) -> str:
    return f"c = {best.rules[0].coupling:g}" if len(figure.lines[label][x]) > 1 else ""


def _summaries(found: Found, window: str) -> dict[str, dict[float | int, Summary]]:
    return {
        label: {x: summary(results, window) for x, (_, results) in places.items()} for label, places in found.items()
    }


def _lines(figure: Figure, found: Found) -> list[plots.Line]:
    rules = {label: plots.rule_of(next(iter(places.values()))[1]) for label, places in found.items()}
    return plots.lines(rules, figure.ordered_among(rules))


PAINTERS = {"curves": _curves, "compute": _compute, "sweep": _sweep, "map": _map, "bars": _bars}
