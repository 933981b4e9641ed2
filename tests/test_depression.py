"""What the depressing half of R-STDP does to Algorithms 1 and 2, by enumeration: a centre, other coordinates, or an
ascent that is slower in some directions than in others."""

import dataclasses
import re
from pathlib import Path

import exact
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_claims import made_up
from test_proofs import coupled_case

from coexplore import Boltzmann, Control, Linear, Multiplexer, Recurrent, Reinforce, Run, train
from coexplore.engines import cpu, cuda, xla
from coexplore.laws import Coupled
from coexplore.paper.figure import resized
from coexplore.paper.figures import FIGURES
from coexplore.paper.open_figures.depression import TUNED_1, TUNED_2
from coexplore.paper.questions import verdicts
from coexplore.paper.questions.depression import CLAIMS
from coexplore.rules import Sizes
from coexplore.rules.baseline import Half, Learned, Nothing
from coexplore.rules.layer import PartParams
from coexplore.run import change
from coexplore.settings import FieldError
from coexplore.units import Affine
from coexplore.variants.depression import DepressedBoltzmann, DepressedRecurrent

TIGHT = 1e-12
ETAS = (0.1, 0.5, 1.0, 3.0)
WITHOUT_POST, WITHOUT_PRE = "pre-without-post", "post-without-pre"
c = 0.8


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


def depressing(form, eta, kind=DepressedBoltzmann, **others):
    return kind(coupling=c, variant_form=form, variant_strength=eta, **others)


def laws(params, s):
    """The law that Algorithm 1 is exact for, and the one it draws from."""
    return exact.boltzmann(params, c, s), exact.synchronous(params, c, 3, s)


def given_x(task, log_p, h):
    """E[R | x], E[H | x] and Cov(R, H | x)."""
    p, r = np.exp(log_p), task.R @ np.asarray(exact.action_probabilities(task.out, h)).T
    R, H = (p * r).sum(axis=1), p @ h
    return R, H, (p * r) @ h - R[:, None] * H


def pairs(gradient):
    return exact.by_pairs(gradient)


# Pre without post: a constant centre under H --------------------------------------------------------------------------


@pytest.mark.parametrize("eta", ETAS)
@pytest.mark.parametrize("seed", range(3))
def test_without_post_the_expected_update_is_the_covariance_and_the_product_of_two_errors(eta, seed):
    """E[ΔW] = (1 + η) Σ Pr(x) x [Cov(R, H | x) + (E[R | x] − V(x)) (E[H | x] − m)], m = η / (1 + η), any law and V."""
    task, params, H = coupled_case(seed)
    V, m = np.random.default_rng(seed).normal(size=len(task.s)), eta / (1 + eta)
    for log_p in laws(params, task.s):
        R, mean, covariance = given_x(task, log_p, H[0])
        e = (1 + eta) * (covariance + (R - V)[:, None] * (mean - m))
        found = exact.expected_credit(depressing(WITHOUT_POST, eta), params, task, log_p, H, V)
        assert exact.largest_gap(found.W, np.einsum("s,sj,si->ji", task.d0, task.s, e)) < TIGHT
        assert exact.largest_gap(found.b, task.d0 @ e) < TIGHT


@pytest.mark.parametrize("eta", ETAS)
def test_without_post_and_with_the_true_value_it_is_still_the_gradient_under_the_boltzmann_law(eta):
    task, params, H = coupled_case(1)
    log_p = exact.boltzmann(params, c, task.s)
    gradient = exact.grad(lambda p: exact.objective(task, exact.boltzmann(p, c, task.s), H[0]))(params)
    V = exact.value(task, log_p, H[0])
    found = exact.expected_credit(depressing(WITHOUT_POST, eta), params, task, log_p, H, V)
    scaled = Coupled((1 + eta) * gradient.W, (1 + eta) * gradient.b, pairs(gradient).W_rec)
    assert exact.largest_gap(found, scaled) < TIGHT


@pytest.mark.parametrize("eta", ETAS)
def test_without_post_it_is_centring_by_one_half_and_eta_one_is_all_of_it(eta):
    """κ = 2η / (1 + η) of the baseline `half`, times 1 + η, draw by draw; W_rec as printed."""
    rng, x = np.random.default_rng(0), 2 * exact.states(3) - 1
    params, H, delta = exact.coupled(rng, 3, 4, True), exact.states(4)[None, :8], rng.normal(size=8)
    found = exact.credit(depressing(WITHOUT_POST, eta), params, x, H, delta)
    half = Boltzmann(c, baseline=Half(strength=2 * eta / (1 + eta)))
    centred = exact.credit(half, params, x, H, delta)
    scaled = Coupled((1 + eta) * centred.W, (1 + eta) * centred.b, centred.W_rec)
    assert exact.largest_gap(found, scaled) < TIGHT


