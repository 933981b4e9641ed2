"""Tests run with strict dtype promotion, and with shapes checked by jaxtyping and beartype (see pyproject.toml)."""

import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from importlib.metadata import version
from pathlib import Path

# Compiling takes most of the time of these tests: leave out LLVM's optimisations. What a user runs, the tests of the
# command run as a user would, in processes of their own.
# Where XLA still has its older emitters for the CPU, do without the newer ones, through which every small program would
# pass MLIR's whole pipeline (about a third of all the time); both compute the same. A jaxlib that does not know a flag
# ends the process, so it is asked by its version.
os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0" + (
    " --xla_cpu_use_fusion_emitters=false" if tuple(map(int, version("jaxlib").split(".")[:2])) < (0, 11) else ""
)
# Every worker has a core: threads of NumPy's that wait for one another take it from them. Workers inherit it.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import jax
import pytest
from browser import chromium, missing

jax.config.update("jax_numpy_dtype_promotion", "strict")
MAPPINGS = Path("/proc/self/maps")

if threading.current_thread() is threading.main_thread():
    # A job in the background ignores Ctrl-C, and so would the commands that tests start in order to stop them.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def optimised(monkeypatch):
    """For tests that train long on the xla engine: their unoptimised code takes longer to run than to optimise."""
    from coexplore.engines import xla  # not at the top, where jaxtyping's hook is not yet in place

    options = {**xla.OPTIONS, "xla_backend_optimization_level": 1}
    monkeypatch.setattr(xla, "_advance", jax.jit(xla._updates, compiler_options=options))


def pytest_configure(config):
    """Commands and scripts that tests start share what they compile, worker by worker.

    Not between workers, who might read what another has half written, and not the tests themselves: nearly all
    that they compile is new, and keeping it would cost more than it saves.
    """
    if not config.getoption("numprocesses", None):
        config.cache_of_commands = tempfile.mkdtemp(prefix="coexplore-tests-")
        os.environ["JAX_COMPILATION_CACHE_DIR"] = config.cache_of_commands
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"


def pytest_unconfigure(config):
    if hasattr(config, "cache_of_commands"):
        shutil.rmtree(config.cache_of_commands, ignore_errors=True)


# Cases of which another one of the same test stays in `make test`, by the names of their tests, for `make learning`.
LATER = re.compile(
    "|".join(
        (
            r"algorithm_box\[.*(without|depressed|three layers|four layers|one unit|half|lazy, |strong|one step)",
            r"algorithm_box\[.*(trace|long|reward per layer[ ,]|uncentred|mean|usual|drive|expected weight|six bits)",
            r"page_runs\[docs/(api|tutorials|rules)/",
            r"digests_are_those_that_runs_had\[(coordination|control|cuda|depth|freezing|questions)/",
            r"forty_steps_are_the_algorithm.*\[(dials|cut|numbers)",
            r"cut_off\[phone",
            r"must_hear_one_from_the_layer_above\[by_slope",
            r"each_run_alone_and_compiles_once\[(weight|unbiased|map|backprop|ste)",
            r"that_is_accepted_has_an_effect\[(.* .*|weight|unbiased|map|backprop)",
            r"the_same_in_pieces_and_acts_and_is_evaluated\[switches",
            r"released_rule_written_out_in_numpy\[5",
            r"is_told_the_error_of_the_transition_that_follows_its_draw\[functional",
            r"keys_of_the_engine_draw_what_those_of_jax_do\[draw[345]",
        )
    )
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if LATER.search(item.name):
            item.add_marker("learning")


def pytest_collection_finish(session):
    """What was imported stays: whoever looks for garbage again and again need not look there (a tenth of the time)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_runtest_setup(item):
    """An archive of the sources has no runs, nor pictures of them: they would be forty times as large as the rest."""
    packs = Path(__file__).parents[1] / "results"
    if item.get_closest_marker("packs") and not any(packs.rglob("*.safetensors")):
        pytest.skip("needs the runs or the pictures in results/, which an archive of the sources does not have")


@pytest.fixture(autouse=True, scope="module")
def few_mappings():
    """A compiled program keeps some ten mappings of memory, of which Linux gives a process 65,530, and then it dies."""
    yield
    if MAPPINGS.exists() and MAPPINGS.read_bytes().count(b"\n") > 45_000:
        jax.clear_caches()


@pytest.fixture(scope="session")
def browser():
    """One for all tests of a process. Where there is none they are skipped, but not where everything must be tested."""
    if why := missing():
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    with chromium() as driver:
        yield driver


@pytest.fixture(autouse=True)
def signals():
    """A command that has ended in this process hears none any more; the next test, and what it starts, should."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@pytest.fixture
def forget():
    """Makes our modules forget what they have worked out before, as those of a process that has just begun."""

    def clear():
        ours = [module for name, module in sys.modules.items() if name.partition(".")[0] == "coexplore"]
        for value in [value for module in ours for value in vars(module).values()]:
            if callable(value) and hasattr(value, "cache_clear"):
                value.cache_clear()

    return clear


@pytest.fixture
def here(monkeypatch, capsys):
    """The command in this process, which has long imported what takes a process of its own a second or two."""
    from coexplore import cli

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["coexplore", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        return subprocess.CompletedProcess(words, left.value.code, *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def gpu(tmp_path_factory):
    from emulated_gpu import EmulatedGpu

    return EmulatedGpu(tmp_path_factory.mktemp("emulated"))


@pytest.fixture
def emulated(gpu, monkeypatch):
    """The whole cuda engine, on an emulated GPU."""
    from coexplore.engines.cuda import device

    monkeypatch.setattr(device, "Gpu", gpu)
    monkeypatch.setattr(device, "able", lambda: [0])
    monkeypatch.setattr(device, "multiprocessors", lambda: 132)
    monkeypatch.setattr(device, "lacks", lambda shape: None)
    monkeypatch.setattr(device, "name", lambda: "emulated")
    monkeypatch.setattr(gpu, "backwards", False)
    return gpu


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    """Real runs, small ones."""
    from coexplore import Boltzmann, Recurrent, Reinforce, Run, grid, train
    from coexplore.tasks.multiplexer import Multiplexer

    folder = tmp_path_factory.mktemp("report") / "store"
    small = Run(rule=Boltzmann(), task=Multiplexer(bits=1), hidden=(5,), episodes=1600)
    rules = [Boltzmann(), Recurrent(), Reinforce()]
    train(grid(small, rule=rules, seed=range(2)), engine="cpu", progress=False, store=folder, snapshots=20)
    return folder


@pytest.fixture(scope="session")
def page(store):
    """The file of a report: the small runs, and made-up ones for figures of every kind."""
    import numpy as np

    from coexplore import Result
    from coexplore.network import Params
    from coexplore.paper.figures import runs
    from coexplore.report import html
    from coexplore.report.data import report
    from coexplore.store import read

    made = [
        Result(run, "cpu", np.linspace(0, 0.3 + (i * 7 % 10) / 20, 1000, dtype=np.float32), Params((), None))
        for i, run in enumerate(runs(["fig2", "figa2", "compute", "expected", "depth-paper"], 4_000_000, 2))
    ]
    path = store.parent / "report.html"
    path.write_text(html.page(report([*read(store)[0], *made], "made up")).html)
    return path
