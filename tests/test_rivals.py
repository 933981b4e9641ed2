"""What the paper compares with or builds on, proved by enumeration."""

import itertools
import re
from functools import partial
from pathlib import Path

import exact
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coexplore import network
from coexplore.rules import Boltzmann, Feedback, MapProp, Reinforce, StraightThrough, UnbiasedWeightMax, WeightMax
from coexplore.rules.base import Activity
from coexplore.rules.boltzmann import Phases
from coexplore.rules.chain import Coupled
from coexplore.rules.chain import Path as Chain

TIGHT = 1e-12
WIDTHS = [(1,), (3,), (2, 1), (2, 3), (3, 2), (1, 4), (2, 2, 2)]


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


def deep_case(seed, hidden, D=2):
    rng = np.random.default_rng(seed)
    sizes = (D, *hidden)
    layers = tuple(exact.affine(rng, d, n) for d, n in itertools.pairwise(sizes))
    task = exact.toy(rng, D, hidden[-1])
    return task, (*layers, task.out), jnp.asarray(rng.normal(size=len(task.s)))


# Weight Maximization ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [Reinforce(), UnbiasedWeightMax(), UnbiasedWeightMax(expected=True)], ids=repr)
@pytest.mark.parametrize("hidden", WIDTHS)
def test_unbiased_weight_max_is_the_exact_gradient_at_every_depth_and_width(rule, hidden):
    task, layers, V = deep_case(0, hidden)
    credit = exact.deep_credit(rule, task, layers, V)
    assert exact.largest_gap(credit, exact.deep_gradient(task, layers)) < TIGHT


@pytest.mark.parametrize("hidden", [(3,), (2, 3)])
def test_the_expected_form_never_has_more_variance(hidden):
    less = 0
    for seed in range(5):
        task, layers, V = deep_case(seed, hidden)
        drawn = exact.deep_variance(UnbiasedWeightMax(), task, layers, V)[:-1]
        expected = exact.deep_variance(UnbiasedWeightMax(expected=True), task, layers, V)[:-1]
        for a, b in zip(jax.tree.leaves(drawn), jax.tree.leaves(expected), strict=True):
            assert float((b - a).max()) < TIGHT
            less += int((b < 0.99 * a).sum())
    assert less > 20


def test_unbiased_weight_max_has_less_variance_than_reinforce_for_most_weights():
    better = []
    for seed in range(10):
        task, layers, V = deep_case(seed, (3,))
        ours = exact.deep_variance(UnbiasedWeightMax(), task, layers, V)[0].W
        plain = exact.deep_variance(Reinforce(), task, layers, V)[0].W
        better += list(np.asarray(ours < plain).ravel())
    assert np.mean(better) > 0.7


def biased(rule, hidden, factor):
    """Cosine to the gradient of the first layer, and the error left after dividing by `factor` a layer."""
    cosines, errors = [], []
    for seed in range(20):
        task, layers, V = deep_case(seed, hidden)
        credit, gradient = exact.deep_credit(rule, task, layers, V)[0], exact.deep_gradient(task, layers)[0]
        scaled = jax.tree.map(lambda c: c / factor ** len(hidden), credit)
        cosines.append(exact.cosine(credit, gradient))
        size = max(float(jnp.abs(leaf).max()) for leaf in jax.tree.leaves(gradient))
        errors.append(exact.largest_gap(scaled, gradient) / size)
    return np.median(cosines), np.median(errors)


@pytest.mark.parametrize("hidden", [(3,), (2, 3)])
def test_plain_weight_max_is_biased_in_direction_and_in_size(hidden):
    cosine, error = biased(WeightMax(), hidden, 2)
    print(f"weight-max, hidden {hidden}: cosine {cosine:.3f}, error after dividing by 2 a layer {error:.2f}")
    assert 0.5 < cosine < 0.9999
    assert error > 0.02


def test_straight_through_is_biased_too():
    cosine, error = biased(StraightThrough(), (3,), 1)
    print(f"ste: cosine {cosine:.3f}, error {error:.2f}")
    assert 0.5 < cosine < 0.9999
    assert error > 0.02


