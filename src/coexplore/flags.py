"""A run by the names a person uses: the command line's flags, grids, labels, the command that repeats a run."""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from coexplore import fields
from coexplore.choices import EachLayer, Layers, TaskName
from coexplore.critic import ACTIVATIONS, Critic
from coexplore.fields import Choice, FieldError, Spec, refuse
from coexplore.presets import PRESETS, base
from coexplore.rules import Rule
from coexplore.run import BY_TASK, FLAGS, Run
from coexplore.tasks.base import Task
from coexplore.tasks.multiplexer import Multiplexer

HIDDEN = ("env",)  # a field of a task that its name says
FIRST = ("rule", "task", "critic", "units", "hidden", "layers")  # these decide which other settings there are
FIELDS = {flag: name for name, flag in FLAGS.items()}
CRITICS = Choice("the critic's hidden units, or none", (*ACTIVATIONS, "none"))


def flags(rules: Iterable[type[Rule]], tasks: Iterable[type[Task]] = (Multiplexer,)) -> dict[str, Spec]:
    """Every setting that a run of these rules and tasks may have, by its flag name."""
    of_rules: dict[str, EachLayer] = {}
    for rule in rules:
        of_rules |= {name: of_rules.get(name, EachLayer(one)).beside(one) for name, one in fields.specs(rule).items()}
    made: dict[str, Spec] = {"task": TaskName(), "layers": Layers(), **of_rules}
    for task in tasks:
        made |= {name: spec for name, spec in fields.specs(task).items() if name not in HIDDEN}
    own = {FLAGS.get(name, name): spec for name, spec in fields.specs(Run).items()}
    return {**made, "critic": CRITICS, "critic_width": fields.specs(Critic)["width"], **own}


def flags_of(run: Run) -> dict[str, Spec]:
    return flags(map(type, run.rules), [type(run.task)])


def flat(run: Run) -> dict[str, str]:
    """The run by flag names, values as the command line writes them."""
    values: dict[str, Any] = {"task": run.task}
    if len({rule.name for rule in run.rules}) > 1:
        values["layers"] = run.rules
    for name in dict.fromkeys(name for rule in run.rules for name in fields.specs(rule)):
        values[name] = _joined([getattr(rule, name) for rule in run.rules if name in fields.specs(rule)])
    values |= {name: getattr(run.task, name) for name in fields.specs(run.task) if name not in HIDDEN}
    values["critic"] = run.critic.activation if run.critic else "none"
    if run.critic:
        values["critic_width"] = run.critic.width
    values |= {FLAGS.get(name, name): getattr(run, name) for name in fields.specs(run)}
    specs, names = flags_of(run), "+".join(dict.fromkeys(rule.name for rule in run.rules))
    return {"rule": names} | {name: specs[name].show(value) for name, value in values.items()}


def _joined(values: list[Any]) -> Any:
    """The value that all layers share, or one for each."""
    return values[0] if all(value == values[0] for value in values) else tuple(values)


def change(run: Run, name: str, value: Any) -> Run:
    """The run with one setting changed, by its flag name or its name in Run."""
    changes: dict[str, Any] = {FIELDS.get(name, name): value}
    if name == "critic" and isinstance(value, str):
        CRITICS.check(name, value)
        kept = run.critic or Critic()
        changes = {"critic": None if value == "none" else dataclasses.replace(kept, activation=value)}
    elif name == "critic_width":
        if run.critic is None:
            raise refuse(name, value, "no width where there is no critic")
        changes = {"critic": dataclasses.replace(run.critic, width=value)}
    elif name == "layers":
        changes = {"rule": Layers().check(name, value)}
    elif name == "task":
        by_task = {each: None for each in BY_TASK if getattr(run, each) == getattr(run.task, each)}
        changes = {"task": TaskName().check(name, value), **by_task}
    elif name in fields.specs(run.task):
        changes = {"task": dataclasses.replace(run.task, **{name: value})}
    elif FIELDS.get(name, name) not in {f.name for f in dataclasses.fields(Run)}:
        changes = {"rule": _changed_rules(run, name, value)}
    return dataclasses.replace(run, **changes)


def _changed_rules(run: Run, name: str, value: Any) -> tuple[Rule, ...]:
    """The layers' rules with one setting changed: to one value, or to one for each layer that has it."""
    having = [i for i, rule in enumerate(run.rules) if name in fields.specs(rule)]
    if not having:
        raise refuse("setting", name, f"one of {', '.join(flat(run))}", flat(run))
    values = value if isinstance(value, tuple) else (value,) * len(having)
    if len(values) != len(having):
        raise refuse(name, flags_of(run)[name].show(value), f"one value, or {len(having)}: one a layer that has it")
    changed = list(run.rules)
    for i, one in zip(having, values, strict=True):
        changed[i] = dataclasses.replace(changed[i], **{name: one})
    return tuple(changed)