def test_no_bias_is_left_of_a_wrong_value_where_eta_is_the_odds_that_the_unit_fires():
    """One input, one unit, V off by 0.7: a unit that fires with p is unbiased at η = p / (1 − p) and nowhere else."""
    for p in (0.2, 0.5, 0.8):
        params = Coupled(jnp.zeros((1, 1)), jnp.asarray([np.log(p / (1 - p))]), jnp.zeros((1, 1)))
        task = exact.Toy(
            np.ones((1, 1)), np.ones(1), np.asarray([[0.3, -0.4]]), exact.affine(np.random.default_rng(0), 1, 1)
        )
        H, log_p = exact.states(1)[None], exact.boltzmann(params, c, task.s)
        covariance, V = given_x(task, log_p, H[0])[2][0, 0], exact.value(task, log_p, H[0]) - 0.7
        for eta in (0.0, p / (1 - p), 5.0):
            found = float(exact.expected_credit(depressing(WITHOUT_POST, eta), params, task, log_p, H, V).b[0])
            bias = found / (1 + eta) - covariance
            assert bias == pytest.approx(0.7 * (p - eta / (1 + eta)), abs=TIGHT)


@pytest.mark.parametrize("seed", range(5))
def test_the_centre_of_least_variance_is_the_rate_of_firing_where_the_surprise_is_large(seed):
    """V true, inputs of −1/+1. Var(ΔW / (1 + η)) = constant + E[δ²] (m − m*)², m* = E[δ² H] / E[δ²], which is E[H] only
    where δ² does not depend on H. So η lowers the variance if and only if m < 2 m*."""
    task, params, H = coupled_case(seed)
    log_p = exact.boltzmann(params, c, task.s)
    V, all_ = exact.value(task, log_p, H[0]), exact.episodes(task, log_p, H)
    weight = all_.p * (all_.r - np.asarray(V)[all_.s]) ** 2
    best = weight @ all_.H[0] / weight.sum()
    least = variance(0.0, params, task, log_p, H, V) - weight.sum() * best**2
    for eta in ETAS:
        m = eta / (1 + eta)
        found = variance(eta, params, task, log_p, H, V)
        assert exact.largest_gap(found, least + weight.sum() * (m - best) ** 2) < TIGHT
        assert ((found < variance(0.0, params, task, log_p, H, V)) == (m < 2 * best)).all()
    assert np.abs(best - task.d0 @ given_x(task, log_p, H[0])[1]).max() > 0.01


def variance(eta, params, task, log_p, H, V):
    """Of one episode's ΔW, entry by entry, the common factor taken out."""
    found = exact.credit_moments(depressing(WITHOUT_POST, eta), params, task, log_p, H, V)[1].W
    return np.asarray(found) / (1 + eta) ** 2


def test_a_negative_phase_or_a_learned_centre_leave_of_it_only_the_factor():
    """H − η (1 − H) less the same of E is (1 + η) (H − E), whatever E is: here that of a layer that learns it."""
    task, params, H = coupled_case(2)
    rule = Boltzmann(c, baseline=Learned())
    rng = np.random.default_rng(0)
    fresh = rule.law.init(*params.W.shape, jax.random.key(0)), rule.baseline.init(Sizes(*params.W.shape, 1, 1))
    params, own = jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=leaf.shape)), fresh)
    log_p, V = exact.boltzmann(params, c, task.s), rng.normal(size=len(task.s))
    plain = exact.expected_credit(rule, params, task, log_p, H, V, PartParams(own))
    depressed = depressing(WITHOUT_POST, 0.6, baseline=Learned())
    found = exact.expected_credit(depressed, params, task, log_p, H, V, PartParams(own))
    assert exact.largest_gap((found.W, found.b, found.W_rec), (1.6 * plain.W, 1.6 * plain.b, plain.W_rec)) < TIGHT


# Post without pre: other coordinates ----------------------------------------------------------------------------------


