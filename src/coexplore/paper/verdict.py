"""How a claim is judged: its parts, the verdict they add up to, and the sentence that says so.

Every claim is written as parts of the form "this effect lies above (or below) that bound".
- It holds if every part does at 95 %. All must, so looking at many makes a false "holds" no likelier.
- It fails if some part is refuted at 95 % and, where the bound is no margin itself, by more than the margin.
  One would do, so there the p-values are Holm's.
- It is a tie if every part that does not hold with its whole interval lies within the margin of 0, all of it: whichever
  sign the effect has, it is too small to count.
- Otherwise it is undecided.
Where it compares the best of several settings, it is judged once more with each that was as good on the seeds that
chose, in the place of the best: if one gives another word, it is undecided.
The effect that is shown is that of the part with the least room (or, if it fails, with the most against it).
Where intervals are the bounded ones (stats/bounded.py), Welch's interval of that effect and the word that Welch's
intervals would give stand beside them and decide nothing. docs/verdicts.md says why.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from coexplore.paper.evidence import Contest, Evidence, How, NotRun
from coexplore.paper.figure import SCALES
from coexplore.results.tables import markdown
from coexplore.run import Run, labels
from coexplore.stats.estimates import Estimate, holm

MARGIN = 0.03  # reward that counts as "similar", "almost no" or "slightly"


@dataclasses.dataclass(frozen=True)
class Was:
    """What becomes of a claim by the criterion that it had before."""

    of: str  # the day on which that criterion was written
    verdict: str
    effect: float | None
    low: float | None
    high: float | None
    seeds: int
    sentence: str
    criterion: str
    why: str  # it was changed


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
    chose: int = 0  # further seeds, by which settings were chosen
    chosen: tuple[str, ...] = ()  # of each choice the best setting, and what was as good
    was: Was | None = None  # by the criterion before, of claims whose criterion was changed
    welch: tuple[float, float] | None = None  # Welch's interval of the effect; that of `low` and `high` without bounds
    by_welch: str | None = None  # the word by Welch's intervals

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def from_json(data: Any) -> Verdict:
    """The inverse of `to_dict`; ValueError, KeyError or TypeError where it is not that."""
    was = None if data.get("was") is None else _was_from_json(data["was"])
    welch = None if data.get("welch") is None else tuple(data["welch"])
    lists = {name: tuple(data.get(name, ())) for name in ("proof", "chosen")}
    verdict = Verdict(**{**data, **lists, "was": was, "welch": welch})
    words = (verdict.id, verdict.claim, verdict.verdict, verdict.sentence, verdict.figure, verdict.criterion)
    numbers = (verdict.effect, verdict.low, verdict.high, verdict.named, verdict.needed, *(verdict.welch or ()))
    if not all(isinstance(word, str) for word in (*words, *verdict.proof, *verdict.chosen)) or not all(
        isinstance(x, int) for x in (verdict.seeds, verdict.first_seed, verdict.chose)
    ):
        raise ValueError("not a verdict")
    if not all(x is None or isinstance(x, str) for x in (verdict.without_ties, verdict.signed, verdict.by_welch)):
        raise ValueError("not a verdict")
    if not all(x is None or isinstance(x, int | float) for x in numbers) or len(verdict.welch or (0, 0)) != 2:
        raise ValueError("not a verdict")
    return verdict


def _was_from_json(data: Any) -> Was:
    was = Was(**data)
    words = (was.of, was.verdict, was.sentence, was.criterion, was.why)
    if not all(isinstance(word, str) for word in words) or not isinstance(was.seeds, int):
        raise ValueError("not a verdict")
    if not all(x is None or isinstance(x, int | float) for x in (was.effect, was.low, was.high)):
        raise ValueError("not a verdict")
    return was


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
        found = self.found
        around = "too few for an interval" if math.isnan(found.low) else f"[{found.low:+.3f}, {found.high:+.3f}]"
        return f"{self.name}: {found.effect:+.3f} {around}"


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


Parts = Callable[[Evidence], list[Part]]


@dataclasses.dataclass(frozen=True)
class Former:
    """The criterion that a claim had until it was changed: the day on which it was written, why it was changed, and its
    parts, with their docstring.

    Without parts it is the claim's own, and settings are chosen as they were until 2026-11-19."""

    of: str
    why: str
    parts: Parts | None = None


