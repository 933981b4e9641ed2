"""Whole settings by name: what the author of a rule trained with, where that is not the paper's common setting."""

from coexplore.fields import refuse
from coexplore.rules import MapProp, Rule, WeightMax
from coexplore.run import Run
from coexplore.tasks.base import Task
from coexplore.tasks.multiplexer import Multiplexer

# Learning rates of the first hidden layer, the second and the output; no critic. The author's softmax over two actions
# with one logit fixed at zero is our Bernoulli output unit.
PRESETS: dict[str, dict[str, Run]] = {
    MapProp.name: {
        "author": Run(
            rule=(MapProp(variance=0.3), MapProp(variance=1.0)),
            task=Multiplexer(bits=5),
            hidden=(64, 32),
            batch=128,
            learning_rate=(0.04, 4e-5, 4e-6),
            critic=None,
        )
    },
    WeightMax.name: {
        "author": Run(
            rule=WeightMax(),
            hidden=(64, 32),
            episodes=800_000,
            batch=1,
            learning_rate=(0.01, 0.001, 0.0001),
            critic=None,
        )
    },
}


def base(rule: type[Rule], preset: str | None = None, task: Task | None = None) -> Run:
    """What flags change: the paper's common setting with this rule on this task, or one of the rule's presets."""
    if preset is None:
        return Run(rule=rule(), task=task or Multiplexer())  # type: ignore[call-arg]
    if task is not None:
        raise refuse("preset", preset, "either --preset, which has a task, or --task")
    found = PRESETS.get(rule.name, {})
    if preset not in found:
        raise refuse("preset", preset, f"one that {rule.name} has: {', '.join(found) or 'none'}", found)
    return found[preset]
