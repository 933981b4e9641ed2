"""Searches of the questions that the paper leaves open; what they are judged by is in questions/."""

from coexplore.paper.tuning import Tuning

OPEN: dict[str, Tuning] = {}
