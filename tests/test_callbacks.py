"""Callbacks: they are told of every moment, may stop a run, and change no bit of those that go on."""

import dataclasses
import re

import jax
import numpy as np
import probes
import pytest

import coexplore
from coexplore import (
    STOP,
    Control,
    Critic,
    Moment,
    Multiplexer,
    Reinforce,
    Run,
    TensorBoard,
    engines,
    grid,
    train,
)
from coexplore.settings import FieldError
from coexplore.store import Store
from coexplore.study import study
from coexplore.study.callbacks import checked_callback

probes.register()
TINY = Run(rule=Reinforce(), hidden=(5,), task=Multiplexer(bits=1), critic=Critic(width=4), episodes=16 * 400)
ACTING = Run(rule=Reinforce(), hidden=(4,), task=Control(env="probe/walk-v0"), critic=Critic(width=4), episodes=40)


def same(a, b):
    leaves = zip(jax.tree.leaves((a.curve, a.params)), jax.tree.leaves((b.curve, b.params)), strict=True)
    return all(np.array_equal(x, y) for x, y in leaves)


def test_a_callback_hears_of_every_moment_and_what_it_hears_is_the_curve():
    heard = []
    (result,) = train(TINY, "cpu", progress=False, callback=heard.append)
    assert all(isinstance(moment, Moment) for moment in heard)
    assert [moment.updates for moment in heard] == [20 * i for i in range(1, 21)]
    assert [moment.episodes for moment in heard] == [320 * i for i in range(1, 21)]
    assert [moment.finished for moment in heard] == [False] * 19 + [True]
    np.testing.assert_allclose(
        [moment.reward for moment in heard], result.curve.reshape(20, -1).mean(axis=1), atol=1e-5
    )
    assert same(result, train(TINY, "cpu", progress=False)[0])


def test_parameters_are_had_on_request_and_only_while_it_is_called():
    kept = []

    def callback(moment):
        kept.append((moment, moment.params if moment.finished else None))

    (result,) = train(TINY, "cpu", progress=False, snapshots=2, callback=callback)
    (early, _), (last, params) = kept
    assert all(map(np.array_equal, jax.tree.leaves(params), jax.tree.leaves(result.params)))
    assert last.params is params
    with pytest.raises(FieldError, match="while the callback is called"):
        _ = early.params


def stop_seed(seed, updates):
    return lambda moment: STOP if (moment.run.seed, moment.updates) == (seed, updates) else None


