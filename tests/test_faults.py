"""Faults of the machine: each is a line, loses nothing that was kept, and the same command goes on to the same bits."""

import errno
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from machine import READ_ONLY, Machine, half_written, kept

from coexplore import Multiplexer, Reinforce, Run, engines, grid
from coexplore.cli.parser import folder as tried
from coexplore.report.live import Follower
from coexplore.store import Store, Unwritable, read
from coexplore.study import Interrupted, study

RUN = Run(rule=Reinforce(), hidden=(3,), task=Multiplexer(bits=1), critic=None, episodes=16 * 200)
RUNS = grid(RUN, seed=range(2))
WORDS = ["train", "reinforce", *["--units", "3", "--bits", "1", "--critic", "none", "--engine", "cpu", "--episodes"]]
FULL = "cannot be written (No space left on device)"


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """Every run leaves checkpoints after 64 and after 100 of its 200 updates."""
    monkeypatch.setattr("coexplore.study.work.CHECKPOINT_SECONDS", -1.0)
    monkeypatch.setattr("coexplore.study.work.DEARER", 0)
    monkeypatch.setattr("coexplore.study.group.CHUNK_SECONDS", 1e6)


def trained(folder, runs=RUNS, **how):
    return study(runs, "cpu", progress=False, threads=1, store=folder, snapshots=2, **how)


def bits(folder):
    results, problems = read(folder)
    assert problems == []
    return {result.run: result.provenance["sha256"] for result in results}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    trained(folder := tmp_path_factory.mktemp("undisturbed"))
    return folder


@pytest.fixture(scope="module")
def undisturbed(store):
    return bits(store)


def goes_on(folder, undisturbed):
    finished = len(Store(folder).names())
    done = trained(folder)
    assert (done.trained, done.failures, done.problems) == (len(RUNS) - finished, [], [])
    assert bits(folder) == undisturbed
    assert {os.path.basename(os.path.dirname(path)) for path in kept(folder)} <= {folder.name, "plans", "checkpoints"}


def calls(folder, calls):
    """How often a study asks the file system for something new."""
    with Machine(folder, calls=calls).failing() as machine:
        trained(folder)
    return machine.count


def test_a_disk_that_is_full_at_any_call_ends_a_study_and_nothing_that_was_kept_is_lost(tmp_path, undisturbed):
    count, lines = calls(tmp_path / "any", READ_ONLY[:-1]), []
    for k in range(count):
        folder = tmp_path / str(k)
        with Machine(folder, k).failing() as machine:
            try:
                assert len(trained(folder).results) == len(RUNS)  # only what is a courtesy failed
            except Unwritable as error:
                lines.append(str(error))
        assert half_written(folder) == []
        assert kept(folder) == machine.before
        goes_on(folder, undisturbed)
    assert len(lines) > 20
    assert all(f": {FULL}; what is there is kept in {tmp_path}" in line and "\n" not in line for line in lines)


@pytest.mark.parametrize("number", [errno.EROFS, errno.EIO, errno.EDQUOT])
def test_a_store_that_becomes_read_only_ends_a_study_and_nothing_is_lost(tmp_path, undisturbed, number):
    lines = []
    for k in range(number % 5, calls(tmp_path / "any", READ_ONLY), 5):
        folder = tmp_path / str(k)
        with Machine(folder, k, number, calls=READ_ONLY).failing() as machine:
            try:
                trained(folder)
            except Unwritable as error:
                lines.append(str(error))
        assert machine.before.items() <= kept(folder).items()
        for path in half_written(folder):  # nobody could remove it
            path.unlink()
        goes_on(folder, undisturbed)
    assert len(lines) > 3
    assert all(f"cannot be written ({os.strerror(number)}); what is there is kept in" in line for line in lines)


# On the command line --------------------------------------------------------------------------------------------------


