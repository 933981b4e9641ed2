"""The settings of a run by the names that a person uses: `change`, `grid`, labels. The command line's flags are these.

A rule, a task, the critic and the Run itself each declare settings; here they are all in one list.
"""

import dataclasses
import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np

from coexplore import rules, variants
from coexplore.critic import ACTIVATIONS, VARIANCE, WITHOUT_UNITS, Critic
from coexplore.rules import Rule
from coexplore.rules.renamed import advice, written_now
from coexplore.run.editions import edition_here, having_edition
from coexplore.run.kinds import Layers, TaskName
from coexplore.run.parts import Part, build_named, named
from coexplore.run.run import BY_TASK, FLAGS, Run
from coexplore.settings import (
    Choice,
    EachLayer,
    Spec,
    flat_specs,
    flat_values,
    refusal,
    shown,
    specs,
    with_setting,
)
from coexplore.tasks.base import AnyTask
from coexplore.tasks.multiplexer import Multiplexer

# These decide which other settings there are.
FIRST = ("rule", "task", "critic", "critic_rule", "units", "hidden", "layers")
FIELDS = {flag: name for name, flag in FLAGS.items()}
CRITICS = Choice(
    "the critic's hidden units; linear and mean have none, and learn without backprop; none: no critic",
    (*ACTIVATIONS, *WITHOUT_UNITS, "none"),
)
OF_CRITIC = {f"critic_{name}": name for name in ("width", "rule", "variance")}
NUMBER = re.compile(r"(?<!\w)(?<!\w\.)\d+(?:\.\d+(?:e[-+]?\d+)?|e[-+]?\d+)(?!\w)")  # with a point or an e
EDITIONS = ("rule_edition", "task_edition")  # names that are no settings: they tell code and data apart
SHOWN = 8  # characters of an edition that a person sees
MOST_RUNS, MOST_SETTINGS = 10_000_000, 100_000  # of a grid, which makes all of them at once
Names = dict[str, Spec | TaskName | Layers]


def settings(kinds: Iterable[type[Rule]], tasks: Iterable[type[AnyTask]] = (Multiplexer,)) -> Names:
    """Every setting that a run of these kinds of rules and tasks may have, by its name."""
    of_rules: dict[str, EachLayer] = {}
    kinds = list(kinds)
    for rule in kinds:
        of_rules |= {name: of_rules.get(name, EachLayer(spec)).beside(spec) for name, spec in flat_specs(rule).items()}
    names: Names = {"task": TaskName(), "layers": Layers(), **of_rules}
    if any(rule.variant for rule in kinds):
        names["variant"] = Choice("which variant of the rule", tuple(variants.HOMES))
    for task in tasks:
        names |= {name: spec for name, spec in specs(task).items() if name not in task.in_name}
    own = {FLAGS.get(name, name): spec for name, spec in specs(Run).items()}
    of_critic = {flag: specs(Critic)[name] for flag, name in OF_CRITIC.items()}
    return {**names, "critic": CRITICS, **of_critic, **own}


def settings_of(run: Run) -> Names:
    return settings(map(type, run.rules), [type(run.task)])


def flat(run: Run) -> dict[str, str]:
    """The run's settings by name, values as the command line writes them."""
    names, values = settings_of(run), settings_in(run)
    names_of_rules = "+".join(dict.fromkeys(rule.name for rule in run.rules))
    shown = {"rule": names_of_rules} | {name: names[name].show(value) for name, value in values.items()}
    return shown | _editions(run)


def _editions(run: Run) -> dict[str, str]:
    """Which code and data the run means, where names do not tell."""
    of_rules = "+".join(dict.fromkeys(rule.edition[:SHOWN] for rule in run.rules if rule.edition))
    of_task = "+".join(filter(None, (run.task.revision, run.task.edition[:SHOWN])))
    return {name: text for name, text in zip(EDITIONS, (of_rules, of_task), strict=True) if text}


def settings_in(run: Run) -> dict[str, object]:
    """The run's settings by name, values as they are; of layers that differ in one, a tuple."""
    values: dict[str, object] = {"task": run.task}
    if len({rule.name for rule in run.rules}) > 1:
        values["layers"] = run.rules
    if variant := next((rule.variant for rule in run.rules if rule.variant), ""):
        values["variant"] = variant
    each = [flat_values(rule) for rule in run.rules]
    for name in dict.fromkeys(name for own in each for name in own):
        values[name] = _joined([own[name] for own in each if name in own])
    values |= {name: getattr(run.task, name) for name in specs(run.task) if name not in run.task.in_name}
    values["critic"] = run.critic.activation if run.critic else "none"
    if run.critic and run.critic.widths:
        values |= {flag: getattr(run.critic, name) for flag, name in OF_CRITIC.items()}
    own = {FLAGS.get(name, name): getattr(run, name) for name in specs(run)}
    if run.unit == "steps":
        del own["episodes"]  # which mean nothing to it
    return values | own


def _joined(values: list[object]) -> object:
    """The value that all layers share, or one for each."""
    return values[0] if all(value == values[0] for value in values) else tuple(values)


