"""What is drawn into axes: learning curves, bars over sizes, reward against a setting, differences.

How a rule looks is in palette.py; pages of such axes are in plots.py.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.container import ErrorbarContainer

from coexplore.results.naming import End, cut, name_lines
from coexplore.results.palette import Look
from coexplore.run import Result, thinned
from coexplore.stats.bounded import Bounds
from coexplore.stats.estimates import SHARE, Summary
from coexplore.stats.modes import bimodal

STRETCH = 0.05  # how near to the greatest reward the stretched scale can tell lines apart
MANY = 6  # lines from which on the scale is stretched
MOST_NAMED = 24  # lines whose names fit into a legend
MOST_LEVEL = 9  # places of a sweep whose names fit side by side
NOTE = {"ha": "center", "va": "bottom", "size": 7, "rotation": 90, "zorder": 4,
        "bbox": {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.8}}  # fmt: skip


class Place(NamedTuple):
    """What a bar or a point of a sweep shows; `values` are the runs', `apart` if they come out in two kinds."""

    mean: float
    sd: float
    values: list[float]
    bounds: Bounds | None
    note: str = ""

    @classmethod
    def of(cls, same: Sequence[Result], window: str, note: str = "") -> "Place":
        """Of runs of one setting, in a window."""
        values = [float(getattr(result, window)) for result in same]
        sd = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
        return cls(float(np.mean(values)), sd, values, same[0].run.task.reward_range, note)

    @property
    def possible(self) -> Bounds:
        return self.bounds or (min(self.values), max(self.values))

    @property
    def apart(self) -> bool:
        return bimodal(self.values, self.bounds)


Places = Mapping[str, Mapping[Any, Place]]  # by line and by place: a number, or of bars a word


class Line(NamedTuple):
    """How one line is drawn; `label` is its name in the data, `legend` what a reader sees."""

    label: str
    legend: str
    look: Look


def curves(
    axes: Any,
    groups: Mapping[str, Sequence[Result]],
    lines: Sequence[Line],
    draws: Callable[[Result], int] | None = None,
    named: bool = True,
) -> None:
    """Reward against episodes (or steps, of which some runs have a budget); against draws of the hidden layer (on a
    logarithmic axis) if told how many of them a result makes per episode. Bands are one standard deviation wide, as far
    as that is possible. Names stand at the ends of lines; else there is a legend."""
    for i, line in enumerate(lines):
        same = groups[line.label]
        x, values = thinned([result.curve for result in same], same[0].run.length)
        _curve(axes, line, i, x * draws(same[0]) if draws else x, values, same[0].run.task.reward_range)
    if draws:
        axes.set_xscale("log")
    units = {result.run.unit for line in lines for result in groups[line.label]}
    axes.set_xlabel("draws of the hidden layer" if draws else " or ".join(sorted(units)))
    axes.xaxis.set_major_formatter(mpl.ticker.EngFormatter(sep=""))
    if len(lines) > MANY and {_greatest(groups[line.label]) for line in lines} == {1.0}:
        _stretch(axes)
    name_ends(axes, lines) if named else add_legend(axes, len(lines))


def _greatest(same: Sequence[Result]) -> float | None:
    """The reward that is the most there is, if that is known."""
    bounds = same[0].run.task.reward_range
    return bounds and bounds[1]


def _curve(axes: Any, line: Line, i: int, x: np.ndarray, values: np.ndarray, bounds: Bounds | None) -> None:
    mean = values.mean(axis=0)
    axes.plot(x, mean, markevery=(i * 12 % 25, 25), markersize=5, **_stroke(line))
    if len(values) > 1:
        sd = values.std(axis=0, ddof=1)
        possible = bounds or (values.min(), values.max())  # where nobody knows what is possible: what was seen
        low, high = (within(mean + side * sd, mean, possible) for side in (-1, 1))
        axes.fill_between(x, low, high, color=line.look.colour, alpha=0.1, linewidth=0)


def within(ends: Any, mean: Any, bounds: Bounds) -> Any:
    """Ends of a band, not beyond what is possible; where the mean itself is, not beyond the mean."""
    return np.clip(ends, np.minimum(bounds[0], mean), np.maximum(bounds[1], mean))


def _stretch(axes: Any) -> None:
    """A scale on which rewards near 1, where many lines end, are as far apart as those near 0."""
    top = 1 + STRETCH
    axes.set_ylim(axes.get_ylim()[0], min(1.0, axes.get_ylim()[1]))
    axes.set_yscale("function", functions=(lambda y: -np.log(np.maximum(top - y, 1e-9)), lambda z: top - np.exp(-z)))
    low, high = axes.get_ylim()
    axes.set_yticks([tick for tick in (0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1) if low <= tick <= high])
    axes.set_ylabel("reward, on a scale stretched towards 1")