def one_line(done, end, status=1):
    """What a command says of it, apart from the bars."""
    assert done.returncode == status
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("coexplore: ")]
    assert line.endswith(end)
    assert "Traceback" not in done.stderr


def test_training_on_a_full_disk_says_so_and_that_the_same_command_goes_on(tmp_path, here, undisturbed):
    folder = tmp_path / "store"
    words = [*WORDS, "3200", "--seeds", "2", "--threads", "1", "--snapshots", "2", "--store", folder]
    (tmp_path / "store").mkdir()
    for k in (2, 12, 20):
        with Machine(folder, k).failing():
            one_line(here(*words), f"{FULL}; what is there is kept in {folder}, and the same command goes on")
    assert here(*words).returncode == 0
    assert bits(folder) == undisturbed
    with Machine(folder, 0, errno.EROFS).failing():
        one_line(here(*words), "give a folder that can be written (Read-only file system)", 2)


def test_processes_that_start_together_may_try_the_same_folder(tmp_path):
    """Which of them takes the file away with which it was tried does not matter."""
    with Machine(tmp_path, 0, errno.ENOENT, calls=["unlink"]).failing() as machine:
        assert tried("store", str(tmp_path)) == tmp_path
    assert machine.count == 1


@pytest.mark.parametrize(
    "words",
    ["runs pack x.safetensors", "runs --export x.csv", "plot x.svg", "report --out x.html"],
)
def test_what_is_written_of_a_store_is_there_whole_or_not_at_all(tmp_path, here, monkeypatch, words, store):
    monkeypatch.chdir(tmp_path)
    name = words.split()[-1]
    (tmp_path / name).write_text("earlier")
    for k in (0, 1, 2) if "pack" in words else (1,):  # no new file, nothing into it, no new name for it
        with Machine(tmp_path, k).failing() as machine:
            one_line(here(*words.split(), "--store", store), f"'{name}': {FULL}")
        assert machine.count == k + 1
        assert [path.read_text() for path in tmp_path.iterdir()] == ["earlier"]


def test_standard_output_that_is_full_is_one_line():
    words = [sys.executable, "-m", "coexplore", "--help"]
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, check=False, env=usual, stdout=full, stderr=subprocess.PIPE, text=True)
    one_line(done, "No space left on device")


# A store that is removed, or not as one would like it -----------------------------------------------------------------


def when(monkeypatch, seed, updates, act):
    """Once this run has done so many updates."""
    engine, acted = engines.find("cpu"), []
    advance = engine.advance

    def watched(state, more):
        if state.runs[0].seed == seed and state.done >= updates and not acted:
            acted.append(True)
            act()
        return advance(state, more)

    monkeypatch.setattr(engine, "advance", watched)


def test_of_a_store_removed_while_training_the_runs_under_way_are_kept_and_the_others_told_of(
    tmp_path, monkeypatch, undisturbed
):
    folder = tmp_path / "store"
    when(monkeypatch, 1, 100, lambda: shutil.rmtree(folder))
    with pytest.raises(Unwritable, match="store: 1 of 2 finished runs were removed from it: the same"):
        trained(folder)
    assert len(Store(folder).names()) == 1
    goes_on(folder, undisturbed)


def test_a_folder_removed_at_any_moment_is_made_again(tmp_path, undisturbed):
    for k in range(calls(tmp_path / "any", READ_ONLY)):
        folder = tmp_path / str(k)
        with Machine(folder, k, errno.ENOENT, once=True, calls=READ_ONLY).failing():
            assert trained(folder).trained == 2
        assert bits(folder) == undisturbed
        assert half_written(folder) == []


def test_something_else_in_a_stores_place_is_named(tmp_path, monkeypatch, undisturbed):
    folder = tmp_path / "store"

    def replace():
        shutil.rmtree(folder)
        folder.write_text("not a folder")

    when(monkeypatch, 0, 100, replace)
    with pytest.raises(Unwritable, match=r"store/.*: cannot be written \(\w+"):
        trained(folder)
    folder.unlink()
    goes_on(folder, undisturbed)


