"""Pictures of results: learning curves, bars over sizes, reward against a setting or against compute.

A picture can be drawn again with not a byte different. How a rule looks is in palette.py.
"""

import io
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from coexplore.results.palette import DASHES, HATCHES, MARKERS, SHORT, Look, both_names, legend, looks
from coexplore.run import Result, by_setting, labels, thinned
from coexplore.settings import refusal
from coexplore.stats.estimates import Summary

LOOK: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 11,
    "hatch.linewidth": 0.6,
    "svg.hashsalt": "coexplore",
}
DPI = 150


class Picture(Figure):
    """A figure that a notebook shows once, whoever has imported pyplot or not."""

    def _repr_png_(self) -> bytes:
        data = io.BytesIO()
        with mpl.rc_context(LOOK):
            self.savefig(data, format="png")
        return data.getvalue()


class Line(NamedTuple):
    """How one line is drawn; `label` is its name in the data, `legend` what a reader sees."""

    label: str
    legend: str
    look: Look


def plot(results: Iterable[Result], path: str | Path | None = None) -> Figure:
    """Learning curves of `results`: the mean over seeds of each setting, the band one standard deviation. Saved if
    given a `path`.

    Results of which a pack kept no curve are left out."""
    settings = by_setting(result for result in results if result.has_curve)
    if not settings:
        raise refusal("results", [], "some that have a curve")
    named = dict(zip(labels(list(settings), both_names), settings.values(), strict=True))
    figure, (axes,) = panels(1)
    with mpl.rc_context(LOOK):
        curves(axes, named, lines({label: rule_of(same) for label, same in named.items()}))
        axes.set_title(caption(settings.values()), size=10)
    if path is not None:
        save(figure, Path(path))
    return figure


def panels(count: int, width: float = 8.0, alike: bool = True) -> tuple[Figure, list[Any]]:
    """Beside one another, with one axis of reward if they are alike."""
    with mpl.rc_context(LOOK):
        figure = Picture(figsize=(width if count == 1 else 6.4 * count, 4.8), layout="constrained")
        axes = figure.subplots(1, count, squeeze=False, sharey=alike)[0]
    for panel in axes:
        panel.grid(alpha=0.25)
        panel.set_axisbelow(True)
    axes[0].set_ylabel("reward")
    return figure, list(axes)


def save(figure: Figure, *paths: Path) -> None:
    """In the formats that the names end in, laid out once for all; an SVG carries neither a date nor random names."""
    with mpl.rc_context(LOOK):
        FigureCanvasAgg(figure)  # so that the layout and the first picture measure each text once
        layout, dpi = figure.get_layout_engine(), figure.get_dpi()
        figure.set_dpi(DPI)
        if layout is not None:
            layout.execute(figure)
        figure.set_layout_engine(None)  # or each picture would be drawn once for nothing
        for path in paths:
            figure.savefig(path, dpi=DPI, metadata={"Date": None} if path.suffix == ".svg" else None)
        figure.set_layout_engine(layout)
        figure.set_dpi(dpi)


def caption(groups: Iterable[Sequence[Result]], bands: bool = True) -> str:
    """What a reader must know of the numbers: how many seeds, and how many runs froze."""
    groups = list(groups)
    counts = sorted({len(same) for same in groups})
    seeds = f"mean{' ± sd' * bands} over {'/'.join(map(str, counts))} seeds" if counts[-1] > 1 else "one seed"
    froze = sum(result.frozen for same in groups for result in same)
    return seeds + (f" · {froze} of {sum(map(len, groups))} runs froze" if froze else "")


def rule_of(results: Sequence[Result]) -> str:
    """The rule of their first layer."""
    return results[0].run.rules[0].name


