"""A reward of its own for each layer: what it is in the mean, by enumeration; its engines; what decides Q2."""

import dataclasses
import json
from pathlib import Path

import exact
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_mixed import case

from coexplore import Boltzmann, Multiplexer, Recurrent, Result, Run, engines, network, train
from coexplore.cli.list import list_command
from coexplore.cli.reproduce import reproduce_command
from coexplore.network import Network, Params
from coexplore.paper import open_tunings
from coexplore.paper.figure import SCALES, Scale
from coexplore.paper.open_tunings import OWN, layer_places
from coexplore.paper.spaces import rate_of
from coexplore.paper.tuned import Comparison
from coexplore.paper.tuned_claims import judged
from coexplore.paper.tuning import Place, Size
from coexplore.paper.tunings import TUNINGS
from coexplore.results.tables import markdown
from coexplore.rules import Feedback
from coexplore.rules.base import odds
from coexplore.rules.laws import Bernoulli
from coexplore.rules.layer_reward import REWARDS, rewarded
from coexplore.run import change
from coexplore.study import Study
from coexplore.study.search import Seeds, Trials, conduct

TIGHT = 1e-12
PAGE = (Path(__file__).parents[1] / "docs" / "open-questions.md").read_text()


@pytest.fixture
def doubles():
    with jax.enable_x64(True):
        yield


def rule(reward, c=0.8, T=1):
    """Algorithm 2 at λ = 1: with the global signal its expected update of W_rec is the gradient (M7)."""
    return Recurrent(coupling=c, steps=T, trace_decay=1.0, layer_reward=reward)


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
    first, second = (exact.activity(kind, p, i, H) for p, i, H in zip(layers, (x, Hs[0][-1]), Hs, strict=False))
    top = exact.activity(None, layers[2], Hs[1][-1], Hs[2])
    given = Feedback(jnp.ones((len(x), 1)), odds(Bernoulli(), layers[2], top), of_output=True)
    below = kind.below(layers[1], Hs[0][-1], second, given)
    share = 2 * (first.h * below.above.slope(first.h)).sum(axis=1)
    return all_, np.asarray(share)


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
    all_, share = drawn(kind, task, layers)

    def Q(epsilon):
        """E[r | S, H] where the layer above hears (1 + ε) H: Q's slope along H."""
        again = exact.deep((kind, kind), task, scaled(layers, 1 + epsilon))
        return mean_given(all_, again.p / np.asarray(all_.p) * all_.r)[0]

    slope = (Q(1e-5) - Q(-1e-5)) / 2e-5
    for values in (all_.r, all_.r - np.asarray(V)[all_.s]):
        np.testing.assert_allclose(mean_given(all_, values * share)[0], 2 * slope, atol=1e-8)
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
    cosines, ratios = {reward: [] for reward in REWARDS}, {reward: [] for reward in REWARDS}
    for seed in range(8):
        task, layers, _ = case((rule("global"),) * 2, (2, 2), seed)
        layers = scaled(layers, by)
        all_ = exact.deep((rule("global"),) * 2, task, layers)
        V = jnp.asarray(np.bincount(all_.s, weights=all_.p * all_.r) / np.bincount(all_.s, weights=all_.p))
        gradient = exact.deep_gradient(task, layers, rule("global"))[0].W_rec
        for reward in REWARDS:
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
    given = Feedback(jnp.ones((batch, 1)), None, of_output=True)
    message = kind.below(params.layers[1], net.actor.heard(x, activities)[1], activities[1], given)
    mine = rewarded(kind.layer_reward, activities[0].h, net.actor.felt(kind.law, message))
    return float((mine.delta**2).mean())


def test_the_noise_of_a_layers_reward_grows_with_its_width():
    """To first order its signal is twice that of δ, so that it pays while E[(R/δ)²] is below 4."""
    kinds = [Recurrent(layer_reward="last"), Recurrent(layer_reward="path"), Boltzmann(layer_reward="path")]
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
        all_, share = drawn(kind, task, layers)
        S = len(task.s)
        p = np.bincount(all_.s, weights=all_.p, minlength=S)
        V = np.bincount(all_.s, weights=all_.p * all_.r, minlength=S) / p
        R = (all_.r - V[all_.s]) * share
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
    return network.learn(net, Params(params.layers, None), x, activities, r).layers


