"""What a figure is in which settings are searched for: its places, how much is tried at each, and on which seeds."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from coexplore.paper.defaults import RULES
from coexplore.paper.figure import SCALES
from coexplore.paper.spaces import COUPLINGS, FALLING
from coexplore.results.choosing import MEASURES
from coexplore.results.palette import SHORT
from coexplore.rules import BUILT_IN, UnbiasedWeightMax
from coexplore.run import Run
from coexplore.study.search import Search, Seeds

EXPECTED = "unbiased Weight Max, expected"
KINDS = {SHORT[name]: Run(rule=rule()) for name, rule in BUILT_IN.items()}
KINDS[EXPECTED] = Run(rule=UnbiasedWeightMax(expected=True))
BY_KERNEL = (*RULES, EXPECTED)  # a fast engine has them; xla takes as long for one run as for a thousand of a shape
KNOWN, LARGE_NS = 128, (64, 128, 192, 256, 384, 512)  # the size whose best is known, and those searched next to it
LARGE_RULES = ("Algorithm 1", "Algorithm 2", "REINFORCE", EXPECTED, "STE backprop")
MOST = 24  # settings that each rule may try in larger layers


class Place(NamedTuple):
    """`panel` tells parts of a figure that are drawn apart; `at` is the place on the horizontal axis."""

    panel: str
    label: str
    at: int


Searches = Mapping[Place, Search]


class Size(NamedTuple):
    """How much is tried."""

    starts: Sequence[float]  # of the learning rate
    wide: Sequence[float]  # the same where a wider grid costs nothing
    couplings: Sequence[object]
    rounds: int
    seeds: Seeds
    fewer: Seeds  # where a run costs more; none that judged `scaling` before, when it tried less


SIZES = {
    "paper": Size(
        (0.001, 0.002, 0.005, 0.01, 0.02, 0.05),
        (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1),
        (*COUPLINGS[:8], *FALLING),
        3,
        Seeds(range(1000, 1005), range(1015, 1115), range(1005, 1015), 10),
        Seeds(range(1000, 1003), range(1025, 1065)),
    ),
    "quick": Size(
        (0.002, 0.005, 0.02),
        (0.002, 0.005, 0.02),
        (0.1, 0.25, FALLING[0]),
        1,
        Seeds(range(1000, 1002), range(1015, 1018), range(1005, 1006), 3),
        Seeds(range(1000, 1002), range(1025, 1028)),
    ),
}


@dataclasses.dataclass(frozen=True)
class Tuning:
    """`measures` are what is chosen by, a panel for each; a run has one `part`-th of a scale's episodes."""

    name: str
    title: str
    axis: str
    places: Callable[[int, Size], Searches]
    measures: tuple[str, ...] = MEASURES
    part: int = 1
    question: bool = False  # that the paper leaves open

    def length(self, episodes: int) -> int:
        """How many episodes its runs have where the scale has so many; a length that no scale has is the runs' own."""
        return episodes // self.part if episodes in {scale.episodes for scale in SCALES.values()} else episodes

    def searches(self, episodes: int) -> Searches:
        """At each place; the lengths of the smaller scale have the smaller search."""
        length, quick = self.length(episodes), SCALES["quick"].episodes // self.part
        return _searches(self.places, length, "quick" if length <= quick else "paper")


@functools.cache  # verdicts, pictures and tables ask, and making thousands of Runs takes a while
def _searches(places: Callable[[int, Size], Searches], episodes: int, size: str) -> Searches:
    return places(episodes, SIZES[size])
