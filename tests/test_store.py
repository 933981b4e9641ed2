"""Results on disk: read back as they were written, never read when damaged, packed without changing any mean."""

import errno
import json
import multiprocessing
import os
import shutil
from pathlib import Path

import jax
import numpy as np
import pytest
from safetensors.numpy import save as to_bytes

from coexplore import (
    Boltzmann,
    Critic,
    Local,
    Multiplexer,
    Recurrent,
    Reinforce,
    Result,
    Run,
    engines,
    grid,
    load,
    number,
    train,
)
from coexplore.engines.watched import named_leaves
from coexplore.rules.baseline import Chains, Learned, Predicted
from coexplore.rules.learning_signal import CentredAdvantage
from coexplore.run import select
from coexplore.settings import FieldError
from coexplore.store import Checkpoint, Store, Unwritable, pack, read
from coexplore.store.encoding import key
from coexplore.store.sealed import StoreError, seal, sealed, unseal
from coexplore.study import study
from coexplore.variants.depression import DepressedRecurrent

TASK = Multiplexer(bits=1)
RUNS = [
    Run(rule=(Recurrent(), Reinforce()), hidden=(3, 2), task=TASK, critic=Critic(width=3), episodes=160),
    Run(rule=Boltzmann(steps=2), hidden=(3,), task=TASK, critic=None, episodes=160),
]
ONE = Checkpoint({"done": np.asarray(1), "0": np.zeros(1000, np.float32)}, {})  # of its arrays, the curve


@pytest.fixture(scope="module")
def results():
    return train(RUNS, engine="xla", progress=False)


def saved(folder, result):
    """Where the result now is."""
    Store(folder).save(result)
    return Store(folder).path(result.run, result.engine)


def equal(a, b):
    arrays = [jax.tree.leaves((r.curve, r.params, r.snapshots)) for r in (a, b)]
    return a.run == b.run and all(np.array_equal(x, y) for x, y in zip(*arrays, strict=True))


def test_a_result_comes_back_as_it_was_saved(results, tmp_path):
    for result in results:
        path = saved(tmp_path, result)
        assert path.name == f"{result.run.digest}.xla-1.safetensors"
        again, problems = Store(tmp_path).find(result.run)
        assert equal(again, result)
        assert problems == []
        assert again.provenance["coexplore"]
        states = np.ones((4, 3), np.float32)
        assert np.array_equal(again.act(states, 0), result.act(states, 0))
    assert {result.run for result in load(tmp_path)} == set(RUNS)
    assert not list(tmp_path.glob(".*"))


def test_one_result_is_saved_under_any_name_and_loaded(results, tmp_path):
    place = tmp_path / "networks" / "my net.safetensors"
    store = Store(tmp_path / "store")
    pack([store.save(results[0])], tmp_path / "pack.safetensors")
    for result in (results[0], store.find(RUNS[0])[0], *load(tmp_path / "pack.safetensors")):
        result.save(place)  # over the one before
        (again,) = load(place)
        assert equal(again, result)
        assert (again.engine, again.scores, again.frozen) == (result.engine, result.scores, result.frozen)
        assert {**again.provenance, "sha256": None} == {**result.provenance, "sha256": None}
        again.save(str(place))
        assert load(place)[0].provenance == again.provenance
    assert [path.name for path in place.parent.iterdir()] == [place.name]
    results[1].save(tmp_path / "store" / "b.safetensors")  # beside the files of a store it is read with them
    assert {result.run for result in load(tmp_path / "store")} == set(RUNS)
    assert store.path(RUNS[0], "xla").read_bytes() == place.read_bytes()  # but for its name it is a store's file