CHOSEN_BEFORE = "Of several settings the best over all episodes, each seed in the one that is best without that seed."
MIXED = Former(
    "2026-11-18",
    "Where two settings tied, runs of both were mixed, so that the interval could contain neither; and settings were "
    "chosen by the reward over all episodes, whatever was judged.",
)


@dataclasses.dataclass(frozen=True)
class Claim:
    """A sentence of the paper, the figure it reads, and the parts it is made of; the criterion is their docstring.

    `winners`: where it names the best of several, these contests. `froze`: the paper's settings freeze some runs, so
    it is judged with signed signals too. `former`: the criterion that it had before."""

    id: str
    figure: str
    text: str
    parts: Parts
    winners: Callable[[], list[Contest]] | None = None
    froze: bool = False
    former: Former | None = None

    @property
    def criterion(self) -> str:
        return criterion(self.parts)


def criterion(parts: Parts) -> str:
    return " ".join((parts.__doc__ or "").split())


def claim(
    id: str,
    figure: str,
    text: str,
    winners: Callable[[], list[Contest]] | None = None,
    froze: bool = False,
    former: Former | None = None,
) -> Callable[[Parts], Claim]:
    return lambda parts: Claim(id, figure, text, parts, winners, froze, former)


def judge(claim: Claim, evidence: Evidence) -> Verdict:
    """By the criterion, and by the one before if there was one.

    `evidence` must be fresh: what it was asked for tells how many seeds and frozen runs there were."""
    verdict = _judged(claim, evidence)
    former = claim.former
    if not former or evidence.how.as_signed:
        return verdict
    own = dataclasses.replace(claim, parts=former.parts or claim.parts, winners=None)
    found = _judged(own, evidence.fresh(How(as_before=former.parts is None)))
    text = criterion(former.parts) if former.parts else f"{claim.criterion} {CHOSEN_BEFORE}"
    numbers = found.effect, found.low, found.high, found.seeds
    return dataclasses.replace(verdict, was=Was(former.of, found.verdict, *numbers, found.sentence, text, former.why))


def _judged(claim: Claim, evidence: Evidence) -> Verdict:
    try:
        parts = claim.parts(evidence)
    except NotRun as missing:
        sentence = f"{missing} has not been trained: `coexplore reproduce {claim.figure}` does"
        return Verdict(claim.id, claim.text, "not run", None, None, None, 0, sentence, claim.figure, claim.criterion)
    word, plain, open = _words(parts)
    shown = min(open or _supporting(parts), key=lambda part: part.room)
    needed = _needed(open, evidence.seeds) if word == "undecided" else None
    sentence = _sentence(word, parts, open, shown, needed)
    others = list(_instead(claim, evidence))
    sentence += "".join(f"; {other} with {name}" for name, other, *_ in others if other != word) + _notes(evidence)
    word = word if all(other == word for _, other, *_ in others) else "undecided"
    plain = plain if all(other == plain for _, _, other, _ in others) else "undecided"
    low, high = (None if math.isnan(x) else x for x in shown.found.interval)
    numbers = shown.found.effect, low, high
    verdict = Verdict(claim.id, claim.text, word, *numbers, evidence.seeds, sentence, claim.figure, claim.criterion)
    named = evidence.named(claim.winners()) if claim.winners else None
    verdict = dataclasses.replace(verdict, without_ties=plain, named=named, needed=needed)
    chosen = tuple(_chosen(evidence))
    verdict = dataclasses.replace(verdict, first_seed=evidence.first_seed, chose=evidence.chose, chosen=chosen)
    ends = shown.found.welch.interval
    if math.isnan(ends[0]):
        return verdict
    by_welch = {_by_welch(parts), *(other for *_, other in others)}
    return dataclasses.replace(verdict, welch=ends, by_welch=by_welch.pop() if len(by_welch) == 1 else "undecided")


