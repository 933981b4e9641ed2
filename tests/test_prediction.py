"""Algorithm 1 less what each unit predicts of itself: what is left of a wrong critic, by enumeration; and the searches
of Q1."""

import dataclasses
import re
import runpy
from pathlib import Path

import exact
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_claims import result

from coexplore import Boltzmann, Run, load
from coexplore.paper import questions
from coexplore.paper.figure import resized
from coexplore.paper.open_tunings.at_their_best import ALGORITHM_2, PRINTED, known
from coexplore.paper.open_tunings.one_rule import LARGE, SMALL
from coexplore.paper.tuned import Comparison
from coexplore.paper.tuned_claims import judged
from coexplore.paper.tunings import TUNINGS
from coexplore.rules import Layer
from coexplore.rules.baseline import Predicted, Prediction
from coexplore.rules.layer import PartParams
from coexplore.study import Study
from coexplore.study.search import Search, Seeds, Trials, conduct, outcome

ROOT = Path(__file__).parents[1]
CUDA = ROOT / "results" / "cuda"
TIGHT = 1e-12
N, C = 3, 0.8
OFF = 1 - np.eye(N)


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


def case(seed=4):
    """Inputs that tell states apart, so that any expectation of H given x can be predicted; the law of the layer."""
    rng = np.random.default_rng(seed)
    layer = exact.coupled(rng, 4, N, symmetric=True)
    task = exact.Toy(np.eye(4), rng.dirichlet(np.ones(4)), rng.normal(size=(4, 2)), exact.affine(rng, N, 1))
    return rng, task, layer, np.exp(exact.boltzmann(layer, C, task.s))


def predicting(mean):
    """Parameters that predict these means [S, N]."""
    return PartParams(Prediction(jnp.asarray(np.log(mean / (1 - mean))), jnp.zeros(N)))


def predicted(params, layer, x):
    """E, as these parameters predict it on x."""
    rule, x = Boltzmann(C, baseline=Predicted()), jnp.asarray(x)
    drawn = exact.activity(rule, layer, x, np.zeros((1, len(x), N)))
    return rule.baseline.estimate(params, Layer(rule.law, layer, x, drawn))


def moments(task, law, f):
    """E[f | s], E[R | s] and E[R f | s], of a function f [K, …] of H."""
    r = task.R @ exact.action_probabilities(task.out, exact.states(N)).T
    return (np.einsum("sk,k...->s...", w, f) for w in (law, law * r)), np.einsum("sk,sk->s", law, r)


def of_states(task, each):
    """E[x ⊗ …] over states, x one of which is 1: rows of W, the sum of which is b."""
    return np.einsum("s,si,s...->i...", task.d0, task.s, each)


def credited(task, layer, E, law, V, **settings):
    rule = Boltzmann(C, baseline=Predicted(**settings))
    return exact.expected_credit(rule, layer, task, np.log(law), exact.states(N)[None], V, predicting(E))


@pytest.mark.parametrize("kappa", [0.0, 0.6, 1.0])
def test_for_any_law_and_any_prediction_the_bias_is_the_product_of_the_critics_error_and_the_predictions(kappa):
    rng, task, layer, _ = case()
    law, E, V = rng.dirichlet(np.ones(2**N), 4), rng.uniform(0.1, 0.9, (4, N)), rng.normal(size=4)
    (mean, with_r), R = moments(task, law, exact.states(N))
    covariance = with_r - R[:, None] * mean
    found = credited(task, layer, E, law, V, strength=kappa)
    right = covariance + (R - V)[:, None] * (mean - kappa * E)
    np.testing.assert_allclose(found.W, of_states(task, right), atol=TIGHT)
    np.testing.assert_allclose(found.b, task.d0 @ right, atol=TIGHT)


