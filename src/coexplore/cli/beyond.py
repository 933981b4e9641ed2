"""`coexplore beyond`: the rules compared on tasks with labels."""

from pathlib import Path
from typing import Any

from coexplore.beyond.supervised import COMPARISONS, SEEDS, Comparison, chosen, final, find, rows, table, tuning
from coexplore.cli.parser import STORE, Parser, folder, studied
from coexplore.files import write
from coexplore.result import Result


def beyond_command(words: list[str]) -> int:
    names = ", ".join(COMPARISONS)
    parser = Parser("beyond", f"Train every rule on a task with labels, choose rates, compare. Comparisons: {names}.")
    parser.add_argument("comparison", nargs="*", help=f"some of {names}; all if none is named")
    parser.add_argument("--seeds", metavar="COUNT", help=f"seeds 0 to COUNT − 1 at the best rate; {SEEDS} if not given")
    parser.training()
    parser.add_argument("--store", default=STORE, metavar="DIR", help=f"where runs are kept; {STORE} if not given")
    parser.add_argument(
        "--out", default="beyond", metavar="DIR", help="where tables and pictures go; beyond if not given"
    )
    options = parser.read(words)
    comparisons = [find(name) for name in dict.fromkeys(options["comparison"] or COMPARISONS)]
    store, out = folder("store", options["store"], ".writable"), folder("out", options["out"], "tables.md")
    sections = []
    for one in comparisons:
        results = _trained(one, options, store)
        if results is None:
            return 130
        sections.append(_compared(one, results, out))
    write(out / "tables.md", "\n".join(sections).encode())
    print(f"tables and pictures: {out}, runs: {store}")
    return 0


def _trained(comparison: Comparison, options: dict[str, Any], store: Path) -> list[Result] | None:
    """First what the rates are chosen by, then the best of them with all seeds; None if it was interrupted."""
    first = studied(tuning(comparison), options, store)
    if first is None:
        return None
    best = chosen(comparison, first.results)
    rest = studied(final(best, options["seeds"] or SEEDS), options, store)
    return rest and list({result.run: result for result in (*first.results, *rest.results)}.values())


def _compared(comparison: Comparison, results: list[Result], out: Path) -> str:
    from coexplore.beyond.pictures import draw  # matplotlib is slow to import

    found = rows(comparison, results)
    section = table(comparison, found)
    print(section)
    return f"{section}\n![{comparison.title}]({draw(comparison, found, out).name})\n"
