"""The cuda engine. Without a GPU: its random numbers, its host reference, and its kernel on emulated warps. With one
(marked `gpu`): the kernel itself against the reference, the same bits however it is cut, the same learning as xla."""

import ctypes
import dataclasses
import sys

import jax
import numpy as np
import pytest
from cuda_reference import ACTION, STATES, Reference, draws, named, philox, uniform, words
from replay import SURE, Replay, drawn_by_one_layer, leaves, name_of, parts_of, shaken, small
from scipy.stats import kstest

from coexplore import (
    Boltzmann,
    Critic,
    Linear,
    MapProp,
    Multiplexer,
    Recurrent,
    Reinforce,
    Run,
    StraightThrough,
    UnbiasedWeightMax,
    grid,
)
from coexplore.engines import cuda
from coexplore.engines.base import NO_GPU
from coexplore.engines.cuda import device, layout
from coexplore.engines.cuda.device import Kernel
from coexplore.engines.cuda.layout import Shape
from coexplore.engines.look import look
from coexplore.engines.one_layer import structure
from coexplore.rules.baseline import Chains, Drive, Half, Nothing, Predicted, Probability
from coexplore.rules.learning_signal import Reward

pytestmark = pytest.mark.kernels

# What an update must be, for every rule -------------------------------------------------------------------------------

EVERY_RULE = [
    small(Reinforce(baseline=Nothing(), learning_signal=Reward()), N=1, critic=None),
    small(
        Reinforce(baseline=Probability(strength=0.5), learning_signal=Reward()),
        N=8,
        task=Multiplexer(2, "binary", "binary"),
    ),
    small(Reinforce(baseline=Nothing()), N=13, bits=3, critic=Critic("tanh", 9)),
    small(
        Reinforce(baseline=Probability(strength=Linear(1.0, 0.2))),
        N=5,
        learning_rate=(0.01, 0.002, Linear(0.03, 0.001)),
    ),
    small(StraightThrough(), N=12, bits=2),
    small(StraightThrough(learning_signal=Reward()), N=3),
    small(UnbiasedWeightMax(), N=16, bits=4),
    small(UnbiasedWeightMax(expected=True), N=9),
    small(Boltzmann(coupling=Linear(1.0, 0.2), steps=4), N=20, bits=4),
    small(Boltzmann(steps=1, learning_signal=Reward()), N=1, critic=None),
    small(Boltzmann(coupling=0.0, steps=2), N=11),
    small(Boltzmann(coupling=0.7, steps=4, sampler="lazy"), N=11),
    small(Recurrent(), N=20, bits=4),
    small(Recurrent(steps=1, baseline=Nothing()), N=7),
    small(
        Recurrent(steps=5, trace_decay=0.9, coupling=1.0, baseline=Probability(strength=0.3)),
        N=7,
        critic=Critic("relu", 5),
    ),
    small(Recurrent(trace_decay=0.0, learning_signal=Reward()), N=6, task=Multiplexer(2, "binary", "binary")),
    *(small(rule, N=9, bits=2, signals="signed") for rule in (Reinforce(), StraightThrough(), UnbiasedWeightMax())),
    small(UnbiasedWeightMax(expected=True), N=13, bits=5, signals="signed"),
    small(Boltzmann(steps=2, chain_signals="signed", recurrent_rate=0.3), N=13, bits=5, signals="signed"),
    small(Recurrent(steps=3, chain_signals="signed", recurrent_rate=2.5), N=13, bits=5, signals="signed"),
    small(Boltzmann(steps=2, baseline=Half(strength=Linear(1.0, 0.2))), N=11),
    small(Boltzmann(steps=2, chain_signals="signed", baseline=Drive()), N=7, bits=2),
    small(Boltzmann(steps=3, baseline=Predicted(rate=0.3)), N=13, bits=5, signals="signed"),
    small(Boltzmann(steps=2, baseline=Predicted(pairs=Linear(0.2, 1.0))), N=20, bits=2),
    small(Boltzmann(steps=2, chain_signals="signed", baseline=Drive(pairs=0.5)), N=20, bits=2),
]
every_rule = pytest.mark.parametrize("run", EVERY_RULE, ids=name_of)


