"""The flags of `train` and `tune`, one for each setting: what help says of them, and what a shell may complete."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from coexplore import rules
from coexplore.cli.parser import Below, Parser
from coexplore.rules import Rule
from coexplore.run import PRESETS, base, dashed, flat
from coexplore.run.kinds import Layers, TaskName
from coexplore.run.names import OF_CRITIC, Names, settings
from coexplore.settings import Choice, EachLayer, FieldError, OneOf, Spec, Switch, specs
from coexplore.tasks import registry
from coexplore.tasks.base import AnyTask
from coexplore.tasks.env_args import EnvArgs

Where = tuple[str, str]  # a rule and a task


def add_settings(parser: Parser, specs: Names, usual: Mapping[str, str]) -> None:
    """A flag for each setting and one for presets; `usual` is what they are without a value.

    Help has the settings of a part below the flag that chooses the part.
    """
    abouts = {name: f"{spec.help}: {spec.allowed}" for name, spec in specs.items()}
    abouts = {name: f"{about} [{usual[name]}]" if name in usual else about for name, about in abouts.items()}
    within = {own: name for name, spec in specs.items() for own in _settings_of_parts(name, _one(spec))}
    within |= {own: "critic" for own in OF_CRITIC if own in specs}
    for name, spec in specs.items():
        one = _one(spec)
        lines = [abouts[name], *(f"--{dashed(own)}: {abouts[own]}" for own, part in within.items() if part == name)]
        how: dict[str, Any] = {"help": "\n".join(lines).replace("%", "%%")}
        how["nargs"] = "*" if isinstance(one, Switch) else "+"  # alone: yes
        if isinstance(one, EnvArgs):
            how["action"] = "append"  # each time it is given it adds to the others
        elif name in within:
            how["action"] = Below
        parser.add_argument(f"--{dashed(name)}", metavar="VALUE", dest=name, offer=_words(one), **how)
    presets = "; ".join(f"of {rule}: {', '.join(names)}" for rule, names in PRESETS.items())
    about = f"start from this setting; {presets}; with --help its values [the paper's]"
    offer = dict.fromkeys(name for names in PRESETS.values() for name in names)
    parser.add_argument("--preset", metavar="NAME", offer=offer, help=about)


def _one(spec: Spec | TaskName | Layers) -> Spec | TaskName | Layers:
    """The spec of one layer's setting."""
    return spec.one if isinstance(spec, EachLayer) else spec


def _settings_of_parts(name: str, spec: Spec | TaskName | Layers) -> list[str]:
    """The settings of all parts that this setting may choose."""
    if not isinstance(spec, OneOf):
        return []
    return [f"{name}_{own}" for option in spec.options for own in spec.settings(option)]


def everything() -> Names:
    """The settings of all rules and tasks that can be loaded here."""
    found = []
    for name in rules.known():
        with contextlib.suppress(FieldError):
            found.append(rules.find(name))
    return settings(found, registry.TASKS.values())


def _words(spec: Spec | TaskName | Layers) -> Iterable[str]:
    """That a value may be, where they can be listed."""
    if isinstance(spec, TaskName):
        return registry.known()
    if isinstance(spec, Layers):
        return rules.names()
    if isinstance(spec, Switch):
        return "yes", "no"
    if isinstance(spec, OneOf):
        return [option.name for option in spec.options]
    return spec.options if isinstance(spec, Choice) else ()


def defaults(kinds: Sequence[Rule], tasks: Sequence[AnyTask], preset: str | None) -> dict[str, str]:
    """By the name of a setting; where rules or tasks differ in it, that of each."""
    starts: dict[Where, dict[str, str]] = {}
    for rule in kinds:
        for task in [None] if preset or not tasks else tasks:
            with contextlib.suppress(FieldError):  # a rule that cannot be trained on this task, or lacks the preset
                run = base(rule, preset, task)
                starts[rules.alias_of(rule) or rule.name, TaskName().show(run.task)] = flat(run)
    names = dict.fromkeys(name for values in starts.values() for name in values)
    told = {name: _told({at: own[name] for at, own in starts.items() if name in own}) for name in names}
    of_parts = {name: text for rule in kinds for name, text in _of_parts(rule).items()}
    return {"layers": "RULE in all"} | of_parts | told


def _of_parts(rule: Rule) -> dict[str, str]:
    """Defaults of the settings of every part that the rule may have, each with the parts that have it."""
    having: dict[str, dict[str, list[str]]] = {}
    for name, spec in specs(rule).items():
        if isinstance(spec, OneOf):
            for option in spec.options:
                for setting, own in spec.settings(option).items():
                    values = having.setdefault(f"{name}_{setting}", {})
                    values.setdefault(own.show(getattr(option(), setting)), []).append(option.name)
    return {
        name: ", ".join(f"{value} with {' | '.join(parts)}" for value, parts in values.items())
        for name, values in having.items()
    }


def _told(values: dict[Where, str]) -> str:
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    for part in (0, 1):
        by = {at[part]: value for at, value in values.items()}
        if all(by[at[part]] == value for at, value in values.items()):
            return ", ".join(f"{name} {value}" for name, value in by.items())
    return ", ".join(f"{rule} on {task} {value}" for (rule, task), value in values.items())
