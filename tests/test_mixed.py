"""Networks whose layers have different rules: each layer is taught what its own rule says, whatever is above it."""

import itertools

import exact
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coexplore import Boltzmann, Recurrent, Reinforce, WeightMax
from coexplore import StraightThrough as STE
from coexplore import UnbiasedWeightMax as Unbiased
from coexplore.rules import Layer

TIGHT = 1e-12
CHAINS = {"boltzmann": Boltzmann(coupling=0.8, steps=1), "recurrent": Recurrent(coupling=0.8, steps=2)}


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


def case(rules, hidden, seed=0, D=2):
    rng = np.random.default_rng(seed)
    sizes = itertools.pairwise((D, *hidden))
    made = [
        exact.coupled(rng, d, n, symmetric=isinstance(rule, Boltzmann))
        if hasattr(rule, "coupling")
        else exact.affine(rng, d, n)
        for rule, (d, n) in zip(rules, sizes, strict=True)
    ]
    task = exact.toy(rng, D, hidden[-1])
    return task, (*made, task.out), jnp.asarray(rng.normal(size=len(task.s)))


@pytest.mark.parametrize("lower", [Reinforce(), Unbiased(), Unbiased(expected=True)], ids=repr)
@pytest.mark.parametrize("upper", [*CHAINS, "both"])
def test_under_a_chain_the_unbiased_rules_still_get_the_exact_gradient(lower, upper):
    """All that the chain drew counts, not just where it ended: every step of it heard the layer underneath."""
    rules = (
        (lower, Recurrent(coupling=0.8, steps=1), CHAINS["boltzmann"]) if upper == "both" else (lower, CHAINS[upper])
    )
    task, layers, V = case(rules, (2, 1, 1) if upper == "both" else (2, 2 if upper == "boltzmann" else 1))
    credit = exact.deep_credit(rules, task, layers, V)
    assert exact.largest_gap(credit[0], exact.deep_gradient(task, layers, rules)[0]) < TIGHT


def drawn(rules, layers, seed=1, n=5):
    """Draws made up at random, and what the chains' units would have fired with."""
    rng = np.random.default_rng(seed)
    x, signal = rng.normal(size=(n, layers[0].W.shape[0])), rng.normal(size=n)
    steps = [*(getattr(rule, "steps", 0) for rule in rules), 0]
    bits = [rng.integers(0, 2, (T + 1, n, len(layer.b))) for T, layer in zip(steps, layers, strict=True)]
    return x, [H.astype(float) for H in bits], signal


def sigma(x):
    return 1 / (1 + np.exp(-x))


def heard(layer, c, H, h):
    """Σₜ (H₍ₜ₎ − p₍ₜ₎) Wᵀ: how much more likely a chain's draws become with the bits it hears, one unit at a time."""
    d = h @ np.asarray(layer.W) + np.asarray(layer.b)
    score = H[0] - sigma(d)
    for t in range(1, len(H)):
        score = score + H[t] - sigma(d + c * H[t - 1] @ np.asarray(layer.W_rec))
    return score @ np.asarray(layer.W).T


@pytest.mark.parametrize("upper", CHAINS)
def test_rules_that_read_slopes_get_those_of_the_whole_chain_above_them(upper):
    for lower in (STE(), STE("identity"), WeightMax()):
        rules = (lower, CHAINS[upper])
        _, layers, _ = case(rules, (3, 2))
        x, Hs, signal = drawn(rules, layers)
        credit = exact.learned(rules, layers, jnp.asarray(x), tuple(map(jnp.asarray, Hs)), jnp.asarray(signal))
        h, p = Hs[0][0], sigma(x @ np.asarray(layers[0].W) + np.asarray(layers[0].b))
        g = heard(layers[1], rules[1].coupling, Hs[1], h)
        e = {
            "weight-max": 2 * h * g * (h - p),
            "ste": g * (p * (1 - p) if getattr(lower, "slope", "") == "sigmoid" else 1),
        }
        expected = np.einsum("b,bj,bi->ji", signal, x, e[lower.name]) / len(x)
        np.testing.assert_allclose(credit[0].W, expected, atol=TIGHT)


def test_what_unbiased_weight_max_hears_of_one_by_one_sampling_is_the_odds_of_every_single_draw():
    rule = Boltzmann(coupling=0.8, steps=2, sampler="one-by-one")
    _, (_, layer, _), _ = case((Unbiased(), rule), (3, 3))
    x = jnp.asarray(np.random.default_rng(3).integers(0, 2, (4, 3)), jnp.float64)
    activity = jax.jit(rule.law.explore)(layer, x, jax.random.key(0))

    @jax.jit
    def found(activity):
        message = rule.message(Layer(rule.law, layer, x, activity), exact.UNHEARD)
        return message(x), message.flipped(x)

    as_it_was, flipped = found(activity)
    W, b, W_rec = (np.asarray(leaf) for leaf in (layer.W, layer.b, layer.W_rec))

    def odds(e, h):
        d, state = h @ W + b, np.array(activity.positive.h_0[e])
        total = np.prod(np.where(state == 1, sigma(d), 1 - sigma(d)))
        for t, n in np.ndindex(rule.steps, 3):
            i, bit = int(activity.draws.unit[t, e, n]), float(activity.positive.bits[t, e, n])
            p = sigma(d[i] + 0.8 * W_rec[:, i] @ state)
            total, state[i] = total * (p if bit else 1 - p), bit
        return np.log(total)

    np.testing.assert_allclose(as_it_was, [odds(e, np.asarray(x[e])) for e in range(4)], atol=TIGHT)
    for e, i in np.ndindex(4, 3):
        other = np.array(x[e])
        other[i] = 1 - other[i]
        assert float(flipped[e, i]) == pytest.approx(odds(e, other), abs=TIGHT)


def test_a_chain_learns_from_what_the_layer_under_it_drew_and_from_the_signal_alone():
    """Its credit in the network is its credit by itself, with that layer's bits for input."""
    for lower, upper in itertools.product((Reinforce(), STE(), Unbiased()), CHAINS.values()):
        _, layers, _ = case((lower, upper), (3, 2))
        x, Hs, signal = drawn((lower, upper), layers)
        credit = exact.learned((lower, upper), layers, jnp.asarray(x), tuple(map(jnp.asarray, Hs)), jnp.asarray(signal))
        h, H = jnp.asarray(Hs[0][0]), jnp.asarray(Hs[1])
        alone = exact.credit(upper, layers[1], h, H, signal)
        assert exact.largest_gap(credit[1], alone) < TIGHT
