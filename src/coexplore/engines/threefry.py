"""JAX's threefry on a CPU, bit for bit, with its rounds written out.

JAX rolls the rounds into a loop there, which compiles sooner but cannot be fused with what uses the draws: in
Algorithm 1 that costs about a third of the time (benchmarks/generators.py). Keys are split and folded as JAX does.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.random import define_prng_impl, threefry_prng_impl
from jaxtyping import Array, Key, UInt32

ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
PARITY = 0x1BD11BDA
MOST = 2**32  # words from one key: beyond, counters have a second word


def fused(keys: Key[Array, "*G"]) -> Key[Array, "*G"]:
    """Keys that draw the same bits; on a GPU, where JAX writes the rounds out itself, the keys as they are."""
    if jax.default_backend() != "cpu":
        return keys
    return jax.random.wrap_key_data(jax.random.key_data(keys), impl=_WRITTEN_OUT)


def _random_bits(key: UInt32[Array, "2"], width: int, shape: tuple[int, ...]) -> Any:
    if width != 32 or math.prod(shape) > MOST:
        return threefry_prng_impl.random_bits(key, width, shape)
    count = jax.lax.iota(jnp.uint32, math.prod(shape)).reshape(shape)
    x, y = _block(key[0], key[1], count)
    return x ^ y


def _block(k0: Any, k1: Any, count: Any) -> tuple[Any, Any]:
    """Threefry 2x32 with 20 rounds (Salmon et al. 2011) of the counter (0, count)."""
    keys = (k0, k1, k0 ^ k1 ^ np.uint32(PARITY))
    x, y = jnp.broadcast_to(k0, count.shape), count + k1
    for i in range(20):
        x, rotation = x + y, ROTATIONS[i % 8]
        y = x ^ ((y << np.uint32(rotation)) | (y >> np.uint32(32 - rotation)))
        if i % 4 == 3:
            n = i // 4 + 1
            x, y = x + keys[n % 3], y + keys[(n + 1) % 3] + np.uint32(n)
    return x, y


_WRITTEN_OUT = define_prng_impl(
    key_shape=threefry_prng_impl.key_shape,
    seed=threefry_prng_impl.seed,
    split=threefry_prng_impl.split,
    fold_in=threefry_prng_impl.fold_in,
    random_bits=_random_bits,
    name="written-out threefry",
    tag="wfry",
)
