"""The figures of `coexplore reproduce` in which every rule is at its best: searched, drawn, judged."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coexplore.cli.results import train_all
from coexplore.paper.evidence import NotRun
from coexplore.paper.tuned import Comparison
from coexplore.paper.tuned_claims import judged
from coexplore.paper.tuned_tables import table
from coexplore.paper.tunings import TUNINGS
from coexplore.paper.verdict import Verdict
from coexplore.run import Run
from coexplore.store import write
from coexplore.study import Study
from coexplore.study.search import Trials, conduct


class Searches:
    """The searches of some figures, all of them in the same studies, and what came of them."""

    def __init__(self, names: Sequence[str], episodes: int) -> None:
        self.names, self.episodes, self.trials = names, episodes, Trials()
        self.done: list[Study] = []

    def train(self, options: dict[str, Any], store: Path) -> bool:
        """False if it was interrupted. Networks are looked at in the end alone: there are thousands."""

        def stage(runs: dict[Run, str]) -> Study | None:
            study = train_all(list(runs), {**options, "snapshots": 0}, store, True, runs)
            self.done += [study] if study else []
            return study

        searches = [TUNINGS[name].searches(self.episodes) for name in self.names]
        return conduct([each for places in searches for each in places.values()], self.trials, stage)

    def show(self, out: Path) -> list[Verdict]:
        """Pictures and tables into the folder; the verdicts."""
        from coexplore.paper.tuned_pictures import draw  # matplotlib is slow to import

        verdicts = []
        for name in self.names:
            tuning = TUNINGS[name]
            contest = Comparison(tuning.searches(self.episodes), self.trials, tuning.length(self.episodes))
            with contextlib.suppress(NotRun):  # all of its runs failed, which has been told
                draw(tuning, contest, out)
                write(out / f"{name}.md", table(tuning, contest).encode())
            verdicts += judged(name, contest)
        return verdicts