def test_a_damaged_file_that_cannot_be_set_aside_is_not_written_over(tmp_path, undisturbed):
    trained(tmp_path)
    path = Store(tmp_path).path(RUNS[0], "cpu")
    path.write_bytes(path.read_bytes()[:-1])
    before = kept(tmp_path)
    with (
        Machine(tmp_path / "damaged", 0).failing(),
        pytest.raises(Unwritable, match="damaged: cannot be written"),
    ):
        trained(tmp_path)
    assert kept(tmp_path).keys() == before.keys()
    assert len(trained(tmp_path).problems) == 1
    assert bits(tmp_path) == undisturbed


def test_what_a_callback_raised_is_not_lost_where_no_checkpoint_can_be_written(tmp_path, monkeypatch, undisturbed):
    def stop(moment):
        if moment.updates == 100:
            raise KeyError("mine")

    monkeypatch.setattr("coexplore.study.work.CHECKPOINT_SECONDS", 1e6)
    with Machine(tmp_path / "checkpoints", 0).failing() as machine, pytest.raises(KeyError, match="mine"):
        trained(tmp_path, callback=stop)
    assert machine.before is not None
    goes_on(tmp_path, undisturbed)


def test_a_failure_that_cannot_be_written_down_is_told_all_the_same(tmp_path, monkeypatch):
    def broken(runs):
        raise MemoryError("no room")

    monkeypatch.setattr(engines.find("cpu"), "start", broken)
    with Machine(tmp_path / "failed", 0).failing():
        done = trained(tmp_path)
    assert {failure.reason for failure in done.failures} == {"MemoryError: no room"}
    assert len(done.failures) == 2


def test_what_cannot_be_removed_does_no_harm(tmp_path, undisturbed):
    with Machine(tmp_path, 0, errno.EIO, calls=["unlink"]).failing() as machine:
        done = trained(tmp_path)
    assert machine.count > 3  # checkpoints and locks
    assert (done.trained, done.failures) == (2, [])
    goes_on(tmp_path, undisturbed)


def test_the_live_page_outlives_its_store(tmp_path):
    follower = Follower(tmp_path / "store")
    for _ in range(2):
        trained(tmp_path / "store")
        assert follower.live()["finished"] == 2
        shutil.rmtree(tmp_path / "store")
        assert follower.live()["finished"] == 0
    assert follower._read() == ([], [f"{tmp_path / 'store'}: there is no such file"])  # what the page then says


# File systems without locks, clocks, signals --------------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS])
def test_without_locks_a_line_says_so_and_training_goes_on(tmp_path, monkeypatch, capsys, undisturbed, number):
    def flock(*args):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    assert trained(tmp_path).trained == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        f"coexplore: {tmp_path}: no locks here ({os.strerror(number)}): "
        "another process would train the same runs, so use one alone"
    )
    assert bits(tmp_path) == undisturbed
    assert trained(tmp_path).trained == 0
    assert capsys.readouterr().err == ""


def test_a_lock_that_fails_in_another_way_ends_the_study(tmp_path, monkeypatch, undisturbed):
    def flock(*args):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(fcntl, "flock", flock)
        with pytest.raises(Unwritable, match=r"cannot be written \(Input/output error\)"):
            trained(tmp_path)
    goes_on(tmp_path, undisturbed)


def test_a_lock_of_a_folder_that_was_made_again_is_left_to_who_holds_it(tmp_path):
    with Store(tmp_path).lock(RUN, "cpu") as mine:
        shutil.rmtree(tmp_path / ".locks")
        with Store(tmp_path).lock(RUN, "cpu") as theirs:
            assert (mine, theirs) == (True, True)
            (path,) = (tmp_path / ".locks").iterdir()
            first = path.stat().st_ino
    with Store(tmp_path).lock(RUN, "cpu"):
        shutil.rmtree(tmp_path / ".locks")
        held = Store(tmp_path).lock(RUN, "cpu")
        held.__enter__()
    assert path.exists()  # whoever had the first one did not take it away
    held.__exit__(None, None, None)
    assert not path.exists()
    assert first


