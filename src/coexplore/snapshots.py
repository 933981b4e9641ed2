"""What a network looks like while it learns, seen from the outside: no engine needs to know.

At about twenty moments of a run: the size of every parameter, and on 256 fixed states how often each unit fires and
how far the critic is off; where inputs are held out, the accuracy on those. Always one run at a time, so that nothing
depends on its neighbours.
"""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from coexplore import network
from coexplore.accuracy import accuracy
from coexplore.fields import Linear
from coexplore.run import Run

MOMENTS, STATES = 20, 256


def moments(updates: int) -> list[int]:
    """The counts of updates at which to look: before the first, after the last, evenly between."""
    return sorted({updates * i // MOMENTS for i in range(MOMENTS + 1)})


def snapshot(run: Run, params: network.Params, done: int) -> dict[str, np.ndarray]:
    progress = done / max(run.updates, 1)
    layers = jax.tree.map(lambda x: _at(x, progress), network.layers(run), is_leaf=lambda x: isinstance(x, Linear))
    with jax.default_device(jax.devices("cpu")[0]):  # the same bits wherever it was trained
        seen = _seen(layers, run.critic, run.task, params, *_fixed(run.task))
    if (found := accuracy(run, layers, params)) is not None:
        seen["accuracy"] = np.float32(found)
    return {"updates": np.asarray(done), **{name: np.asarray(x) for name, x in seen.items()}, **_norms(params)}


def stacked(snapshots: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {name: np.stack([one[name] for one in snapshots]) for name in snapshots[0]} if snapshots else {}


def unstacked(snapshots: dict[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    count = len(next(iter(snapshots.values()), ()))
    return [{name: np.asarray(x[i]) for name, x in snapshots.items()} for i in range(count)]


@functools.cache
def _fixed(task: Any) -> tuple[Any, Any]:
    """The states to look at, and the key of what the network draws there."""
    state_key, act_key = jax.random.split(jax.random.key(0))
    return task.sample(STATES, state_key), act_key


def _norms(params: network.Params) -> dict[str, np.ndarray]:
    norms = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        name = jax.tree_util.keystr(path, simple=True, separator=".")
        norms[f"norm.{name}"] = np.asarray(np.linalg.norm(np.asarray(leaf).ravel()))
    return norms


def _at(x: Any, progress: float) -> Any:
    return np.float32(x.at(progress) if isinstance(x, Linear) else x)


# A small program that runs twenty times a run: compiling it thoroughly would cost more than it saves.
@functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 1})
def _seen(layers: Any, critic: Any, task: Any, params: network.Params, state: Any, key: Any) -> dict[str, Any]:
    s = task.observe(state)
    activities = network.act(layers, params, s, key)
    seen = {f"firing.{i}": activity.h.mean(axis=0) for i, activity in enumerate(activities)}
    if critic:
        _, r = network.outcome(task, layers, params, state, activities)
        delta = r - critic.value(params.critic, s)
        seen["critic_error"] = jnp.sqrt(jnp.mean(jnp.square(delta)))
    return seen
