"""The host's side of layout.cuh: a run's settings and parameters as the kernel reads them."""

import dataclasses
from typing import Any

import jax
import numpy as np

from coexplore import network
from coexplore.fields import Linear
from coexplore.rules import Boltzmann, Recurrent, Reinforce, StraightThrough, UnbiasedWeightMax
from coexplore.run import Run

FAMILIES = {
    Reinforce: "independent",
    StraightThrough: "independent",
    UnbiasedWeightMax: "independent",
    Boltzmann: "boltzmann",
    Recurrent: "recurrent",
}
SIZES = (8, 16, 32, 64, 96, 128)  # what is compiled; units in between are padded
BATCH, CRITIC, INPUTS, BIAS = 16, 64, 24, 20
MOST_PAIRS_IN_REGISTERS = 13
LARGEST_HALF = 65504.0

SETTINGS = np.dtype(
    [
        ("seed", "u4"),
        *((name, "i4") for name in ("units", "bits", "steps", "rule")),
        *((name, "i4") for name in ("signed_inputs", "signed_rewards", "centre_reward", "tanh_critic")),
        *((name, "f4", 2) for name in ("coupling", "strength", "rate_hidden", "rate_output", "rate_critic")),
        ("decay", "f4"),
    ]
)


@dataclasses.dataclass(frozen=True)
class Shape:
    """What is compiled: a family, its padded units, and how a block divides them."""

    family: str
    units: int
    tiles: int  # of eight units, a warp
    blocks: int  # that a multiprocessor should hold

    @property
    def chain(self) -> bool:
        return self.family != "independent"

    @property
    def warps(self) -> int:
        return max(4, self.units // 8 // self.tiles)

    @property
    def threads(self) -> int:
        return 32 * self.warps

    @property
    def length(self) -> int:
        """Words of a run's parameters."""
        return INPUTS * (self.units + CRITIC) + self.units + CRITIC + 2 + (self.units**2 if self.chain else 0)

    @property
    def shared(self) -> int:
        """Bytes of shared memory of a block."""
        activity = 2 * 2 * 16 * (-(-self.units // 16) * 16) if self.chain else 0
        pairs = self.tiles * (3 + self.chain * self.units // 8) + 3 * -(-8 // self.warps)
        moments = 0 if pairs <= MOST_PAIRS_IN_REGISTERS else 16 * pairs * self.threads
        return 8 * 1024 + activity + 128 * (self.units // 8) + 128 * 8 + 8 * 64 + 128 + moments


def family(run: Run) -> str:
    return FAMILIES[type(run.rules[0])]


def padded(run: Run) -> int:
    return next(size for size in SIZES if size >= run.hidden[0])


def steps(run: Run) -> int:
    return getattr(run.rules[0], "steps", 1)


def shape(run: Run, runs: int, multiprocessors: int) -> Shape:
    """The division of a block that is fastest for so many runs; none changes a result."""
    kind, units = family(run), padded(run)
    if kind == "independent":
        return Shape(kind, units, 1, 2 if units <= 64 else 1)
    if units == 128:
        return Shape(kind, units, 2 if kind == "boltzmann" else 1, 1)
    if units == 64:  # a block alone on its multiprocessor may have all the registers it likes
        tiles, blocks = (1, 1) if runs <= multiprocessors else (1, 2) if runs <= 2 * multiprocessors else (2, 3)
        return Shape(kind, units, tiles, blocks)
    return Shape(kind, units, 1, 1 if units == 96 else 3)


def settings(run: Run) -> np.ndarray:
    """One record of SETTINGS."""
    rule, task, rates = run.rules[0], run.task, run.learning_rates
    codes = {Reinforce: 0, StraightThrough: 1, UnbiasedWeightMax: 3 if getattr(rule, "expected", False) else 2}
    x = np.zeros((), SETTINGS)
    x["seed"], x["units"], x["bits"], x["steps"] = run.seed, run.hidden[0], task.bits, steps(run)
    x["rule"] = codes.get(type(rule), 0)
    x["signed_inputs"], x["signed_rewards"] = task.encoding == "signed", task.rewards == "signed"
    x["centre_reward"] = rule.centres_reward
    x["tanh_critic"] = run.critic is not None and run.critic.activation == "tanh"
    x["coupling"] = _ends(getattr(rule, "coupling", 0.0))
    x["strength"] = _ends(getattr(rule, "centring_strength", 1.0)) if rule.centres_activity else 0.0
    x["rate_hidden"], x["rate_output"] = _ends(rates[0]), _ends(rates[1])
    x["rate_critic"] = _ends(rates[2]) if run.critic else 0.0  # a critic of zeros that never learns is none
    x["decay"] = getattr(rule, "trace_decay", 0.0)
    return x


def _ends(x: Any) -> tuple[Any, Any]:
    return (x.start, x.stop) if isinstance(x, Linear) else (x, x)


def _places(run: Run) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Where the parameters are in a run's vector, in the order of their tree: those of matrices, then the others."""
    D, N, U = run.task.size, run.hidden[0], padded(run)
    C = run.critic.width if run.critic else 0
    V = INPUTS * U
    out = V + INPUTS * CRITIC
    critic = out + U
    last = critic + CRITIC
    rows, units, hidden = np.arange(D)[:, None], np.arange(N), np.arange(C)
    matrices = [rows * U + units, BIAS * U + units]
    if family(run) != "independent":
        matrices.append(last + 2 + units[:, None] * U + units)
    others = [(out + units)[:, None], np.array([last])]
    if run.critic:
        matrices += [V + rows * CRITIC + hidden, V + BIAS * CRITIC + hidden]
        others += [(critic + hidden)[:, None], np.array([last + 1])]
    return matrices, others


def _leaves(run: Run, matrices: list[Any], others: list[Any]) -> list[Any]:
    """Both lists in the order of the tree: hidden layer, output, critic's hidden layer, critic's output."""
    critic = 2 if run.critic else 0
    split = len(matrices) - critic
    return [*matrices[:split], *others[:2], *matrices[split:], *others[2:]]


def pack(run: Run, params: network.Params, length: int) -> np.ndarray:
    """Words [length]: numbers of matrices as their two half-precision parts, the others as floats."""
    matrices, others = _places(run)
    words = np.zeros(length, np.uint32)
    coded = {id(place) for place in matrices}
    for place, leaf in zip(_leaves(run, matrices, others), jax.tree.leaves(params), strict=True):
        x = np.asarray(leaf, np.float32)
        words[place] = _halves(x) if id(place) in coded else x.view(np.uint32)
    return words


def unpack(run: Run, words: np.ndarray, structure: Any) -> network.Params:
    matrices, others = _places(run)
    values = [_whole(words[place]) for place in matrices], [words[place].view(np.float32) for place in others]
    return jax.tree.unflatten(structure, _leaves(run, *values))


def structure(run: Run) -> Any:
    """The tree that the parameters of a run make."""
    return jax.tree.structure(jax.eval_shape(lambda: network.init(run)))


def _halves(x: np.ndarray) -> np.ndarray:
    high = np.clip(x, -LARGEST_HALF, LARGEST_HALF).astype(np.float16)
    low = (x - high.astype(np.float32)).astype(np.float16)
    return high.view(np.uint16).astype(np.uint32) | low.view(np.uint16).astype(np.uint32) << 16


def _whole(words: np.ndarray) -> np.ndarray:
    high, low = (half.astype(np.uint16).view(np.float16).astype(np.float32) for half in (words & 0xFFFF, words >> 16))
    return high + low
