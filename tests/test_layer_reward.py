"""A reward of its own for each layer: what it is in the mean, by enumeration, and its engines."""

from pathlib import Path

import exact
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_mixed import case

from coexplore import Boltzmann, Multiplexer, Recurrent, Run, engines, network
from coexplore.laws import Bernoulli
from coexplore.network import Network, Params
from coexplore.results.tables import markdown
from coexplore.rules import Layer
from coexplore.rules.layer import likelihood
from coexplore.run import change
from coexplore.variants.layer_reward import BY, RewardedBoltzmann, RewardedRecurrent, share

TIGHT = 1e-12
PAGE = (Path(__file__).parents[1] / "docs" / "open-questions.md").read_text()


@pytest.fixture
def doubles():
    with jax.enable_x64(True):
        yield


def rule(reward, c=0.8, T=1):
    """Algorithm 2 at λ = 1: with the global signal its expected update of W_rec is the gradient (M7)."""
    if reward == "global":
        return Recurrent(coupling=c, steps=T, trace_decay=1.0)
    return RewardedRecurrent(coupling=c, steps=T, trace_decay=1.0, variant_by=reward)


def scaled(layers, by, which=1):
    """The weights of one layer, W alone, times a number."""
    mine = list(layers)
    mine[which] = exact.Coupled(layers[which].W * by, layers[which].b, layers[which].W_rec)
    return tuple(mine)


def drawn(kind, task, layers):
    """Every episode of a network of two layers, and R of the first layer for δ = 1 in each, from the network's code."""
    rules = (kind, kind)
    all_ = exact.deep(rules, task, layers)
    x, Hs = jnp.asarray(all_.x), tuple(map(jnp.asarray, all_.Hs))
    inputs = (x, Hs[0][-1], Hs[1][-1])
    first, second, top = (
        Layer(law, p, heard, exact.activity(of, p, heard, H))
        for of, law, p, heard, H in zip(
            (*rules, None), (kind.law, kind.law, Bernoulli()), layers, inputs, Hs, strict=True
        )
    )
    message = kind.message(second, likelihood(top, of_output=True))
    return all_, np.asarray(share(first, message)[:, 0])


def mean_given(all_, values):
    """E[· | S, H of the first layer], one for each pair, and the pairs' probabilities."""
    h = all_.Hs[0][-1] @ (1 << np.arange(all_.Hs[0].shape[2]))
    _, pair = np.unique(np.stack([all_.s, h]), axis=1, return_inverse=True)
    p = np.bincount(pair, weights=np.asarray(all_.p))
    return np.bincount(pair, weights=np.asarray(all_.p) * values) / p, pair


@pytest.mark.usefixtures("doubles")
@pytest.mark.parametrize("c", [0.0, 0.8])
def test_a_layers_reward_is_in_the_mean_the_slope_of_what_it_earns_along_its_own_activity_whatever_v_is(c):
    """E[R | H] = 2 H·∇Q(H), Q(H) = E[δ | H]: with `path` always, with `last` where the layer above has no coupling."""
    kind = rule("path", c)
    task, layers, V = case((kind, kind), (2, 2))
    all_, R = drawn(kind, task, layers)

    def Q(epsilon):
        """E[r | S, H] where the layer above hears (1 + ε) H: Q's slope along H."""
        again = exact.deep((kind, kind), task, scaled(layers, 1 + epsilon))
        return mean_given(all_, again.p / np.asarray(all_.p) * all_.r)[0]

    slope = (Q(1e-5) - Q(-1e-5)) / 2e-5
    for values in (all_.r, all_.r - np.asarray(V)[all_.s]):
        np.testing.assert_allclose(mean_given(all_, values * R)[0], 2 * slope, atol=1e-8)
    _, by_last = drawn(rule("last", c), task, layers)
    off = np.abs(mean_given(all_, all_.r * by_last)[0] - 2 * slope).max()
    assert off < 1e-8 if c == 0 else off > 1e-3


