"""The cpu engine: replayed by the oracle, the same bits however it is cut, the same distribution as xla."""

import dataclasses
import os
import shutil
import subprocess
from pathlib import Path
from unittest import mock

import exact
import jax
import numpy as np
import pytest
from replay import Replay, drawn_by_one_layer, name_of, noise, small
from scipy.stats import chisquare, ks_2samp

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
    train,
)
from coexplore.engines import cpu, xla
from coexplore.rules.baseline import Chains, Drive, Half, Nothing, Predicted, Probability
from coexplore.rules.learning_signal import Advantage, Reward

ROOT = Path(__file__).parents[1]
CPP = ROOT / "src" / "coexplore" / "engines" / "cpu"

CENTRED = [(signal, baseline) for signal in (Reward(), Advantage()) for baseline in (Nothing(), Probability())]
LESS_CENTRED = [(signal, baseline) for signal in (Reward(), Advantage()) for baseline in (Nothing(), Probability(0.3))]

ONE_UPDATE = [
    *(small(Reinforce(learning_signal=x, baseline=E), N=N) for (x, E), N in zip(CENTRED, (7, 1, 64, 100), strict=True)),
    small(Reinforce(baseline=Probability(strength=0.5)), N=128, bits=4, batch=33),
    small(Reinforce(), N=256, task=Multiplexer(bits=6), batch=64, critic=Critic("tanh", 256)),
    *(small(Boltzmann(steps=T), N=N, batch=B) for T, N, B in ((1, 1, 1), (3, 7, 16), (25, 64, 16), (2, 100, 33))),
    small(Boltzmann(), N=128, bits=4),
    small(Boltzmann(coupling=2.0, steps=4), N=8, batch=33),
    small(Boltzmann(steps=2, learning_signal=Reward()), critic=None),
    small(Boltzmann(coupling=0.0, steps=2), N=33),
    *(small(Recurrent(steps=T), N=N, batch=B) for T, N, B in ((1, 1, 1), (2, 7, 16), (25, 16, 33), (3, 100, 5))),
    small(Recurrent(), N=64, bits=4),
    *(small(Recurrent(learning_signal=x, baseline=E)) for x, E in LESS_CENTRED),
    small(Recurrent(trace_decay=0.0, steps=4), N=128),
    small(Recurrent(trace_decay=1.0, coupling=1.0, steps=3)),
    small(StraightThrough(), N=64, bits=4),
    small(StraightThrough(learning_signal=Reward()), N=1, batch=1),
    small(UnbiasedWeightMax(), N=64, bits=4),
    small(UnbiasedWeightMax(expected=True), N=100, batch=33),
    small(Recurrent(), task=Multiplexer(2, "binary", "binary"), critic=Critic("relu", 5)),
    small(Reinforce(), learning_rate=(0.01, 0.002, 0.03)),
    small(Reinforce(learning_signal=Reward(), baseline=Nothing()), N=7, signals="signed"),
    small(Reinforce(), N=64, signals="signed"),
    small(StraightThrough(learning_signal=Reward()), N=7, batch=5, signals="signed"),
    small(StraightThrough(), N=64, batch=5, signals="signed"),
    *(small(UnbiasedWeightMax(expected=x), N=N, signals="signed") for x, N in ((False, 7), (True, 100))),
    *(small(Boltzmann(steps=2), N=N, signals="signed") for N in (1, 33)),
    *(small(Boltzmann(0.7, 3, chain_signals="signed"), N=N, batch=B) for N, B in ((1, 1), (7, 16), (64, 33))),
    *(small(Boltzmann(0.7, 4, sampler="lazy"), N=N, batch=B) for N, B in ((1, 1), (7, 16), (64, 33))),
    small(Boltzmann(0.7, 3, sampler="lazy", chain_signals="signed"), N=13, signals="signed"),
    small(Boltzmann(1.0, 2, chain_signals="signed", learning_signal=Reward()), N=100, signals="signed", critic=None),
    small(Recurrent(), N=100, signals="signed"),
    *(small(Recurrent(0.7, 3, chain_signals="signed"), N=N, batch=B) for N, B in ((1, 1), (7, 16), (64, 33))),
    *(
        small(Recurrent(learning_signal=x, baseline=E, chain_signals="signed"), signals="signed")
        for x, E in LESS_CENTRED
    ),
    *(
        small(Boltzmann(0.7, 3, baseline=E(strength=0.7)), N=N, batch=B)
        for E, N, B in ((Half, 7, 16), (Drive, 33, 5), (Predicted, 1, 1), (Predicted, 64, 33))
    ),
    *(
        small(Boltzmann(0.7, 2, baseline=E(pairs=0.6), chain_signals=signs), N=13, signals=signs)
        for E, signs in ((Half, "signed"), (Predicted, "binary"), (Predicted, "signed"))
    ),
    small(Boltzmann(steps=2, baseline=Predicted(rate=0.3)), critic=None),
    small(Boltzmann(steps=2, recurrent_rate=0.3)),
    *(
        small(Boltzmann(steps=2, baseline=Predicted()), N=N, critic=Critic(c))
        for c in ("linear", "mean")
        for N in (7, 33)
    ),
    small(Reinforce(), bits=4, batch=33, critic=Critic("linear"), learning_rate=(0.01, 0.002, 0.03)),
    small(Recurrent(), task=Multiplexer(2, "binary", "binary"), critic=Critic("linear")),
    small(Recurrent(recurrent_rate=0.3), learning_rate=Linear(0.01, 0.001)),
]
TWENTY_UPDATES = [
    small(Reinforce(baseline=Probability(strength=Linear(1.0, 0.2))), N=20, bits=2, learning_rate=Linear(0.01, 0.001)),
    small(Boltzmann(coupling=Linear(1.0, 0.2), steps=4), N=20, bits=2),
    small(Boltzmann(0.5, 4, baseline=Predicted(pairs=Linear(0.0, 1.0))), N=20, bits=2),
    small(Recurrent(coupling=0.5, steps=3), N=20, bits=2, critic=Critic("tanh", 9)),
    small(Boltzmann(steps=4), N=20, bits=2, critic=Critic("linear"), learning_rate=Linear(0.01, 0.001)),
    small(Recurrent(), N=20, bits=2, critic=Critic("mean")),
    small(Reinforce(), N=13, bits=2, signals="signed"),
    small(StraightThrough(), N=13, bits=2, signals="signed"),
    *(small(UnbiasedWeightMax(expected=x), N=13, bits=2, signals="signed") for x in (False, True)),
    small(Boltzmann(0.5, 4, chain_signals="signed", recurrent_rate=0.3), N=13, bits=2, signals="signed"),
    small(
        Recurrent(Linear(0.5, 0.2), 3, chain_signals="signed", recurrent_rate=0.3),
        N=13,
        bits=2,
        signals="signed",
        learning_rate=Linear(0.01, 0.001),
    ),
]


