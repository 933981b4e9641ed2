"""Names of lines beside a plot, at the height of their ends, where they keep out of each other's way."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.colors import to_rgb

SIZE, ROW = 9, 0.16  # of the text in points, and of its rows in inches
LONGEST = 80  # characters of a name that leaves room for a plot


class End(NamedTuple):
    """Where a line ends, and what it is called."""

    y: float
    name: str
    colour: str


def name_lines(axes: Any, ends: Sequence[End]) -> None:
    """Once the axis has its limits: whatever is drawn later may move the ends."""
    tall = axes.get_figure().get_figheight() / axes.get_subplotspec().get_gridspec().nrows - 1.0
    bottom, top = axes.transAxes.inverted(), axes.transData
    wishes = [float(bottom.transform(top.transform((0, end.y)))[1]) for end in ends]
    for end, y in zip(ends, apart(wishes, ROW / tall), strict=True):
        ink = [0.65 * part for part in to_rgb(end.colour)]  # light shades are hard to read as text
        place = {"xycoords": "axes fraction", "xytext": (6, 0), "textcoords": "offset points"}
        axes.annotate(cut(end.name), (1, y), va="center", size=SIZE, color=ink, annotation_clip=False, **place)


def cut(name: str) -> str:
    """Names of one picture often begin alike and differ towards their ends."""
    half = LONGEST // 2
    return name if len(name) <= LONGEST else f"{name[: half - 1]}…{name[-half:]}"


def apart(wishes: Sequence[float], gap: float) -> list[float]:
    """Places in the order of the wishes, at least a gap apart, each group of neighbours around where it wants to be,
    and all of them between 0 and 1 if they fit."""
    blocks: list[list[int]] = []
    for i in sorted(range(len(wishes)), key=lambda i: wishes[i]):
        blocks.append([i])
        while len(blocks) > 1 and _low(blocks[-2], wishes, gap) + gap * len(blocks[-2]) > _low(blocks[-1], wishes, gap):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    places = [0.0] * len(wishes)
    for block in blocks:
        for k, i in enumerate(block):
            places[i] = _low(block, wishes, gap) + gap * k
    return places


def _low(block: Sequence[int], wishes: Sequence[float], gap: float) -> float:
    middle = sum(wishes[i] - gap * k for k, i in enumerate(block)) / len(block)
    return max(0.0, min(middle, 1 - gap * (len(block) - 1)))
