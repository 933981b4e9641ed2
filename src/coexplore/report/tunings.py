"""The figures in which every rule is at its best, as data for charts: one for each measure, since each chose anew."""

from collections.abc import Sequence
from typing import Any

from coexplore.paper.tables import WORDS
from coexplore.paper.tuned import Comparison
from coexplore.paper.tuned_tables import described
from coexplore.paper.tuning import Tuning
from coexplore.paper.tunings import TUNINGS
from coexplore.report.settings import WINDOWS, Settings, seeds_apart, windows
from coexplore.results.palette import legend
from coexplore.run import Result
from coexplore.study.search import Outcome, Trials


def tunings(results: Sequence[Result], settings: Settings, episodes: int) -> list[dict[str, Any]]:
    """Charts of those that were searched to the end at half of their places or more."""
    trials, charts = Trials(results, finished=True), []
    for tuning in TUNINGS.values():
        contest = Comparison(tuning.searches(episodes), trials, tuning.length(episodes))
        if 2 * len(contest.found) >= len(contest.searches):
            charts += [
                _chart(tuning, contest, panel, by, settings) for panel in contest.panels for by in tuning.measures
            ]
    return charts


def _chart(tuning: Tuning, contest: Comparison, panel: str, by: str, settings: Settings) -> dict[str, Any]:
    mine = {place: found for place, found in contest.found.items() if place.panel == panel}
    lines: dict[str, list[Any]] = {}
    for place, found in mine.items():
        lines.setdefault(place.label, []).append(_place(place.at, found, by, settings))
    rules = {place.label: found.chosen[by].rules[0].name for place, found in mine.items()}
    title = f"{tuning.title}{f', {panel}' if panel else ''}: best by reward, {WORDS[by]} (ours; settings tuned)"
    return {
        "name": "-".join([tuning.name, *panel.split(), by]),
        "of": tuning.name,
        "group": "Open questions" if tuning.question else "Every rule at its best",
        "title": title,
        "kind": "levels",
        "axis": tuning.axis,
        "episodes": contest.episodes,
        "window": next(name for name, field in WINDOWS.items() if field == by),
        "ordered": 0,
        "seeds": sorted({len(found.judged[by]) for found in mine.values()}),
        "missing": sum(place.panel == panel for place in contest.searches) - len(mine),
        "command": f"coexplore reproduce {tuning.name}",
        "lines": [{"label": legend(a, rules[a]), "rule": rules[a], "places": places} for a, places in lines.items()],
    }


def _place(x: int, found: Outcome, by: str, settings: Settings) -> list[Any]:
    """Where, which setting, its numbers on the judging seeds, what it is, and each seed where they come apart."""
    same = found.judged[by]
    return [x, settings.place[found.chosen[by]], windows(same), described(found.chosen[by]), seeds_apart(same)]
