"""What the paper leaves open, as claims of our own: a module per question, its criteria written before its runs."""

from collections.abc import Sequence

from coexplore.paper.evidence import Evidence
from coexplore.paper.figure import SCALES
from coexplore.paper.figures import FIGURES
from coexplore.paper.questions import centre, depression, layers, parity
from coexplore.paper.verdict import Verdict, judge
from coexplore.run import Result

CLAIMS = [*centre.CLAIMS, *layers.CLAIMS, *depression.CLAIMS, *parity.CLAIMS]


def verdicts(results: Sequence[Result], episodes: int = SCALES["paper"].episodes) -> list[Verdict]:
    """On those of a plain figure; those of a search are judged with the searches (tuned_claims.py)."""
    plain = [one for one in CLAIMS if one.figure in FIGURES]
    lengths = {one.figure: FIGURES[one.figure].length(episodes) for one in plain}
    evidence = {length: Evidence(results, length) for length in set(lengths.values())}
    return [judge(one, evidence[lengths[one.figure]].fresh()) for one in plain]
