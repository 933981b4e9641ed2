"""Pictures of results: learning curves, bars over sizes, reward against a setting or against compute.

Readable in print and in grey: what a colour tells, a line style, a marker or a hatch tells too. A picture can be drawn
again with not a byte different.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from coexplore.flags import labels
from coexplore.result import Result, by_setting, thinned
from coexplore.stats import Summary

# Okabe and Ito's colours, told apart with any kind of colour vision; then a grey and a brown.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C8C", "#8C510A"]
STYLES = ["-", "--", "-.", ":"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*", "<"]
HATCHES = ["", "///", "...", "\\\\\\", "xxx"]
LOOK: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 11,
    "hatch.linewidth": 0.6,
    "svg.hashsalt": "coexplore",
}


class Line(NamedTuple):
    """How one line is drawn, and what it is called."""

    label: str
    colour: Any
    style: str
    marker: str


def plot(results: Iterable[Result], path: str | Path | None = None) -> Figure:
    """Learning curves: the mean over seeds of each setting, the band one standard deviation. Saved if given a path."""
    settings = by_setting(results)
    named = dict(zip(labels(list(settings)), settings.values(), strict=True))
    figure, (axes,) = panels(1)
    with mpl.rc_context(LOOK):
        curves(axes, named, lines(list(named)))
        axes.set_title(told(settings.values()), size=10)
    if path is not None:
        save(figure, Path(path))
    return figure


def panels(count: int, width: float = 8.0) -> tuple[Figure, list[Any]]:
    with mpl.rc_context(LOOK):
        figure = Figure(figsize=(width if count == 1 else 6.4 * count, 4.8), layout="constrained")
        axes = figure.subplots(1, count, squeeze=False, sharey=True)[0]
    for one in axes:
        one.grid(alpha=0.25)
        one.set_axisbelow(True)
    axes[0].set_ylabel("reward")
    return figure, list(axes)


def save(figure: Figure, path: Path) -> None:
    """In the format that the name ends in; an SVG carries neither a date nor random names."""
    with mpl.rc_context(LOOK):
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)


def told(groups: Iterable[Sequence[Result]], bands: bool = True) -> str:
    """What a reader must know of the numbers: how many seeds, and how many runs collapsed."""
    groups = list(groups)
    counts = sorted({len(same) for same in groups})
    seeds = f"mean{' ± sd' * bands} over {'/'.join(map(str, counts))} seeds" if counts[-1] > 1 else "one seed"
    collapsed = sum(result.collapsed for same in groups for result in same)
    return seeds + (f" · {collapsed} of {sum(map(len, groups))} runs collapsed" if collapsed else "")


def lines(names: Sequence[str], ordered: int = 0) -> list[Line]:
    """A look for each name. The first `ordered` are values of one setting: from light to dark, so that the order can be
    seen without the legend and in grey; the others get colours of their own."""
    shades = mpl.colormaps["viridis_r"](np.linspace(0.08, 1.0, max(ordered, 1)))
    others = itertools.cycle(["#D55E00", "#CC79A7", "#000000"] if ordered else COLOURS)
    made = []
    for i, name in enumerate(names):
        colour = shades[i] if i < ordered else next(others)
        made.append(Line(name, colour, STYLES[i % len(STYLES)], MARKERS[i % len(MARKERS)]))
    return made


def curves(
    axes: Any, groups: Mapping[str, Sequence[Result]], looks: Sequence[Line], draws: Any = None, bands: bool = True
) -> None:
    """Reward against episodes; against draws of the hidden layer (on a logarithmic axis) if told how many of them a
    result makes an episode. `bands` are one standard deviation wide."""
    for i, look in enumerate(looks):
        same = groups[look.label]
        x, values = thinned(same)
        x = x * draws(same[0]) if draws else x
        mean, apart = values.mean(axis=0), {"markevery": (i * 12 % 25, 25), "markersize": 5}
        axes.plot(x, mean, look.style, color=look.colour, label=look.label, linewidth=1.6, marker=look.marker, **apart)
        if bands and len(same) > 1:
            sd = values.std(axis=0, ddof=1)
            axes.fill_between(x, mean - sd, mean + sd, color=look.colour, alpha=0.12, linewidth=0)
    if draws:
        axes.set_xscale("log")
    axes.set_xlabel("draws of the hidden layer" if draws else "episodes")
    axes.xaxis.set_major_formatter(mpl.ticker.EngFormatter(sep=""))
    legend(axes, len(looks))


def sweep(axes: Any, places: Mapping[str, Mapping[float | int, Summary]], looks: Sequence[Line], label: str) -> None:
    """Reward against a setting, error bars one standard deviation; what has one place only is a level."""
    ticks = sorted({x for found in places.values() for x in found})
    for look in looks:
        found = places[look.label]
        common = {"color": look.colour, "label": look.label, "linewidth": 1.6}
        if len(found) == 1:
            axes.axhline(next(iter(found.values())).mean, linestyle=look.style, **common)
            continue
        at = [ticks.index(x) for x in found]  # evenly apart: the small values are where things happen
        means, sds = [s.mean for s in found.values()], [np.nan_to_num(s.sd) for s in found.values()]
        axes.errorbar(at, means, sds, marker=look.marker, linestyle=look.style, capsize=3, **common)
    axes.set_xticks(range(len(ticks)), [f"{x:g}" for x in ticks])
    axes.set_xlabel(label)
    legend(axes, len(looks))


def bars(
    axes: Any,
    places: Mapping[str, Mapping[float | int, Summary]],
    notes: Mapping[str, Mapping[float | int, str]],
    label: str = "N, hidden units",
) -> None:
    """Groups of bars, one bar a name in each group, error bars one standard deviation; a note stands on its bar."""
    ticks = list(next(iter(places.values())))
    width = 0.86 / len(places)
    for i, (name, found) in enumerate(places.items()):
        at = np.arange(len(ticks)) + (i - (len(places) - 1) / 2) * width
        means, sds = [found[x].mean for x in ticks], [np.nan_to_num(found[x].sd) for x in ticks]
        face = {"color": COLOURS[i % len(COLOURS)], "hatch": HATCHES[i % len(HATCHES)], "edgecolor": "white"}
        axes.bar(at, means, width, yerr=sds, label=name, capsize=2, error_kw={"linewidth": 1}, **face)
        for x, mean, sd, tick in zip(at, means, sds, ticks, strict=True):
            note = notes.get(name, {}).get(tick, "")
            axes.annotate(note, (x, max(mean, 0) + sd), (0, 3), textcoords="offset points", **NOTE)
    axes.set_xticks(range(len(ticks)), [f"{x:g}" for x in ticks])
    axes.set_xlabel(label)
    axes.margins(x=0.02, y=0.2)  # room for the notes
    axes.legend(frameon=False, fontsize=9, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def intervals(axes: Any, places: Mapping[str, Mapping[str, Summary]]) -> None:
    """A group of bars for each thing compared, one bar a name, error bars the 95 % interval of the mean."""
    ticks = list(dict.fromkeys(tick for found in places.values() for tick in found))
    width = 0.8 / len(places)
    for i, (name, found) in enumerate(places.items()):
        at = [ticks.index(tick) + (i - (len(places) - 1) / 2) * width for tick in found]
        means = [one.mean for one in found.values()]
        halves = [np.nan_to_num((one.high - one.low) / 2) for one in found.values()]
        face = {"color": COLOURS[i % len(COLOURS)], "hatch": HATCHES[i % len(HATCHES)], "edgecolor": "white"}
        axes.bar(at, means, width, yerr=halves, label=name, capsize=3, error_kw={"linewidth": 1}, **face)
    axes.set_xticks(range(len(ticks)), ticks, rotation=30, ha="right")
    axes.legend(frameon=False, fontsize=9, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def traces(axes: Any, groups: Mapping[str, Mapping[str, Any]], looks: Sequence[Line]) -> None:
    """The mean over seeds of y [seeds, K] against x [K] for each name, the band one standard deviation."""
    for look in looks:
        x, y = groups[look.label]["x"], groups[look.label]["y"]
        mean, sd = y.mean(axis=0), y.std(axis=0, ddof=1 if len(y) > 1 else 0)
        line = {"color": look.colour, "label": look.label, "linewidth": 1.6, "marker": look.marker, "markersize": 4}
        axes.plot(x, mean, look.style, markevery=4, **line)
        axes.fill_between(x, mean - sd, mean + sd, color=look.colour, alpha=0.12, linewidth=0)
    axes.set_xlabel("episodes")
    axes.xaxis.set_major_formatter(mpl.ticker.EngFormatter(sep=""))
    legend(axes, len(looks))


NOTE = {"ha": "center", "va": "bottom", "size": 7, "rotation": 90}


def legend(axes: Any, count: int) -> None:
    beside = {"loc": "upper left", "bbox_to_anchor": (1, 1)} if count > 5 else {}
    axes.legend(frameon=False, fontsize=9, handlelength=3, **beside)
