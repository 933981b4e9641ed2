"""Searches of the questions that the paper leaves open; what they are judged by is in questions/."""

from coexplore.paper.one_rule import centres_places, one_rule_places
from coexplore.paper.tuning import Tuning

OPEN = {
    tuning.name: tuning
    for tuning in (
        Tuning("one-rule", "One local rule, first early and late?", "N, hidden units", one_rule_places, question=True),
        Tuning("centres", "What to centre by", "N, hidden units", centres_places, part=4, question=True),
    )
}
