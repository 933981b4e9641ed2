"""Real disks that are full, read-only or emptied, real signals, and a hundred deaths: `make faults`.

It mounts small file systems, in a namespace of its own: nothing stays mounted.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from machine import half_written, kept

from coexplore.store import Store, read

pytestmark = pytest.mark.faults
HERE = Path(__file__).parent
WORDS = "train reinforce --units 12 --bits 2 --engine cpu --episodes 160000 --seeds {}"
WORDS, FEWER = (WORDS.format(count).split() for count in (4, 2))
OFTEN = {"group.CHUNK_SECONDS": 0.004, "work.CHECKPOINT_SECONDS": 0.008, "work.DEARER": 0}
COMMAND = f"""
from coexplore import cli
from coexplore.study import group, work
{"; ".join(f"{name} = {value}" for name, value in OFTEN.items())}
cli.main()
"""
FULL, GOES_ON = "cannot be written (No space left on device)", "and the same command goes on"


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """Checkpoints all the time."""
    for name, value in OFTEN.items():
        monkeypatch.setattr(f"coexplore.study.{name}", value)


@pytest.fixture
def disk(tmp_path):
    """Made, or changed, to be as one says."""
    place = tmp_path / "disk"
    place.mkdir()

    def mounted(how):
        there = "remount," if os.path.ismount(place) else ""
        subprocess.run(["mount", "-t", "tmpfs", "-o", there + how, "tmpfs", place], check=True)
        return place

    yield mounted
    if os.path.ismount(place):
        subprocess.run(["umount", "--lazy", place], check=True)


def start(*words):
    """The command in a process of its own."""
    words = [sys.executable, "-c", COMMAND, *map(str, words)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process):
    try:
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def line(done, *statuses):
    """The one that it says of it, apart from the bars."""
    assert done.returncode in statuses
    assert "Traceback" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("coexplore: ")]
    return line


def bits(folder):
    results, problems = read(folder)
    assert problems == []
    assert not [*folder.glob("failed/*"), *folder.glob("damaged/*"), *folder.glob("checkpoints/[!.]*")]
    return {result.run: result.provenance["sha256"] for result in results}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    assert ended(start(*WORDS, "--store", folder)).returncode == 0
    return bits(folder)


def test_on_a_disk_of_any_size_a_training_ends_in_a_line_and_goes_on_with_room(tmp_path, disk, here, undisturbed):
    ends, place = set(), tmp_path / "disk"
    for size in range(8, 1000, 8):
        words = [*WORDS, "--threads", "1", "--store", disk(f"size={size}k") / "runs", "--out", place / "out"]
        done = here(*words)
        if done.returncode == 0:
            break
        ends.add(line(done, 1, 2).partition(": ")[2].replace(str(place), "").split("/")[1].partition(" ")[0])
        assert half_written(place) == []
        finished = {path: data for path, data in kept(place).items() if Path(path).parent.name == "runs"}
        disk("size=64m")
        assert here(*words).returncode == 0
        assert finished.items() <= kept(place).items()
        assert bits(place / "runs") == undisturbed
        subprocess.run(["umount", place], check=True)
    assert done.returncode == 0
    assert ends == {"runs", "out"}  # both were met: the store that is full, and the picture for which there is no room


def test_two_processes_on_a_full_disk_end_alike_and_go_on_together(tmp_path, disk, undisturbed):
    words = [*WORDS, "--store", disk("size=40k") / "runs"]  # the finished runs alone need more
    for done in [ended(process) for process in [start(*words), start(*words)]]:
        assert line(done, 1).endswith(f"{FULL}; what is there is kept in {words[-1]}, {GOES_ON}")
    assert half_written(tmp_path) == []
    disk("size=64m")
    assert [ended(process).returncode for process in [start(*words), start(*words)]] == [0, 0]
    assert bits(words[-1]) == undisturbed


def test_what_is_made_of_a_store_needs_room_and_leaves_nothing_without(tmp_path, disk, here, undisturbed):
    store = disk("size=64m") / "runs"
    assert here(*WORDS, "--store", store).returncode == 0
    space = os.statvfs(store)
    used = (space.f_blocks - space.f_bfree) * space.f_bsize // 1024
    for text in (
        "runs pack x.safetensors",
        "runs --curves --export x.csv",
        "plot x.png",
        "plot x.svg",
        "report --out x.html",
    ):
        *words, name = text.split()
        for spare in (0, 4):  # kB
            disk(f"size={used + spare}k")
            before = kept(tmp_path)
            done = here(*words, tmp_path / "disk" / name, "--store", store)
            assert line(done, 1).endswith(f"{name}': {FULL}")
            assert kept(tmp_path) == before
            assert half_written(tmp_path) == []
    tensorboard = ["--tensorboard", tmp_path / "disk" / "tb", "--seed", "9"]
    assert FULL in line(here(*WORDS[:-2], *tensorboard), 1)
    assert bits(store) == undisturbed


def test_a_read_only_store_is_read_by_all_and_trained_in_by_none(tmp_path, disk, here, undisturbed):
    store = disk("size=64m") / "runs"
    assert here(*FEWER, "--store", store).returncode == 0
    disk("ro")
    for words in ("runs", "claims", "evaluate", f"plot {tmp_path}/x.png", f"report --out {tmp_path}/x.html"):
        option = [store] if words == "evaluate" else ["--store", store]
        assert here(*words.split(), *option).returncode == 0
    assert "Read-only" in line(here(*WORDS, "--store", store), 2)
    assert "Read-only" in line(here("runs", "prune", "--store", store, "--select", "seed=0"), 1)
    assert "Read-only" in line(here("plot", store / "x.png", "--store", store), 1)
    disk("rw")
    assert here(*WORDS, "--store", store).returncode == 0
    assert bits(store) == undisturbed


def test_a_store_that_is_removed_again_and_again_is_made_again(tmp_path, undisturbed):
    store = tmp_path / "runs"
    pair = [start(*WORDS, "--store", store) for _ in range(2)]
    while any(process.poll() is None for process in pair):
        if any(store.glob("checkpoints/*")):
            shutil.rmtree(store, ignore_errors=True)
        time.sleep(0.2)
    for done in map(ended, pair):
        assert done.returncode == 0 or "the same command" in line(done, 1)
    assert ended(start(*WORDS, "--store", store)).returncode == 0
    assert bits(store) == undisturbed


@pytest.mark.parametrize("signals", [["SIGINT"], ["SIGTERM"], ["SIGTERM", "SIGINT", "SIGTERM"]], ids="-".join)
def test_signals_end_the_command_between_two_chunks(tmp_path, signals):
    words = [*WORDS[:-4], "--episodes", "200000000", "--threads", "2", "--seeds", "2", "--store", tmp_path]
    with start(*words) as process:
        try:
            while not list(tmp_path.glob("checkpoints/[!.]*")):
                assert process.poll() is None
                time.sleep(0.01)
            for number in signals:
                process.send_signal(signal.Signals[number])
                time.sleep(0.02)
            done = ended(process)
        finally:
            process.kill()
    assert line(done, 130).startswith("coexplore: interrupted; 0 of 2 runs were finished")
    assert len(Store(tmp_path).under_way()) == 2
    assert half_written(tmp_path) == []


def test_a_hundred_deaths_of_two_processes_that_share_a_study_lose_nothing_and_change_no_bit(tmp_path):
    """Each must find again what was finished; see kills.py."""
    cache = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    words = [sys.executable, "-W", "ignore", HERE / "kills.py", tmp_path / "studies", "100"]
    done = subprocess.run(words, check=True, env={**os.environ, **cache}, stdout=subprocess.PIPE, text=True)
    print(done.stdout)
    assert int(done.stdout.splitlines()[-1].split(" kills")[0]) >= 100  # the last two may fall together
    whole = bits(tmp_path / "studies" / "whole")
    killed = [path for path in (tmp_path / "studies").iterdir() if path.name.isdecimal()]
    assert len(killed) >= 1
    assert all(bits(folder) == whole for folder in killed)