@pytest.mark.parametrize("kind", [Boltzmann(steps=2), Recurrent()], ids=lambda rule: rule.name)
def test_one_layer_and_the_last_of_several_learn_from_delta_as_ever(kind):
    for hidden in ((4,), (4, 3, 2)):
        plain = learned(kind, hidden)
        for reward in ("path", "last"):
            own = learned(change(Run(rule=kind), "layer_reward", reward).rule, hidden)
            for a, b in zip(jax.tree.leaves(plain[-2:]), jax.tree.leaves(own[-2:]), strict=True):
                np.testing.assert_array_equal(a, b)
            below = zip(jax.tree.leaves(plain[:-2]), jax.tree.leaves(own[:-2]), strict=True)
            assert all(float(jnp.abs(a - b).max()) > 1e-4 for a, b in below)


def test_engines_of_one_layer_train_it_as_if_it_were_not_there_and_deeper_networks_are_xlas():
    one = Run(rule=Boltzmann(steps=2, layer_reward="last"), hidden=(4,), task=Multiplexer(bits=1), episodes=160)
    cpu = engines.find("cpu")
    if cpu.missing() is None:
        assert cpu.supports(one) is None
        own, plain = train([one, change(one, "layer_reward", "global")], engine="cpu", progress=False)
        np.testing.assert_array_equal(own.curve, plain.curve)
    for name in ("cpu", "cuda"):
        assert engines.find(name).supports(change(one, "units", (4, 4))) == "it takes one hidden layer"


def test_in_environments_the_reward_of_a_step_is_part_of_its_trace():
    """Eligibility is credit for δ = 1, and credit is linear in δ: R = δ × share."""
    kind = Recurrent(layer_reward="last")
    run = Run(rule=kind, hidden=(4, 3), task=Multiplexer(bits=1))
    net, params = Network(run.rules, Bernoulli(), None), run.init()
    x = jnp.asarray(run.task.sample(1, jax.random.key(0)), jnp.float32)
    activities = network.act(net.actor, params, x, jax.random.key(1))
    once = network.eligibility(net, Params(params.layers, None), x, activities).layers
    thrice = network.learn(net, Params(params.layers, None), x, activities, jnp.full(1, 3.0)).layers
    for a, b in zip(jax.tree.leaves(once), jax.tree.leaves(thrice), strict=True):
        np.testing.assert_allclose(3 * np.asarray(a), b, rtol=1e-5, atol=1e-6)


def test_defaults_keep_their_digests_and_a_wrong_word_is_told():
    assert Run(rule=Boltzmann(layer_reward="global")).digest == Run(rule=Boltzmann()).digest
    assert Run(rule=Boltzmann()).digest == Run().digest
    assert Run(rule=Boltzmann(layer_reward="last")).digest != Run(rule=Boltzmann()).digest
    with pytest.raises(ValueError, match=r"layer_reward: 'sum'.*global.*path.*last"):
        Boltzmann(layer_reward="sum")


# The search of Q2 ----------------------------------------------------------------------------------------------------

TUNING = TUNINGS["layer-rewards"]


def test_both_signals_are_searched_on_equal_grids_and_judged_on_seeds_that_chose_nothing():
    searches = TUNING.searches(4_000_000)
    assert {(place.label, place.at) for place in searches} == {
        (f"Algorithm {i}{which}", L) for i in (1, 2) for which in ("", OWN) for L in (2, 3, 4)
    }
    for place, search in searches.items():
        runs = search.grid(Trials())
        assert len(runs) == {"1": 168, "2": 84}[place.label[10]]
        assert (search.seeds.choose, search.seeds.judge) == (range(1000, 1003), range(2100, 2120))
        assert {run.episodes for run in runs} == {1_000_000}
        other = searches[Place("", place.label.removesuffix(OWN), place.at)].grid(Trials())
        assert [change(run, "layer_reward", "global") for run in runs] == other
        assert {run.rule.layer_reward for run in runs} == {"last" if place.label.endswith(OWN) else "global"}


