"""Q1: the rule at the paper's settings."""

from coexplore.paper.defaults import ALG_1, RULES
from coexplore.paper.figure import Figure, Lines
from coexplore.rules import Backprop
from coexplore.run import Run, change


def _one_rule() -> Lines:
    """The paper's five rules, plain backprop, and Algorithm 1 centred by predictions, of units alone and of pairs."""
    predicted = change(ALG_1, "baseline", "predicted")
    others = {"predicted": predicted, "predicted, ρ = 0.5": change(predicted, "baseline_pairs", 0.5)}
    every = {**RULES, "plain backprop": Run(rule=Backprop()), **others}
    return {label: {0: [run]} for label, run in every.items()}


FIGURES = (
    Figure(
        "one-rule-paper",
        "Algorithm 1 centred by predictions, at the paper's settings",
        "curves",
        _one_rule(),
        ours=True,
        question=True,
    ),
)
