"""`coexplore reproduce` and `claims`: the paper's figures, and what becomes of its claims."""

import contextlib
import gc
import importlib
import json
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.table import Table

from coexplore.cli import gradients
from coexplore.cli.parser import SEEDS, STORE, Parser, folder
from coexplore.cli.results import chosen_results, tell, train_all
from coexplore.cli.searches import Searches
from coexplore.cli.tables import console
from coexplore.paper import questions
from coexplore.paper.checkpoints import read_table
from coexplore.paper.claims import CLAIMS, verdicts
from coexplore.paper.evidence import NotRun, unmixed
from coexplore.paper.figure import SCALES
from coexplore.paper.figures import FIGURES, seeded
from coexplore.paper.tables import table
from coexplore.paper.tuned_claims import CLAIMS as OURS
from coexplore.paper.tuned_claims import verdicts as every_verdict
from coexplore.paper.tunings import TUNINGS
from coexplore.paper.verdict import Verdict, columns, from_json
from coexplore.paper.verdict import table as markdown
from coexplore.run import Result
from coexplore.settings import refusal
from coexplore.store import StoreError, read_json, readable, write
from coexplore.study import Study

ALL = "all"
ON_THE_WAY = "why"  # the figure whose networks are looked at while they learn
LULL = 4.0  # seconds after which training is under way
WORDS = 10  # columns on a terminal for a word of a verdict


def reproduce_command(words: list[str]) -> int:
    options = reproduce_parser().read(words)
    if options["scale"] not in SCALES:
        raise refusal("scale", options["scale"], " | ".join(SCALES), SCALES)
    scale, names = SCALES[options["scale"]], _names(options)
    figures, tunings = [[name for name in names if name in home] for home in (FIGURES, TUNINGS)]
    store, out = folder("store", options["store"]), folder("out", options["out"])
    load_pictures_later()
    searches, done = Searches(tunings, scale.episodes), None
    if figures:
        done = train_all(seeded(figures, scale.episodes, options["seeds"] or scale.seeds), options, store)
    if (figures and done is None) or not searches.train(options, store):
        return 130
    results = done.results if done else []
    measured = gradients.look_on_the_way(results, options, store, out, scale.episodes) if ON_THE_WAY in figures else []
    if measured is None:
        return 130
    draw_figures(figures, results, scale.episodes, out)
    every = [*verdicts(results, scale.episodes), *questions.verdicts(results, scale.episodes, measured)]
    judged = [*(verdict for verdict in every if verdict.figure in figures), *searches.show(out)]
    _write(judged, names, out)
    _print(judged)
    _tell([*([done] if done else []), *searches.done])
    print(f"pictures and claims: {out}, runs: {store}")
    return 1 if done and done.failures else 0


def _names(options: dict[str, Any]) -> list[str]:
    """Searches and open questions are named one by one: without a GPU they take long."""
    named, known = options["figure"] or [ALL], [*FIGURES, *TUNINGS]
    usual = [name for name, figure in FIGURES.items() if not figure.question]
    for name in named:
        if name not in (ALL, *known):
            raise refusal("figure", name, f"all, or some of {', '.join(known)}", known)
    names = [each for name in named for each in (usual if name == ALL else [name])]
    if options["seeds"] and (searched := [name for name in names if name in TUNINGS]):
        raise refusal("seeds", f"for {searched[0]}", "none: some of its own choose, and others judge")
    return list(dict.fromkeys(names))


def _tell(studies: Iterable[Study]) -> None:
    trained, seconds = sum(done.trained for done in studies), sum(done.seconds for done in studies)
    count = sum(len(done.results) for done in studies)
    print(f"{trained} runs trained in {seconds:.0f} s, {count - trained} were there already")


