"""Results on disk: read back as they were written, and never read when they are damaged."""

import json

import jax
import numpy as np
import pytest

from coexplore import Boltzmann, Critic, Multiplexer, Recurrent, Reinforce, Run, load, train
from coexplore.store import StoreError, save

RUNS = [
    Run(rule=(Recurrent(), Reinforce()), hidden=(3, 2), task=Multiplexer(bits=1), critic=Critic(width=3), episodes=160),
    Run(rule=Boltzmann(steps=2), hidden=(3,), task=Multiplexer(bits=1), critic=None, episodes=160),
]


@pytest.fixture(scope="module")
def results():
    return train(RUNS, engine="xla", progress=False)


def test_a_result_comes_back_as_it_was_saved(results, tmp_path):
    for result in results:
        path = save(result, tmp_path)
        assert path.name == f"{result.run.digest}.xla.safetensors"
    for again, result in zip(sorted(load(tmp_path), key=lambda r: r.run != RUNS[0]), results, strict=True):
        assert again.run == result.run
        assert again.provenance == result.provenance
        for a, b in zip(
            jax.tree.leaves((again.curve, again.params)), jax.tree.leaves((result.curve, result.params)), strict=True
        ):
            assert np.array_equal(a, b)
        states = np.ones((4, 3), np.float32)
        assert np.array_equal(again.act(states, 0), result.act(states, 0))
    assert not list(tmp_path.glob(".*"))


def test_every_kind_of_damage_is_noticed(results, tmp_path):
    path = save(results[0], tmp_path)
    good, rng, noticed = path.read_bytes(), np.random.default_rng(0), 0
    for i in range(300):
        bad = bytearray(good)
        if i % 3 == 0:
            bad = bad[: rng.integers(len(bad))]
        else:
            bad[rng.integers(len(bad))] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(bad))
        message, found = read(path)
        if found is None:
            assert str(path) in message
            assert "\n" not in message
        else:  # what is not part of the result, its provenance, may have changed; nothing else
            assert found.run == results[0].run
            assert np.array_equal(found.curve, results[0].curve)
        noticed += found is None
    assert noticed > 250


def read(path):
    try:
        return "", load(path)[0]
    except StoreError as error:
        return str(error), None


def test_what_is_not_there_or_not_ours_is_named(tmp_path):
    with pytest.raises(StoreError, match="no results here"):
        load(tmp_path)
    with pytest.raises(StoreError, match="no such file"):
        load(tmp_path / "x.safetensors")
    (tmp_path / "y.safetensors").write_text(json.dumps({}))
    with pytest.raises(StoreError, match="not a readable result"):
        load(tmp_path)
