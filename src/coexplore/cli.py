"""The command: parses, calls, prints; nothing else. Its flags follow from the fields of Run, its task and its rules."""

import argparse
import itertools
import json
import math
import sys
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console
from rich.table import Table

from coexplore import __version__, engines, rules
from coexplore.fields import FieldError, Spec, Switch, refuse
from coexplore.flags import command, dashed, flags, grid, labels
from coexplore.presets import base
from coexplore.result import Result, by_setting
from coexplore.run import TASKS, Run
from coexplore.stats import summary
from coexplore.store import save, write
from coexplore.study import Interrupted, Study, study

HELP = """usage: coexplore train RULE [RULE …] [--FLAG VALUE [VALUE …] …]
       coexplore list
       coexplore --version

Networks of stochastic units that learn as a team. Several values of a flag, or several rules, make a grid.
`coexplore list` names the rules; `coexplore train RULE --help` explains the flags of one."""


class Parser(argparse.ArgumentParser):
    """argparse, with errors of one line that end in `main`."""

    def error(self, message: str) -> NoReturn:
        raise FieldError(message.removeprefix("argument "))


def main() -> NoReturn:
    try:
        sys.exit(_main(sys.argv[1:]))
    except FieldError as error:
        print(f"coexplore: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("coexplore: interrupted", file=sys.stderr)
        sys.exit(130)


def _main(words: list[str]) -> int:
    match words:
        case []:
            print(HELP, file=sys.stderr)
            return 2
        case ["-h" | "--help"] | ["train", "-h" | "--help"]:
            print(HELP)
        case ["--version"]:
            print(f"coexplore {__version__}")
        case ["list"]:
            _list()
        case ["train", *rest]:
            return _train(rest)
        case [word, *_]:
            raise refuse("command", " ".join(words) if word == "list" else word, "train | list", ["train", "list"])
    return 0


def _list() -> None:
    """Rules, tasks and engines, a line each."""
    for heading, names in (("rules", rules.known()), ("tasks", TASKS), ("engines", engines.TITLES)):
        print(heading)
        for name in names:
            print(f"  {name:<21}{_title(heading, name)}")
    print("docs/rules/NAME.md has a page on each rule of ours")


def _title(heading: str, name: str) -> str:
    if heading == "engines":
        why = engines.find(name).missing()
        return f"missing: {why}" if why else engines.TITLES[name]
    try:
        return TASKS[name].title if heading == "tasks" else rules.find(name).title
    except FieldError as error:  # a plug-in that cannot be loaded
        return str(error)


def _train(words: list[str]) -> int:
    names = list(itertools.takewhile(lambda word: not word.startswith("-"), words))
    if not names:
        raise refuse("rule", words[0] if words else "", f"one of {', '.join(rules.known())} after `train`")
    chosen = [rules.find(name) for name in dict.fromkeys(names)]
    options = _parsed(names, {k: v for rule in chosen for k, v in flags(rule).items()}, words[len(names) :])
    runs = [run for rule in chosen for run in _runs(rule, options)]
    for run in runs:
        engines.choose(run, options["engine"])
    out = _folder(options["out"])
    if options["engine"] == "auto":
        _say_what_is_missing()
    try:
        done = study(runs, options["engine"], threads=options["threads"])
    except Interrupted as stopped:
        finished = f"{len(stopped.finished)} of {len(runs)} runs were finished"
        if out:
            for result in stopped.finished:
                save(result, out)
            finished += f" and are kept in {out}"
        print(f"coexplore: interrupted; {finished}", file=sys.stderr)
        return 130
    _write(done, out, options["json"])
    return 0


def _say_what_is_missing() -> None:
    for name in engines.TITLES:
        if (why := engines.find(name).missing()) and why != engines.NO_GPU:
            print(f"coexplore: training without the {name} engine: {why}", file=sys.stderr)


def _parsed(names: list[str], specs: dict[str, Spec], words: list[str]) -> dict[str, Any]:
    parser = Parser(prog=f"coexplore train {' '.join(names)}", allow_abbrev=False)
    for name, spec in specs.items():
        about = f"{spec.help}: {spec.allowed}".replace("%", "%%")
        bare = "*" if isinstance(spec, Switch) else "+"  # a switch alone means yes
        parser.add_argument(f"--{dashed(name)}", nargs=bare, metavar="VALUE", help=about, dest=name)
    parser.add_argument("--preset", help="start from the setting of this name instead of the paper's")
    parser.add_argument("--seeds", metavar="COUNT", help="train seeds 0 to COUNT − 1")
    parser.add_argument("--engine", default="auto", help=f"auto | {' | '.join(engines.TITLES)}")
    parser.add_argument("--threads", metavar="COUNT", help="how many runs to train at a time; all cores if not given")
    parser.add_argument("--out", metavar="DIR", help="write the picture, results.json and the trained networks here")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    known, unknown = parser.parse_known_args(words)
    options = vars(known)
    if unknown:
        flag = next((word for word in unknown if word.startswith("-")), unknown[0])
        raise refuse("flag", flag, f"a flag of {parser.prog} (see --help)", [f"--{dashed(name)}" for name in options])
    for name, spec in specs.items():
        if options[name] is not None:
            options[name] = [spec.parse(name, text) for text in options[name] or ["yes"]]
    if options["threads"] is not None:
        options["threads"] = _positive("threads", options["threads"])
    if options["seeds"] is not None:
        if options["seed"] is not None:
            raise refuse("seeds", options["seeds"], "either --seed or --seeds")
        options["seed"] = list(range(_positive("seeds", options["seeds"])))
    return options


def _positive(name: str, text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise refuse(name, text, "a whole number of at least 1")
    return int(text)


def _runs(rule: type[rules.Rule], options: dict[str, Any]) -> list[Run]:
    """The grid of one rule; settings that only another rule has do not concern it."""
    axes = {name: options[name] for name in flags(rule) if options[name] is not None}
    return list(dict.fromkeys(grid(base(rule, options["preset"]), **axes)))


def _folder(out: str | None) -> Path | None:
    """Made before the training starts: a folder that cannot be written must not cost a result."""
    if out is None:
        return None
    try:
        Path(out).mkdir(parents=True, exist_ok=True)
        write(Path(out) / "results.json", b"{}\n")
    except OSError as error:
        raise refuse("out", out, f"a folder that can be written ({error.strerror})") from None
    return Path(out)


def _write(done: Study, out: Path | None, as_json: bool) -> None:
    text = json.dumps(_report(done), allow_nan=False)
    if out:
        from coexplore.plots import plot  # matplotlib is slow to import, and not always wanted

        write(out / "results.json", text.encode() + b"\n")
        for result in done.results:
            save(result, out)
        plot(done.results, out / "curves.png")
    if as_json:
        print(text)
        return
    _table(done)
    print(f"picture: {out / 'curves.png'}" if out else "add --out DIR for the picture and the trained networks")


def _report(done: Study) -> dict[str, Any]:
    runs = [_described(result) for result in done.results]
    return {"seconds": done.seconds, "compile_seconds": done.compile_seconds, "runs": runs}


def _described(result: Result) -> dict[str, Any]:
    repeat = command(result.run)
    return {
        "run": result.run.to_dict(),
        "command": repeat and f"{repeat} --engine {result.engine}",
        "digest": result.run.digest,
        "engine": result.engine,
        "reward": _null(result.reward),
        "first": _null(result.first),
        "last": _null(result.last),
        "curve": [[float(x), _null(float(r))] for x, r in zip(result.episodes, result.curve, strict=True)],
    }


def _null(x: float) -> float | None:
    return x if math.isfinite(x) else None


def _table(done: Study) -> None:
    settings = by_setting(done.results)
    table = Table(title="reward: mean ± sd over seeds [95 % interval of the mean, Student's t]")
    for heading in ("setting", "seeds", "first quarter", "last quarter"):
        table.add_column(heading, justify="right" if heading == "seeds" else "left")
    for label, same in zip(labels(list(settings)), settings.values(), strict=True):
        first, last = summary([r.first for r in same]), summary([r.last for r in same])
        table.add_row(label, str(len(same)), str(first), str(last))
    console = Console() if sys.stdout.isatty() else Console(width=140)
    console.print(table, f"trained in {done.seconds:.1f} s (and {done.compile_seconds:.1f} s to compile)")
