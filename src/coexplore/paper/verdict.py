"""How a claim is judged: its parts, the verdict they add up to, and the sentence that says so.

Every claim is written as parts of the form "this effect lies above (or below) that bound".
- It holds if every part does at 95 %. All must, so looking at many makes a false "holds" no likelier.
- It fails if some part is refuted at 95 % and, where the bound is no margin itself, by more than the margin.
  One would do, so there the p-values are Holm's.
- It is a tie if every part that does not hold with its whole interval lies within the margin of 0, all of it: whichever
  sign the effect has, it is too small to count.
- Otherwise it is undecided.
The effect that is shown is that of the part with the least room (or, if it fails, with the most against it).
docs/verdicts.md says why.
"""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from coexplore.paper.evidence import Contest, Evidence, NotRun
from coexplore.paper.figure import SCALES
from coexplore.results.tables import markdown
from coexplore.stats.estimates import Estimate, holm

MARGIN = 0.03  # reward that counts as "similar", "almost no" or "slightly"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """One line of the table; what there is no number or word for is None."""

    id: str
    claim: str
    verdict: str  # holds | fails | tie | undecided | not run
    effect: float | None
    low: float | None
    high: float | None
    seeds: int
    sentence: str
    figure: str
    criterion: str
    proof: tuple[str, ...] = ()
    without_ties: str | None = None  # the word if there were no ties
    signed: str | None = None  # the word with signed signals, of claims whose runs froze
    named: float | None = None  # how often five of the seeds name the paper's winner, of claims that name one
    needed: int | None = None  # seeds that would make half the widest open interval MARGIN / 2
    first_seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def from_json(data: Any) -> Verdict:
    """The inverse of `to_dict`; ValueError, KeyError or TypeError where it is not that."""
    verdict = Verdict(**{**data, "proof": tuple(data["proof"])})
    words = (verdict.id, verdict.claim, verdict.verdict, verdict.sentence, verdict.figure, verdict.criterion)
    numbers = (verdict.effect, verdict.low, verdict.high, verdict.named, verdict.needed)
    if not all(isinstance(word, str) for word in (*words, *verdict.proof)) or not all(
        isinstance(x, int) for x in (verdict.seeds, verdict.first_seed)
    ):
        raise ValueError("not a verdict")
    if not all(x is None or isinstance(x, str) for x in (verdict.without_ties, verdict.signed)):
        raise ValueError("not a verdict")
    if not all(x is None or isinstance(x, int | float) for x in numbers):
        raise ValueError("not a verdict")
    return verdict


class Part(NamedTuple):
    """`side` is +1 where the claim puts the effect above the bound, −1 where below.

    `needs` says what it takes to hold: "interval", all of it on that side; "mean", the effect itself, and the interval
    up to the margin (for "the best is …"); "nothing" for what can only refute a claim.
    `margin`: effects smaller than this count as none; 0 where the bound is a margin, or the effect is no reward.
    """

    name: str
    found: Estimate
    bound: float
    side: int
    needs: str = "interval"
    margin: float = 0.0

    @property
    def room(self) -> float:
        return self.side * (self.found.effect - self.bound)

    @property
    def least(self) -> float:
        """The room there is at the wrong end of the interval."""
        return self.side * ((self.found.low if self.side > 0 else self.found.high) - self.bound)

    @property
    def certain(self) -> bool:
        """Whether it holds with the whole interval, if it needs to hold at all."""
        return self.needs == "nothing" or self.least > 0

    @property
    def holds(self) -> bool:
        return self.certain or (self.needs == "mean" and self.room > 0 and self.least > -MARGIN)

    @property
    def tied(self) -> bool:
        return -self.margin < self.found.low and self.found.high < self.margin

    @property
    def p_against(self) -> float:
        return 1.0 if self.room >= 0 else self.found.p(self.bound)

    def __str__(self) -> str:
        return f"{self.name}: {self.found.effect:+.3f} [{self.found.low:+.3f}, {self.found.high:+.3f}]"


def above(name: str, found: Estimate, bound: float = 0.0, needs: str = "interval") -> Part:
    return Part(name, found, bound, 1, needs, MARGIN if bound == 0 else 0.0)


def below(name: str, found: Estimate, bound: float = 0.0, needs: str = "interval") -> Part:
    return Part(name, found, bound, -1, needs, MARGIN if bound == 0 else 0.0)


def between(name: str, found: Estimate, low: float, high: float) -> list[Part]:
    return [above(name, found, low), below(name, found, high)]


def similar(name: str, found: Estimate) -> list[Part]:
    return between(name, found, -MARGIN, MARGIN)


def falling(name: str, trend: Estimate) -> Part:
    """A rank correlation below 0: no reward, so none is too small to count."""
    return Part(name, trend, 0.0, -1)


@dataclasses.dataclass(frozen=True)
class Claim:
    """A sentence of the paper, the figure it reads, and the parts it is made of; the criterion is their docstring.

    `winners`: where it names the best of several, these contests. `froze`: the paper's settings freeze some runs, so
    it is judged with signed signals too."""

    id: str
    figure: str
    text: str
    parts: Callable[[Evidence], list[Part]]
    winners: Callable[[], list[Contest]] | None = None
    froze: bool = False

    @property
    def criterion(self) -> str:
        return " ".join((self.parts.__doc__ or "").split())