def test_the_kernel_was_built():
    assert cpu.kernel() is not None, "no kernel: is there a C++ compiler?"


def agree(run, updates, tolerance):
    with mock.patch.object(Run, "init", noise):
        state = cpu.start([run])
    replay = Replay(run, cpu._unpacked(run, state.params))
    for _ in range(updates):
        state, draws = cpu.update_with_draws(state)
        replay.update(drawn_by_one_layer(run, draws))
    first = np.split(state.moments, 2)[0]
    replay.agrees(cpu._unpacked(run, state.params), cpu._unpacked(run, first), tolerance)


@pytest.mark.parametrize("run", ONE_UPDATE, ids=name_of)
def test_one_update_is_the_algorithm_box(run):
    assert cpu.supports(run) is None
    agree(run, 1, 1e-5)


@pytest.mark.parametrize("run", TWENTY_UPDATES, ids=name_of)
def test_twenty_updates_are_the_algorithm_box(run):
    agree(run, 20, 5e-5)


def test_it_says_what_it_does_not_take():
    for run in (
        Run(hidden=(4, 4)),
        Run(hidden=(257,)),
        Run(batch=80),
        Run(rule=MapProp()),
        Run(rule=Boltzmann(sampler="one-by-one")),
        Run(rule=Boltzmann(baseline=Chains())),
        Run(rule=StraightThrough(slope="identity")),
        Run(critic=Critic(width=300)),
    ):
        assert cpu.supports(run)


LEARNING = [Boltzmann(steps=5), Recurrent(), Reinforce(), StraightThrough(), UnbiasedWeightMax(expected=True)]


@pytest.mark.parametrize("rule", LEARNING, ids=lambda rule: rule.name)
def test_the_same_bits_whatever_the_threads_and_however_it_is_cut(rule):
    runs = grid(Run(rule=rule, hidden=(9,), task=Multiplexer(bits=2), episodes=16 * 3000), seed=range(3))
    one, two = (train(runs, engine="cpu", progress=False, threads=n) for n in (1, 2))
    for a, b, run in zip(one, two, runs, strict=True):
        state = cpu.start([run])
        for updates in (1, 0, 500, 1499, 1000):
            state = cpu.advance(state, updates)
        c = cpu.finish(state)[0]
        for x, y, z in zip(*(jax.tree.leaves((r.curve, r.params)) for r in (a, b, c)), strict=True):
            assert np.array_equal(x, y)
            assert np.array_equal(x, z)
    assert not np.array_equal(one[0].curve, one[1].curve)


