"""`coexplore beyond`: the rules compared on tasks with labels and in environments."""

from pathlib import Path
from types import ModuleType
from typing import Any

from coexplore.beyond import control, supervised
from coexplore.cli.parser import SEEDS, STORE, Parser, folder
from coexplore.cli.results import train_all
from coexplore.run import Result
from coexplore.settings import refusal
from coexplore.store import write

HOMES = {name: home for home in (supervised, control) for name in home.COMPARISONS}


def beyond_command(words: list[str]) -> int:
    options = beyond_parser().read(words)
    names = list(dict.fromkeys(options["comparison"] or HOMES))
    for name in names:
        if name not in HOMES:
            raise refusal("comparison", name, f"some of {', '.join(HOMES)}", HOMES)
    store, out = folder("store", options["store"]), folder("out", options["out"])
    for name in names:
        results = _train(HOMES[name], name, options, store)
        if results is None:
            return 130
        _compare(HOMES[name], name, results, out)
    print(f"tables and pictures: {out}, runs: {store}")
    return 0


def beyond_parser() -> Parser:
    parser = Parser("beyond", "Train every rule, choose its settings, compare.")
    parser.add_argument("comparison", nargs="*", offer=HOMES, help=f"some of {', '.join(HOMES)} [all]")
    about = f"how many seeds judge in the end, or FIRST to LAST [{supervised.SEEDS}]"
    parser.add_argument("--seeds", metavar=SEEDS, help=about)
    parser.training()
    parser.add_argument("--store", default=STORE, metavar="DIR", help="where runs are kept")
    parser.add_argument("--out", default="beyond", metavar="DIR", help="where tables and pictures go")
    return parser


def _train(home: ModuleType, name: str, options: dict[str, Any], store: Path) -> list[Result] | None:
    """First what settings are chosen by, then the best of them on other seeds; None if it was interrupted."""
    comparison, tuned = home.COMPARISONS[name], []
    if runs := home.tuning(comparison):
        first = train_all(runs, options, store)
        if first is None:
            return None
        tuned = first.results
    final = home.final(comparison, tuned, options["seeds"] or range(home.SEEDS))
    rest = train_all(final, options, store)
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
