"""`coexplore train`: which flags there are depends on the rules, the layers, the task and the preset, so the words are
read twice: first for those, then for everything."""

import argparse
import functools
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from coexplore import engines, rules, variants
from coexplore.cli.flags import add_settings, defaults, everything
from coexplore.cli.parser import SEEDS, Parser, folder
from coexplore.cli.results import train_all
from coexplore.cli.tables import console, described, described_settings, result_table
from coexplore.rules import Rule
from coexplore.rules.renamed import advice, written_now
from coexplore.run import Run, base, grid
from coexplore.run.kinds import Layers, TaskName
from coexplore.run.names import Names, settings, settings_of
from coexplore.run.needs import check_fits
from coexplore.run.seeded import Runs, Seeded, counted
from coexplore.settings import refusal
from coexplore.store import write
from coexplore.study import Study, faulty
from coexplore.tasks.base import AnyTask
from coexplore.tasks.env_args import EnvArgs
from coexplore.tasks.multiplexer import Multiplexer

EXAMPLE = "boltzmann"  # whose flags `train --help` explains
FLAGS = """These are the flags of {}: `RULE … --help` has those of other rules, `RULE … --task TASK --help` those of
other tasks. In brackets is what happens without a flag: what the paper does, if it does. Several values make a grid."""
ABOUT = {
    "train": f"Train rules, then show rewards and a picture. {FLAGS}",
    "tune": f"Choose the best of a grid on some seeds, judge it on others. {FLAGS}",
}
Flags = Callable[[Parser], None]
Kinds = tuple[Rule, ...]  # the rules of one network, before flags change them: one for all layers, or one for each


def train_command(words: list[str]) -> int:
    options = read(words)
    runs = described_runs(options)
    faults = faulty(runs)  # they fail, and the others train
    for setting in counted(runs) if options["cluster"] is None else ():
        if setting not in faults:
            check_fits(setting)
            engines.choose(setting, options["engine"])
    out = None if options["out"] is None else folder("out", options["out"])
    store = out if options["store"] is None else folder("store", options["store"])
    done = train_all(runs, options, store)
    if done is None:
        return 130
    if done.results:
        _write(done, out, options["json"])
    return 1 if done.failures else 0


def _seeds(parser: Parser) -> None:
    parser.add_argument("--seeds", metavar=SEEDS, help="train seeds 0 to COUNT − 1, or FIRST to LAST [that of --seed]")


def read(words: list[str], command: str = "train", flags: Flags = _seeds) -> dict[str, Any]:
    """Every option by its name, values checked; `kinds` are the rules of each network that is asked for.

    `flags` are those that only this command has."""
    made = functools.partial(parser, command, flags)
    first = vars(made(settings((), ()), first=True).parse_known_args(words)[0])
    if first["help"] and not (first["rule"] or first["layers"]):
        first["rule"] = [EXAMPLE]
    kinds: list[Kinds] = [Layers().parse("layers", text) for text in first["layers"] or ()]
    kinds = kinds or [(rules.usual(name),) for name in dict.fromkeys(first["rule"])]
    if first["variant"]:
        kinds = [tuple(variants.find(rule.name, first["variant"])() for rule in of_layers) for of_layers in kinds]
    tasks = [TaskName().parse("task", text) for text in first["task"] or ()]
    if first["preset"]:
        tasks += [base(of_layers[0], first["preset"]).task for of_layers in kinds]
    every = sorted(itertools.chain.from_iterable(kinds), key=lambda rule: rule.name)
    specs = settings(map(type, every), list(map(type, tasks)) or (Multiplexer,))
    _refuse_former_flags(words, [rule.name for rule in every] or [EXAMPLE], specs)
    usual = defaults(every, tasks, first["preset"]) if first["help"] else {}
    options = _checked(made(specs, every, usual).read(words), specs)
    if bool(options["rule"]) == bool(options["layers"]):
        raise refusal(
            "rule", " ".join(options["rule"]), f"one of {', '.join(rules.names())} after `{command}`, or --layers"
        )
    return {**options, "kinds": kinds}


def _refuse_former_flags(words: Sequence[str], names: Sequence[str], specs: Names) -> None:
    """Refuse a former flag, which no setting has here, by a line that says how it is written now.

    `names`: of the rules that are trained.
    """
    for i, word in enumerate(words):
        flag, equals, value = word.partition("=")
        name = flag.removeprefix("--").replace("-", "_")
        if not word.startswith("--") or name in specs:
            continue
        after = itertools.takewhile(lambda each: not each.startswith("--"), words[i + 1 :])
        given = value if equals else " ".join(after)
        if now := next(filter(None, (advice(rule, name, given) for rule in names)), None):
            raise written_now(f"{flag} {given}".strip(), now)


