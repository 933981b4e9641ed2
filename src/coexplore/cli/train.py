"""`coexplore train`: which flags there are depends on the rules, the layers, the task and the preset, so the words are
read twice: first for those, then for everything."""

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from coexplore import engines, rules
from coexplore.cli.parser import SEEDS, Parser, folder
from coexplore.cli.results import train_all
from coexplore.cli.tables import console, described, result_table
from coexplore.rules import Rule
from coexplore.run import Run, base, dashed, grid
from coexplore.run.kinds import Layers, TaskName
from coexplore.run.names import Names, settings
from coexplore.settings import EachLayer, Switch, refusal
from coexplore.store import write
from coexplore.study import Study
from coexplore.tasks.base import AnyTask
from coexplore.tasks.multiplexer import Multiplexer

EXAMPLE = "boltzmann"  # whose flags `train --help` explains
Flags = Callable[[Parser], None]
Kinds = tuple[type[Rule], ...]  # the rules of one network: one for all layers, or one for each


def train_command(words: list[str]) -> int:
    options = read(words)
    runs = described_runs(options)
    for run in runs if options["cluster"] is None else ():
        engines.choose(run, options["engine"])
    out = None if options["out"] is None else folder("out", options["out"])
    store = out if options["store"] is None else folder("store", options["store"])
    done = train_all(runs, options, store)
    if done is None:
        return 130
    if done.results:
        _write(done, out, options["json"])
    return 1 if done.failures else 0


def _seeds(parser: Parser) -> None:
    parser.add_argument("--seeds", metavar=SEEDS, help="train seeds 0 to COUNT − 1, or FIRST to LAST")


def read(words: list[str], command: str = "train", flags: Flags = _seeds) -> dict[str, Any]:
    """Every option by its name, values checked; `kinds` are the rules of each network that is asked for.

    `flags` are those that only this command has."""
    parser = functools.partial(_parser, command, flags)
    first = vars(parser([], settings((), ()), first=True).parse_known_args(words)[0])
    if first["help"] and not (first["rule"] or first["layers"]):
        first["rule"] = [EXAMPLE]
    kinds: list[Kinds] = [tuple(map(type, Layers().parse("layers", text))) for text in first["layers"] or ()]
    kinds = kinds or [(rules.find(name),) for name in dict.fromkeys(first["rule"])]
    tasks = [type(TaskName().parse("task", text)) for text in first["task"] or ()]
    if first["preset"]:
        tasks += [type(base(of_layers[0], first["preset"]).task) for of_layers in kinds]
    every = sorted({rule for of_layers in kinds for rule in of_layers}, key=lambda rule: rule.name)
    specs = settings(every, tasks or (Multiplexer,))
    options = _checked(parser([rule.name for rule in every], specs).read(words), specs)
    if bool(options["rule"]) == bool(options["layers"]):
        raise refusal(
            "rule", " ".join(options["rule"]), f"one of {', '.join(rules.known())} after `{command}`, or --layers"
        )
    return {**options, "kinds": kinds}


def _parser(command: str, flags: Flags, names: list[str], specs: Names, first: bool = False) -> Parser:
    """The first time round, flags that only some rule or task has are not known yet."""
    parser = Parser(f"{command} {' '.join(names)}", add_help=not first)
    if first:
        parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("rule", nargs="*", default=[], help=f"rules to train: {', '.join(rules.known())}")
    for name, spec in specs.items():
        about = f"{spec.help}: {spec.allowed}".replace("%", "%%")
        bare = "*" if isinstance(spec.one if isinstance(spec, EachLayer) else spec, Switch) else "+"  # alone: yes
        parser.add_argument(f"--{dashed(name)}", nargs=bare, metavar="VALUE", help=about, dest=name)
    parser.add_argument("--preset", help="start from the setting of this name instead of the paper's")
    flags(parser)
    parser.training()
    parser.add_argument(
        "--store", metavar="DIR", help="keep runs here, and do not train again what is there; DIR of --out"
    )
    parser.add_argument("--out", metavar="DIR", help="write the picture, numbers in JSON and the trained networks here")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    return parser


def _checked(options: dict[str, Any], specs: Names) -> dict[str, Any]:
    for name, spec in specs.items():
        if options[name] is not None:
            options[name] = [spec.parse(name, text) for text in options[name] or ["yes"]]
    if options.get("seeds") is not None:
        if options["seed"] is not None:
            raise refusal("seed", options["seed"][0], "either --seed or --seeds")
        options["seed"] = list(options["seeds"])
    return options


def described_runs(options: dict[str, Any]) -> list[Run]:
    """The grid; settings that only another rule or another task has do not concern a run."""
    tasks = options["task"] or [None]
    return list(
        dict.fromkeys(run for kinds in options["kinds"] for task in tasks for run in _runs(kinds, task, options))
    )


def _runs(kinds: Kinds, task: AnyTask | None, options: dict[str, Any]) -> list[Run]:
    start = base(kinds[0], options["preset"], task)
    axes = {name: options[name] for name in settings(kinds, [type(start.task)]) if options[name] is not None}
    if "layers" in axes:
        axes["layers"] = [tuple(kind.usual() for kind in kinds)]
    return grid(start, **{name: values for name, values in axes.items() if name != "task"})


def _write(done: Study, out: Path | None, as_json: bool) -> None:
    text = json.dumps(_report(done), allow_nan=False)
    if out:
        from coexplore.results.plots import plot  # matplotlib is slow to import, and not always wanted

        write(out / "results.json", text.encode() + b"\n")
        plot(done.results, out / "curves.png")
    if as_json:
        print(text)
        return
    _print_table(done)
    print(f"picture: {out / 'curves.png'}" if out else "add --out DIR for the picture and the trained networks")


def _report(done: Study) -> dict[str, Any]:
    runs = [described(result) for result in done.results]
    return {"seconds": done.seconds, "compile_seconds": done.compile_seconds, "runs": runs}


def _print_table(done: Study) -> None:
    kept = f", {len(done.results) - done.trained} runs were there already" if done.trained < len(done.results) else ""
    line = f"trained in {done.seconds:.1f} s (and {done.compile_seconds:.1f} s to compile){kept}"
    console().print(result_table(done.results), line)
