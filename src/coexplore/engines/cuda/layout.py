"""The host's side of layout.cuh: a run's settings and parameters as the kernel reads them."""

import dataclasses
import itertools
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from coexplore.engines.one_layer import (
    centre,
    centres_pairs,
    chain,
    form,
    multiplexer,
    numbers,
    predicts,
    steps,
    subtracts_probability,
)
from coexplore.laws import Lazy
from coexplore.network import Params
from coexplore.rules import Boltzmann, Recurrent, Reinforce, Rule, StraightThrough, UnbiasedWeightMax
from coexplore.run.result import Tensor, Tensors
from coexplore.run.run import Run

FAMILIES: dict[type[Rule], str] = {
    Reinforce: "independent",
    StraightThrough: "independent",
    UnbiasedWeightMax: "independent",
    Boltzmann: "boltzmann",
    Recurrent: "recurrent",
}
CODES = {"ste": 1, "unbiased-weight-max": 2, "expected": 3}  # of the independent family in layout.cuh; of others 0
SIZES = (8, 16, 32, 64, 96, 128, 192, 256, 384, 512)  # what is compiled; units in between are padded
BATCH, CRITIC = 16, 64
INPUTS = {1: 24, 2: 24, 3: 24, 4: 24, 5: 40}  # likewise, by address bits
BIAS = {24: 20, 40: 37}  # the input that is always 1
MOST_PAIRS_IN_REGISTERS, MOST_SHARED = 13, 227 * 1024
LARGEST_HALF = 65504.0

# Tiles of a warp and blocks of a run, of larger layers: the first is the fastest for few runs, the last for many.
LARGER = {
    "independent": {192: [(2, 1)], 256: [(2, 1)], 384: [(4, 1)], 512: [(4, 1)]},
    "boltzmann": {192: [(1, 2), (2, 1)], 256: [(1, 4), (2, 2)], 384: [(1, 6), (1, 4)], 512: [(1, 8)]},
    "recurrent": {192: [(1, 2)], 256: [(1, 4)], 384: [(1, 6)], 512: [(1, 8)]},
}

SETTINGS = np.dtype(
    [
        ("seed", "u4"),
        *((name, "i4") for name in ("units", "bits", "steps", "rule")),
        *((name, "i4") for name in ("signed_inputs", "signed_rewards", "centre_reward", "tanh_critic")),
        *((name, "f4", 2) for name in ("coupling", "strength", "pair_strength")),
        *((name, "f4", 2) for name in ("rate_hidden", "rate_output", "rate_critic")),
        *((name, "f4") for name in ("decay", "recurrent_rate", "centring_rate")),
    ]
)


