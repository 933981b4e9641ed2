"""Q5: how good estimates of the gradient are, against enumeration; checkpoints; what decides the claims."""

import json

import equinox as eqx
import exact
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_claims import made_up

from coexplore import Boltzmann, Recurrent, Reinforce, Run, StraightThrough, UnbiasedWeightMax, engines
from coexplore.cli import gradients as command
from coexplore.paper import checkpoints, gradient_tables, gradients
from coexplore.paper.checkpoints import checkpoint, episodes_to, networks, read_table, write_table
from coexplore.paper.figure import resized
from coexplore.paper.figures import FIGURES
from coexplore.paper.open_figures.why import ALONE, ESTIMATES, at_size, in_batches
from coexplore.paper.questions import verdicts
from coexplore.paper.questions.why import slowness
from coexplore.rules import Backprop
from coexplore.run import Result, bins
from coexplore.store import StoreError
from coexplore.study import train
from coexplore.tasks.multiplexer import Multiplexer

RULES = {
    "reinforce": Reinforce(),
    "boltzmann": Boltzmann(coupling=0.8, steps=1),
    "alone": Boltzmann(coupling=0.0, steps=1),
    "recurrent": Recurrent(coupling=0.8, steps=1, trace_decay=0.5),
    "ste": StraightThrough(),
    "weight-max": UnbiasedWeightMax(),
    "expected": UnbiasedWeightMax(expected=True),
}


def small(rule, seed=0):
    """Four units on the multiplexer of one address bit, and parameters that are far from both 0 and certainty."""
    run, rng = Run(rule=rule, task=Multiplexer(bits=1), hidden=4, episodes=1600), np.random.default_rng(seed)
    params = jax.tree.map(lambda x: x + 0.7 * rng.normal(size=x.shape).astype(np.float32), run.init())
    if isinstance(rule, Boltzmann):
        params = eqx.tree_at(lambda p: p.layers[0].W_rec, params, exact.coupled(rng, 3, 4, True).W_rec.astype("f4"))
    return run, params


def known(run, params, right=False):
    """E g, E g² of a batch of 16, and ∇E[R], by enumeration: every state, every path, every action."""
    states = exact.states(3).astype(bool)
    s = run.task.observe(states)
    R = np.stack([run.task.reward(states, np.full(8, a)) for a in (0, 1)], axis=1)
    toy = exact.Toy(s, np.full(8, 1 / 8), R, params.layers[1])
    rule, layers = run.rules[0], params.layers
    V = run.critic.value(params.critic, jnp.asarray(s))
    if right:
        every = exact.deep((rule,), toy, layers)
        V = np.bincount(every.s, every.p * every.r) * 8
    mean = exact.deep_credit(rule, toy, layers, V)[0]
    variance = exact.deep_variance(rule, toy, layers, V)[0]
    slope = exact.deep_gradient(toy, layers, rule)[0]
    square = jax.tree.map(lambda v, m: v / run.batch + m**2, variance, mean)
    return mean, square, gradients.paired(slope) if isinstance(rule, Boltzmann) else slope


def exactly(run, params, names, right=False):
    """The four numbers, with nothing drawn."""
    g, g2, slope = (gradients._flat(tree, names) for tree in known(run, params, right))
    a = np.divide(g, np.sqrt(g2), out=np.zeros_like(g), where=g2 > 0)
    cosine = g @ slope / np.linalg.norm(g) / np.linalg.norm(slope)
    return {"snr": g @ g / (g2.sum() - g @ g), "cosine": cosine, "share": a @ a / len(a), "gain": a @ slope}


SLOW = ("alone", "weight-max", "expected", "boltzmann", "recurrent", "ste")


