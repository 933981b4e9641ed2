"""`coexplore reproduce` and `coexplore claims`: the paper's figures, and what becomes of its claims."""

import contextlib
import gc
import importlib
import json
import threading
from pathlib import Path

from rich.table import Table

from coexplore.cli.parser import SEEDS, STORE, Parser, folder
from coexplore.cli.results import chosen_results, train_all
from coexplore.cli.tables import console
from coexplore.paper.claims import CLAIMS, verdicts
from coexplore.paper.evidence import NotRun
from coexplore.paper.figures import FIGURES, SCALES, find, runs
from coexplore.paper.tables import table
from coexplore.paper.verdict import Verdict, from_json
from coexplore.paper.verdict import table as markdown
from coexplore.run import Result
from coexplore.settings import refusal
from coexplore.store import write

ALL = "all"
LULL = 4.0  # seconds after which training is under way


def reproduce_command(words: list[str]) -> int:
    options = _parser().read(words)
    if options["scale"] not in SCALES:
        raise refusal("scale", options["scale"], " | ".join(SCALES), SCALES)
    named = options["figure"] or [ALL]
    names = list(FIGURES) if ALL in named else [find(name).name for name in dict.fromkeys(named)]
    scale = SCALES[options["scale"]]
    store, out = folder("store", options["store"]), folder("out", options["out"])
    _load_later("coexplore.paper.pictures")
    done = train_all(runs(names, scale.episodes, options["seeds"] or scale.seeds), options, store)
    if done is None:
        return 130
    _draw(names, done.results, scale.episodes, out)
    judged = [verdict for verdict in verdicts(done.results, scale.episodes) if verdict.figure in names]
    _write(judged, names, out)
    _print(judged)
    print(f"{done.trained} runs trained in {done.seconds:.0f} s, {len(done.results) - done.trained} were there already")
    print(f"pictures and claims: {out}, runs: {store}")
    return 1 if done.failures else 0


def _parser() -> Parser:
    parser = Parser(
        "reproduce", f"Train what figures need, draw them, judge the claims. Figures: {', '.join(FIGURES)}."
    )
    parser.add_argument("figure", nargs="*", help=f"{ALL} (if none is named), or some of {', '.join(FIGURES)}")
    parser.add_argument(
        "--scale", default="paper", help="paper: 4e6 episodes (depth: 1e6), 5 seeds | quick: a tenth of the episodes"
    )
    about = "seeds 0 to COUNT − 1, or FIRST to LAST, instead of the scale's number"
    parser.add_argument("--seeds", metavar=SEEDS, help=about)
    parser.training()
    parser.add_argument("--store", default=STORE, metavar="DIR", help=f"where runs are kept; {STORE} if not given")
    parser.add_argument(
        "--out", default="figures", metavar="DIR", help="where pictures and claims go; figures if not given"
    )
    return parser


def claims_command(words: list[str]) -> int:
    parser = Parser("claims", "The verdict on each claim of the paper, from runs that are done.")
    parser.reading()
    parser.add_argument("--episodes", default="4000000", metavar="COUNT", help="judge runs of this length")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.read(words)
    judged = verdicts(chosen_results(options), options["episodes"])
    if options["json"]:
        print(json.dumps([verdict.to_dict() for verdict in judged], allow_nan=False))
    else:
        _print(judged)
    return 0


def _load_later(module: str) -> None:
    """Matplotlib takes a second to import: best done while engines train and need no interpreter."""
    timer = threading.Timer(LULL, importlib.import_module, [module])
    timer.daemon = True
    timer.start()


def _draw(names: list[str], results: list[Result], episodes: int, out: Path) -> None:
    from coexplore.paper.pictures import draw  # matplotlib is slow to import

    gc.freeze()  # or drawing would look for garbage among thousands of results again and again
    for name in names:
        with contextlib.suppress(NotRun):  # all of its runs failed, which has been told
            draw(FIGURES[name], results, out, episodes)
            if FIGURES[name].kind == "bars":
                write(out / f"{name}.md", table(FIGURES[name], results, episodes).encode())


def _write(judged: list[Verdict], names: list[str], out: Path) -> None:
    """Claims of other figures that were judged before stay in the files."""
    kept = [verdict for verdict in _written(out / "claims.json") if verdict.figure not in names]
    order = [claim.id for claim in CLAIMS]
    every = sorted((*kept, *judged), key=lambda verdict: order.index(verdict.id))
    write(out / "claims.json", json.dumps([verdict.to_dict() for verdict in every], allow_nan=False).encode() + b"\n")
    write(out / "claims.md", markdown(every).encode())


def _written(path: Path) -> list[Verdict]:
    """What an earlier command wrote there; nothing if it is not that."""
    known = {claim.id for claim in CLAIMS}
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return [verdict for verdict in map(from_json, json.loads(path.read_text())) if verdict.id in known]
    return []


def _print(judged: list[Verdict]) -> None:
    if not judged:  # ours have pictures and no claims
        return
    shown = Table(title="claims of the paper")
    for heading in ("claim", "verdict", "in words"):
        shown.add_column(heading)
    for verdict in judged:
        shown.add_row(verdict.id, verdict.verdict, verdict.sentence)
    console().print(shown)