@every_rule
def test_the_reference_is_the_algorithm_box(run):
    mine = Reference(run, shaken(jax.tree.map(lambda x: np.zeros(x.shape), jax.eval_shape(run.init))))
    mine.halves = False
    replay = Replay(run, in_tree(run, mine.params))
    for _ in range(2):
        mine.update()
        replay.update(drawn_by_one_layer(run, mine.last))
        found = leaves(parts_of(in_tree(run, mine.params)))
        for name, value in leaves(replay.parts).items():
            np.testing.assert_allclose(found[name], value, rtol=1e-9, atol=1e-9)
    assert replay.coin.draws > 0


def in_tree(run, flat):
    """The reference's parameters as the network has them."""
    values = [flat[k] for k in ("W", "b", "W_rec", "W_out", "b_out", "V", "v", "w", "w_0", "U", "u") if k in flat]
    return jax.tree.unflatten(structure(run), values)


# Random numbers -------------------------------------------------------------------------------------------------------

ONES, PI = 0xFFFFFFFF, (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0)
PUBLISHED = [  # rounds, counter and key, words: known answers of the Random123 distribution
    (7, (0,) * 6, (0x5F6FB709, 0x0D893F64, 0x4F121F81, 0x4F730A48)),
    (7, (ONES,) * 6, (0x5207DDC2, 0x45165E59, 0x4D8EE751, 0x8C52F662)),
    (7, PI, (0x4DFCCABA, 0x190A87F0, 0xC47362BA, 0xB6B5242A)),
    (10, (0,) * 6, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    (10, PI, (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
]


@pytest.mark.parametrize(("rounds", "given", "expected"), PUBLISHED)
def test_philox_gives_the_published_words(rounds, given, expected, gpu):
    assert tuple(philox(given[:4], given[4:], rounds).tolist()) == expected
    array = ctypes.c_uint32 * 4
    out = array()
    gpu.compiled(Kernel("train", SMALLEST)).philox_words(rounds, array(*given[:4]), array(*given[4:], 0, 0), out)
    assert tuple(out) == expected


def test_uniforms_are_uniform_and_neither_seeds_nor_steps_nor_updates_share_them():
    """200 streams of 2000; the largest of 19,900 correlations is near 4.4 standard errors, twice that is refused."""
    who = np.arange(500)
    counters = [(seed, update, what) for seed in (0, 1, 2, 3, 2**32 - 1) for update in range(8) for what in range(4)]
    counters += [(seed, 0, what) for seed in range(4, 24) for what in (STATES, ACTION)]
    streams = np.array([words(who, update, seed, what).ravel() for seed, update, what in counters])
    u = uniform(streams)
    assert 0 < u.min() < u.max() < 1
    assert min(kstest(stream, "uniform").pvalue for stream in u) > 1e-5
    correlations = np.corrcoef(u)[np.triu_indices(len(u), 1)]
    assert np.abs(correlations).max() < 6 / np.sqrt(u.shape[1])
    bits = (streams[:, :, None] >> np.arange(32, dtype=np.uint64) & np.uint64(1)).mean(axis=(0, 1))
    assert np.abs(bits - 0.5).max() < 5 * 0.5 / np.sqrt(streams.size)


def test_states_are_fair_coins_and_differ_from_update_to_update():
    run = small(Reinforce(), bits=4)
    s = np.array([draws(run, t)[0] for t in range(500)])
    assert np.abs(s.mean(axis=(0, 1)) - 0.5).max() < 5 * 0.5 / np.sqrt(8000)
    assert len({x.tobytes() for x in s}) == 500


# The engine on emulated warps -----------------------------------------------------------------------------------------

SMALLEST = Shape("independent", 16, 1, 2)


EMULATED = [
    *(
        dataclasses.replace(run, hidden=(N,))
        for run, N in zip(EVERY_RULE[:8], (9, 16, 13, 16, 12, 16, 16, 9), strict=True)
    ),
    small(Boltzmann(coupling=Linear(1.0, 0.2), steps=3), N=20, bits=4),
    small(Boltzmann(steps=2), N=60, bits=4),
    small(Boltzmann(coupling=0.7, steps=5, sampler="lazy"), N=20, bits=4),
    small(Boltzmann(steps=3, sampler="lazy", chain_signals="signed"), N=60, bits=5, signals="signed"),
    small(
        Recurrent(coupling=0.5, steps=3, trace_decay=0.7, baseline=Probability(strength=0.5)), N=20, bits=2, critic=None
    ),
    small(Recurrent(steps=1), N=32, critic=Critic("tanh", 30)),
    *EVERY_RULE[-11:],
    small(Reinforce(), N=200, bits=4),
    small(Boltzmann(steps=2), N=150, bits=2),  # a cluster of two blocks
    small(Boltzmann(coupling=0.7, steps=3, sampler="lazy"), N=150, bits=2),
    small(Boltzmann(steps=2, baseline=Predicted(pairs=0.5)), N=150, bits=2),
    small(Recurrent(steps=2, chain_signals="signed"), N=300, bits=3),  # of six, with moments in global memory
]


@pytest.mark.parametrize("run", EMULATED, ids=name_of)
def test_the_kernel_on_emulated_warps_is_the_reference(run, emulated):
    assert cuda.supports(run) is None
    agree(run, 3)


def agree(run, updates):
    """Every draw and reward is equal, moments and parameters to 2e-6 and a tenth of that more for each update.
    Adam divides by the gradient's size: where that is rounding, so is the step."""
    state = with_params(cuda.start([run]), shaken)
    mine, smallest = Reference(run, cuda.params(state)[0]), {}
    for t in range(updates):
        state, found = cuda.update_with_draws(state)
        mine.update(found, tie=1e-6 * (t + 1))
        for name, value in mine.last.items():
            assert np.array_equal(found[name], value.astype(np.float32)), name
        assert state.reward == pytest.approx(mine.reward)
        for name, g in mine.gradient.items():
            smallest[name] = np.minimum(smallest.get(name, np.inf), np.where(g == 0, np.inf, np.abs(g)))
    tolerance, checked = 2e-6 + 2e-7 * updates, 0
    after, first = named(cuda.params(state)[0]), named(moments(state))
    for name, value in mine.params.items():
        np.testing.assert_allclose(0.1 * first[name], mine.m[name], atol=tolerance, rtol=tolerance, err_msg=name)
        sure = smallest[name] > SURE
        checked += sure.sum()
        np.testing.assert_allclose(after[name][sure], value[sure], atol=tolerance, rtol=tolerance, err_msg=name)
    assert checked > 0.9 * sum(value.size for value in mine.params.values())
    assert state.done == updates
    assert mine.ties <= 2 + 4e-6 * updates * mine.draws


def with_params(state, change):
    """The state with other parameters."""
    changed = [
        layout.pack(run, [change(mine)], state.shape.length)[0]
        for run, mine in zip(state.runs, cuda.params(state), strict=True)
    ]
    saved = zip(cuda.tensors(state), changed, strict=True)
    return cuda.restore(list(state.runs), [{**tensors, "weights": weights} for tensors, weights in saved])


def moments(state):
    """Adam's first moments in the shape of the parameters."""
    (run,), (tensors,) = state.runs, cuda.tensors(state)
    return jax.tree.unflatten(structure(run), [place.of(tensors["first"][None])[0] for place in layout.places(run)])


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


CUT = [
    small(Boltzmann(steps=2), N=20),
    small(Boltzmann(steps=2, baseline=Predicted(pairs=0.5)), N=20),
    small(Recurrent(steps=3), N=20),
    small(UnbiasedWeightMax(), N=16),
]


@pytest.mark.parametrize("run", CUT, ids=name_of)
def test_the_order_of_warps_recording_and_pieces_leave_no_trace(run, emulated, monkeypatch):
    start = with_params(cuda.start([run]), shaken)
    whole = cuda.tensors(cuda.advance(start, 8))
    pieces = cuda.restore([run], cuda.tensors(cuda.advance(start, 3)))
    for _ in range(2):
        pieces, _ = cuda.update_with_draws(pieces)
    assert same(whole, cuda.tensors(cuda.advance(cuda.advance(pieces, 0), 3)))
    monkeypatch.setattr(emulated, "backwards", True)
    assert same(whole, cuda.tensors(cuda.advance(start, 8)))


def test_the_order_of_the_blocks_of_a_cluster_leaves_no_trace(emulated, monkeypatch):
    start = with_params(cuda.start([small(Recurrent(steps=2), N=150, bits=4)]), shaken)
    assert start.shape.cluster == 2
    whole = cuda.tensors(cuda.advance(start, 2))
    pieces, _ = cuda.update_with_draws(start)
    assert same(whole, cuda.tensors(cuda.advance(pieces, 1)))
    monkeypatch.setattr(emulated, "backwards", True)
    assert same(whole, cuda.tensors(cuda.advance(start, 2)))


def test_two_tiles_a_warp_give_the_bits_of_one(emulated, monkeypatch):
    run, found = small(Boltzmann(steps=2), N=60, bits=4), []
    for tiles in (1, 2):
        monkeypatch.setattr(cuda, "_shape", lambda runs, tiles=tiles: Shape("boltzmann", 64, tiles, 1))
        found.append(cuda.tensors(cuda.advance(with_params(cuda.start([run]), shaken), 4)))
    assert same(*found)


def test_a_mixed_group_gives_each_run_what_it_gets_alone(emulated):
    rules = [
        Reinforce(baseline=Nothing(), learning_signal=Reward()),
        StraightThrough(),
        UnbiasedWeightMax(expected=True),
        UnbiasedWeightMax(),
    ]
    tasks = [Multiplexer(1), Multiplexer(2, rewards="binary"), Multiplexer(3, "binary"), Multiplexer(4)]
    runs = [
        small(rule, N=9, task=task, seed=i, updates=10) for i, (rule, task) in enumerate(zip(rules, tasks, strict=True))
    ]
    assert cuda.groups(runs) == [runs]
    together = cuda.finish(cuda.advance(cuda.start(runs), 10))
    for run, mine in zip(runs, together, strict=True):
        alone = cuda.finish(cuda.advance(cuda.start([run]), 10))[0]
        assert mine.run == run
        assert same((mine.curve, mine.params), (alone.curve, alone.params))


@pytest.mark.parametrize("updates", [1, 3, 103])
def test_each_point_of_the_curve_is_the_mean_reward_of_its_stretch_of_updates(updates, emulated):
    run = small(Reinforce(), N=9, updates=updates, task=Multiplexer(1, rewards="binary" if updates == 3 else "signed"))
    state, rewards = cuda.start([run]), []
    for _ in range(updates):
        state = cuda.advance(state, 1)
        rewards.append(state.reward[0])
    P = state.curve.shape[1]
    expected = [np.mean([r for t, r in enumerate(rewards) if t * P // updates == i]) for i in range(P)]
    np.testing.assert_allclose(cuda.finish(state)[0].curve, expected, atol=1e-6)


def test_a_group_starts_from_the_bits_that_each_run_starts_from(emulated):
    """Whatever its runs differ in."""
    kinds = [(9, 1, Critic(width=3)), (13, 3, Critic(width=7)), (16, 4, Critic()), (13, 3, Critic("tanh", 7))]
    for rule, critic in ((Reinforce(), True), (Boltzmann(coupling=0.3), False), (Recurrent(), True)):
        runs = [
            small(rule, N=N, bits=bits, critic=mine if critic else None, seed=seed)
            for N, bits, mine in kinds
            for seed in (0, 7, 2**32 - 1)
        ]
        state = cuda.start(runs)
        for run, weights, mine in zip(runs, state.weights, cuda.params(state), strict=True):
            assert np.array_equal(weights, layout.pack(run, [run.init()], state.shape.length)[0])
            (alone,) = layout.unpack(run, weights[None], structure(run))
            assert same(mine, alone)


@pytest.mark.parametrize("run", EVERY_RULE[4::3], ids=lambda run: run.rule.name)
def test_training_starts_from_the_parameters_that_every_engine_starts_from(run, emulated):
    for mine, theirs in zip(*map(jax.tree.leaves, (cuda.params(cuda.start([run])), run.init())), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2.0**-22, atol=2.0**-25)


LOOKED_AT = [
    small(Reinforce(), N=13, bits=2, seed=3),
    small(UnbiasedWeightMax(), N=9, critic=None, task=Multiplexer(1, "binary", "binary")),
    small(Boltzmann(coupling=Linear(1.0, 0.2), steps=4), N=20, bits=3, critic=Critic("tanh", 9), seed=2**32 - 1),
    small(Boltzmann(steps=2), N=60, bits=4, critic=None),
    small(Boltzmann(coupling=0.7, steps=3, sampler="lazy"), N=20, bits=3),
    small(Recurrent(coupling=Linear(0.2, 1.5), steps=3), N=20, bits=4, critic=Critic("relu", 5), seed=1),
    small(Recurrent(steps=1), N=32, task=Multiplexer(3, "binary", "binary")),
    small(Recurrent(steps=1, chain_signals="signed"), N=150, bits=5, signals="signed"),
]


@pytest.mark.parametrize("run", LOOKED_AT, ids=name_of)
def test_a_look_sees_what_the_reference_sees_and_the_names_that_every_engine_gives(run, emulated, monkeypatch):
    state = dataclasses.replace(with_params(cuda.start([run]), shaken), done=10)
    before = cuda.tensors(state)
    found, (params,) = cuda.look(state), cuda.params(state)
    theirs = look(run, params, 10)
    assert [(k, x.shape, x.dtype) for k, x in found.items()] == [(k, x.shape, x.dtype) for k, x in theirs.items()]
    mine = Reference(run, params)
    for name, value in mine.look(10 / run.updates).items():
        if name in found:
            np.testing.assert_allclose(found[name], value[None], rtol=2e-6 * (name == "critic_error"), err_msg=name)
    assert mine.ties == 0  # nothing was too close to call
    for name in (name for name in found if name.startswith("norm.")):
        np.testing.assert_allclose(found[name], theirs[name], rtol=1e-6, err_msg=name)
    monkeypatch.setattr(emulated, "backwards", True)
    assert same(found, cuda.look(state))
    assert same(before, cuda.tensors(state))


def test_a_look_at_a_run_does_not_depend_on_its_neighbours(emulated):
    runs = [
        small(rule, N=9, task=Multiplexer(1 + i % 4), seed=i)
        for i, rule in enumerate(
            (Reinforce(baseline=Nothing(), learning_signal=Reward()), StraightThrough(), UnbiasedWeightMax())
        )
    ]
    state = with_params(cuda.start(runs), shaken)
    found = cuda.look(state)
    for i, saved in enumerate(cuda.tensors(state)):
        alone = cuda.look(cuda.restore([runs[i]], [saved]))
        assert same({name: x[i : i + 1] for name, x in found.items()}, alone)


def test_groups_are_small_enough_to_overlap_and_fill_the_gpu(monkeypatch):
    monkeypatch.setattr(device, "multiprocessors", lambda: 10)
    for gpus, rule, count, sizes in (
        (1, Reinforce(), 40, [40]),
        (1, Reinforce(), 41, [20, 21]),
        (1, Boltzmann(), 30, [30]),  # three at a time on a multiprocessor
        (1, Boltzmann(), 31, [15, 16]),
        (2, Boltzmann(), 61, [15, 15, 15, 16]),
    ):
        monkeypatch.setattr(device, "able", lambda gpus=gpus: list(range(gpus)))
        assert sorted(map(len, cuda.groups(grid(Run(rule=rule), seed=range(count))))) == sizes
    clusters = grid(Run(rule=Recurrent(), hidden=(200,)), seed=range(17))  # two at a time, four blocks each
    assert sorted(map(len, cuda.groups(clusters))) == [4, 4, 4, 5]


def test_groups_share_a_shape_and_a_length_and_the_largest_comes_first(monkeypatch):
    monkeypatch.setattr(device, "able", lambda: [0, 1])
    monkeypatch.setattr(device, "multiprocessors", lambda: 132)
    runs = grid(Run(rule=Boltzmann()), hidden=[(64,), (128,), (60,)], seed=range(2))
    runs += [*grid(Run(rule=Reinforce()), seed=range(3)), Run(rule=Recurrent(steps=4)), Run(rule=Recurrent())]
    made = cuda.groups(runs)
    assert sorted(run.digest for group in made for run in group) == sorted(run.digest for run in runs)
    assert [group[0].hidden[0] for group in made][:2] == [128, 128]  # one for each GPU
    assert sorted(len(group) for group in made) == [*[1] * 9, 2]
    assert isinstance(made[-1][0].rule, Reinforce)


# What it takes, and where ---------------------------------------------------------------------------------------------


def test_it_says_what_it_does_not_take():
    for run in (
        Run(hidden=(4, 4)),
        Run(hidden=(513,)),
        Run(batch=32, episodes=3200),
        Run(rule=MapProp()),
        Run(rule=Boltzmann(sampler="one-by-one")),
        Run(rule=Boltzmann(baseline=Chains())),
        Run(rule=Boltzmann(steps=2**21)),
        Run(rule=StraightThrough(slope="identity")),
        Run(critic=Critic(width=65)),
        Run(task=Multiplexer(bits=6)),
    ):
        assert cuda.supports(run)
    assert all(cuda.supports(run) is None for run in (*EVERY_RULE, Run(), Run(hidden=(512,))))


def test_a_gpu_with_little_shared_memory_is_left_the_smaller_layers(monkeypatch):
    monkeypatch.setattr(device, "_asked", lambda attribute: [99 * 1024])
    monkeypatch.setattr(device, "able", lambda: [0])
    monkeypatch.setattr(device, "multiprocessors", lambda: 128)
    device.lacks.cache_clear()
    assert "shared memory for 128 units" in cuda.supports(Run(hidden=(128,)))
    assert cuda.supports(Run(hidden=(64,))) is None
    device.lacks.cache_clear()


def test_a_gpu_before_hopper_is_left_what_one_block_can_do(monkeypatch):
    asked = {device.CAPABILITY_MAJOR: 8, device.SHARED_MEMORY_OF_A_BLOCK: 163 * 1024, device.MULTIPROCESSOR_COUNT: 108}
    monkeypatch.setattr(device, "_asked", lambda attribute: [asked[attribute]])
    monkeypatch.setattr(device, "able", lambda: [0])
    monkeypatch.setattr(device, "multiprocessors", lambda: 108)
    device.lacks.cache_clear()
    assert "at most 128 units" in cuda.supports(Run(rule=Boltzmann(), hidden=(129,)))
    assert cuda.supports(Run(rule=Reinforce(), hidden=(512,))) is None
    asked[device.CAPABILITY_MAJOR] = 9
    asked[device.SHARED_MEMORY_OF_A_BLOCK] = layout.MOST_SHARED
    device.lacks.cache_clear()
    every = [Run(rule=rule, hidden=(N,)) for rule in (Boltzmann(), Recurrent(), Reinforce()) for N in range(1, 513)]
    assert not any(map(cuda.supports, every))
    device.lacks.cache_clear()


def test_without_a_gpu_it_says_so_and_nothing_else_is_said(monkeypatch, capsys):
    from coexplore.cli import results

    monkeypatch.setattr(device, "_asked", lambda attribute: [])
    device.missing.cache_clear()
    assert cuda.missing() == NO_GPU
    results._say_what_is_missing()
    assert "cuda" not in capsys.readouterr().err
    monkeypatch.setattr(device, "_asked", lambda attribute: [7])
    device.missing.cache_clear()
    assert "compute capability 8" in cuda.missing()
    monkeypatch.setattr(device, "_asked", lambda attribute: [9])
    monkeypatch.setitem(sys.modules, "cupy", None)
    device.missing.cache_clear()
    assert "cuda" in (cuda.missing() or "")
    device.missing.cache_clear()


SHAPES = [
    Shape("independent", 8, 1, 2, 40, 1, True),
    Shape("boltzmann", 64, 2, 3),
    Shape("recurrent", 16, 1, 3, 24, 1, True, True, True),
    Shape("boltzmann", 192, 1, 1, 24, 2),
    Shape("boltzmann", 64, 2, 3, lazy=True),
]


KERNELS = [Kernel("train", shape, record) for shape, record in zip(SHAPES, (True, *[False] * 4), strict=True)]
KERNELS += [Kernel("look", shape.to_look) for shape in SHAPES]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: f"{k.name}-{k.shape.family}-{k.shape.units}")
def test_the_source_compiles_for_hopper(kernel):
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="no cuda-bindings here")

    def call(function, *arguments):
        error, *values = function(*arguments)
        assert error == nvrtc.nvrtcResult.NVRTC_SUCCESS, log() if function == nvrtc.nvrtcCompileProgram else error
        return values[0] if values else None

    def log():
        text = b" " * nvrtc.nvrtcGetProgramLogSize(program)[1]
        nvrtc.nvrtcGetProgramLog(program, text)
        return text.decode()

    program = call(nvrtc.nvrtcCreateProgram, device.source(kernel.name).encode(), b"kernel.cu", 0, [], [])
    options = [option.encode() for option in ("--gpu-architecture=sm_90a", *device.options(kernel))]
    call(nvrtc.nvrtcCompileProgram, program, len(options), options)
    assert call(nvrtc.nvrtcGetCUBINSize, program) > 10_000
