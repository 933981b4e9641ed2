"""`coexplore beyond coordination` and `beyond centring`: searched, drawn, judged."""

import json
from pathlib import Path
from typing import Any

from coexplore.beyond.coordination import tuning
from coexplore.beyond.coordination_claims import judged
from coexplore.beyond.coordination_tables import complete, draw, table
from coexplore.cli.results import train_all
from coexplore.paper.figure import SCALES
from coexplore.paper.tuned import Comparison
from coexplore.paper.verdict import Verdict
from coexplore.paper.verdict import table as verdicts
from coexplore.run import Run
from coexplore.store import write
from coexplore.study import Study
from coexplore.study.search import Trials, conduct


def searched(name: str, options: dict[str, Any], store: Path, out: Path) -> int:
    """The exit status."""
    figure, episodes = tuning(name, options["env"]), SCALES[options["scale"]].episodes
    searches, trials, failed = figure.searches(episodes), Trials(), False

    def stage(runs: dict[Run, str]) -> Study | None:
        nonlocal failed
        done = train_all(list(runs), {**options, "snapshots": 0}, store, True, runs)
        failed |= bool(done and done.failures)
        return done

    if not conduct(list(searches.values()), trials, stage):
        return 130
    found = Comparison(searches, trials, figure.length(episodes))
    found.usual = figure.length(SCALES["paper"].episodes)
    _show(name, figure.title, found, out)
    return 1 if failed or not complete(found) else 0


def _show(name: str, title: str, found: Comparison, out: Path) -> None:
    """The table, the picture and the verdicts into NAME.md, NAME.png and NAME.json."""
    text, decided = section(name, title, found)
    if found.panels != [""]:
        draw(title, found, out / f"{name}.png")
    print(text)
    write(out / f"{name}.md", text.encode())
    _write(decided, out / f"{name}.json")


def section(name: str, title: str, found: Comparison) -> tuple[str, list[Verdict]]:
    """The page, and the verdicts in it."""
    decided = judged(name, found)
    picture = f"\n![{title}]({name}.png)\n" if found.panels != [""] else ""
    return f"{table(title, found)}{picture}\n{verdicts(decided)}\n", decided


def _write(decided: list[Verdict], path: Path) -> None:
    text = json.dumps([verdict.to_dict() for verdict in decided], allow_nan=False)
    write(path, text.encode() + b"\n")
