"""What networks look like while they learn, seen from the outside, for the engines whose parameters JAX can read.

The size of every parameter, and on 256 fixed states how often each unit fires and how far the critic is off; where
inputs are held out, the accuracy on those.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from coexplore import network
from coexplore.critic import Critic
from coexplore.network import Actor, Params
from coexplore.programs import jit
from coexplore.run.accuracy import accuracies, accuracy
from coexplore.run.frozen import FIRING, QUICKLY, fixed
from coexplore.run.result import Tensor, Tensors
from coexplore.run.run import Run
from coexplore.settings import worked_out
from coexplore.tasks.arrays import on_device
from coexplore.tasks.base import Task


def look(run: Run, params: Params, done: int) -> Tensors:
    """One run after so many updates, as a group of one. On the CPU, by itself: so no neighbour changes a bit."""
    assert isinstance(run.task, Task)
    cpu = jax.devices("cpu")[0]
    actor = jax.tree.map(np.float32, worked_out(run.network.actor, progress_after(run, done)))
    with jax.default_device(cpu):
        task = run.task.holding(on_device(run.task.load(), cpu))
        seen = _seen(actor, run.critic, task, params, *fixed(run.task))
    share = accuracy(run.task, actor, params)
    rows = {**seen, **({} if share is None else {"accuracy": np.float32(share)}), **norms(params)}
    return {name: np.asarray(row)[None] for name, row in rows.items()}


def look_at_group(runs: tuple[Run, ...], actors: Actor, group: Params, done: int) -> Tensors:
    """A group whose actors and parameters have a first axis, on the device where they are: one call for all of them."""
    task = runs[0].task
    assert isinstance(task, Task)
    now = worked_out(actors, progress_after(runs[0], done))
    held = task.holding(on_device(task.load()))
    seen = _seen_group(now, runs[0].critic, held, group, *fixed(task))
    share = accuracies(task, now, group)
    rows = {**seen, **({} if share is None else {"accuracy": share}), **_norms(group, _norm_of_each)}
    return {name: np.asarray(x)[: len(runs)] for name, x in rows.items()}


def progress_after(run: Run, done: int) -> float:
    return done / max(run.updates, 1)


def norms(params: Params) -> Tensors:
    """How large the parameters of each kind are; beyond all numbers, they are infinite."""
    return _norms(params, _norm)


def _norms(params: Params, norm: Callable[[Tensor], Tensor]) -> Tensors:
    with np.errstate(over="ignore"):
        sizes = [norm(np.asarray(leaf)) for leaf in jax.tree.leaves(params)]
    return dict(zip(norm_names(params), sizes, strict=True))


def norm_names(params: Params) -> list[str]:
    """What the sizes of the parameters are called, in the order of their tree."""
    paths = (path for path, _ in jax.tree_util.tree_leaves_with_path(params))
    return [f"norm.{jax.tree_util.keystr(path, simple=True, separator='.')}" for path in paths]


def _norm(leaf: Tensor) -> Tensor:
    return np.asarray(np.linalg.norm(leaf.ravel()))


def _norm_of_each(leaf: Tensor) -> Tensor:
    return np.sqrt(np.square(leaf.reshape(len(leaf), -1)).sum(axis=1))


def _see(actor: Actor, critic: Critic | None, task: Task, params: Params, state: Any, key: Any) -> Any:
    s = task.observe(state)
    activities = network.act(actor, params, s, key)
    seen = {f"{FIRING}{i}": activity.h.mean(axis=0) for i, activity in enumerate(activities)}
    if critic:
        _, r = network.outcome(task, actor, params, state, activities)
        delta = r - critic.value(params.critic, s)
        seen["critic_error"] = jnp.sqrt(jnp.mean(jnp.square(delta)))
    return seen


_seen = jit(_see, compiler_options=QUICKLY)
_seen_group = jit(jax.vmap(_see, (0, None, None, 0, None, None)), compiler_options=QUICKLY)
