"""Where a search among settings may go: the values of each setting, and what lies next to one of them.

The learning rate is three settings: where it starts, whether it falls to a twentieth, and whether the critic has a
rate of its own. Ladders go on beyond every grid, so that a grid is extended where the best lies at its edge.
"""

import functools
from collections.abc import Iterable
from typing import NamedTuple

from coexplore.rules import Boltzmann, Recurrent
from coexplore.run import Run, change, grid
from coexplore.settings import Linear, schedule

LADDER = tuple(x * scale for scale in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1) for x in (1, 2, 5))
FALL = 20  # a rate that falls ends at one part in so many
CRITICS = (None, 0.002)  # the critic's rate; None: as that of the layers
COUPLINGS = (0.0, 0.05, 0.1, 0.25, 0.4, 0.5, 0.75, 1.0, 1.5, 2.0)
FALLING = (Linear(0.4, 0.1), Linear(0.75, 0.1))
SIGNALS = ("binary", "signed")
STEPS = (5, 10, 25)  # of Algorithm 1
TRACE_DECAYS = (0.0, 0.25, 0.5)  # of Algorithm 2


class Rate(NamedTuple):
    start: float
    falls: bool = False
    critic: float | None = None


def rate_of(run: Run) -> Rate:
    rates = run.learning_rate if isinstance(run.learning_rate, tuple) else (run.learning_rate,)
    line = schedule(rates[0])
    return Rate(line.start, line.stop != line.start, rates[-1] if len(rates) > 1 else None)  # type: ignore[arg-type]


def at_rate(run: Run, rate: Rate) -> Run:
    own = Linear(rate.start, rate.start / FALL) if rate.falls else rate.start
    if rate.critic is None or (rate.critic == rate.start and not rate.falls):
        return change(run, "learning_rate", own)
    return change(run, "learning_rate", (own,) * (len(run.hidden) + 1) + (rate.critic,))


def coupled(run: Run) -> bool:
    return isinstance(run.rules[0], Boltzmann | Recurrent)


def rates(runs: Iterable[Run], starts: Iterable[float], critics: Iterable[float | None] = (None,)) -> list[Run]:
    """Each at every rate, constant and falling."""
    every = [Rate(start, falls, critic) for start in starts for falls in (False, True) for critic in critics]
    return list(dict.fromkeys(at_rate(run, rate) for run in runs for rate in every))


def couplings(run: Run, values: Iterable[object]) -> list[Run]:
    """The run with every coupling, if its rule has one."""
    return grid(run, coupling=list(values)) if coupled(run) else [run]


@functools.cache
def others(run: Run) -> list[Run]:
    """Every combination of the settings besides rate and coupling."""
    runs = grid(run, signals=list(SIGNALS)) if run.rules[0].law.binary else [run]
    if isinstance(run.rules[0], Boltzmann):
        runs = [each for one in runs for each in grid(one, steps=list(STEPS))]
    if isinstance(run.rules[0], Recurrent):
        runs = [each for one in runs for each in grid(one, trace_decay=list(TRACE_DECAYS))]
    return list(dict.fromkeys(at_rate(each, rate_of(run)._replace(critic=rate)) for each in runs for rate in CRITICS))


@functools.cache
def next_rates(run: Run) -> list[Run]:
    """The rates on either side."""
    rate = rate_of(run)
    return [at_rate(run, rate._replace(start=start)) for start in _beside(rate.start, LADDER)]


@functools.cache
def next_couplings(run: Run) -> list[Run]:
    """On either side; of one that falls, the other one that does and the constants it starts and ends near."""
    if not coupled(run):
        return []
    now = run.rules[0].coupling  # type: ignore[attr-defined]
    if isinstance(now, Linear):
        near: list[object] = [c for c in (*FALLING, 0.25, now.start) if c != now]
    else:
        near = list(_beside(now, COUPLINGS))
    return grid(run, coupling=near)


@functools.cache
def next_to(run: Run) -> list[Run]:
    """One step in rate or coupling."""
    return [*next_rates(run), *next_couplings(run)]


@functools.cache
def around(run: Run) -> list[Run]:
    """Rate and coupling each a step away, the rate falling or not; and each of the other settings changed alone."""
    near = [run, *next_couplings(run)]
    starts = (rate_of(run).start, *_beside(rate_of(run).start, LADDER))
    product = rates(near, starts, [rate_of(run).critic])
    return list(dict.fromkeys([*product, *(each for each in others(run) if _differ(each, run) == 1)]))


def _differ(a: Run, b: Run) -> int:
    """In how many of the settings besides rate and coupling."""
    mine, theirs = (
        (run.signals, getattr(run.rules[0], "steps", None), getattr(run.rules[0], "trace_decay", None), rate_of(run))
        for run in (a, b)
    )
    return sum(x != y for x, y in zip(mine, theirs, strict=True))


def _beside(value: float, ladder: tuple[float, ...]) -> list[float]:
    """The steps of a ladder below and above a value."""
    below, above = [x for x in ladder if x < value * (1 - 1e-9)], [x for x in ladder if x > value * (1 + 1e-9)]
    return [*below[-1:], *above[:1]]
