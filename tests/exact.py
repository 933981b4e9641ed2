"""Exact expectations: every state of a small network, weighed by its probability. Nothing is sampled.

A `Toy` is a task with a handful of states and arbitrary rewards R(s, a). The hidden layer's outcomes are
enumerated as paths H [T+1, K, N] with log-probabilities [S, K]; the laws are written here independently of the
package. Because a rule's credit is linear in the signal and a mean over the batch, its exact expectation is one
call: the batch holds every episode (s, path, a), the signal is multiplied by that episode's probability.
"""

import itertools
import types
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from coexplore import network
from coexplore.laws import Activity, Bernoulli, Coupled, Path, Phases
from coexplore.network import Network, Params
from coexplore.rules import Boltzmann, Layer, Reinforce
from coexplore.rules.layer import Message, PartParams
from coexplore.units import Affine

INDEPENDENT = Reinforce()

# One program each: JAX would compile every operation of them by itself, which takes ten times as long.
learn = jax.jit(network.learn, static_argnames="graded")


def unheard(d):
    raise AssertionError("a local rule hears nothing of the layer above but the signal")


UNHEARD = Message(types.SimpleNamespace(W=None, b=None), unheard)


@jax.jit
def credit_for(rule, params, x, activity, delta, parts=PartParams()):
    return rule.credit(Layer(rule.law, params, x, activity, parts), delta, UNHEARD)


def grad(f):
    return jax.jit(jax.grad(f))


# In NumPy where nothing is differentiated or traced: JAX would compile every small operation for its shape ------------


def plain(tree):
    """The tree in NumPy, unless JAX is tracing it."""
    traced = any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(tree))
    return tree if traced else jax.tree.map(np.asarray, tree)


def of(x):
    """The namespace that an array belongs to."""
    return np if isinstance(x, np.ndarray) else jnp


def sigmoid(x):
    return 0.5 * (1 + of(x).tanh(0.5 * x))


def log_softmax(x):
    """Along the second axis."""
    top = x.max(axis=1, keepdims=True)
    return x - top - of(x).log(of(x).exp(x - top).sum(axis=1, keepdims=True))


def log_ber(h: jax.Array, x: jax.Array) -> jax.Array:
    """log Pr(h) of independent units with inputs x, summed over units."""
    return (h * x - of(x).logaddexp(0.0, x)).sum(axis=-1)


class Toy(NamedTuple):
    s: np.ndarray  # [S, D] inputs
    d0: np.ndarray  # [S] their probabilities
    R: np.ndarray  # [S, 2] rewards
    out: Affine  # output unit, N → 1


def states(n: int) -> np.ndarray:
    """All 2ⁿ binary vectors."""
    return ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(np.float64)


def toy(rng: np.random.Generator, D: int, N: int, binary: bool = False) -> Toy:
    s = states(D) if binary else 2 * states(D) - 1
    d0 = rng.dirichlet(np.ones(len(s)))
    out = Affine(W=jnp.asarray(rng.normal(size=(N, 1)) * 1.5), b=jnp.asarray(rng.normal(size=1)))
    return Toy(s, d0, rng.normal(size=(len(s), 2)), out)


def affine(rng: np.random.Generator, D: int, N: int) -> Affine:
    return Affine(W=jnp.asarray(rng.normal(size=(D, N))), b=jnp.asarray(rng.normal(size=N)))


def coupled(rng: np.random.Generator, D: int, N: int, symmetric: bool, scale: float = 1.0) -> Coupled:
    layer, W_rec = affine(rng, D, N), rng.normal(size=(N, N)) * scale
    if symmetric:
        W_rec = np.triu(W_rec, 1) + np.triu(W_rec, 1).T
    return Coupled(W=layer.W, b=layer.b, W_rec=jnp.asarray(W_rec))


def by_pairs(gradient: Coupled) -> Coupled:
    """From W_rec's entries as free parameters to one parameter per pair w_ij = w_ji."""
    both = gradient.W_rec + gradient.W_rec.T
    return Coupled(gradient.W, gradient.b, both * (1 - jnp.eye(len(both))))


