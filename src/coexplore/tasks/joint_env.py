"""`joint-bits` in time, as functions in JAX: several states one after another, and a word on them only at the end.

`gymnasium.make("coexplore/JointBits-v0", joint=0.5, steps=4)`

In each of `steps` steps a fresh state is shown and k bits are named; all rewards but the last are 0, and that one is
the mean of what `joint-bits` would have paid in each step. So its law under uniform actions does not depend on `joint`
either, and whoever learns has to find out which of the steps, and which of the bits, the reward was for.
"""

from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.envs.functional_jax_env import FunctionalJaxEnv
from gymnasium.experimental.functional import FuncEnv

from coexplore.tasks.joint import JointBits


class Shown(NamedTuple):
    bits: Any
    earned: Any  # so far, and not yet told
    step: Any


class JointSteps(FuncEnv[Any, Any, Any, Any, Any, Any, Any]):
    def __init__(self, joint: float, steps: int, address: int) -> None:
        super().__init__()
        self.task, self.steps = JointBits(address=address, joint=joint), steps
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, (self.task.size,), np.float32)
        self.action_space = gymnasium.spaces.MultiBinary(self.task.bits)

    def initial(self, rng: Any, params: Any = None) -> Shown:
        return Shown(self._drawn(rng), jnp.float32(0), jnp.int32(0))

    def transition(self, state: Shown, action: Any, rng: Any, params: Any = None) -> Shown:
        r = self.task.reward(state.bits[None], jnp.asarray(action, jnp.int32)[None])[0]
        return Shown(self._drawn(rng), state.earned + r / self.steps, state.step + jnp.int32(1))

    def observation(self, state: Shown, rng: Any, params: Any = None) -> Any:
        return self.task.observe(state.bits)

    def reward(self, state: Shown, action: Any, next_state: Shown, rng: Any, params: Any = None) -> Any:
        return jnp.where(next_state.step >= self.steps, next_state.earned, jnp.float32(0))

    def terminal(self, state: Shown, rng: Any, params: Any = None) -> Any:
        return state.step >= self.steps

    def _drawn(self, rng: Any) -> Any:
        return self.task.sample(1, jax.random.wrap_key_data(rng) if rng.dtype == jnp.uint32 else rng)[0]


class JointBitsEnv(FunctionalJaxEnv[Shown]):
    """Observation: the state's bits as −1 and 1; action: k bits; the episode ends after `steps` steps."""

    def __init__(self, joint: float = 0.5, steps: int = 4, address: int = 2) -> None:
        super().__init__(JointSteps(joint, steps, address))