def test_what_depth_trained_of_algorithm_2_is_part_of_the_grid():
    deep, mine = TUNINGS["depth"].searches(4_000_000), TUNING.searches(4_000_000)
    for L in (2, 3, 4):
        place = Place("", "Algorithm 2", L)
        assert {*deep[place].grid(Trials())} < {*mine[place].grid(Trials())}


def answers(effect):
    """Verdicts of a world in which a reward per layer adds so much; three settings a place."""
    searches = {
        place: dataclasses.replace(search, grid=lambda _, some=tuple(search.grid(Trials())[:6:2]): some)
        for place, search in TUNING.searches(4_000_000).items()
    }

    def trained(runs):
        results = []
        for run in runs:
            rule, luck = run.rules[0], np.random.default_rng([run.seed, len(run.hidden)]).normal(0, 0.004)
            level = 0.5 + luck - 10 * abs(rate_of(run).start - 0.002)
            level += effect(rule.name, len(run.hidden)) if rule.layer_reward == "last" else 0.0
            results.append(Result(run, "xla", np.full(1000, level, np.float32), None))
        return Study(results, [], [], len(results), 0.0, 0.0)

    trials = Trials()
    assert conduct(list(searches.values()), trials, trained)
    found = judged("layer-rewards", Comparison(searches, trials, 1_000_000))
    assert {(one.seeds, one.first_seed) for one in found} == {(20, 2100)}
    return {one.id: one.verdict for one in found}


def test_each_answer_can_be_yes_and_no():
    ids = [f"Q2.{i}" for i in range(1, 6)]
    assert answers(lambda name, L: 0.3) == dict(zip(ids, ["holds"] * 4 + ["fails"], strict=True))
    assert answers(lambda name, L: -0.3) == dict(zip(ids, ["fails"] * 4 + ["holds"], strict=True))
    mixed = answers(lambda name, L: 0.3 if name == "boltzmann" and L == 3 else -0.3)
    assert mixed == dict(zip(ids, ["fails", "holds", "fails", "fails", "fails"], strict=True))


def test_all_of_it_is_searched_drawn_and_judged_small(monkeypatch, tmp_path, capsys):
    size = Size((0.005,), (0.005,), (0.25,), 0, Seeds([1000], [1005]), Seeds([1000], [1005, 1006]))
    small = dataclasses.replace(TUNING, places=lambda episodes, _: layer_places(episodes, size, (2,), 3), part=2)
    monkeypatch.setitem(TUNINGS, "layer-rewards", small)
    monkeypatch.setitem(SCALES, "quick", Scale(320, 2))
    monkeypatch.setattr(open_tunings, "COUPLINGS", (0.25,))
    words = ["layer-rewards", "--scale", "quick", "--store", str(tmp_path / "runs"), "--out", str(tmp_path / "figures")]
    assert reproduce_command(words) == 0
    told = (tmp_path / "figures" / "layer-rewards.md").read_text()
    assert f"| Algorithm 1{OWN} | 2 | 8 | α = 0.005" in told
    assert "frozen" in told
    assert (tmp_path / "figures" / "layer-rewards.png").exists()
    verdicts = json.loads((tmp_path / "figures" / "claims.json").read_text())
    assert [one["id"] for one in verdicts] == [f"Q2.{i}" for i in range(1, 6)]
    assert [one["verdict"] for one in verdicts][1:] == ["not run"] * 4
    assert reproduce_command(words) == 0
    assert "0 runs trained" in capsys.readouterr().out


def test_it_is_listed_among_the_open_questions(capsys):
    list_command([])
    assert "layer-rewards" in capsys.readouterr().out.split("open questions")[1]