@pytest.mark.parametrize("name", [pytest.param(x, marks=[pytest.mark.learning] * (x in SLOW)) for x in RULES])
def test_what_is_measured_is_what_enumeration_gives(name):
    """Within four standard errors, and these are at most an eighth of the number, or of a cosine of ½."""
    run, params = small(RULES[name])
    found = gradients.measured(run, params, seed=1)
    for part, names in gradients.PARTS.items():
        if part in found and not (name == "alone" and part != "forward"):
            right = exactly(run, params, names)
            for statistic, (value, se) in found[part].items():
                assert abs(value - right[statistic]) < 4 * se + 1e-6, (part, statistic)
                assert se < 0.125 * max(abs(right[statistic]), 0.5 * (statistic == "cosine")), (part, statistic)


@pytest.mark.learning
@pytest.mark.parametrize("name", ["boltzmann", "recurrent", "ste"])
def test_with_a_right_critic_what_is_measured_is_what_enumeration_gives_with_one(name):
    """V = E[R | S]: the cosine, which its own noise (an eighth of that of q) leaves alone."""
    run, params = small(RULES[name])
    value, se = gradients.measured(run, params, seed=2)[gradients.RIGHT]["forward"]["cosine"]
    right, wrong = (exactly(run, params, ("W", "b"), critic)["cosine"] for critic in (True, False))
    assert abs(value - right) < 4 * se
    assert name != "boltzmann" or abs(right - wrong) > 10 * se


@pytest.mark.learning
def test_without_coupling_the_recurrent_part_is_nothing():
    run, params = small(RULES["alone"])
    assert gradients.measured(run, params)["recurrent"] == {
        "snr": (None, None), "cosine": (None, None), "share": (0.0, 0.0), "gain": (0.0, 0.0)
    }  # fmt: skip


def test_unbiased_rules_point_along_the_gradient_and_the_others_do_not():
    """By enumeration, so that the cosines above have something to tell apart."""
    cosines = {name: exactly(*small(rule), ("W", "b"))["cosine"] for name, rule in RULES.items()}
    assert all(cosines[name] == pytest.approx(1, abs=1e-5) for name in ("reinforce", "weight-max", "expected"))
    assert cosines["boltzmann"] < cosines["alone"] < 0.5
    assert cosines["recurrent"] < 0.995  # its first draw gets no credit


def off(run, params, slope):
    """How far the mean of sixteen blocks is from a gradient, as a share of it."""
    blocks = [gradients.exact_block(run, params, key)[0] for key in jax.random.split(jax.random.key(1), 16)]
    found, right = (
        gradients._flat(tree, ("W", "b")) for tree in (jax.tree.map(lambda *x: sum(x) / 16, *blocks), slope)
    )
    return np.linalg.norm(found - right) / np.linalg.norm(right)


@pytest.mark.learning
def test_the_score_of_the_last_draw_in_place_of_the_whole_path_would_be_seen(monkeypatch):
    run, params = small(Recurrent(coupling=4.0, steps=1))
    slope = known(run, params)[2]
    assert off(run, params, slope) < 0.05
    monkeypatch.setattr(type(run.rules[0].law), "log_probability", last_draw)
    jax.clear_caches()  # the method is no part of what is compiled for
    wrong = off(run, params, slope)
    jax.clear_caches()
    assert wrong > 0.2


@pytest.mark.learning
def test_noise_that_is_counted_as_signal_would_be_seen():
    """Sixteen blocks of one batch each, a hundred times: the square of the mean, and the mean of products of blocks."""
    run, params = small(RULES["recurrent"])
    blocks = [gradients.own_block(run, params, jax.random.key(i), 1)[0] for i in range(1600)]
    g = np.array([gradients._flat(block, ("W", "b")) for block in blocks])
    products = [each @ each.T for each in g.reshape(100, 16, -1)]
    signal = np.sum(gradients._flat(known(run, params)[0], ("W", "b")) ** 2)
    careful, naive = [gradients._squared(each, np.arange(16)) for each in products], [each.mean() for each in products]
    se = np.std(careful) / 10
    assert abs(np.mean(careful) - signal) < 4 * se
    assert np.mean(naive) - signal > 10 * se