@pytest.mark.usefixtures("doubles")
@pytest.mark.parametrize(("reward", "c", "exact_"), [("path", 0.8, True), ("last", 0.0, True), ("last", 0.8, False)])
def test_to_first_order_in_the_weights_above_the_first_layers_update_is_twice_the_global_one(reward, c, exact_):
    gaps = []
    for seed in range(5):
        task, layers, V = case((rule("global", c),) * 2, (2, 2), seed)
        weak = scaled(layers, 1e-4)
        own = exact.deep_credit((rule(reward, c),) * 2, task, weak, V)[0]
        plain = exact.deep_credit((rule("global", c),) * 2, task, weak, V)[0]
        size = max(float(jnp.abs(leaf).max()) for leaf in jax.tree.leaves(plain))
        gaps.append(exact.largest_gap(jax.tree.map(lambda leaf: leaf / 2, own), plain) / size)
    assert max(gaps) < 2e-3 if exact_ else np.median(gaps) > 0.05


@pytest.mark.learning
@pytest.mark.usefixtures("doubles")
def test_with_larger_weights_above_it_is_biased_and_loses_what_it_gained_in_noise():
    """Medians of 8 random networks of 2-2-2 units, V exact: cosine of the expected update of W_rec to the exact
    gradient, and its squared size over its variance, as a multiple of that with the global signal."""
    rows = [noise_of(by) for by in (0.25, 1.0, 4.0)]
    table = markdown(["weights above", "cosine, path", "last", "signal to noise, path", "last"], rows)
    print(table)
    assert table in PAGE
    cosines, ratios = (
        np.array([[float(x) for x in row[1:3]] for row in rows]),
        np.array([row[3:] for row in rows], float),
    )
    assert (np.diff(cosines, axis=0) < 0).all()
    assert (np.diff(ratios, axis=0) < 0).all()
    assert (ratios[:2] > 2).all()
    assert (ratios[-1] < 1).all()


def noise_of(by):
    rewards = ("global", *BY)
    cosines, ratios = {reward: [] for reward in rewards}, {reward: [] for reward in rewards}
    for seed in range(8):
        task, layers, _ = case((rule("global"),) * 2, (2, 2), seed)
        layers = scaled(layers, by)
        all_ = exact.deep((rule("global"),) * 2, task, layers)
        V = jnp.asarray(np.bincount(all_.s, weights=all_.p * all_.r) / np.bincount(all_.s, weights=all_.p))
        gradient = exact.deep_gradient(task, layers, rule("global"))[0].W_rec
        for reward in rewards:
            credit = exact.deep_credit(rule(reward), task, layers, V)[0].W_rec
            variance = exact.deep_variance(rule(reward), task, layers, V)[0].W_rec
            cosines[reward].append(exact.cosine(credit, gradient))
            ratios[reward].append(float((credit**2).sum() / variance.sum()))
    assert min(cosines["global"]) > 1 - TIGHT
    found = [f"{np.median(cosines[reward]):.3f}" for reward in ("path", "last")]
    over = [np.median(np.divide(ratios[reward], ratios["global"])) for reward in ("path", "last")]
    return [f"× {by:g}", *found, *(f"{ratio:.2f}" for ratio in over)]


def noise_at(N, kind, signals, batch=2048):
    """E[(R/δ)²] in the first of two layers of N units, before training."""
    run = Run(rule=kind, hidden=(N, N), signals=signals)
    params, net = run.init(), Network(run.rules, Bernoulli(), None, signals)
    x = run.task.sample(batch, jax.random.key(0)).astype(jnp.float32)
    activities = network.act(net.actor, params, x, jax.random.key(1))
    first, second, top = net.actor.layers(params, x, activities)
    message = kind.message(second, net.actor.received(kind.law, likelihood(top, of_output=True)))
    return float((share(first, net.actor.received(kind.law, message)) ** 2).mean())


@pytest.mark.learning
def test_the_noise_of_a_layers_reward_grows_with_its_width():
    """To first order its signal is twice that of δ, so that it pays while E[(R/δ)²] is below 4."""
    kinds = [
        RewardedRecurrent(variant_by="last"),
        RewardedRecurrent(variant_by="path"),
        RewardedBoltzmann(variant_by="path"),
    ]
    columns = [(kind, signals) for signals in ("binary", "signed") for kind in kinds]
    found = {N: [noise_at(N, *each) for each in columns] for N in (4, 16, 64)}
    heads = ["N", "last", "path, T = 2", "path, T = 25", "signed: last", "path, T = 2", "path, T = 25"]
    table = markdown(heads, [[str(N), *(f"{value:.0f}" for value in row)] for N, row in found.items()])
    print(table)
    assert table in PAGE
    for few, many in zip(found[4], found[64], strict=True):
        assert 8 < many / few < 32
    assert found[4][0] < 4 < found[64][0]