@pytest.mark.parametrize("eta", ETAS)
def test_without_pre_it_is_the_gradient_of_a_layer_whose_inputs_are_centred(eta):
    """V true. Of a layer with the drive Wᵀ(x − m) + b′ the gradient in W, at the same drives, is E[ΔW] / (1 + η). In
    the layer's own coordinates it is not the gradient: (1 + η) (∇W − m 1 ∇bᵀ)."""
    task, params, H = coupled_case(3, binary=True)
    log_p, m = exact.boltzmann(params, c, task.s), eta / (1 + eta)
    V = exact.value(task, log_p, H[0])
    found = exact.expected_credit(depressing(WITHOUT_PRE, eta), params, task, log_p, H, V)

    def centred(p):
        return exact.objective(task, exact.boltzmann(p, c, task.s - m), H[0])

    moved = Coupled(params.W, params.b + m * params.W.sum(axis=0), params.W_rec)
    own = exact.grad(lambda p: exact.objective(task, exact.boltzmann(p, c, task.s), H[0]))(params)
    assert exact.largest_gap(found.W / (1 + eta), exact.grad(centred)(moved).W) < TIGHT
    assert exact.largest_gap(found.W / (1 + eta), own.W - m * own.b) < TIGHT
    assert exact.largest_gap(found.W / (1 + eta), own.W) > 5e-4
    assert exact.largest_gap(found.b, own.b) < TIGHT


@pytest.mark.parametrize(("kind", "variant"), [(Boltzmann, DepressedBoltzmann), (Recurrent, DepressedRecurrent)])
def test_inputs_of_minus_one_and_one_have_it_as_printed_with_eta_one_on_the_bits(kind, variant):
    # No baseline: the same draws, though W of the bits would have made others likely.
    rng, rule = np.random.default_rng(0), kind(coupling=c, baseline=Nothing())
    params, bits = exact.coupled(rng, 3, 2, symmetric=True), exact.states(3)
    H, delta = exact.paths(2, 2)[:, rng.integers(0, 64, 8)], rng.normal(size=8)
    as_printed = exact.credit(rule, params, 2 * bits - 1, H, delta)
    one = depressing(WITHOUT_PRE, 1.0, variant, baseline=Nothing())
    assert exact.largest_gap(exact.credit(one, params, bits, H, delta).W, as_printed.W) < TIGHT
    more = dataclasses.replace(one, variant_strength=0.4)
    again = dataclasses.replace(one, variant_strength=1.8)  # 1 + 2η
    found = exact.credit(more, params, 2 * bits - 1, H, delta).W
    assert exact.largest_gap(found, exact.credit(again, params, bits, H, delta).W) < TIGHT


def test_a_chain_whose_units_hear_signs_learns_its_weights_as_printed_with_eta_one():
    rng = np.random.default_rng(1)
    params, x = exact.coupled(rng, 2, 2, symmetric=False), exact.states(2)
    H, delta = exact.paths(2, 2)[:, rng.integers(0, 64, 4)], rng.normal(size=4)
    one = depressing(WITHOUT_PRE, 1.0, DepressedRecurrent, baseline=Nothing())
    signed = Recurrent(coupling=c, chain_signals="signed", baseline=Nothing())
    assert (
        exact.largest_gap(exact.credit(one, params, x, H, delta).W_rec, exact.credit(signed, params, x, H, delta).W_rec)
        < TIGHT
    )


# One without the other ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eta", ETAS)
def test_one_without_the_other_is_the_gradient_of_pairs_that_are_centred_and_stays_symmetric(eta):
    """V true, Boltzmann law. (1 + η) H_i H_j − ½ η (H_i + H_j): with the energy ½ c (h − m)ᵀ W_rec (h − m), now with
    m = ½ η / (1 + η), the gradient by pairs at the same law is E[ΔW_rec] / (1 + η); in the layer's own coordinates it
    is ∇W_rec − c m (∇b_i + ∇b_j), not the gradient. W and b learn as before."""
    task, params, H = coupled_case(4)
    log_p, m = exact.boltzmann(params, c, task.s), 0.5 * eta / (1 + eta)
    V = exact.value(task, log_p, H[0])
    found = exact.expected_credit(depressing("one-without-other", eta), params, task, log_p, H, V)
    own = exact.grad(lambda p: exact.objective(task, exact.boltzmann(p, c, task.s), H[0]))(params)

    def centred(W_rec, b):
        """½ c (h − m)ᵀ W (h − m) is ½ c hᵀ W h − c m 1ᵀ W h and a constant (W symmetric)."""
        same = Coupled(params.W, b - c * m * 0.5 * (W_rec + W_rec.T).sum(axis=0), W_rec)
        return exact.objective(task, exact.boltzmann(same, c, task.s), H[0])

    moved = params.b + c * m * params.W_rec.sum(axis=0)
    other = pairs(Coupled(own.W, own.b, exact.grad(centred)(params.W_rec, moved))).W_rec
    lost = c * m * (own.b[:, None] + own.b[None]) * (1 - jnp.eye(len(own.b)))
    assert exact.largest_gap(found.W_rec / (1 + eta), other) < TIGHT
    assert exact.largest_gap(found.W_rec / (1 + eta), pairs(own).W_rec - lost) < TIGHT
    assert exact.largest_gap(found.W_rec, found.W_rec.T) < TIGHT
    assert np.abs(np.diag(found.W_rec)).max() == 0
    assert np.abs(lost).max() > 1e-3
    assert exact.largest_gap((found.W, found.b), (own.W, own.b)) < TIGHT


