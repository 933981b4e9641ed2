"""The host's side of layout.cuh: a run's settings and parameters as the kernel reads them."""

import dataclasses
from typing import Any

import jax
import numpy as np

from coexplore.engines.one_layer import multiplexer, numbers, steps
from coexplore.network import Params
from coexplore.rules import Boltzmann, Recurrent, Reinforce, Rule, StraightThrough, UnbiasedWeightMax
from coexplore.run.result import Tensor
from coexplore.run.run import Run

FAMILIES: dict[type[Rule], str] = {
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
    tiles: int  # of eight units, per warp
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


def settings(run: Run) -> Tensor:
    """One record of SETTINGS."""
    rule, task, critic, number = run.rules[0], multiplexer(run), run.critic, numbers(run)
    x = np.zeros((), SETTINGS)
    x["seed"], x["units"], x["bits"], x["steps"] = run.seed, run.hidden[0], task.bits, steps(run)
    x["rule"] = _code(rule)
    x["signed_inputs"], x["signed_rewards"] = task.encoding == "signed", task.rewards == "signed"
    x["centre_reward"] = rule.centres_reward
    x["tanh_critic"] = critic is not None and critic.activation == "tanh"
    x["coupling"], x["decay"] = number.coupling, number.trace_decay
    x["strength"] = number.strength if rule.centres_activity else 0.0
    x["rate_hidden"], x["rate_output"] = number.rate_hidden, number.rate_output
    x["rate_critic"] = number.rate_critic if critic else 0.0  # a critic of zeros that never learns is none
    return x


def _code(rule: Rule) -> int:
    """Which of the independent family, as layout.cuh counts them."""
    if isinstance(rule, UnbiasedWeightMax):
        return 3 if rule.expected else 2
    return 1 if isinstance(rule, StraightThrough) else 0


def _places(run: Run) -> list[tuple[Tensor, bool]]:
    """Where each parameter is in a run's vector, in the order of their tree, and whether it is stored as halves."""
    D, N, U = run.task.size, run.hidden[0], padded(run)
    V = INPUTS * U
    out = V + INPUTS * CRITIC
    of_critic = out + U
    last = of_critic + CRITIC
    rows, units = np.arange(D)[:, None], np.arange(N)
    places = [(rows * U + units, True), (BIAS * U + units, True)]
    if family(run) != "independent":
        places.append((last + 2 + units[:, None] * U + units, True))
    places += [((out + units)[:, None], False), (np.array([last]), False)]
    if run.critic:
        hidden = np.arange(run.critic.widths[0])
        places += [(V + rows * CRITIC + hidden, True), (V + BIAS * CRITIC + hidden, True)]
        places += [((of_critic + hidden)[:, None], False), (np.array([last + 1]), False)]
    return places


def pack(run: Run, params: Params, length: int) -> Tensor:
    """Words [length]: numbers of matrices as their two half-precision parts, the others as floats."""
    words = np.zeros(length, np.uint32)
    for (place, halves), leaf in zip(_places(run), jax.tree.leaves(params), strict=True):
        x = np.asarray(leaf, np.float32)
        words[place] = _halves(x) if halves else x.view(np.uint32)
    return words


def unpack(run: Run, words: Tensor, structure: Any) -> Params:
    leaves = [_whole(words[place]) if halves else words[place].view(np.float32) for place, halves in _places(run)]
    return jax.tree.unflatten(structure, leaves)


def structure(run: Run) -> Any:
    """The tree that the parameters of a run make."""
    return jax.tree.structure(jax.eval_shape(run.init))


def _halves(x: Tensor) -> Tensor:
    high = np.clip(x, -LARGEST_HALF, LARGEST_HALF).astype(np.float16)
    low = (x - high.astype(np.float32)).astype(np.float16)
    return high.view(np.uint16).astype(np.uint32) | low.view(np.uint16).astype(np.uint32) << 16


def _whole(words: Tensor) -> Tensor:
    high, low = (half.astype(np.uint16).view(np.float16).astype(np.float32) for half in (words & 0xFFFF, words >> 16))
    return high + low
