"""What any Python may hand to the C++ engine: right, it does its work; wrong, it is refused in one line."""

import importlib.util
import os
import random
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from fuzz import binding
from replay import small

from coexplore import Boltzmann, Recurrent, Reinforce, Run
from coexplore.engines import cpu, xla
from coexplore.engines.cuda import layout
from coexplore.engines.one_layer import numbers
from coexplore.settings import FieldError

ROOT = Path(__file__).parents[1]
CPP = ROOT / "src" / "coexplore" / "engines" / "cpu"
SANITIZED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def compiler():
    return os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")


@pytest.mark.parametrize("seed", range(10))
def test_whatever_it_is_called_with_it_works_or_says_no_in_one_line(seed, tmp_path):
    rng = random.Random(seed)
    assert [fell for fell in (binding.attempt(rng, tmp_path) for _ in range(100)) if fell] == []


def arguments(**changed):
    shape = cpu.kernel().Shape("boltzmann", "relu", 8, 2, 4, 8, 2, *[True] * 3, *[False] * 3, "none", False)
    n = shape.offsets[-1]
    rows = {name: np.zeros(n, np.float32) for name in ("params", "m", "v")}
    usual = {"shape": shape, "numbers": (0.1,) * 15, "updates": 10, **rows, "random": np.ones(32, np.uint32)}
    return tuple({**usual, "curve": np.zeros(5), "t": 0, "n": 10, **changed}.values())


WRONG = {
    "another type is not converted": {"params": np.zeros(208)},
    "every other number": {"m": np.zeros(416, np.float32)[::2]},
    "what may not be written to": {"v": np.broadcast_to(np.float32(0), 208)},
    "too few": {"random": np.ones(31, np.uint32)},
    "nothing": {"curve": None},
    "past the end, by overflow": {"t": 2**63 - 1},
    "a place in the curve, by overflow": {"updates": 2**62, "t": 2**61, "n": 1},
    "fewer than none": {"n": -1},
    "too large for a number": {"updates": 10**400},
}


@pytest.mark.parametrize("changed", WRONG.values(), ids=WRONG)
def test_a_refusal_names_the_argument_and_what_would_be_right(changed):
    with pytest.raises(ValueError, match=rf"^{'|'.join(changed)}: [^\n]+ is not allowed; give [^\n]+$"):
        cpu.kernel().advance(*arguments(**changed))


def test_whole_numbers_are_numbers_and_those_of_numpy_too():
    changed = {"numbers": (1,) * 14 + (np.float32(1),), "updates": np.int64(10), "t": np.uint8(3), "n": np.int32(7)}
    assert np.isfinite(cpu.kernel().advance(*arguments(**changed)))


@pytest.mark.parametrize(("at", "value"), [(2, 1024), (2, 4096), (3, 2**31), (4, 65), (6, 7), (0, "x"), (8, 1)])
def test_a_shape_that_it_does_not_take_is_refused_in_one_line(at, value):
    usual = ["boltzmann", "relu", 8, 2, 4, 8, 2, *[True] * 3, *[False] * 3, "none", False]
    with pytest.raises(ValueError, match=rf"^\w+: {value!r} is not allowed; give [^\n]+$"):
        cpu.kernel().Shape(*usual[:at], value, *usual[at + 1 :])
    assert cpu.supports(Run(rule=Recurrent(steps=2**21)))


def test_what_does_not_fit_into_memory_is_told_in_one_line():
    shape = cpu.kernel().Shape("recurrent", "none", 256, 2**20, 64, 1, 1, *[True] * 3, *[False] * 3, "none", False)
    rows = {name: np.zeros(shape.offsets[-1], np.float32) for name in ("params", "m", "v")}
    if os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < 137e9:
        with pytest.raises(
            MemoryError, match=r"^256 units, batches of 64 and 1048576 steps need 137\d\d\d MB, [^\n]+$"
        ):
            cpu.kernel().advance(*arguments(shape=shape, **rows))


def test_ctrl_c_ends_a_call_that_would_take_hours():
    def interrupt():
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        cpu.kernel().advance(*arguments(updates=2**31 - 1, n=2**31 - 1))


