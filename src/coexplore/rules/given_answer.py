"""What does not go together, or has no effect, where the output is given the right answer instead of drawing one."""

from collections.abc import Sequence

from coexplore.rules.backprop import Backprop
from coexplore.rules.map_prop import MapProp
from coexplore.rules.rule import Rule
from coexplore.rules.straight_through import StraightThrough
from coexplore.rules.weight_max import UnbiasedWeightMax, WeightMax

FOLLOWING = (StraightThrough, WeightMax, UnbiasedWeightMax, Backprop)  # the reward itself, which is then log P(A | H)


def misled(rules: Sequence[Rule]) -> str | None:
    """Which layers do not go together; None if all do.

    Values that relax move towards what the layers above drew. A layer above that passes a slope of the reward down, and
    does not relax itself, would pull them towards its draw instead of the right answer.
    """
    relaxing = None
    for rule in rules:
        if relaxing and isinstance(rule, StraightThrough | WeightMax):
            return f"{relaxing.name} under {rule.name}"
        relaxing = rule if rule.law.relax_steps else relaxing
    return None


def without_signal(rules: Sequence[Rule]) -> list[Rule]:
    """The rules of the layers that climb the reward's own slope, or follow its flips, so that no signal has an effect.

    They are the uppermost ones: a layer that climbs the likelihood of its draw ends the reward's way down.
    """
    found: list[Rule] = []
    for rule in reversed(rules):
        if not (type(rule) in FOLLOWING or (type(rule) is MapProp and rule.relax_steps)):
            break
        found.append(rule)
        if type(rule) is UnbiasedWeightMax:
            break
    return found
