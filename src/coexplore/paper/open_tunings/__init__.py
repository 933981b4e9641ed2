"""Searches of the questions that the paper leaves open, a module per question; what judges them is in questions/."""

from coexplore.paper.open_tunings import layers, one_rule

OPEN = {tuning.name: tuning for module in (one_rule, layers) for tuning in module.TUNINGS}
