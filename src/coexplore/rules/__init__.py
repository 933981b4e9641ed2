"""The learning rules, by name: ours, and those that other packages offer under the entry point `coexplore.rules`."""

from importlib.metadata import EntryPoint
from typing import Any

from coexplore.rules.backprop import Backprop
from coexplore.rules.base import Feedback, Rule
from coexplore.rules.boltzmann import Boltzmann
from coexplore.rules.map_prop import MapProp
from coexplore.rules.recurrent import Recurrent
from coexplore.rules.reinforce import Reinforce
from coexplore.rules.straight_through import StraightThrough
from coexplore.rules.weight_max import UnbiasedWeightMax, WeightMax
from coexplore.settings import FieldError, Unknown, latest, loaded, offered, reason, refusal, shown

__all__ = [
    "Backprop",
    "Boltzmann",
    "Feedback",
    "MapProp",
    "Recurrent",
    "Reinforce",
    "Rule",
    "StraightThrough",
    "UnbiasedWeightMax",
    "WeightMax",
    "find",
    "imported",
    "known",
]

OURS = (Reinforce, Boltzmann, Recurrent, StraightThrough, WeightMax, UnbiasedWeightMax, MapProp, Backprop)
GROUP = "coexplore.rules"  # of entry points
BUILT_IN: dict[str, type[Rule]] = {rule.name: rule for rule in OURS}


def known() -> dict[str, type[Rule] | EntryPoint]:
    """Every rule that a name may mean; a plug-in is not imported before it is asked for."""
    return {**offered(GROUP), **BUILT_IN}


def imported(name: str) -> type[Rule]:
    """What a file names: a rule of ours, one that is imported already, or one that is installed as a plug-in. A file
    never decides that anything else is imported."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    if rule := latest(Rule, name):
        return rule
    if name not in offered(GROUP):
        raise Unknown(f"rule: {name!r} is not one of ours, nor installed here; install or import what defines it")
    try:
        return find(name)
    except FieldError as error:
        raise Unknown(str(error)) from error


def find(name: str) -> type[Rule]:
    """What a person names."""
    rules = known()
    if name not in rules:
        raise refusal("rule", name, f"one of {', '.join(rules)}", rules)
    found = rules[name]
    if not isinstance(found, EntryPoint):
        return found
    rule: Any = loaded(found, "rule")
    if why := unfit(name, rule):
        raise FieldError(f"rule: {name!r} cannot be used: {why}")
    return rule


def unfit(name: str, rule: object) -> str | None:
    """Why what a plug-in of this name offers is not a rule with which to begin."""
    if not (isinstance(rule, type) and issubclass(rule, Rule)):
        return f"{shown(rule)} is not a subclass of coexplore.Rule"
    for attribute in ("name", "title"):
        if not isinstance(getattr(rule, attribute, None), str):
            return f"{rule.__name__} has no {attribute}"
    if rule.name != name:
        return f"{rule.__name__} calls itself {rule.name!r}"
    try:
        rule.usual()
    except (Exception, SystemExit) as error:
        return reason(error)
    return None
