"""Files whose hashes fit and whose contents do not: a line for each, and the good ones beside them are used."""

import dataclasses
import json
import os
import random
import shutil

import numpy as np
import pytest
from fuzz import files
from fuzz.forging import forged
from safetensors.numpy import save_file

from coexplore import STOP, Boltzmann, Reinforce, Result, Run, load, train
from coexplore.cli import reproduce
from coexplore.paper import evidence
from coexplore.paper.checkpoints import read_table
from coexplore.paper.claims import verdicts
from coexplore.paper.tuned_claims import verdicts as every_verdict
from coexplore.report.energy import energies
from coexplore.report.live import Follower
from coexplore.run import needs
from coexplore.run.curve import bins
from coexplore.run.frozen import within_reach
from coexplore.settings import FieldError
from coexplore.stats import bounded
from coexplore.store import Store, StoreError, folder, pack, read, readable, texts
from coexplore.store.encoding import about, encoded, key
from coexplore.store.sealed import unseal
from coexplore.study import study
from coexplore.tasks.multiplexer import Multiplexer

RUN = Run(rule=Reinforce(), task=Multiplexer(bits=1), hidden=(3,), critic=None, episodes=16 * 200)
CHAIN = Run(rule=Boltzmann(steps=10**9), task=Multiplexer(bits=1), hidden=(3,), critic=None, episodes=16 * 200)


def made_up(run):
    seen = {"updates": np.array([0, 200]), "firing.0": np.full((2, 3), 0.5, np.float32)}
    return Result(run, "cpu", np.full(bins(run.updates), 0.01, np.float32), run.init(), {"seconds": 1.0}, seen)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    kept = tmp_path_factory.mktemp("kept")
    for seed in range(2):
        Store(kept).save(made_up(RUN.with_seed(seed)))
    return kept


@pytest.fixture
def store(original, tmp_path):
    return shutil.copytree(original, tmp_path / "store")


def put(name, x):
    return lambda stated, tensors, told: tensors.update({name: x})


def changed(name, change):
    return lambda stated, tensors, told: tensors.update({name: change(tensors[name])})


def floats(*shape):
    return np.full(shape, 0.5, np.float32)


