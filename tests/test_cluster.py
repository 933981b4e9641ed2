"""What of training on a cluster can be tested without one, or on one of a single node; the rest is in test_ray.py."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from coexplore import Multiplexer, Reinforce, Run, grid, train
from coexplore.settings import FieldError
from coexplore.store import Parcel, Store, StoreError, read, received
from coexplore.store.encoding import about, encoded
from coexplore.store.sealed import sealed
from coexplore.study import study
from coexplore.study.cluster import checked_address
from coexplore.study.cluster.nodes import Node, Place, _place
from coexplore.study.cluster.worker import Answer, Desk, other_code

BIN = Path(sys.executable).parent
TINY = Run(rule=Reinforce(), hidden=(5,), task=Multiplexer(bits=1), episodes=16 * 400)


def contents(folder):
    """What is the same wherever a run was trained. Of the provenance, `seconds` and `finished` are not."""
    found, problems = read(folder)
    assert problems == []
    return {result.run.digest: (result.engine, result.provenance["sha256"]) for result in found}


@pytest.fixture
def as_if_installed(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)


def test_a_worker_with_other_code_than_the_runs_mean_says_so():
    class Own(Reinforce):
        name = "own-of-cluster"

        def eligibility(self, layer, E):
            return super().eligibility(layer, E)

    run = Run(rule=Own())
    assert other_code([TINY, run]) == ""
    Own.eligibility = Reinforce.eligibility
    assert other_code([TINY, run]).startswith("rule 'own-of-cluster': the run means edition")


def test_without_ray_a_line_says_what_to_install(monkeypatch, here):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    done = here("train", "reinforce", "--episodes", "1600", "--cluster", "ray")
    assert done.returncode == 2
    assert done.stderr == "coexplore: cluster: 'ray' needs Ray: pip install 'coexplore[ray]'\n"
    with pytest.raises(FieldError, match="needs Ray"):
        train(TINY, progress=False, cluster="ray")


@pytest.mark.parametrize("address", ["rays", "ray:/host", "ray://host", "host:port", "host:0", ":10001", "auto", ""])
def test_what_is_no_address_is_refused_in_a_line(address, as_if_installed, here):
    done = here("train", "reinforce", "--episodes", "1600", "--cluster", address)
    line = f"coexplore: cluster: {address!r} is not allowed; give ray, ray://HOST:PORT or HOST:PORT\n"
    assert (done.returncode, done.stderr) == (2, line)


def test_ray_means_what_the_environment_says_or_a_cluster_of_our_own(as_if_installed, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert checked_address("ray") == "local"
    for address in ("auto", "local", "ray://there:10001", "there:6379"):
        monkeypatch.setenv("RAY_ADDRESS", address)
        assert checked_address("ray") == address
        assert checked_address("ray://here:10001") == "ray://here:10001"


def test_what_comes_from_elsewhere_is_checked_before_it_is_kept(tmp_path):
    one, other = train(grid(TINY, seed=range(2)), "cpu", progress=False)
    parcel = Parcel({}, lambda run, data: None)
    parcel.save(one)
    data = parcel.finished[one.run]
    kept = Store(tmp_path).adopt(one.run, "cpu", data)
    assert Store(tmp_path).path(one.run, "cpu").read_bytes() == data
    again = received(one.run, "cpu", data)
    for result in (kept, again):
        assert np.array_equal(result.curve, one.curve)
        assert np.array_equal(result.params.layers[0].W, one.params.layers[0].W)
        assert result.scores == one.scores
    for run, engine, bad in [
        (other.run, "cpu", data),
        (one.run, "xla", data),
        (one.run, "cpu", data[:-1]),
        (one.run, "cpu", data[:-1] + bytes([data[-1] ^ 1])),
        (one.run, "cpu", b""),
        (one.run, "cpu", sealed(about(other.run, "cpu"), encoded(other), {})[1]),
    ]:
        with pytest.raises(StoreError, match="what came for"):
            Store(tmp_path).adopt(run, engine, bad)
    assert contents(tmp_path).keys() == {one.run.digest}


def test_the_desk_keeps_the_latest_checkpoints_until_a_group_is_over():
    desk = Desk()
    assert desk.begin(7) == {}
    desk.keep(7, 0, b"first")
    desk.keep(7, 0, b"second")
    assert desk.tell(7, {0: (10, 0.5)}) is False
    assert desk.begin(7) == {0: b"second"}
    assert desk.news([]) == ({7: {0: (10, 0.5)}}, [(7, 0, b"second")])
    assert desk.news([7]) == ({}, [])
    assert desk.begin(7) == {}
    desk.stop()
    assert desk.tell(7, {}) is True
    assert desk.begin(7) is None


def says(*names, on_gpu=()):
    return Answer("", list(names), [], [], {}, set(on_gpu))


def test_a_run_goes_where_the_first_engine_is_that_any_node_has():
    plain, other, gpu = Node("a", "a", 4, 0), Node("b", "b", 4, 0), Node("c", "c", 8, 2)
    nodes = [plain, other, gpu]
    answers = {plain: says("cpu", "cpu"), other: says("xla", "xla"), gpu: says("cuda", "cpu", on_gpu=["cuda"])}
    assert _place(0, nodes, answers) == Place("cuda", True, ())
    assert _place(0, nodes, answers).options() == {"num_gpus": 1, "num_cpus": 0}
    assert _place(1, nodes, answers) == Place("cpu", False, ("a", "c"))  # b was installed without a compiler
    assert _place(1, nodes, answers).options()["label_selector"] == {"ray.io/node-id": "in(a,c)"}
    assert _place(0, nodes, {node: says("cpu") for node in nodes}).options() == {"num_cpus": 1}
    with pytest.raises(FieldError, match="no engine here"):
        _place(0, [plain], {plain: Answer("", [None], ["no engine here"], [], {}, set())})


@pytest.mark.cluster
def test_a_cluster_of_our_own_trains_to_the_same_bits(tmp_path):
    words = ["reinforce", "--units", "5", "--bits", "1", "--episodes", "6400", "--seeds", "2", "--engine", "cpu"]
    words = [BIN / "coexplore", "train", *words, "--cluster", "ray", "--threads", "1", "--store", tmp_path / "there"]
    env = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    done = subprocess.run(words, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stderr.splitlines()) == 1  # the bar: Ray is quiet
    study(grid(TINY, seed=range(2)), "cpu", progress=False, store=tmp_path / "here")
    assert contents(tmp_path / "there") == contents(tmp_path / "here")
    assert len(contents(tmp_path / "here")) == 2
