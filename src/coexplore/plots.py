"""Pictures of results."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from coexplore.flags import labels
from coexplore.result import Result, by_setting

# Okabe and Ito's colours, told apart with any kind of colour vision; line styles tell them apart in grey.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
STYLES = ["-", "--", "-.", ":"]
POINTS = 125


def plot(results: Iterable[Result], path: str | Path | None = None) -> Figure:
    """Learning curves: the mean over seeds of each setting, the band one standard deviation. Saved if given a path."""
    settings = by_setting(results)
    with mpl.rc_context({"axes.spines.top": False, "axes.spines.right": False, "font.size": 11}):
        figure = Figure(figsize=(8, 4.8), layout="constrained")
        axes = figure.add_subplot()
        for i, (label, same) in enumerate(zip(labels(list(settings)), settings.values(), strict=True)):
            _curve(axes, same, label, COLOURS[i % len(COLOURS)], STYLES[i // len(COLOURS) % len(STYLES)])
        axes.set_xlabel("episodes")
        axes.set_ylabel("reward")
        axes.xaxis.set_major_formatter(mpl.ticker.EngFormatter(sep=""))
        axes.grid(alpha=0.25)
        seeds = sorted({len(same) for same in settings.values()})
        axes.set_title(f"mean ± sd over {'/'.join(map(str, seeds))} seeds" if seeds[-1] > 1 else "one seed", size=10)
        if len(settings) > 8:
            axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
        else:
            axes.legend(frameon=False, fontsize=9)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _curve(axes: Any, same: list[Result], label: str, colour: str, style: str) -> None:
    curves = np.stack([result.curve for result in same])
    group = -(-curves.shape[1] // POINTS)  # neighbouring points are averaged: single ones are mostly noise
    ends = np.arange(0, curves.shape[1], group)
    sizes = np.diff([*ends, curves.shape[1]])
    thinned = np.add.reduceat(curves, ends, axis=1) / sizes
    x = same[0].episodes[np.cumsum(sizes) - 1]
    mean = thinned.mean(axis=0)
    axes.plot(x, mean, style, color=colour, label=label, linewidth=1.8)
    if len(same) > 1:
        sd = thinned.std(axis=0, ddof=1)
        axes.fill_between(x, mean - sd, mean + sd, color=colour, alpha=0.18, linewidth=0)