HOSTILE = {
    "a short curve": (put("curve", floats(7)), "a curve of 7 points for 200 updates"),
    "a curve of no points": (put("curve", floats(0)), "a curve of 0 points"),
    "a curve of no dimension": (put("curve", floats()), "a curve of shape [] instead of points"),
    "a table for a curve": (put("curve", floats(2, 100)), "a curve of shape [2, 100]"),
    "a curve of NaN": (put("curve", np.full(200, np.nan, np.float32)), "'curve' is not all numbers"),
    "a curve of words": (put("curve", np.zeros(200, np.uint8)), "'curve' is not all numbers"),
    "rewards whose squares are none": (put("curve", np.full(200, 3e38, np.float32)), "beyond 1e+15"),
    "no curve": (lambda stated, tensors, told: tensors.pop("curve"), "not a readable result ('curve' is missing)"),
    "parameters of another shape": (put("params.layers.0.b", floats(9)), "parameters that do not fit"),
    "parameters of another type": (changed("params.layers.0.b", np.float64), "parameters that do not fit"),
    "parameters of NaN": (changed("params.layers.0.W", lambda x: x * np.nan), "'params.layers.0.W' is not all numbers"),
    "too few parameters": (lambda stated, tensors, told: tensors.pop("params.layers.1.W"), "that do not fit the run"),
    "another array": (put("x", floats(1)), "no result has 'x'"),
    "rates of no moment": (put("snapshots.firing.0", floats(0, 3)), "'firing.0' of shape [0, 3]"),
    "rates of one dimension": (put("snapshots.firing.0", floats(2)), "'firing.0' of shape [2]"),
    "rates of more units": (put("snapshots.firing.0", floats(2, 30)), "'firing.0' of shape [2, 30]"),
    "moments backwards": (changed("snapshots.updates", lambda x: x[::-1]), "are not moments of 200 updates"),
    "moments beyond the end": (changed("snapshots.updates", lambda x: x + 1), "are not moments of 200 updates"),
    "an accuracy of 2": (put("snapshots.accuracy", floats(2) * 4), "'accuracy' is not from 0 to 1"),
    "no engine": (lambda stated, tensors, told: stated.pop("engine"), "not a readable result ('engine' is missing)"),
    "no stream": (lambda stated, tensors, told: stated.pop("stream"), "the name does not fit"),
    "nobody's engine": (lambda stated, tensors, told: stated.update(engine="abacus"), "'abacus' is not known here"),
    "seconds of a word": (lambda stated, tensors, told: told.update(seconds="x"), "'seconds' of 'x'"),
    "seconds beyond floats": (lambda stated, tensors, told: told.update(seconds=10**400), "more than 64 bits"),
    "a time that is none": (lambda stated, tensors, told: told.update(finished=[1]), "'finished' of '[1]'"),
    "a number that is none": (lambda stated, tensors, told: told.update(seconds=float("nan")), "NaN is no number"),
    "half a letter": (lambda stated, tensors, told: told.update(machine="\ud800"), "not a readable result"),
    "a run of nothing": (lambda stated, tensors, told: stated.update(run=None), "not a readable result"),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_result_is_a_line_and_the_others_are_shown(kind, store):
    other = RUN.with_seed(7)
    result, (change, words) = made_up(other), HOSTILE[kind]
    stated, tensors, told = about(other, "cpu"), encoded(result), {"seconds": 1.0}
    change(stated, tensors, told)
    path = store / f"{key(other, 'cpu')}.safetensors"
    path.write_bytes(forged(stated, tensors, told))
    results, problems = read(store)
    assert {result.seed for result in results} == {0, 1}
    assert len(problems) == 1
    assert words in problems[0]
    assert "Error" not in problems[0]
    assert problems[0].isprintable()
    known, problems = Store(store).find_all([other])
    assert known == {}
    assert words in problems[0]
    assert path.exists() or (store / "damaged" / path.name).exists()


def test_a_chain_that_would_never_end_is_not_drawn(store):
    """T = 10⁹ would take 15 TiB, or for ever: there is no energy, and nobody looks whether it froze."""
    result = made_up(CHAIN)
    Store(store).save(Result(CHAIN, "cpu", result.curve, result.params, {}, {"updates": np.array([0, 200])}))
    results, problems = read(store)
    assert (len(results), problems) == (3, [])
    (found,) = (result for result in results if result.setting == CHAIN)
    assert (found.frozen, energies(found)) == (False, None)


def test_a_chain_that_would_fill_the_memory_is_not_drawn(monkeypatch):
    """A few multiplications a step, and 10 kB."""
    long, longer = (made_up(dataclasses.replace(CHAIN, rule=Boltzmann(steps=T))) for T in (20_000, 2_000_000))
    assert energies(long) is energies(longer) is None
    assert (within_reach(long.run), within_reach(longer.run)) == (True, False)
    monkeypatch.setattr(needs, "memory", lambda: 10**9)
    for look in (lambda: longer.act(np.zeros(3), deterministic=True), longer.evaluate):
        with pytest.raises(FieldError, match="steps: 2000000 needs 18 GB, this machine has 1 GB; give less"):
            look()


def test_a_file_may_be_no_file(store):
    os.mkfifo(store / f"{key(RUN.with_seed(8), 'cpu')}.safetensors")
    os.mkfifo(store / "pack.safetensors")
    results, problems = read(store)
    assert len(results) == 2
    assert problems == [f"{store / 'pack.safetensors'}: not a file"]


@pytest.fixture
def foreign(store):
    """A file of another program's in the store."""
    save_file({"weight": np.zeros(3, np.float32)}, store / "weights.safetensors", {"format": "np"})
    return store / "weights.safetensors"


def test_a_safetensors_file_of_something_else_is_passed_over_in_a_folder_and_refused_by_its_name(store, foreign):
    results, problems = read(store)
    assert (len(results), problems) == (2, [])
    with pytest.raises(StoreError) as refused:
        read(foreign)
    assert str(refused.value) == f"{foreign}: holds no runs"
    alone = foreign.rename(store / "damaged-weights.safetensors")
    for each in set(store.glob("*.safetensors")) - {alone}:
        each.unlink()
    with pytest.raises(StoreError, match="no results here"):
        read(store)


def test_a_file_under_the_name_of_a_run_is_not_passed_over(store, foreign):
    path = foreign.rename(store / f"{key(RUN.with_seed(8), 'cpu')}.safetensors")
    assert read(store)[1] == [f"{path}: holds no runs"]


def test_a_damaged_file_of_ours_is_noticed_whatever_byte_has_changed(store, tmp_path):
    path = store / "pack.safetensors"
    pack(read(store)[0], path)
    data = path.read_bytes()
    header = 8 + int.from_bytes(data[:8], "little")
    for at in [*range(8), *(data.index(word) for word in (b"__metadata__", b"coexplore", b"seal", b"scores")), header]:
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        (line,) = read(store)[1]
        assert line.startswith(f"{path}: ")
        assert "Error" not in line


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "cannot be read now (not enough memory)"),
        (PermissionError(13, "Permission denied", "x"), "cannot be read now (Permission denied)"),
        (IndexError("list index out of range"), "not a readable pack"),
        (KeyError("seeds"), "not a readable pack ('seeds' is missing)"),
        (ValueError("seeds must be whole numbers"), "not a readable pack (seeds must be whole numbers)"),
    ],
)
def test_no_error_is_called_by_its_name_in_a_line_about_a_file(error, words):
    with pytest.raises(StoreError) as refused, readable("x", "pack"):
        raise error
    assert str(refused.value) == f"x: {words}"