def name_ends(axes: Any, lines: Sequence[Line]) -> None:
    """Names at the ends of lines."""
    drawn = {one.get_label(): one for one in axes.lines}
    drawn |= {one.get_label(): one.lines[0] for one in axes.containers if isinstance(one, ErrorbarContainer)}
    axes.set_ylim(axes.get_ylim())
    ends = [End(float(drawn[line.legend].get_ydata()[-1]), line.legend, line.look.colour) for line in lines]
    name_lines(axes, ends)


def _stroke(line: Line) -> dict[str, Any]:
    look = line.look
    return {
        "color": look.colour, "linestyle": look.dash, "marker": look.marker, "label": line.legend, "linewidth": 1.6
    }  # fmt: skip


def sweep(axes: Any, places: Places, lines: Sequence[Line], label: str, named: bool = True) -> None:
    """Reward against a setting, error bars one standard deviation; what has one place only is a level."""
    ticks = sorted({x for found in places.values() for x in found})
    for i, line in enumerate(lines):
        found = places[line.label]
        if len(found) == 1:
            axes.axhline(next(iter(found.values())).mean, **(_stroke(line) | {"marker": None}))
            continue
        # Evenly apart, for the small values are where things happen, and beside one another.
        at = [ticks.index(x) + _aside(i, len(lines)) for x in found]
        axes.errorbar(at, [place.mean for place in found.values()], _reach(found), capsize=2, **_stroke(line))
    axes.set_xticks(range(len(ticks)), [f"{x:g}" for x in ticks], rotation=45 if len(ticks) > MOST_LEVEL else 0)
    axes.set_xlabel(label)
    if named:
        name_ends(axes, lines)


def _aside(i: int, count: int) -> float:
    return (i - (count - 1) / 2) * min(0.1, 0.6 / count)


def _reach(found: Mapping[float | int, Place]) -> np.ndarray:
    """How far one standard deviation goes down and up from each mean, as far as that is possible."""
    ends = [[within(one.mean + side * one.sd, one.mean, one.possible) for one in found.values()] for side in (-1, 1)]
    return np.abs(np.array(ends) - [one.mean for one in found.values()])


def heat(axes: Any, places: Places | Mapping[str, Mapping[float | int, Summary]], label: str) -> None:
    """A row for each line, the first one lowest, a column for each place: means as colours from 0 to 1, and written."""
    ticks = sorted({x for found in places.values() for x in found})
    means = [[found[x].mean if x in found else np.nan for x in ticks] for found in places.values()]
    axes.grid(visible=False)
    axes.imshow(means, cmap="viridis", vmin=0, vmax=1, aspect="auto", origin="lower")
    for (row, column), mean in np.ndenumerate(means):
        if np.isfinite(mean):
            colour = "white" if mean < 0.6 else "black"
            axes.text(column, row, f"{mean:.2f}".replace("0.", "."), ha="center", va="center", size=11, color=colour)
    axes.set_xticks(range(len(ticks)), [f"{x:g}" for x in ticks])
    axes.set_yticks(range(len(places)), list(places))
    axes.set_xlabel(label)


def bars(axes: Any, places: Places, lines: Sequence[Line], label: str = "N, hidden units") -> None:
    """Groups of bars, one bar for each line in each group, its note in it. Error bars are one standard deviation; where
    runs come out in two kinds, each run is a dot instead."""
    ticks = list(next(iter(places.values())))
    width = 0.86 / len(lines)
    for i, line in enumerate(lines):
        found = list(places[line.label].values())
        at = np.arange(len(ticks)) + (i - (len(lines) - 1) / 2) * width
        reach = _reach(places[line.label]) * [not place.apart for place in found]
        axes.bar(at, [place.mean for place in found], width, yerr=reach, error_kw={"linewidth": 1}, **_face(line))
        for x, place in zip(at, found, strict=True):
            if place.apart:
                _dots(axes, x, 0.7 * width, place.values)
            if place.note:
                axes.annotate(place.note, (x, 0), (0, 4), textcoords="offset points", **NOTE)
    axes.set_xticks(range(len(ticks)), [x if isinstance(x, str) else f"{x:g}" for x in ticks])
    axes.set_xlabel(label)
    axes.margins(x=0.01)


