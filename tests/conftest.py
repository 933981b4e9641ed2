"""Tests run with strict dtype promotion, and with shapes checked by jaxtyping and beartype (see pyproject.toml)."""

import os

# Compiling takes most of the time of these tests: leave out LLVM's optimisations. What a user runs, the tests
# of the command run as a user would, in processes of their own.
os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0"

import jax

jax.config.update("jax_numpy_dtype_promotion", "strict")