def test_under_the_boltzmann_law_it_is_the_gradient_if_the_critic_or_the_prediction_is_right_and_else_it_is_not():
    rng, task, layer, law = case()
    (mean, _), R = moments(task, law, exact.states(N))
    gradient = exact.grad(lambda p: exact.objective(task, exact.boltzmann(p, C, task.s), exact.states(N)))(layer)
    wrong_E, wrong_V = rng.uniform(0.1, 0.9, (4, N)), rng.normal(size=4)
    for E, V, exactly in ((mean, wrong_V, True), (wrong_E, R, True), (wrong_E, wrong_V, False)):
        found = credited(task, layer, E, law, V)
        gap = max(np.abs(found.W - gradient.W).max(), np.abs(found.b - gradient.b).max())
        assert gap < TIGHT if exactly else gap > 0.05
    printed = exact.expected_credit(Boltzmann(C), layer, task, np.log(law), exact.states(N)[None], wrong_V)
    assert np.abs(printed.W - gradient.W).max() > 0.05


def test_E_E_leaves_the_covariance_of_pairs_and_the_product_of_what_is_left_of_two_units_is_a_third_rule():
    """With a right prediction. H Hᵀ − E Eᵀ is exact with a right critic; (H − E)(H − E)ᵀ is not even then."""
    rng, task, layer, law = case()
    h = exact.states(N)
    pairs = np.einsum("ki,kj->kij", h, h)
    (mean, _), R = moments(task, law, h)
    (together, with_r), _ = moments(task, law, pairs)
    covariance, left = with_r - R[:, None, None] * together, together - np.einsum("si,sj->sij", mean, mean)
    V = rng.normal(size=4)
    found = credited(task, layer, mean, law, V, pairs=1.0).W_rec
    right = C * np.einsum("s,sij->ij", task.d0, covariance + (R - V)[:, None, None] * left) * OFF
    np.testing.assert_allclose(found, right, atol=TIGHT)
    assert np.abs(np.einsum("s,sij->ij", task.d0 * (R - V), left) * OFF).max() > 0.005
    gradient = exact.by_pairs(
        exact.grad(lambda p: exact.objective(task, exact.boltzmann(p, C, task.s), exact.states(N)))(layer)
    )
    with_critic = credited(task, layer, mean, law, R, pairs=1.0).W_rec
    np.testing.assert_allclose(with_critic, gradient.W_rec, atol=TIGHT)
    beyond = h[None] - mean[:, None]
    r = task.R @ exact.action_probabilities(task.out, h).T
    third = C * np.einsum("s,sk,ski,skj->ij", task.d0, law * (r - R[:, None]), beyond, beyond) * OFF
    assert np.abs(third - gradient.W_rec).max() > 0.9 * np.abs(gradient.W_rec).max()


def test_what_the_last_step_expects_is_no_baseline_since_it_drops_what_the_step_before_decided():
    """E[R (H − p)] = Cov(R, H) − Cov(E[R | H₍T−1₎], p), p being the probabilities given H₍T−1₎."""
    _, task, layer, _ = case()
    kernel = exact.synchronous_kernel(layer, C, task.s)
    before = np.exp(exact.synchronous(layer, C, 1, task.s))
    h, r = exact.states(N), task.R @ exact.action_probabilities(task.out, exact.states(N)).T
    joint = before[:, :, None] * kernel
    p = np.einsum("skl,li->ski", kernel, h)
    R_before = np.einsum("skl,sl->sk", kernel, r)
    law = joint.sum(axis=1)
    covariance = np.einsum("sl,sl,li->si", law, r, h) - (law * r).sum(1)[:, None] * (law @ h)
    dropped = np.einsum("sk,sk,ski->si", before, R_before, p)
    dropped -= (before * R_before).sum(1)[:, None] * np.einsum("sk,ski->si", before, p)
    with_p = np.einsum("skl,sl,li->si", joint, r, h) - np.einsum("skl,sl,ski->si", joint, r, p)
    np.testing.assert_allclose(with_p, covariance - dropped, atol=TIGHT)
    assert np.abs(dropped).max() > 0.01