def _dots(axes: Any, x: float, wide: float, values: Sequence[float]) -> None:
    """Beside one another by the golden ratio: those of equal height keep apart, and all is drawn the same again."""
    beside = x + wide * (np.arange(len(values)) * 0.618034 % 1 - 0.5)
    size = 5 if len(values) <= 20 else 2.5
    axes.plot(beside, values, ".", color="black", markersize=size, alpha=0.5, markeredgewidth=0, clip_on=False)


def _face(line: Line) -> dict[str, Any]:
    return {"color": line.look.colour, "hatch": line.look.hatch, "edgecolor": "white", "label": line.legend}


def levels(
    axes: Any,
    places: Mapping[str, Mapping[float | int, Summary]],
    lines: Sequence[Line],
    ticks: Sequence[float | int],
    label: str,
) -> None:
    """A line through the places of each label, evenly apart, error bars the 95 % interval of the mean."""
    for i, line in enumerate(lines):
        found = places[line.label]
        means = np.array([value.mean for value in found.values()])
        ends = np.array([(value.low, value.high) for value in found.values()]).T
        reach = np.nan_to_num(np.abs(ends - means))
        at = [list(ticks).index(x) + _aside(i, len(lines)) for x in found]
        axes.errorbar(at, means, reach, capsize=2, markersize=4, elinewidth=1, **_stroke(line))
    axes.set_xticks(range(len(ticks)), [f"{x:g}" for x in ticks])
    axes.set_xlabel(label)


def intervals(axes: Any, places: Mapping[str, Mapping[str, Summary]], lines: Sequence[Line]) -> None:
    """A row for each rule: the mean and its 95 % interval of each thing compared, in the rule's colour."""
    for i, (name, found) in enumerate(places.items()):
        for k, line in enumerate(lines):
            if value := found.get(line.label):
                reach = np.nan_to_num([[value.mean - value.low], [value.high - value.mean]])
                face = {"color": line.look.colour, "marker": "os^"[i % 3], "mfc": "white" if i else line.look.colour}
                axes.errorbar(value.mean, k + 0.24 * (i - (len(places) - 1) / 2), xerr=reach, capsize=2, **face)
        face = {"color": "#444444", "marker": "os^"[i % 3], "mfc": "white" if i else "#444444", "linestyle": ""}
        axes.plot([], [], label=name, **face)
    axes.set_yticks(range(len(lines)), [line.legend for line in lines])
    axes.set_ylim(len(lines) - 0.5, -0.5)
    axes.legend(frameon=False, fontsize=9, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def traces(axes: Any, groups: Mapping[str, Mapping[str, Any]], lines: Sequence[Line]) -> None:
    """The mean over seeds of y [seeds, K] against x [K] for each name, shares between 0 and 1; the band one sd."""
    for i, line in enumerate(lines):
        _curve(axes, line, 4 * i, groups[line.label]["x"], groups[line.label]["y"], SHARE)
    axes.set_xlabel("episodes")
    axes.xaxis.set_major_formatter(mpl.ticker.EngFormatter(sep=""))


def differences(axes: Any, groups: Mapping[str, Sequence[Result]], lines: Sequence[Line], against: str) -> None:
    """How much higher the mean over seeds of each line is than that of the one named; bands are one standard error."""
    found = {label: thinned([r.curve for r in same], same[0].run.length) for label, same in groups.items()}
    variance = {label: y.var(axis=0, ddof=min(1, len(y) - 1)) / len(y) for label, (_, y) in found.items()}
    for i, line in enumerate(lines):
        x, y = found[line.label]
        mean = y.mean(axis=0) - found[against][1].mean(axis=0)
        axes.plot(x, mean, markevery=(i * 12 % 25, 25), markersize=5, **_stroke(line))
        if line.label != against:
            se = np.sqrt(variance[line.label] + variance[against])
            axes.fill_between(x, mean - se, mean + se, color=line.look.colour, alpha=0.1, linewidth=0)
    axes.set_ylabel(f"reward, difference from {against}")
    axes.set_xlabel("episodes")
    axes.xaxis.set_major_formatter(mpl.ticker.EngFormatter(sep=""))
    name_ends(axes, lines)


def add_legend(axes: Any, count: int) -> None:
    beside = {"loc": "upper left", "bbox_to_anchor": (1, 1)} if count > 5 else {}
    handles, names = axes.get_legend_handles_labels()
    if len(names) > MOST_NAMED:
        rest = len(names) - MOST_NAMED + 1
        handles, names = [*handles[:-rest], mpl.lines.Line2D([], [], alpha=0)], [*names[:-rest], f"… and {rest} more"]
    axes.legend(handles, list(map(cut, names)), frameon=False, fontsize=9, handlelength=3, **beside)
