"""`coexplore runs` and `coexplore plot`: look after the runs of a store."""

import csv
import io
import json
from pathlib import Path
from typing import Any

from coexplore.cli.parser import Parser
from coexplore.cli.results import chosen_results
from coexplore.cli.tables import console, described, result_table
from coexplore.run import Result, Run, flat
from coexplore.settings import refusal
from coexplore.store import Store, StoreError, pack, write

ACTIONS = ("list", "export", "pack", "prune")
PICTURES = (".png", ".svg", ".pdf")


def runs_command(words: list[str]) -> int:
    parser = Parser("runs", "List the runs of a store; export them; pack them into one small file; or prune them.")
    parser.add_argument("action", nargs="?", default="list", help=" | ".join(ACTIONS))
    parser.add_argument("file", nargs="?", help="for export: NAME.csv or NAME.json; for pack: NAME.safetensors")
    parser.reading()
    parser.add_argument("--figure", metavar="NAME", help="pack only what was searched for tuned, scaling or depth")
    options = parser.read(words)
    action = options["action"]
    if action not in ACTIONS:
        raise refusal("action", action, " | ".join(ACTIONS), ACTIONS)
    if (options["file"] is None) == (action in ("export", "pack")):
        raise refusal(
            "file", options["file"] or "", f"a file after `runs {action}`" if not options["file"] else "no file"
        )
    if options["figure"] is not None and action != "pack":
        raise refusal("figure", options["figure"], "a figure after `runs pack` only; --select narrows the others")
    return {"list": _list, "export": _export, "pack": _pack, "prune": _prune}[action](options)


def plot_command(words: list[str]) -> int:
    parser = Parser("plot", "Learning curves of the runs of a store.")
    parser.add_argument("file", help=f"where to: a name that ends in {', '.join(PICTURES)}")
    parser.reading()
    options = parser.read(words)
    path = _named(options["file"], PICTURES)
    chosen = chosen_results(options)
    from coexplore.results.plots import plot  # matplotlib is slow to import

    plot(chosen, path)
    print(f"picture: {path}, {len(chosen)} runs")
    return 0


def _list(options: dict[str, Any]) -> int:
    chosen = chosen_results(options)
    engines = ", ".join(sorted({result.engine for result in chosen}))
    line = f"{len(chosen)} runs ({engines}), {sum(result.frozen for result in chosen)} of them frozen"
    console().print(result_table(chosen), line)
    for line in Store(options["store"]).others():
        print(line)
    return 0


def _export(options: dict[str, Any]) -> int:
    path = _named(options["file"], (".csv", ".json"))
    chosen = chosen_results(options)
    text = _csv(chosen) if path.suffix == ".csv" else json.dumps([described(r) for r in chosen], allow_nan=False) + "\n"
    write(path, text.encode())
    print(f"{len(chosen)} runs: {path}")
    return 0


def _csv(chosen: list[Result]) -> str:
    """A line for each run: every setting, then what came out."""
    rows = []
    for result in chosen:
        outcome = {"reward": result.reward, "first": result.first, "last": result.last, "frozen": result.frozen}
        outcome |= {} if result.accuracy is None else {"accuracy": result.accuracy}
        rows.append({**flat(result.run), "engine": result.engine, "digest": result.run.digest, **outcome})
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _pack(options: dict[str, Any]) -> int:
    path = _named(options["file"], (".safetensors",))
    chosen, scores_only, brief = _to_pack(options)
    chosen.sort(key=lambda result: (result.run.setting.digest, result.run.seed))
    pack(chosen, path, scores_only, brief)
    few = sum(result.setting in scores_only or result.run in scores_only for result in chosen)
    told = f", {few} of them, whose curves nobody draws, with scores alone" if few else ""
    print(f"{len(chosen)} runs{told}, {path.stat().st_size / 1e6:.1f} MB: {path}")
    return 0


def _to_pack(options: dict[str, Any]) -> tuple[list[Result], set[Run], set[Run]]:
    """The results, the runs or settings of which scores will do, and the settings of which a short curve does."""
    from coexplore.beyond import choosing  # the figures and comparisons are slow to import
    from coexplore.paper import evidence, tuned, tunings

    chosen, name = chosen_results(options), options["figure"]
    if name is None:
        undrawn, brief = evidence.many_seeds(chosen)
        over = evidence.passed_over(chosen) | choosing.passed_over(chosen) | tuned.passed_over(chosen)
        return chosen, over | undrawn, brief
    if name not in tunings.TUNINGS:
        raise refusal("figure", name, f"one of {', '.join(tunings.TUNINGS)}", tunings.TUNINGS)
    chose, judged = tuned.served(tunings.TUNINGS[name], chosen)
    if not judged:
        raise StoreError(f"figure: {name} was not searched to its end in {options['store']}")
    mine = chose | judged
    return [result for result in chosen if result.run in mine], chose - judged, set()


def _prune(options: dict[str, Any]) -> int:
    """Remove what nobody needs any more, and the selected runs."""
    folder = Path(options["store"])
    if not folder.is_dir():
        raise refusal("store", options["store"], "a folder with runs")
    removed = Store(folder).prune(chosen_results(options) if options["select"] or options["seeds"] else [])
    print(f"{removed} files removed from {folder}")
    return 0


def _named(file: str, endings: tuple[str, ...]) -> Path:
    path = Path(file)
    if path.suffix not in endings:
        raise refusal("file", file, f"a name that ends in {' or '.join(endings)}")
    if not path.absolute().parent.is_dir():
        raise refusal("file", file, "a file in a folder that exists")
    return path
