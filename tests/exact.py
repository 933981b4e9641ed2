"""Exact expectations: every state of a small network, weighed by its probability. Nothing is sampled.

A `Toy` is a task with a handful of states and arbitrary rewards R(s, a). The hidden layer's outcomes are
enumerated as paths H [T+1, K, N] with log-probabilities [S, K]; the laws are written here independently of the
package. Because a rule's credit is linear in the signal and a mean over the batch, its exact expectation is one
call: the batch holds every episode (s, path, a), the signal is multiplied by that episode's probability.
"""

import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from coexplore import network
from coexplore.network import Network, Params
from coexplore.rules import Boltzmann, Feedback, Reinforce
from coexplore.rules.boltzmann import Phases
from coexplore.rules.chain import Coupled, Path
from coexplore.rules.laws import Activity, Bernoulli
from coexplore.units import Affine

INDEPENDENT = Reinforce()


class Toy(NamedTuple):
    s: jax.Array  # [S, D] inputs
    d0: jax.Array  # [S] their probabilities
    R: jax.Array  # [S, 2] rewards
    out: Affine  # output unit, N → 1


def states(n: int) -> jax.Array:
    """All 2ⁿ binary vectors."""
    return jnp.asarray((np.arange(2**n)[:, None] >> np.arange(n)) & 1, jnp.float64)


def toy(rng: np.random.Generator, D: int, N: int, binary: bool = False) -> Toy:
    s = states(D) if binary else 2 * states(D) - 1
    d0 = rng.dirichlet(np.ones(len(s)))
    out = Affine(W=jnp.asarray(rng.normal(size=(N, 1)) * 1.5), b=jnp.asarray(rng.normal(size=1)))
    return Toy(s, jnp.asarray(d0), jnp.asarray(rng.normal(size=(len(s), 2))), out)


def affine(rng: np.random.Generator, D: int, N: int) -> Affine:
    return Affine(W=jnp.asarray(rng.normal(size=(D, N))), b=jnp.asarray(rng.normal(size=N)))


def coupled(rng: np.random.Generator, D: int, N: int, symmetric: bool, scale: float = 1.0) -> Coupled:
    layer, W_rec = affine(rng, D, N), rng.normal(size=(N, N)) * scale
    if symmetric:
        W_rec = np.triu(W_rec, 1) + np.triu(W_rec, 1).T
    return Coupled(W=layer.W, b=layer.b, W_rec=jnp.asarray(W_rec))


def log_ber(h: jax.Array, x: jax.Array) -> jax.Array:
    """log Pr(h) of independent units with inputs x, summed over units."""
    return jnp.sum(h * jax.nn.log_sigmoid(x) + (1 - h) * jax.nn.log_sigmoid(-x), axis=-1)


# Laws of the hidden layer: log Pr(outcome | s), [S, K] ----------------------------------------------------------------


def independent(params: Affine, s: jax.Array) -> jax.Array:
    d = s @ params.W + params.b
    return log_ber(states(d.shape[1])[None], d[:, None])


def boltzmann(params: Coupled, c: float, s: jax.Array) -> jax.Array:
    """Pr(h | s) ∝ exp(d·h + ½ c hᵀ W_rec h)."""
    d, h = s @ params.W + params.b, states(params.b.shape[0])
    energy = d @ h.T + 0.5 * c * jnp.einsum("ki,ij,kj->k", h, params.W_rec, h)
    return jax.nn.log_softmax(energy, axis=1)


def synchronous_limit(params: Coupled, c: float, s: jax.Array) -> jax.Array:
    """π(h) ∝ exp(d·h) Πᵢ (1 + exp(dᵢ + c Σⱼ wᵢⱼ hⱼ)), the limit of synchronous sampling (W_rec symmetric)."""
    d, h = s @ params.W + params.b, states(params.b.shape[0])
    inputs = d[:, None] + c * (h @ params.W_rec)[None]
    return jax.nn.log_softmax(d @ h.T + jax.nn.softplus(inputs).sum(axis=-1), axis=1)


def synchronous_kernel(params: Coupled, c: float, s: jax.Array) -> jax.Array:
    """Pr(h → h') of one synchronous step, [S, K, K]."""
    d, h = s @ params.W + params.b, states(params.b.shape[0])
    inputs = d[:, None, None] + c * (h @ params.W_rec)[None, :, None]
    return jnp.exp(log_ber(h[None, None], inputs))


