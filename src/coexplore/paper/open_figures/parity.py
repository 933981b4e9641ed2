"""Q4: T of both parities, other ways to draw, maps of c by T."""

from collections.abc import Iterable

from coexplore.paper.defaults import ALG_1, STEPS, C
from coexplore.paper.figure import Figure, Lines, Places
from coexplore.run import Run, change

ODD, EVEN = (11, 15, 25, 51, 101, 201), (10, 14, 24, 50, 100, 200)  # beside one another
ADDED = (3, 5, 9, 11, 19, 21, 29, 31, 49, 51)  # the odd neighbours of the even T of figure A1
LAZY, ONE_BY_ONE = (change(ALG_1, "sampler", name) for name in ("lazy", "one-by-one"))
MAP = (1, 2, 5, 10, 11, 24, 25, 50, 51, 100, 101)
LONG, STRONG = (24, 25, 50, 51), (0.75, 1.0)  # where the end of Algorithm 1 is unstable


def at_steps(run: Run, Ts: Iterable[int]) -> Places:
    return {T: [change(run, "steps", T)] for T in Ts}


def at(run: Run, c: float, T: int) -> Run:
    return change(change(run, "coupling", c), "steps", T)


def _odd_even() -> Lines:
    lines = {"synchronous, odd T": at_steps(ALG_1, ODD), "synchronous, even T": at_steps(ALG_1, EVEN)}
    return lines | {"lazy": at_steps(LAZY, (10, 11, 24, 25, 50, 51))}


def _a1() -> Lines:
    return {"the paper's T": at_steps(ALG_1, STEPS["boltzmann"]), "odd T beside them": at_steps(ALG_1, ADDED)}


def _one_by_one() -> Lines:
    """A step of N single draws is slow, and only xla has it: the two T between which parity matters most."""
    samplers = {"synchronous": ALG_1, "lazy": LAZY, "one-by-one": ONE_BY_ONE}
    return {label: at_steps(run, (10, 11)) for label, run in samplers.items()}


def _map(run: Run) -> Lines:
    return {f"c = {c:g}": at_steps(change(run, "coupling", c), MAP) for c in C[1:]}


def _question(name: str, title: str, kind: str, lines: Lines, beside: tuple[Run, ...] = ()) -> Figure:
    """Reward over T, in the first quarter and in the last."""
    shown = {"axis": "T, sampling steps", "ordered": len(lines), "beside": beside, "question": True}
    return Figure(name, title, kind, lines, ("first", "last"), ours=True, **shown)  # type: ignore[arg-type]


FIGURES = (
    _question("odd-even", "Algorithm 1: odd and even T", "sweep", _odd_even()),
    _question("figa1-odd", "Figure A1 with odd T beside the paper's", "sweep", _a1()),
    _question("one-by-one", "Algorithm 1: three ways to draw, T = 10 and 11", "bars", _one_by_one()),
    _question("coupling-steps", "Algorithm 1: coupling and steps", "map", _map(ALG_1)),
    _question(
        "coupling-steps-lazy",
        "Algorithm 1, lazy: coupling and steps",
        "map",
        _map(LAZY),
        tuple(at(ALG_1, c, T) for c in STRONG for T in LONG),
    ),
)
