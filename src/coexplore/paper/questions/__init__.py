"""What the paper leaves open, as claims of our own: a module per question, its criteria written before its runs."""

import functools
from collections.abc import Iterable, Sequence

from coexplore.paper.evidence import Evidence, Row
from coexplore.paper.figure import SCALES
from coexplore.paper.figures import FIGURES
from coexplore.paper.questions import centre, depression, layers, parity, why
from coexplore.paper.verdict import Verdict, judge
from coexplore.run import Result

CLAIMS = [*centre.CLAIMS, *layers.CLAIMS, *depression.CLAIMS, *parity.CLAIMS, *why.CLAIMS]


def verdicts(
    results: Iterable[Result], episodes: int = SCALES["paper"].episodes, measured: Sequence[Row] = ()
) -> list[Verdict]:
    """On those of a plain figure; those of a search are judged with the searches (tuned_claims.py)."""
    results, found = list(results), []
    evidence = functools.cache(lambda length: Evidence(results, length, measured))
    for one in CLAIMS:
        if figure := FIGURES.get(one.figure):
            at = evidence(figure.length(episodes)).fresh()
            at.usual = figure.length(SCALES["paper"].episodes)
            found.append(judge(one, at))
    return found
