"""A search for the best setting. What to try next follows from the results there are: it remembers nothing else.

Settings are tried on the choosing seeds: first a grid, then what each step finds around the best so far. The finalists
are tried on more seeds, and the one that was chosen is judged on seeds that had no say in it. Whoever asks again goes
through all of that again: a search that was stopped goes on, a finished one trains nothing, and a pack of its runs
tells what was chosen and how.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from coexplore.results.choosing import ranked
from coexplore.run import CHOOSING, JUDGING, Result, Run
from coexplore.study.studies import Study

Step = Callable[[Run], Iterable[Run]]  # from the best setting so far to others worth a try
T = TypeVar("T")
FEW = 0.1  # of a stage: where no more than that is missing in a pack or a store, it was lost and not just not trained


class Seeds(NamedTuple):
    choose: Sequence[int]
    judge: Sequence[int]
    more: Sequence[int] = ()
    finalists: int = 10


class Untrained(LookupError):
    """A stage of a search needs these runs first, to choose by or to judge by."""

    def __init__(self, runs: list[Run], trained_for: str) -> None:
        super().__init__(f"{len(runs)} runs are not trained")
        self.runs, self.trained_for = runs, trained_for


class Trials:
    """Results by setting and seed. A setting of which a run was `lost` (it failed) is out of the running."""

    def __init__(self, results: Iterable[Result] = (), finished: bool = False) -> None:
        self.found: dict[Run, dict[int, Result]] = {}
        self.lost: set[Run] = set()
        self.finished = finished
        self.add(results)

    def add(self, results: Iterable[Result], lost: Iterable[Run] = ()) -> None:
        """Where two engines have trained the same run, the first one counts."""
        for result in results:
            self.found.setdefault(result.setting, {}).setdefault(result.seed, result)
        self.lost.update(lost)

    def results(self, setting: Run, seeds: Iterable[int]) -> list[Result]:
        """Those there are."""
        mine = self.found.get(setting, {})
        return [mine[seed] for seed in seeds if seed in mine]

    def need(
        self, settings: Sequence[Run], seeds: Sequence[int], trained_for: str = CHOOSING
    ) -> dict[Run, list[Result]]:
        """The results of each setting that lost none; Untrained if some are still to be trained."""
        found = {setting: self.results(setting, seeds) for setting in settings}
        short = [setting for setting, mine in found.items() if len(mine) < len(seeds)]
        absent = [run for setting in short for run in self._absent(setting, seeds)]
        if len(absent) > (FEW if self.finished else 0.0) * len(settings) * len(seeds):
            raise Untrained(absent, trained_for)
        return {setting: mine for setting, mine in found.items() if len(mine) == len(seeds)}

    def _absent(self, setting: Run, seeds: Iterable[int]) -> list[Run]:
        mine = self.found.get(setting, {})
        return [run for run in (setting.with_seed(seed) for seed in seeds if seed not in mine) if run not in self.lost]


@dataclasses.dataclass(frozen=True, eq=False)
class Search:
    """`grid` may itself depend on what was found elsewhere. Each of `by` has a choice of its own; they share runs.

    A step starts from the best by each measure; it is left out where it finds nothing new, and `most` settings are
    tried in all.
    """

    grid: Callable[[Trials], Sequence[Run]]
    seeds: Seeds
    steps: tuple[Step, ...] = ()
    by: tuple[str, ...] = ("reward",)
    most: int = 10_000
    after: tuple["Search", ...] = ()  # those that the grid depends on
    one: bool = False  # whether one setting, the best by the first measure, is judged by all of them
    given: Mapping[str, Run] | None = None  # what was chosen elsewhere, by each measure: it is only judged here

    @property
    def chosen_by(self) -> tuple[str, ...]:
        return self.by[:1] if self.one else self.by

    def for_all(self, found: dict[str, T]) -> dict[str, T]:
        """What was found by those measures, for all of them."""
        return dict.fromkeys(self.by, found[self.by[0]]) if self.one else found


class Outcome(NamedTuple):
    grid: list[Run]  # of what was tried, the part that was settled beforehand
    tried: list[Run]
    finalists: dict[str, list[Run]]
    chosen: dict[str, Run]
    judged: dict[str, list[Result]]


def outcome(search: Search, trials: Trials) -> Outcome:
    """Of a search whose runs are all trained; Untrained if they are not, LookupError if none of them lasted."""
    choose, judge, more, count = search.seeds
    if search.given:
        return _given(search.given, judge, trials)
    grid = list(dict.fromkeys(search.grid(trials)))[: search.most]
    tried = dict.fromkeys(grid)
    alive = trials.need(grid, choose)
    for step in search.steps:
        best = dict.fromkeys(run for by in search.chosen_by for run in ranked(alive, alive, by)[:1])
        new = dict.fromkeys(run for start in best for run in step(start) if run not in tried)
        added = list(new)[: search.most - len(tried)]
        tried |= dict.fromkeys(added)
        alive |= trials.need(added, choose)
    if not alive:
        raise LookupError(f"none of {len(tried)} settings could be trained")
    finalists = {by: ranked(alive, alive, by)[:count] for by in search.chosen_by}
    every = list(dict.fromkeys(run for some in finalists.values() for run in some))
    last = trials.need(every, [*choose, *more])
    chosen = {by: (ranked((run for run in some if run in last), last, by) or some)[0] for by, some in finalists.items()}
    finalists, chosen = search.for_all(finalists), search.for_all(chosen)
    return Outcome(grid, list(tried), finalists, chosen, _judged(chosen, judge, trials))


def _given(chosen: Mapping[str, Run], judge: Sequence[int], trials: Trials) -> Outcome:
    every, alone = list(dict.fromkeys(chosen.values())), {by: [run] for by, run in chosen.items()}
    return Outcome(every, every, alone, dict(chosen), _judged(dict(chosen), judge, trials))


def _judged(chosen: dict[str, Run], seeds: Sequence[int], trials: Trials) -> dict[str, list[Result]]:
    trials.need(list(dict.fromkeys(chosen.values())), seeds, JUDGING)
    judged = {by: trials.results(run, seeds) for by, run in chosen.items()}
    if not all(judged.values()):
        raise LookupError("what was chosen could not be trained on the judging seeds")
    return judged


def conduct(searches: Sequence[Search], trials: Trials, train: Callable[[dict[Run, str]], Study | None]) -> bool:
    """Train, stage by stage, what all of the searches need together; False if `train` was interrupted (gave None).

    `train` is given the runs, with what each of them is trained for.
    """
    while runs := _wanted(searches, trials):
        done = train(runs)
        if done is None:
            return False
        trials.add(done.results, (failure.run for failure in done.failures))
    return True


def _wanted(searches: Iterable[Search], trials: Trials) -> dict[Run, str]:
    """The runs of the next stage. A run that one search chooses by is trained for choosing, whatever others do."""
    wanted: dict[Run, str] = {}
    for search in searches:
        try:
            outcome(search, trials)
        except Untrained as stage:
            new = stage.runs if stage.trained_for == CHOOSING else [run for run in stage.runs if run not in wanted]
            wanted |= dict.fromkeys(new, stage.trained_for)
        except LookupError:  # nothing of it lasted, which `train` has told
            continue
    return wanted
