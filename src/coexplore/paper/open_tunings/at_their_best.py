"""The two algorithms of the paper at their best: what `tuned` and `scaling` chose at each N."""

from coexplore.paper.defaults import ALG_1, ALG_2
from coexplore.paper.spaces import Rate, at_rate
from coexplore.run import Run, grid
from coexplore.settings import Linear

PRINTED, ALGORITHM_2 = "Algorithm 1", "Algorithm 2"

# By the first quarter, by the last and by all episodes; up to 128 units from `tuned`, beyond from `scaling` (4 bits).
# c, T, λ, signals, rate.
KNOWN: dict[str, dict[int, dict[str, tuple[object, int, float, str, Rate]]]] = {
    PRINTED: {
        8: {
            "first": (0.75, 10, 0.0, "signed", Rate(0.05, True, 0.002)),
            "last": (Linear(0.4, 0.1), 10, 0.0, "binary", Rate(0.05, False, 0.002)),
            "reward": (Linear(0.4, 0.1), 10, 0.0, "binary", Rate(0.05, False, 0.002)),
        },
        16: {
            "first": (Linear(0.4, 0.1), 10, 0.0, "binary", Rate(0.05, True, 0.002)),
            "last": (Linear(0.4, 0.1), 10, 0.0, "signed", Rate(0.02, True, 0.002)),
            "reward": (Linear(0.4, 0.1), 10, 0.0, "binary", Rate(0.05, True, 0.002)),
        },
        32: {
            "first": (0.25, 10, 0.0, "binary", Rate(0.1, True, 0.002)),
            "last": (Linear(0.4, 0.1), 10, 0.0, "binary", Rate(0.01, True, 0.002)),
            "reward": (0.1, 10, 0.0, "binary", Rate(0.1, True, 0.002)),
        },
        64: {
            "first": (0.25, 25, 0.0, "binary", Rate(0.01)),
            "last": (Linear(0.4, 0.1), 10, 0.0, "signed", Rate(0.01, False, 0.002)),
            "reward": (0.25, 10, 0.0, "signed", Rate(0.01, True, 0.002)),
        },
        96: {
            "first": (0.25, 25, 0.0, "signed", Rate(0.01, True)),
            "last": (Linear(0.75, 0.1), 25, 0.0, "signed", Rate(0.001)),
            "reward": (0.1, 25, 0.0, "binary", Rate(0.01, True, 0.002)),
        },
        128: {
            "first": (0.25, 25, 0.0, "signed", Rate(0.01, True)),
            "last": (Linear(0.75, 0.1), 25, 0.0, "signed", Rate(0.001)),
            "reward": (Linear(0.4, 0.1), 25, 0.0, "signed", Rate(0.005, True)),
        },
        256: {
            "first": (0.1, 25, 0.0, "signed", Rate(0.01, True)),
            "last": (Linear(0.4, 0.1), 25, 0.0, "signed", Rate(0.001, True)),
            "reward": (0.1, 25, 0.0, "signed", Rate(0.01, True)),
        },
        512: {
            "first": (0.1, 25, 0.0, "signed", Rate(0.005, True)),
            "last": (0.1, 25, 0.0, "signed", Rate(0.002, True)),
            "reward": (0.1, 25, 0.0, "signed", Rate(0.005, True)),
        },
    },
    ALGORITHM_2: {
        8: {
            "first": (0.75, 2, 0.0, "binary", Rate(0.02, True, 0.002)),
            "last": (2.0, 2, 0.5, "binary", Rate(0.005)),
            "reward": (1.0, 2, 0.5, "binary", Rate(0.01, False, 0.002)),
        },
        16: {
            "first": (0.5, 2, 0.5, "signed", Rate(0.02, False, 0.002)),
            "last": (0.75, 2, 0.5, "signed", Rate(0.005, False, 0.002)),
            "reward": (0.75, 2, 0.5, "signed", Rate(0.01, True)),
        },
        32: {
            "first": (0.25, 2, 0.25, "signed", Rate(0.02, True)),
            "last": (0.4, 2, 0.5, "binary", Rate(0.005)),
            "reward": (0.4, 2, 0.5, "signed", Rate(0.01)),
        },
        64: {
            "first": (0.25, 2, 0.25, "signed", Rate(0.01, False, 0.002)),
            "last": (0.25, 2, 0.5, "signed", Rate(0.005)),
            "reward": (0.25, 2, 0.5, "signed", Rate(0.01)),
        },
        96: {
            "first": (0.1, 2, 0.0, "signed", Rate(0.02, True)),
            "last": (0.05, 2, 0.0, "signed", Rate(0.01)),
            "reward": (0.1, 2, 0.0, "signed", Rate(0.01)),
        },
        128: {
            "first": (0.1, 2, 0.25, "signed", Rate(0.01, False, 0.002)),
            "last": (0.05, 2, 0.0, "signed", Rate(0.01, False, 0.002)),
            "reward": (0.1, 2, 0.0, "signed", Rate(0.01, True)),
        },
        256: {
            "first": (0.05, 2, 0.0, "signed", Rate(0.01, False, 0.002)),
            "last": (0.05, 2, 0.25, "signed", Rate(0.005, False, 0.002)),
            "reward": (0.05, 2, 0.0, "signed", Rate(0.01, False, 0.002)),
        },
        512: {
            "first": (0.05, 2, 0.0, "signed", Rate(0.005, False, 0.002)),
            "last": (0.05, 2, 0.0, "signed", Rate(0.005, False, 0.002)),
            "reward": (0.05, 2, 0.0, "signed", Rate(0.005, False, 0.002)),
        },
    },
}


def known(label: str, N: int) -> dict[str, Run]:
    """The setting at which the rule was found to be at its best, by each measure."""
    found = {}
    for by, (c, T, decay, signals, rate) in KNOWN[label][N].items():
        axes = {"coupling": [c], "steps": [T], "signals": [signals], "units": [N]}
        axes |= {"trace_decay": [decay]} if label == ALGORITHM_2 else {}
        found[by] = at_rate(grid(ALG_2 if label == ALGORITHM_2 else ALG_1, **axes)[0], rate)
    return found