# Algorithm 2 ----------------------------------------------------------------------------------------------------------


def recurrent_case(seed, T=2):
    """Every path of T steps of two units."""
    task, params, _ = coupled_case(seed, N=2, symmetric=False)
    return task, params, exact.paths(2, T), exact.recurrent(params, c, T, task.s)


def test_algorithm_2_depresses_already_and_its_eta_is_the_odds_of_each_unit():
    """x (H − P) = (1 − P) (x H − η x (1 − H)) with η = P / (1 − P), draw by draw."""
    task, params, H, _ = recurrent_case(0, T=1)
    x = np.repeat(task.s[:1], H.shape[1], axis=0)
    P = np.asarray(exact.activity(Recurrent(coupling=c), params, jnp.asarray(x), H).P)
    for k in range(H.shape[1]):
        one, h, delta = x[k : k + 1], H[:, k : k + 1], np.ones(1)
        both = exact.credit(Recurrent(coupling=c), params, one, h, delta)
        for i in range(2):
            p = P[0, k, i]
            rule = depressing(WITHOUT_POST, p / (1 - p), DepressedRecurrent, baseline=Nothing())
            found = exact.credit(rule, params, one, h, delta)
            assert exact.largest_gap((1 - p) * found.W[:, i], both.W[:, i]) < TIGHT
            assert exact.largest_gap((1 - p) * found.W_rec[:, i], both.W_rec[:, i]) < TIGHT


@pytest.mark.parametrize("seed", range(3))
def test_beside_its_own_centre_it_brings_the_bias_back(seed):
    """c = 0, λ = 0, where Algorithm 2 is REINFORCE and forgives any V: the bias is η (E[R | x] − V) (E[H | x] − 1)."""
    task, params, H, _ = recurrent_case(seed, T=1)
    apart, eta = jax.tree.map(lambda leaf: leaf, dataclasses.replace(params, W_rec=jnp.zeros((2, 2)))), 0.5
    log_p, V = exact.recurrent(apart, 0.0, 1, task.s), np.random.default_rng(seed).normal(size=len(task.s))
    R, mean, covariance = given_x(task, log_p, H[-1])
    depressed = DepressedRecurrent(0.0, 1, 0.0, variant_form=WITHOUT_POST, variant_strength=eta)
    biased = eta * (R - V)[:, None] * (mean - 1)
    for rule, factor, bias in ((Recurrent(0.0, 1, 0.0), 1.0, 0.0), (depressed, 1 + eta, biased)):
        found = exact.expected_credit(rule, apart, task, log_p, H, V).W
        expected = np.einsum("s,sj,si->ji", task.d0, task.s, factor * covariance + bias)
        assert exact.largest_gap(found, expected) < TIGHT


