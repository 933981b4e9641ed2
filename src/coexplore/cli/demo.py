"""`coexplore demo`: five rules on the 4-bit multiplexer, as the README shows them."""

from pathlib import Path

import numpy as np
from rich.table import Table

from coexplore.cli.parser import Parser, folder
from coexplore.cli.reproduce import draw_figures, load_pictures_later
from coexplore.cli.results import train_all
from coexplore.cli.tables import console
from coexplore.paper.figure import SCALES
from coexplore.paper.figures import FIGURES, seeded
from coexplore.results.palette import SHORT, both_names
from coexplore.run import Result

FIGURE, STORE = "headline", "runs"
HEADINGS = ("rule", "first quarter", "second", "third", "last", "at the end")
WORDS = ("first", "second", "third", "last")
END = 0.05  # of the episodes count as the end
NOTICEABLE = 0.03  # of reward: the margin that claims are judged by
OPTIONS = {"engine": "auto", "threads": None, "snapshots": None, "cluster": None}

Means = dict[str, list[float]]  # rule → mean reward over all seeds in each quarter of the episodes, and at the end


def demo_command(words: list[str]) -> int:
    out = folder("out", demo_parser().read(words)["out"])
    scale = SCALES["paper"]
    load_pictures_later()
    done = train_all(seeded([FIGURE], scale.episodes, scale.seeds), OPTIONS, Path(STORE))
    if done is None:
        return 130
    draw_figures([FIGURE], done.results, scale.episodes, out)
    means = rewards(done.results)
    console().print(_table(means, scale.seeds))
    if set(means) == {run.rules[0].name for run in FIGURES[FIGURE].settings()}:
        print(seen(means))
    print(f"picture: {out / FIGURE}.png, runs: {STORE}")
    print(f"next: coexplore report --store {STORE} --out report.html")
    return 1 if done.failures else 0


def demo_parser() -> Parser:
    parser = Parser("demo", "Five rules on the multiplexer, as the README shows them: about a minute on two cores.")
    parser.add_argument("--out", default="demo", metavar="DIR", help="where the picture goes")
    return parser


def rewards(results: list[Result]) -> Means:
    """Mean rewards of each rule, in the order of the figure."""
    curves: dict[str, list[np.ndarray]] = {run.rules[0].name: [] for run in FIGURES[FIGURE].settings()}
    for result in results:
        curves[result.run.rules[0].name].append(result.curve)
    means = {rule: np.mean(own, axis=0) for rule, own in curves.items() if own}
    return {rule: [*map(_mean, np.array_split(curve, 4)), _mean(_last(curve))] for rule, curve in means.items()}


def _last(curve: np.ndarray) -> np.ndarray:
    return curve[-max(1, round(END * len(curve))) :]


def _mean(part: np.ndarray) -> float:
    return float(part.mean())


def seen(means: Means) -> str:
    """One sentence on which rule learns first, what becomes of it, and which is highest at the end."""
    fastest = max(means, key=lambda rule: means[rule][0])
    *quarters, end = means[fastest]
    highest, best = max(means, key=lambda rule: means[rule][-1]), int(np.argmax(quarters))
    falls = quarters[best] - end > NOTICEABLE
    course = f"falls from {quarters[best]:.2f} in the {WORDS[best]} quarter to" if falls else "has"
    text = f"{SHORT[fastest]} ({fastest}) learns first, and {course} {end:.2f} at the end"
    return f"{text}, where {SHORT[highest]} ({highest}) is highest with {means[highest][-1]:.2f}."


def _table(means: Means, seeds: int) -> Table:
    table = Table(title=f"mean reward of {seeds} seeds; a guess has 0, the right answer 1")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "rule" else "right")
    for rule, values in means.items():
        table.add_row(both_names(rule), *(f"{value:.2f}" for value in values))
    return table
