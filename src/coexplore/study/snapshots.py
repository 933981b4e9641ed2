"""What a network looks like while it learns, seen from the outside: no engine needs to know.

At about twenty moments of a run: the size of every parameter, and on 256 fixed states how often each unit fires and
how far the critic is off; where inputs are held out, the accuracy on those. Always one run at a time, so that nothing
depends on its neighbours.
"""

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from coexplore import network
from coexplore.network import Network, Params
from coexplore.run.accuracy import accuracy
from coexplore.run.result import Tensors
from coexplore.run.run import Run
from coexplore.settings import worked_out
from coexplore.tasks.base import OneStep

MOMENTS, STATES = 20, 256


def moments(updates: int) -> list[int]:
    """The counts of updates at which to look: before the first, after the last, evenly between."""
    return sorted({updates * i // MOMENTS for i in range(MOMENTS + 1)})


def snapshot(run: Run, params: Params, done: int) -> Tensors:
    net = jax.tree.map(np.float32, worked_out(run.network, done / max(run.updates, 1)))
    with jax.default_device(jax.devices("cpu")[0]):  # the same bits wherever it was trained
        seen = _seen(net, run.task, params, *_fixed(run.task))
    if (share := accuracy(run.task, net, params)) is not None:
        seen["accuracy"] = np.float32(share)
    return {"updates": np.asarray(done), **{name: np.asarray(x) for name, x in seen.items()}, **_norms(params)}


def stacked(snapshots: Sequence[Tensors]) -> Tensors:
    return {name: np.stack([each[name] for each in snapshots]) for name in snapshots[0]} if snapshots else {}


def unstacked(snapshots: Tensors) -> list[Tensors]:
    count = len(next(iter(snapshots.values()), ()))
    return [{name: np.asarray(x[i]) for name, x in snapshots.items()} for i in range(count)]


@functools.cache
def _fixed(task: OneStep) -> tuple[Array, Key[Array, ""]]:
    """The states to look at, and the key of what the network draws there."""
    state_key, act_key = jax.random.split(jax.random.key(0))
    return task.sample(STATES, state_key), act_key


def _norms(params: Params) -> Tensors:
    norms = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        name = jax.tree_util.keystr(path, simple=True, separator=".")
        norms[f"norm.{name}"] = np.asarray(np.linalg.norm(np.asarray(leaf).ravel()))
    return norms


# A small program that runs twenty times per run: compiling it thoroughly would cost more than it saves.
@functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 1})
def _seen(net: Network, task: OneStep, params: Params, state: Array, key: Key[Array, ""]) -> dict[str, Array]:
    s = task.observe(state)
    activities = network.act(net, params, s, key)
    seen = {f"firing.{i}": activity.h.mean(axis=0) for i, activity in enumerate(activities)}
    if net.critic:
        _, r = network.outcome(task, net, params, state, activities)
        delta = r - net.critic.value(params.critic, s)
        seen["critic_error"] = jnp.sqrt(jnp.mean(jnp.square(delta)))
    return seen
