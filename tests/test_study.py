"""Studies: resumed to the same bits after any death, shared by processes, honest about failures and collapses."""

import dataclasses
import os
import subprocess
import sys
import threading
import time

import jax
import numpy as np
import pytest

from coexplore import (
    Boltzmann,
    Critic,
    Linear,
    MapProp,
    Multiplexer,
    Recurrent,
    Reinforce,
    Result,
    Run,
    engines,
    grid,
    train,
)
from coexplore.beyond.supervised import COMPARISONS, settings
from coexplore.paper.figures import FIGURES
from coexplore.run.frozen import STATES
from coexplore.store import Store, read
from coexplore.store.encoding import key
from coexplore.study import Interrupted, study
from coexplore.study.snapshots import usual
from coexplore.study.work import Room

TINY = Run(rule=Recurrent(), hidden=(5,), task=Multiplexer(bits=1), critic=Critic(width=4), episodes=16 * 4000)

# A study in a process of its own, with checkpoints every few milliseconds so that every death meets one.
STUDY = """
import os, signal, sys, time, random
from coexplore.study import group, work
from coexplore import Boltzmann, Multiplexer, Reinforce, Run, grid
from coexplore.study import study
group.CHUNK_SECONDS, work.CHECKPOINT_SECONDS = 0.004, 0.008
run = Run(rule=Boltzmann(steps=5), hidden=(12,), task=Multiplexer(bits=2), episodes=16 * 20_000)
runs = grid(run, seed=range(3), coupling=[0.1, 0.5]) + grid(run, rule=Reinforce(), seed=range(2))
folder, deaths = sys.argv[1], int(sys.argv[2])
if "slowly" in sys.argv:  # many short runs, written slowly while the next ones train, and listed in an index
    from coexplore.store import Store, folder as place
    place.LEAST_INDEXED, runs, save = 1, grid(run, episodes=16 * 5_000, seed=range(40)), Store.save
    Store.save = lambda *arguments: time.sleep(0.1) or save(*arguments)
def latest(folder):  # file that was written; where results matter, no checkpoint counts
    places = [*os.walk(folder)][: 1 if "slowly" in sys.argv else None]
    files = (os.path.join(place, name) for place, _, names in places for name in names if ".safe" in name)
    return max((os.stat(file).st_mtime for file in files if os.path.exists(file)), default=0.0)
chance = random.Random(0)
for death in range(deaths):
    child = os.fork()
    if child == 0:
        done = study(runs, "cpu", progress=False, threads=2, store=folder)
        os._exit(0 if len(done.results) == len(runs) else 1)
    began, alive = time.time(), True
    while alive and death % 4 and time.time() < began + 20 and latest(folder) < began:
        time.sleep(0.01)  # most deaths come while it trains, the others anywhere
        alive = os.waitpid(child, os.WNOHANG) == (0, 0)
    if alive:
        time.sleep(chance.uniform(0.0, 0.4))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    print("finished by then:", sum(name.endswith(".safetensors") for name in os.listdir(folder)), flush=True)
done = study(runs, "cpu", progress=False, threads=2, store=folder)
assert not done.problems and not done.failures, (done.problems, done.failures)
print("trained at the end:", done.trained, "of", len(done.results))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Processes that are killed again and again should not each compile the same things."""
    cache = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}
    least = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}
    return {**os.environ, **cache, **least}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, environment):
    folder = tmp_path_factory.mktemp("undisturbed")
    subprocess.run([sys.executable, "-c", STUDY, str(folder), "0"], check=True, env=environment)
    return contents(folder)


def contents(folder):
    """What the contract calls bit for bit: the run, the tensors and the hash over both."""
    found, problems = read(folder)
    assert problems == []
    return {result.run.digest: (result.engine, result.provenance["sha256"]) for result in found}


@pytest.mark.faults
def test_killed_at_twenty_moments_a_study_ends_with_the_same_bits(tmp_path, environment, undisturbed, monkeypatch):
    words = [sys.executable, "-W", "ignore", "-c", STUDY, str(tmp_path), "20"]
    log = subprocess.run(words, check=True, env=environment, capture_output=True, text=True).stdout.splitlines()
    counts = [int(line.split()[-1]) for line in log[:20]]
    assert counts == sorted(counts)  # what was finished is kept
    assert contents(tmp_path) == undisturbed
    assert len(undisturbed) == 8
    assert not list(tmp_path.glob("checkpoints/*.safetensors"))
    # A death in the middle of writing leaves half a file under a name of its own, which pruning clears away.
    assert all(path.name.startswith(".") for path in tmp_path.glob("checkpoints/*"))
    monkeypatch.setattr("coexplore.store.folder.STALE", -1.0)
    Store(tmp_path).prune([])
    assert not list(tmp_path.glob("checkpoints/*"))
    assert contents(tmp_path) == undisturbed