def sent(h, signals: str):
    """What binary units tell others: h, or 2h − 1 where signals are signed."""
    return 2 * h - 1 if signals == "signed" else h


# Laws of the hidden layer: log Pr(outcome | s), [S, K] ----------------------------------------------------------------


def independent(params: Affine, s: np.ndarray) -> jax.Array:
    params = plain(params)
    d = s @ params.W + params.b
    return log_ber(states(d.shape[1])[None], d[:, None])


def boltzmann(params: Coupled, c: float, s: np.ndarray, signals: str = "binary") -> jax.Array:
    """Pr(h | s) ∝ exp(d·h + ½ c hᵀ W_rec h); with signed signals ∝ exp(d·h + ¼ c zᵀ W_rec z), z = 2h − 1."""
    params = plain(params)
    d, h = s @ params.W + params.b, states(params.b.shape[0])
    z, share = sent(h, signals), 0.25 if signals == "signed" else 0.5
    return log_softmax(d @ h.T + share * c * ((z @ params.W_rec) * z).sum(axis=1))


def synchronous_limit(params: Coupled, c: float, s: np.ndarray) -> jax.Array:
    """π(h) ∝ exp(d·h) Πᵢ (1 + exp(dᵢ + c Σⱼ wᵢⱼ hⱼ)), the limit of synchronous sampling (W_rec symmetric)."""
    params = plain(params)
    d, h = s @ params.W + params.b, states(params.b.shape[0])
    inputs = d[:, None] + c * (h @ params.W_rec)[None]
    return log_softmax(d @ h.T + of(d).logaddexp(0.0, inputs).sum(axis=-1))


def synchronous_kernel(params: Coupled, c: float, s: np.ndarray) -> jax.Array:
    """Pr(h → h') of one synchronous step, [S, K, K]."""
    params = plain(params)
    d, h = s @ params.W + params.b, states(params.b.shape[0])
    inputs = d[:, None, None] + c * (h @ params.W_rec)[None, :, None]
    return of(d).exp(log_ber(h[None, None], inputs))


def single_kernel(params: Coupled, c: float, s: np.ndarray, signals: str = "binary") -> np.ndarray:
    """Pr(h → h') when one unit, chosen at random, is drawn anew, [S, K, K]."""
    params = plain(params)
    N = params.b.shape[0]
    d, h = s @ params.W + params.b, states(N)
    p = sigmoid(d[:, None] + c * sent(h, signals) @ params.W_rec)  # of each unit, given all others: [S, K, N]
    kernel = np.zeros((len(d), 2**N, 2**N))
    for k, i in np.ndindex(2**N, N):
        kernel[:, k, k | (1 << i)] += p[:, k, i] / N
        kernel[:, k, k & ~(1 << i)] += (1 - p[:, k, i]) / N
    return kernel


def synchronous(params: Coupled, c: float, T: int, s: np.ndarray) -> jax.Array:
    """log Pr(H₍T₎ = h | s) after T steps from the first draw."""
    first, kernel = independent(Affine(params.W, params.b), s), synchronous_kernel(params, c, s)
    law = of(first).exp(first)
    for _ in range(T):
        law = of(law).einsum("sk,skl->sl", law, kernel)
    return of(law).log(law)


def paths(N: int, T: int) -> np.ndarray:
    """Every H₍₀₎ … H₍T₎: [T+1, 2^(N(T+1)), N]."""
    return np.moveaxis(states(N * (T + 1)).reshape(-1, T + 1, N), 1, 0)


def recurrent(params: Coupled, c: float, T: int, s: np.ndarray, first: Affine | None = None) -> jax.Array:
    """log Pr(path | s); `first` may give the first draw parameters of its own."""
    first, params = plain(first or Affine(params.W, params.b)), plain(params)
    H = paths(params.b.shape[0], T)
    d = (s @ params.W + params.b)[:, None]
    log_p = log_ber(H[0][None], (s @ first.W + first.b)[:, None])
    for t in range(1, T + 1):
        log_p = log_p + log_ber(H[t][None], d + c * (H[t - 1] @ params.W_rec)[None])
    return log_p


