"""How far the training is: bars on standard error, with the reward right now and the speed."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from coexplore.flags import labels
from coexplore.run import Run

BARS = 12  # settings that get a bar each; more share one

Show = Callable[[Sequence[Run], int, Any], None]


@contextlib.contextmanager
def shown(runs: Sequence[Run], visible: bool = True) -> Iterator[Show]:
    """Gives `show(runs, episodes, rewards)`: these runs have done so many more episodes, at these rewards."""
    names = labels(runs)
    if len(set(names)) > BARS:
        names = [f"{len(runs)} runs"] * len(runs)
    label = dict(zip(runs, names, strict=True))
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[now]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not visible) as bars:
        totals: dict[str, int] = {}
        for run, name in label.items():
            totals[name] = totals.get(name, 0) + run.episodes
        tasks = {name: bars.add_task(name, total=total, now="compiling or waiting") for name, total in totals.items()}

        def show(runs: Sequence[Run], episodes: int, rewards: Any) -> None:
            for run, reward in zip(runs, rewards, strict=True):
                task = tasks[label[run]]
                now = f"reward {float(reward):+.2f} {bars.tasks[task].speed or 0:>9,.0f} episodes/s"
                bars.update(task, advance=episodes, now=now)

        yield show
