"""Everything is tested with strict dtype promotion; shapes are checked by jaxtyping and beartype (see pyproject.toml)."""

import jax

jax.config.update("jax_numpy_dtype_promotion", "strict")