def change(run: Run, name: str, value: object) -> Run:
    """The run with one setting changed, by its name on the command line or in Run."""
    if name == "seed":
        return run.with_seed(value)  # type: ignore[arg-type]  # what does not fit is refused there
    changes: dict[str, object] = {FIELDS.get(name, name): value}
    if name == "critic" and isinstance(value, str):
        changes = {"critic": _changed_critic(run.critic, CRITICS.check(name, value))}
    elif name in OF_CRITIC:
        if run.critic is None:
            raise refusal(name, value, f"no {OF_CRITIC[name]} where there is no critic")
        own = {OF_CRITIC[name]: value, **({"variance": VARIANCE} if value == "backprop" else {})}
        changes = {"critic": dataclasses.replace(run.critic, **own)}  # type: ignore[arg-type]
    elif name == "layers":
        changes = {"rule": Layers().check(name, value)}
    elif name == "variant":
        described = [{**named(rule), "variant": value} for rule in run.rules]
        changes = {"rule": tuple(build_named(each, rules.find) for each in described)}
    elif name == "task":
        by_task = {each: None for each in BY_TASK if getattr(run, each) == getattr(run.task, each)}
        changes = {"task": TaskName().check(name, value), **by_task}
    elif name in specs(run.task):
        changes = {"task": _with_setting(run.task, name, value)}
    elif FIELDS.get(name, name) not in {f.name for f in dataclasses.fields(Run)}:
        changes = {"rule": _changed_rules(run, name, value)}
    return dataclasses.replace(run, **changes)  # type: ignore[arg-type]  # what does not fit is refused there


def _changed_critic(critic: Critic | None, value: str) -> Critic | None:
    """The critic with other hidden units. What is without any keeps no setting of those that have some."""
    if value in WITHOUT_UNITS:
        return Critic(value)
    return None if value == "none" else dataclasses.replace(critic or Critic(), activation=value)


def _changed_rules(run: Run, name: str, value: object) -> tuple[Rule, ...]:
    """The layers' rules with one setting changed: to one value, or to one for each layer that has it."""
    having = [i for i, rule in enumerate(run.rules) if name in flat_specs(type(rule))]
    if not having:
        if now := advice(run.rules[0].name, name, value):
            raise written_now(f"{name}: {shown(value)}", now)
        raise refusal("setting", name, f"one of {', '.join(flat(run))}", flat(run))
    having = [i for i in having if name in flat_values(run.rules[i])] or having
    values = value if isinstance(value, tuple) else (value,) * len(having)
    if len(values) != len(having):
        given = settings_of(run)[name].show(value)
        raise refusal(name, given, f"one value, or {len(having)}: one per layer that has it")
    changed = list(run.rules)
    for i, each in zip(having, values, strict=True):
        changed[i] = _with_setting(changed[i], name, each)
    return tuple(changed)


def _with_setting(part: Part, name: str, value: object) -> Part:
    """The part with one setting changed; its edition stays, which would be worked out again for every run of a grid."""
    return having_edition(with_setting(part, name, value), part.edition)


def grid(run: Run, **axes: object) -> list[Run]:
    """Every combination of the values that `axes` names, in place of what `run` has: `grid(run, coupling=[0, 0.25],
    seed=range(5))` makes ten runs. A name is that of a field of the Run, its rule, its task or its critic.
    """
    if not isinstance(run, Run):
        raise refusal("run", run, "a Run, such as Run()")
    # What decides which settings there are goes first: a rule before its coupling, a baseline before its strength.
    names = sorted(axes, key=lambda name: _rank(name, axes))
    lengths = {name: len(_values(axes[name])) for name in names}
    settings = math.prod(length for name, length in lengths.items() if name != "seed")
    if settings > MOST_SETTINGS or settings * lengths.get("seed", 1) > MOST_RUNS:
        most = f"at most {MOST_RUNS:,} runs of {MOST_SETTINGS:,} settings"
        raise refusal("grid", f"{' × '.join(map(str, lengths.values()))} values", most)
    runs = [_renewed(run)]
    for name in names:
        values = list(_values(axes[name]))
        runs = [change(each, name, value) for each in runs for value in values]
    return runs


def _rank(name: str, names: Collection[str]) -> tuple[int, bool]:
    of_a_part = any(name.startswith(f"{other}_") for other in names if other not in FIRST)
    return FIRST.index(name) if name in FIRST else len(FIRST), of_a_part


def _renewed(run: Run) -> Run:
    """The run with the editions of the code that is here, from which `change` takes them over."""
    parts: list[Rule | AnyTask] = [*run.rules, run.task]
    if all(part.edition == edition_here(part) for part in parts):
        return run
    layers = tuple(having_edition(rule, "") for rule in run.rules)
    return dataclasses.replace(run, rule=layers, task=having_edition(run.task, ""))


def _values(axis: object) -> Collection[object]:
    return axis if isinstance(axis, list | range | np.ndarray) else [axis]


def labels(runs: Sequence[Run], rule_name: Callable[[str], str] = str) -> list[str]:
    """A short name for each run: its rule, as `rule_name` calls it, and the settings that tell it from others of that
    rule."""
    described = {setting: flat(setting) for setting in dict.fromkeys(run.setting for run in runs)}
    peers: dict[str, list[dict[str, str]]] = {}
    for values in described.values():
        peers.setdefault(values["rule"], []).append(values)
    differ = {rule: _differing(group) for rule, group in peers.items()}
    named = {}
    for setting, own in described.items():
        telling = (f"{dashed(name)}={written(own[name])}" for name in own if name in differ[own["rule"]])
        named[setting] = " ".join([rule_name(own["rule"]), *telling])
    return [named[run.setting] for run in runs]


def _differing(group: list[dict[str, str]]) -> set[str]:
    """Names of settings whose values differ among the runs that have them; the seed is left out."""
    names = {name for values in group for name in values} - {"seed"}
    return {name for name in names if len({values[name] for values in group if name in values}) > 1}


def written(value: str) -> str:
    """A setting's value with its numbers as a person writes them: 0 and not 0.0, 2e-6 and not 2.0000000000000003e-06.
    For reading only: commands and files have the exact ones."""
    return NUMBER.sub(lambda match: re.sub(r"e([-+])0?", r"e\1", f"{float(match[0]):.6g}").replace("e+", "e"), value)


def dashed(name: str) -> str:
    """As the command line writes it."""
    return name.replace("_", "-")
