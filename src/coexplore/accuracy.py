"""How often the likeliest label is the right one, on the inputs that were held out.

The likeliest given what the hidden layers drew: a mean over several draws of the network, always from the same key.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from coexplore import network
from coexplore.run import Run
from coexplore.units import drive

DRAWS = 10


def accuracy(run: Run, layers: Any, params: network.Params) -> float | None:
    """Of the network with these rules (the run's, schedules worked out) and parameters; None if nothing is held out."""
    states = getattr(run.task, "held_out_states", ())
    if not len(states):
        return None
    with jax.default_device(jax.devices("cpu")[0]):  # the same bits wherever it was trained
        return float(_accuracy(jax.tree.map(np.float32, layers), run.task, params, states))


@jax.jit
def _accuracy(layers: Any, task: Any, params: network.Params, states: Any) -> Any:
    s, output = task.observe(states), params.layers[-1]

    def one(key: Any) -> Any:
        *_, last, _ = network.act(layers, params, s, key)
        right = layers[-1].likeliest(drive(output, last.h)) == task.answer(states)
        return jnp.mean(right.astype(jnp.float32))

    return jnp.mean(jax.lax.map(one, jax.random.split(jax.random.key(0), DRAWS)))
