"""Q2: does a reward of its own for each layer help?

The paper's discussion: "it may be possible to design a reward signal specific to each layer", each layer a Boltzmann
machine or a recurrent layer. Ours: Weight Maximization's rewards to a layer's units, in one number
(variants/layer_reward.py).

The criteria were written before the runs (chosen on seeds 1000 - 1002, judged on seeds from 2100 on), but knowing three
things: `depth` on other seeds (all episodes, L = 2, 3, 4: Algorithm 1 with T = 25 .79 .68 .62, Algorithm 2 .33 .29
.29); that the noise of such a reward grows with the width (tests/test_layer_reward.py), by which it should hurt at 64
units; and one seed of 96,000 episodes at two layers of 32 units, at two rates, where in most cases it did.
"""

from collections.abc import Callable

from coexplore.paper.evidence import Evidence
from coexplore.paper.open_tunings.layers import OWN
from coexplore.paper.tuned import Comparison
from coexplore.paper.verdict import Part, above, below, claim

FIGURE = "layer-rewards"
LOCAL = ("Algorithm 1", "Algorithm 2")
WORDS = {"reward": "all episodes", "last": "last quarter"}


def parts(at: Evidence, label: str, L: int, side: Callable[..., Part] = above) -> list[Part]:
    """The layer's own reward over the global signal, each at its best by what is compared."""
    assert isinstance(at, Comparison)
    return [side(f"L = {L}: {label}, {WORDS[by]}", at.over(label + OWN, label, L, by)) for by in WORDS]


@claim("Q2.1", FIGURE, "A reward of its own for each layer helps Algorithm 1 with two hidden layers")
def q2_1(at: Evidence) -> list[Part]:
    """Both tuned: reward over all episodes and in the last quarter higher than with one signal for all layers."""
    return parts(at, "Algorithm 1", 2)


@claim("Q2.2", FIGURE, "A reward of its own for each layer helps Algorithm 1 with three hidden layers")
def q2_2(at: Evidence) -> list[Part]:
    """Both tuned: reward over all episodes and in the last quarter higher than with one signal for all layers."""
    return parts(at, "Algorithm 1", 3)


@claim("Q2.3", FIGURE, "A reward of its own for each layer helps Algorithm 1 with four hidden layers")
def q2_3(at: Evidence) -> list[Part]:
    """Both tuned: reward over all episodes and in the last quarter higher than with one signal for all layers."""
    return parts(at, "Algorithm 1", 4)


@claim("Q2.4", FIGURE, "A reward of its own for each layer helps Algorithm 2 with two, three and four hidden layers")
def q2_4(at: Evidence) -> list[Part]:
    """Both tuned, at each depth: reward over all episodes and in the last quarter higher than with one signal."""
    return [part for L in (2, 3, 4) for part in parts(at, "Algorithm 2", L)]


@claim("Q2.5", FIGURE, "At 64 units a reward of its own for each layer hurts, as its noise foretells")
def q2_5(at: Evidence) -> list[Part]:
    """Both tuned, Algorithms 1 and 2 at each depth: reward over all episodes and in the last quarter lower than with
    one signal for all layers."""
    return [part for label in LOCAL for L in (2, 3, 4) for part in parts(at, label, L, below)]


CLAIMS = [q2_1, q2_2, q2_3, q2_4, q2_5]