def reproduce_parser() -> Parser:
    ours, open = ", ".join(TUNINGS), ", ".join(name for name, figure in FIGURES.items() if figure.question)
    parser = Parser("reproduce", "Train what figures need, draw them, judge the claims.")
    about = f"some of {', '.join(FIGURES)}; and, with every rule tuned, {ours} [{ALL}: those without {ours}, {open}]"
    parser.add_argument("figure", nargs="*", offer=(ALL, *FIGURES, *TUNINGS), help=about)
    about = "; ".join(map(_about, SCALES)) + ", smaller searches"
    parser.add_argument("--scale", default="paper", offer=SCALES, help=about)
    about = "seeds 0 to COUNT − 1, or FIRST to LAST [as many as the scale has]"
    parser.add_argument("--seeds", metavar=SEEDS, help=about)
    parser.training()
    parser.add_argument("--store", default=STORE, metavar="DIR", help="where runs are kept")
    parser.add_argument("--out", default="figures", metavar="DIR", help="where pictures and claims go")
    return parser


def _about(scale: str) -> str:
    episodes, seeds = SCALES[scale]
    return f"{scale}: {episodes:,} episodes (of several layers a quarter), {seeds} seeds"


def claims_command(words: list[str]) -> int:
    options = claims_parser().read(words)
    results = chosen_results(options)
    try:
        measured = read_table(options["store"])
    except StoreError as error:  # what was trained can be judged without it
        tell(str(error))
        measured = []
    judged = every_verdict(results, options["episodes"], measured)
    if options["json"]:
        print(json.dumps([verdict.to_dict() for verdict in judged], allow_nan=False))
        return 0
    _print(judged)
    if others := len(results) - len(unmixed(results)):
        print(f"{others} runs are left out, whose seeds had been looked at before, or had not: --seeds chooses")
    return 0


def claims_parser() -> Parser:
    parser = Parser("claims", "The verdict on each claim of the paper, from runs that are done.")
    parser.reading()
    parser.add_argument("--episodes", default="4000000", metavar="COUNT", help="judge runs of this length, in episodes")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


def load_pictures_later() -> None:
    """Import matplotlib, which takes a second, while engines train and need no interpreter."""
    timer = threading.Timer(LULL, importlib.import_module, ["coexplore.paper.pictures"])
    timer.daemon = True
    timer.start()


def draw_figures(names: list[str], results: list[Result], episodes: int, out: Path) -> None:
    """Draw each figure of which there are results, with its table if it has one."""
    from coexplore.paper.pictures import draw  # matplotlib is slow to import

    gc.freeze()  # or drawing would look for garbage among thousands of results again and again
    for name in names:
        with contextlib.suppress(NotRun):  # all of its runs failed, which has been told
            draw(FIGURES[name], results, out, episodes)
            if FIGURES[name].kind == "bars" or FIGURES[name].question:
                write(out / f"{name}.md", table(FIGURES[name], results, episodes).encode())


def _write(judged: list[Verdict], names: list[str], out: Path) -> None:
    """Write the verdicts; those on other figures, of an earlier command, stay in the files."""
    kept = [verdict for verdict in _written(out / "claims.json") if verdict.figure not in names]
    order = [claim.id for claim in (*CLAIMS, *OURS, *questions.CLAIMS)]
    every = sorted((*kept, *judged), key=lambda verdict: order.index(verdict.id))
    if not every:  # most of our own figures have pictures and no claims
        return
    write(out / "claims.json", json.dumps([verdict.to_dict() for verdict in every], allow_nan=False).encode() + b"\n")
    write(out / "claims.md", markdown(every).encode())


def _written(path: Path) -> list[Verdict]:
    """What an earlier command wrote there; nothing, and a line, if it is not that."""
    known = {claim.id for claim in (*CLAIMS, *OURS, *questions.CLAIMS)}
    try:
        with readable(path, "list of verdicts"):
            written = list(map(from_json, read_json(path) if path.exists() else []))
    except StoreError as error:
        tell(f"{error}; it is written anew")
        return []
    return [verdict for verdict in written if verdict.id in known]


def _print(judged: list[Verdict]) -> None:
    if not judged:
        return
    shown = Table(title="claims; intervals in the sentences are bounded 95 % ones, of pairs Student's")
    said = ("claim", "effect")  # by the sentence, or by the first column
    cells = {heading: column for heading, column in columns(judged).items() if not heading.startswith(said)}
    for heading in cells:  # the sentence has the width that words leave
        shown.add_column(heading or "claim", max_width=None if heading == "what was found" else WORDS)
    for row in zip(*cells.values(), strict=True):
        shown.add_row(*row)
    console().print(shown)