def test_lines_about_files_are_lines(tmp_path):
    path = tmp_path / "a\nb\x1b[31m.safetensors"
    path.write_bytes(b"nonsense")
    with pytest.raises(StoreError) as refused:
        load(path)
    assert str(refused.value).isprintable()
    assert "a\\nb\\x1b[31m" in str(refused.value)


SPOILT = {
    "parameters of another shape": lambda tensors: tensors.update(params=tensors["params"][:-8]),
    "moments of another type": lambda tensors: tensors.update(moments=tensors["moments"].astype(np.float64)),
    "more updates than there are": lambda tensors: tensors.update(done=np.asarray(10**6)),
    "no updates": lambda tensors: tensors.pop("done"),
    "a curve of NaN": lambda tensors: tensors.update(curve=tensors["curve"] * np.nan),
    "no random numbers": lambda tensors: tensors.pop("random"),
    "snapshots of no moment": lambda tensors: tensors.pop("snapshots.updates"),
}


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A store with a checkpoint of RUN, and the result that it leads to."""
    kept = tmp_path_factory.mktemp("stopped")
    study(RUN, "cpu", progress=False, store=kept, snapshots=20, callback=lambda at: STOP if at.updates else None)
    return kept, train(RUN, "cpu", progress=False)[0]


@pytest.mark.parametrize("kind", SPOILT)
def test_a_checkpoint_that_is_not_one_is_set_aside_and_the_run_begins_again(kind, stopped, tmp_path):
    kept, right = stopped
    store = shutil.copytree(kept, tmp_path / "store")
    (path,) = store.glob("checkpoints/*")
    stated, tensors, told = unseal(path)
    SPOILT[kind](tensors)
    path.write_bytes(forged(stated, tensors, {"built": told["built"]}))
    assert Follower(store).live()["running"] == [] or kind in ("no random numbers", *list(SPOILT)[:2])
    done = study(RUN, "cpu", progress=False, store=store)
    assert done.failures == []
    assert done.results[0].curve.tobytes() == right.curve.tobytes()
    assert (store / "damaged" / path.name).exists()
    assert len(done.problems) == 1
    assert "set aside in" in done.problems[0]
    assert "Error" not in done.problems[0]


def test_what_is_not_a_plan_or_a_failure_does_not_stop_a_report(store):
    for name, text in (("plans/a.json", '[["s", "r", -5, "AAAA"]]'), ("failed/b.json", '{"reason": "x\\ny\\u202e"}')):
        (store / name).parent.mkdir()
        (store / name).write_text(text)
    (store / "failed" / "c.json").write_text("[" * 100_000)
    live = Follower(store).live()
    assert live["planned"] is None
    assert live["failures"][0] == "x\\ny\\u202e"
    assert "c.json: not a readable failure (JSON that is too deep)" in live["failures"][1]


def test_lists_in_lists_come_no_further_than_the_door():
    assert texts.parsed("[" * 50 + "]" * 50)[0][0] is not None
    for deep in ("[" * 51 + "]" * 51, '{"a":' * 300 + "1" + "}" * 300):
        with pytest.raises(ValueError, match="too deep"):
            texts.parsed(deep)


def test_runs_as_long_as_any_may_be_are_packed_and_judged_as_others_are():
    """In smaller batches than the paper's they would be longer than a run may be, in larger ones the paper's would."""
    longest = Run(task=Multiplexer(bits=1), hidden=(3,), critic=None, episodes=2**31 - 1, batch=1)
    results = [made_up(run) for run in (longest, dataclasses.replace(longest, batch=2**31 - 1))]
    assert evidence.unmixed(results) == results
    assert evidence.passed_over(results) == set()
    assert {verdict.verdict for verdict in every_verdict(results, 2**31 - 16) if not verdict.proof} == {"not run"}


def test_a_table_of_gradients_that_is_none_does_not_stop_the_verdicts(store, capsys, monkeypatch):
    (store / "gradients.json").write_text('{"gradients": [{"level": NaN}]}')
    with pytest.raises(StoreError, match="NaN is no number"):
        read_table(store)
    monkeypatch.setattr(reproduce, "every_verdict", lambda results, episodes, measured: measured)
    assert reproduce.claims_command(["--store", str(store), "--json"]) == 0
    told = capsys.readouterr()
    assert "gradients.json: not a readable table of gradients" in told.err
    assert json.loads(told.out) == []


@pytest.mark.parametrize("change", [{"effect": float("nan")}, {"proof": [1]}, {"sentence": "\ud800"}, {"x": 1}])
def test_verdicts_that_are_none_are_told_of_and_written_anew(change, tmp_path, capsys):
    one = verdicts([], 4_000_000)[0].to_dict()
    (tmp_path / "claims.json").write_text(json.dumps([one]))
    assert [verdict.id for verdict in reproduce._written(tmp_path / "claims.json")] == [one["id"]]
    (tmp_path / "claims.json").write_text(json.dumps([{**one, **change}]))
    assert reproduce._written(tmp_path / "claims.json") == []
    assert "not a readable list of verdicts" in capsys.readouterr().err


def test_what_is_written_can_be_read(store):
    bad = made_up(RUN.with_seed(9)).replaced(curve=np.full(200, np.inf, np.float32))
    with pytest.raises(StoreError, match="'curve' is not all numbers"):
        Store(store).save(bad)
    assert len(read(store)[0]) == 2


def test_runs_that_are_found_again_need_not_be_opened_the_next_time(store, monkeypatch):
    monkeypatch.setattr(folder, "LEAST_INDEXED", 2)
    runs = [RUN.with_seed(seed) for seed in range(2)]
    first, _ = Store(store).find_all(runs)
    monkeypatch.setattr(folder, "read_result", lambda *_: pytest.fail("opened"))
    again, problems = Store(store).find_all(runs)
    assert problems == []
    assert {run: result.scores for run, result in again.items()} == {run: first[run].scores for run in runs}


def test_weights_that_nobody_holds_are_the_same(monkeypatch):
    values = np.random.default_rng(0).uniform(-1, 1, (2, 100))
    whole = bounded.drawn(values, (-1.0, 1.0), 1, 3)
    monkeypatch.setattr(bounded, "AT_ONCE", 10)
    parts = bounded.drawn(values, (-1.0, 1.0), 1, 3)
    np.testing.assert_allclose(parts, whole, rtol=0, atol=1e-14)


@pytest.mark.parametrize("form", [form for form in files.FORMS if form != "checkpoint"])
def test_files_of_every_form_from_anywhere(form, tmp_path_factory, monkeypatch):
    """A few of those that `make fuzz` tries for as long as one likes."""
    scratch = tmp_path_factory.getbasetemp() / "fuzz"
    scratch.mkdir(exist_ok=True)
    monkeypatch.setattr(files, "FORMS", (form,))
    monkeypatch.setattr(files, "MANY", 12)
    monkeypatch.setattr(files, "COMMANDS", {name: files.COMMANDS[name] for name in ("runs", "csv")})
    monkeypatch.setattr(folder, "LEAST_INDEXED", 1)
    monkeypatch.chdir(tmp_path_factory.getbasetemp())
    assert files.attempt(random.Random(f"{form} 1"), scratch) is None
