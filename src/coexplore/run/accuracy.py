"""How often the likeliest label is the right one, on the inputs that were held out.

The likeliest given what the hidden layers drew: a mean over several draws of the network, always from the same key.
"""

from typing import TypeGuard

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from coexplore import network
from coexplore.network import Actor, Params
from coexplore.programs import in_our_config, jit
from coexplore.tasks.arrays import on_device
from coexplore.tasks.base import AnyTask
from coexplore.tasks.supervised import Labelled
from coexplore.units import drive

DRAWS = 10


@in_our_config
def accuracy(task: AnyTask, actor: Actor, params: Params) -> float | None:
    """Of a network that acts so (schedules worked out) and parameters; None if nothing is held out."""
    if not _judges(task):
        return None
    cpu = jax.devices("cpu")[0]
    with jax.default_device(cpu):  # the same bits wherever it was trained
        held = task.holding(on_device(task.load(), cpu))
        return float(_accuracy(jax.tree.map(np.float32, actor), held, params))


def accuracies(task: AnyTask, actor: Actor, params: Params) -> Float[Array, " G"] | None:
    """Of a group of networks, whose actors and parameters have a first axis, on the device where they are."""
    return _accuracies(actor, task.holding(on_device(task.load())), params) if _judges(task) else None


def _judges(task: AnyTask) -> TypeGuard[Labelled]:
    return isinstance(task, Labelled) and not task.missing and len(task.load().held_out) > 0


def _share_right(actor: Actor, task: Labelled, params: Params) -> Float[Array, ""]:
    states = task.held_out_states
    s, output, law = task.observe(states), params.layers[-1], task.output

    def share(key: Key[Array, ""]) -> Float[Array, ""]:
        """Of the states in which the likeliest label is right, for one draw of the hidden layers."""
        heard = actor.heard(s, network.act(actor, params, s, key))
        right = law.likeliest(drive(output, heard[-1])) == task.answer(states)
        return jnp.mean(right.astype(jnp.float32))

    return jnp.mean(jax.lax.map(share, jax.random.split(jax.random.key(0), DRAWS)))


_accuracy = jit(_share_right)
_accuracies = jit(jax.vmap(_share_right, (0, None, 0)))
