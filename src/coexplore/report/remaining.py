"""How long a study still takes, from how long its finished runs took: rules differ in cost, so like goes with like."""

from collections.abc import Iterable, Mapping

from coexplore.run import Result
from coexplore.store import Planned, planned


class Costs:
    """Seconds per episode: of the same setting if one of its seeds is finished, else of the rule, else of any run."""

    def __init__(self, results: Iterable[Result]) -> None:
        self.spent: dict[str | None, list[float]] = {}
        for result in results:
            seconds = result.provenance.get("seconds")
            if isinstance(seconds, int | float):
                about = planned(result.run)
                for key in (about.setting, about.rule, None):
                    total = self.spent.setdefault(key, [0.0, 0.0])
                    total[0] += seconds
                    total[1] += result.run.length

    def rate(self, run: Planned) -> float | None:
        spent = self.spent.get(run.setting) or self.spent.get(run.rule) or self.spent.get(None)
        return spent[0] / spent[1] if spent else None

    def left(self, remaining: Iterable[Planned], done: Mapping[str, int], at_a_time: int) -> float | None:
        """Seconds, if as many runs as now go on side by side; None while nothing is known or nothing moves."""
        rates = [(self.rate(run), run.episodes - done.get(run.digest, 0)) for run in remaining]
        if not rates or not at_a_time:
            return None
        known = [rate * episodes for rate, episodes in rates if rate is not None]
        return sum(known) / at_a_time if known else None