def test_straight_through_is_backprop_through_the_means_of_the_drawn_values():
    """Autodiff gives the same two layers deep, the bits going forward and σ coming back."""
    rng = np.random.default_rng(1)
    _, layers, _ = deep_case(1, (3, 2))
    n = 7
    x = jnp.asarray(rng.normal(size=(n, 2)))
    hs = tuple(jnp.asarray(rng.integers(0, 2, (n, k)), jnp.float64) for k in (3, 2, 1))
    signal = jnp.asarray(rng.normal(size=n))

    def through(layers):
        """Forward: the drawn bits. Backward: σ."""
        value = x
        for layer, h in zip(layers[:-1], hs[:-1], strict=True):
            p = jax.nn.sigmoid(value @ layer.W + layer.b)
            value = p + jax.lax.stop_gradient(h - p)
        return jnp.mean(signal * exact.log_ber(hs[-1], value @ layers[-1].W + layers[-1].b))

    credit = exact.learned(StraightThrough(), layers, x, tuple(h[None] for h in hs), signal)
    assert exact.largest_gap(credit, jax.grad(through)(layers)) < TIGHT


# Boltzmann machines with a negative phase -------------------------------------------------------------------------


def phases_case(seed, N=3, c=0.8):
    rng = np.random.default_rng(seed)
    task, params = exact.toy(rng, 2, N), exact.coupled(rng, 2, N, symmetric=True)
    return task, params, exact.states(N), jnp.asarray(rng.normal(size=len(task.s))), c


def two_phase_credit(rule, task, params, log_p, V):
    """E[credit], every outcome of the positive chain with every outcome of the M negative ones."""
    h, M = exact.states(params.b.shape[0]), rule.chains
    all_ = exact.episodes(task, log_p, h[None])
    combos = jnp.stack([i.ravel() for i in jnp.meshgrid(*[jnp.arange(len(h))] * M, indexing="ij")])  # [M, K^M]
    n, m = len(all_.p), combos.shape[1]
    p_neg = jnp.prod(jnp.exp(log_p)[all_.s][:, combos], axis=1)  # [n, K^M]
    weight = (all_.p[:, None] * p_neg).reshape(-1)
    signal = jnp.repeat(all_.r - (V[all_.s] if rule.centres_reward else 0.0), m)
    x, positive = jnp.repeat(all_.x, m, axis=0), jnp.repeat(all_.H[0], m, axis=0)
    negative = jnp.concatenate([jnp.tile(h[combo], (n, 1)) for combo in combos])  # M·B rows, chain after chain
    activity = Phases(positive, jnp.zeros(()), chain_of(positive), chain_of(negative))
    return rule.credit(params, x, activity, Feedback((len(weight) * weight * signal)[:, None]))


def chain_of(h):
    H = jnp.stack([h, h])
    return Chain(P=H[:1], H=H, h=h, draws=H)


def pair_gradient(task, params, c):
    gradient = jax.grad(lambda p: exact.objective(task, exact.boltzmann(p, c, task.s), exact.states(len(p.b))))(params)
    both = gradient.W_rec + gradient.W_rec.T
    return Coupled(gradient.W, gradient.b, both - jnp.diag(jnp.diag(both)))


@pytest.mark.parametrize(("centring", "M"), [("activity", 1), ("activity", 2), ("both", 1), ("both", 2)])
def test_with_chains_from_the_boltzmann_law_the_negative_phase_gives_the_gradient(centring, M):
    task, params, _, V, c = phases_case(0, N=2)
    rule = Boltzmann(coupling=c, centring=centring, chains=M)
    credit = two_phase_credit(rule, task, params, exact.boltzmann(params, c, task.s), V)
    assert exact.largest_gap(credit, pair_gradient(task, params, c)) < TIGHT


def test_the_negative_phase_forgives_a_wrong_value_where_centring_the_reward_alone_does_not():
    task, params, h, V, c = phases_case(0, N=2)
    log_p = exact.boltzmann(params, c, task.s)
    gradient = pair_gradient(task, params, c)
    both = two_phase_credit(Boltzmann(coupling=c, centring="both"), task, params, log_p, V)
    reward = exact.expected_credit(Boltzmann(coupling=c), params, task, log_p, h[None], V)
    assert exact.largest_gap(both, gradient) < TIGHT
    assert exact.largest_gap(reward, gradient) > 0.01


