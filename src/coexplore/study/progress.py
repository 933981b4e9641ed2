"""How far the training is: bars on standard error, with the reward right now, the speed and the time left."""

import contextlib
import functools
import importlib.util
import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from coexplore.run import Result, Run, labels
from coexplore.run.seeded import Runs, counted
from coexplore.settings import one_line

BARS = 12  # settings that get a bar each; more share one


class Shown:
    """The bars of these runs; threads may call it."""

    def __init__(self, runs: Runs, bars: Progress) -> None:
        counts = counted(runs)
        self.bars, self.done, self.runs = bars, 0, sum(counts.values())
        names = labels(list(counts))
        self.shared = len(set(names)) > BARS
        self.label = dict(zip(counts, ["runs"] * len(names) if self.shared else names, strict=True))
        totals: dict[str, int] = {}
        for setting, count in counts.items():
            name = self.label[setting]
            totals[name] = totals.get(name, 0) + count * setting.length
        self.tasks = {name: bars.add_task(name, total=total, now="waiting") for name, total in totals.items()}
        self.said: set[str] = set()
        self.steps: dict[str, TaskID] = {}  # bars that nobody sees: of them only the speed is wanted
        self.reward: dict[str, str] = {}  # as it was last known

    def advance(self, runs: Sequence[Run], updates: int, rewards: NDArray[np.float64] | None, steps: int = 0) -> None:
        """These runs have done so many more updates, at these rewards (None where nobody has looked), their
        environments so many more steps."""
        levels = np.full(len(runs), np.nan) if rewards is None else rewards
        by_label: dict[str, list[tuple[int, float]]] = {}
        for run, reward in zip(runs, levels, strict=True):
            by_label.setdefault(self.label[run.setting], []).append((updates * run.batch, float(reward)))
        for label, moved in by_label.items():
            known = [reward for _, reward in moved if not math.isnan(reward)]
            reward = float(np.mean(known)) if known else None
            self._update(label, sum(much for much, _ in moved), reward, steps * len(moved) // len(runs))

    def take(self, results: Iterable[Result]) -> None:
        """These were finished before."""
        by_label: dict[str, list[Result]] = {}
        for result in results:
            by_label.setdefault(self.label[result.run.setting], []).append(result)
        for label, same in by_label.items():
            self._update(label, sum(result.run.length for result in same), same[-1].last)
            self.end_runs(len(same))

    def _update(self, label: str, much: int, reward: float | None, steps: int = 0) -> None:
        task, level = self.tasks[label], "" if reward is None else f"reward {reward:+.2f}"
        if steps and label not in self.steps:
            self.steps[label] = self.bars.add_task("", total=None, visible=False, now="")
        if label in self.steps:  # where an episode is long, nothing else is seen to move
            self.bars.update(self.steps[label], advance=steps)
            level = self.reward[label] = level or self.reward.get(label, "no episode ended yet")
        speed = f" {self.bars.tasks[self.steps.get(label, task)].speed or 0:>9,.0f} {self._unit(label)}/s"
        self.bars.update(task, advance=much, now=level and level + speed)

    def _unit(self, label: str) -> str:
        return "steps" if label in self.steps else "episodes"

    def begin(self) -> None:
        """Show the bars; what is said before may still be that there is nothing to show."""
        self.bars.start()

    def say(self, line: str) -> None:
        """A line above the bars, once."""
        if line in self.said:
            return
        self.said.add(line)
        self.bars.console.print(f"coexplore: {one_line(line)}", highlight=False, soft_wrap=True)

    def end_runs(self, count: int) -> None:
        """So many more runs are finished."""
        self.done += count
        if self.shared:
            self.bars.update(self.tasks["runs"], description=f"{self.done}/{self.runs} runs")

    def wait_for(self, count: int) -> None:
        """So many runs are being trained by another process."""
        for task in self.tasks.values():
            if not self.bars.tasks[task].finished:
                self.bars.update(task, now=f"waiting for another process ({count} runs)")


@contextlib.contextmanager
def shown(runs: Runs, visible: bool = True) -> Iterator[Shown]:
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[now]}", markup=False),
        TimeRemainingColumn(),
    )
    bars = Progress(*columns, console=_console(), disable=not visible)
    try:
        yield Shown(runs, bars)
    finally:
        if bars.live.is_started:
            bars.stop()


def _console() -> Console:
    """In a notebook bars move if ipywidgets is there. If not they are shown at the end, and nobody is warned."""
    plain = functools.partial(Console, stderr=True, markup=False, emoji=False)  # folders may be called anything
    console = plain()
    if console.is_jupyter and importlib.util.find_spec("ipywidgets") is None:
        return plain(force_jupyter=False, force_terminal=False, width=console.width)
    return console