def test_what_cannot_be_saved_is_refused_in_one_line(results, tmp_path):
    for name in ("net.npz", "net", ".safetensors"):
        with pytest.raises(FieldError, match=r"^path: .* is not allowed; give a name that ends in \.safetensors$"):
            results[0].save(tmp_path / name)
    bare = Result(RUNS[0], "xla", results[0].curve, None)
    with pytest.raises(FieldError, match=r"^params: None is not allowed; give a result with parameters"):
        bare.save(tmp_path / "net.safetensors")
    (tmp_path / "x").touch()
    with pytest.raises(OSError, match=r"^.*x.net\.safetensors: cannot be written"):
        results[0].save(tmp_path / "x" / "net.safetensors")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_file_that_is_no_saved_result_is_refused_in_one_line(results, tmp_path):
    results[0].save(tmp_path / "net.safetensors")
    data = (tmp_path / "net.safetensors").read_bytes()
    about, tensors, _ = unseal(tmp_path / "net.safetensors")
    newer = {**about, "run": {**about["run"], "sparsity": 0.5}}  # a setting of a later version
    flipped = bytearray(data)
    flipped[-1] ^= 1
    path = tmp_path / "other.safetensors"
    for content, line in {
        b"": "not a safetensors file, or only a part of one",
        b"a network, but as text": "not a safetensors file, or only a part of one",
        data[: len(data) // 2]: "not a safetensors file, or only a part of one",
        bytes(flipped): "damaged, its contents do not match its hash",
        to_bytes({"W": np.zeros((2, 2), np.float32)}): "holds no runs",
        sealed(newer, tensors, {})[1]: "field: 'sparsity' is not allowed; give fields of Run: rule, task, ",
        sealed(about, {**tensors, "curve": tensors["curve"][1:]}, {})[1]: "not a readable result (a curve of ",
    }.items():
        path.write_bytes(content)
        with pytest.raises(StoreError) as raised:
            load(path)
        assert str(raised.value).startswith(f"{path}: {line}")
        assert "\n" not in str(raised.value)


def test_a_file_stays_as_it_was_where_a_result_cannot_be_saved_over_it(results, tmp_path, monkeypatch):
    path = tmp_path / "net.safetensors"
    results[0].save(path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "replace", _full)
    with pytest.raises(Unwritable, match=r"^.*net\.safetensors: cannot be written \(No space left on device\)$"):
        results[1].save(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def _full(*paths):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_an_engine_asked_for_by_name_gets_its_own_results_only(results, tmp_path):
    store = Store(tmp_path)
    store.save(results[1])
    assert store.find(RUNS[1], "xla")[0] is not None
    assert store.find(RUNS[1], "cpu")[0] is None
    assert store.find(RUNS[1], "auto")[0] is not None
    assert read(tmp_path, "cpu") == ([], [])


def test_a_thousand_kinds_of_damage_are_all_noticed_and_set_aside(results, tmp_path):
    store = Store(tmp_path)
    path = saved(tmp_path, results[0])
    good, rng = path.read_bytes(), np.random.default_rng(0)
    for i in range(1000):
        bad = bytearray(good)
        if i % 3 == 0:
            bad = bad[: rng.integers(len(bad))]
        elif i % 3 == 1:
            bad[rng.integers(len(bad))] ^= 1 << int(rng.integers(8))
        else:
            where = int(rng.integers(len(bad) - 8))
            bad[where : where + 8] = rng.bytes(8)
        path.write_bytes(bytes(bad))
        found, problems = read(tmp_path)
        assert found == []
        assert str(path) in problems[0]
        assert "\n" not in problems[0]
        if i % 100 == 0:
            assert store.find(RUNS[0])[0] is None
            assert not path.exists()
    assert len(list((tmp_path / "damaged").iterdir())) == 10
    path.write_bytes(good)
    assert equal(store.find(RUNS[0])[0], results[0])


def test_a_result_under_another_name_is_noticed(results, tmp_path):
    path = saved(tmp_path, results[0])
    path.rename(tmp_path / path.name.replace(RUNS[0].digest, RUNS[1].digest))
    assert Store(tmp_path).find(RUNS[1], "xla")[0] is None
    path = saved(tmp_path, results[0])
    path.rename(tmp_path / path.name.replace("xla", "cpu"))
    assert "does not fit" in read(tmp_path)[1][0]


def test_what_is_not_there_or_not_ours_is_named(tmp_path):
    with pytest.raises(StoreError, match="no results here"):
        load(tmp_path)
    with pytest.raises(StoreError, match="no such file"):
        load(tmp_path / "x.safetensors")
    (tmp_path / "y.safetensors").write_text(json.dumps({}))
    with pytest.raises(StoreError, match="not a safetensors file, or only a part of one"):
        load(tmp_path)


class Homemade(Local):
    name, title = "homemade", "a rule of somebody's own"
    eligibility = Reinforce.eligibility


def test_a_store_names_rules_and_never_imports_what_it_names(results, tmp_path):
    Store(tmp_path).save(results[1])
    (path,) = tmp_path.glob("*.safetensors")
    about, tensors, _ = unseal(path)
    about["run"]["rule"] = {"name": "stranger"}
    seal(path, about, tensors, {})
    assert "'stranger' is not one of ours" in read(tmp_path)[1][0]
    run = Run(rule=Homemade(), hidden=(3,), task=TASK, episodes=160)
    assert Run.from_dict(run.to_dict(), imported_only=True) == run  # imported already, so it may be used


def test_a_rule_that_is_not_here_any_more_leaves_the_rest_of_an_indexed_store_readable(results, tmp_path, monkeypatch):
    from coexplore import rules
    from coexplore.settings import Unknown
    from coexplore.store import folder

    class Gone(Local):
        name, title, eligibility = "gone", "soon forgotten", Reinforce.eligibility
        more: float = number(1.0, "a setting")

    monkeypatch.setattr(folder, "LEAST_INDEXED", 1)
    own = Run(rule=Gone(), hidden=(3,), task=TASK, episodes=160)
    train([own, results[1].run], engine="xla", progress=False, store=tmp_path, snapshots=0)
    assert len(load(tmp_path)) == 2

    def gone(name):
        if name in rules.BUILT_IN:
            return rules.BUILT_IN[name]
        raise Unknown(f"rule: {name!r} is gone")

    monkeypatch.setattr(rules, "imported", gone)
    found, problems = read(tmp_path)
    assert [result.run for result in found] == [results[1].run]
    assert problems == [f"{tmp_path}: left out 1 run: rule: 'gone' is gone"]
    kept, problems = Store(tmp_path).find_all([own, results[1].run], "xla")
    assert (set(kept), problems) == ({own, results[1].run}, [])  # whoever asks for it has it


def test_a_pack_keeps_every_window_and_one_seeds_parameters(tmp_path):
    runs = grid(
        Run(rule=Boltzmann(steps=1), hidden=(3,), task=TASK, episodes=16 * 2000), seed=range(3), coupling=[0, 1]
    )
    runs += [Run(rule=Reinforce(), hidden=(3,), task=TASK, episodes=16 * 1003)]
    whole = train(runs, engine="cpu", progress=False, store=tmp_path / "store")
    pack(load(tmp_path / "store"), tmp_path / "p.safetensors")
    packed = {result.run: result for result in load(tmp_path / "p.safetensors")}
    assert set(packed) == set(runs)
    for result in whole:
        small = packed[result.run]
        assert len(small.curve) == 200
        for window in ("first", "last", "reward", "frozen"):
            assert getattr(small, window) == pytest.approx(getattr(result, window), abs=1e-6)
        assert (small.params is None) == (result.run.seed > 0)
        assert small.provenance["sha256"]
    with pytest.raises(ValueError, match="another seed"):
        packed[runs[-2]].act(np.ones((1, 3)), 0)
    (tmp_path / "p.safetensors").write_bytes((tmp_path / "p.safetensors").read_bytes()[:-1])
    with pytest.raises(StoreError):
        load(tmp_path / "p.safetensors")


def test_a_selection_is_by_flags_and_a_key_named_twice_means_either(results):
    assert [r.run for r in select(results, "rule=boltzmann,units=3")] == [RUNS[1]]
    assert len(select(results, "units=3,units=3-2")) == 2
    assert len(select(results, "coupling=0.250,engine=xla")) == 2
    assert select(results, "steps=7") == []
    for bad, hint in (("unit=3", "did you mean"), ("units", "FLAG=VALUE")):
        with pytest.raises(ValueError, match=hint):
            select(results, bad)


def _hold(folder, ready, done):
    with Store(folder).lock(RUNS[0], "xla") as mine:
        ready.put(mine)
        done.get()


def test_a_lock_is_one_processs_and_ends_with_it(tmp_path):
    spawn = multiprocessing.get_context("spawn")
    ready, done = spawn.Queue(), spawn.Queue()
    other = spawn.Process(target=_hold, args=(tmp_path, ready, done))
    other.start()
    assert ready.get(timeout=60)
    with Store(tmp_path).lock(RUNS[0], "xla") as mine, Store(tmp_path).lock(RUNS[1], "xla") as another:
        assert (mine, another) == (False, True)
    other.kill()
    other.join()
    with Store(tmp_path).lock(RUNS[0], "xla") as mine:
        assert mine
    assert not list((tmp_path / ".locks").iterdir())


def test_prune_removes_what_nobody_needs_and_what_was_selected(results, tmp_path):
    store = Store(tmp_path)
    for result in results:
        store.save(result)
    store.save_checkpoint(RUNS[0], "xla", ONE, {})
    store.fail(RUNS[0], "cpu", "because")
    assert store.prune([results[1]]) == 3
    assert [result.run for result in load(tmp_path)] == [RUNS[0]]


def test_a_checkpoint_of_another_build_or_another_run_is_not_used(tmp_path):
    store = Store(tmp_path)
    store.save_checkpoint(RUNS[0], "xla", ONE, {"kernel": "a"})
    assert store.checkpoint(RUNS[0], "xla", {"kernel": "a"})[0].done == 1
    assert store.checkpoint(RUNS[0], "xla", {"kernel": "b"}) == (None, [])
    path = tmp_path / "checkpoints" / f"{key(RUNS[0], 'xla')}.safetensors"
    path.rename(tmp_path / "checkpoints" / f"{key(RUNS[1], 'xla')}.safetensors")
    assert "another run" in store.checkpoint(RUNS[1], "xla", {"kernel": "a"})[1][0]


def test_a_damaged_result_is_trained_again_to_the_same_bits(results, tmp_path):
    path = saved(tmp_path, results[1])
    path.write_bytes(path.read_bytes()[:-3])
    done = study(RUNS[1], "xla", progress=False, store=tmp_path)
    assert done.trained == 1
    assert "set aside" in done.problems[0]
    assert np.array_equal(done.results[0].curve, results[1].curve)


# Stores that were written before --------------------------------------------------------------------------------------

OLD = Path(__file__).parent / "data" / "store-0.1"  # by the version that numbered its checkpoints' tensors first
UNDER_WAY = Run(
    rule=Boltzmann(steps=2), hidden=(4,), task=TASK, critic=Critic(width=3), episodes=640, seed=5
)  # its checkpoint stands at 17 of 40 updates


@pytest.fixture
def old(tmp_path):
    """A copy that may be written to."""
    return Path(shutil.copytree(OLD, tmp_path / "old"))


def test_a_store_of_an_earlier_version_is_read(old):
    results, problems = read(old)
    assert problems == []
    assert {(r.engine, r.run.rules[0].name, len(r.snapshots) > 0) for r in results} == {
        ("cpu", "reinforce", True),
        ("xla", "boltzmann", True),
        ("control", "reinforce", False),
    }
    assert all(result.params is not None for result in results)
    assert [(one.run, one.done, len(one.curve)) for one in Store(old).under_way()] == [(UNDER_WAY, 17, 17)]
    assert len(Store(old).plan()) == 3


def test_a_checkpoint_of_an_earlier_version_is_gone_on_from_though_runs_have_gained_fields(old):
    """By digest: one that names fewer fields, all of them at their defaults, is about the same run."""
    store = Store(old)
    (path,) = old.glob("checkpoints/*")
    about, tensors, provenance = unseal(path)
    for field in ("centring_strength", "chains", "sampler"):  # by their former names
        del about["run"]["rule"][field]
    del about["run"]["critic"]["activation"]
    seal(path, about, tensors, {"built": provenance["built"]})
    checkpoint, problems = store.checkpoint(UNDER_WAY, "cpu", provenance["built"])
    assert (checkpoint.done, problems) == (17, [])
    cpu = engines.find("cpu")
    state = cpu.restore([UNDER_WAY], [checkpoint.tensors])
    assert np.isfinite(cpu.finish(cpu.advance(state, 40))[0].curve).all()
    about["run"]["rule"]["steps"] = 3
    seal(path, about, tensors, {"built": provenance["built"]})
    assert "another run" in store.checkpoint(UNDER_WAY, "cpu", provenance["built"])[1][0]


def test_prune_clears_plans_that_nobody_follows_any_more(old):
    store = Store(old)
    assert store.plan()
    with store.lock(UNDER_WAY, "cpu"):
        store.prune([])
        assert store.plan()
    store.prune([])
    assert store.plan() == []
    assert [one.run for one in store.under_way()] == [UNDER_WAY]  # a run that is not finished keeps its checkpoint


def test_results_one_folder_down_are_found(old, results, tmp_path):
    (tmp_path / "two").mkdir()
    pack(results, tmp_path / "two" / "some.safetensors")
    found = load(tmp_path)
    assert {result.run for result in found} == {*RUNS, *(result.run for result in load(old))}
    for path in old.glob("*.safetensors"):  # a store with nothing finished has only checkpoints one folder down
        path.unlink()
    with pytest.raises(StoreError, match="no results here"):
        load(old)


# Stores in which settings are called otherwise ------------------------------------------------------------------------

FORMER = Path(__file__).parent / "data" / "store-0.1-centring"
SMALL = {"task": TASK, "critic": Critic(width=3), "episodes": 160}
PREDICTED = Run(rule=Boltzmann(steps=2, baseline=Predicted(pairs=0.5, rate=0.5)), hidden=3, **SMALL)
WAS = {  # what each run of the store was called, its engine, and what its rules learned in their parts
    "predicted": (PREDICTED, "cpu", {"parts.0.baseline.U": "layers.0.U", "parts.0.baseline.u": "layers.0.u"}),
    "both": (Run(rule=Boltzmann(steps=2, baseline=Chains(chains=2)), hidden=3, **SMALL), "xla", {}),
    "mean": (
        Run(rule=Boltzmann(steps=2, learning_signal=CentredAdvantage(rate=2.0)), hidden=3, **SMALL),
        "xla",
        {"parts.0.learning_signal.m": "layers.0.m"},
    ),
    "learned": (
        Run(
            rule=(Boltzmann(steps=1, baseline=Learned()), DepressedRecurrent(variant_form="post-before-pre")),
            hidden=(3, 2),
            **SMALL,
        ),
        "xla",
        {f"parts.0.baseline.{name}": f"layers.0.{name}" for name in "UuQ"},
    ),
}


@pytest.fixture
def former(tmp_path):
    return Path(shutil.copytree(FORMER, tmp_path / "former"))


def test_runs_are_found_in_a_store_of_the_release_that_called_their_settings_otherwise(former, monkeypatch):
    """Read, listed and found: by today's digest, whatever is in the name of the file."""
    from coexplore.store import folder

    monkeypatch.setattr(folder, "LEAST_INDEXED", 1)
    wanted = {run.digest for run, *_ in WAS.values()}
    for _ in range(2):  # from the files, then from the list
        results, problems = read(former)
        assert problems == []
        assert {result.digest for result in results} == {result.run.digest for result in results} == wanted
    assert {path.name[:64] for path in former.glob("*.safetensors")}.isdisjoint(wanted)
    for engine in ("cpu", "xla"):
        runs = [run for run, trained_by, _ in WAS.values() if trained_by == engine]
        done = study(runs, engine, progress=False, store=former)
        assert (done.trained, done.problems, [r.run for r in done.results]) == (0, [], runs)
    assert not (former / "damaged").exists()


@pytest.mark.parametrize("which", WAS)
def test_what_parts_of_rules_learned_has_its_name_of_today(which, former):
    run, engine, renamed = WAS[which]
    result, problems = Store(former).find(run, engine)
    assert problems == []
    (path,) = former.glob(f"{run.digest_in_file()}.{engine}-*")
    about, tensors, _ = unseal(path)
    told = about["run"]["rule"]
    assert (told[0] if isinstance(told, list) else told)["centring"] == which
    params = named_leaves(result.params)
    assert {name for name in params if name.startswith("parts.")} == set(renamed)
    for name, leaf in params.items():
        was = renamed.get(name, name)
        assert np.array_equal(leaf, tensors[f"params.{was}"]), name
        assert np.array_equal(result.snapshots[f"norm.{name}"], tensors[f"snapshots.norm.{was}"]), name


def test_a_run_that_was_under_way_is_trained_from_the_start_and_its_former_checkpoint_goes(former):
    run = PREDICTED.with_seed(5)
    assert [one.run for one in Store(former).under_way()] == [run]
    done = study(run, "cpu", progress=False, store=former)
    assert (done.trained, done.problems) == (1, [])
    assert list(former.glob("checkpoints/*")) == []


def test_results_under_a_former_name_are_removed_too(former):
    store = Store(former)
    result, _ = store.find(PREDICTED, "cpu")
    assert store.prune([result]) == 1
    assert store.find(PREDICTED, "cpu") == (None, [])
    assert len(store.results()[0]) == 3
