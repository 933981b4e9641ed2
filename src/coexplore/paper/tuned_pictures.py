"""Pictures of the figures in which every rule is at its best."""

from pathlib import Path

from coexplore.paper.evidence import NotRun
from coexplore.paper.figure import SCALES
from coexplore.paper.pictures import WINDOWS
from coexplore.paper.tuned import Comparison
from coexplore.paper.tuning import Tuning
from coexplore.results import marks, plots
from coexplore.stats.estimates import Summary, window

Levels = dict[str, dict[float | int, Summary]]


def draw(tuning: Tuning, contest: Comparison, folder: Path) -> list[Path]:
    """Write NAME.png and NAME.svg, or NAME-PANEL of each where there are several; NotRun if there is nothing."""
    if not contest.found:
        raise NotRun(f"{tuning.name}: nothing of it")
    return [path for panel in contest.panels for path in _draw(tuning, contest, panel, folder)]


def _draw(tuning: Tuning, contest: Comparison, panel: str, folder: Path) -> list[Path]:
    rules = {p.label: one.judged[tuning.measures[0]] for p, one in contest.found.items() if p.panel == panel}
    lines = plots.lines({label: plots.rule_of(judged) for label, judged in rules.items()})
    page, axes = plots.panels(len(tuning.measures))
    for axis, by in zip(axes, tuning.measures, strict=True):
        marks.levels(axis, _levels(contest, panel, by), lines, contest.sizes(panel), tuning.axis)
        axis.set_title(f"reward, {WINDOWS[by].format(f'{contest.episodes // 4:,} episodes')}", size=10)
    title = f"{tuning.title}{f', {panel}' if panel else ''}: settings tuned, not the paper's (ours)"
    plots.add_shared_legend(page, axes[0], title)
    plots.add_caption(page, _caption(contest, panel))
    name = "-".join([tuning.name, *panel.split()])
    paths = [folder / f"{name}.{kind}" for kind in ("png", "svg")]
    plots.save(page, *paths)
    return paths


def _levels(contest: Comparison, panel: str, by: str) -> Levels:
    levels: Levels = {}
    for place, one in contest.found.items():
        if place.panel == panel:
            levels.setdefault(place.label, {})[place.at] = window(one.judged[by], by)
    return levels


def _caption(contest: Comparison, panel: str) -> str:
    """How many seeds judged; how many runs froze; what is not there."""
    mine = [one for place, one in contest.found.items() if place.panel == panel]
    judged = {r.run: r for one in mine for same in one.judged.values() for r in same}
    counts = sorted({len(same) for one in mine for same in one.judged.values()})
    text = f"mean and 95 % interval over {'/'.join(map(str, counts))} seeds that chose nothing"
    froze = sum(result.frozen for result in judged.values())
    text += f" · {froze} of {len(judged)} runs froze" if froze else ""
    if contest.episodes != SCALES["paper"].episodes:
        text += f" · {contest.episodes:,} episodes, not the paper's {SCALES['paper'].episodes:,}"
    missing = sum(place.panel == panel for place in contest.searches) - len(mine)
    return text + (f" · {missing} place{'s' * (missing > 1)} not searched to the end" if missing else "")