def last_draw(law, params, d, path):
    x = law.coupling * path.H[-2] @ params.W_rec + d
    return (path.H[-1] * x - jax.nn.softplus(x)).sum(axis=1)


@pytest.mark.learning
def test_of_deterministic_units_the_gradient_is_that_of_the_output():
    run, params = small(Backprop(activation="tanh"))
    states = exact.states(3).astype(bool)
    s, answer = jnp.asarray(run.task.observe(states)), jnp.asarray(2.0 * run.task.answer(states) - 1)

    def earned(hidden):
        out = params.layers[1]
        return (answer * jnp.tanh(0.5 * (jnp.tanh(s @ hidden.W + hidden.b) @ out.W + out.b)[:, 0])).mean()

    slope = exact.grad(earned)(params.layers[0])
    found = np.mean([gradients.exact_block(run, params, jax.random.key(i))[0].W for i in range(8)], axis=0)
    assert np.abs(found - slope.W).max() < 0.01 * np.abs(slope.W).max() + 0.003
    value, se = gradients.measured(run, params)["forward"]["cosine"]
    assert abs(value - 1) < 4 * se + 1e-3


@pytest.mark.learning
@pytest.mark.parametrize("engine", ["cpu", "xla"])
@pytest.mark.parametrize("rule", [Boltzmann(steps=3), Reinforce()])
def test_a_shorter_run_is_the_beginning_of_a_longer_one_bit_for_bit(engine, rule):
    long, one = Run(rule=rule, hidden=8, episodes=4_800, seed=3), engines.find(engine)
    if why := one.missing():
        pytest.fail(why)
    state = one.advance(one.advance(one.start([long]), 70), 30)
    (short,) = train([Run(rule=rule, hidden=8, episodes=1_600, seed=3)], engine, progress=False)
    for a, b in zip(jax.tree.leaves(one.params(state)[0]), jax.tree.leaves(short.params), strict=True):
        assert np.array_equal(a, b)


def with_curve(curve, **settings):
    return Result(Run(**settings), "cpu", np.asarray(curve, np.float32), None, {})


def test_a_checkpoint_ends_where_the_last_window_first_earned_the_level():
    """4,000 episodes a bin, so windows of four: .4 is reached when the bins 498 – 501 have 0, 0, .8, .8."""
    curve = np.where(np.arange(1000) < 500, 0.0, 0.8)
    result = with_curve(curve, seed=7)
    assert checkpoint(result, 0.3).episodes == 502 * 4000
    assert checkpoint(result, 0.3).seed == 7
    assert checkpoint(result, 0.5).episodes == 503 * 4000
    assert checkpoint(result, 0.9) is None


def test_speed_is_read_between_the_points_of_a_packed_curve_and_who_never_gets_there_has_none():
    """20,000 episodes a point; from 0 at 490,000 to .8 at 510,000, so .4 at half a million."""
    curve = np.where(np.arange(1000) < 125, 0.0, 0.8)
    assert episodes_to(with_curve(curve), 0.4) == pytest.approx(500_000)
    assert episodes_to(with_curve(curve.reshape(200, 5).mean(axis=1)), 0.4) == pytest.approx(500_000)
    assert episodes_to(with_curve(curve), 0.81) is None


# What decides: worlds made up --------------------------------------------------------------------------------------

PACE = {"Algorithm 1": 7, "unbiased Weight Max, expected": 6, "STE backprop": 5, "unbiased Weight Max": 4}
PACE |= {"Algorithm 2": 3, "REINFORCE": 2, "Algorithm 1, c = 0": 1}
SEEDS = range(3400, 3420)


def curve_of(pace, P):
    """Rises to .9, the sooner the higher the pace."""
    return 0.9 * np.clip(np.arange(1, P + 1) / P * (1 + pace), 0, 1)