def test_with_the_synchronous_chain_the_covariance_is_not_the_gradient_of_its_paths():
    """The score of all draws is; the covariance with the last alone has a cosine of 0.9 and more with it, not 1."""
    _, task, layer, _ = case()
    T, H = 2, exact.paths(N, 2)
    log_p = exact.recurrent(layer, C, T, task.s)
    gradient = exact.grad(lambda p: exact.objective(task, exact.recurrent(p, C, T, task.s), H[-1]))(layer)
    law, R = np.exp(log_p), exact.value(task, log_p, H[-1])
    mean = law @ H[-1]
    rule = Boltzmann(C, T, baseline=Predicted())
    found = exact.expected_credit(rule, layer, task, log_p, H, R, predicting(mean))
    cosine = exact.cosine((found.W, found.b), (gradient.W, gradient.b))
    assert 0.9 < cosine < 0.999


def deep_case():
    """Two layers: independent units below, units of the Boltzmann law above; every (s, x, h, a)."""
    rng = np.random.default_rng(7)
    below, above, out = (
        exact.affine(rng, 2, 2),
        exact.coupled(rng, 2, N, symmetric=True, scale=3.0),
        exact.affine(rng, N, 1),
    )
    s, d0, R = exact.states(2), rng.dirichlet(np.ones(4)), 5 * rng.normal(size=(4, 2))
    x = exact.states(2)
    p_x = np.exp(exact.independent(below, s))
    reward = R @ exact.action_probabilities(out, exact.states(N)).T  # [s, h]
    return s, d0, x, p_x, above, reward


def test_above_the_first_layer_algorithm_1_is_biased_even_with_a_right_critic_and_a_right_prediction_mends_it():
    _, d0, x, p_x, above, reward = deep_case()

    def expected_reward(layer):
        law = jnp.exp(exact.boltzmann(layer, C, x))
        return jnp.einsum("s,sx,xk,sk->", d0, p_x, law, reward)

    gradient = exact.grad(expected_reward)(above)
    law = np.exp(exact.boltzmann(above, C, x))
    V = np.einsum("sx,xk,sk->s", p_x, law, reward)  # E[R | s]: what a critic that sees s can know
    mean, h = law @ exact.states(N), exact.states(N)
    i, j, k = (index.ravel() for index in np.meshgrid(np.arange(4), np.arange(4), np.arange(2**N), indexing="ij"))
    signal = len(i) * d0[i] * p_x[i, j] * law[j, k] * (reward[i, k] - V[i])
    printed = exact.credit(Boltzmann(C), above, x[j], h[None, k], signal)
    bias = np.einsum("s,sx,sx,xi,xn->in", d0, p_x, np.einsum("xk,sk->sx", law, reward) - V[:, None], x, mean)
    np.testing.assert_allclose(printed.W - gradient.W, bias, atol=TIGHT)
    assert np.abs(bias).max() > 0.02 * np.abs(gradient.W).max()
    exactly = np.einsum("n,ni,nj->ij", signal / len(i), x[j], h[k] - mean[j])
    np.testing.assert_allclose(exactly, gradient.W, atol=TIGHT)


def test_the_best_logistic_prediction_is_not_exact_once_units_are_coupled_and_is_where_the_lesson_rests():
    """Four inputs with two weights and a bias per unit: independent units are predicted exactly, coupled ones not."""
    _, _, x, _, above, _ = deep_case()
    law = np.exp(exact.boltzmann(above, C, x))
    mean = law @ exact.states(N)
    fitted = fit(x, mean)
    E = np.asarray(predicted(fitted, above, x))
    slope = np.c_[x, np.ones(4)].T @ (mean - E)
    assert np.abs(slope).max() < 1e-9
    assert 0.005 < np.sqrt(np.mean((mean - E) ** 2)) < 0.1
    alone = dataclasses.replace(above, W_rec=jnp.zeros((N, N)))
    mean = np.exp(exact.boltzmann(alone, C, x)) @ exact.states(N)
    np.testing.assert_allclose(predicted(fit(x, mean), alone, x), mean, atol=1e-9)