@pytest.mark.parametrize("engine", [cpu, xla], ids=lambda engine: engine.name)
def test_a_checkpoint_that_does_not_fit_the_run_is_refused_in_one_line(engine):
    run = small(Reinforce(), N=5)
    (right,) = engine.tensors(engine.advance(engine.start([run]), 1))
    assert engine.restore([run], [right]).done == 1
    name = next(iter(right))
    for wrong in ({name: right[name].ravel()[:-1]}, {name: right[name].astype(np.float64)}):
        with pytest.raises(ValueError, match=rf"^checkpoint: {name} is [^\n]+, and should be [^\n]+$"):
            engine.restore([run], [{**right, **wrong}])
    with pytest.raises(ValueError, match=rf"^checkpoint: {name} is not there"):
        engine.restore([run], [{key: x for key, x in right.items() if key != name}])


@pytest.mark.parametrize("most", [1e6, 3.4e38, 3.5e38, 1e300])
def test_numbers_are_what_engines_can_hold(most):
    """A warning is an error here: of the hosts' side of cuda and of xla, which make them single."""
    if most > 3.4e38:
        with pytest.raises(FieldError, match=r"^coupling: \S+ is not allowed; give at most 3.4e\+38$"):
            Boltzmann(coupling=most)
        return
    run = small(Boltzmann(coupling=most, steps=200), N=13, learning_rate=most)
    assert np.isfinite(layout.settings([run])["coupling"]).all()
    assert np.isfinite(numbers(run).rate_hidden).all()
    state = cpu.advance(cpu.start([run]), 2)
    assert np.isfinite(state.reward).all()


# Under sanitizers -----------------------------------------------------------------------------------------------------


def done(words, **more):
    found = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **more)
    assert found.returncode == 0, (found.stdout + found.stderr)[-3000:]
    return found.stdout


@pytest.mark.extremes
def test_the_kernel_holds_at_shapes_and_rates_beyond_all_that_it_is_asked_for(tmp_path):
    program, source = tmp_path / "extremes", ROOT / "tests" / "cpp" / "kernel_test.cpp"
    done([compiler(), "-std=c++17", "-O1", *SANITIZED, "-Wno-psabi", f"-I{CPP}", source, "-o", program])
    assert "1153 extreme shapes, 0 failures" in done([program, "extremes"])


ATTEMPTS = """
import importlib.util, random, sys
sys.path.insert(0, sys.argv[2])
from fuzz import binding
spec = importlib.util.spec_from_file_location("_kernel_sanitized", sys.argv[1])
kernel = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernel)
fell = [line for line in (binding.called(random.Random(i), kernel) for i in range(int(sys.argv[3]))) if line]
print(len(fell), "of", sys.argv[3], "fell", *fell[:5])
"""


@pytest.mark.extremes
def test_the_module_holds_under_sanitizers_whatever_it_is_called_with(tmp_path):
    home = Path(importlib.util.find_spec("nanobind").origin).parent
    paths = (home / "include", home / "ext" / "robin_map" / "include", sysconfig.get_path("include"))
    flags = ["-std=c++17", "-O1", "-fPIC", "-shared", *SANITIZED, "-Wno-psabi", "-fno-strict-aliasing"]
    names = ["-DCOEXPLORE_MODULE=_kernel_sanitized", "-DNB_DOMAIN=_kernel_sanitized", "-DNDEBUG"]
    module = tmp_path / "_kernel_sanitized.so"
    sources = [CPP / "module.cpp", home / "src" / "nb_combined.cpp"]
    done([compiler(), *flags, *names, *(f"-I{path}" for path in paths), *sources, "-o", module])
    loaded = [done([compiler(), f"-print-file-name=lib{name}.so"]).strip() for name in ("asan", "stdc++")]
    environment = {**os.environ, "LD_PRELOAD": " ".join(loaded), "ASAN_OPTIONS": "detect_leaks=0"}
    said = done([sys.executable, "-c", ATTEMPTS, module, ROOT / "tests", 5000], env=environment)
    assert said.startswith("0 of 5000 fell"), said


@pytest.mark.extremes
@pytest.mark.parametrize("N", [1024, 4096])
def test_what_the_kernel_does_not_take_xla_trains(N):
    run = small(Boltzmann(coupling=1e6, steps=2), N=N, bits=6, batch=1, learning_rate=1e6)
    assert cpu.supports(run)
    state = xla.advance(xla.start([run]), 2)
    assert state.done == 2
