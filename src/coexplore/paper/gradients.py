"""How good a rule's estimate of the gradient is: its signal, its noise, its direction, and what Adam gains by it.

    g    the rule's credit for the hidden layer from one batch, as engines learn by it (`network.learn`)
    ∇    the gradient of E[R]: E[(q − q̄) ∇ log Pr(H₍₀₎ … H₍T₎ | S)], the score of the whole path; q = E[R | H, S], which
         the output knows, q̄ its mean over other paths of the same state. Where nothing is drawn it is E[∇q].

    snr      ‖E g‖² / tr Cov(g)              signal to noise
    cosine   E g · ∇ / ‖E g‖ ‖∇‖             direction
    share    mean of a²,  a = E g / √E[g²]   what Adam keeps of a step, coordinate by coordinate: 1 without noise
    gain     a · ∇                           how much a step of Adam raises E[R] per α, to first order

Both g and ∇ are drawn in J blocks, g₁ … g_J and ∇₁ … ∇_J, all independent of each other. Squares of means are means
over pairs of different blocks, ‖E g‖² = Σ_{j≠k} g_j·g_k / J(J − 1), so that noise is no signal; √E[g²] is that of all.
Standard errors leave out one block after another (jackknife). A cosine whose ‖E g‖² or ‖∇‖² is less than three standard
errors above 0 is not given: None.

What the critic gets wrong is in E g: by δ H a layer learns (E[R | S] − V) E[H] too, the same in every batch, but gone
when the critic has moved on. So g is measured with the critic as it is, and once more with one that is right, V =
E[R | S] (the mean of q over PATHS further paths; `RIGHT`).

W_rec of Algorithm 1 is symmetric with nothing on its diagonal, and so is that part of ∇.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from numpy.typing import NDArray

from coexplore import network
from coexplore.laws import Law
from coexplore.network import Network, Params
from coexplore.programs import in_our_config, jit
from coexplore.rules import Boltzmann, Recurrent
from coexplore.run import Run, change
from coexplore.tasks.base import Task
from coexplore.units import drive

BLOCKS, PATHS = 16, 8  # paths of one state, that each is compared with
BATCHES, EPISODES = 1024, 16_384  # of a block: of g, of ∇
AT_ONCE = 2**23  # numbers drawn in one go, about
EPSILON = 1e-8  # Adam's
RIGHT = "right_critic"
PARTS = {"forward": ("W", "b"), "recurrent": ("W_rec",), "all": ("W", "b", "W_rec")}


class Gram(NamedTuple):
    """Inner products of blocks [J, J], of own blocks with themselves, with the exact ones, and of those; g² [J].

    `seen` and `climbed` are g·g and g·∇ as Adam weighs them, `size` how many coordinates there are.
    """

    own: NDArray[np.float64]
    cross: NDArray[np.float64]
    exact: NDArray[np.float64]
    square: NDArray[np.float64]
    seen: NDArray[np.float64]
    climbed: NDArray[np.float64]
    size: int


Estimate = tuple[float | None, float | None]  # a number and its standard error
STATISTICS = ("snr", "cosine", "share", "gain")


@in_our_config
def measured(run: Run, params: Params, seed: int = 0) -> dict[str, Any]:
    """The statistics of a run's network for each part of its hidden layer, and its reward."""
    run = shortened(run)
    own_key, right_key, exact_key = jax.random.split(jax.random.key(seed), 3)
    exact = [exact_block(run, params, key) for key in jax.random.split(exact_key, BLOCKS)]
    slopes, reward = [slope for slope, _ in exact], float(np.mean([earned for _, earned in exact]))
    as_is, right = (
        _parts([own_block(run, params, key, right=right) for key in jax.random.split(keys, BLOCKS)], slopes)
        for keys, right in ((own_key, False), (right_key, True))
    )
    return {"reward": reward, **as_is, RIGHT: right}


def _parts(own: Sequence[tuple[Any, Any]], slopes: Sequence[Any]) -> dict[str, Any]:
    names = {part: each for part, each in PARTS.items() if all(hasattr(slopes[0], name) for name in each)}
    means, squares = zip(*own, strict=True)
    return {part: statistics(gram(means, squares, slopes, each)) for part, each in names.items()}