def fit(x, mean):
    """Newton's steps to where x (H − E)ᵀ is 0 on average."""
    inputs, weights = np.c_[x, np.ones(len(x))], np.zeros((3, N))
    for _ in range(30):
        E = exact.sigmoid(inputs @ weights)
        for i in range(N):
            curvature = inputs.T @ (inputs * (E[:, i] * (1 - E[:, i]))[:, None])
            weights[:, i] += np.linalg.solve(curvature, inputs.T @ (mean[:, i] - E[:, i]))
    return Prediction(U=jnp.asarray(weights[:2]), u=jnp.asarray(weights[2]))


# The searches ---------------------------------------------------------------------------------------------------------


@pytest.mark.packs
@pytest.mark.learning  # of the largest packs
def test_what_the_rivals_are_given_is_what_was_found_to_be_their_best():
    found = {}
    for name in ("tuned", "scaling"):
        trials = Trials([r for file in ("tuned", "scaling") for r in load(CUDA / f"{file}.safetensors")], finished=True)
        places = TUNINGS[name].searches(4_000_000)
        wanted = {place: each for place, each in places.items() if place.label in (PRINTED, ALGORITHM_2)}
        for place, each in wanted.items():
            if place.panel in ("", "4 bits"):
                found.setdefault((place.label, place.at), outcome(each, trials).chosen)
    for label in (PRINTED, ALGORITHM_2):
        for N in (*SMALL, *LARGE):
            assert {by: resized(run, 4_000_000) for by, run in known(label, N).items()} == found[label, N]


def test_one_setting_per_size_is_chosen_by_all_episodes_and_judged_by_every_measure():
    early, late = Boltzmann(0.1), Boltzmann(0.2)
    settings = [Run(rule=rule, episodes=1600) for rule in (early, late)]
    curves = dict(zip(settings, ([0.8] * 4, [0.3, 0.3, 1.0, 1.0]), strict=True))
    results = [
        result(run.with_seed(seed), np.float32(np.repeat(curve, 50)))
        for run, curve in curves.items()
        for seed in range(4)
    ]
    trials, seeds = Trials(results), Seeds([0, 1], [2, 3])
    one, each = (
        outcome(Search(lambda _: settings, seeds, (), ("reward", "first", "last"), one=one), trials)
        for one in (True, False)
    )
    assert set(one.chosen.values()) == {settings[0]}
    assert [r.setting for r in one.judged["last"]] == [settings[0]] * 2
    assert each.chosen == {"reward": settings[0], "first": settings[0], "last": settings[1]}


def test_the_searches_go_to_their_end_and_every_claim_gets_a_word():
    """Made-up rewards: a setting's depends on its digest alone, so that every step finds something new or nothing."""
    for name in ("one-rule", "centres"):
        tuning, trials = TUNINGS[name], Trials()
        searches = tuning.searches(400_000)
        assert conduct(list(searches.values()), trials, invented)
        contest = Comparison(searches, trials, tuning.length(400_000))
        assert len(contest.found) == len(searches)
        words = {one.id: one.verdict for one in judged(name, contest)}
        assert set(words) == {one.id for one in questions.CLAIMS if one.figure == name}
        assert not set(words.values()) - {"holds", "fails", "tie", "undecided"}


def invented(runs):
    levels = [int(run.setting.digest[:4], 16) / 2**17 for run in runs]
    results = [result(run, np.full(200, x, np.float32)) for run, x in zip(runs, levels, strict=True)]
    return Study(results, [], [], 0, 0.0, 0.0)


@pytest.mark.learning
def test_the_table_of_predictions_is_that_of_the_page(capsys):
    """The course of a run depends on low bits, and those on the processor: within 0.05, as its seeds differ."""
    with jax.enable_x64(False):
        runpy.run_path(str(ROOT / "docs" / "prediction.py"))["main"]()
    page = (ROOT / "docs" / "open-questions.md").read_text()
    found = dict(re.findall(r"^\| (.+) \| (0\.\d{3}) \|$", capsys.readouterr().out, re.M))
    assert len(found) == 4
    for name, number in found.items():
        told = re.search(rf"^\| {re.escape(name)} \| (0\.\d{{3}}) \|$", page, re.M)[1]
        assert float(number) == pytest.approx(float(told), abs=0.05)
