"""Pages of pictures: their panels, captions and legends, and how they are saved.

A picture can be drawn again with not a byte different. How a rule looks is in palette.py.
"""

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from coexplore.files import write
from coexplore.results.listing import gathered, group_labels
from coexplore.results.marks import Line, curves
from coexplore.results.palette import both_names, legend, looks
from coexplore.run import Result, by_purpose
from coexplore.settings import checked_path, refusal

LOOK: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 11,
    "hatch.linewidth": 0.6,
    "svg.hashsalt": "coexplore",
}
DPI, WIDTH = 150, 8.0  # a page of 1,200 pixels
WIDEST = 110  # characters of a caption
MOST_NAMES = 16  # that fit beside a plot


class Picture(Figure):
    """A figure that a notebook shows once, whoever has imported pyplot or not."""

    def _repr_png_(self) -> bytes:
        data = io.BytesIO()
        with mpl.rc_context(LOOK):
            self.savefig(data, format="png")
        return data.getvalue()


def plot(results: Iterable[Result], path: str | Path | None = None) -> Figure:
    """Learning curves of `results`: for each setting the mean of the runs that learned, with a band of one standard
    deviation. Saved if given a `path`.

    Of a setting whose runs all froze it is the mean of all. Seeds that chose a setting and seeds that judged it are two
    lines. Results of which a pack kept no curve are left out."""
    groups = by_purpose(result for result in gathered(results) if result.has_curve)
    if not groups:
        raise refusal("results", [], "some that have a curve")
    drawn = [[result for result in same if not result.frozen] or same for same in groups.values()]
    named = dict(zip(group_labels(groups, both_names), drawn, strict=True))
    figure, (axes,) = panels(1)
    with mpl.rc_context(LOOK):
        shown = lines({label: rule_of(same) for label, same in named.items()})
        told_by_colour = len({line.look.colour for line in shown}) == len(shown)
        curves(axes, named, shown, named=told_by_colour and len(shown) <= MOST_NAMES)
        axes.set_title(caption(groups.values(), of="the runs that learned"), size=10)
    if path is not None:
        save(figure, checked_path("path", path))
    return figure


def panels(count: int, wide: bool = False, alike: bool = True) -> tuple[Figure, list[Any]]:
    """So many, two beside one another or, if `wide`, each across the page: at 800 pixels all of it can be read.
    They have one axis of reward if they are alike."""
    columns = 1 if wide or count == 1 else 2
    rows = -(-count // columns)
    with mpl.rc_context(LOOK):
        figure = Picture(figsize=(WIDTH, 4.8 if rows == 1 else 3.6 * rows), layout="constrained")
        axes = list(figure.subplots(rows, columns, squeeze=False, sharey=alike).flat)
    for spare in axes[count:]:
        spare.set_axis_off()  # where the legend goes
    for k, panel in enumerate(axes[:count]):
        panel.grid(alpha=0.25)
        panel.set_axisbelow(True)
        panel.set_ylabel("" if k % columns else "reward")
    return figure, axes[:count]


def above(count: int) -> tuple[Figure, list[Any]]:
    """A panel across the page, and so many beside one another under it, which share their vertical axis."""
    with mpl.rc_context(LOOK):
        figure = Picture(figsize=(WIDTH, 7.2), layout="constrained")
        cells = figure.add_gridspec(2, count)
        top, first = figure.add_subplot(cells[0, :]), figure.add_subplot(cells[1, 0])
        axes = [top, first, *(figure.add_subplot(cells[1, k], sharey=first) for k in range(1, count))]
    for panel in axes:
        panel.grid(alpha=0.25)
        panel.set_axisbelow(True)
    return figure, axes


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
            data, kind = io.BytesIO(), path.suffix.removeprefix(".") or "png"
            figure.savefig(data, format=kind, dpi=DPI, metadata={"Date": None} if kind == "svg" else None)
            write(path if path.suffix else path.with_suffix(".png"), data.getvalue())
        figure.set_layout_engine(layout)
        figure.set_dpi(dpi)


def caption(groups: Iterable[Sequence[Result]], band: str = "sd", of: str = "") -> str:
    """What a reader must know of the numbers: how many seeds, how many runs froze and, if some did, `of` which runs the
    mean is, if not of all."""
    groups = list(groups)
    counts = sorted({len(same) for same in groups})
    froze = sum(result.frozen for same in groups for result in same)
    mean = f"mean{band and f' ± {band}'} {f'of {of}, of' if of and froze else 'over'}"
    seeds = f"{mean} {'/'.join(map(str, counts))} seeds" if counts[-1] > 1 else "one seed"
    return seeds + (f" · {froze} of {sum(map(len, groups))} runs froze" if froze else "")


def add_caption(figure: Figure, text: str) -> None:
    """Under the picture, on two rows if need be."""
    parts = text.split(" · ")
    cuts = [[" · ".join(parts[:k]), " · ".join(parts[k:])] for k in range(1, len(parts))]
    rows = min(cuts, key=lambda rows: max(map(len, rows))) if len(text) > WIDEST and cuts else [text]
    figure.supxlabel("\n".join(rows), size=9, color="#444444")


def rule_of(results: Sequence[Result]) -> str:
    """The rule of their first layer."""
    return results[0].run.rules[0].name


def lines(rules: Mapping[str, str]) -> list[Line]:
    """A line for each label, looking like its rule."""
    shown = zip(rules.items(), looks(list(rules.values())), strict=True)
    return [Line(name, legend(name, rule), look) for (name, rule), look in shown]


def add_shared_legend(figure: Figure, axes: Any, title: str) -> None:
    """One for all panels, of what stands in one of them, in a spare place or above, under the picture's title."""
    handles, names = axes.get_legend_handles_labels()
    words: Any = {"fontsize": 9, "frameon": False, "handlelength": 3}
    spare = [one for one in figure.axes if not one.axison]
    if spare:
        figure.suptitle(title, size=12)
        spare[0].legend(handles, names, loc="center", **words)
    else:
        legend_title: Any = {"title": title, "title_fontsize": 12, "loc": "outside upper center"}
        figure.legend(handles, names, ncols=min(3, len(names)), **legend_title, **words)