def credit_variance(M, task, params, c, V, kappa=1.0):
    """Total variance of W's credit: signal² (H − κ mean of M further H)², exact by the law of total variance."""
    log_p, h = exact.boltzmann(params, c, task.s), exact.states(params.b.shape[0])
    all_, p = exact.episodes(task, log_p, h[None]), jnp.exp(log_p)
    mean, second = p @ h, p @ h**2
    spread = (second - mean**2)[all_.s] * kappa**2 / M if kappa else 0.0
    signal = all_.r - V[all_.s]
    centred = all_.H[0] - kappa * mean[all_.s]
    square = jnp.einsum("n,nj,ni->ji", all_.p * signal**2, all_.x**2, centred**2 + spread)
    first = jnp.einsum("n,nj,ni->ji", all_.p * signal, all_.x, centred)
    return float((square - first**2).sum())


@pytest.mark.parametrize("M", [1, 2])
def test_the_closed_form_of_the_variance_against_brute_force(M):
    task, params, h, V, c = phases_case(1, N=2)
    rule, log_p = Boltzmann(coupling=c, centring="both", chains=M), exact.boltzmann(params, c, task.s)
    all_, p = exact.episodes(task, log_p, h[None]), jnp.exp(log_p)
    total = mean = 0.0

    def one(x, h_pos, signal, negative):
        activity = Phases(h_pos[None], jnp.zeros(()), chain_of(h_pos[None]), chain_of(negative))
        return rule.credit(params, x[None], activity, Feedback(signal[None, None])).W

    for combo in np.ndindex(*[len(h)] * M):
        weight = all_.p * jnp.prod(p[all_.s][:, list(combo)], axis=1)
        negative = h[jnp.asarray(combo)]
        each = jax.vmap(one, (0, 0, 0, None))(all_.x, all_.H[0], all_.r - V[all_.s], negative)
        total += jnp.einsum("n,nji->ji", weight, each**2)
        mean += jnp.einsum("n,nji->ji", weight, each)
    assert float((total - mean**2).sum()) == pytest.approx(credit_variance(M, task, params, c, V), rel=1e-9)


def sampled_law(params, c, T, s, sampler):
    if sampler == "synchronous":
        return exact.synchronous(params, c, T, s)
    from coexplore.units import Affine

    kernel = exact.single_kernel(params, c, s)
    law = jnp.exp(exact.independent(Affine(params.W, params.b), s))
    for _ in range(T * params.b.shape[0]):
        law = jnp.einsum("sk,skl->sl", law, kernel)
    return jnp.log(law)


def tables():
    """The two small tables of docs/rules/boltzmann.md, from 20 random machines of three units, c = 1."""
    variance = {M: [] for M in ("none", 1, 2, 4, 16)}
    bias = {sampler: {T: [] for T in (1, 2, 5, 25)} for sampler in ("synchronous", "one-by-one")}
    for seed in range(20):
        task, params, h, _, c = phases_case(seed, c=1.0)
        V = exact.value(task, exact.boltzmann(params, c, task.s), h)
        one_sided = credit_variance(1, task, params, c, V, kappa=0.0)
        for M, found in variance.items():
            found.append(1.0 if M == "none" else credit_variance(M, task, params, c, V) / one_sided)
        gradient = pair_gradient(task, params, c)
        for sampler, by_steps in bias.items():
            for T, found in by_steps.items():
                log_p = sampled_law(params, c, T, task.s, sampler)
                V_T = exact.value(task, log_p, h)
                credit = exact.expected_credit(Boltzmann(coupling=c), params, task, log_p, h[None], V_T)
                found.append(1 - exact.cosine(credit, gradient))
    return {M: np.median(v) for M, v in variance.items()}, {
        sampler: {T: np.median(v) for T, v in by_steps.items()} for sampler, by_steps in bias.items()
    }