def grid(run: Run, **axes: Any) -> list[Run]:
    """Every combination: `grid(run, coupling=[0, 0.25], seed=range(5))` makes ten runs."""
    # What decides which settings there are goes first: a rule must be in place before its coupling.
    names = sorted(axes, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))
    values = [axes[name] if isinstance(axes[name], list | range | np.ndarray) else [axes[name]] for name in names]
    runs = []
    for combination in itertools.product(*values):
        made = run
        for name, value in zip(names, combination, strict=True):
            made = change(made, name, value)
        runs.append(made)
    return runs


def labels(runs: Sequence[Run]) -> list[str]:
    """A short name for each run: its rule and whatever tells it from the other settings of that rule."""
    described = [flat(run) for run in runs]
    peers: dict[str, list[dict[str, str]]] = {}
    for one in described:
        peers.setdefault(one["rule"], []).append(one)
    differ = {rule: _differing(group) for rule, group in peers.items()}
    return [
        " ".join([one["rule"], *(f"{dashed(k)}={one[k]}" for k in one if k in differ[one["rule"]])])
        for one in described
    ]


def _differing(group: list[dict[str, str]]) -> set[str]:
    """The settings, the seed aside, in which those that have them are not all the same. (Where some have none, it is
    their task, their critic or their layers that differ.)"""
    names = {name for one in group for name in one} - {"seed"}
    return {name for name in names if len({one[name] for one in group if name in one}) > 1}


def selected(results: Sequence[Any], text: str) -> list[Any]:
    """The results that fit `rule=boltzmann,units=64`: keys are flags, engine or digest; a key named twice: either."""
    wanted: dict[str, set[str]] = {}
    for term in filter(None, text.split(",")):
        name, equals, value = term.partition("=")
        if not equals:
            raise refuse("select", term, "FLAG=VALUE, such as units=64")
        wanted.setdefault(name.strip().lstrip("-").replace("-", "_"), set()).add(value.strip())
    known = dict.fromkeys(name for result in results for name in _selectable(result))
    for name in wanted:
        if results and name not in known:
            raise refuse("select", name, f"one of {', '.join(map(dashed, known))}", known)
    return [result for result in results if _fits(result, wanted)]


def _selectable(result: Any) -> dict[str, str]:
    return {**flat(result.run), "engine": result.engine, "digest": result.run.digest}


def _fits(result: Any, wanted: dict[str, set[str]]) -> bool:
    have, specs = _selectable(result), flags_of(result.run)

    def same(name: str, value: str) -> bool:
        try:
            return specs[name].show(specs[name].parse(name, value)) == have[name]  # 0.250 is 0.25
        except (KeyError, FieldError):
            return have.get(name) == value

    return all(any(same(name, value) for value in values) for name, values in wanted.items())


def command(run: Run) -> str | None:
    """The shortest command that repeats the run; None where no flags can say it."""
    rule = type(run.rules[0])
    found = {preset: _changes(base(rule, preset), run) for preset in (None, *PRESETS.get(rule.name, {}))}
    possible = {preset: changed for preset, changed in found.items() if changed is not None}
    if not possible:
        return None
    preset, changed = min(possible.items(), key=lambda one: len(one[1]) + (one[0] is not None))
    words = [f"--{dashed(name)} {text}" for name, text in changed.items()]
    words = [f"--preset {preset}", *words] if preset else words
    return " ".join(["coexplore train", *([] if "layers" in changed else [rule.name]), *words])


def _changes(start: Run, run: Run) -> dict[str, str] | None:
    """The flags that make `run` of `start`, or None if there are none that do."""
    specs, wanted, have = flags_of(run), flat(run), flat(start)

    def made(names: Iterable[str]) -> Run:
        return grid(start, **{name: [specs[name].parse(name, wanted[name])] for name in names})[0]

    try:
        first = [name for name in ("task", "units", "layers") if name in wanted and wanted[name] != have.get(name)]
        have = flat(made(first)) | {"rule": wanted["rule"]}  # with the defaults of that task and of those rules
        names = [name for name in wanted if name in first or wanted[name] != have.get(name)]
        return {name: wanted[name] for name in names} if made(names) == run else None
    except (FieldError, KeyError):
        return None


def dashed(name: str) -> str:
    return name.replace("_", "-")
