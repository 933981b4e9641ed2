"""`coexplore tune`: the best of a grid on some seeds, judged on others. Its other flags are those of `train`."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from coexplore.cli import train
from coexplore.cli.flags import everything
from coexplore.cli.parser import SEEDS, Parser, few, folder, seeds
from coexplore.cli.results import train_all
from coexplore.cli.tables import candidate_table, console, described, result_table
from coexplore.results.choosing import MEASURES
from coexplore.rules.renamed import advice, written_now
from coexplore.run import Run, command, dashed, grid
from coexplore.run.names import settings_of
from coexplore.settings import Count, refusal
from coexplore.store import write
from coexplore.study.search import Search, Seeds, Trials, conduct, outcome
from coexplore.study.tuning import Tuned, checked_seeds, searched, tuned

FIXED = ("task", "layers", "seed")  # which no grid goes along
FINALISTS = Count("how many of the best get more seeds", low=1)


@dataclasses.dataclass(frozen=True)
class Asked:
    """What is tuned, its candidates, and the search among them."""

    base: Run
    search: Search


def tune_command(words: list[str]) -> int:
    options = train.read(words, "tune", _flags)
    every = _seeds(options)
    asked = [
        Asked(run, searched(_candidates(run, options), every, options["by"])) for run in train.described_runs(options)
    ]
    out = None if options["out"] is None else folder("out", options["out"])
    store = out if options["store"] is None else folder("store", options["store"])
    trials = Trials()
    if not conduct(
        [one.search for one in asked], trials, lambda runs: train_all(list(runs), options, store, True, runs)
    ):
        return 130
    found = {}
    for one in asked:
        try:
            found[one.base] = tuned(one.search, outcome(one.search, trials), trials)
        except LookupError:  # all of its runs failed, which has been told
            continue
    _write(found, out, options["json"])
    return 0 if len(found) == len(asked) else 1


def tune_parser() -> Parser:
    """With the flags of every rule and task."""
    return train.parser("tune", _flags, everything())


def _flags(parser: Parser) -> None:
    about = "values to choose among, as coupling=0.1,0.25,0.4..0.1; several --grid make a product [none: give one]"
    parser.add_argument("--grid", action="append", default=[], metavar="FLAG=VALUE,…", help=about)
    parser.add_argument("--choose", default="5", metavar=SEEDS, help="seeds that choose")
    about = "{}; a COUNT follows those before it"
    about_more = about.format("seeds that the finalists are tried on too") + " [none]"
    parser.add_argument("--more", metavar=SEEDS, help=about_more)
    parser.add_argument("--finalists", default="10", metavar="COUNT", help="how many of the best get --more seeds")
    about = about.format("seeds that judge what was chosen, and had no say in it")
    parser.add_argument("--judge", default="20", metavar=SEEDS, help=about)
    parser.add_argument("--by", default=MEASURES[0], offer=MEASURES, help=f"what is best: {' | '.join(MEASURES)}")


def _seeds(options: dict[str, Any]) -> Seeds:
    """A count means the next so many."""
    if options["seed"] is not None:
        raise refusal("seed", options["seed"][0], "--choose and --judge instead")
    after, given = 0, {}
    for name in ("choose", "more", "judge"):
        text = options[name]
        found = range(0) if text is None else seeds(name, text)
        few(name, found)
        given[name] = found if text is None or "-" in text else range(after, after + len(found))
        after = max(after, given[name].stop)
    return checked_seeds(**given, finalists=FINALISTS.parse("finalists", options["finalists"]))


def _candidates(run: Run, options: dict[str, Any]) -> list[Run]:
    """The grid around a run; what only another of the rules has does not concern it."""
    known = {dashed(name): name for name in settings_of(run) if name not in FIXED}
    every = {dashed(name) for name in options if name not in FIXED}
    axes: dict[str, object] = {}
    for term in options["grid"]:
        flag, _, text = term.partition("=")
        name = known.get(flag.strip().lstrip("-"))
        if name is None and (len(options["kinds"]) == 1 or flag not in every):
            former = flag.strip().lstrip("-").replace("-", "_")
            if now := next(filter(None, (advice(rule.name, former, text) for rule in run.rules)), None):
                raise written_now(f"grid: {term}", now)
            raise refusal("grid", flag, f"one of {', '.join(known)}, as learning-rate=0.001,0.002", known)
        if name is not None:
            axes[name] = _values(run, name, text, options)
    if not axes:
        raise refusal("grid", "", f"at least one that {run.rules[0].name} has, as --grid learning-rate=0.001,0.002")
    return train.as_named(run.rules, grid(run, **axes))


def _values(run: Run, name: str, text: str, options: dict[str, Any]) -> list[object]:
    if options[name] is not None:
        raise refusal("grid", f"{dashed(name)}={text}", f"either --grid {dashed(name)}=… or --{dashed(name)}")
    spec = settings_of(run)[name]
    values: list[object] = [spec.parse(name, value.strip()) for value in text.split(",") if value.strip()]
    if not values:
        raise refusal("grid", f"{dashed(name)}={text}", f"values after the =: {spec.allowed}")
    return values


def _write(found: dict[Run, Tuned], out: Path | None, as_json: bool) -> None:
    text = json.dumps({"tuned": [_described(one) for one in found.values()]}, allow_nan=False)
    judged = [result for one in found.values() for result in one.results]
    if out and judged:
        from coexplore.results.plots import plot  # matplotlib is slow to import, and not always wanted

        write(out / "tuned.json", text.encode() + b"\n")
        plot(judged, out / "curves.png")
    if as_json:
        print(text)
        return
    for one in found.values():
        console().print(candidate_table(one))
        print(f"chosen of {one.tried}: {command(one.chosen)}")
        print(f"{one.by} on {len(one.results)} seeds that judge: {one.score}")
    if judged:
        console().print(result_table(judged, "reward on the seeds that judge", judged=True))
        print(f"picture: {out / 'curves.png'}" if out else "add --out DIR for the picture and the trained networks")


def _described(one: Tuned) -> dict[str, Any]:
    tries = [{"command": command(run), "run": run.to_dict(), **score.to_dict()} for run, score in one.scores.items()]
    about = {"by": one.by, "tried": one.tried, "command": command(one.chosen), "chosen": one.chosen.to_dict()}
    runs = [described(result) for result in one.results]
    return {**about, "score": one.score.to_dict(), "candidates": tries, "runs": runs}