@pytest.mark.parametrize("engine", ["cpu", "control"])
def test_a_run_that_is_stopped_has_no_result_leaves_a_checkpoint_and_goes_on_from_there(engine, tmp_path):
    """On control all three are in one group."""
    run = TINY if engine == "cpu" else ACTING
    runs, half = grid(run, seed=range(3)), run.updates // 2
    done = study(runs, progress=False, store=tmp_path, callback=stop_seed(1, half))
    assert [result.run.seed for result in done.results] == [0, 2]
    assert [(one.run.seed, one.updates) for one in done.stopped] == [(1, half)]
    assert not done.failures
    assert Store(tmp_path).find(runs[1])[0] is None
    (left,) = Store(tmp_path).under_way()
    assert (left.run, left.done) == (runs[1], half)
    heard = []
    again = study(runs, progress=False, store=tmp_path, callback=lambda moment: heard.append(moment.updates))
    assert again.trained == 1
    assert heard == [half + run.updates * i // 20 for i in range(1, 11)]
    plain = train(runs, progress=False)
    assert all(map(same, again.results, plain))
    assert not Store(tmp_path).under_way()


def test_whoever_is_stopped_in_a_wide_group_does_not_move_the_others(monkeypatch):
    """As on a GPU, where xla trains many at a time."""
    module = engines.find("xla")
    monkeypatch.setattr(module, "widths", lambda: (4, 4))
    run = dataclasses.replace(TINY, critic=None, episodes=16 * 40)
    plain = train(grid(run, seed=range(3)), "xla", progress=False)
    stopped = train(grid(run, seed=range(3)), "xla", progress=False, callback=stop_seed(1, 10))
    assert [result.run.seed for result in stopped] == [0, 2]
    assert same(stopped[0], plain[0])
    assert same(stopped[1], plain[2])


def test_a_run_that_is_stopped_at_its_end_is_stopped_and_a_group_whose_runs_all_are_ends(monkeypatch, tmp_path):
    assert train(TINY, "cpu", progress=False, store=tmp_path, callback=stop_seed(0, 400)) == []
    assert Store(tmp_path).find(TINY)[0] is None
    module, advanced = engines.find("cpu"), []
    advance = module.advance
    monkeypatch.setattr(module, "advance", lambda state, updates: advanced.append(updates) or advance(state, updates))
    assert train(TINY.with_seed(1), "cpu", progress=False, callback=lambda moment: STOP) == []
    assert sum(advanced) == 20


def test_what_a_callback_raises_ends_the_training_and_nothing_is_lost(tmp_path):
    def callback(moment):
        if (moment.run.seed, moment.updates) == (1, 200):
            raise LookupError("enough")

    runs = grid(TINY, seed=range(2))
    with pytest.raises(LookupError, match="enough"):
        train(runs, "cpu", progress=False, store=tmp_path, threads=1, callback=callback)
    assert Store(tmp_path).find(runs[0])[0] is not None
    (left,) = Store(tmp_path).under_way()
    assert (left.run, left.done) == (runs[1], 200)
    assert same(train(runs[1], "cpu", progress=False, store=tmp_path)[0], train(runs[1], "cpu", progress=False)[0])


def test_a_callback_that_has_raised_is_not_called_again():
    called = []

    def callback(moment):
        called.append(moment)
        raise LookupError("at once") from ValueError("why")

    with pytest.raises(LookupError, match="at once") as raised:
        train(grid(TINY, seed=range(8)), "cpu", progress=False, threads=4, callback=callback)
    assert len(called) == 1
    assert isinstance(raised.value.__cause__, ValueError)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"callback": lambda moment: True}, "callback: True is not allowed; give coexplore.STOP back, or nothing"),
        (
            {"callback": print, "cluster": "ray"},
            "cluster: 'ray' is not allowed; give none to a training with a callback",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(given, line):
    with pytest.raises(FieldError, match=re.escape(line)):
        train(TINY, progress=False, **given)
    with pytest.raises(FieldError, match="callback: 3 is not allowed; give a function of one argument, a Moment"):
        checked_callback(3, None)


def test_what_a_store_has_is_not_told_again(tmp_path):
    train(TINY, "cpu", progress=False, store=tmp_path)
    heard = []
    assert len(train(TINY, "cpu", progress=False, store=tmp_path, callback=heard.append)) == 1
    assert heard == []


def test_one_call_at_a_time_whatever_the_number_of_threads():
    inside, most = [], []

    def callback(moment):
        inside.append(moment)
        most.append(len(inside))
        inside.pop()

    train(grid(TINY, seed=range(4)), "cpu", progress=False, threads=4, callback=callback)
    assert most == [1] * 80


def test_progress_says_how_many_were_stopped(capsys):
    train(grid(TINY, seed=range(3)), "cpu", callback=stop_seed(1, 200))
    assert "coexplore: 1 of 3 runs were stopped by the callback" in capsys.readouterr().err


# TensorBoard ----------------------------------------------------------------------------------------------------------


def events(folder):
    """What TensorBoard itself reads, by tag: (step, value)."""
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    found = {}
    (path,) = folder.iterdir()
    for event in EventFileLoader(str(path)).Load():
        for value in event.summary.value:
            found.setdefault(value.tag, []).append((event.step, float(value.tensor.float_val[0])))
    return found


def test_tensorboard_reads_rewards_and_sizes_of_every_run(tmp_path):
    heard = []
    board = TensorBoard(tmp_path / "tb")

    def both(moment):
        heard.append(moment)
        return board(moment)

    runs = grid(TINY, seed=range(2))
    results = train(runs, "cpu", progress=False, snapshots=4, callback=both)
    assert len(list((tmp_path / "tb").iterdir())) == 2
    for result in results:
        found = events(tmp_path / "tb" / f"reinforce-{result.run.seed}-{result.run.digest[:12]}")
        mine = [(moment.episodes, moment.reward) for moment in heard if moment.run == result.run]
        np.testing.assert_allclose(found["reward"], mine, rtol=1e-6)
        sizes = [np.linalg.norm(np.ravel(leaf)) for leaf in jax.tree.leaves(result.params)]
        assert [series[-1][1] for tag, series in found.items() if tag != "reward"] == pytest.approx(sizes, rel=1e-5)
        assert "norm.layers.0.W" in found


def test_the_command_writes_for_tensorboard(tmp_path, here):
    words = ["reinforce", "--units", "3", "--bits", "1", "--episodes", "1600", "--tensorboard", str(tmp_path)]
    assert here("train", *words).returncode == 0
    (folder,) = tmp_path.iterdir()
    assert len(events(folder)["reward"]) == 20
    blocked = here("train", *words[:-1], str(folder / next(folder.iterdir())))
    assert blocked.returncode == 2
    assert re.search(r"tensorboard: '.* is not allowed; give a folder that can be written", blocked.stderr)
    done = here("train", *words, "--cluster", "ray")
    assert done.returncode == 2
    assert "cluster: 'ray' is not allowed; give none to a training with a callback" in done.stderr


def test_a_disk_that_is_full_is_one_line_on_the_command_line(tmp_path, here, monkeypatch):
    def full(path, record):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("coexplore.study.tensorboard._append", full)
    words = ["--units", "3", "--bits", "1", "--episodes", "1600", "--tensorboard", str(tmp_path)]
    done = here("train", "reinforce", *words)
    assert done.returncode == 1
    assert done.stderr.endswith("[Errno 28] No space left on device\n")


def test_where_tensorboard_is_missing_a_line_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "tensorboard.compat.proto.event_pb2", None)
    with pytest.raises(FieldError, match=r"TensorBoard is not installed: pip install 'coexplore\[tensorboard\]'"):
        coexplore.TensorBoard(tmp_path)
