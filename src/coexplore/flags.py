"""A run by the names a person uses: the command line's flags, grids, labels, the command that repeats a run."""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from coexplore import fields
from coexplore.critic import ACTIVATIONS, Critic
from coexplore.fields import Choice, FieldError, Spec, refuse
from coexplore.presets import PRESETS, base
from coexplore.rules import Rule
from coexplore.run import FLAGS, Run, Task
from coexplore.tasks.multiplexer import Multiplexer

CRITICS = Choice("the critic's hidden units, or none", (*ACTIVATIONS, "none"))


def flags(rule: type[Rule], task: type[Task] = Multiplexer) -> dict[str, Spec]:
    """Every setting of a run by its flag name."""
    own = {FLAGS.get(name, name): spec for name, spec in fields.specs(Run).items()}
    critic: dict[str, Spec] = {"critic": CRITICS, "critic_width": fields.specs(Critic)["width"]}
    return {**fields.specs(rule), **fields.specs(task), **critic, **own}


def flat(run: Run) -> dict[str, str]:
    """The run by flag names, values as the command line writes them; of several rules the first with a field speaks."""
    values = {name: getattr(run.task, name) for name in fields.specs(run.task)}
    for rule in reversed(run.rules):
        values |= {name: getattr(rule, name) for name in fields.specs(rule)}
    values["critic"] = run.critic.activation if run.critic else "none"
    if run.critic:
        values["critic_width"] = run.critic.width
    values |= {FLAGS.get(name, name): getattr(run, name) for name in fields.specs(run)}
    specs = {k: spec for rule in run.rules for k, spec in flags(type(rule), type(run.task)).items()}
    names = "+".join(dict.fromkeys(rule.name for rule in run.rules))
    return {"rule": names} | {name: specs[name].show(value) for name, value in values.items()}


def change(run: Run, name: str, value: Any) -> Run:
    """The run with one setting changed, by its flag name or its name in Run."""
    if name == "critic" and isinstance(value, str):
        CRITICS.check(name, value)
        critic = None if value == "none" else dataclasses.replace(run.critic or Critic(), activation=value)
        return dataclasses.replace(run, critic=critic)
    if name == "critic_width":
        if run.critic is None:
            raise refuse(name, value, "no width where there is no critic")
        return dataclasses.replace(run, critic=dataclasses.replace(run.critic, width=value))
    if name == "units" or name in {f.name for f in dataclasses.fields(Run)}:
        return dataclasses.replace(run, **{"hidden" if name == "units" else name: value})
    if name in fields.specs(run.task):
        return dataclasses.replace(run, task=dataclasses.replace(run.task, **{name: value}))
    if any(name in fields.specs(rule) for rule in run.rules):
        layers = tuple(dataclasses.replace(r, **{name: value}) if name in fields.specs(r) else r for r in run.rules)
        return dataclasses.replace(run, rule=layers if isinstance(run.rule, tuple) else layers[0])
    raise refuse("setting", name, f"one of {', '.join(flat(run))}", flat(run))


def grid(run: Run, **axes: Any) -> list[Run]:
    """Every combination: `grid(run, coupling=[0, 0.25], seed=range(5))` makes ten runs."""
    # What decides which settings there are goes first: a rule must be in place before its coupling.
    names = sorted(axes, key=lambda name: name not in ("rule", "task", "critic", "units", "hidden"))
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
    """The settings, the seed aside, in which these are not all the same."""
    names = {name for one in group for name in one} - {"seed"}
    return {name for name in names if len({one.get(name) for one in group}) > 1}


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
    have, specs = _selectable(result), {k: v for rule in result.run.rules for k, v in flags(type(rule)).items()}

    def same(name: str, value: str) -> bool:
        try:
            return specs[name].show(specs[name].parse(name, value)) == have[name]  # 0.250 is 0.25
        except (KeyError, FieldError):
            return have.get(name) == value

    return all(any(same(name, value) for value in values) for name, values in wanted.items())


def command(run: Run) -> str | None:
    """The command that repeats the run; None where layers have rules that no preset and no flag can say."""
    rule = type(run.rules[0])
    for preset in (None, *PRESETS.get(rule.name, {})):
        changed = _changes(base(rule, preset), run)
        if changed is not None:
            words = [f"--preset {preset}"] if preset else []
            return " ".join(["coexplore train", rule.name, *words, *(f"--{dashed(k)} {v}" for k, v in changed.items())])
    return None


def _changes(start: Run, run: Run) -> dict[str, str] | None:
    """The flags that make `run` of `start`, or None if there are none that do."""
    changed = {name: text for name, text in flat(run).items() if text != flat(start).get(name)}
    specs = flags(type(start.rules[0]), type(start.task))
    try:
        made = grid(start, **{name: [specs[name].parse(name, text)] for name, text in changed.items()})
    except (FieldError, KeyError):
        return None
    return changed if made == [run] else None


def dashed(name: str) -> str:
    return name.replace("_", "-")