def test_a_clock_that_was_set_back_hides_nothing_and_keeps_nothing_alive(tmp_path):
    store = Store(tmp_path)
    with Machine(tmp_path, 12).failing(), pytest.raises(Unwritable):
        trained(tmp_path, RUN)
    (left,) = tmp_path.glob("checkpoints/*")
    (tmp_path / ".locks" / "killed.cpu-1").touch()
    half = tmp_path / ".half.safetensors.x"
    half.touch()
    assert store.under_way()[0].fresh
    assert store.training() == {"killed"}
    store.announce(RUNS)
    for path in tmp_path.rglob("*"):
        os.utime(path, (time.time() + 86400,) * 2)
    assert not store.under_way()[0].fresh
    assert store.training() == set()
    store.announce([RUN])
    assert [planned.digest for planned in store.plan()] == [RUN.digest]
    store.prune([])
    assert not half.exists()
    assert left.exists()


SIGNALS = {"SIGINT": [signal.SIGINT], "SIGTERM": [signal.SIGTERM], "both": [signal.SIGTERM, signal.SIGINT]}


@pytest.fixture
def signalled(monkeypatch):
    """Signals in the middle of the first run, which then goes slowly until somebody stops it."""

    def slow(signals):
        engine, sent = engines.find("cpu"), []
        advance = engine.advance

        def slowly(state, more):
            if state.done < 64:
                return advance(state, more)
            for number in () if sent else signals:
                sent.append(number)
                os.kill(os.getpid(), number)
            time.sleep(0.1)
            return advance(state, 1)

        monkeypatch.setattr(engine, "advance", slowly)

    return slow


@pytest.mark.parametrize("signals", SIGNALS.values(), ids=SIGNALS)
def test_both_signals_leave_a_checkpoint_and_status_130(tmp_path, here, monkeypatch, undisturbed, signalled, signals):
    monkeypatch.setattr("coexplore.study.work.CHECKPOINT_SECONDS", 1e6)  # none but the one that is asked for
    words = [*WORDS, "3200", "--seeds", "2", "--threads", "1", "--snapshots", "2", "--store", tmp_path]
    signalled(signals)
    stopped = here(*words)
    one_line(stopped, "the others stopped where they are: the same command goes on", 130)
    (left,) = Store(tmp_path).under_way()
    assert 64 <= left.done < 200
    monkeypatch.undo()
    assert here(*words).returncode == 0
    assert bits(tmp_path) == undisturbed


def test_a_script_that_is_told_to_end_leaves_a_checkpoint_too(tmp_path, monkeypatch, undisturbed, signalled):
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        signalled([signal.SIGTERM])
        with pytest.raises(Interrupted):
            trained(tmp_path)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
    assert len(Store(tmp_path).under_way()) == 1
    monkeypatch.undo()
    goes_on(tmp_path, undisturbed)


def test_a_signal_on_a_full_disk_says_both(tmp_path, here, monkeypatch, signalled, undisturbed):
    monkeypatch.setattr("coexplore.study.work.CHECKPOINT_SECONDS", 1e6)
    words = [*WORDS, "3200", "--seeds", "2", "--threads", "1", "--snapshots", "2", "--store", tmp_path]
    signalled([signal.SIGTERM])
    with Machine(tmp_path / "checkpoints", 0).failing():
        stopped = here(*words)
    assert stopped.returncode == 130
    full, interrupted = [line for line in stopped.stderr.splitlines() if line.startswith("coexplore: ")]
    assert full.endswith(FULL)
    assert "interrupted; 0 of 2" in interrupted
    monkeypatch.undo()
    goes_on(tmp_path, undisturbed)
