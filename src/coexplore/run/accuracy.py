"""How often a network names the right label, on the inputs that were held out.

There are three such numbers, since the hidden layers draw:

    one draw        the likeliest label given one draw of the hidden layers: `accuracy`, a mean over DRAWS draws from a
                    fixed key
    draws averaged  the likeliest label by its probability averaged over draws (policy.py): `confusion`, and `evaluate`
                    and `act` if they are deterministic
    label drawn     a label drawn as in training: `evaluate` and `act` if they are not
"""

from collections.abc import Callable
from typing import NamedTuple, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from numpy.typing import NDArray

from coexplore import network
from coexplore.network import Actor, Params
from coexplore.programs import in_our_config, jit
from coexplore.run.contents import Tensor
from coexplore.settings import FieldError, refusal
from coexplore.tasks.arrays import on_device
from coexplore.tasks.base import AnyTask
from coexplore.tasks.supervised import Labelled
from coexplore.units import drive

DRAWS = 10
HEADING = "held-out accuracy, one draw"  # of `accuracy` in tables and pictures


class Confusion(NamedTuple):
    """`counts` [L, L] of held-out inputs, a row for the right label and a column for the one that the network names;
    `labels` [L] are what these are called."""

    counts: NDArray[np.int64]
    labels: Tensor


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


def confusion(task: AnyTask, named: Callable[[Tensor], Tensor | np.int32]) -> Confusion:
    """Of a network that names a label for each of some inputs [n, D]."""
    if not isinstance(task, Labelled):
        raise refusal("task", task.label, "one with labels: digits, boolean or a Dataset")
    if task.missing:
        raise FieldError(task.missing)
    held_out = task.data.held_out
    if not len(held_out):
        raise refusal("held_out", 0, "a task of which inputs are held out")
    counts = np.zeros((task.classes, task.classes), np.int64)
    np.add.at(counts, (task.data.y[held_out], named(task.data.x[held_out])), 1)
    return Confusion(counts, task.label_names)


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