@pytest.mark.usefixtures("doubles")
def test_no_critic_centres_it_so_that_algorithm_1_needs_a_negative_phase():
    """E[R | S] is not 0 with the exact V, which centres the global signal, as a share of R's size."""
    off = []
    for seed in range(10):
        kind = rule("path")
        task, layers, _ = case((kind, kind), (2, 2), seed)
        all_, own = drawn(kind, task, layers)
        S = len(task.s)
        p = np.bincount(all_.s, weights=all_.p, minlength=S)
        V = np.bincount(all_.s, weights=all_.p * all_.r, minlength=S) / p
        R = (all_.r - V[all_.s]) * own
        mean, spread = (np.bincount(all_.s, weights=all_.p * values, minlength=S) / p for values in (R, R**2))
        off.append(np.abs(mean).mean() / np.sqrt(spread.mean()))
    assert np.median(off) > 0.02


def learned(kind, hidden, seed=0):
    """One update's direction on a batch of draws, of every layer."""
    run = Run(rule=kind, hidden=hidden, task=Multiplexer(bits=1))
    params = jax.tree.map(lambda leaf: leaf + 0.3, run.init())
    net = Network(run.rules, Bernoulli(), None)
    s = run.task.sample(16, jax.random.key(seed))
    x = jnp.asarray(s, jnp.float32)
    activities = network.act(net.actor, params, x, jax.random.key(seed + 1))
    r = jax.random.normal(jax.random.key(seed + 2), (16,))
    return network.learn(net, Params(params.layers, None, params.parts), x, activities, r).layers


@pytest.mark.learning
@pytest.mark.parametrize("kind", [Boltzmann(steps=2), Recurrent()], ids=lambda rule: rule.name)
def test_the_last_of_several_layers_learns_from_delta_as_ever(kind):
    """Of a single layer it would have no effect, and is refused (test_run.py)."""
    for hidden in ((4, 3), (4, 3, 2)):
        plain = learned(kind, hidden)
        for reward in ("path", "last"):
            varied = change(change(Run(rule=kind, hidden=(3, 2)), "variant", "layer-reward"), "variant_by", reward)
            own = learned(varied.rule, hidden)
            for a, b in zip(jax.tree.leaves(plain[-2:]), jax.tree.leaves(own[-2:]), strict=True):
                np.testing.assert_array_equal(a, b)
            below = zip(jax.tree.leaves(plain[:-2]), jax.tree.leaves(own[:-2]), strict=True)
            assert all(float(jnp.abs(a - b).max()) > 1e-4 for a, b in below)


def test_fused_engines_do_not_take_it():
    run = Run(rule=RewardedBoltzmann(steps=2, variant_by="last"), hidden=(4, 4), task=Multiplexer(bits=1), episodes=160)
    for name in ("cpu", "cuda"):
        assert engines.find(name).supports(run) == "it takes one hidden layer"


def test_in_environments_the_reward_of_a_step_is_part_of_its_trace():
    """Eligibility is credit for δ = 1, and credit is linear in δ: R = δ × share."""
    kind = RewardedRecurrent(variant_by="last")
    run = Run(rule=kind, hidden=(4, 3), task=Multiplexer(bits=1))
    net, params = Network(run.rules, Bernoulli(), None), run.init()
    x = jnp.asarray(run.task.sample(1, jax.random.key(0)), jnp.float32)
    activities = network.act(net.actor, params, x, jax.random.key(1))
    actor = Params(params.layers, None, params.parts)
    once = network.eligibility(net, actor, x, activities).layers
    thrice = network.learn(net, actor, x, activities, jnp.full(1, 3.0)).layers
    for a, b in zip(jax.tree.leaves(once), jax.tree.leaves(thrice), strict=True):
        np.testing.assert_allclose(3 * np.asarray(a), b, rtol=1e-5, atol=1e-6)


def test_defaults_keep_their_digests_and_a_wrong_word_is_told():
    before = Run.from_dict({"rule": {"name": "boltzmann", "layer_reward": "global"}}, imported_only=True)
    assert before.digest == Run().digest
    assert Run(rule=Boltzmann()).digest == Run().digest
    rewarded, plain = (Run(rule=rule, hidden=(4, 3)) for rule in (RewardedBoltzmann(variant_by="last"), Boltzmann()))
    assert rewarded.digest != plain.digest
    with pytest.raises(ValueError, match=r"variant_by: 'sum'.*path.*last"):
        RewardedBoltzmann(variant_by="sum")
