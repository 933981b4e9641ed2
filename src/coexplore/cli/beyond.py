"""`coexplore beyond`: the rules compared on tasks with labels and in environments."""

from pathlib import Path
from types import ModuleType
from typing import Any

from coexplore.beyond import control, supervised
from coexplore.cli.parser import STORE, Parser, folder, studied
from coexplore.fields import refuse
from coexplore.files import write
from coexplore.result import Result

HOMES = {name: home for home in (supervised, control) for name in home.COMPARISONS}


def beyond_command(words: list[str]) -> int:
    parser = Parser("beyond", f"Train every rule, choose its settings, compare. Comparisons: {', '.join(HOMES)}.")
    parser.add_argument("comparison", nargs="*", help=f"some of {', '.join(HOMES)}; all if none is named")
    parser.add_argument("--seeds", metavar="COUNT", help="seeds 0 to COUNT − 1 in the end; 10 if not given")
    parser.training()
    parser.add_argument("--store", default=STORE, metavar="DIR", help=f"where runs are kept; {STORE} if not given")
    parser.add_argument(
        "--out", default="beyond", metavar="DIR", help="where tables and pictures go; beyond if not given"
    )
    options = parser.read(words)
    names = list(dict.fromkeys(options["comparison"] or HOMES))
    for name in names:
        if name not in HOMES:
            raise refuse("comparison", name, f"some of {', '.join(HOMES)}", HOMES)
    store, out = folder("store", options["store"], ".writable"), folder("out", options["out"], "tables.md")
    sections = []
    for name in names:
        results = _trained(HOMES[name], name, options, store)
        if results is None:
            return 130
        sections.append(_compared(HOMES[name], name, results, out))
    write(out / "tables.md", "\n".join(sections).encode())
    print(f"tables and pictures: {out}, runs: {store}")
    return 0


def _trained(home: ModuleType, name: str, options: dict[str, Any], store: Path) -> list[Result] | None:
    """First what settings are chosen by, then the best of them with all seeds; None if it was interrupted."""
    comparison, found = home.COMPARISONS[name], []
    if runs := home.tuning(comparison):
        first = studied(runs, options, store)
        if first is None:
            return None
        found = first.results
    rest = studied(home.final(home.chosen(comparison, found), options["seeds"] or home.SEEDS), options, store)
    return rest and list({result.run: result for result in (*found, *rest.results)}.values())


def _compared(home: ModuleType, name: str, results: list[Result], out: Path) -> str:
    from coexplore.beyond.pictures import draw  # matplotlib is slow to import

    comparison = home.COMPARISONS[name]
    found = home.rows(comparison, results)
    section = home.table(comparison, found)
    print(section)
    return f"{section}\n![{comparison.title}]({draw(comparison, found, out).name})\n"
