"""`tune`: choose among settings on some seeds, judge the one that was chosen on others."""

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from coexplore.results.choosing import MEASURES, ranked
from coexplore.results.listing import Results, seed_summary
from coexplore.run import Failure, Run, command, failure_count, failure_lines
from coexplore.settings import refusal
from coexplore.stats.seed_summary import SeedSummary
from coexplore.study.search import Outcome, Search, Seeds, Trials, conduct, outcome
from coexplore.study.studies import Study, listed, study


@dataclasses.dataclass(frozen=True)
class Tuned:
    """What `tune` gives: the setting `chosen` by the measure `by`.

    `scores` has every setting that was tried, best first by the mean of all its runs. Each is a summary: `mean`, `sd`,
    `low` and `high` are of the runs that learned, `frozen` is the share of the others, `of_all` the mean of all.

    The best of many tries owes something to luck; `results`, of the chosen one on other seeds, do not. Their
    `failures` are those of the whole search: a setting of which a run failed has no score.
    """

    by: str
    chosen: Run
    scores: dict[Run, SeedSummary]
    results: Results

    def __repr__(self) -> str:
        judged = f"{self.by} on {len(self.results)} seeds that judge: {self.score}"
        return f"chosen of {self.tried}: {command(self.chosen) or self.chosen}\n{judged}"

    @property
    def tried(self) -> int:
        """How many settings."""
        return len(self.scores)

    @property
    def score(self) -> SeedSummary:
        """What the chosen one came to on the judging seeds."""
        return seed_summary(self.results, self.by)


def tune(
    settings: Iterable[Run],
    choose: Iterable[int],
    judge: Iterable[int],
    by: str = "reward",
    more: Iterable[int] = (),
    finalists: int = 10,
    engine: str = "auto",
    progress: bool = True,
    threads: int | None = None,
    store: str | Path | None = None,
    snapshots: int | None = None,
    cluster: str | None = None,
) -> Tuned:
    """The best of the `settings` by `by` (reward, first or last) on the seeds `choose`, judged on the seeds `judge`.

    With `more` seeds the `finalists` best are tried on those too before one is chosen. `engine`,
    `progress`, `threads`, `store`, `snapshots` and `cluster` are as in `train`.
    """
    search = searched(list(listed(settings)), checked_seeds(choose, judge, more, finalists), by)
    return _tuned(
        search, lambda runs: study(runs, engine, progress, threads, store, snapshots, cluster, trained_for=runs)
    )


def _tuned(search: Search, train: Callable[[dict[Run, str]], Study]) -> Tuned:
    trials, failures = Trials(), list[Failure]()

    def trained(runs: dict[Run, str]) -> Study:
        done = train(runs)
        failures.extend(done.failures)
        return done

    conduct([search], trials, trained)
    try:
        found = tuned(search, outcome(search, trials), trials)
    except LookupError:
        raise RuntimeError("; ".join(failure_lines(failures))) from None
    if failures:
        warnings.warn(failure_count(failures), stacklevel=3)
        found.results.failures = tuple(failures)
    return found


def searched(settings: Sequence[Run], seeds: Seeds, by: str) -> Search:
    """The search that `tune` makes."""
    if by not in MEASURES:
        raise refusal("by", by, " | ".join(MEASURES), MEASURES)
    candidates = list(dict.fromkeys(run.setting for run in settings))
    if not candidates:
        raise refusal("settings", [], "at least one to choose")
    return Search(lambda _: candidates, seeds, by=(by,))


def checked_seeds(choose: Iterable[int], judge: Iterable[int], more: Iterable[int] = (), finalists: int = 10) -> Seeds:
    """A seed chooses or judges, not both."""
    given = {
        "choose": list(dict.fromkeys(choose)),
        "more": list(dict.fromkeys(more)),
        "judge": list(dict.fromkeys(judge)),
    }
    for name, least in (("choose", 1), ("judge", 2)):
        if len(given[name]) < least:
            raise refusal(name, given[name], f"at least {least} seed{'s' * (least > 1)}")
    if finalists < 1:
        raise refusal("finalists", finalists, "at least 1")
    for first, second in (("choose", "judge"), ("more", "judge"), ("choose", "more")):
        if both := set(given[first]) & set(given[second]):
            raise refusal(second, min(both), f"seeds that are not among those of {first}")
    return Seeds(**given, finalists=finalists)


def tuned(search: Search, found: Outcome, trials: Trials) -> Tuned:
    """What was found, as a record; settings that lost a run have no score."""
    (by,), seeds = search.by, search.seeds
    every = [*seeds.choose, *seeds.more]
    results = {run: same for run in found.tried if (same := trials.results(run, every))}
    whole = {run: same for run, same in results.items() if len(same) >= len(seeds.choose)}
    order = [*ranked(found.finalists[by], whole, by), *ranked(whole, whole, by)]  # those with more seeds first
    scores = {run: seed_summary(whole[run], by) for run in dict.fromkeys(order)}
    return Tuned(by, found.chosen[by], scores, Results(found.judged[by]))
