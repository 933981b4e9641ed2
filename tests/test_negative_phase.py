"""Boltzmann machines with a negative phase, and one-by-one sampling, by enumeration and another sampler."""

import re
from functools import partial
from pathlib import Path

import exact
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coexplore.laws import Coupled, Phases
from coexplore.laws import Path as Chain
from coexplore.rules import Boltzmann
from coexplore.rules.baseline import Chains
from coexplore.rules.learning_signal import Advantage, Reward
from coexplore.units import Affine

TIGHT = 1e-12


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


def phases_case(seed, N=3, c=0.8):
    rng = np.random.default_rng(seed)
    task, params = exact.toy(rng, 2, N), exact.coupled(rng, 2, N, symmetric=True)
    return task, params, exact.states(N), rng.normal(size=len(task.s)), c


def two_phase_credit(rule, task, params, log_p, V):
    """E[credit], every outcome of the positive chain with every outcome of the M negative ones."""
    h, M = exact.states(params.b.shape[0]), rule.baseline.chains
    all_ = exact.episodes(task, log_p, h[None])
    combos = np.stack([i.ravel() for i in np.meshgrid(*[np.arange(len(h))] * M, indexing="ij")])  # [M, K^M]
    n, m = len(all_.p), combos.shape[1]
    p_neg = np.prod(np.exp(log_p)[all_.s][:, combos], axis=1)  # [n, K^M]
    weight = (all_.p[:, None] * p_neg).reshape(-1)
    signal = np.repeat(exact.signals(rule, all_, V), m)
    x, positive = jnp.asarray(np.repeat(all_.x, m, axis=0)), jnp.asarray(np.repeat(all_.H[0], m, axis=0))
    negative = np.concatenate([np.tile(h[combo], (n, 1)) for combo in combos])  # M·B rows, chain after chain
    activity = Phases(positive, jnp.zeros(()), chain_of(positive), chain_of(negative))
    return exact.credit_for(rule, params, x, activity, jnp.asarray(len(weight) * weight * signal)[:, None])


def chain_of(h):
    h = jnp.asarray(h)
    H = jnp.stack([h, h])
    return Chain(P=H[:1], H=H, h=h, draws=H)


@jax.jit
def pair_gradient(task, params, c):
    h = exact.states(len(params.b))
    return exact.by_pairs(jax.grad(lambda p: exact.objective(task, exact.boltzmann(p, c, task.s), h))(params))


@pytest.mark.parametrize("signal", [Reward(), Advantage()])
@pytest.mark.parametrize("M", [1, 2])
def test_with_chains_from_the_boltzmann_law_the_negative_phase_gives_the_gradient(signal, M):
    task, params, _, V, c = phases_case(0, N=2)
    rule = Boltzmann(coupling=c, learning_signal=signal, baseline=Chains(chains=M))
    credit = two_phase_credit(rule, task, params, exact.boltzmann(params, c, task.s), V)
    assert exact.largest_gap(credit, pair_gradient(task, params, c)) < TIGHT


def test_the_negative_phase_forgives_a_wrong_value_where_centring_the_reward_alone_does_not():
    task, params, h, V, c = phases_case(0, N=2)
    log_p = exact.boltzmann(params, c, task.s)
    gradient = pair_gradient(task, params, c)
    both = two_phase_credit(Boltzmann(coupling=c, baseline=Chains()), task, params, log_p, V)
    reward = exact.expected_credit(Boltzmann(coupling=c), params, task, log_p, h[None], V)
    assert exact.largest_gap(both, gradient) < TIGHT
    assert exact.largest_gap(reward, gradient) > 0.01


def credit_variance(M, task, params, c, V, kappa=1.0):
    """Total variance of W's credit: signal² (H − κ mean of M further H)², exact by the law of total variance."""
    log_p, h = exact.boltzmann(params, c, task.s), exact.states(params.b.shape[0])
    all_, p = exact.episodes(task, log_p, h[None]), np.exp(log_p)
    mean, second = p @ h, p @ h**2
    spread = (second - mean**2)[all_.s] * kappa**2 / M if kappa else 0.0
    signal = all_.r - V[all_.s]
    centred = all_.H[0] - kappa * mean[all_.s]
    square = np.einsum("n,nj,ni->ji", all_.p * signal**2, all_.x**2, centred**2 + spread)
    first = np.einsum("n,nj,ni->ji", all_.p * signal, all_.x, centred)
    return float((square - first**2).sum())


@pytest.mark.parametrize("M", [1, 2])
def test_the_closed_form_of_the_variance_against_brute_force(M):
    task, params, h, V, c = phases_case(1, N=2)
    rule, log_p = Boltzmann(coupling=c, baseline=Chains(chains=M)), exact.boltzmann(params, c, task.s)
    all_, p = exact.episodes(task, log_p, h[None]), np.exp(log_p)
    x, H, signal = map(jnp.asarray, (all_.x, all_.H[0], all_.r - V[all_.s]))
    total = mean = 0.0

    def one(x, h_pos, signal, negative):
        activity = Phases(h_pos[None], jnp.zeros(()), chain_of(h_pos[None]), chain_of(negative))
        return exact.credit_for(rule, params, x[None], activity, signal[None, None]).W

    for combo in np.ndindex(*[len(h)] * M):
        weight = all_.p * np.prod(p[all_.s][:, list(combo)], axis=1)
        each = np.asarray(jax.vmap(one, (0, 0, 0, None))(x, H, signal, jnp.asarray(h[list(combo)])))
        total += np.einsum("n,nji->ji", weight, each**2)
        mean += np.einsum("n,nji->ji", weight, each)
    assert float((total - mean**2).sum()) == pytest.approx(credit_variance(M, task, params, c, V), rel=1e-9)


def sampled_law(params, c, T, s, sampler):
    if sampler == "synchronous":
        return exact.synchronous(params, c, T, s)
    kernel = exact.single_kernel(params, c, s)
    law = np.exp(exact.independent(Affine(params.W, params.b), s))
    for _ in range(T * params.b.shape[0]):
        law = np.einsum("sk,skl->sl", law, kernel)
    return np.log(law)


def tables():
    """The small tables of docs/rules/{baselines,boltzmann}.md, from 20 random machines of three units, c = 1."""
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
    pages = Path(__file__).parents[1] / "docs" / "rules"
    rows = re.findall(r"^\| (none|\d+) \| ([\d.]+) \|$", (pages / "baselines.md").read_text(), re.M)
    assert {str(M): f"{v:.2f}" for M, v in variance.items()} == dict(rows)
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \|$", (pages / "boltzmann.md").read_text(), re.M)
    shown = {T: (a, b) for T, a, b in rows}
    assert shown == {
        str(T): (f"{bias['synchronous'][T]:.3f}", f"{bias['one-by-one'][T]:.3f}") for T in bias["synchronous"]
    }


@pytest.mark.learning
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
        ours = np.asarray(optimised(rule.law.explore)(params, x, jax.random.key(0)).h)
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
