"""The mathematics of the paper, proved or refuted by enumeration; M1 … M12 number its theoretical statements.

Every expectation is a finite sum over all states in float64 (exact.py). Where the paper is wrong, the test shows it.
"""

import dataclasses
import itertools
from functools import partial

import exact
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coexplore.laws import Coupled, Phases, SingleDraws, Sweeps
from coexplore.rules import Boltzmann, Recurrent, Reinforce
from coexplore.rules.baseline import Nothing
from coexplore.rules.learning_signal import Advantage, Reward
from coexplore.units import Affine

TIGHT = 1e-12
REWARD_CENTRED = Reinforce(baseline=Nothing())
ACTIVITY_CENTRED = Reinforce(learning_signal=Reward())


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


def reinforce_case(seed, D=2, N=3):
    rng = np.random.default_rng(seed)
    task, params = exact.toy(rng, D, N), exact.affine(rng, D, N)
    H = exact.states(N)[None]
    return rng, task, params, H, exact.independent(params, task.s)


def coupled_case(seed, D=2, N=3, symmetric=True, scale=1.0, binary=False):
    rng = np.random.default_rng(seed)
    return exact.toy(rng, D, N, binary), exact.coupled(rng, D, N, symmetric, scale), exact.states(N)[None]


# M1 ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_m1_all_three_reinforce_rules_follow_the_gradient_of_expected_reward(seed):
    rng, task, params, H, log_p = reinforce_case(seed)
    gradient = exact.grad(lambda p: exact.objective(task, exact.independent(p, task.s), H[0]))(params)
    any_V = jnp.asarray(rng.normal(size=len(task.s)))
    true_V = exact.value(task, log_p, H[0])
    cases = ((ACTIVITY_CENTRED, None), (Reinforce(), any_V), (Reinforce(), true_V), (REWARD_CENTRED, true_V))
    for rule, V in cases:
        credit = exact.expected_credit(rule, params, task, log_p, H, V)
        assert exact.largest_gap(credit, gradient) < TIGHT


def test_m1_needs_the_true_value_where_only_the_reward_is_centred():
    _, task, params, H, log_p = reinforce_case(0)
    gradient = exact.grad(lambda p: exact.objective(task, exact.independent(p, task.s), H[0]))(params)
    wrong_V = exact.value(task, log_p, H[0]) + 0.5
    uncentred = Reinforce(baseline=Nothing(), learning_signal=Reward())
    for rule, V in ((REWARD_CENTRED, wrong_V), (uncentred, None)):
        credit = exact.expected_credit(rule, params, task, log_p, H, V)
        assert exact.largest_gap(credit, gradient) > 0.05


