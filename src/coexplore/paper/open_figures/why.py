"""Q5: the speed of every rule at every size, and larger batches."""

from coexplore.paper.defaults import ALG_1, ALG_2, INDEPENDENT, RULES, STE, WEIGHT_MAX
from coexplore.paper.figure import Figure, Lines
from coexplore.rules import Backprop
from coexplore.run import Run, change

ALONE = change(ALG_1, "coupling", 0.0)  # Algorithm 1 whose units do not hear each other
BACKPROP = Run(rule=Backprop())
ESTIMATES = {  # of the gradient, by networks that draw
    **RULES,
    "Algorithm 1, c = 0": ALONE,
    "unbiased Weight Max, expected": change(WEIGHT_MAX, "expected", True),
}
SIZES = (8, 16, 32, 64, 128, 256, 512)
BATCHES = (16, 32, 64, 128, 256)


def at_size(run: Run, N: int) -> Run:
    return change(run, "units", N)


def in_batches(run: Run, B: int, adjusted: bool = False) -> Run:
    """Of B episodes; the step as it was, or longer by as much as the noise is smaller: α √(B / 16)."""
    larger = change(run, "batch", B)
    return change(larger, "learning_rate", 0.005 * (B / run.batch) ** 0.5) if adjusted and run.batch < B else larger


def _why() -> Lines:
    lines: Lines = {label: {N: [at_size(run, N)] for N in SIZES} for label, run in ESTIMATES.items()}
    return lines | {"plain backprop": {64: [BACKPROP]}}  # a yardstick


def _batches() -> Lines:
    chosen = {"Algorithm 1": ALG_1, "Algorithm 1, c = 0": ALONE, "Algorithm 2": ALG_2, "REINFORCE": INDEPENDENT}
    chosen["STE backprop"] = STE
    return {
        label + ", larger steps" * adjusted: {B: [in_batches(run, B, adjusted)] for B in BATCHES}
        for adjusted in (False, True)
        for label, run in chosen.items()
    }


FIGURES = (
    Figure(
        "why",
        "Speed of learning at every size",
        "sweep",
        _why(),
        ("first", "last"),
        ours=True,
        question=True,
    ),
    Figure(
        "batches",
        "Less variance and nothing else: larger batches, as many updates",
        "sweep",
        _batches(),
        ("reward", "last"),
        ours=True,
        axis="episodes of each update",
        part=4,
        question=True,
    ),
)
