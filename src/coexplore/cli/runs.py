"""`coexplore runs` and `coexplore plot`: look after the runs of a store."""

from pathlib import Path
from typing import Any

from coexplore.cli.paging import page
from coexplore.cli.parser import Parser, file
from coexplore.cli.results import chosen_results
from coexplore.cli.tables import FORMATS, console, result_table, result_text
from coexplore.results import frames
from coexplore.results.listing import tally
from coexplore.results.sorting import FROM_THE_TOP, ordered
from coexplore.run import Result, Run
from coexplore.settings import refusal
from coexplore.store import Store, StoreError, pack, write
from coexplore.store.packs import FEWER, POINTS

ACTIONS = ("list", "pack", "prune")
PICTURES = (".png", ".svg", ".pdf")
MOST_ROWS = 2000  # a few seconds


def runs_command(words: list[str]) -> int:
    options = runs_parser().read(words)
    action = options["action"]
    if action not in ACTIONS:
        raise refusal("action", action, f"{' | '.join(ACTIONS)}, or --export FILE", ACTIONS)
    if (options["file"] is None) == (action == "pack"):
        raise refusal(
            "file", options["file"] or "", f"a file after `runs {action}`" if not options["file"] else "no file"
        )
    if options["figure"] is not None and action != "pack":
        raise refusal("figure", options["figure"], "a figure after `runs pack` only; --select narrows the others")
    if options["curves"] and options["export"] is None:
        raise refusal("curves", "", "it with --export FILE")
    if options["format"] not in (None, *FORMATS):
        raise refusal("format", options["format"], " | ".join(FORMATS), FORMATS)
    if options["format"] is not None and options["export"] is not None:
        raise refusal("format", options["format"], "either --format, with a row for each setting, or --export")
    for name in ("sort", "export", "format"):
        if options[name] is not None and action != "list":
            raise refusal(name, options[name], f"it without {action}")
    return {"list": _list, "pack": _pack, "prune": _prune}[action](options)


def runs_parser() -> Parser:
    parser = Parser("runs", "List the runs of a store; export them; pack them into one small file; or prune them.")
    parser.add_argument("action", nargs="?", default="list", offer=ACTIONS, help=" | ".join(ACTIONS))
    parser.add_argument("file", nargs="?", metavar="FILE", help="for pack: NAME.safetensors")
    parser.reading()
    about = "by a flag, as units, or by what came out, as last; scores from the best [rule, task, then settings]"
    parser.add_argument("--sort", metavar="COLUMN", offer=sorted(FROM_THE_TOP), help=about)
    about = f"print the table as {' | '.join(FORMATS)}; csv has a column for each number [table]"
    parser.add_argument("--format", metavar="NAME", offer=FORMATS, help=about)
    about = f"write a table instead, a row for each run: a name that ends in {', '.join(frames.ENDINGS)} [list]"
    parser.add_argument("--export", metavar="FILE", help=about)
    parser.add_argument("--curves", action="store_true", help="of the table: a row for each point of their curves")
    parser.add_argument(
        "--figure",
        metavar="NAME",
        help="pack only what was searched for a figure or comparison, as tuned or coordination [all]",
    )
    return parser


def plot_command(words: list[str]) -> int:
    options = plot_parser().read(words)
    path = file("file", options["file"], PICTURES)
    chosen = chosen_results(options)
    from coexplore.results.plots import plot  # matplotlib is slow to import

    plot(chosen, path)
    print(f"picture: {path}, {len(chosen)} runs")
    return 0


def plot_parser() -> Parser:
    parser = Parser("plot", "Learning curves of the runs of a store.")
    parser.add_argument("file", metavar="FILE", help=f"where to: a name that ends in {', '.join(PICTURES)}")
    parser.reading()
    return parser


def _list(options: dict[str, Any]) -> int:
    path = None if options["export"] is None else file("export", options["export"], frames.ENDINGS)
    chosen = ordered(chosen_results(options), options["sort"])
    if path:
        write(path, frames.file(chosen, path.suffix, options["curves"]))
        print(f"{len(chosen)} runs: {path}")
        return 0
    if options["format"] not in (None, "table"):
        print(result_text(chosen, options["format"]), end="")
        return 0
    others = "\n".join([tally(chosen), *Store(options["store"]).others()])
    with page(console()) as shown:
        shown.print(result_table(chosen, most=MOST_ROWS))
        shown.print(others, highlight=False, soft_wrap=True)
    return 0


def _pack(options: dict[str, Any]) -> int:
    path = file("file", options["file"], (".safetensors",))
    chosen, scores_only, brief = _to_pack(options)
    chosen.sort(key=lambda result: (result.run.setting.digest, result.run.seed))
    pack(chosen, path, scores_only, brief)
    few = sum(result.setting in scores_only or result.run in scores_only for result in chosen)
    told = f", {few} of them, whose curves nobody draws, with scores alone" if few else ""
    print(f"{len(chosen)} runs{told}, {path.stat().st_size / 1e6:.1f} MB: {path}")
    return 0


def _to_pack(options: dict[str, Any]) -> tuple[list[Result], set[Run], dict[Run, int]]:
    """The results, the runs or settings of which scores will do, and settings of which a curve of so many points."""
    from coexplore.beyond import choosing, coordination  # the figures and comparisons are slow to import
    from coexplore.paper import evidence, tuned, tunings

    chosen, name = chosen_results(options), options["figure"]
    if name is None:
        undrawn, brief = evidence.many_seeds(chosen)
        over = evidence.passed_over(chosen) | choosing.passed_over(chosen) | tuned.passed_over(chosen)
        return chosen, over | undrawn, dict.fromkeys(brief, FEWER)
    known = (*tunings.TUNINGS, *coordination.NAMES)
    if name not in known:
        raise refusal("figure", name, f"one of {', '.join(known)}", known)
    ours = name in coordination.NAMES
    figure = coordination.tuning(name, coordination.environment(chosen)) if ours else tunings.TUNINGS[name]
    chose, judged = tuned.served(figure, chosen)
    if not judged:
        raise StoreError(f"figure: {name} was not searched to its end in {options['store']}")
    mine = chose | judged
    kept = [result for result in chosen if result.run in mine]
    if ours:  # nobody draws their curves
        return kept, mine, {}
    return kept, chose - judged, dict.fromkeys((run.setting for run in judged), POINTS)


def _prune(options: dict[str, Any]) -> int:
    """Remove what nobody needs any more, and the selected runs."""
    folder = Path(options["store"])
    if not folder.is_dir():
        raise refusal("store", options["store"], "a folder with runs")
    removed = Store(folder).prune(chosen_results(options) if options["select"] or options["seeds"] else [])
    print(f"{removed} files removed from {folder}")
    return 0
