"""`coexplore train` and `coexplore list`."""

import itertools
import json
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from coexplore import engines, rules
from coexplore.choices import Layers, TaskName
from coexplore.cli.parser import Parser, folder, studied
from coexplore.fields import FieldError, Spec, Switch, refuse
from coexplore.files import write
from coexplore.flags import command, dashed, flags, grid, labels
from coexplore.paper.figures import FIGURES
from coexplore.presets import base
from coexplore.result import Result, by_setting
from coexplore.run import TASKS, Run
from coexplore.stats import summary
from coexplore.study import Study
from coexplore.tasks.base import Task
from coexplore.tasks.multiplexer import Multiplexer


def list_command(words: list[str]) -> int:
    """Rules, tasks, engines and figures, a line each."""
    Parser("list").read(words)
    things: dict[str, Iterable[str]] = {
        "rules": rules.known(),
        "tasks": TASKS,
        "engines": engines.TITLES,
        "figures": FIGURES,
    }
    for heading, names in things.items():
        print(heading)
        for name in names:
            print(f"  {name:<21}{_title(heading, name)}")
    print("docs/rules/NAME.md has a page on each rule of ours")
    return 0


def _title(heading: str, name: str) -> str:
    if heading == "engines":
        why = engines.find(name).missing()
        return f"missing: {why}" if why else engines.TITLES[name]
    if heading == "figures":
        return FIGURES[name].title + (" (ours)" if FIGURES[name].ours else "")
    try:
        return TASKS[name].title if heading == "tasks" else rules.find(name).title
    except FieldError as error:  # a plug-in that cannot be loaded
        return str(error)


def train_command(words: list[str]) -> int:
    names = list(itertools.takewhile(lambda word: not word.startswith("-"), words))
    rest = words[len(names) :]
    if rest[:1] in (["-h"], ["--help"]) and not names:
        names = ["boltzmann"]  # the flags of one rule, as an example
    options = read(names, rest)
    runs = described_runs(names, options)
    for run in runs:
        engines.choose(run, options["engine"])
    out = None if options["out"] is None else folder("out", options["out"], "results.json")
    store = out if options["store"] is None else folder("store", options["store"], ".writable")
    done = studied(runs, options, store)
    if done is None:
        return 130
    if done.results:
        _write(done, out, options["json"])
    return 1 if done.failures else 0


def read(names: list[str], words: list[str]) -> dict[str, Any]:
    """The options; which flags there are depends on the rules, the layers, the task and the preset."""
    first = {name: _values(words, f"--{name}") for name in ("layers", "task", "preset")}
    if bool(names) == bool(first["layers"]):
        raise refuse("rule", " ".join(names), f"one of {', '.join(rules.known())} after `train`, or else --layers")
    chosen = _chosen(names, [Layers().parse("layers", text) for text in first["layers"]])
    tasks = [type(TaskName().parse("task", text)) for text in first["task"]]
    tasks += [type(base(of_layers[0], text).task) for text in first["preset"] for of_layers in chosen]
    kinds = sorted({rule for of_layers in chosen for rule in of_layers}, key=lambda rule: rule.name)
    return _options(names, flags(kinds, tasks or (Multiplexer,)), words)


def _chosen(names: list[str], layers: list[tuple[rules.Rule, ...]] | None) -> list[tuple[type[rules.Rule], ...]]:
    """The rules of each network that is asked for: one for all layers, or one each."""
    return [(rules.find(name),) for name in dict.fromkeys(names)] or [tuple(map(type, each)) for each in layers or ()]


def _values(words: list[str], flag: str) -> list[str]:
    """What follows the flag."""
    after = words[words.index(flag) + 1 :] if flag in words else []
    return list(itertools.takewhile(lambda word: not word.startswith("-"), after))


def described_runs(names: list[str], options: dict[str, Any]) -> list[Run]:
    """The grid; settings that only another rule or another task has do not concern a run."""
    found, tasks = _chosen(names, options["layers"]), options["task"] or [None]
    return list(dict.fromkeys(run for kinds in found for task in tasks for run in _runs(kinds, task, options)))


