"""The paper's figures as data for charts: what there is of each, line by line and place by place."""

from collections.abc import Sequence
from typing import Any

from coexplore.paper.evidence import Evidence, found
from coexplore.paper.figure import SCALES, Figure, resized
from coexplore.paper.figure import length as trained_for
from coexplore.paper.figures import FIGURES, heading
from coexplore.paper.tunings import TUNINGS
from coexplore.report.settings import WINDOWS, Settings, own_seeds, spelled, windows
from coexplore.report.tunings import tunings
from coexplore.results.palette import legend
from coexplore.run import Result, Run

MOST_OTHERS = 12  # settings of no figure that are drawn unasked; all of them can be compared


def figures(results: Sequence[Result], settings: Settings, episodes: int) -> list[dict[str, Any]]:
    """Those of which at least half was trained, then whatever no figure has."""
    lengths = {figure.length(episodes) for figure in FIGURES.values()}
    evidence = {length: Evidence(results, length) for length in lengths}
    drawn = [_figure(figure, evidence[figure.length(episodes)], settings, episodes) for figure in FIGURES.values()]
    tuned, tried = tunings(results, settings, episodes)
    known = {settings.place.get(run) for figure in FIGURES.values() for run in figure.settings(episodes)}
    known |= {settings.place.get(run) for run in tried}
    others = _others([i for i in settings.place.values() if i not in known], settings)
    return [figure for figure in drawn if figure] + tuned + others


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
        "title": heading(figure),
        "kind": "sweep" if figure.kind == "map" else figure.kind,  # a line for each row
        "axis": figure.axis,
        "episodes": evidence.episodes,
        "window": _word(figure.windows[0]) if figure.windows else "all",
        "ordered": figure.ordered_among(lines),
        "seeds": sorted(set(map(len, groups))),
        "missing": missing,
        "command": repeat(figure.name, episodes, own_seeds(max(groups, key=len))),
        "lines": [
            {
                "label": legend(label, _rule(places)),
                "rule": _rule(places),
                "places": [_place(figure, label, x, *best, settings) for x, best in places.items()],
            }
            for label, places in lines.items()
        ],
    }


def _place(figure: Figure, label: str, x: Any, best: Run, same: list[Result], settings: Settings) -> list[Any]:
    """Where, which setting, its numbers in each window, and what was chosen there."""
    note = f"c = {best.rules[0].coupling:g}" if len(figure.lines[label][x]) > 1 else ""  # type: ignore[attr-defined]
    return [x, settings.place[resized(best, trained_for(same[0].setting))], windows(same), note]


def _rule(places: dict[Any, tuple[Run, list[Result]]]) -> str:
    return next(iter(places.values()))[0].rules[0].name


def _word(field: str) -> str:
    return next(name for name, other in WINDOWS.items() if other == field)


def _others(places: list[int], settings: Settings) -> list[dict[str, Any]]:
    if not places:
        return []
    chosen = places[:MOST_OTHERS]
    title = "Runs that belong to no figure"
    if len(places) > len(chosen):
        title += f": {len(chosen)} of {len(places)} settings"
    lines = [
        {"label": row["label"], "rule": row["rule"], "places": [[0, i, {name: row[name] for name in WINDOWS}, ""]]}
        for i, row in ((i, settings.rows[i]) for i in chosen)
    ]
    seeds = sorted({len(settings.rows[i]["runs"]) for i in chosen})
    common = {"name": "others", "kind": "curves", "window": "all", "ordered": 0, "missing": 0}
    return [{**common, "title": title, "seeds": seeds, "command": None, "lines": lines}]
