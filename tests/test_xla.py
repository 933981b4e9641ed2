"""The xla engine: one compilation, chunks that leave no trace, curves that mean what they say, learning."""

import dataclasses

import jax
import numpy as np
import pytest

from coexplore import Boltzmann, Linear, Multiplexer, Recurrent, Reinforce, Run, grid, network
from coexplore.engines import xla
from coexplore.engines.threefry import fused
from coexplore.run import bin_sizes, bins
from coexplore.store import Checkpoint, Store
from coexplore.study import study

TINY = Run(rule=Recurrent(), hidden=(5,), task=Multiplexer(bits=1), batch=4, episodes=4 * 2000)


def train(runs):
    return study(runs, engine="xla", progress=False).results


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


def arrays(state):
    return state.progress


def test_one_compilation_serves_every_grid_and_every_chunk_length():
    run = dataclasses.replace(TINY, hidden=(11,))  # a shape that no other test compiles
    runs = grid(run, seed=[0, 7], coupling=[0.0, 0.5, Linear(1.0, 0.1)], trace_decay=[0.0, 1.0])
    runs += grid(run, learning_rate=[0.001, Linear(0.01, 0.001)], baseline_strength=0.5, episodes=4 * 3000)
    before = xla._advance._cache_size()
    for run in runs:
        state = xla.start([run])
        for updates in (0, 1, 17):
            state = xla.advance(state, updates)
    assert xla._advance._cache_size() == before + 1


def test_chunks_of_any_length_give_the_same_bits():
    whole = xla.advance(xla.start([TINY]), 300)
    pieces = xla.start([TINY])
    for updates in (1, 120, 0, 79, 100):
        pieces = xla.advance(pieces, updates)
    assert pieces.done == whole.done == 300
    assert same(arrays(whole), arrays(pieces))


def test_a_run_gives_the_same_bits_whatever_it_is_trained_with():
    alone = train(dataclasses.replace(TINY, seed=3))[0]
    together = train(grid(TINY, seed=range(5)))[3]
    assert alone.run == together.run
    assert same((alone.curve, alone.params), (together.curve, together.params))


def test_twenty_updates_agree_across_vmap_widths_to_1e_5():
    runs = grid(TINY, seed=range(3))
    wide = xla.advance(xla.start(runs, width=5), 20)
    for i, run in enumerate(runs):
        narrow = xla.advance(xla.start([run], width=1), 20)
        for a, b in zip(jax.tree.leaves(wide.progress.params), jax.tree.leaves(narrow.progress.params), strict=True):
            np.testing.assert_allclose(np.asarray(a)[i], np.asarray(b)[0], atol=1e-5)


@pytest.mark.parametrize(
    ("runs", "sizes", "widths"),
    [
        (3, [3], [4]),
        (8, [8], [8]),
        (9, [9], [16]),
        (16, [16], [16]),
        (25, [16, 9], [16, 16]),
        (33, [16, 16, 1], [16, 16, 4]),
    ],
)
def test_groups_are_no_wider_than_their_runs_need(runs, sizes, widths, monkeypatch):
    monkeypatch.setattr(xla, "widths", lambda: (4, 16))
    runs = grid(TINY, seed=range(runs))
    found = xla.groups(runs)
    assert [run for group in found for run in group] == runs
    assert [len(group) for group in found] == sizes
    assert [xla.start(group).width for group in found] == widths
    monkeypatch.setattr(xla, "MOST", 9 * xla._bytes(runs[0]))  # eight of them have room
    assert max(map(len, xla.groups(runs))) == min(8, len(runs))


@pytest.mark.learning
def test_a_result_states_its_width_and_no_neighbour_changes_a_bit(monkeypatch):
    monkeypatch.setattr(xla, "widths", lambda: (2, 8))
    runs = grid(TINY, seed=range(9))
    results = train(runs)
    assert [result.provenance["width"] for result in results] == [8] * 8 + [2]
    for i, width in ((0, 8), (5, 8), (8, 2)):
        alone = xla.finish(xla.advance(xla.start([runs[i]], width), TINY.updates))[0]
        assert same((alone.curve, alone.params), (results[i].curve, results[i].params))


@pytest.mark.learning
def test_a_checkpoint_goes_on_in_its_own_width_whatever_the_groups_are_today(tmp_path, monkeypatch):
    runs = grid(TINY, seed=range(8))
    for mine, width in ((runs[:2], 2), (runs[2:3], 2), (runs[3:5], 8)):  # what interrupted studies left behind
        state = xla.advance(xla.start(mine, width), 70)
        for run, tensors in zip(mine, xla.tensors(state), strict=True):
            Store(tmp_path).save_checkpoint(run, "xla", Checkpoint(tensors, {}), xla.built())
    monkeypatch.setattr(xla, "widths", lambda: (2, 8))
    assert xla.groups(runs) == [runs]
    done = study(runs, engine="xla", progress=False, store=tmp_path)
    assert not done.failures
    results = done.results
    assert [result.provenance["width"] for result in results] == [2, 2, 2, 8, 8, 4, 4, 4]
    for result in results:
        alone = xla.finish(xla.advance(xla.start([result.run], result.provenance["width"]), TINY.updates))[0]
        assert same((alone.curve, alone.params), (result.curve, result.params))