@pytest.mark.faults
def test_killed_while_runs_are_being_written_a_study_loses_no_run_and_no_bit(tmp_path, environment):
    words = [sys.executable, "-W", "ignore", "-c", STUDY, str(tmp_path / "killed"), "5", "slowly"]
    log = subprocess.run(words, check=True, env=environment, capture_output=True, text=True).stdout.splitlines()
    words[-3:] = [str(tmp_path / "whole"), "0", "slowly"]
    subprocess.run(words, check=True, env=environment)
    counts = [int(line.split()[-1]) for line in log[:5]]
    assert counts == sorted(counts)
    assert 0 < counts[-1] < 40  # some were there to be lost, and some were still to be written
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")
    assert len(contents(tmp_path / "whole")) == 40


@pytest.mark.learning
def test_two_processes_share_a_store_and_train_no_run_twice(tmp_path, environment, undisturbed):
    words = [sys.executable, "-c", STUDY, str(tmp_path), "0"]
    both = [subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    logs = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    trained = [int(log.split()[4]) for log in logs]
    assert sum(trained) == 8
    assert contents(tmp_path) == undisturbed


@pytest.mark.parametrize("engine", ["cpu", "xla"])
def test_a_state_restored_from_its_tensors_goes_on_bit_for_bit(engine):
    module = engines.find(engine)
    run = dataclasses.replace(TINY, rule=Boltzmann(steps=2, coupling=Linear(0.4, 0.1)), episodes=16 * 60)
    whole = module.finish(module.advance(module.start([run]), 60))[0]
    half = module.tensors(module.advance(module.start([run]), 23))
    (tensors,) = half
    assert tensors["done"] == 23
    again = module.finish(module.advance(module.restore([run], half), 60))[0]
    for a, b in zip(
        jax.tree.leaves((whole.curve, whole.params)), jax.tree.leaves((again.curve, again.params)), strict=True
    ):
        assert np.array_equal(a, b)


def test_ctrl_c_leaves_a_checkpoint_and_the_next_study_goes_on(tmp_path, monkeypatch):
    run = dataclasses.replace(TINY, episodes=16 * 400_000)
    real = engines.find("cpu").advance

    def advance(state, updates):
        if state.done > 1000:
            monkeypatch.undo()
            interrupt.set()
        return real(state, updates)

    interrupt = threading.Event()
    monkeypatch.setattr(engines.find("cpu"), "advance", advance)
    monkeypatch.setattr("coexplore.study.studies._all", lambda *_: raise_when(interrupt))
    with pytest.raises(Interrupted) as stopped:
        study(run, "cpu", progress=False, store=tmp_path)
    assert stopped.value.finished == []
    done = int(Store(tmp_path).checkpoint(run, "cpu", engines.find("cpu").built())[0].done)
    assert 1000 < done < run.updates
    resumed, alone = train(run, "cpu", progress=False, store=tmp_path)[0], train(run, "cpu", progress=False)[0]
    assert np.array_equal(resumed.curve, alone.curve)
    assert not list(tmp_path.glob("checkpoints/*"))


def raise_when(event):
    event.wait(60)
    raise KeyboardInterrupt


def test_a_finished_study_trains_nothing_the_second_time(tmp_path):
    runs = grid(TINY, seed=range(3))
    assert study([*runs, runs[0]], "cpu", progress=False, store=tmp_path).trained == 3
    again = study([*runs, runs[0]], progress=False, store=tmp_path)
    assert again.trained == 0
    assert [result.run for result in again.results] == [*runs, runs[0]]


def test_a_failure_is_written_down_against_its_run_and_the_others_go_on(tmp_path, monkeypatch):
    runs, module = grid(TINY, seed=range(3)), engines.find("cpu")
    start, finish = module.start, module.finish
    monkeypatch.setattr(module, "start", lambda group: broken() if group[0].seed == 1 else start(group))
    monkeypatch.setattr(module, "finish", lambda state: [infinite(r) if r.run.seed == 2 else r for r in finish(state)])
    done = study(runs, "cpu", progress=False, store=tmp_path)
    assert [result.run.seed for result in done.results] == [0]
    reasons = {failure.run.seed: str(failure) for failure in done.failures}
    assert "MemoryError: no room" in reasons[1]
    assert "no longer finite" in reasons[2]
    assert "--seed 2 --engine cpu" in reasons[2]
    assert (tmp_path / "failed" / f"{key(runs[1], 'cpu')}.json").exists()
    with pytest.raises(RuntimeError, match="no room"):
        train(runs[1], "cpu", progress=False)
    monkeypatch.undo()
    assert study(runs, "cpu", progress=False, store=tmp_path).trained == 2
    assert not list((tmp_path / "failed").iterdir())


@pytest.mark.parametrize("stored", [False, True])
def test_train_returns_the_runs_that_finished_and_names_those_that_failed(stored, tmp_path, monkeypatch):
    short, module = dataclasses.replace(TINY, episodes=64), engines.find("cpu")
    runs, start = grid(short, seed=range(4)), module.start
    other = dataclasses.replace(short, hidden=(6,))  # found to be broken before the others train
    monkeypatch.setattr("coexplore.study.studies.faulty", lambda runs: {other: "its rule is broken"})
    monkeypatch.setattr(module, "start", lambda group: broken() if group[0].seed in (1, 3) else start(group))
    how = {"engine": "cpu", "progress": False, "store": tmp_path if stored else None}
    with pytest.warns(UserWarning, match="^3 runs failed .*: MemoryError: no room$") as warned:
        results = train([*runs, other], **how)
    assert [result.run for result in results] == [runs[0], runs[2]]
    failed = [(runs[1], "MemoryError: no room"), (runs[3], "MemoryError: no room"), (other, "its rule is broken")]
    assert [(failure.run, failure.reason) for failure in results.failures] == failed
    (warning,) = warned
    assert warning.filename == __file__
    assert str(warning.message) == repr(results).splitlines()[-1]
    with pytest.raises(RuntimeError, match="no room"):
        train([runs[1], runs[3]], **how)
    monkeypatch.undo()
    assert train(runs, **how).failures == ()


def broken():
    raise MemoryError("no\nroom")


def infinite(result):
    return result.replaced(params=jax.tree.map(lambda x: x * np.float32(np.nan), result.params))


def test_snapshots_are_what_the_network_does_and_do_not_touch_the_training(tmp_path):
    run = dataclasses.replace(TINY, rule=Reinforce())
    seen = train(run, "cpu", progress=False, store=tmp_path, snapshots=20)[0]
    plain = train(run, "cpu", progress=False)[0]
    assert np.array_equal(seen.curve, plain.curve)
    assert plain.snapshots == {}
    assert list(seen.snapshots["updates"]) == [200 * i for i in range(21)]
    assert seen.snapshots["firing.0"].shape == (21, 5)
    norm = np.linalg.norm(np.asarray(seen.params.layers[0].W))
    assert seen.snapshots["norm.layers.0.W"][-1] == pytest.approx(norm, rel=1e-5)
    assert seen.snapshots["norm.layers.0.W"][0] != pytest.approx(norm, rel=1e-2)
    expected = firing(seen)
    assert np.all(np.abs(seen.snapshots["firing.0"][-1] - expected) < 5 * np.sqrt(0.25 / STATES))
    assert seen.snapshots["critic_error"][-1] < seen.snapshots["critic_error"][0]


@pytest.mark.parametrize(("count", "moments"), [(0, [4000]), (1, [0, 4000]), (4, [0, 1000, 2000, 3000, 4000])])
def test_as_many_snapshots_as_one_asks_for(tmp_path, count, moments):
    (seen,) = train(TINY, "cpu", progress=False, store=tmp_path, snapshots=count)
    assert list(seen.snapshots["updates"]) == moments
    (plain,) = train(TINY, "cpu", progress=False, snapshots=count)  # what one asks for is there without a store too
    assert plain.snapshots.keys() == seen.snapshots.keys()
    assert all(np.array_equal(plain.snapshots[name], seen.snapshots[name]) for name in seen.snapshots)


@pytest.mark.parametrize(("units", "updates", "count"), [(8, 1000, 0), (16, 1000, 1), (64, 1000, 4), (8, 40_000, 20)])
def test_a_short_run_is_looked_at_less_often_unless_one_asks(units, updates, count):
    run = Run(rule=Reinforce(), hidden=units, episodes=16 * updates)
    assert usual(run) == usual(run.with_seed(3)) == count


def test_every_run_of_the_paper_and_of_the_comparisons_is_looked_at_twenty_times():
    runs = [run for figure in FIGURES.values() for run in figure.settings()]
    runs += [run for comparison in COMPARISONS.values() for run in settings(comparison)]
    assert {usual(run) for run in runs} == {20}


def test_a_store_has_the_usual_snapshots_and_a_callback_twenty_calls(tmp_path):
    heard = []
    run = dataclasses.replace(TINY, rule=Reinforce())  # 5 units × 4000 updates
    (result,) = train(run, "cpu", progress=False, store=tmp_path, callback=heard.append)
    assert list(result.snapshots["updates"]) == [0, 4000]
    assert [moment.updates for moment in heard] == [200 * i for i in range(1, 21)]


def test_a_study_that_ends_within_seconds_writes_no_checkpoint(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(Store, "save_checkpoint", lambda self, run, *rest: written.append(run))
    monkeypatch.setattr("coexplore.study.group.CHUNK_SECONDS", 0.01)
    assert len(train(TINY, "cpu", progress=False, store=tmp_path)) == 1
    assert written == []
    # Where it must be feared to take longer, it does.
    monkeypatch.setattr("coexplore.study.work.CHECKPOINT_SECONDS", 0.0)
    train(dataclasses.replace(TINY, seed=1), "cpu", progress=False, store=tmp_path)
    assert written


def firing(result):
    """How often each unit should fire, over all inputs."""
    inputs = np.array([[(i >> j & 1) * 2 - 1 for j in range(3)] for i in range(8)])
    W, b = (np.asarray(x) for x in (result.params.layers[0].W, result.params.layers[0].b))
    return (1 / (1 + np.exp(-(inputs @ W + b)))).mean(axis=0)


def test_a_frozen_run_is_a_result_that_says_so():
    curve = np.full(4, 0.01, np.float32)
    result = train(dataclasses.replace(TINY, episodes=64), "cpu", progress=False)[0]
    frozen = {"firing.0": np.array([[0.3, 0.5], [0.0, 1.0]])}
    assert result.replaced(curve=curve, snapshots=frozen).frozen
    assert not result.replaced(curve=curve + 0.5, snapshots=frozen).frozen
    assert not result.replaced(curve=curve, snapshots={"firing.0": np.array([[0.3, 1.0]])}).frozen
    stuck = {"firing.0": np.array([[0.3, 0.6]]), "firing.1": np.array([[1.0]])}  # always the same action
    assert result.replaced(curve=curve, snapshots=stuck).frozen


def with_biases(run, *biases):
    """A result at chance whose parameters, but for the biases of its layers, are those of the start."""
    params = run.init()
    layers = (dataclasses.replace(p, b=jax.numpy.full_like(p.b, b)) for p, b in zip(params.layers, biases, strict=True))
    return Result(run, "xla", np.zeros(4, np.float32), dataclasses.replace(params, layers=tuple(layers)))


def test_what_froze_is_seen_in_the_final_parameters_where_nobody_looked_on_the_way():
    run = dataclasses.replace(TINY, hidden=(3, 2), episodes=64)
    assert not with_biases(run, 0, 0, 0).frozen
    assert with_biases(run, 0, 0, 50).frozen  # the output
    assert with_biases(run, -50, 0, 0).frozen  # the first layer
    assert with_biases(run, 0, 50, 0).frozen
    gaussian = dataclasses.replace(run, rule=MapProp())
    assert not with_biases(gaussian, -50, -50, 0).frozen  # small values that move are not bits that do not
    assert with_biases(gaussian, 0, 0, -50).frozen


def test_no_more_goes_on_at_a_time_than_there_is_room_for():
    room, inside, most, lock = Room(10), [], [], threading.Lock()

    def use(much):
        with room.taken(much):
            with lock:
                inside.append(min(much, 10))
                most.append(sum(inside))
            time.sleep(0.002)
            with lock:
                inside.remove(min(much, 10))

    threads = [threading.Thread(target=use, args=[much]) for much in (3, 4, 99, 5, 1, 10, 2, 6) * 5]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(most) == len(threads)  # nobody waited for ever
    assert max(most) == 10
