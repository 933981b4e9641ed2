"""Each figure drawn from the results there are."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from coexplore.paper.evidence import Evidence, Found, NotRun, found
from coexplore.paper.figure import SCALES, Figure
from coexplore.paper.figures import heading
from coexplore.paper.measures import draws
from coexplore.results import marks, plots
from coexplore.run import Result

WINDOWS = {"first": "first {}", "last": "last {}", "reward": "all episodes"}


def draw(
    figure: Figure, results: Iterable[Result], folder: str | Path, episodes: int = SCALES["paper"].episodes
) -> list[Path]:
    """Write NAME.png and NAME.svg. What is not trained is left out, and the picture says so; NotRun if all is."""
    evidence = Evidence(results, figure.length(episodes))
    drawn, missing = found(figure, evidence)
    if not drawn:
        raise NotRun(f"{figure.name}: nothing of it")
    page, axes = plots.panels(max(1, len(figure.windows)), wide=figure.kind in ("bars", "map"))
    PAINTERS[figure.kind](figure, axes, drawn)
    for panel, window in zip(axes, figure.windows, strict=False):
        panel.set_ylabel(f"reward, {WINDOWS[window].format(figure.span(evidence.episodes // 4))}")
    if figure.kind == "bars" or (len(axes) > 1 and figure.kind != "map"):
        plots.add_shared_legend(page, axes[0], heading(figure))
    else:
        page.suptitle(heading(figure), size=12)
    plots.add_caption(page, _caption(figure, drawn, missing, evidence))
    paths = [Path(folder) / f"{figure.name}.{kind}" for kind in ("png", "svg")]
    plots.save(page, *paths)
    return paths


def _caption(figure: Figure, found: Found, missing: int, evidence: Evidence) -> str:
    groups = [results for places in found.values() for _, results in places.values()]
    text = plots.caption(groups, _band(figure, found))
    if figure.kind == "bars" and any(marks.Place.of(same, w).apart for same in groups for w in figure.windows):
        text += "; dots: single seeds, where they come out in two kinds"
    if evidence.episodes != SCALES["paper"].episodes:
        text += f" · {figure.span(evidence.episodes)}, not the paper's {figure.span(SCALES['paper'].episodes)}"
    return text + (f" · {missing} setting{'s' * (missing > 1)} not trained" if missing else "")


def _band(figure: Figure, found: Found) -> str:
    return "" if figure.kind == "map" else "standard error" if _against(figure, found) else "sd"


def _against(figure: Figure, found: Found) -> str:
    """The line that the others are shown as differences from, if it was trained."""
    return figure.against if figure.against in found else ""


def _curves(figure: Figure, axes: list[Any], found: Found) -> None:
    groups = {label: results for label, places in found.items() for _, results in places.values()}
    if against := _against(figure, found):
        marks.differences(axes[0], groups, _lines(found), against)
    else:
        marks.curves(axes[0], groups, _lines(found))


def _compute(figure: Figure, axes: list[Any], found: Found) -> None:
    groups = {label: results for label, places in found.items() for _, results in places.values()}
    marks.curves(axes[0], groups, _lines(found), lambda result: draws(result.run))


def _sweep(figure: Figure, axes: list[Any], found: Found) -> None:
    for panel, window in zip(axes, figure.windows, strict=True):
        marks.sweep(panel, _places(figure, found, window), _lines(found), figure.axis, named=len(axes) == 1)


def _map(figure: Figure, axes: list[Any], found: Found) -> None:
    for panel, window in zip(axes, figure.windows, strict=True):
        marks.heat(panel, _places(figure, found, window), figure.axis)


def _bars(figure: Figure, axes: list[Any], found: Found) -> None:
    for panel, window in zip(axes, figure.windows, strict=True):
        marks.bars(panel, _places(figure, found, window), _lines(found), figure.axis)
    axes[0].set_ylim(bottom=0)  # when all panels, which share it, have said how high they are


def _places(figure: Figure, found: Found, window: str) -> marks.Places:
    return {
        label: {x: _place(figure, label, x, best, same, window) for x, (best, same) in places.items()}
        for label, places in found.items()
    }


def _place(figure: Figure, label: str, x: Any, best: Any, same: list[Result], window: str) -> marks.Place:
    note = f"c = {best.rules[0].coupling:g}" if len(figure.lines[label][x]) > 1 else ""
    return marks.Place.of(same, window, note)


def _lines(found: Found) -> list[marks.Line]:
    return plots.lines({label: plots.rule_of(next(iter(places.values()))[1]) for label, places in found.items()})


PAINTERS = {"curves": _curves, "compute": _compute, "sweep": _sweep, "map": _map, "bars": _bars}
