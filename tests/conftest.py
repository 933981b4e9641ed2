"""Tests run with strict dtype promotion, and with shapes checked by jaxtyping and beartype (see pyproject.toml)."""

import os

# Compiling takes most of the time of these tests: leave out LLVM's optimisations. What a user runs, the tests
# of the command run as a user would, in processes of their own.
os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0"

import jax
import pytest
from browser import chromium, missing

jax.config.update("jax_numpy_dtype_promotion", "strict")


@pytest.fixture(scope="session")
def browser():
    """One for all tests of a process. Where there is none they are skipped, but not where everything must be tested."""
    if why := missing():
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    with chromium() as driver:
        yield driver
