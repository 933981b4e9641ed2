"""What a figure is: lines of settings, how long they are trained, and how it is drawn."""

import dataclasses
import functools
from collections.abc import Iterable
from typing import NamedTuple

from coexplore.run import Run, change


class Scale(NamedTuple):
    episodes: int
    seeds: int


SCALES = {"paper": Scale(4_000_000, 5), "quick": Scale(400_000, 3)}

# A line of a figure: its label, and the settings at each place of the horizontal axis. Where there are several
# settings at one place, the best of them (by reward over all episodes) is drawn.
Places = dict[float | int | str, list[Run]]
Lines = dict[str, Places]


@dataclasses.dataclass(frozen=True)
class Figure:
    """`kind` says how it is drawn, `windows` what of each run: a panel for each of first, last, reward (= all).

    Its first `ordered` lines are values of one setting, in order: the report can show one of them alone. A figure of
    many slow settings trains each for one `part`-th of a scale's episodes, and says so. Of runs in larger batches a
    length is that of as many updates.
    """

    name: str
    title: str
    kind: str  # curves | bars | sweep | map | compute
    lines: Lines
    windows: tuple[str, ...] = ()
    ours: bool = False
    axis: str = "N, hidden units"  # of bars, sweeps and maps
    part: int = 1
    ordered: int = 0
    against: str = ""  # the line that a picture of curves shows the others as differences from
    beside: tuple[Run, ...] = ()  # trained with it for claims, and not drawn
    question: bool = False  # that the paper leaves open: trained where it is named, and not with "all"

    def ordered_among(self, labels: Iterable[str]) -> int:
        """How many of these lines are values of the one setting."""
        return len({*list(self.lines)[: self.ordered]} & {*labels})

    def length(self, episodes: int) -> int:
        """How many episodes its runs have where the scale has so many; a length that no scale has is the runs' own."""
        return episodes // self.part if episodes in {scale.episodes for scale in SCALES.values()} else episodes

    def span(self, episodes: int) -> str:
        """So many episodes in words; where batches differ, the updates that they are in those of the usual size."""
        runs = self.settings()
        alike = len({run.batch for run in runs}) == 1
        return f"{episodes:,} episodes" if alike else f"{episodes // runs[0].task.batch:,} updates"

    def settings(self, episodes: int = SCALES["paper"].episodes) -> list[Run]:
        """Each setting once, trained for as long as the figure does at this scale."""
        episodes = self.length(episodes)
        each = [run for places in self.lines.values() for candidates in places.values() for run in candidates]
        return list(dict.fromkeys(resized(run, episodes) for run in (*each, *self.beside)))


@functools.lru_cache(maxsize=10_000)  # every claim and every figure asks, mostly for the same settings
def resized(run: Run, episodes: int) -> Run:
    """Trained for as many updates as this many episodes are in batches of the usual size."""
    episodes = episodes * run.batch // run.task.batch
    return run if run.episodes == episodes else change(run, "episodes", episodes)


def length(run: Run) -> int:
    """How many episodes its updates would be in batches of the usual size."""
    return run.episodes * run.task.batch // run.batch
