"""Figures of the questions that the paper leaves open, a module per question; what judges them is in questions/."""

from coexplore.paper.open_figures import depression, one_rule, parity, why

OPEN = {figure.name: figure for module in (one_rule, depression, parity, why) for figure in module.FIGURES}
