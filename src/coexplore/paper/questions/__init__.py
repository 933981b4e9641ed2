"""What the paper leaves open, as claims of our own: a module per question, its criteria written before its runs."""

from collections.abc import Iterable

from coexplore.paper.evidence import Evidence
from coexplore.paper.figure import SCALES
from coexplore.paper.figures import FIGURES
from coexplore.paper.questions import layers, parity
from coexplore.paper.verdict import Verdict, judge
from coexplore.run import Result

CLAIMS = [*layers.CLAIMS, *parity.CLAIMS]


def verdicts(results: Iterable[Result], episodes: int = SCALES["paper"].episodes) -> list[Verdict]:
    """On those of a plain figure; those of a search are judged with the searches (tuned_claims.py)."""
    evidence = Evidence(results, episodes)
    return [judge(one, evidence.fresh()) for one in CLAIMS if one.figure in FIGURES]
