"""How a claim is judged: its parts, the verdict they add up to, and the sentence that says so.

Every claim is written as parts of the form "this effect lies above (or below) that bound".
- It holds if every part does at 95 %. All must, so looking at many makes a false "holds" no likelier.
- It fails if some part is refuted at 95 %. One would do, so there the p-values are Holm's.
- Otherwise it is undecided.
The effect that is shown is that of the part with the least room (or, if it fails, with the most against it).
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from coexplore.paper.evidence import Evidence, NotRun
from coexplore.paper.figures import SCALES
from coexplore.results.stats import Estimate, holm
from coexplore.results.tables import markdown

MARGIN = 0.03  # reward that counts as "similar", "almost no" or "slightly"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """One line of the table; effect and interval are None where there is no number."""

    id: str
    claim: str
    verdict: str  # holds | fails | undecided | not run
    effect: float | None
    low: float | None
    high: float | None
    seeds: int
    sentence: str
    figure: str
    criterion: str
    proof: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def from_json(data: Any) -> Verdict:
    """The inverse of `to_dict`; ValueError, KeyError or TypeError where it is not that."""
    verdict = Verdict(**{**data, "proof": tuple(data["proof"])})
    words = (verdict.id, verdict.claim, verdict.verdict, verdict.sentence, verdict.figure, verdict.criterion)
    numbers = (verdict.effect, verdict.low, verdict.high)
    if not all(isinstance(word, str) for word in words) or not isinstance(verdict.seeds, int):
        raise ValueError("not a verdict")
    if not all(x is None or isinstance(x, int | float) for x in numbers):
        raise ValueError("not a verdict")
    return verdict


class Part(NamedTuple):
    """`side` is +1 where the claim puts the effect above the bound, −1 where below.

    `needs` says what it takes to hold: "interval", all of it on that side; "mean", the effect itself, and the interval
    up to the margin (for "the best is …", where ties are named); "nothing" for what can only refute a claim.
    """

    name: str
    found: Estimate
    bound: float
    side: int
    needs: str = "interval"

    @property
    def room(self) -> float:
        return self.side * (self.found.effect - self.bound)

    @property
    def least(self) -> float:
        """The room there is at the wrong end of the interval."""
        return self.side * ((self.found.low if self.side > 0 else self.found.high) - self.bound)

    @property
    def holds(self) -> bool:
        if math.isnan(self.found.low):
            return False  # one seed tells nothing
        best = self.room > 0 and self.least > -MARGIN
        return {"interval": self.least > 0, "mean": best, "nothing": True}[self.needs]

    @property
    def p_against(self) -> float:
        p = self.found.p(self.bound)
        return 1.0 if self.room >= 0 or math.isnan(p) else p

    def __str__(self) -> str:
        return f"{self.name}: {self.found.effect:+.3f} [{self.found.low:+.3f}, {self.found.high:+.3f}]"


def above(name: str, found: Estimate, bound: float = 0.0, needs: str = "interval") -> Part:
    return Part(name, found, bound, 1, needs)


def below(name: str, found: Estimate, bound: float = 0.0, needs: str = "interval") -> Part:
    return Part(name, found, bound, -1, needs)


def between(name: str, found: Estimate, low: float, high: float) -> list[Part]:
    return [above(name, found, low), below(name, found, high)]


def similar(name: str, found: Estimate) -> list[Part]:
    return between(name, found, -MARGIN, MARGIN)


@dataclasses.dataclass(frozen=True)
class Claim:
    """A sentence of the paper, the figure it reads, and the parts it is made of; the criterion is their docstring."""

    id: str
    figure: str
    text: str
    parts: Callable[[Evidence], list[Part]]

    @property
    def criterion(self) -> str:
        return " ".join((self.parts.__doc__ or "").split())


def claim(id: str, figure: str, text: str) -> Callable[[Callable[[Evidence], list[Part]]], Claim]:
    return lambda parts: Claim(id, figure, text, parts)


def judge(claim: Claim, evidence: Evidence) -> Verdict:
    """`evidence` must be fresh: what it was asked for tells how many seeds and frozen runs there were."""
    try:
        parts = claim.parts(evidence)
    except NotRun as missing:
        sentence = f"{missing} has not been trained: `coexplore reproduce {claim.figure}` does"
        return _verdict(claim, "not run", None, 0, sentence)
    refuted = [part for part, p in zip(parts, holm([part.p_against for part in parts]), strict=True) if p < 0.05]
    unsettled = [part for part in parts if not part.holds]
    word = "fails" if refuted else "undecided" if unsettled else "holds"
    shown = min(refuted or unsettled or _supporting(parts), key=lambda part: part.room)
    sentence = _sentence(word, parts, refuted or unsettled, shown) + _notes(evidence)
    return _verdict(claim, word, shown.found, evidence.seeds, sentence)


def table(verdicts: Iterable[Verdict]) -> str:
    """All of them in Markdown."""
    heading = ["", "claim", "verdict", "effect [95 %]", "seeds", "what was found"]
    rows = [[v.id, v.claim, f"**{v.verdict}**", _interval(v), str(v.seeds or ""), v.sentence] for v in verdicts]
    return markdown(heading, rows)


def _verdict(claim: Claim, word: str, found: Estimate | None, seeds: int, sentence: str) -> Verdict:
    numbers = [found.effect, found.low, found.high] if found else [None] * 3
    effect, low, high = (None if x is None or math.isnan(x) else x for x in numbers)
    return Verdict(claim.id, claim.text, word, effect, low, high, seeds, sentence, claim.figure, claim.criterion)


def _supporting(parts: Sequence[Part]) -> list[Part]:
    return [part for part in parts if part.needs != "nothing"]


def _sentence(word: str, parts: list[Part], exceptions: list[Part], shown: Part) -> str:
    names = list(dict.fromkeys(part.name for part in exceptions if part is not shown))
    if word == "holds":
        count = len({part.name for part in _supporting(parts)})
        text = str(shown) if count == 1 else f"all {count} comparisons agree, the closest is {shown}"
        ties = list(dict.fromkeys(part.name for part in parts if part.needs == "mean" and part.least <= 0))
        return text + (f"; too close to tell: {', '.join(ties)}" if ties else "")
    also = {"fails": "; also against it: ", "undecided": "; also open: "}[word] + ", ".join(names)
    return str(shown) + (also if names else "")


def _notes(evidence: Evidence) -> str:
    notes = []
    if evidence.frozen:
        notes.append(f"{evidence.frozen} of {len(evidence.used)} runs froze and are counted")
    if evidence.episodes != SCALES["paper"].episodes:
        notes.append(f"at {evidence.episodes:,} episodes, not the paper's {SCALES['paper'].episodes:,}")
    return f" ({'; '.join(notes)})" if notes else ""


def _interval(v: Verdict) -> str:
    if v.effect is None:
        return ""
    return f"{v.effect:+.3f}" + ("" if v.low is None else f" [{v.low:+.3f}, {v.high:+.3f}]")