def train_parser() -> Parser:
    """With the flags of every rule and task."""
    return parser("train", _seeds, everything())


def parser(
    command: str,
    flags: Flags,
    specs: Names,
    of: Sequence[Rule] = (),
    usual: Mapping[str, str] = {},
    first: bool = False,
) -> Parser:
    """The first time round, flags that only some rule or task has are not known yet."""
    named = list(dict.fromkeys(rules.alias_of(rule) or rule.name for rule in of))
    made = Parser(" ".join([command, *named]), ABOUT[command].format(" and ".join(named)), add_help=not first)
    made.usage = f"coexplore {command} RULE … [--FLAG VALUE …] …"
    if first:
        made.add_argument("-h", "--help", action="store_true")
    about = f"rules to train: {', '.join(rules.names())}, or MODULE:NAME of your own"
    made.add_argument("rule", nargs="*", default=[], offer=rules.names(), help=about)
    if "variant" not in specs:  # of a run that is repeated; no help shows them
        made.add_argument("--variant", help=argparse.SUPPRESS)
    add_settings(made, specs, usual)
    flags(made)
    made.training()
    made.keeping()
    if command == "train":
        made.add_argument("--tensorboard", metavar="DIR", help="write event files here while runs train [nowhere]")
    return made


def _checked(options: dict[str, Any], specs: Names) -> dict[str, Any]:
    for name, spec in specs.items():
        if options[name] is not None:
            texts = options[name] or ["yes"]
            if isinstance(spec, EnvArgs):
                texts = [spec.joined(each) for each in itertools.product(*texts)]
            options[name] = [spec.parse(name, text) for text in texts]
    if options.get("seeds") is not None and options["seed"] is not None:
        raise refusal("seed", options["seed"][0], "either --seed or --seeds")
    return options


def described_runs(options: dict[str, Any]) -> Runs:
    """The grid; settings that only another rule or another task has do not concern a run."""
    tasks = options["task"] or [None]
    every = dict.fromkeys(run for kinds in options["kinds"] for task in tasks for run in _runs(kinds, task, options))
    return list(every) if options.get("seeds") is None else Seeded(every, options["seeds"])


def _runs(kinds: Kinds, task: AnyTask | None, options: dict[str, Any]) -> list[Run]:
    start = base(kinds[0], options["preset"], task)
    names = settings(map(type, kinds), [type(start.task)])
    axes = {name: options[name] for name in names if options[name] is not None}
    if "layers" in axes:
        axes["layers"] = [kinds]
    return as_named(kinds, grid(start, **{name: values for name, values in axes.items() if name != "task"}))


def as_named(kinds: Kinds, runs: list[Run]) -> list[Run]:
    """The runs; refuses one in which a flag contradicts the alias that names a rule."""
    for run in runs:
        for k, rule in enumerate(run.rules):
            alias = rules.alias_of(kinds[k % len(kinds)])
            if alias and rules.alias_of(rule) != alias:
                ((name, value),) = rules.ALIASES[alias].settings.items()
                spec = settings_of(run)[name]
                wanted = f"{spec.show(value)}, which {alias} means, or {rule.name} instead of {alias}"
                raise refusal(name, spec.show(getattr(rule, name)), wanted)
    return runs


def _write(done: Study, out: Path | None, as_json: bool) -> None:
    text = _report(done) if out or as_json else ""
    if out:
        from coexplore.results.plots import plot  # matplotlib is slow to import, and not always wanted

        write(out / "results.json", text.encode() + b"\n")
        plot(done.results, out / "curves.png")
    if as_json:
        print(text)
        return
    _print_table(done)
    print(f"picture: {out / 'curves.png'}" if out else "add --out DIR for the picture and the trained networks")


def _report(done: Study) -> str:
    """As JSON, a run at a time: thousands of curves take less room as text."""
    told = json.dumps({"seconds": done.seconds, "compile_seconds": done.compile_seconds}, allow_nan=False)
    settings = json.dumps(described_settings(done.results), allow_nan=False)
    runs = ", ".join(json.dumps(described(result), allow_nan=False) for result in done.results)
    return f'{told[:-1]}, "settings": {settings}, "runs": [{runs}]}}'


def _print_table(done: Study) -> None:
    kept = f", {len(done.results) - done.trained} runs were there already" if done.trained < len(done.results) else ""
    line = f"trained in {done.seconds:.1f} s (and {done.compile_seconds:.1f} s to compile){kept}"
    console().print(result_table(done.results), line)