def own_block(
    run: Run, params: Params, key: Key[Array, ""], batches: int = BATCHES, right: bool = False
) -> tuple[Any, Any]:
    """Mean g and mean g² over batches; with a critic that is right, if wanted."""
    keys = jax.random.split(key, batches)
    together = max(1, min(batches, AT_ONCE // (run.batch * _drawn(run) + run.hidden[0] ** 2)))
    while batches % together:
        together -= 1
    return _own(run.network, _task(run), run.batch, right, params, keys.reshape(-1, together))


@functools.partial(jit, static_argnames=("net", "task", "batch", "right"))
def _own(net: Network, task: Task, batch: int, right: bool, params: Params, keys: Key[Array, "n m"]) -> tuple[Any, Any]:
    def credit(key: Key[Array, ""]) -> Any:
        state_key, act_key, value_key = jax.random.split(key, 3)
        state = task.sample(batch, state_key)
        s = task.observe(state)
        drawn = network.act(net.actor, params, s, act_key)
        activities, r = network.outcome(task, net.actor, params, state, drawn)
        if not right:
            return network.learn(net, params, s, activities, r, task.graded).layers[0]
        alone = dataclasses.replace(net, critic=None)
        return network.learn(alone, params, s, activities, r - value(net, task, params, state, value_key)).layers[0]

    def add(total: Any, some: Any) -> tuple[Any, None]:
        g = jax.vmap(credit)(some)
        return jax.tree.map(lambda t, x: t + x.sum(axis=0), total, (g, jax.tree.map(jnp.square, g))), None

    zero = jax.tree.map(jnp.zeros_like, params.layers[0])
    total, _ = jax.lax.scan(add, (zero, zero), keys)
    return jax.tree.map(lambda x: x / keys.size, total)


def exact_block(run: Run, params: Params, key: Key[Array, ""], episodes: int = EPISODES) -> tuple[Any, float]:
    """An estimate of ∇ that is right on average, and the mean of q."""
    chunk = max(PATHS, min(episodes, AT_ONCE // _drawn(run) // PATHS * PATHS))
    keys = jax.random.split(key, -(-episodes // chunk))
    rule = run.rules[0]
    slope, reward = _exact(run.network, rule.law, _task(run), chunk // PATHS, params, keys)
    return (paired(slope) if isinstance(rule, Boltzmann) else slope), float(reward)


def shortened(run: Run) -> Run:
    """At c = 0 the end of a chain does not depend on the rest, which would only take time, and add noise to ∇."""
    rule = run.rules[0]
    alone = isinstance(rule, Boltzmann | Recurrent) and rule.coupling == 0
    return change(run, "steps", 1) if alone else run


def paired(gradient: Any) -> Any:
    """With W_rec's part symmetric and nothing on its diagonal."""
    both = 0.5 * (gradient.W_rec + gradient.W_rec.T)
    return eqx.tree_at(lambda g: g.W_rec, gradient, both * (1 - jnp.eye(len(both), dtype=both.dtype)))


@functools.partial(jit, static_argnames=("net", "law", "task", "states"))
def _exact(net: Network, law: Law, task: Task, states: int, params: Params, keys: Key[Array, " n"]) -> tuple[Any, Any]:
    def add(total: Any, key: Key[Array, ""]) -> tuple[Any, None]:
        state_key, path_key = jax.random.split(key)
        state = jax.tree.map(lambda x: jnp.repeat(x, PATHS, axis=0), task.sample(states, state_key))
        return jax.tree.map(jnp.add, total, path_gradient(net, law, task, params, state, path_key)), None

    zero = jax.tree.map(jnp.zeros_like, params.layers[0]), jnp.zeros(())
    total, _ = jax.lax.scan(add, zero, keys)
    return jax.tree.map(lambda x: x / keys.size, total)


def path_gradient(
    net: Network, law: Law, task: Task, params: Params, state: Any, key: Key[Array, ""]
) -> tuple[Any, Float[Array, ""]]:
    """∇ and the mean of q from PATHS paths of each state, which stand beside one another."""
    s = task.observe(state)

    def earned(hidden: Any) -> tuple[Any, Array]:
        path = law.explore(hidden, s, key)
        return path, expected_reward(net, task, params, state, path.h)

    if not law.binary:  # nothing is drawn
        reward, slope = jax.value_and_grad(lambda hidden: earned(hidden)[1].mean())(params.layers[0])
        return slope, reward
    path, q = earned(params.layers[0])
    advantage = above_others(q)

    def scored(hidden: Any) -> Array:
        return (advantage * law.log_probability(hidden, drive(hidden, s), path)).mean()

    return jax.grad(scored)(params.layers[0]), q.mean()


def expected_reward(net: Network, task: Task, params: Params, state: Any, h: Float[Array, "B N"]) -> Float[Array, " B"]:
    """q = E[R | H, S] where the action is one of two."""
    p = net.output.expected(drive(params.layers[1], net.actor.sends(net.actor.laws[0], h)))[:, 0]
    no, yes = (task.reward(state, jnp.full(p.shape, a)) for a in (0, 1))
    return p * yes + (1 - p) * no


def value(net: Network, task: Task, params: Params, state: Any, key: Key[Array, ""]) -> Float[Array, " B"]:
    """E[R | S], the mean of q over further paths."""
    several = jax.tree.map(lambda x: jnp.repeat(x, PATHS, axis=0), state)
    h = net.actor.laws[0].explore(params.layers[0], task.observe(several), key).h
    return expected_reward(net, task, params, several, h).reshape(-1, PATHS).mean(axis=1)


def above_others(q: Float[Array, " B"]) -> Float[Array, " B"]:
    """q less its mean over the other paths of the same state."""
    each = q.reshape(-1, PATHS)
    return (each - (each.sum(axis=1, keepdims=True) - each) / (PATHS - 1)).ravel()


def _task(run: Run) -> Task:
    assert isinstance(run.task, Task)
    return run.task


def _drawn(run: Run) -> int:
    """Numbers that an episode draws in the hidden layer."""
    return run.rules[0].law.passes * run.hidden[0]


def gram(own: Sequence[Any], square: Sequence[Any], exact: Sequence[Any], names: Sequence[str]) -> Gram:
    """Of the coordinates with these names."""
    g, g2, slope = (np.array([_flat(block, names) for block in blocks]) for blocks in (own, square, exact))
    weight = 1 / (np.sqrt(g2.mean(axis=0)) + EPSILON)
    a = g * weight
    return Gram(g @ g.T, g @ slope.T, slope @ slope.T, g2.sum(axis=1), a @ a.T, a @ slope.T, g.shape[1])


def _flat(block: Any, names: Sequence[str]) -> NDArray[np.float64]:
    return np.concatenate([np.ravel(np.asarray(getattr(block, name), np.float64)) for name in names])


def statistics(found: Gram) -> dict[str, Estimate]:
    """Each with its standard error; None for what is not known."""
    given = _known(found, lambda g, keep: _squared(g.own, keep)) and _known(found, lambda g, k: _squared(g.exact, k))
    every = {name: jackknife(found, FORMULAS[name]) for name in STATISTICS}
    return every if given else {**every, "cosine": (None, None)}


Formula = Callable[[Gram, NDArray[np.integer]], float]


def jackknife(found: Gram, formula: Formula) -> Estimate:
    J = len(found.own)
    blocks = np.arange(J)
    left = np.array([formula(found, np.delete(blocks, j)) for j in blocks])
    value, se = formula(found, blocks), float(np.sqrt((J - 1) / J * ((left - left.mean()) ** 2).sum()))
    return (value, se) if np.isfinite([value, se]).all() else (None, None)


def _known(found: Gram, formula: Formula) -> bool:
    value, se = jackknife(found, formula)
    return value is not None and se is not None and value > 3 * se


def _squared(products: NDArray[np.float64], keep: NDArray[np.integer]) -> float:
    """‖mean‖², from different blocks."""
    kept = products[np.ix_(keep, keep)]
    J = len(keep)
    return float((kept.sum() - np.trace(kept)) / (J * (J - 1)))


def _snr(found: Gram, keep: NDArray[np.integer]) -> float:
    signal = _squared(found.own, keep)
    noise = float(found.square[keep].mean()) - signal
    return signal / noise if noise > 0 else float("nan")


def _cosine(found: Gram, keep: NDArray[np.integer]) -> float:
    norms = _squared(found.own, keep) * _squared(found.exact, keep)
    return float(found.cross[np.ix_(keep, keep)].mean() / np.sqrt(norms)) if norms > 0 else float("nan")


def _share(found: Gram, keep: NDArray[np.integer]) -> float:
    return _squared(found.seen, keep) / found.size


def _gain(found: Gram, keep: NDArray[np.integer]) -> float:
    return float(found.climbed[np.ix_(keep, keep)].mean())


FORMULAS: dict[str, Formula] = {"snr": _snr, "cosine": _cosine, "share": _share, "gain": _gain}
