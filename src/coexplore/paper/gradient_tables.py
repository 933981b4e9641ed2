"""What was measured of networks on their way, and how fast they got there, in Markdown."""

from collections.abc import Iterable, Sequence

import numpy as np

from coexplore.paper.checkpoints import LEVELS, episodes_to, networks
from coexplore.paper.evidence import Evidence, NotRun, Row
from coexplore.paper.figure import resized
from coexplore.paper.gradients import RIGHT
from coexplore.paper.questions.why import half_of_best
from coexplore.results.tables import markdown
from coexplore.run import Result, Run
from coexplore.stats.estimates import Summary, summary

LATE = 0.8  # the reward that ends a training, or nearly
SCALES = {"snr": 1000.0, "cosine": 1.0, "gain": 100.0}
HEADS = ["", "N", "where reward reaches", "networks", "reward there", "signal to noise, ‰", "cosine", "gain, 0.01"]
HEADS += ["with a right critic: signal to noise, ‰", "cosine", "gain, 0.01"]
PART = {"snr": "forward", "cosine": "forward", "gain": "all"}


def measured(rows: Iterable[Row], run: Run, level: float, episodes: int, name: str, right: bool = False) -> list[float]:
    """A number of each network that has it, in the table's units; with the critic as it is, or a right one."""
    setting = resized(run, episodes).setting.digest
    there = [row for row in rows if row["setting"] == setting and row["level"] == level]
    if name == "reward":
        return [row["reward"] for row in there]
    homes = [row.get(RIGHT, {}) if right else row for row in there]
    found = (home.get(PART[name], home["forward"])[name][0] for home in homes if home)
    return [SCALES[name] * value for value in found if value is not None]


def table(results: Sequence[Result], rows: Sequence[Row], episodes: int) -> str:
    """Of estimates, then of speeds."""
    every = networks()
    estimates = [
        [label, str(N), f"{level:g}", str(len(reward)), f"{np.mean(reward):.3f}", *_levels(rows, run, level, episodes)]
        for (label, N), run in every.items()
        for level in LEVELS
        if (reward := measured(rows, run, level, episodes, "reward"))
    ]
    about = (
        "How good each rule's estimate of the gradient is, where its reward first reaches a level: mean and 95 % "
        "interval over seeds. Signal to noise and cosine are those of W and b, the gain is that of the whole layer."
    )
    return f"{about}\n\n{markdown(HEADS, estimates)}\n\n{_speeds(results, episodes)}"


def _levels(rows: Sequence[Row], run: Run, level: float, episodes: int) -> list[str]:
    both = ((name, right) for right in (False, True) for name in SCALES)
    return [_interval(measured(rows, run, level, episodes, name, right)) for name, right in both]


def _interval(values: Sequence[float]) -> str:
    if not values:
        return "too noisy"
    found: Summary = summary(values)
    mean = f"{found.mean:.3g}"
    return mean if len(values) == 1 else f"{mean} [{found.low:.3g}, {found.high:.3g}]"


def _speeds(results: Sequence[Result], episodes: int) -> str:
    at, lines = Evidence(results, episodes), []
    for (label, N), run in networks().items():
        try:
            same, half = at.results(run), half_of_best(at, N)
        except NotRun:
            continue
        lines.append([label, str(N), str(len(same)), f"{half:.3f}", _reached(same, half), _reached(same, LATE)])
    heads = ["", "N", "seeds", "half of the best", "episodes to it", f"episodes to {LATE:g}"]
    return f"Speed: the median over seeds; who never got there is counted as later.\n\n{markdown(heads, lines)}\n"


def _reached(same: Sequence[Result], target: float) -> str:
    times = [episodes_to(result, target) for result in same]
    there = [time for time in times if time is not None]
    middle = float(np.median([np.inf if time is None else time for time in times]))
    told = f"{middle:,.0f}" if np.isfinite(middle) else f"more than {same[0].run.episodes:,}"
    return told if len(there) == len(times) else f"{told} ({len(there)} of {len(times)} got there)"