def _runs(kinds: tuple[type[rules.Rule], ...], task: Task | None, options: dict[str, Any]) -> list[Run]:
    start = base(kinds[0], options["preset"], task)
    axes = {name: options[name] for name in flags(kinds, [type(start.task)]) if options[name] is not None}
    if "layers" in axes:
        axes["layers"] = [tuple(kind() for kind in kinds)]  # type: ignore[call-arg]
    return grid(start, **{name: values for name, values in axes.items() if name != "task"})


def _options(names: list[str], specs: dict[str, Spec], words: list[str]) -> dict[str, Any]:
    parser = Parser(f"train {' '.join(names)}")
    for name, spec in specs.items():
        about = f"{spec.help}: {spec.allowed}".replace("%", "%%")
        bare = "*" if isinstance(getattr(spec, "one", spec), Switch) else "+"  # a switch alone means yes
        parser.add_argument(f"--{dashed(name)}", nargs=bare, metavar="VALUE", help=about, dest=name)
    parser.add_argument("--preset", help="start from the setting of this name instead of the paper's")
    parser.add_argument("--seeds", metavar="COUNT", help="train seeds 0 to COUNT − 1")
    parser.training()
    parser.add_argument(
        "--store", metavar="DIR", help="keep runs here, and do not train again what is there; DIR of --out"
    )
    parser.add_argument("--out", metavar="DIR", help="write the picture, results.json and the trained networks here")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    options = parser.read(words)
    for name, spec in specs.items():
        if options[name] is not None:
            options[name] = [spec.parse(name, text) for text in options[name] or ["yes"]]
    if options["seeds"] is not None:
        if options["seed"] is not None:
            raise refuse("seeds", options["seeds"], "either --seed or --seeds")
        options["seed"] = list(range(options["seeds"]))
    return options


def _write(done: Study, out: Path | None, as_json: bool) -> None:
    text = json.dumps(_report(done), allow_nan=False)
    if out:
        from coexplore.plots import plot  # matplotlib is slow to import, and not always wanted

        write(out / "results.json", text.encode() + b"\n")
        plot(done.results, out / "curves.png")
    if as_json:
        print(text)
        return
    _table(done)
    print(f"picture: {out / 'curves.png'}" if out else "add --out DIR for the picture and the trained networks")


def _report(done: Study) -> dict[str, Any]:
    runs = [described(result) for result in done.results]
    return {"seconds": done.seconds, "compile_seconds": done.compile_seconds, "runs": runs}


def described(result: Result) -> dict[str, Any]:
    repeat = command(result.run)
    return {
        "run": result.run.to_dict(),
        "command": repeat and f"{repeat} --engine {result.engine}",
        "digest": result.run.digest,
        "engine": result.engine,
        "reward": _null(result.reward),
        "first": _null(result.first),
        "last": _null(result.last),
        **({} if result.accuracy is None else {"accuracy": result.accuracy}),
        "curve": [[float(x), _null(float(r))] for x, r in zip(result.episodes, result.curve, strict=True)],
    }


def _null(x: float) -> float | None:
    return x if math.isfinite(x) else None


def table(results: list[Result]) -> Table:
    """A line for each setting."""
    settings = by_setting(results)
    made = Table(title="reward: mean ± sd over seeds [95 % interval of the mean]")
    for heading in ("setting", "seeds", "first quarter", "last quarter"):
        made.add_column(heading, justify="right" if heading == "seeds" else "left")
    if judged := any(result.accuracy is not None for result in results):
        made.add_column("held-out accuracy")
    for label, same in zip(labels(list(settings)), settings.values(), strict=True):
        first, last = summary([r.first for r in same]), summary([r.last for r in same])
        made.add_row(label, str(len(same)), str(first), str(last), *([_accuracy(same)] if judged else []))
    return made


def _accuracy(same: list[Result]) -> str:
    found = [result.accuracy for result in same if result.accuracy is not None]
    return str(summary(found)) if found else ""


def console() -> Console:
    return Console() if sys.stdout.isatty() else Console(width=140)


def _table(done: Study) -> None:
    kept = f", {len(done.results) - done.trained} runs were there already" if done.trained < len(done.results) else ""
    line = f"trained in {done.seconds:.1f} s (and {done.compile_seconds:.1f} s to compile){kept}"
    console().print(table(done.results), line)