# Expectations ---------------------------------------------------------------------------------------------------------


def action_probabilities(out: Affine, h: np.ndarray) -> jax.Array:
    """Pr(a | h), [K, 2]."""
    out = plain(out)
    p = sigmoid(h @ out.W + out.b)
    return of(p).concatenate([1 - p, p], axis=1)


def value(task: Toy, log_p: jax.Array, h: np.ndarray) -> jax.Array:
    """E[R | s], [S]."""
    reward = task.R @ action_probabilities(task.out, h).T
    return (of(log_p).exp(log_p) * reward).sum(axis=1)


def objective(task: Toy, log_p: jax.Array, h: np.ndarray) -> jax.Array:
    """E[R]."""
    return task.d0 @ value(task, log_p, h)


def activity(rule, params, x: jax.Array, H: jax.Array):
    """What a layer of this rule (None: the output) would have recorded had it drawn H [T+1, n, N] on x [n, D]."""
    H = jnp.asarray(H)
    if not hasattr(rule, "coupling"):
        return Activity(h=H[-1], draws=jnp.zeros_like(H[-1:]))
    own = plain((params, x, H))
    heard = sent(own[2][:-1], rule.chain_signals)
    P = sigmoid(rule.coupling * (heard @ own[0].W_rec) + own[1] @ own[0].W + own[0].b)
    path = Path(H=H, P=jnp.asarray(P), h=H[-1], draws=jnp.zeros_like(H))
    return Phases(h=path.h, draws=path.draws, positive=path, negative=None) if isinstance(rule, Boltzmann) else path


def credit(rule, params, x, H, delta, parts=PartParams()):
    """The rule's credit for having drawn H on x, for the signals delta [n]."""
    x, delta = jnp.asarray(x), jnp.asarray(delta)[:, None]
    return credit_for(rule, params, x, activity(rule, params, x, H), delta, parts)


class Episodes(NamedTuple):
    """Every (s, outcome, a), flattened to n: input, path, probability, and the indices of s."""

    x: jax.Array
    H: jax.Array
    p: jax.Array
    r: jax.Array
    s: jax.Array


def episodes(task: Toy, log_p: jax.Array, H: np.ndarray) -> Episodes:
    S, K = log_p.shape
    m, k, a = (index.ravel() for index in np.meshgrid(np.arange(S), np.arange(K), np.arange(2), indexing="ij"))
    log_p = plain(log_p)
    p = task.d0[m] * of(log_p).exp(log_p)[m, k] * action_probabilities(task.out, H[-1])[k, a]
    return Episodes(task.s[m], H[:, k], p, task.R[m, a], m)


def signals(rule, all_: Episodes, V) -> np.ndarray:
    """R − V(s) where the rule centres the reward, and R where it does not."""
    return all_.r - (plain(V)[all_.s] if V is not None and rule.learning_signal.centred else 0.0)


def expected_credit(rule, params, task: Toy, log_p: jax.Array, H: np.ndarray, V=None, parts=PartParams()):
    """E[credit]."""
    all_ = episodes(task, log_p, H)
    return credit(rule, params, all_.x, all_.H, len(all_.p) * all_.p * signals(rule, all_, V), parts)


def credit_moments(rule, params, task: Toy, log_p: jax.Array, H: np.ndarray, V=None):
    """Mean and variance of one episode's credit, entry by entry."""
    all_ = episodes(task, log_p, H)
    return _credit_moments(rule, params, all_, signals(rule, all_, V))


@jax.jit
def _credit_moments(rule, params, all_: Episodes, signal):
    def one(x, h, delta):
        return credit(rule, params, x[None], h[:, None], delta[None])

    return moments(all_.p, jax.vmap(one, (0, 1, 0))(all_.x, all_.H, signal))


def moments(p, each):
    """Mean and variance of what episodes of these probabilities give."""
    mean = jax.tree.map(lambda c: jnp.einsum("n,n...->...", p, c), each)
    square = jax.tree.map(lambda c: jnp.einsum("n,n...->...", p, c**2), each)
    return mean, jax.tree.map(lambda q, m: q - m**2, square, mean)