def claim(
    id: str, figure: str, text: str, winners: Callable[[], list[Contest]] | None = None, froze: bool = False
) -> Callable[[Callable[[Evidence], list[Part]]], Claim]:
    return lambda parts: Claim(id, figure, text, parts, winners, froze)


def judge(claim: Claim, evidence: Evidence) -> Verdict:
    """`evidence` must be fresh: what it was asked for tells how many seeds and frozen runs there were."""
    try:
        parts = claim.parts(evidence)
    except NotRun as missing:
        sentence = f"{missing} has not been trained: `coexplore reproduce {claim.figure}` does"
        return Verdict(claim.id, claim.text, "not run", None, None, None, 0, sentence, claim.figure, claim.criterion)
    word, plain, open = _words(parts)
    shown = min(open or _supporting(parts), key=lambda part: part.room)
    needed = _needed(open, evidence.seeds) if word == "undecided" else None
    sentence = _sentence(word, parts, open, shown, needed) + _notes(evidence)
    numbers = shown.found.effect, shown.found.low, shown.found.high
    verdict = Verdict(claim.id, claim.text, word, *numbers, evidence.seeds, sentence, claim.figure, claim.criterion)
    named = evidence.named(claim.winners()) if claim.winners else None
    first = evidence.first_seed
    return dataclasses.replace(verdict, without_ties=plain, named=named, needed=needed, first_seed=first)


def _words(parts: Sequence[Part]) -> tuple[str, str, list[Part]]:
    """With ties and without, and the parts that the first is about where it does not hold."""
    adjusted = holm([part.p_against for part in parts])
    refuted = [part for part, p in zip(parts, adjusted, strict=True) if p < 0.05 and part.room < -part.margin]
    unsettled = [part for part in parts if not part.holds]
    plain = "fails" if refuted else "undecided" if unsettled else "holds"
    doubtful = refuted + [part for part in parts if not part.certain and part not in refuted]
    if doubtful and all(part.tied for part in doubtful):
        return "tie", plain, doubtful
    return plain, plain, refuted or unsettled


def _needed(open: Sequence[Part], seeds: int) -> int | None:
    """To two digits; None where there are as many, or where values have no bounds and nobody can tell."""
    widest = max((part.found for part in open), key=lambda found: found.high - found.low)
    if widest.bounds is None:
        return None
    count = widest.seeds_for(MARGIN / 2)
    digits = 10 ** max(0, len(str(count)) - 2)
    return None if count <= seeds else -(-count // digits) * digits


def table(verdicts: Iterable[Verdict]) -> str:
    """All of them in Markdown."""
    shown = columns(list(verdicts))
    shown["verdict"] = [f"**{word}**" for word in shown["verdict"]]
    return markdown(list(shown), list(zip(*shown.values(), strict=True)))


def columns(verdicts: Sequence[Verdict]) -> dict[str, list[str]]:
    """A table, column by column; what none of them has gets none."""
    cells = {
        "": [v.id for v in verdicts],
        "claim": [v.claim for v in verdicts],
        "verdict": [v.verdict for v in verdicts],
        "without ties": [v.without_ties or "" for v in verdicts],
        "signed signals": [v.signed or "" for v in verdicts],
        "effect [95 %]": [_interval(v) for v in verdicts],
        "seeds": [str(v.seeds or "") for v in verdicts],
        "five seeds name it": ["" if v.named is None else f"{v.named:.2f}" for v in verdicts],
        "what was found": [v.sentence for v in verdicts],
    }
    return {name: column for name, column in cells.items() if any(column) or not verdicts}


def _supporting(parts: Sequence[Part]) -> list[Part]:
    return [part for part in parts if part.needs != "nothing"]


def _sentence(word: str, parts: list[Part], open: list[Part], shown: Part, needed: int | None) -> str:
    if word == "holds":
        count = len({part.name for part in _supporting(parts)})
        text = str(shown) if count == 1 else f"all {count} comparisons agree, the closest is {shown}"
        close = list(dict.fromkeys(part.name for part in parts if not part.certain))
        return text + (f"; too close to tell: {', '.join(close)}" if close else "")
    also = {"fails": "also against it", "undecided": "also open", "tie": "as close"}[word]
    names = list(dict.fromkeys(part.name for part in open if part.name != shown.name))
    seeds = f"; {needed:,} seeds would leave ±{MARGIN / 2:g}" if needed else ""
    return str(shown) + (f"; {also}: {', '.join(names)}" if names else "") + seeds


def _notes(evidence: Evidence) -> str:
    notes, used = [], evidence.used
    if frozen := sum(result.frozen for result in used):
        notes.append(f"{frozen} of {len(used)} runs froze and are counted")
    if evidence.episodes != (evidence.usual or SCALES["paper"].episodes):
        whole = f"{evidence.usual:,}" if evidence.usual else f"the paper's {SCALES['paper'].episodes:,}"
        notes.append(f"at {evidence.episodes:,} episodes, not {whole}")
    return f" ({'; '.join(notes)})" if notes else ""


def _interval(v: Verdict) -> str:
    if v.effect is None:
        return ""
    return f"{v.effect:+.3f}" + ("" if v.low is None else f" [{v.low:+.3f}, {v.high:+.3f}]")
