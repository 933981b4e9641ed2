"""What searches found: the best setting at each place, its results on the judging seeds, and what they cost.

`Comparison` is the evidence by which claims on tuned rules are judged. A rival is chosen as a setting is: by the
choosing seeds, among settings that were chosen by them, and judged on the others.
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from coexplore.paper.defaults import ALG_1
from coexplore.paper.evidence import Evidence, How, NotRun
from coexplore.paper.figure import SCALES
from coexplore.paper.figures import FIGURES
from coexplore.paper.measures import Measure, first, last, reward
from coexplore.paper.tuning import Place, Searches, Tuning
from coexplore.paper.tunings import TUNINGS
from coexplore.results.choosing import ranked
from coexplore.run import Result, Run
from coexplore.stats.estimates import Estimate, combination
from coexplore.study.search import Outcome, Trials, outcome

BATCH = ALG_1.batch
Found = dict[Place, Outcome]


def findings(searches: Searches, trials: Trials) -> Found:
    """Of the searches that were carried to their end."""
    found = {}
    for place, search in searches.items():
        try:
            found[place] = outcome(search, trials)
        except LookupError:
            continue
    return found


class Comparison(Evidence):
    """What was found at the places of one figure, with the results that settings were chosen by."""

    def __init__(self, searches: Searches, trials: Trials, episodes: int) -> None:
        super().__init__((), episodes)
        self.searches, self.trials = searches, trials
        self.found = findings(searches, trials)

    def fresh(self, how: How | None = None) -> "Comparison":
        """Settings were chosen by the search, signals among them: there is nothing to be read in another way."""
        other = Comparison({}, self.trials, self.episodes)
        other.searches, other.found, other.usual = self.searches, self.found, self.usual
        return other

    def at(self, label: str, x: int, panel: str = "") -> Outcome:
        place = Place(panel, label, x)
        if place not in self.found:
            raise NotRun(f"{', '.join(filter(None, place[:2]))} at {x}")
        return self.found[place]

    @property
    def panels(self) -> list[str]:
        return list(dict.fromkeys(place.panel for place in self.searches))

    def sizes(self, panel: str = "") -> list[int]:
        """The places on the horizontal axis."""
        return sorted({place.at for place in self.searches if place.panel == panel})

    def judged(self, label: str, x: int, by: str, panel: str = "") -> list[Result]:
        """On the judging seeds, at the setting that was chosen by this measure."""
        same = self.at(label, x, panel).judged[by]
        for result in same:
            self._used.add(result.setting)
            self._found.setdefault(result.setting, {})[result.seed] = result
        return same

    def chosen_by(self, place: Place, by: str) -> list[Result]:
        """The results that speak for what was chosen there."""
        seeds, run = self.searches[place].seeds, self.found[place].chosen[by]
        return self.trials.results(run, [*seeds.choose, *seeds.more])

    def strongest(self, labels: Sequence[str], x: int, by: str, panel: str = "") -> str:
        """The rule that is best on the choosing seeds; those that nobody wanted to train there do not count."""
        wanted = [label for label in labels if Place(panel, label, x) in self.searches]
        settings = {self.at(label, x, panel).chosen[by]: label for label in wanted}
        if not settings:
            raise NotRun(f"none of {', '.join(labels)} at {x}")
        trained = {run: self.chosen_by(Place(panel, label, x), by) for run, label in settings.items()}
        return settings[ranked(settings, trained, by)[0]]

    def over(self, label: str, other: str, x: int, by: str, panel: str = "") -> Estimate:
        """One rule over another, both chosen and judged by this measure."""
        a, b = (self.judged(each, x, by, panel) for each in (label, other))
        return self.between(a, b, _measure(by))

    def leads(
        self, label: str, rivals: Sequence[str], weights: Mapping[int, float], by: str, panel: str = ""
    ) -> Estimate:
        """Σ w · lead of one rule over the strongest of its rivals at each place."""
        groups, signs, measure = [], [], _measure(by)
        for x, w in weights.items():
            rival = self.strongest(rivals, x, by, panel)
            groups += [self.judged(each, x, by, panel) for each in (label, rival)]
            signs += [w, -w]
        values = [self.values(group, measure) for group in groups]
        return combination(values, signs, measure.bounds(groups[0][0].setting.task))


def slope(xs: Sequence[int]) -> dict[int, float]:
    """Weights that give the least-squares slope on log₂ of these places: what a doubling adds."""
    log = np.log2(xs) - np.mean(np.log2(xs))
    return {x: float(w) for x, w in zip(xs, log / np.sum(log**2), strict=True)}


def _measure(by: str) -> Measure:
    return {"reward": reward, "first": first, "last": last}[by]


class Served(NamedTuple):
    chose: set[Run]
    judged: set[Run]


def served(tuning: Tuning, results: Sequence[Result]) -> Served:
    """What each run of these was for, in as much of the figure as was searched to its end, at any length."""
    trials, chose, judged = Trials(results, finished=True), set(), set()
    for episodes in {r.setting.episodes for r in results if r.setting.episodes % BATCH == 0}:
        for search in tuning.searches(episodes).values():
            for each in (search, *search.after):
                with contextlib.suppress(LookupError):
                    found = outcome(each, trials)
                    seeds = [*each.seeds.choose, *each.seeds.more]
                    chose |= {r.run for run in found.tried for r in trials.results(run, seeds)}
                    judged |= {r.run for same in found.judged.values() for r in same}
    return Served(chose, judged)


def passed_over(results: Sequence[Result]) -> set[Run]:
    """Runs that only served to choose a setting, and belong to no figure at the paper's settings."""
    papers = {
        run for figure in FIGURES.values() for scale in SCALES.values() for run in figure.settings(scale.episodes)
    }
    found = [served(tuning, results) for tuning in TUNINGS.values()]
    chose, judged = (set().union(*sets) for sets in zip(*found, strict=True))
    return {run for run in chose - judged if run.setting not in papers}