def lines(rules: Mapping[str, str], ordered: int = 0) -> list[Line]:
    """A line for each label, looking like its rule. The first `ordered` are values of one setting: from light to dark,
    so that the order can be seen without the legend and in grey. So are all, where they are of one rule."""
    ordered = len(rules) if len(rules) > 1 and len(set(rules.values())) == 1 else ordered
    names, others = list(rules), looks(list(rules.values())[ordered:])
    rest = zip(names[ordered:], others, strict=True)
    shaded = zip(names[:ordered], _shades(ordered), strict=True)
    return [Line(name, legend(name, rules[name]), look) for name, look in (*shaded, *rest)]


def _shades(count: int) -> list[Look]:
    colours = map(mpl.colors.to_hex, mpl.colormaps["viridis_r"](np.linspace(0.08, 1.0, max(count, 1))[:count]))
    cycles = itertools.cycle(DASHES), itertools.cycle(MARKERS), itertools.cycle(HATCHES)
    return [Look(colour, colour, *rest) for colour, *rest in zip(colours, *cycles, strict=False)]


def curves(
    axes: Any,
    groups: Mapping[str, Sequence[Result]],
    lines: Sequence[Line],
    draws: Callable[[Result], int] | None = None,
    bands: bool = True,
) -> None:
    """Reward against episodes (or steps, of which some runs have a budget); against draws of the hidden layer (on a
    logarithmic axis) if told how many of them a result makes per episode. `bands` are one standard deviation wide."""
    for i, line in enumerate(lines):
        same = groups[line.label]
        x, values = thinned([result.curve for result in same], same[0].run.length)
        x = x * draws(same[0]) if draws else x
        mean, apart = values.mean(axis=0), {"markevery": (i * 12 % 25, 25), "markersize": 5}
        axes.plot(x, mean, **_stroke(line), **apart)
        if bands and len(same) > 1:
            sd = values.std(axis=0, ddof=1)
            axes.fill_between(x, mean - sd, mean + sd, color=line.look.colour, alpha=0.12, linewidth=0)
    if draws:
        axes.set_xscale("log")
    units = {result.run.unit for line in lines for result in groups[line.label]}
    axes.set_xlabel("draws of the hidden layer" if draws else " or ".join(sorted(units)))
    axes.xaxis.set_major_formatter(mpl.ticker.EngFormatter(sep=""))
    add_legend(axes, len(lines))


def _stroke(line: Line) -> dict[str, Any]:
    look = line.look
    return {
        "color": look.colour, "linestyle": look.dash, "marker": look.marker, "label": line.legend, "linewidth": 1.6
    }  # fmt: skip


def sweep(axes: Any, places: Mapping[str, Mapping[float | int, Summary]], lines: Sequence[Line], label: str) -> None:
    """Reward against a setting, error bars one standard deviation; what has one place only is a level."""
    ticks = sorted({x for found in places.values() for x in found})
    for line in lines:
        found = places[line.label]
        if len(found) == 1:
            axes.axhline(next(iter(found.values())).mean, **(_stroke(line) | {"marker": None}))
            continue
        at = [ticks.index(x) for x in found]  # evenly apart: the small values are where things happen
        means, sds = [s.mean for s in found.values()], [np.nan_to_num(s.sd) for s in found.values()]
        axes.errorbar(at, means, sds, capsize=3, **_stroke(line))
    axes.set_xticks(range(len(ticks)), [f"{x:g}" for x in ticks])
    axes.set_xlabel(label)
    add_legend(axes, len(lines))


def heat(axes: Any, places: Mapping[str, Mapping[float | int, Summary]], label: str) -> None:
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


