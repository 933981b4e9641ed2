"""Q2: Algorithms 1 and 2 with a reward of its own for each layer, two to four layers deep."""

from coexplore.paper.figure import resized
from coexplore.paper.spaces import rates
from coexplore.paper.tuning import KINDS, Place, Searches, Size, Tuning
from coexplore.run import Run, change, grid
from coexplore.study.search import Search, Seeds

OWN = ", a reward per layer"
T = 5  # of Algorithm 1, instead of 25: a fifth of the time, and odd
COUPLINGS = (0.1, 0.25, 0.5)


def layer_places(episodes: int, size: Size, depths: tuple[int, ...] = (2, 3, 4), N: int = 64) -> Searches:
    """Algorithms 1 and 2, with one signal for all layers and with a reward for each: the same grid for both."""
    searches: dict[Place, Search] = {}
    seeds = Seeds(size.fewer.choose, range(2100, 2100 + len(size.fewer.judge[:20])))
    for label in ("Algorithm 1", "Algorithm 2"):
        for L in depths:
            run = change(resized(change(KINDS[label], "units", (N,) * L), episodes), "signals", "signed")
            own = change(change(run, "variant", "layer-reward"), "variant_by", "last")
            for each, name in ((run, label), (own, label + OWN)):
                searches[Place("", name, L)] = _layer_search(each, size, seeds)
    return searches


def _layer_search(run: Run, size: Size, seeds: Seeds) -> Search:
    first = _layer_grid(run, size)
    return Search(lambda _: first, seeds, (), ("reward", "last"))


def _layer_grid(run: Run, size: Size) -> list[Run]:
    """As in `depth`, and more couplings; no V centres a layer's own reward, so that Algorithm 1 may do so itself."""
    if run.rules[0].name == "boltzmann":
        runs = grid(change(run, "steps", T), baseline=["none", "predicted"], coupling=list(COUPLINGS))
    else:
        runs = grid(change(run, "chain_signals", "signed"), coupling=list(COUPLINGS))
    return rates([each for one in runs for each in grid(one, rate_scaling=["none", "fan-in"])], size.wide[:7])


TUNINGS = (
    Tuning(
        "layer-rewards",
        "A reward of its own for each layer",
        "L, hidden layers of 64 units",
        layer_places,
        ("reward", "last"),
        part=4,
        question=True,
    ),
)