@pytest.mark.parametrize("signals", ["binary", "signed"])
def test_algorithm_1_keeps_w_rec_symmetric_to_the_last_bit(signals):
    run = small(Boltzmann(steps=3, chain_signals=signals), N=100, updates=50)
    W_rec = cpu.params(cpu.advance(cpu.start([run]), 50))[0].layers[0].W_rec
    assert np.count_nonzero(W_rec) > 9000
    assert np.array_equal(W_rec, W_rec.T)
    assert not np.diag(W_rec).any()


@pytest.mark.learning
@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("rule", LEARNING, ids=lambda rule: rule.name)
def test_it_learns_with_the_same_distribution_as_xla(rule):
    """Mean reward of 32 seeds each: Kolmogorov-Smirnov at 0.1 %, and means within 0.025, about four standard errors
    (the sd over seeds is 0.02 to 0.03). A tenth less learning rate moves the means by more than that."""
    run = Run(rule=rule, hidden=(12,), task=Multiplexer(bits=2), episodes=16 * 1500, learning_rate=0.01)
    runs = grid(run, seed=range(32))
    ours = [result.reward for result in train(runs, engine="cpu", progress=False)]
    side_by_side = xla.advance(xla.start(runs, width=32), run.updates)  # faster than one after the other
    theirs = [result.reward for result in xla.finish(side_by_side)]
    assert ks_2samp(ours, theirs).pvalue > 1e-3
    assert np.mean(ours) == pytest.approx(np.mean(theirs), abs=0.025)


def test_the_chain_draws_from_the_law_of_synchronous_sampling():
    """25,600 draws of 3 units after 30 steps, by input: χ² accepts the exact law and refuses the Boltzmann law."""
    run = Run(
        rule=Boltzmann(coupling=1.0, steps=30), hidden=(3,), task=Multiplexer(bits=1), batch=64, episodes=64 * 500
    )
    with jax.enable_x64(True):
        params = exact.coupled(np.random.default_rng(11), 3, 3, symmetric=True, scale=1.5)
        inputs = 2 * exact.states(3) - 1
        laws = [
            np.exp(np.asarray(law))
            for law in (exact.synchronous(params, 1.0, 30, inputs), exact.boltzmann(params, 1.0, inputs))
        ]
    state = cpu.start([run])
    whole = cpu._unpacked(run, state.params)
    mine = jax.tree.map(lambda p: np.asarray(p, np.float32), params)
    fixed = cpu._packed(run, dataclasses.replace(whole, layers=(mine, whole.layers[1])))
    seen, place = np.zeros((8, 8)), np.array([1, 2, 4])
    for _ in range(400):
        state = dataclasses.replace(state, params=fixed)
        state, draws = cpu.update_with_draws(state)
        np.add.at(seen, (((draws["s"] > 0) @ place).astype(int), (draws["h"][-1] @ place).astype(int)), 1)
    p_values = [chisquare(seen.ravel(), (seen.sum(axis=1, keepdims=True) * law).ravel(), ddof=7).pvalue for law in laws]
    assert p_values[0] > 1e-3
    assert p_values[1] < 1e-9


def test_the_random_words_are_xoshiro128_plus():
    """Its authors' reference algorithm from the state 1, 2, 3, 4, in every lane."""
    state = np.repeat(np.array([1, 2, 3, 4], np.uint32), 8)
    out = np.zeros(80, np.uint32)
    cpu.kernel().random_words(state, out)
    published = [5, 12295, 25178119, 27286542, 39879690, 1140358681, 3276312097, 4110231701, 399823256, 2144435200]
    assert (out.reshape(10, 8) == np.array(published, np.uint32)[:, None]).all()


def test_seeds_start_streams_of_their_own():
    states = np.zeros((200, 32), np.uint32)
    for seed, state in enumerate(states):
        cpu.kernel().seed(seed, state)
    assert len(np.unique(states)) == states.size
    words = np.zeros((200, 800), np.uint32)
    for state, out in zip(states, words, strict=True):
        cpu.kernel().random_words(state, out)
    correlations = np.corrcoef(words / 2**32)[np.triu_indices(200, 1)]
    assert np.abs(correlations).max() < 6 / np.sqrt(800)  # the largest of 19,900 is near 4.4 of these


def test_the_caller_keeps_its_denormals():
    cpu.advance(cpu.start([TWENTY_UPDATES[0]]), 10)
    assert np.float32(1e-40) * np.float32(0.5) > 0


@pytest.mark.kernels
def test_the_kernel_alone_passes_its_own_test_under_sanitizers(tmp_path):
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    assert compiler, "the kernel was built, so there is a compiler"
    program = tmp_path / "kernel_test"
    source = str(ROOT / "tests" / "cpp" / "kernel_test.cpp")
    flags = ["-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    words = [compiler, "-std=c++17", *flags, "-Wall", "-Wno-psabi", f"-I{CPP}", source, "-o", str(program)]
    built = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stderr) == (0, "")
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "230 shapes, 0 failures" in done.stdout