def _by_welch(parts: Sequence[Part]) -> str:
    """The word by Welch's intervals."""
    return _words([part._replace(found=part.found.welch) for part in parts])[0]


def _instead(claim: Claim, evidence: Evidence) -> Iterable[tuple[str, str, str, str]]:
    """Each setting that was as good as one that was chosen: its name, and the words with it, with ties and without, and
    by Welch's intervals."""
    for candidates, (_, *others) in evidence.near.items():
        for other in others:
            how = evidence.how._replace(instead={candidates: other})
            parts = claim.parts(evidence.fresh(how))
            word, plain, _ = _words(parts)
            yield f"{_name(candidates, other)} at N = {other.hidden[0]}", word, plain, _by_welch(parts)


def _chosen(evidence: Evidence) -> Iterable[str]:
    """What was best at each size and, where there are several, what was as good."""
    for candidates, near in evidence.near.items():
        yield f"N = {near[0].hidden[0]}: {' or '.join(_name(candidates, run) for run in near)}"


def _name(candidates: Sequence[Run], run: Run) -> str:
    """As the command line tells it from the other candidates."""
    return labels(candidates)[candidates.index(run)]


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
    shown = columns(list(verdicts), "**")
    return markdown(list(shown), list(zip(*shown.values(), strict=True)))


def columns(verdicts: Sequence[Verdict], mark: str = "") -> dict[str, list[str]]:
    """A table, column by column; what none of them has gets none. Words stand between two marks; "before" is the word
    by the criterion that was changed."""
    effect = "effect [bounded 95 %]" if any(map(_bounded, verdicts)) else "effect"
    cells = {
        "": [v.id for v in verdicts],
        "claim": [v.claim for v in verdicts],
        "verdict": [f"{mark}{v.verdict}{mark}" for v in verdicts],
        "before": [v.was.verdict if v.was else "" for v in verdicts],
        "without ties": [v.without_ties or "" for v in verdicts],
        "signed signals": [v.signed or "" for v in verdicts],
        effect: [_effect(v) for v in verdicts],
        "by Welch's [95 %]": [_welch(v) for v in verdicts],
        "seeds": [f"{v.seeds or ''}{f' + {v.chose}' if v.chose else ''}" for v in verdicts],
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
    if several := [chosen for chosen in _chosen(evidence) if " or " in chosen]:
        notes.append(f"as good on the seeds that chose: {', '.join(several)}")
    if frozen := sum(result.frozen for result in used):
        notes.append(f"{frozen} of {len(used)} runs froze and are counted")
    if evidence.episodes != (evidence.usual or SCALES["paper"].episodes):
        whole = f"{evidence.usual:,}" if evidence.usual else f"the paper's {SCALES['paper'].episodes:,}"
        notes.append(f"at {evidence.episodes:,} episodes, not {whole}")
    return f" ({'; '.join(notes)})" if notes else ""


def _effect(v: Verdict) -> str:
    effect = "" if v.effect is None else f"{v.effect:+.3f}"
    return f"{effect} [{v.low:+.3f}, {v.high:+.3f}]" if _bounded(v) else effect


def _bounded(v: Verdict) -> bool:
    """Whether its interval is the bounded one."""
    return v.low is not None and v.welch != (v.low, v.high)


def _welch(v: Verdict) -> str:
    return "" if v.welch is None else f"{v.by_welch} [{v.welch[0]:+.3f}, {v.welch[1]:+.3f}]"