def cosine(a, b) -> float:
    a, b = (np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)]) for tree in (a, b))
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def largest_gap(a, b) -> float:
    """max |a − b| over all entries."""
    leaves = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return max(float(np.abs(np.asarray(x) - np.asarray(y)).max()) for x, y in leaves)


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


def deep_log_p(rules: tuple, layers: tuple, x: np.ndarray, Hs: tuple[np.ndarray, ...], signals: str) -> jax.Array:
    """log Pr(all that was drawn | x), one per episode."""
    total = 0.0
    for rule, layer, H in zip((*rules, None), plain(layers), Hs, strict=True):
        d = x @ layer.W + layer.b
        total, x = total + log_ber(H[0], d), sent(H[-1], signals)
        for before, after in itertools.pairwise(H):
            total = total + log_ber(after, d + rule.coupling * sent(before, rule.chain_signals) @ layer.W_rec)
    return total


def deep(rules: tuple, task: Toy, layers: tuple, signals: str = "binary") -> Deep:
    outcomes = [paths(len(p.b), getattr(r, "steps", 0)) for r, p in zip((*rules, None), layers, strict=True)]
    sizes = [len(task.s), *(H.shape[1] for H in outcomes)]
    m, *index = (i.ravel() for i in np.meshgrid(*map(np.arange, sizes), indexing="ij"))
    Hs = tuple(H[:, k] for H, k in zip(outcomes, index, strict=True))
    x = task.s[m]
    return Deep(x, Hs, task.d0[m] * np.exp(deep_log_p(rules, layers, x, Hs, signals)), task.R[m, index[-1]], m)


def deep_gradient(task: Toy, layers: tuple, rule=INDEPENDENT, signals: str = "binary"):
    """∇ E[R], by the product rule: Σ r ∇p. Of a rule only how it draws matters here."""
    rules = each_layer(rule, layers)
    all_ = deep(rules, task, layers, signals)
    return _deep_gradient(rules, layers, all_.x, all_.Hs, all_.r * task.d0[all_.s], signals)


@partial(jax.jit, static_argnames=("rules", "signals"))
def _deep_gradient(rules: tuple, layers: tuple, x, Hs, weight, signals: str):
    return jax.grad(lambda layers: jnp.sum(weight * jnp.exp(deep_log_p(rules, layers, x, Hs, signals))))(layers)


def actor_params(layers: tuple) -> Params:
    """The parameters of a network without a critic, whose rules have no parts that learn."""
    return Params(layers, None, (PartParams(),) * (len(layers) - 1))


def learned(rule, layers: tuple, x, Hs, signal, signals: str = "binary"):
    """`network.learn` on given draws: the credit of every layer, a mean over the batch, linear in the signal."""
    rules, x = each_layer(rule, layers), jnp.asarray(x)
    Hs = tuple(map(jnp.asarray, Hs))
    activities = tuple(map(activity, (*rules, None), layers, (x, *(sent(H[-1], signals) for H in Hs[:-1])), Hs))
    net = Network(rules, Bernoulli(), None, signals)
    return learn(net, actor_params(layers), x, activities, jnp.asarray(signal)).layers


def deep_credit(rule, task: Toy, layers: tuple, V: jax.Array, signals: str = "binary"):
    """E[credit] of every layer with the signal R − V(s)."""
    all_ = deep(each_layer(rule, layers), task, layers, signals)
    return learned(rule, layers, all_.x, all_.Hs, len(all_.p) * all_.p * (all_.r - plain(V)[all_.s]), signals)


def deep_variance(rule, task: Toy, layers: tuple, V: jax.Array):
    """The variance of one episode's credit, entry by entry."""
    all_ = deep(each_layer(rule, layers), task, layers)
    return _deep_moments(rule, layers, all_, all_.r - plain(V)[all_.s])[1]


@jax.jit
def _deep_moments(rule, layers: tuple, all_: Deep, signal):
    def one(x, Hs, signal):
        return learned(rule, layers, x[None], tuple(H[:, None] for H in Hs), signal[None])

    return moments(all_.p, jax.vmap(one, (0, 1, 0))(all_.x, all_.Hs, signal))
