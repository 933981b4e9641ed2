"""A picture of how good estimates of the gradient are, by rule and size."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coexplore.paper.checkpoints import networks
from coexplore.paper.evidence import Row
from coexplore.paper.gradient_tables import measured
from coexplore.paper.open_figures.why import SIZES
from coexplore.paper.questions.why import MATCHED
from coexplore.results import marks, plots
from coexplore.stats.estimates import Summary, summary

PANELS = {"snr": "signal to noise, per thousand", "cosine": "cosine", "gain": "gain of a step of Adam, in 0.01 / α"}
NAME = "gradients"


def draw(rows: Sequence[Row], folder: Path, episodes: int) -> list[Path]:
    """NAME.png and NAME.svg, means and 95 % intervals over seeds; nothing where nothing was measured."""
    places = {name: _places(rows, episodes, name) for name in PANELS}
    rules = {label: run.rules[0].name for (label, _), run in networks().items() if label in places["gain"]}
    if not rules:
        return []
    page, axes = plots.panels(len(PANELS), alike=False)
    for panel, (name, word) in zip(axes, PANELS.items(), strict=True):
        here = {label: rule for label, rule in rules.items() if label in places[name]}
        marks.levels(panel, places[name], [line for line in plots.lines(rules) if line.label in here], SIZES, "N")
        panel.set_ylabel(word)
        if name == "snr":
            panel.set_yscale("log")
        if name == "gain":  # of which some are below 0
            panel.set_yscale("symlog", linthresh=0.1)
    plots.add_shared_legend(page, axes[-1], f"Estimates of the gradient, where the reward first reaches {MATCHED:g}")
    paths = [folder / f"{NAME}.{kind}" for kind in ("png", "svg")]
    plots.save(page, *paths)
    return paths


def _places(rows: Sequence[Row], episodes: int, name: str) -> dict[str, dict[Any, Summary]]:
    """By label and size."""
    found: dict[str, dict[Any, Summary]] = {}
    for (label, N), run in networks().items():
        if values := measured(rows, run, MATCHED, episodes, name):
            found.setdefault(label, {})[N] = summary(values)
    return found
