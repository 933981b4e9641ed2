"""`coexplore reproduce` and `coexplore claims`: the paper's figures, and what becomes of its claims."""

import contextlib
import json
from pathlib import Path

from rich.table import Table

from coexplore.cli.parser import STORE, Parser, folder, results, studied
from coexplore.cli.train import console
from coexplore.fields import refuse
from coexplore.files import write
from coexplore.paper.claims import verdicts
from coexplore.paper.evidence import NotRun
from coexplore.paper.figures import FIGURES, SCALES, find, runs
from coexplore.paper.tables import table
from coexplore.paper.verdict import Verdict
from coexplore.paper.verdict import table as markdown
from coexplore.result import Result

ALL = "all"


def reproduce_command(words: list[str]) -> int:
    parser = Parser(
        "reproduce", f"Train what figures need, draw them, judge the claims. Figures: {', '.join(FIGURES)}."
    )
    parser.add_argument("figure", nargs="*", help=f"{ALL} (if none is named), or some of {', '.join(FIGURES)}")
    parser.add_argument(
        "--scale", default="paper", help="paper: 4e6 episodes (depth: 1e6), 5 seeds | quick: a tenth of the episodes"
    )
    parser.add_argument("--seeds", metavar="COUNT", help="seeds 0 to COUNT − 1 instead of the scale's number")
    parser.training()
    parser.add_argument("--store", default=STORE, metavar="DIR", help=f"where runs are kept; {STORE} if not given")
    parser.add_argument(
        "--out", default="figures", metavar="DIR", help="where pictures and claims go; figures if not given"
    )
    options = parser.read(words)
    if options["scale"] not in SCALES:
        raise refuse("scale", options["scale"], " | ".join(SCALES), SCALES)
    named = options["figure"] or [ALL]
    names = list(FIGURES) if ALL in named else [find(name).name for name in dict.fromkeys(named)]
    scale = SCALES[options["scale"]]
    store, out = folder("store", options["store"], ".writable"), folder("out", options["out"], "claims.json")
    done = studied(runs(names, scale.episodes, options["seeds"] or scale.seeds), options, store)
    if done is None:
        return 130
    _drawn(names, done.results, scale.episodes, out)
    found = [one for one in verdicts(done.results, scale.episodes) if one.figure in names]
    _written(found, out)
    _told(found)
    print(f"{done.trained} runs trained in {done.seconds:.0f} s, {len(done.results) - done.trained} were there already")
    print(f"pictures and claims: {out}, runs: {store}")
    return 1 if done.failures else 0


def claims_command(words: list[str]) -> int:
    parser = Parser("claims", "The verdict on each claim of the paper, from runs that are done.")
    parser.reading()
    parser.add_argument("--episodes", default="4000000", metavar="COUNT", help="judge runs of this length")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.read(words)
    found = verdicts(results(options), options["episodes"])
    if options["json"]:
        print(json.dumps([one.to_dict() for one in found], allow_nan=False))
    else:
        _told(found)
    return 0


def _drawn(names: list[str], done: list[Result], episodes: int, out: Path) -> None:
    from coexplore.paper.pictures import draw  # matplotlib is slow to import

    for name in names:
        with contextlib.suppress(NotRun):  # all of its runs failed, which has been told
            draw(FIGURES[name], done, out, episodes)
            if FIGURES[name].kind == "bars":
                write(out / f"{name}.md", table(FIGURES[name], done, episodes).encode())


def _written(found: list[Verdict], out: Path) -> None:
    write(out / "claims.json", json.dumps([one.to_dict() for one in found], allow_nan=False).encode() + b"\n")
    write(out / "claims.md", markdown(found).encode())


def _told(found: list[Verdict]) -> None:
    if not found:  # ours have pictures and no claims
        return
    shown = Table(title="claims of the paper")
    for heading in ("claim", "verdict", "in words"):
        shown.add_column(heading)
    for one in found:
        shown.add_row(one.id, one.verdict, one.sentence)
    console().print(shown)
