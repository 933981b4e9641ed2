"""Tests run with strict dtype promotion, and with shapes checked by jaxtyping and beartype (see pyproject.toml)."""

import os
import shutil
import tempfile

# Compiling takes most of the time of these tests: leave out LLVM's optimisations, and the fusion emitters of XLA's
# CPU backend, through which every small program would pass MLIR's whole pipeline (about a third of all the time). The
# older emitters that stand in for them compute the same. What a user runs, the tests of the command run as a user
# would, in processes of their own.
os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"

import jax
import pytest
from browser import chromium, missing

jax.config.update("jax_numpy_dtype_promotion", "strict")


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


@pytest.fixture(scope="session")
def browser():
    """One for all tests of a process. Where there is none they are skipped, but not where everything must be tested."""
    if why := missing():
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    with chromium() as driver:
        yield driver
