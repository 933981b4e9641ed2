"""`coexplore beyond`: the rules compared on tasks with labels and in environments."""

from pathlib import Path
from types import ModuleType
from typing import Any

from coexplore.beyond import control, supervised
from coexplore.beyond.coordination import ENV, NAMES
from coexplore.cli.coordination import searched
from coexplore.cli.parser import SEEDS, STORE, Parser, few, folder
from coexplore.cli.results import train_all
from coexplore.paper.figure import SCALES
from coexplore.run import CHOOSING, JUDGING, Result
from coexplore.settings import refusal
from coexplore.store import write

HOMES = {name: home for home in (supervised, control) for name in home.COMPARISONS}
KNOWN = (*HOMES, *NAMES)  # of which the last are searches, named one by one: without a GPU they take hours


def beyond_command(words: list[str]) -> int:
    options = beyond_parser().read(words)
    names = list(dict.fromkeys(options["comparison"] or HOMES))
    for name in names:
        if name not in KNOWN:
            raise refusal("comparison", name, f"some of {', '.join(KNOWN)}", KNOWN)
    if options["scale"] not in SCALES:
        raise refusal("scale", options["scale"], " | ".join(SCALES), SCALES)
    if options["seeds"] and (mine := [name for name in names if name in NAMES]):
        raise refusal("seeds", f"for {mine[0]}", "none: some of its own choose, and others judge")
    few("seeds", options["seeds"])
    store, out = folder("store", options["store"]), folder("out", options["out"])
    status = 0
    for name in names:
        if name in NAMES:
            if (status := searched(name, options, store, out)) == 130:
                return status
            continue
        results = _train(HOMES[name], name, options, store)
        if results is None:
            return 130
        _compare(HOMES[name], name, results, out)
    print(f"tables and pictures: {out}, runs: {store}")
    return status


def beyond_parser() -> Parser:
    parser = Parser("beyond", "Train every rule, choose its settings, compare.")
    searches = ", ".join(NAMES)
    about = f"some of {', '.join(HOMES)}; and, with everything tuned, {searches} [all without {searches}]"
    parser.add_argument("comparison", nargs="*", offer=KNOWN, help=about)
    about = f"how many seeds judge in the end, or FIRST to LAST [{supervised.SEEDS}]"
    parser.add_argument("--seeds", metavar=SEEDS, help=about)
    about = f"of {searches}: {' | '.join(SCALES)}, which has a tenth of the episodes and few settings"
    parser.add_argument("--scale", default="paper", offer=SCALES, help=about)
    parser.add_argument("--env", default=ENV, metavar="NAME", help="the environment of centring")
    parser.training()
    parser.add_argument("--store", default=STORE, metavar="DIR", help="where runs are kept")
    parser.add_argument("--out", default="beyond", metavar="DIR", help="where tables and pictures go")
    return parser


def _train(home: ModuleType, name: str, options: dict[str, Any], store: Path) -> list[Result] | None:
    """First what settings are chosen by, then the best of them on other seeds; None if it was interrupted."""
    comparison, tuned = home.COMPARISONS[name], []
    if runs := home.tuning(comparison):
        first = train_all(runs, options, store, trained_for=dict.fromkeys(runs, CHOOSING))
        if first is None:
            return None
        tuned = first.results
    final = home.final(comparison, tuned, options["seeds"] or range(home.SEEDS))
    why = dict.fromkeys(final, JUDGING) if runs else None
    rest = train_all(final, options, store, trained_for=why)
    return rest and list({result.run: result for result in (*tuned, *rest.results)}.values())


def _compare(home: ModuleType, name: str, results: list[Result], out: Path) -> None:
    """Print the table, and leave it and a picture in NAME.md and NAME.png."""
    from coexplore.beyond.pictures import draw  # matplotlib is slow to import

    comparison = home.COMPARISONS[name]
    rows = home.rows(comparison, results)
    section = home.table(comparison, rows)
    print(section)
    picture = draw(comparison, rows, out)
    write(out / f"{name}.md", f"{section}\n![{comparison.title}]({picture.name})\n".encode())
