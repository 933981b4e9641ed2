"""The paper's figures as data for charts: what there is of each, line by line and place by place."""

from collections.abc import Sequence
from typing import Any

from coexplore.paper.evidence import Evidence, found
from coexplore.paper.figure import SCALES, Figure, resized
from coexplore.paper.figure import length as trained_for
from coexplore.paper.figures import FIGURES, heading
from coexplore.paper.tunings import TUNINGS
from coexplore.report.settings import WINDOWS, Settings, own_seeds, seeds_apart, spelled, windows
from coexplore.report.tunings import tunings
from coexplore.results.palette import legend
from coexplore.run import Result, Run

Places = dict[Any, tuple[Run, list[Result]]]


def figures(results: Sequence[Result], settings: Settings, episodes: int) -> list[dict[str, Any]]:
    """Those of which at least half was trained."""
    lengths = {figure.length(episodes) for figure in FIGURES.values()}
    evidence = {length: Evidence(results, length) for length in lengths}
    drawn = [_figure(figure, evidence[figure.length(episodes)], settings, episodes) for figure in FIGURES.values()]
    return [figure for figure in drawn if figure] + tunings(results, settings, episodes)


def untrained(drawn: Sequence[dict[str, Any]], episodes: int) -> list[dict[str, Any]]:
    """The other figures, with the command that would train them."""
    names = {figure["name"] for figure in drawn}
    usual = next((scale.seeds for scale in SCALES.values() if scale.episodes == episodes), 0)
    return [
        {"title": heading(figure), "command": repeat(figure.name, episodes, range(usual))}
        for figure in FIGURES.values()
        if figure.name not in names
    ]


def repeat(name: str, episodes: int, seeds: range) -> str | None:
    """The command that trains what a figure needs and draws it; None for a length that no scale has."""
    for scale, (length, usual) in SCALES.items():
        if length == episodes:
            words = [] if scale == "paper" else [f"--scale {scale}"]
            own = name in TUNINGS or seeds == range(usual)  # a search has seeds of its own
            return " ".join(["coexplore reproduce", name, *words, *([] if own else [f"--seeds {spelled(seeds)}"])])
    return None


def _figure(figure: Figure, evidence: Evidence, settings: Settings, episodes: int) -> dict[str, Any] | None:
    lines, missing = found(figure, evidence)
    if missing > sum(map(len, figure.lines.values())) / 2:
        return None
    groups = [same for places in lines.values() for _, same in places.values()]
    return {
        "name": figure.name,
        "of": figure.name,
        "group": "Open questions" if figure.question else "Ours" if figure.ours else "The paper's",
        "title": heading(figure),
        "kind": "sweep" if figure.kind == "map" else figure.kind,  # a line for each row
        "axis": figure.axis,
        "episodes": evidence.episodes,
        "window": _word(figure.windows[0]) if figure.windows else "all",
        "ordered": figure.ordered_among(lines),
        "seeds": sorted(set(map(len, groups))),
        "missing": missing,
        "command": repeat(figure.name, episodes, own_seeds(max(groups, key=len))),
        "lines": [_line(figure, label, places, evidence, settings) for label, places in lines.items()],
    }


def _line(figure: Figure, label: str, places: Places, evidence: Evidence, settings: Settings) -> Any:
    rule = next(iter(places.values()))[0].rules[0].name
    drawn = [_place(figure, label, x, *best, evidence, settings) for x, best in places.items()]
    return {"label": legend(label, rule), "rule": rule, "places": drawn}


def _place(
    figure: Figure, label: str, x: Any, best: Run, same: list[Result], evidence: Evidence, settings: Settings
) -> list[Any]:
    """Where, which setting, its numbers in each window, what was chosen there, and each seed where they come apart."""
    note = f"c = {best.rules[0].coupling:g}" if len(figure.lines[label][x]) > 1 else ""  # type: ignore[attr-defined]
    setting = resized(best, trained_for(same[0].setting))
    of_curve = figure.kind in ("curves", "compute")
    place = settings.place_in_figure(setting, evidence.results(best)) if of_curve else settings.place[setting]
    return [x, place, windows(same), note, seeds_apart(same)]


def _word(field: str) -> str:
    return next(name for name, other in WINDOWS.items() if other == field)