@pytest.mark.parametrize("eta", [0.3, 0.9, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_post_before_pre_goes_uphill_below_eta_one_slower_in_what_is_symmetric(eta, seed):
    """λ = 1, any V, where G = ∇W_rec (M7): symmetric part times 1 − η, the rest times 1 + η, so that the product with
    the gradient is at least (1 − η) |∇|². At η = 1 a W_rec that begins at 0 stays antisymmetric."""
    task, params, H, log_p = recurrent_case(seed)
    gradient = exact.grad(lambda W_rec: exact.objective(task, law(params, W_rec, task.s), H[-1]))(params.W_rec)
    V = np.random.default_rng(seed).normal(size=len(task.s))
    rule = depressing("post-before-pre", eta, DepressedRecurrent, trace_decay=1.0)
    found = exact.expected_credit(rule, params, task, log_p, H, V).W_rec
    same, other = 0.5 * (gradient + gradient.T), 0.5 * (gradient - gradient.T)
    assert exact.largest_gap(found, (1 - eta) * same + (1 + eta) * other) < TIGHT
    assert float((found * gradient).sum()) >= (1 - eta) * float((gradient**2).sum()) - TIGHT
    if eta == 1.0:
        assert exact.largest_gap(found, -found.T) < TIGHT


def law(params, W_rec, s):
    """The first draw does not know W_rec."""
    return exact.recurrent(Coupled(params.W, params.b, W_rec), c, 2, s)


def test_above_eta_one_post_before_pre_can_go_downhill():
    """Two units that both pay when they agree: the gradient is symmetric, and 1 − η of it is left."""
    params = Coupled(jnp.zeros((1, 2)), jnp.zeros(2), jnp.zeros((2, 2)))
    task = exact.Toy(np.ones((1, 1)), np.ones(1), np.asarray([[0.0, 1.0]]), Affine(jnp.ones((2, 1)), jnp.zeros(1)))
    H, log_p = exact.paths(2, 1), exact.recurrent(params, c, 1, task.s)
    gradient = exact.grad(
        lambda W_rec: exact.objective(task, exact.recurrent(Coupled(params.W, params.b, W_rec), c, 1, task.s), H[-1])
    )(params.W_rec)
    found = exact.expected_credit(
        depressing("post-before-pre", 1.5, DepressedRecurrent, steps=1), params, task, log_p, H, np.zeros(1)
    )
    assert exact.largest_gap(found.W_rec, -0.5 * gradient) < TIGHT
    assert np.abs(gradient).min() > 0.01


# As settings ----------------------------------------------------------------------------------------------------------


def test_at_strength_zero_nothing_changes_and_a_strength_alone_is_refused():
    task, params, H = coupled_case(0)
    log_p, V = exact.boltzmann(params, c, task.s), np.zeros(4)
    for kind, variant in ((Boltzmann, DepressedBoltzmann), (Recurrent, DepressedRecurrent)):
        paths = H if kind is Boltzmann else exact.paths(3, 2)
        p = log_p if kind is Boltzmann else exact.recurrent(params, c, 2, task.s)
        plain = exact.expected_credit(kind(coupling=c), params, task, p, paths, V)
        zero = exact.expected_credit(depressing(WITHOUT_POST, 0.0, variant), params, task, p, paths, V)
        assert exact.largest_gap(plain, zero) < TIGHT
        with pytest.raises(FieldError, match=r"^setting: 'variant_strength' is not"):
            change(Run(rule=kind()), "variant_strength", 3.0)


def test_pairs_that_are_signed_or_expected_are_refused_in_one_line():
    for others in ({"chain_signals": "signed"}, {"baseline": Learned()}):
        with pytest.raises(FieldError, match=r"^variant_form: 'one-without-other' is not .*signed chain"):
            DepressedBoltzmann(variant_form="one-without-other", **others)
    with pytest.raises(FieldError, match="post-before-pre"):
        DepressedBoltzmann(variant_form="post-before-pre")


@pytest.mark.parametrize(
    "rule", [DepressedBoltzmann(variant_form=WITHOUT_POST), DepressedRecurrent(variant_form="post-before-pre")]
)
def test_only_xla_trains_it_and_the_others_say_why(rule):
    run = Run(rule=rule, hidden=(8,), task=Multiplexer(bits=1))
    assert xla.supports(run) is None
    for engine in (cpu, cuda):
        assert "depress" in engine.supports(run)
        assert "depress" not in (engine.supports(Run(rule=Reinforce())) or "")


@pytest.mark.learning
@pytest.mark.parametrize("task", [Multiplexer(bits=1), Control(env="CartPole-v1")], ids=["one step", "environment"])
def test_trained_with_eta_one_post_before_pre_leaves_weights_that_are_antisymmetric(task):
    """On every kind of task: Adam, too, keeps what begins at 0 and whose update is."""
    rule = DepressedRecurrent(coupling=1.0, variant_form="post-before-pre")
    with jax.enable_x64(False):
        run = Run(rule=rule, task=task, hidden=(5,), episodes=320 if isinstance(task, Multiplexer) else 20)
        W_rec = np.asarray(train(run)[0].params.layers[0].W_rec)
    assert np.abs(W_rec).max() > 1e-3
    assert np.abs(W_rec + W_rec.T).max() < 1e-6


# The criteria of Q3 ---------------------------------------------------------------------------------------------------

SETTINGS = [run for name in ("depression", "depression-in-time") for run in FIGURES[name].settings()]
TUNED = [resized(run, 1_000_000) for run in (TUNED_1, TUNED_2)]


def among(kind, *forms, tuned=False, **others):
    """Whether a run is of this kind."""

    def applies(run):
        rule, has = run.rule, {"encoding": run.task.encoding, "baseline": run.rule.baseline.name}
        at_best = any(rule.steps == one.rule.steps and run.signals == one.signals for one in TUNED)
        same = all(has[name] == value for name, value in others.items())
        form = getattr(rule, "variant_form", "none")
        return isinstance(rule, kind) and at_best == tuned and same and (not forms or form in forms)

    return applies


EVERY = (WITHOUT_POST, WITHOUT_PRE, "post-before-pre")
WORLD = {  # who differs from a reward of 0.6, and by how much, if it is as suspected
    "a centre": (among(Boltzmann, WITHOUT_POST), 0.1),
    "a centre, tuned": (among(Boltzmann, WITHOUT_POST, tuned=True), 0.1),
    "0/1": (among(Boltzmann, WITHOUT_PRE, encoding="binary"), 0.1),
    "-1/+1": (among(Boltzmann, WITHOUT_PRE, encoding="signed"), 0.0),
    "pairs": (among(Boltzmann, "one-without-other"), 0.0),
    "two centres": (among(Recurrent, WITHOUT_POST, baseline="probability"), -0.1),
    "no centre": (among(Recurrent, baseline="none"), -0.1),
    "another centre": (among(Recurrent, WITHOUT_POST, baseline="none"), 0.1),
    "backwards": (among(Recurrent, "post-before-pre"), 0.0),
    "tuned in time": (among(Recurrent, *EVERY, tuned=True), 0.0),
}


def words(seeds=range(3300, 3500), **changed):
    """Verdicts in that world with some of it changed."""
    results = []
    for run in SETTINGS:
        level = 0.6 + sum(changed.get(name, gain) for name, (applies, gain) in WORLD.items() if applies(run))
        results += made_up(run, (level, level, 0.0), 0.02, seeds)
    return {one.id: one.verdict for one in verdicts(results) if one.figure.startswith("depression")}


def test_in_the_world_that_was_suspected_every_answer_is_yes():
    assert words() == dict.fromkeys([one.id for one in CLAIMS], "holds")


@pytest.mark.parametrize(
    ("name", "change", "refuted"),
    [
        ("a centre", -0.1, {"Q3.1", "Q3.2"}),
        ("a centre, tuned", -0.1, {"Q3.3"}),
        ("0/1", -0.1, {"Q3.4"}),
        ("-1/+1", 0.1, {"Q3.4"}),
        ("pairs", 0.1, {"Q3.5"}),
        ("two centres", 0.1, {"Q3.6"}),
        ("another centre", -0.1, {"Q3.7", "Q3.8"}),
        ("backwards", 0.1, {"Q3.9"}),
        ("tuned in time", 0.1, {"Q3.10"}),
    ],
)
def test_each_answer_can_be_no(name, change, refuted):
    assert {id for id, word in words(**{name: change}).items() if word == "fails"} == refuted


def test_the_tuned_settings_are_those_that_the_search_chose_at_64_units():
    """By reward over all episodes, in the table of the search."""
    page = (Path(__file__).parents[1] / "results" / "cuda" / "tuned.md").read_text()
    assert re.search(r"Algorithm 1 \| 64 \| \d+ \| α = 0.01, falling, c = 0.25, T = 10, critic 0.002, signed \|", page)
    assert re.search(r"Algorithm 2 \| 64 \| \d+ \| α = 0.01, c = 0.25, λ = 0.5, signed \|", page)
    assert TUNED_1.learning_rate == (Linear(0.01, 0.0005), Linear(0.01, 0.0005), 0.002)
    assert (TUNED_1.rule, TUNED_1.signals, TUNED_1.hidden) == (Boltzmann(0.25, 10), "signed", (64,))
    assert (TUNED_2.rule, TUNED_2.signals, TUNED_2.learning_rate) == (Recurrent(0.25, 2, 0.5), "signed", 0.01)
