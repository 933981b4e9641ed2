"""The index of a store: what it says is what the files say, and it is never believed over them."""

import gc
import os

import numpy as np
import pytest

from coexplore import Boltzmann, Multiplexer, Reinforce, Run, grid
from coexplore.run.result import Result
from coexplore.store import Store, StoreError, folder, read
from coexplore.store.folder import INDEX
from coexplore.store.sealed import seal, unseal

RUN = Run(rule=Reinforce(), hidden=(3,), task=Multiplexer(bits=1), critic=None, episodes=16 * 400)
PARAMS = RUN.init()
BOTH = grid(RUN, seed=range(80)) + grid(RUN, rule=Boltzmann(steps=2), seed=range(40))


def made_up(run):
    curve = np.random.default_rng(run.seed).uniform(-0.04, 0.04, 200).astype(np.float32)
    firing = np.full((1, 3), 0.5 + 0.5 * (run.seed % 2), np.float32)  # every other one is frozen
    about = {"seconds": 0.5 + run.seed, "finished": "2026-01-01T00:00:00+00:00", "machine": "a"}
    return Result(run, "cpu", curve, run.init(), about, {"firing.0": firing})


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    for run in BOTH:
        Store(folder).save(made_up(run))
    return folder


@pytest.fixture
def store(original, tmp_path):
    """A copy with the files' times, and its index."""
    for path in original.glob("*.safetensors"):
        os.link(path, tmp_path / path.name)
    assert len(read(tmp_path)[0]) == len(BOTH)
    assert (tmp_path / INDEX).exists()
    return tmp_path


def told(results):
    return {
        r.run: (r.run.digest, r.engine, r.scores, r.provenance, r.run.to_dict(), r.curve.tobytes()) for r in results
    }


def closed(*_):
    raise AssertionError("opened")


def test_what_the_index_says_is_what_the_files_say(store, monkeypatch):
    by_index = read(store)[0]
    (store / INDEX).unlink()
    assert told(by_index) == told(read(store)[0])
    assert sum(result.frozen for result in by_index) == 60


def test_unchanged_files_are_not_opened_and_changed_ones_are(store, monkeypatch):
    monkeypatch.setattr("coexplore.store.folder.read_result", closed)
    assert len(Store(store).results()[0]) == len(BOTH)
    assert len(Store(store).find_all(BOTH)[0]) == len(BOTH)
    touched = Store(store).path(BOTH[5], "cpu")
    os.utime(touched, (1, 1))
    with pytest.raises(AssertionError, match="opened"):
        Store(store).find_all(BOTH)


def test_a_damaged_file_that_the_index_trusts_is_noticed_when_its_arrays_are_read(store):
    path = Store(store).path(BOTH[7], "cpu")
    data, status = bytearray(path.read_bytes()), path.stat()
    data[-2] ^= 1
    path.unlink()
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    result, problems = Store(store).find(BOTH[7])
    assert problems == []
    with pytest.raises(StoreError, match=r"damaged.*; the folder is listed anew, and the same command goes on"):
        result.params  # noqa: B018 (reading is what is tested)
    results, (line,) = read(store)
    assert len(results) == len(BOTH) - 1
    assert line.startswith(f"{path}: damaged")


def test_an_index_that_tells_of_another_run_is_not_believed_when_its_arrays_are_read(store):
    right, (about, columns, _) = told(read(store)[0]), unseal(store / INDEX)
    about["settings"].reverse()
    seal(store / INDEX, about, columns, {})
    results, problems = read(store)
    assert (len(results), problems) == (len(BOTH), [])
    for result in results:
        with pytest.raises(StoreError, match=f"{result.run.digest}.*: not the run that it was"):
            _ = result.params
    assert told(read(store)[0]) == right


@pytest.mark.parametrize("index", [b"", b"nonsense", None])
def test_an_index_that_is_damaged_or_gone_is_made_again(store, index):
    good = (store / INDEX).read_bytes()
    (store / INDEX).write_bytes(good[:-9] + b"different" if index is None else index)
    assert len(read(store)[0]) == len(BOTH)
    assert (store / INDEX).read_bytes() == good


def test_the_index_forgets_what_is_gone_and_learns_what_is_new(store):
    gone, new = Store(store).path(BOTH[0], "cpu"), RUN.with_seed(1000)
    gone.unlink()
    Store(store).save(made_up(new))
    assert {result.run for result in read(store)[0]} == {*BOTH[1:], new}
    assert {result.run for result in read(store)[0]} == {*BOTH[1:], new}


def test_a_selection_lists_them(store, here):
    done = here("runs", "--store", str(store), "--select", "rule=boltzmann")
    assert "40 runs (cpu), 20 of them frozen" in done.stdout


def test_a_store_that_cannot_be_written_to_is_read_all_the_same(store, monkeypatch):
    (store / INDEX).unlink()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("coexplore.store.folder.write_index", full)
    assert len(read(store)[0]) == len(BOTH)


@pytest.mark.parametrize("enabled", [True, False])
def test_reading_many_results_leaves_the_garbage_collector_as_it_was(enabled, store, monkeypatch):
    frozen, during, stamps = gc.get_freeze_count(), [], Store._stamps
    monkeypatch.setattr(folder, "MANY", 0)
    monkeypatch.setattr(Store, "_stamps", lambda self: during.append(gc.isenabled()) or stamps(self))
    place, was = Store(store), gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        place.results()
        place.find_all([RUN])
        assert gc.isenabled() == enabled
        monkeypatch.setattr(Store, "_stamps", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            place.results()
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if was else gc.disable)()
    assert during == [False, False]
    assert gc.get_freeze_count() == frozen
