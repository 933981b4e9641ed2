"""Environments that Gymnasium has as pure functions in JAX: what a compiled program steps, numbers in, numbers out.

They are called as Gymnasium's own `FunctionalJaxEnv` calls them: one key for all that happens in a step, the next one
split off. Whatever an environment does beyond that (a `step` of its own, further wrappers) cannot be compiled.
"""

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp

from coexplore.tasks.control import make
from coexplore.tasks.env_args import Arguments
from coexplore.tasks.spaces import whole


@dataclasses.dataclass(frozen=True, eq=False)
class Functions:
    """`like` has the shapes and types of a state, which a first state need not have (CliffWalking's has not)."""

    env: Any
    limit: int | None  # steps after which an episode is cut short
    seen: Any  # the spaces
    acts: Any
    like: Any = None

    @property
    def action(self) -> Any:
        """What the network's are like: a whole number from 0, bits, or numbers."""
        if self._bits:
            return jnp.zeros(math.prod(self.acts.shape), jnp.int32)
        counted = hasattr(self.acts, "n") or whole(self.acts)
        return jnp.zeros((), jnp.int32) if counted else jnp.zeros(math.prod(self.acts.shape))

    @property
    def _bits(self) -> bool:
        from gymnasium.spaces import MultiBinary

        return isinstance(self.acts, MultiBinary)

    def begin(self, key: Any) -> tuple[Any, Any, Any]:
        """A first state, the key of what follows, and what is seen."""
        with jax.numpy_dtype_promotion("standard"):  # Gymnasium's mix types
            now, later = jax.random.split(key)
            state = self.env.initial(rng=now)
            o = self._flat(self.env.observation(state, now))
        if self.like is None:
            return state, later, o
        return jax.tree.map(lambda x, y: jnp.broadcast_to(jnp.asarray(x, y.dtype), y.shape), state, self.like), later, o

    def take(self, state: Any, key: Any, action: Any) -> tuple[Any, Any, Any, Any, Any]:
        """The next state, the key of what follows, what is seen, the reward, and whether the episode is over."""
        with jax.numpy_dtype_promotion("standard"):
            (now, later), action = jax.random.split(key), self._taken(action)
            after = self.env.transition(state, action, now)
            o = self._flat(self.env.observation(after, now))
            r = self.env.reward(state, action, after, now)
            over = self.env.terminal(after, now)
        return after, later, o, jnp.asarray(r, jnp.float32).reshape(()), jnp.asarray(over, bool).reshape(())

    def _flat(self, o: Any) -> Any:
        """As `Flat` does it."""
        if hasattr(self.seen, "n"):
            return jax.nn.one_hot(o - int(self.seen.start), int(self.seen.n), dtype=jnp.float32)
        return jnp.ravel(o).astype(jnp.float32)

    def _taken(self, action: Any) -> Any:
        """As `Flat` does it."""
        if self._bits:
            return action.reshape(self.acts.shape).astype(jnp.int8)
        if hasattr(self.acts, "n"):
            return action + int(self.acts.start)
        if whole(self.acts):
            return (action + int(self.acts.low.item())).reshape(self.acts.shape)
        return jnp.clip(action.reshape(self.acts.shape), self.acts.low, self.acts.high)


@functools.cache  # another edition has other functions
def functions(env: str, args: Arguments = (), max_steps: int = 0, edition: str = "") -> Functions | None:
    """Of an environment that is made of nothing else."""
    instance = make(env, args, max_steps)
    try:
        return functions_of(instance)
    finally:
        instance.close()


def functions_of(instance: Any) -> Functions | None:
    from gymnasium.envs.functional_jax_env import FunctionalJaxEnv
    from gymnasium.spaces import Box, Discrete, MultiBinary
    from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

    limits, inner = [math.inf], instance
    while type(inner) in (OrderEnforcing, PassiveEnvChecker, TimeLimit):
        limits += [inner._max_episode_steps] if isinstance(inner, TimeLimit) else []
        inner = inner.env
    plain = isinstance(inner, FunctionalJaxEnv) and all(
        getattr(type(inner), name) is getattr(FunctionalJaxEnv, name) for name in ("reset", "step")
    )
    seen, acts = instance.observation_space, instance.action_space
    if not plain or type(seen) not in (Box, Discrete) or type(acts) not in (Box, Discrete, MultiBinary):
        return None
    limit = None if math.isinf(min(limits)) else int(min(limits))
    found = Functions(inner.func_env, limit, seen, acts)
    like = _state(found)
    return dataclasses.replace(found, like=like[0]) if like else None


def _state(found: Functions) -> list[Any] | None:
    """What a state is like, in a list: as it is after a step. None where no loop can carry it from step to step."""
    action, key = found.action, jax.random.PRNGKey(0)
    try:
        first, _, _ = jax.eval_shape(found.begin, key)
        second, *_ = jax.eval_shape(found.take, first, key, action)
        third, *_ = jax.eval_shape(found.take, second, key, action)
        jax.eval_shape(dataclasses.replace(found, like=second).begin, key)
    except Exception:  # somebody else's functions may fail in any way: stepped by Python they may not
        return None
    kinds = [[(x.shape, x.dtype) for x in jax.tree.leaves(state)] for state in (second, third)]
    keys = any(jnp.issubdtype(x.dtype, jax.dtypes.extended) for x in jax.tree.leaves(second))
    trees: list[Any] = [jax.tree.structure(state) for state in (second, third)]
    return [second] if trees[0] == trees[1] and kinds[0] == kinds[1] and not keys else None
