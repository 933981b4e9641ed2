"""How long a study still takes, from how long its finished runs took: rules differ in cost, so like goes with like."""

from collections.abc import Iterable, Mapping
from typing import Any

from coexplore.plan import Planned, planned
from coexplore.result import Result


class Costs:
    """Seconds an episode: of the same setting if one of its seeds is finished, else of the rule, else of any run."""

    def __init__(self, results: Iterable[Result]) -> None:
        self.spent: dict[Any, list[float]] = {}
        for result in results:
            seconds = result.provenance.get("seconds")
            if isinstance(seconds, int | float):
                about = planned(result.run)
                for key in (about.setting, about.rule, None):
                    total = self.spent.setdefault(key, [0.0, 0.0])
                    total[0] += seconds
                    total[1] += result.run.episodes

    def rate(self, one: Planned) -> float | None:
        found = self.spent.get(one.setting) or self.spent.get(one.rule) or self.spent.get(None)
        return found[0] / found[1] if found else None

    def left(self, remaining: Iterable[Planned], done: Mapping[str, int], at_a_time: int) -> float | None:
        """Seconds, if as many runs as now go on side by side; None while nothing is known or nothing moves."""
        rates = [(self.rate(one), one.episodes - done.get(one.digest, 0)) for one in remaining]
        if not rates or not at_a_time:
            return None
        known = [rate * episodes for rate, episodes in rates if rate is not None]
        return sum(known) / at_a_time if known else None