def runs_of_why(seeds=SEEDS, sizes=(32, 64, 128)):
    found = []
    for (label, N), run in networks().items():
        for seed in seeds if N in sizes and label in PACE else ():
            curve = curve_of(PACE[label], bins(run.updates)).astype(np.float32)
            found.append(Result(run.with_seed(seed), "cpu", curve, None, {}))
    return found


def row(label, run, seed, snr, cosine, gain, level=0.3):
    numbers = {"snr": [snr, 0.0], "cosine": [cosine, 0.0], "share": [snr, 0.0], "gain": [gain, 0.0]}
    head = {"label": label, "units": run.hidden[0], "seed": seed, "level": level, "episodes": 16, "reward": 0.3}
    return {**head, "digest": "d", "setting": run.setting.digest, "engine": "cpu", "forward": numbers}


def rows_of(of, sizes=(32, 64, 128), seeds=range(3400, 3405)):
    """`of` gives signal to noise, cosine and gain from the pace and the label."""
    noise = np.random.default_rng(0)
    every = [(label, run) for (label, N), run in networks().items() if N in sizes and label in PACE]
    return [
        row(label, run, seed, *(x * (1 + 0.02 * noise.normal()) for x in of(PACE[label], label)))
        for label, run in every
        for seed in seeds
    ]


def words(of, **where):
    judged = verdicts(runs_of_why(), measured=rows_of(of, **where))
    return {one.id: one.verdict for one in judged if one.figure == "why"}


def test_where_signal_to_noise_goes_with_speed_the_papers_reason_holds():
    found = words(lambda pace, label: (0.001 * pace, 0.1 * pace, 0.01 * pace))
    assert found == {**dict.fromkeys(["Q5.1", "Q5.2", "Q5.3", "Q5.4", "Q5.5"], "holds"), "Q5.6": found["Q5.6"]}
    assert found["Q5.6"] != "holds"  # neither tells speed better than the other


def test_where_it_goes_against_speed_each_answer_is_no():
    found = words(lambda pace, label: (0.01 / pace, 0.5 / pace, 0.01 * pace))
    assert [found[f"Q5.{i}"] for i in range(1, 7)] == ["fails", "fails", "fails", "fails", "holds", "holds"]
    assert words(lambda pace, label: (0.001 * pace, 0.1, 0.01 / pace))["Q5.5"] == "fails"


def test_claims_over_sizes_wait_for_the_three_that_are_always_measured_and_take_in_the_others():
    def of(pace, label):
        return 0.001 * pace, 0.1 * pace, 0.01 * pace

    assert words(of, sizes=(32, 64))["Q5.4"] == "not run"
    assert words(of, sizes=(32, 128))["Q5.1"] == "not run"
    everywhere = verdicts(runs_of_why(sizes=(32, 64, 128, 256)), measured=rows_of(of, sizes=(32, 64, 128, 256)))
    sentence = {one.id: one.sentence for one in everywhere}["Q5.4"]
    assert "N = 32 to 256" in sentence


def test_who_never_gets_there_is_slower_than_all_who_do():
    result = with_curve(np.full(1000, 0.2))
    assert episodes_to(result, 0.4) is None
    assert slowness(result, 0.4) > slowness(with_curve(np.linspace(0, 0.41, 1000)), 0.4)


def level_in_batches(run, slow=0.2, gain=0.4, alone=0.0):
    """Reward of a world in which REINFORCE catches up as batches grow."""
    doublings = np.log2(run.batch / 16)
    if run.rule == ALONE.rule:
        return 0.2 + alone * doublings / 4
    return 0.6 if isinstance(run.rule, Boltzmann) else slow + gain * doublings / 4


def in_the_world_of_batches(**effects):
    levels = {run: level_in_batches(run, **effects) for run in FIGURES["batches"].settings()}
    results = [one for run, x in levels.items() for one in made_up(run, (x, x, 0.0), 0.01, range(3400, 3600))]
    return {one.id: one.verdict for one in verdicts(results) if one.figure == "batches"}