def test_a_group_starts_as_each_of_its_runs_does():
    runs = grid(TINY, seed=[0, 2**31, 2**32 - 1], coupling=[0.1, Linear(0.5, 0.1)])
    together = xla.start(runs, width=7)
    for i, run in enumerate(runs):
        alone = xla.start([run], width=1)
        first = jax.tree.map(lambda leaf, i=i: leaf[i], (together.progress.params, together.program))
        assert same(first, jax.tree.map(lambda leaf: leaf[0], (alone.progress.params, alone.program)))
        assert same(first[0], run.init())
        assert together.keys[i] == fused(network.root_keys(run.seed)[1])


@pytest.mark.parametrize(
    "draw",
    [
        lambda key: jax.random.uniform(key, (26, 3, 7)),
        lambda key: jax.random.normal(key, (33,)),
        lambda key: jax.random.randint(key, (9, 2), 0, 17),
        lambda key: jax.random.bits(key, (5,), np.uint8),
        lambda key: jax.random.uniform(jax.random.split(key, 3)[2], ()),
        lambda key: jax.random.bernoulli(jax.random.fold_in(key, 9), 0.3, (4,)),
    ],
)
def test_the_keys_of_the_engine_draw_what_those_of_jax_do(draw):
    keys = jax.random.split(jax.random.key(2**31 + 5), 4)
    assert fused(keys).dtype != keys.dtype
    assert np.array_equal(jax.vmap(draw)(fused(keys)), jax.vmap(draw)(keys))
    assert np.array_equal(draw(fused(keys[1])), draw(keys[1]))


def test_seeds_differ_and_a_group_wider_than_its_runs_returns_only_its_runs():
    runs = grid(TINY, seed=range(2))
    results = xla.finish(xla.advance(xla.start(runs, width=4), 2000))
    assert [result.run for result in results] == runs
    assert not np.array_equal(results[0].curve, results[1].curve)


@pytest.mark.parametrize("updates", [1, 3, 10, 1003])
def test_each_point_of_the_curve_is_the_mean_reward_of_its_stretch_of_updates(updates):
    run = dataclasses.replace(TINY, episodes=4 * updates)
    state, rewards = xla.start([run]), []
    for _ in range(updates):
        state, draws = xla.update_with_draws(state)
        rewards.append(float(np.asarray(draws.r)[0].mean()))
    P = bins(updates)
    expected = [np.mean([r for t, r in enumerate(rewards) if t * P // updates == i]) for i in range(P)]
    np.testing.assert_allclose(xla.finish(state)[0].curve, expected, atol=1e-6)


def test_the_curve_has_at_most_1000_points_and_quarters_that_are_whole():
    for updates in (1, 2, 3, 4, 7, 999, 1000, 1001, 250_000, 2**31 - 1):
        assert bins(updates) <= 1000
        assert updates < 4 or bins(updates) % 4 == 0
        assert bin_sizes(updates).sum() == updates
        assert bin_sizes(updates).min() >= 1


def test_a_state_does_not_grow_with_the_number_of_episodes():
    def size(run):
        return sum(leaf.size for leaf in jax.tree.leaves(xla.start([run]).progress))

    assert size(TINY) == size(dataclasses.replace(TINY, episodes=4_000_000))


@pytest.mark.learning
def test_m5_the_recurrent_weights_of_algorithm_1_stay_symmetric_with_a_zero_diagonal():
    run = Run(rule=Boltzmann(steps=3), hidden=(20,), task=Multiplexer(bits=2), episodes=16 * 1000)
    W_rec = train(run)[0].params.layers[0].W_rec
    assert np.abs(W_rec).max() > 0.1
    assert np.abs(W_rec - W_rec.T).max() < 1e-5  # its update is symmetric; rounding may differ across the diagonal
    assert not np.diag(W_rec).any()


@pytest.mark.learning
@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize(
    ("rule", "hidden"),
    [
        (Reinforce(), (12, 8)),
        (Recurrent(), (16,)),
        ((Recurrent(), Boltzmann(coupling=0.1, steps=3)), (12, 8)),
    ],
)
def test_networks_learn_the_one_bit_multiplexer(rule, hidden):
    """Chance is 0 and certainty 1; five fixed seeds, of which the median must end above 0.8."""
    run = Run(rule=rule, hidden=hidden, task=Multiplexer(bits=1), episodes=16 * 6000, learning_rate=0.02)
    results = train(grid(run, seed=range(5)))
    assert np.median([result.last for result in results]) > 0.8
    assert np.median([result.first for result in results]) < np.median([result.last for result in results])


@pytest.mark.learning
def test_a_trained_network_acts_as_well_as_it_did_in_training():
    run = Run(rule=Recurrent(), hidden=(16,), task=Multiplexer(bits=1), episodes=16 * 6000, learning_rate=0.02)
    result = train(run)[0]
    states = np.asarray(run.task.sample(2000, jax.random.key(0)))
    actions = result.act(run.task.observe(states), 1)
    assert actions.shape == (2000,)
    assert set(np.unique(actions)) <= {0, 1}
    assert run.task.reward(states, actions).mean() == pytest.approx(result.curve[-100:].mean(), abs=0.1)
