"""Shapes that several claims share: a reward that rises or falls along a setting, a coupling that is best."""

from collections.abc import Sequence

from coexplore.paper.defaults import C
from coexplore.paper.evidence import Contest, Evidence
from coexplore.paper.measures import reward
from coexplore.paper.verdict import Part, above
from coexplore.run import Run, change


def at_coupling(run: Run, c: float) -> Run:
    return change(run, "coupling", c)


def rises(at: Evidence, run: Run, axis: str, values: Sequence[float]) -> list[Part]:
    """From the first value to the last; the steps between can only speak against it: each may be too small to see."""
    runs = [change(run, axis, value) for value in values]
    word = {"coupling": "c", "trace_decay": "λ"}[axis]
    steps = [
        above(f"{word} = {values[i + 1]} over {values[i]}", at.difference(runs[i + 1], runs[i]), needs="nothing")
        for i in range(len(runs) - 1)
    ]
    return [above(f"{word} = {values[-1]} over {values[0]}", at.difference(runs[-1], runs[0])), *steps]


def falls(at: Evidence, run: Run, axis: str, values: Sequence[float]) -> list[Part]:
    """The same, read backwards."""
    return rises(at, run, axis, list(values)[::-1])


def best_coupling(at: Evidence, run: Run, named: set[float], prefix: str = "") -> list[Part]:
    """The best of the named couplings over each of the others. The claim is about these settings and no rule with its
    best c, so that all seeds are judged."""
    inside, judged = at.chosen([at_coupling(run, c) for c in C if c in named], apart=False)
    c: float = inside.rules[0].coupling  # type: ignore[attr-defined]
    rivals = {other: at.between(judged, at.results(at_coupling(run, other))) for other in C if other not in named}
    return [above(f"{prefix}c = {c} over {other}", found, needs="mean") for other, found in rivals.items()]


def coupling_contest(run: Run, named: set[float]) -> Contest:
    return Contest({c: [at_coupling(run, c)] for c in C}, named, reward)