def bars(
    axes: Any,
    places: Mapping[str, Mapping[float | int, Summary]],
    lines: Sequence[Line],
    notes: Mapping[str, Mapping[float | int, str]],
    label: str = "N, hidden units",
) -> None:
    """Groups of bars, one bar for each line in each group, error bars one standard deviation; a note stands on its
    bar."""
    ticks = list(next(iter(places.values())))
    width = 0.86 / len(lines)
    for i, line in enumerate(lines):
        found = places[line.label]
        at = np.arange(len(ticks)) + (i - (len(lines) - 1) / 2) * width
        means, sds = [found[x].mean for x in ticks], [np.nan_to_num(found[x].sd) for x in ticks]
        axes.bar(at, means, width, yerr=sds, capsize=2, error_kw={"linewidth": 1}, **_face(line))
        for x, mean, sd, tick in zip(at, means, sds, ticks, strict=True):
            if note := notes.get(line.label, {}).get(tick):
                axes.annotate(note, (x, max(mean, 0) + sd), (0, 3), textcoords="offset points", **NOTE)
    axes.set_xticks(range(len(ticks)), [f"{x:g}" for x in ticks])
    axes.set_xlabel(label)
    axes.margins(x=0.02, y=0.2)  # room for the notes


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
        aside = (i - (len(lines) - 1) / 2) * 0.04  # or the error bars would hide each other
        means = np.array([value.mean for value in found.values()])
        ends = np.array([(value.low, value.high) for value in found.values()]).T
        reach = np.nan_to_num(np.abs(ends - means))
        at = [list(ticks).index(x) + aside for x in found]
        axes.errorbar(at, means, reach, capsize=2, markersize=5, elinewidth=1, **_stroke(line))
    axes.set_xticks(range(len(ticks)), [f"{x:g}" for x in ticks])
    axes.set_xlabel(label)


def intervals(axes: Any, places: Mapping[str, Mapping[str, Summary]]) -> None:
    """A group of bars for each thing compared, one bar for each name, error bars the 95 % interval of the mean."""
    ticks = list(dict.fromkeys(tick for found in places.values() for tick in found))
    width = 0.8 / len(places)
    for i, (name, found) in enumerate(places.items()):
        at = [ticks.index(tick) + (i - (len(places) - 1) / 2) * width for tick in found]
        means = [value.mean for value in found.values()]
        ends = np.nan_to_num([(value.mean - value.low, value.high - value.mean) for value in found.values()]).T
        face = {"color": ["#4D4D4D", "#B3B3B3"][i % 2], "hatch": ["", "///"][i % 2], "edgecolor": "white"}
        axes.bar(at, means, width, yerr=ends, label=name, capsize=3, error_kw={"linewidth": 1}, **face)
    axes.set_xticks(range(len(ticks)), [SHORT.get(tick, tick) for tick in ticks], rotation=30, ha="right")
    axes.legend(frameon=False, fontsize=9, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def traces(axes: Any, groups: Mapping[str, Mapping[str, Any]], lines: Sequence[Line]) -> None:
    """The mean over seeds of y [seeds, K] against x [K] for each name, the band one standard deviation."""
    for line in lines:
        x, y = groups[line.label]["x"], groups[line.label]["y"]
        mean, sd = y.mean(axis=0), y.std(axis=0, ddof=1 if len(y) > 1 else 0)
        axes.plot(x, mean, markevery=4, markersize=4, **_stroke(line))
        axes.fill_between(x, mean - sd, mean + sd, color=line.look.colour, alpha=0.12, linewidth=0)
    axes.set_xlabel("episodes")
    axes.xaxis.set_major_formatter(mpl.ticker.EngFormatter(sep=""))
    add_legend(axes, len(lines))


NOTE = {"ha": "center", "va": "bottom", "size": 7, "rotation": 90}


def add_shared_legend(figure: Figure, axes: Any, title: str) -> None:
    """One above all panels, of what stands in one of them, under the picture's title."""
    handles, names = axes.get_legend_handles_labels()
    words = {"title": title, "title_fontsize": 12, "fontsize": 9, "frameon": False}
    figure.legend(handles, names, ncols=min(4, len(names)), loc="outside upper center", **words)


def add_legend(axes: Any, count: int) -> None:
    beside = {"loc": "upper left", "bbox_to_anchor": (1, 1)} if count > 5 else {}
    axes.legend(frameon=False, fontsize=9, handlelength=3, **beside)