def test_m1_the_output_unit_follows_the_gradient_too():
    rng, task, _, H, log_p = reinforce_case(1)
    gradient = exact.grad(lambda out: exact.objective(task._replace(out=out), log_p, H[0]))(task.out)
    V = rng.normal(size=len(task.s))
    all_ = exact.episodes(task, log_p, H)
    a = np.tile([0.0, 1.0], len(all_.p) // 2)[:, None]
    credit = exact.credit(Reinforce(), task.out, all_.H[-1], a[None], len(all_.p) * all_.p * (all_.r - V[all_.s]))
    assert exact.largest_gap(credit, gradient) < TIGHT


def test_m1_holds_in_both_layers_of_a_two_layer_network():
    rng = np.random.default_rng(5)
    D, N1, N2 = 2, 2, 3
    task, lower, upper = exact.toy(rng, D, N2), exact.affine(rng, D, N1), exact.affine(rng, N1, N2)
    h1, h2 = exact.states(N1), exact.states(N2)

    def log_p(lower, upper):
        """log Pr(h1, h2 | s), the pair flattened."""
        first, second = exact.independent(lower, task.s), exact.independent(upper, h1)
        return (first[:, :, None] + second[None]).reshape(len(task.s), -1)

    pairs = np.repeat(h1, len(h2), axis=0), np.tile(h2, (len(h1), 1))
    gradient = exact.grad(lambda p: exact.objective(task, log_p(*p), pairs[1]))((lower, upper))
    V = rng.normal(size=len(task.s))
    top = exact.episodes(task, log_p(lower, upper), pairs[1][None])
    below = exact.episodes(task._replace(out=task.out), log_p(lower, upper), pairs[1][None])._replace(
        H=np.tile(np.repeat(pairs[0], 2, axis=0), (len(task.s), 1))[None]
    )
    delta = len(top.p) * top.p * (top.r - V[top.s])
    credit = (
        exact.credit(Reinforce(), lower, top.x, below.H, delta),
        exact.credit(Reinforce(), upper, below.H[0], top.H, delta),
    )
    assert exact.largest_gap(credit, gradient) < TIGHT


# M2 ---------------------------------------------------------------------------------------------------------------


@pytest.mark.counterexample
@pytest.mark.parametrize("p", [0.2, 0.5, 0.6, 0.75, 0.95])
def test_m2_two_sided_centring_is_beaten_by_centring_the_reward_for_one_unit_with_p_above_two_thirds(p):
    params = Affine(W=jnp.zeros((1, 1)), b=jnp.asarray([np.log(p / (1 - p))]))
    # An output that copies the unit makes R depend on H alone.
    copy = Affine(W=jnp.asarray([[2e3]]), b=jnp.asarray([-1e3]))
    gain = 0.7
    task = exact.Toy(np.ones((1, 1)), np.ones(1), np.asarray([[0.3, 0.3 + gain]]), copy)
    H, log_p = exact.states(1)[None], exact.independent(params, task.s)
    V = exact.value(task, log_p, H[0])
    variance = {
        centred: float(exact.credit_moments(rule, params, task, log_p, H, V)[1].b[0])
        for centred, rule in (("both", Reinforce()), ("reward", REWARD_CENTRED))
    }
    assert variance["both"] == pytest.approx(p * (1 - p) * (1 - 2 * p) ** 2 * gain**2, abs=TIGHT)
    assert variance["reward"] == pytest.approx(p * (1 - p) * (1 - p) ** 2 * gain**2, abs=TIGHT)
    assert (variance["reward"] < variance["both"]) == (p > 2 / 3)


@pytest.mark.counterexample
@pytest.mark.parametrize(("scale", "units", "networks"), [(0.5, 0.99, 1.0), (1.0, 0.87, 0.97), (2.0, 0.70, 0.87)])
def test_m2_two_sided_centring_has_the_least_variance_for_fewer_units_the_larger_the_weights(scale, units, networks):
    """Shares of 180 units of 60 random networks (one input, three units), all weights multiplied by the scale; and of
    the networks, by the sum of the variances of all weights."""
    least, excess, totals = [], [], []
    rules = (Reinforce(), ACTIVITY_CENTRED, REWARD_CENTRED)
    moments = [jax.jit(partial(exact.credit_moments, rule)) for rule in rules]
    for seed in range(60):
        _, task, params, H, _ = reinforce_case(seed, D=1, N=3)
        params, out = jax.tree.map(lambda leaf: scale * leaf, (params, task.out))
        task, log_p = task._replace(out=out), exact.independent(params, task.s)
        V = exact.value(task, log_p, H[0])
        variances = [f(params, task, log_p, H, V)[1] for f in moments]
        both, *others = (np.asarray(found.b) for found in variances)
        least += list(both <= np.minimum(*others))
        excess += list(both / np.minimum(*others))
        whole, *rivals = (float(found.b.sum() + found.W.sum()) for found in variances)
        totals.append(whole <= min(rivals))
    assert np.mean(least) == pytest.approx(units, abs=0.006)
    assert np.mean(totals) == pytest.approx(networks, abs=0.006)
    assert max(excess) > 1.005  # where it is not the least, it is so by more than rounding


# M3 ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [0.25, 1.0])
def test_m3_without_a_negative_phase_boltzmann_credit_is_the_gradient_under_the_boltzmann_law(c):
    task, params, H = coupled_case(0)
    log_p = exact.boltzmann(params, c, task.s)
    gradient = exact.grad(lambda p: exact.objective(task, exact.boltzmann(p, c, task.s), H[0]))(params)
    V = exact.value(task, log_p, H[0])
    credit = exact.expected_credit(Boltzmann(coupling=c), params, task, log_p, H, V)
    assert exact.largest_gap(credit, exact.by_pairs(gradient)) < TIGHT


def test_m3_with_exact_negative_statistics_rules_bm1_to_bm3_are_the_same_gradient():
    c = 0.7
    task, params, H = coupled_case(1)
    log_p = exact.boltzmann(params, c, task.s)
    gradient = exact.by_pairs(exact.grad(lambda p: exact.objective(task, exact.boltzmann(p, c, task.s), H[0]))(params))
    all_, p = exact.episodes(task, log_p, H), jnp.exp(log_p)
    h = all_.H[0]
    mean_h = (p @ H[0])[all_.s]
    mean_hh = jnp.einsum("sk,ki,kj->sij", p, H[0], H[0])[all_.s]
    w = all_.p * all_.r
    bm1 = c * jnp.einsum("n,nij->ij", w, h[:, :, None] * h[:, None] - mean_hh)
    bm2 = jnp.einsum("n,nj,ni->ji", w, all_.x, h - mean_h)
    bm3 = jnp.einsum("n,ni->i", w, h - mean_h)
    assert exact.largest_gap(Coupled(bm2, bm3, bm1 - jnp.diag(jnp.diag(bm1))), gradient) < TIGHT


def test_m3_fails_for_the_synchronous_sampler_whose_expected_credit_is_not_the_gradient_of_what_it_samples():
    c, T, cosines = 1.0, 25, []

    @jax.jit  # 25 steps and their derivative, an operation at a time, would take most of the time of this file
    def credit_and_gradient(task, params, H):
        def reward(p):
            return exact.objective(task, exact.synchronous(p, c, T, task.s), H[0])

        log_p = exact.synchronous(params, c, T, task.s)
        V = exact.value(task, log_p, H[0])
        rule = Boltzmann(coupling=c, steps=T)
        return exact.expected_credit(rule, params, task, log_p, H, V), exact.by_pairs(exact.grad(reward)(params))

    for seed in range(30):
        cosines.append(exact.cosine(*credit_and_gradient(*coupled_case(seed, N=4))))
    print(f"cosine to the gradient: median {np.median(cosines):.2f}, least {min(cosines):.2f}")
    assert 0.9 < np.median(cosines) < 0.995
    assert min(cosines) < 0.9


def conditional(log_p, N):
    """Pr(unit i fires | s, the other units), from the law of all of them: [S, K, N]."""
    p, k = np.exp(np.asarray(log_p)), np.arange(2**N)
    on = np.stack([p[:, k | (1 << i)] for i in range(N)], axis=2)
    off = np.stack([p[:, k & ~(1 << i)] for i in range(N)], axis=2)
    return on / (on + off)


def test_the_printed_energy_has_twice_the_coupling_of_the_printed_conditional():
    """exp2: Pr(h) ∝ exp(d·h + c hᵀ W_rec h), which is the law of half that energy at 2c; exp3: Pr(h_i = 1) = σ(c Σ_j
    w_ji h_j + d_i). Mean over 20 machines of three units of what the two differ by, c = 1."""
    gaps = []
    for seed in range(20):
        task, params, H = coupled_case(seed)
        own = exact.plain(params)
        d = (task.s @ own.W + own.b)[:, None]
        printed = exact.sigmoid(d + H[0] @ own.W_rec)
        half, whole = (conditional(exact.boltzmann(params, c, task.s), 3) for c in (1.0, 2.0))
        assert np.abs(half - printed).max() < TIGHT
        assert np.abs(whole - exact.sigmoid(d + 2.0 * H[0] @ own.W_rec)).max() < TIGHT
        gaps.append(np.abs(whole - printed).mean())
    assert np.mean(gaps) == pytest.approx(0.078, abs=0.0005)


@pytest.mark.parametrize("c", [0.5, 2.0])
def test_the_printed_gradients_for_w_and_b_are_c_times_those_of_the_law(c):
    """∂ log Pr(h | s) / ∂ b_i is h_i − E[H_i | s], and times s_j for W_ji; printed with a factor c. By differences of
    log Pr at every h."""
    task, params, H = coupled_case(0)
    log_p, step = exact.boltzmann(params, c, task.s), 1e-5
    score = H[0][None] - (np.exp(np.asarray(log_p)) @ H[0])[:, None]  # [S, K, N]
    for i in range(3):
        for name, at, input_ in (("b", (i,), np.ones(len(task.s))), ("W", (1, i), task.s[:, 1])):
            up, down = (
                exact.boltzmann(dataclasses.replace(params, **{name: getattr(params, name).at[at].add(by)}), c, task.s)
                for by in (step, -step)
            )
            numeric, right = np.asarray(up - down) / (2 * step), score[:, :, i] * input_[:, None]
            assert np.abs(numeric - right).max() < 1e-9
            assert np.abs(numeric - c * right).max() > 0.2


# M4 ---------------------------------------------------------------------------------------------------------------


def test_m4_without_centring_and_with_rewards_of_at_least_zero_boltzmann_weights_never_fall():
    task, params, H = coupled_case(2, binary=True)
    rule = Boltzmann(learning_signal=Reward())
    all_ = exact.episodes(task, exact.boltzmann(params, 0.25, task.s), H)
    for x, h in zip(all_.x, all_.H[0], strict=True):
        credit = exact.credit(rule, params, x[None], np.stack([h, h])[:, None], np.ones(1))
        assert min(float(leaf.min()) for leaf in jax.tree.leaves(credit)) >= 0
    risen = exact.expected_credit(
        rule, params, task._replace(R=np.abs(task.R)), exact.boltzmann(params, 0.25, task.s), H
    )
    assert float(risen.b.min()) > 0


# M5 is a property of training: test_xla.py, "the_recurrent_weights_of_algorithm_1_stay_symmetric".
# M6 ---------------------------------------------------------------------------------------------------------------


def some_paths(seed, T=3, B=40, D=3, N=4):
    rng = np.random.default_rng(seed)
    params = exact.coupled(rng, D, N, symmetric=False)
    x, H = rng.normal(size=(B, D)), rng.integers(0, 2, (T + 1, B, N)).astype(float)
    return params, x, H, rng.normal(size=B)


def test_m6_algorithm_1_at_zero_coupling_is_reinforce_with_the_reward_centred():
    params, x, H, delta = some_paths(0)
    rule, plain = Boltzmann(coupling=0.0), Reinforce(baseline=Nothing())
    credit = exact.credit(rule, params, x, H, delta)
    same = exact.credit(plain, Affine(params.W, params.b), x, H, delta)
    assert exact.largest_gap(Affine(credit.W, credit.b), same) < TIGHT
    assert not credit.W_rec.any()


def test_m6_algorithm_2_at_zero_coupling_and_zero_trace_decay_is_reinforce_centred_on_both_sides():
    params, x, H, delta = some_paths(1)
    rule, plain = Recurrent(coupling=0.0, steps=3, trace_decay=0.0), Reinforce()
    credit = exact.credit(rule, params, x, H, delta)
    same = exact.credit(plain, Affine(params.W, params.b), x, H, delta)
    assert exact.largest_gap(Affine(credit.W, credit.b), same) < TIGHT
    assert not credit.W_rec.any()


# M7 ---------------------------------------------------------------------------------------------------------------


def recurrent_credit(task, params, c, T, lambda_, signal=Reward(), V=None):
    H = exact.paths(params.b.shape[0], T)
    rule = Recurrent(coupling=c, steps=T, trace_decay=lambda_, learning_signal=signal)
    return exact.expected_credit(rule, params, task, exact.recurrent(params, c, T, task.s), H, V)


@partial(jax.jit, static_argnames="T")
def recurrent_gradient(task, params, c, T, first=None):
    H = exact.paths(params.b.shape[0], T)
    return jax.grad(lambda p: exact.objective(task, exact.recurrent(p, c, T, task.s, first), H[-1]))(params)


def first_draw_score(task, params, c, T):
    """E[R (H₍₀₎ − σ(Wᵀs + b)) sᵀ], and the same without s: what rn2 and rn3 leave out."""
    all_ = exact.episodes(task, exact.recurrent(params, c, T, task.s), exact.paths(params.b.shape[0], T))
    own = exact.plain(params)
    e = (all_.p * all_.r)[:, None] * (all_.H[0] - exact.sigmoid(all_.x @ own.W + own.b))
    return Affine(W=jnp.asarray(all_.x.T @ e), b=jnp.asarray(e.sum(axis=0)))


@pytest.mark.parametrize("T", [1, 2, 3])
def test_m7_at_trace_decay_one_the_recurrent_weights_follow_the_gradient(T):
    task, params, _ = coupled_case(3, N=2, symmetric=False)
    V = jnp.asarray(np.random.default_rng(0).normal(size=len(task.s)))
    gradient = recurrent_gradient(task, params, 0.8, T)
    for signal in (Reward(), Advantage()):
        credit = recurrent_credit(task, params, 0.8, T, 1.0, signal, V)
        assert exact.largest_gap(credit.W_rec, gradient.W_rec) < TIGHT


@pytest.mark.parametrize("T", [1, 2, 3])
def test_m7_the_feedforward_rules_leave_out_the_first_draw_and_are_unbiased_once_it_is_added(T):
    task, params, _ = coupled_case(3, N=2, symmetric=False)
    c, mine = 0.8, Affine(params.W, params.b)
    credit = recurrent_credit(task, params, c, T, 1.0)
    gradient = recurrent_gradient(task, params, c, T)
    fixed_first = recurrent_gradient(task, params, c, T, first=mine)
    missing = first_draw_score(task, params, c, T)
    assert exact.largest_gap(Affine(credit.W, credit.b), Affine(fixed_first.W, fixed_first.b)) < TIGHT
    assert exact.largest_gap(Affine(credit.W + missing.W, credit.b + missing.b), Affine(gradient.W, gradient.b)) < TIGHT


@pytest.mark.counterexample
@pytest.mark.parametrize(("N", "seeds", "medians"), [(2, 20, {1: 16.4, 2: 3.0, 4: 0.1}), (3, 10, {1: 22.5, 2: 5.5})])
def test_m7_as_printed_the_feedforward_rules_are_biased_and_less_so_as_steps_are_added(N, seeds, medians):
    """Medians over random networks of what the update of W misses, in per cent of the gradient's largest entry, at each
    T: one of T + 1 draws is left out."""
    misses = {T: [] for T in medians}
    for seed in range(seeds):
        task, params, _ = coupled_case(seed, N=N, symmetric=False)
        for T, found in misses.items():
            credit, gradient = recurrent_credit(task, params, 1.0, T, 1.0), recurrent_gradient(task, params, 1.0, T)
            found.append(100 * exact.largest_gap(credit.W, gradient.W) / float(jnp.abs(gradient.W).max()))
    found = {T: float(np.median(each)) for T, each in misses.items()}
    assert found == pytest.approx(medians, abs=0.06)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_m7_at_zero_coupling_the_feedforward_rules_are_unbiased():
    task, params, _ = coupled_case(4, N=2, symmetric=False)
    credit, gradient = recurrent_credit(task, params, 0.0, 2, 1.0), recurrent_gradient(task, params, 0.0, 2)
    assert exact.largest_gap(credit, gradient) < TIGHT


# M8 ---------------------------------------------------------------------------------------------------------------


def test_m8_one_by_one_sampling_leaves_the_boltzmann_law_unchanged_and_synchronous_sampling_does_not():
    distances = []
    for seed in range(20):
        task, params, _ = coupled_case(seed, D=1, N=4)
        law = jnp.exp(exact.boltzmann(params, 1.0, task.s))
        after = jnp.einsum("sk,skl->sl", law, exact.single_kernel(params, 1.0, task.s))
        assert float(jnp.abs(after - law).max()) < TIGHT
        limit = jnp.exp(exact.synchronous_limit(params, 1.0, task.s))
        after = jnp.einsum("sk,skl->sl", limit, exact.synchronous_kernel(params, 1.0, task.s))
        assert float(jnp.abs(after - limit).max()) < TIGHT
        distances += list(np.asarray(0.5 * jnp.abs(law - limit).sum(axis=1)))
    print(f"total variation between the two laws: mean {np.mean(distances):.2f}, largest {max(distances):.2f}")
    assert 0.05 < np.mean(distances) < 0.25


def test_m8_the_one_by_one_sampler_makes_exactly_the_single_unit_transitions():
    """The rule's own path probabilities, summed over every path of one step, against the kernel squared (N = 2)."""
    task, params, _ = coupled_case(7, D=1, N=2)
    c, x, h = 0.9, task.s[:1], exact.states(2)
    pairs = [(i, j) for i in range(2) for j in range(2)]
    paths = [(k, unit, bits) for k in range(4) for unit in pairs for bits in pairs]
    ends = []
    for k, unit, bits in paths:
        end = k
        for i, bit in zip(unit, bits, strict=True):
            end = end | (1 << i) if bit else end & ~(1 << i)
        ends.append(end)
    unit, bits = (jnp.asarray([path[m] for path in paths])[None] for m in (1, 2))
    draws = SingleDraws(unit=unit.astype(jnp.int32), u=jnp.zeros((2, len(paths), 2)))
    h_0, h_T = jnp.asarray(h[[path[0] for path in paths]]), jnp.asarray(h[ends])
    sweeps = Sweeps(h_0=h_0, bits=bits.astype(jnp.float64), h=h_T, draws=draws)
    rule = Boltzmann(coupling=c, steps=1, sampler="one-by-one")
    d = jnp.repeat(x @ params.W + params.b, len(paths), axis=0)
    log_p = rule.law.log_probability(params, d, Phases(sweeps.h, draws, sweeps, None))
    law = np.bincount(ends, weights=0.25 * np.exp(np.asarray(log_p)), minlength=4)
    first = jnp.exp(exact.independent(Affine(params.W, params.b), x))[0]
    kernel = exact.single_kernel(params, c, x)[0]
    assert np.abs(law - first @ kernel @ kernel).max() < TIGHT


@pytest.mark.parametrize("sampler", ["synchronous", "one-by-one"])
def test_m8_each_sampler_draws_from_its_own_law(sampler):
    """20,000 draws of 3 units after 30 steps: χ² accepts the own law at 0.1 % and refuses the other at 1e-9."""
    from scipy.stats import chisquare

    task, params, _ = coupled_case(11, D=1, N=3, scale=1.5)
    x = jnp.repeat(task.s[:1], 20_000, axis=0)
    h = Boltzmann(coupling=1.0, steps=30, sampler=sampler).law.explore(params, x, jax.random.key(1)).h
    seen = np.bincount(np.asarray(h @ jnp.asarray([1.0, 2.0, 4.0]), int), minlength=8)
    laws = {
        "synchronous": exact.synchronous_limit(params, 1.0, task.s[:1]),
        "one-by-one": exact.boltzmann(params, 1.0, task.s[:1]),
    }
    p_values = {name: chisquare(seen, len(x) * np.exp(np.asarray(law[0]))).pvalue for name, law in laws.items()}
    assert p_values.pop(sampler) > 1e-3
    assert max(p_values.values()) < 1e-9


# M9 ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lambda_", [0.0, 0.25, 1.0])
def test_m9_credit_equals_the_eligibility_traces_of_the_algorithm_box(lambda_):
    params, x, H, delta = some_paths(2, T=4)
    c = 0.6
    rule = Recurrent(coupling=c, steps=4, trace_decay=lambda_)
    credit = exact.credit(rule, params, x, H, delta)
    (B, D), N = x.shape, H.shape[2]
    W_rec, W, b = np.zeros((N, N)), np.zeros((D, N)), np.zeros(N)
    for e in range(B):
        z_rec, z = np.zeros((N, N)), np.zeros(N)
        for t in range(1, 5):
            for i in range(N):
                p = 1 / (1 + np.exp(-(c * params.W_rec[:, i] @ H[t - 1, e] + params.W[:, i] @ x[e] + params.b[i])))
                z_rec[:, i] = lambda_ * z_rec[:, i] + (H[t, e, i] - p) * np.asarray(H[t - 1, e])
                z[i] = lambda_ * z[i] + (H[t, e, i] - p)
        W_rec += c * float(delta[e]) * z_rec / B
        W += float(delta[e]) * np.outer(x[e], z) / B
        b += float(delta[e]) * z / B
    assert exact.largest_gap(credit, Coupled(*map(jnp.asarray, (W, b, W_rec)))) < TIGHT


# M10 --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lambda_", [0.0, 0.25, 0.7, 1.0])
def test_m10_at_zero_coupling_every_trace_decay_has_the_expectation_of_reinforce(lambda_):
    task, params, _ = coupled_case(5, N=2, symmetric=False)
    V = jnp.asarray(np.random.default_rng(1).normal(size=len(task.s)))
    mine, H = Affine(params.W, params.b), exact.states(2)[None]
    reinforce = exact.expected_credit(Reinforce(), mine, task, exact.independent(mine, task.s), H, V)
    credit = recurrent_credit(task, params, 0.0, 2, lambda_, Advantage(), V)
    assert exact.largest_gap(Affine(credit.W, credit.b), reinforce) < TIGHT


def test_m10_with_coupling_the_bias_of_the_recurrent_credit_falls_to_nothing_as_trace_decay_rises_to_one():
    decays, bias = (0.0, 0.25, 0.5, 0.75, 1.0), []
    for lambda_ in decays:
        gaps = []
        for seed in range(10):
            task, params, _ = coupled_case(seed, N=2, symmetric=False)
            credit = recurrent_credit(task, params, 1.0, 3, lambda_)
            gradient = recurrent_gradient(task, params, 1.0, 3).W_rec
            gaps.append(exact.largest_gap(credit.W_rec, gradient) / float(jnp.abs(gradient).max()))
        bias.append(np.mean(gaps))
    print("bias of W_rec's credit, share of the largest entry:", dict(zip(decays, np.round(bias, 3), strict=True)))
    assert all(a > b for a, b in itertools.pairwise(bias))
    assert bias[0] > 0.02
    assert bias[-1] < TIGHT


# M11, M12 ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_m11_a_step_with_positive_delta_raises_the_probability_of_what_was_drawn(sign):
    c = 0.8
    task, params, H = coupled_case(6, N=3)
    rule = Boltzmann(coupling=c)
    for m, x in enumerate(task.s):
        for k, h in enumerate(H[0]):
            step = exact.credit(rule, params, x[None], np.stack([h, h])[:, None], np.full(1, sign))
            _, rise = jax.jvp(lambda p, m=m, k=k: exact.boltzmann(p, c, task.s)[m, k], (params,), (step,))
            assert sign * float(rise) > 0 if h.any() else float(rise) == 0


def test_m12_a_unit_that_did_not_fire_keeps_its_weights_where_only_the_reward_is_centred():
    params, x, H, delta = some_paths(3)
    silent = 2
    H[-1, :, silent] = 0
    boltzmann, plain = Boltzmann(), Reinforce(baseline=Nothing())
    credit = exact.credit(boltzmann, params, x, H, delta)
    assert not credit.W_rec[:, silent].any()
    assert not credit.W_rec[silent].any()
    assert not credit.W[:, silent].any()
    assert not credit.b[silent].any()
    assert credit.b.any()
    credit = exact.credit(plain, Affine(params.W, params.b), x, H, delta)
    assert not credit.W[:, silent].any()
    credit = exact.credit(Reinforce(), Affine(params.W, params.b), x, H, delta)
    assert credit.W[:, silent].any()