def single_kernel(params: Coupled, c: float, s: jax.Array) -> jax.Array:
    """Pr(h → h') when one unit, chosen at random, is drawn anew, [S, K, K]."""
    N = params.b.shape[0]
    d, h, W_rec = (np.asarray(x) for x in (s @ params.W + params.b, states(N), params.W_rec))
    p = 1 / (1 + np.exp(-(d[:, None] + c * h @ W_rec)))  # of each unit, given all others: [S, K, N]
    kernel = np.zeros((len(d), 2**N, 2**N))
    for k, i in np.ndindex(2**N, N):
        kernel[:, k, k | (1 << i)] += p[:, k, i] / N
        kernel[:, k, k & ~(1 << i)] += (1 - p[:, k, i]) / N
    return jnp.asarray(kernel)


def synchronous(params: Coupled, c: float, T: int, s: jax.Array) -> jax.Array:
    """log Pr(H₍T₎ = h | s) after T steps from the first draw."""
    law, kernel = jnp.exp(independent(Affine(params.W, params.b), s)), synchronous_kernel(params, c, s)
    for _ in range(T):
        law = jnp.einsum("sk,skl->sl", law, kernel)
    return jnp.log(law)


def paths(N: int, T: int) -> jax.Array:
    """Every H₍₀₎ … H₍T₎: [T+1, 2^(N(T+1)), N]."""
    return jnp.moveaxis(states(N * (T + 1)).reshape(-1, T + 1, N), 1, 0)


def recurrent(params: Coupled, c: float, T: int, s: jax.Array, first: Affine | None = None) -> jax.Array:
    """log Pr(path | s); `first` may give the first draw parameters of its own."""
    H = paths(params.b.shape[0], T)
    first = first or Affine(params.W, params.b)
    d = (s @ params.W + params.b)[:, None]
    log_p = log_ber(H[0][None], (s @ first.W + first.b)[:, None])
    for t in range(1, T + 1):
        log_p += log_ber(H[t][None], d + c * (H[t - 1] @ params.W_rec)[None])
    return log_p


# Expectations ---------------------------------------------------------------------------------------------------------


def action_probabilities(out: Affine, h: jax.Array) -> jax.Array:
    """Pr(a | h), [K, 2]."""
    p = jax.nn.sigmoid(h @ out.W + out.b)
    return jnp.concatenate([1 - p, p], axis=1)


def value(task: Toy, log_p: jax.Array, h: jax.Array) -> jax.Array:
    """E[R | s], [S]."""
    return jnp.einsum("sk,ka,sa->s", jnp.exp(log_p), action_probabilities(task.out, h), task.R)


def objective(task: Toy, log_p: jax.Array, h: jax.Array) -> jax.Array:
    """E[R]."""
    return task.d0 @ value(task, log_p, h)


def activity(rule, params, x: jax.Array, H: jax.Array):
    """What a layer of this rule (None: the output) would have recorded had it drawn H [T+1, n, N] on x [n, D]."""
    d = x @ params.W + params.b
    if not hasattr(rule, "coupling"):
        return Activity(h=H[-1], draws=jnp.zeros_like(H[-1:]))
    P = jax.nn.sigmoid(rule.coupling * (H[:-1] @ params.W_rec) + d)
    path = Path(H=H, P=P, h=H[-1], draws=jnp.zeros_like(H))
    return Phases(h=path.h, draws=path.draws, positive=path, negative=None) if isinstance(rule, Boltzmann) else path


class Episodes(NamedTuple):
    """Every (s, outcome, a), flattened to n: input, path, probability, and the indices of s."""

    x: jax.Array
    H: jax.Array
    p: jax.Array
    r: jax.Array
    s: jax.Array


def episodes(task: Toy, log_p: jax.Array, H: jax.Array) -> Episodes:
    S, K = log_p.shape
    m, k, a = (index.ravel() for index in jnp.meshgrid(jnp.arange(S), jnp.arange(K), jnp.arange(2), indexing="ij"))
    p = task.d0[m] * jnp.exp(log_p)[m, k] * action_probabilities(task.out, H[-1])[k, a]
    return Episodes(task.s[m], H[:, k], p, task.R[m, a], m)


def expected_credit(rule, params, task: Toy, log_p: jax.Array, H: jax.Array, V=None):
    """E[credit] with the signal R − V(s) where the rule centres the reward, and R where it does not."""
    all_ = episodes(task, log_p, H)
    signal = all_.r - (V[all_.s] if V is not None and rule.centres_reward else 0.0)
    delta = (len(all_.p) * all_.p * signal)[:, None]
    return rule.credit(params, all_.x, activity(rule, params, all_.x, all_.H), Feedback(delta))


