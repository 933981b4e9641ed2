"""The learning rules, by name: ours, and those that other packages offer under the entry point `coexplore.rules`."""

from importlib.metadata import EntryPoint
from typing import NamedTuple

from coexplore.rules.backprop import Backprop
from coexplore.rules.boltzmann import Boltzmann
from coexplore.rules.layer import Layer, Message, Outcome, Sizes
from coexplore.rules.map_prop import MapProp
from coexplore.rules.recurrent import Recurrent
from coexplore.rules.reinforce import Reinforce
from coexplore.rules.rule import Local, Rule
from coexplore.rules.straight_through import StraightThrough
from coexplore.rules.weight_max import HNCA, UnbiasedWeightMax, WeightMax
from coexplore.settings import (
    INSTALL,
    FieldError,
    Unknown,
    build,
    latest,
    loaded,
    module_named,
    offered,
    reason,
    refusal,
    shown,
)

__all__ = [
    "HNCA",
    "Backprop",
    "Boltzmann",
    "Layer",
    "Local",
    "MapProp",
    "Message",
    "Outcome",
    "Recurrent",
    "Reinforce",
    "Rule",
    "Sizes",
    "StraightThrough",
    "UnbiasedWeightMax",
    "WeightMax",
    "alias_of",
    "find",
    "imported",
    "known",
    "names",
    "usual",
]


class Alias(NamedTuple):
    """Another name of a rule with some of its settings fixed. Files and digests have the rule's own name."""

    rule: type[Rule]
    settings: dict[str, bool]
    title: str


OURS = (Reinforce, Boltzmann, Recurrent, StraightThrough, WeightMax, UnbiasedWeightMax, MapProp, Backprop)
GROUP = "coexplore.rules"  # of entry points
BUILT_IN: dict[str, type[Rule]] = {rule.name: rule for rule in OURS}
HNCA_TITLE = "Hindsight Network Credit Assignment: the same as unbiased-weight-max --expected yes"
ALIASES = {"hnca": Alias(UnbiasedWeightMax, {"expected": True}, HNCA_TITLE)}
RESERVED = {**BUILT_IN, **{name: alias.rule for name, alias in ALIASES.items()}}  # no rule of a user's may have these


def known() -> dict[str, type[Rule] | EntryPoint]:
    """Every rule that a name may mean; a plug-in is not imported before it is asked for."""
    return {**offered(GROUP), **BUILT_IN}


def names() -> list[str]:
    """Every name that a person may give a rule: those of the rules, then the aliases."""
    return list(dict.fromkeys([*known(), *ALIASES]))


def usual(name: str) -> Rule:
    """The rule that a person names, with its default settings; those of an alias are the alias's.

    Raises:
        FieldError: if there is none, or if it cannot be used.
    """
    if alias := ALIASES.get(name):
        return build(alias.rule, alias.settings)
    return find(name)()


def alias_of(rule: Rule) -> str | None:
    """The alias that stands for this rule with its settings."""
    for name, alias in ALIASES.items():
        if type(rule) is alias.rule and all(getattr(rule, key) == value for key, value in alias.settings.items()):
            return name
    return None


def imported(name: str) -> type[Rule]:
    """The rule that a file names: one of ours, one that is imported already, or one that is installed as a plug-in.
    A file never decides that anything else is imported.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]
    if rule := latest(Rule, name):
        return rule
    if name not in offered(GROUP):
        raise Unknown(f"rule: {name!r} is not one of ours, nor installed here; {INSTALL.format('rule')}")
    try:
        return _offered(name)
    except FieldError as error:
        raise Unknown(str(error)) from error


def find(name: str) -> type[Rule]:
    """The rule that a person names: as a file may, or as MODULE:NAME, whose module is then imported.

    Raises:
        FieldError: if there is none, or if it cannot be used.
    """
    module, _, own = name.rpartition(":")
    if module:
        found = getattr(module_named("rule", name, module), own, None)
        if found is None:
            raise refusal("rule", name, f"a rule that {module} has")
        return _usable(name, found)
    if alias := ALIASES.get(name):  # as the name of a class, which has no settings
        raise refusal("rule", name, f"{alias.rule.name!r} with {alias.settings}")
    if name not in BUILT_IN and name in offered(GROUP):
        return _offered(name)
    if rule := BUILT_IN.get(name) or latest(Rule, name):
        return rule
    raise refusal("rule", name, f"one of {', '.join(names())}, or MODULE:NAME of your own", names())


def _offered(name: str) -> type[Rule]:
    """The rule that a plug-in offers under its name."""
    rule = _usable(name, loaded(offered(GROUP)[name], "rule"))
    if rule.name != name:
        raise FieldError(f"rule: {name!r} cannot be used: {rule.__name__} calls itself {rule.name!r}")
    return rule


def _usable(name: str, rule: object) -> type[Rule]:
    if why := unfit(rule):
        raise FieldError(f"rule: {name!r} cannot be used: {why}")
    assert isinstance(rule, type)
    return rule


def unfit(rule: object) -> str | None:
    """Why this is not a rule with which to begin; None if it is one."""
    if not (isinstance(rule, type) and issubclass(rule, Rule)):
        return f"{shown(rule)} is not a subclass of coexplore.Rule"
    for attribute in ("name", "title"):
        if not isinstance(getattr(rule, attribute, None), str):
            return f"{rule.__name__} has no {attribute}"
    try:
        rule()
    except (Exception, SystemExit) as error:
        return reason(error)
    return None
