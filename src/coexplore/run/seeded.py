"""Settings with many seeds: the runs are made when somebody asks for them, since there may be millions."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from coexplore.run.run import Run


class Seeded:
    """Each of the settings with each of the seeds, one setting after the other."""

    def __init__(self, settings: Iterable[Run], seeds: Sequence[int]) -> None:
        self.settings, self.seeds = list(dict.fromkeys(run.setting for run in settings)), seeds

    def __len__(self) -> int:
        return len(self.settings) * len(self.seeds)

    def __iter__(self) -> Iterator[Run]:
        return (setting.with_seed(seed) for setting in self.settings for seed in self.seeds)


Runs = list[Run] | Seeded


def counted(runs: Runs) -> Mapping[Run, int]:
    """How many different runs there are of each setting."""
    if isinstance(runs, Seeded):
        return dict.fromkeys(runs.settings, len(runs.seeds))
    return Counter(run.setting for run in dict.fromkeys(runs))


def portions(runs: Runs, most: int) -> Iterator[list[Run]]:
    """The runs, each once; of those that are not made yet so many at a time."""
    if not isinstance(runs, Seeded):
        yield list(dict.fromkeys(runs))
        return
    left = iter(runs)
    while some := list(islice(left, most)):
        yield some