def test_the_tables_in_the_docs_are_what_enumeration_gives():
    variance, bias = tables()
    page = (Path(__file__).parents[1] / "docs" / "rules" / "boltzmann.md").read_text()
    rows = re.findall(r"^\| (none|\d+) \| ([\d.]+) \|$", page, re.M)
    assert {str(M): f"{v:.2f}" for M, v in variance.items()} == dict(rows)
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \|$", page, re.M)
    shown = {T: (a, b) for T, a, b in rows}
    assert shown == {
        str(T): (f"{bias['synchronous'][T]:.3f}", f"{bias['one-by-one'][T]:.3f}") for T in bias["synchronous"]
    }


# Samplers ---------------------------------------------------------------------------------------------------------


def test_one_by_one_sampling_agrees_with_an_independent_implementation_on_a_machine_of_six_units():
    """thrml's Gibbs sampler, on spins ±1: d·h + ½ c hᵀ W h becomes fields d/2 + c W1/4 and couplings c w/4.

    Means and pair means of 20,000 chains each; a difference has a standard error of at most 0.005, and 0.025 is
    five of them. The synchronous law differs by more than that on this machine.
    """
    from thrml import Block, SamplingSchedule, SpinNode, sample_states
    from thrml.models import IsingEBM, IsingSamplingProgram, hinton_init

    # Tests compile without optimising; so many draws are slow that way.
    optimised = partial(jax.jit, compiler_options={"xla_backend_optimization_level": 1})
    with jax.enable_x64(False), jax.numpy_dtype_promotion("standard"):
        rng, N, c, chains = np.random.default_rng(4), 6, 1.0, 20_000
        params = exact.coupled(rng, 1, N, symmetric=True, scale=1.5)
        # Fields that nearly balance the couplings: the two laws differ most where units are undecided.
        params = Coupled(params.W, 0.2 * params.b - params.W_rec.sum(axis=1) / 2, params.W_rec)
        params = jax.tree.map(lambda p: jnp.asarray(p, jnp.float32), params)
        d = np.asarray(params.b)
        x = jnp.zeros((chains, 1))
        rule = Boltzmann(coupling=c, steps=40, sampler="one-by-one")
        ours = np.asarray(optimised(rule.explore)(params, x, jax.random.key(0)).h)
        W = np.asarray(params.W_rec)
        nodes = [SpinNode() for _ in range(N)]
        pairs = [(i, j) for i in range(N) for j in range(i)]
        model = IsingEBM(
            nodes,
            [(nodes[i], nodes[j]) for i, j in pairs],
            jnp.asarray(d / 2 + c * W.sum(axis=1) / 4),
            jnp.asarray([c * W[i, j] / 4 for i, j in pairs], jnp.float32),
            jnp.array(1.0),
        )
        blocks = [Block([node]) for node in nodes]
        program = IsingSamplingProgram(model, blocks, [])
        start = hinton_init(jax.random.key(1), model, blocks, (chains,))
        schedule = SamplingSchedule(n_warmup=100, n_samples=1, steps_per_sample=1)
        keys = jax.random.split(jax.random.key(2), chains)
        sample = jax.vmap(lambda key, init: sample_states(key, program, schedule, init, [], [Block(nodes)]))
        drawn = optimised(sample)(keys, start)
        theirs = np.asarray(drawn[0]).reshape(chains, N).astype(float)

    pairs_of = {"ours": ours.T @ ours / chains, "theirs": theirs.T @ theirs / chains}  # the diagonal holds the means
    law = np.exp(np.asarray(exact.synchronous_limit(jax.tree.map(jnp.float64, params), c, jnp.zeros((1, 1)))))[0]
    h = np.asarray(exact.states(N))
    assert np.abs(pairs_of["ours"] - pairs_of["theirs"]).max() < 0.025
    assert np.abs(np.einsum("k,ki,kj->ij", law, h, h) - pairs_of["theirs"]).max() > 0.05


# MAP propagation --------------------------------------------------------------------------------------------------