@dataclasses.dataclass(frozen=True)
class Shape:
    """What is compiled: a family, padded units and inputs, what is heard of a unit, and how blocks divide the units."""

    family: str
    units: int
    tiles: int  # of eight units, per warp
    blocks: int  # that a multiprocessor should hold
    inputs: int = 24
    cluster: int = 1  # blocks per run
    signed: bool = False  # whether the output hears signs
    signed_chain: bool = False  # whether the units do
    own_rate: bool = False  # of W_rec
    lazy: bool = False  # sampler
    centre: str = "none"  # what Algorithm 1 centres its activity by
    pairs: bool = False  # whether that of pairs too

    @property
    def chain(self) -> bool:
        return self.family != "independent"

    @property
    def predicts(self) -> bool:
        return self.centre == "predicted"

    @property
    def warps(self) -> int:
        return max(4, self.units // 8 // self.tiles // self.cluster)

    @property
    def threads(self) -> int:
        return 32 * self.warps

    @property
    def length(self) -> int:
        """Words of a run's parameters."""
        squares = self.chain * self.units**2 + self.predicts * self.inputs * self.units
        return self.inputs * (self.units + CRITIC) + self.units + CRITIC + 2 + squares

    @property
    def shared(self) -> int:
        """Bytes of shared memory of a block."""
        pairs = 0 if self._pairs <= MOST_PAIRS_IN_REGISTERS else self._pairs - self.streamed
        return self.shared_without_moments + 16 * pairs * self.threads

    @property
    def streamed(self) -> int:
        """Pairs of weights per thread whose moments are in global memory."""
        beyond = self._pairs - (MOST_SHARED - self.shared_without_moments) // (16 * self.threads)
        return 0 if self._pairs <= MOST_PAIRS_IN_REGISTERS else max(0, -(-beyond // self.tiles) * self.tiles)

    @property
    def _pairs(self) -> int:
        """Of weights, that a thread has."""
        inputs = self.inputs // 8
        own = inputs * (1 + self.predicts) + self.chain * self.units // 8
        return self.tiles * own + inputs * -(-8 // self.warps)

    @property
    def shared_without_moments(self) -> int:
        activity = (2 + self.pairs) * 2 * 16 * (-(-self.units // 16) * 16) if self.chain else 0
        states = 8 * 2 * 16 * (-(-self.inputs // 16) * 16)
        return states + activity + 128 * (self.units // 8) + 128 * 8 + 8 * 64 + 128

    @property
    def numbers_seen(self) -> int:
        """That look.cu writes for a run: see there."""
        return self.units + 2 + 11

    @property
    def to_look(self) -> "Shape":
        """What networks of this shape are looked at with: one for all, so that it does not depend on how they train.

        The two chains draw alike; Algorithm 1's keeps nothing of it.
        """
        kind = "boltzmann" if self.chain else self.family
        tiles, cluster = LARGER[kind].get(self.units, [(1, 1)])[0]
        by = self.centre if self.predicts else "none"  # whose parameters are there
        drawn = self.signed, self.signed_chain, False, self.lazy
        return Shape(kind, self.units, tiles, 1, self.inputs, cluster, *drawn, by)


def family(run: Run) -> str:
    return FAMILIES[type(run.rules[0])]


def padded(run: Run) -> int:
    return next(size for size in SIZES if size >= run.hidden[0])


def shape(run: Run, runs: int, multiprocessors: int) -> Shape:
    """The division of the units that is fastest for so many runs; none changes a result."""
    kind, units, (inputs, *rest) = family(run), padded(run), variant(run)
    tiles, blocks, cluster = _division(kind, units, runs, multiprocessors, predicts(run))
    return Shape(kind, units, tiles, blocks, inputs, cluster, *rest)


def variant(run: Run) -> tuple[Any, ...]:
    """What else makes a kernel of its own: inputs, and from `signed` on, in the order of Shape."""
    drawn = chain(run)
    heard = run.signals == "signed", drawn is not None and drawn.signals == "signed"
    own_rate = drawn is not None and numbers(run).recurrent_rate != 1.0
    return INPUTS[multiplexer(run).bits], *heard, own_rate, isinstance(drawn, Lazy), centre(run), centres_pairs(run)


def _division(kind: str, units: int, runs: int, multiprocessors: int, predicts: bool) -> tuple[int, int, int]:
    """Tiles of a warp, blocks of a multiprocessor, blocks of a run. With predictions shared memory has room for two."""
    if units in LARGER[kind]:
        *few, many = LARGER[kind][units]
        tiles, cluster = next((x for x in few if runs <= held(1, x[1], multiprocessors)), many)
        return tiles, 1, cluster
    if kind == "independent":
        return 1, 2 if units <= 64 else 1, 1
    if units == 128:
        return 2 if kind == "boltzmann" else 1, 1, 1
    if units == 64:  # a block alone on its multiprocessor may have all the registers it likes
        load = runs / multiprocessors
        return (1, 1, 1) if load <= 1 else (1, 2, 1) if load <= 2 else (2, 2 if predicts else 3, 1)
    return 1, 1 if units == 96 else 3, 1


def held(blocks: int, cluster: int, multiprocessors: int) -> int:
    """Runs at a time. The blocks of a cluster are neighbours on the chip, and larger ones leave an eighth unused."""
    return blocks * (multiprocessors if cluster <= 2 else multiprocessors * 7 // 8) // cluster


def settings(runs: Sequence[Run]) -> Tensor:
    """Records of SETTINGS [G]; where nothing but the seed differs, they are worked out once."""
    known = {run.setting: _record(run) for run in {run.setting: run for run in runs}.values()}
    x = np.stack([known[run.setting] for run in runs])
    x["seed"] = [run.seed for run in runs]
    return x


def _record(run: Run) -> Tensor:
    """Without the seed."""
    rule, task, critic, number = run.rules[0], multiplexer(run), run.critic, numbers(run)
    x = np.zeros((), SETTINGS)
    x["units"], x["bits"], x["steps"] = run.hidden[0], task.bits, steps(run)
    x["rule"] = CODES.get(form(run), 0)
    x["signed_inputs"], x["signed_rewards"] = task.encoding == "signed", task.rewards == "signed"
    x["centre_reward"] = rule.learning_signal.centred
    x["tanh_critic"] = critic is not None and critic.activation == "tanh"
    x["coupling"], x["decay"] = number.coupling, number.trace_decay
    x["recurrent_rate"], x["centring_rate"] = number.recurrent_rate, number.baseline_rate
    x["pair_strength"] = number.pair_strength if centres_pairs(run) else 0.0
    x["strength"] = number.strength if subtracts_probability(run) or centre(run) != "none" else 0.0
    x["rate_hidden"], x["rate_output"] = number.rate_hidden, number.rate_output
    x["rate_critic"] = number.rate_critic if critic else 0.0  # a critic of zeros that never learns is none
    return x


class Place(NamedTuple):
    """Where a parameter is in a run's vector: rows that begin so many words apart; whether it is stored as halves."""

    at: int
    shape: tuple[int, ...]
    stride: int
    halves: bool

    def of(self, words: Tensor) -> Tensor:
        """Its share [G, *shape] of words [G, length], to read or to write."""
        if len(self.shape) == 1:
            return words[:, self.at : self.at + self.shape[0]]
        rows, columns = self.shape
        mine = words[:, self.at : self.at + rows * self.stride]
        return mine.reshape(len(words), rows, self.stride)[:, :, :columns]


def places(run: Run) -> list[Place]:
    """In the order of the parameters' tree."""
    D, N, U, inputs = run.task.size, run.hidden[0], padded(run), INPUTS[multiplexer(run).bits]
    V = inputs * U
    out = V + inputs * CRITIC
    bias = BIAS[inputs]
    of_critic = out + U
    last = of_critic + CRITIC
    found = [Place(0, (D, N), U, True), Place(bias * U, (N,), 1, True)]
    if family(run) != "independent":
        found.append(Place(last + 2, (N, N), U, True))
    found += [Place(out, (N, 1), 1, False), Place(last, (1,), 1, False)]
    if run.critic:
        K = run.critic.widths[0]
        found += [Place(V, (D, K), CRITIC, True), Place(V + bias * CRITIC, (K,), 1, True)]
        found += [Place(of_critic, (K, 1), 1, False), Place(last + 1, (1,), 1, False)]
    if predicts(run):
        own = last + 2 + U * U
        found += [Place(own, (D, N), U, True), Place(own + bias * U, (N,), 1, True)]
    return found


def alike(runs: Sequence[Run]) -> list[list[int]]:
    """Which runs of a group have parameters of the same shapes."""
    same = defaultdict(list)
    for i, run in enumerate(runs):
        same[run.sizes, run.critic and run.critic.widths].append(i)
    return list(same.values())


def pack(run: Run, params: Sequence[Params], length: int) -> Tensor:
    """Words [G, length] of G runs like this one: matrices as two half-precision parts, the others as floats."""
    words = np.zeros((len(params), length), np.uint32)
    leaves = zip(*map(jax.tree.leaves, params), strict=True)
    for place, mine in zip(places(run), leaves, strict=True):
        x = np.stack([np.asarray(leaf, np.float32) for leaf in mine])
        place.of(words)[...] = _halves(x) if place.halves else x.view(np.uint32)
    return words


def unpack(run: Run, words: Tensor, structure: Any) -> list[Params]:
    """The inverse: of G runs like this one."""
    parts = [(place.of(words), place.halves) for place in places(run)]
    leaves = [_whole(part) if halves else part.copy().view(np.float32) for part, halves in parts]
    return [jax.tree.unflatten(structure, mine) for mine in zip(*leaves, strict=True)]


def described(run: Run, seen: Tensor, names: Sequence[str]) -> Tensors:
    """What look.cu saw of G runs like this one, by the names that every engine gives it."""
    N, U = run.hidden[0], padded(run)
    rates, (error, *norms) = seen[:, : U + 1], np.sqrt(seen[:, U + 1 :].T)
    found = {"critic_error": error} if run.critic else {}
    found |= {"firing.0": rates[:, :N], "firing.1": rates[:, U:]}
    layer, of_baseline, others = norms[:3], norms[3:5], norms[5:]  # what a baseline learns is the tree's last
    has = [True, True, family(run) != "independent", True, True, *[run.critic is not None] * 4, *[predicts(run)] * 2]
    ordered = itertools.compress((*layer, *others, *of_baseline), has)
    return {**found, **dict(zip(names, ordered, strict=True))}


def _halves(x: Tensor) -> Tensor:
    high = np.clip(x, -LARGEST_HALF, LARGEST_HALF).astype(np.float16)
    low = (x - high.astype(np.float32)).astype(np.float16)
    return high.view(np.uint16).astype(np.uint32) | low.view(np.uint16).astype(np.uint32) << 16


def _whole(words: Tensor) -> Tensor:
    high, low = (half.astype(np.uint16).view(np.float16).astype(np.float32) for half in (words & 0xFFFF, words >> 16))
    return high + low
