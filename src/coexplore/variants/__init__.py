"""Variants of rules that were tried and lost. Runs of them can be repeated; no help and no list shows them.

A run has one by the key `variant` of its rule: {"name": "boltzmann", "variant": "depression", "variant_form": …}.
"""

import importlib

from coexplore.rules import Rule
from coexplore.settings import refusal

DEPRESSION, LAYER_REWARD = "depression", "layer-reward"
HOMES = {DEPRESSION: "coexplore.variants.depression", LAYER_REWARD: "coexplore.variants.layer_reward"}


def find(rule: str, variant: str) -> type[Rule]:
    """The variant of a rule, imported when it is first asked for.

    Raises:
        FieldError: if the rule has no such variant.
    """
    if variant not in HOMES:
        raise refusal("variant", variant, f"one of {', '.join(HOMES)}", HOMES)
    found: dict[str, type[Rule]] = importlib.import_module(HOMES[variant]).VARIANTS
    if rule not in found:
        raise refusal("variant", variant, f"it with {' or '.join(found)}, not {rule}")
    return found[rule]
