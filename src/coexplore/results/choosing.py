"""Choosing among settings: one function, wherever one is chosen."""

from collections.abc import Collection, Iterable, Mapping
from statistics import fmean

from coexplore.run import Result, Run

MEASURES = ("reward", "first", "last")  # what settings are chosen by: never by what is held out


def ranked(
    candidates: Iterable[Run],
    trained: Mapping[Run, Iterable[Result]],
    by: str = "reward",
    seeds: Collection[int] | None = None,
) -> list[Run]:
    """The candidates, best first, by their mean over these seeds (over all, if none are named).

    Of equals the earlier one comes first; one of which nothing is trained is left out.
    """
    values = {
        run: [getattr(r, by) for r in trained.get(run, ()) if seeds is None or r.seed in seeds] for run in candidates
    }
    means = {run: fmean(own) for run, own in values.items() if own}
    return sorted(means, key=lambda run: -means[run])
