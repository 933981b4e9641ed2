"""Data on a device, once for all who ask: however many runs train on them, and in how many groups."""

import threading
import weakref
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

_placed: dict[tuple[int, Any], Array] = {}  # by the array in memory, for as long as that one lives
_lock = threading.Lock()


def on_device(data: Any, device: Any = None) -> Any:
    """A tree of NumPy arrays on that device, or on the one that JAX takes by itself."""
    device = None if device == jax.devices()[0] else device
    return jax.tree.map(lambda array: _on_device(array, device), data)


def _on_device(array: Any, device: Any) -> Array:
    if not isinstance(array, np.ndarray):
        return jnp.asarray(array)
    with _lock:
        place = id(array), device
        if place not in _placed:
            _placed[place] = jax.device_put(array, device, may_alias=False)
            weakref.finalize(array, _placed.pop, place, None)
        return _placed[place]