def map_case(rules, hidden, seed=0, n=6, D=3):
    rng = np.random.default_rng(seed)
    sizes = (D, *hidden, 1)
    layers = tuple(exact.affine(rng, d, k) for d, k in itertools.pairwise(sizes))
    x = jnp.asarray(rng.normal(size=(n, D)))
    rules = (*rules, Reinforce())
    params = network.Params(layers, None)
    return rules, params, x, network.act(rules, params, x, jax.random.key(seed))


def log_joint(rules, params, x, activities):
    """log Pr(H, A | S) up to constants, written out here: Gaussians around softplus, a Bernoulli action."""
    total, value = 0.0, x
    for rule, layer, activity in zip(rules[:-1], params.layers[:-1], activities[:-1], strict=True):
        mu = jnp.log1p(jnp.exp(value @ layer.W + layer.b))
        total, value = total - ((activity.h - mu) ** 2).sum(axis=1) / (2 * rule.variance), activity.h
    return total + exact.log_ber(activities[-1].h, value @ params.layers[-1].W + params.layers[-1].b)


def test_relaxation_makes_what_happened_likelier_in_every_episode_and_leaves_the_action_alone():
    rules, params, x, activities = map_case((MapProp(variance=0.3), MapProp()), (4, 3))
    relaxed = network.relax(rules, params, x, activities)
    assert (log_joint(rules, params, x, relaxed) > log_joint(rules, params, x, activities)).all()
    assert np.array_equal(relaxed[-1].h, activities[-1].h)


def test_one_relaxation_step_is_half_the_variance_times_the_slope_in_all_layers_at_once():
    rules, params, x, activities = map_case((MapProp(0.3, relax_steps=1), MapProp(1.0, relax_steps=1)), (4, 3))
    relaxed = network.relax(rules, params, x, activities)
    slopes = jax.grad(
        lambda hs: log_joint(rules, params, x, (*(Activity(h, h[None]) for h in hs), activities[-1])).sum()
    )(tuple(a.h for a in activities[:-1]))
    for rule, before, after, slope in zip(rules, activities, relaxed, slopes, strict=False):
        assert float(jnp.abs(after.h - before.h - 0.5 * rule.variance * slope).max()) < TIGHT


def test_credit_is_the_score_at_the_relaxed_values():
    rules, params, x, activities = map_case((MapProp(variance=0.3), MapProp()), (4, 3))
    relaxed = network.relax(rules, params, x, activities)
    signal = jnp.asarray(np.random.default_rng(2).normal(size=len(x)))
    credit = network.learn(rules, None, params, x, activities, signal)
    score = jax.grad(lambda layers: jnp.mean(signal * log_joint(rules, network.Params(layers, None), x, relaxed)))(
        params.layers
    )
    assert exact.largest_gap(credit.layers, score) < TIGHT


def test_without_relaxation_map_propagation_is_reinforce_and_unbiased():
    """A grid over two Gaussian units: the expected credit against the gradient of the expected reward."""
    rng = np.random.default_rng(3)
    layer, out = exact.affine(rng, 1, 2), exact.affine(rng, 2, 1)
    v, x = 0.5, jnp.ones((1, 1))
    axis = jnp.linspace(-8, 12, 601)
    grid = jnp.stack([g.ravel() for g in jnp.meshgrid(axis, axis, indexing="ij")], axis=1)
    cell = float(axis[1] - axis[0]) ** 2

    def density(layer):
        mu = jax.nn.softplus(x @ layer.W + layer.b)
        return jnp.exp(-((grid - mu) ** 2).sum(axis=1) / (2 * v)) / (2 * jnp.pi * v)

    def reward(layer):
        return jnp.sum(density(layer) * cell * (2 * jax.nn.sigmoid(grid @ out.W + out.b)[:, 0] - 1))

    rule = MapProp(variance=v, relax_steps=0)
    p = density(layer) * cell
    r = 2 * jax.nn.sigmoid(grid @ out.W + out.b)[:, 0] - 1
    activity = Activity(h=grid, draws=grid[None])
    credit = rule.credit(layer, jnp.ones((len(grid), 1)), activity, Feedback((len(grid) * p * r)[:, None]))
    assert exact.largest_gap(credit, jax.grad(reward)(layer)) < 1e-8
