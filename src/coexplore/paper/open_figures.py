"""Figures of the questions that the paper leaves open; what they are judged by is in questions/."""

from coexplore.paper.defaults import ALG_1
from coexplore.paper.figure import Figure, Lines
from coexplore.run import change

ODD, EVEN = (11, 15, 25, 51, 101, 201), (10, 14, 24, 50, 100, 200)  # beside one another


def _odd_even() -> Lines:
    lines = {"synchronous, odd T": ODD, "synchronous, even T": EVEN}
    lazy = change(ALG_1, "sampler", "lazy")
    every: Lines = {label: {T: [change(ALG_1, "steps", T)] for T in Ts} for label, Ts in lines.items()}
    return every | {"lazy": {T: [change(lazy, "steps", T)] for T in (10, 11, 24, 25, 50, 51)}}


OPEN = {
    figure.name: figure
    for figure in (
        Figure(
            "odd-even",
            "Algorithm 1: odd and even T",
            "sweep",
            _odd_even(),
            ("first", "last"),
            ours=True,
            axis="T, sampling steps",
            ordered=3,
            question=True,
        ),
    )
}