def credit_moments(rule, params, task: Toy, log_p: jax.Array, H: jax.Array, V=None):
    """Mean and variance of one episode's credit, entry by entry."""
    all_ = episodes(task, log_p, H)
    signal = all_.r - (V[all_.s] if V is not None and rule.centres_reward else 0.0)

    def one(x, h, delta):
        return rule.credit(params, x[None], activity(rule, params, x[None], h[:, None]), Feedback(delta[None, None]))

    each = jax.vmap(one, (0, 1, 0))(all_.x, all_.H, signal)
    mean = jax.tree.map(lambda c: jnp.einsum("n,n...->...", all_.p, c), each)
    square = jax.tree.map(lambda c: jnp.einsum("n,n...->...", all_.p, c**2), each)
    return mean, jax.tree.map(lambda q, m: q - m**2, square, mean)


def cosine(a, b) -> float:
    a, b = (jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(tree)]) for tree in (a, b))
    return float(a @ b / jnp.linalg.norm(a) / jnp.linalg.norm(b))


def largest_gap(a, b) -> float:
    """max |a − b| over all entries."""
    return max(float(jnp.max(jnp.abs(x - y))) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


# Networks of several layers, each with a rule of its own: independent units, or chains of synchronous steps -----------


class Deep(NamedTuple):
    """Every (s, path of each hidden layer, a) of a network, flattened to n."""

    x: jax.Array
    Hs: tuple[jax.Array, ...]  # [T+1, n, N] of the hidden layers, then the action
    p: jax.Array
    r: jax.Array
    s: jax.Array


def each_layer(rule, layers: tuple) -> tuple:
    """The rule of every hidden layer, from one for all of them or one each."""
    return rule if isinstance(rule, tuple) else (rule,) * (len(layers) - 1)


def deep_log_p(rules: tuple, layers: tuple, x: jax.Array, Hs: tuple[jax.Array, ...]) -> jax.Array:
    """log Pr(all that was drawn | x), one per episode."""
    total = 0.0
    for rule, layer, H in zip((*rules, None), layers, Hs, strict=True):
        d = x @ layer.W + layer.b
        total, x = total + log_ber(H[0], d), H[-1]
        for before, after in itertools.pairwise(H):
            total += log_ber(after, d + rule.coupling * before @ layer.W_rec)
    return total


def deep(rules: tuple, task: Toy, layers: tuple) -> Deep:
    outcomes = [paths(len(p.b), getattr(r, "steps", 0)) for r, p in zip((*rules, None), layers, strict=True)]
    sizes = [len(task.s), *(H.shape[1] for H in outcomes)]
    m, *index = (i.ravel() for i in jnp.meshgrid(*map(jnp.arange, sizes), indexing="ij"))
    Hs = tuple(H[:, k] for H, k in zip(outcomes, index, strict=True))
    x = task.s[m]
    return Deep(x, Hs, task.d0[m] * jnp.exp(deep_log_p(rules, layers, x, Hs)), task.R[m, index[-1]], m)


def deep_gradient(task: Toy, layers: tuple, rule=INDEPENDENT):
    """∇ E[R], by the product rule: Σ r ∇p. Of a rule only how it draws matters here."""
    rules = each_layer(rule, layers)
    all_ = deep(rules, task, layers)
    return jax.grad(
        lambda layers: jnp.sum(all_.r * task.d0[all_.s] * jnp.exp(deep_log_p(rules, layers, all_.x, all_.Hs)))
    )(layers)


def learned(rule, layers: tuple, x, Hs, signal):
    """`network.learn` on given draws: the credit of every layer, a mean over the batch, linear in the signal."""
    rules, inputs = each_layer(rule, layers), (x, *(H[-1] for H in Hs[:-1]))
    activities = tuple(map(activity, (*rules, None), layers, inputs, Hs))
    net = Network(rules, Bernoulli(), None)
    return network.learn(net, Params(layers, None), x, activities, signal).layers


def deep_credit(rule, task: Toy, layers: tuple, V: jax.Array):
    """E[credit] of every layer with the signal R − V(s)."""
    all_ = deep(each_layer(rule, layers), task, layers)
    return learned(rule, layers, all_.x, all_.Hs, len(all_.p) * all_.p * (all_.r - V[all_.s]))


def deep_variance(rule, task: Toy, layers: tuple, V: jax.Array):
    """The variance of one episode's credit, entry by entry."""
    all_ = deep(each_layer(rule, layers), task, layers)

    def one(x, Hs, signal):
        return learned(rule, layers, x[None], tuple(H[:, None] for H in Hs), signal[None])

    each = jax.vmap(one, (0, 1, 0))(all_.x, all_.Hs, all_.r - V[all_.s])
    return jax.tree.map(
        lambda c: jnp.einsum("n,n...->...", all_.p, c**2) - jnp.einsum("n,n...->...", all_.p, c) ** 2, each
    )
