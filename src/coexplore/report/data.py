"""All that the page shows, as plain data. Whatever came out of a store is text or a number by the end of this."""

import collections
import datetime
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from coexplore import __version__
from coexplore.paper.checkpoints import read_table
from coexplore.paper.evidence import Row, unmixed
from coexplore.paper.figure import SCALES
from coexplore.paper.figures import FIGURES, heading
from coexplore.paper.tuned_claims import verdicts
from coexplore.paper.tunings import TUNINGS
from coexplore.paper.verdict import Verdict
from coexplore.report.figures import figures, repeat, untrained
from coexplore.report.inside import inside
from coexplore.report.settings import Settings, exact
from coexplore.results.palette import ON_DARK, RULES, SHADES, SPARE, both_names
from coexplore.run import Result, dashed
from coexplore.stats.estimates import student
from coexplore.stats.seed_summary import LEAST, METHOD, NOTES
from coexplore.store import StoreError
from coexplore.tasks.multiplexer import Multiplexer

LONGEST = 300  # characters of a text that somebody else wrote
STUDENT_STEPS = 400


def report(results: Sequence[Result], store: str, problems: Iterable[str] = (), episodes: int | None = None) -> Any:
    (whole, unsound), (measured, unread) = _sorted_out(results), _measured(store)
    judged, settings = episodes or usual_length(whole), Settings(whole)
    drawn = figures(whole, settings, judged)
    told = [text(line) for line in (*problems, *unsound, *unread)]
    left_out = len(whole) - len(unmixed(whole))  # of figures and claims
    here = {"store": text(store), "problems": told, "judged": judged, "left_out": left_out}
    return {
        "about": {**about(whole), **here},
        "claims": claims(verdicts(whole, judged, measured), judged),
        "settings": settings.rows,
        "of_figures": settings.of_figures,
        "of_rules": list(map(dashed, settings.rules)),
        "axes": settings.axes,
        "figures": drawn,
        "untrained": untrained(drawn, judged),
        "inside": inside(whole, settings),
        "student": student_table(),
        "least": LEAST,
        "method": METHOD,
        "notes": NOTES,
        "palette": palette(),
        "live": False,
    }


def about(results: Sequence[Result]) -> dict[str, Any]:
    """What was run, on what, how long."""
    origins = [result.provenance for result in results]
    seconds = [origin["seconds"] for origin in origins if isinstance(origin.get("seconds"), int | float)]
    finished = sorted(text(origin["finished"]) for origin in origins if "finished" in origin)
    return {
        "version": __version__,
        "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "runs": len(results),
        "settings": len({result.setting for result in results}),
        "episodes": sum(result.run.length for result in results if result.run.unit == "episodes"),
        "seconds": exact(sum(seconds)),
        "finished": [finished[0], finished[-1]] if finished else [],
        "frozen": sum(result.frozen for result in results),
        "engines": dict(collections.Counter(result.engine for result in results)),
        "machines": sorted({_machine(result) for result in results})[:20],
    }


def usual_length(results: Sequence[Result]) -> int:
    """The paper's, if anything was trained for so long; else that of most runs that could belong to a figure."""
    alike = (result.run for result in results if isinstance(result.run.task, Multiplexer))
    counts = collections.Counter(run.episodes for run in alike if run.batch == Multiplexer.batch)
    paper = SCALES["paper"].episodes
    return paper if paper in counts or not counts else counts.most_common(1)[0][0]


def _sorted_out(results: Sequence[Result]) -> tuple[list[Result], list[str]]:
    """Those that can be shown, and a line for each of the others. Every file is opened once, here."""
    whole, problems = [], []
    for result in results:
        try:
            _ = result.has_curve
            whole.append(result)
        except StoreError as error:  # changed since it was listed
            problems.append(str(error))
    return whole, problems


def _measured(store: str) -> tuple[list[Row], list[str]]:
    """The table of what was measured of the networks of a store, and what is wrong with it."""
    try:
        return read_table(store), []
    except StoreError as error:
        return [], [str(error)]


def text(value: Any) -> str:
    return str(value)[:LONGEST]


def student_table() -> list[float]:
    """Student's quantile at 1/df = 0 (a normal law), 1/400 … 1: the page reads between them."""
    inverse = np.arange(1, STUDENT_STEPS + 1) / STUDENT_STEPS
    return [round(float(q), 5) for q in (student(np.inf), *student(1 / inverse))]


def palette() -> dict[str, Any]:
    """How rules look; the page has no colours of its own for them."""
    rules = {rule: look._asdict() for rule, look in RULES.items()}
    names = {rule: both_names(rule) for rule in RULES}
    return {"rules": rules, "names": names, "spare": [look._asdict() for look in SPARE], "shades": [SHADES, ON_DARK]}


def _machine(result: Result) -> str:
    """Engine, and what its provenance says of the machine it ran on."""
    words = [result.provenance[name] for name in ("device", "machine", "kernel") if name in result.provenance]
    return text(f"{result.engine} on {', '.join(map(text, words))}" if words else result.engine)


def claims(judged: Sequence[Verdict], episodes: int) -> list[dict[str, Any]]:
    """Those whose runs are there; what is proved stands beside them, and not by itself."""
    seen = [verdict for verdict in judged if verdict.verdict != "not run"]
    return [_claim(verdict, episodes) for verdict in seen] if any(not verdict.proof for verdict in seen) else []


def _claim(verdict: Verdict, episodes: int) -> dict[str, Any]:
    numbers: dict[str, Any] = {name: exact(getattr(verdict, name)) for name in ("effect", "low", "high", "named")}
    numbers["welch"] = verdict.welch and [exact(end) for end in verdict.welch]
    usual = next((scale.seeds for scale in SCALES.values() if scale.episodes == episodes), 0)
    count = verdict.seeds + verdict.chose
    seeds = range(verdict.first_seed, verdict.first_seed + count) if verdict.seeds else range(usual)
    tests = f"pytest {verdict.proof[0].partition('::')[0]} -k test_{verdict.id.lower()}_" if verdict.proof else None
    command = tests or repeat(verdict.figure, episodes, seeds)
    return {**verdict.to_dict(), **numbers, "command": command, "about": _about(verdict)}


def _about(verdict: Verdict) -> str:
    """The heading that a claim stands under."""
    if verdict.figure in FIGURES:
        return heading(FIGURES[verdict.figure])
    return TUNINGS[verdict.figure].title if verdict.figure in TUNINGS else "The theory, by proof"
