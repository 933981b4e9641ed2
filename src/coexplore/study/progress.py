"""How far the training is: bars on standard error, with the reward right now, the speed and the time left."""

import contextlib
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from coexplore.run import Run, labels

BARS = 12  # settings that get a bar each; more share one


class Shown:
    """The bars of these runs; threads may call it."""

    def __init__(self, runs: Sequence[Run], bars: Progress) -> None:
        self.bars, self.done = bars, 0
        names = labels(runs)
        self.shared = len(set(names)) > BARS
        if self.shared:
            names = ["runs"] * len(runs)
        self.label = dict(zip(runs, names, strict=True))
        totals: dict[str, int] = {}
        for run, name in self.label.items():
            totals[name] = totals.get(name, 0) + run.episodes
        self.tasks = {name: bars.add_task(name, total=total, now="waiting") for name, total in totals.items()}
        self.runs = len(self.label)

    def advance(self, run: Run, episodes: int, reward: float | None) -> None:
        """The run has done so many more episodes, at this reward (None where nobody has looked)."""
        task = self.tasks[self.label[run]]
        now = "" if reward is None else f"reward {reward:+.2f} {self.bars.tasks[task].speed or 0:>9,.0f} episodes/s"
        self.bars.update(task, advance=episodes, now=now)

    def say(self, line: str) -> None:
        """A line above the bars."""
        self.bars.console.print(f"coexplore: {line}", highlight=False, soft_wrap=True)

    def end_run(self) -> None:
        """One more run is finished."""
        self.done += 1
        if self.shared:
            self.bars.update(self.tasks["runs"], description=f"{self.done}/{self.runs} runs")

    def wait_for(self, count: int) -> None:
        """So many runs are being trained by another process."""
        for task in self.tasks.values():
            if not self.bars.tasks[task].finished:
                self.bars.update(task, now=f"waiting for another process ({count} runs)")


@contextlib.contextmanager
def shown(runs: Sequence[Run], visible: bool = True) -> Iterator[Shown]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[now]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not visible) as bars:
        yield Shown(runs, bars)