def test_larger_batches_can_show_that_it_is_variance_and_that_it_is_not():
    assert in_the_world_of_batches() == dict.fromkeys(["Q5.7", "Q5.8", "Q5.9", "Q5.10"], "holds")
    assert in_the_world_of_batches(gain=0.0, alone=0.3) == dict.fromkeys(["Q5.7", "Q5.8", "Q5.9", "Q5.10"], "fails")


def test_figures_of_larger_batches_have_as_many_updates_and_more_episodes():
    settings = FIGURES["batches"].settings()
    assert {run.updates for run in settings} == {62_500}
    assert {run.batch for run in settings} == {16, 32, 64, 128, 256}
    steps = {run.learning_rate for run in settings if run.batch == 256}
    assert steps == {0.005, 0.02}
    assert resized(in_batches(ALONE, 64), 1600).episodes == 6400
    assert len(settings) == 5 * (1 + 2 * 4)


def test_why_has_every_rule_at_every_size_and_backprop_at_one():
    assert set(FIGURES["why"].settings()) == set(networks().values())
    assert len(networks()) == 7 * len(ESTIMATES) + 1
    assert {label for label, _ in networks()} == {*PACE, "plain backprop"}


def as_text(row):
    return json.dumps(row, sort_keys=True)


# The table --------------------------------------------------------------------------------------------------------


def test_a_table_is_read_as_it_was_written_beside_a_store_and_beside_a_pack(tmp_path):
    rows = rows_of(lambda pace, label: (0.1, 0.5, 0.2), sizes=(32,))
    rows[0]["forward"]["cosine"] = [None, None]
    for source in (tmp_path, tmp_path / "why.safetensors"):
        write_table(source, rows)
        assert sorted(map(as_text, read_table(source))) == sorted(map(as_text, rows))
    assert (tmp_path / "why.json").exists()
    assert read_table(tmp_path / "elsewhere") == []


@pytest.mark.parametrize("text", ["", "[]", '{"gradients": 1}', '{"gradients": [{}]}', '{"gradients": [{"label": 1}]}'])
def test_what_is_no_table_is_refused_in_one_line(text, tmp_path):
    (tmp_path / checkpoints.NAME).write_text(text)
    with pytest.raises(StoreError, match=r"gradients.json: not a readable table of gradients"):
        read_table(tmp_path)


@pytest.mark.learning
def test_networks_are_trained_up_to_their_checkpoints_measured_once_and_shown(tmp_path, monkeypatch):
    """Eight units of REINFORCE for 32,000 episodes; every level below 0 is reached in the first window."""
    for name, value in {"BLOCKS": 4, "BATCHES": 8, "EPISODES": 64}.items():
        monkeypatch.setattr(gradients, name, value)
    for module in (checkpoints, gradient_tables):
        monkeypatch.setattr(module, "LEVELS", (-1.0, 2.0))
    run = resized(at_size(ESTIMATES["REINFORCE"], 8), 32_000).with_seed(3)
    options = {"engine": "auto", "threads": 1, "snapshots": 0, "cluster": None}
    results = train([run], progress=False, store=tmp_path)
    (found,) = command.look_on_the_way(results, options, tmp_path, tmp_path / "out", 32_000)
    assert (found["label"], found["units"], found["seed"], found["episodes"]) == ("REINFORCE", 8, 3, 16_000)
    assert found["digest"] == checkpoint(results[0], -1.0).digest
    monkeypatch.setattr(command, "measured", None)  # what is known is not measured again
    assert command.look_on_the_way(results, options, tmp_path, tmp_path / "out", 32_000) == [found]
    assert (tmp_path / "out" / "gradients.md").exists()
    assert "| REINFORCE | 8 | -1 | 1 |" in gradient_tables.table(results, [found], 32_000)
