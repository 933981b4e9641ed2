"""The multiplexer as a Gymnasium environment: one step an episode.

`gymnasium.make("coexplore/Multiplexer-v0", bits=4, encoding="signed", rewards="signed")`

JAX does not survive a fork: give Gymnasium's AsyncVectorEnv `context="spawn"`.
"""

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from coexplore.tasks.multiplexer import Multiplexer


class MultiplexerEnv(gymnasium.Env[NDArray[np.float32], Any]):
    """Observation: the state's bits; action: 0 or 1; the episode ends after one step."""

    def __init__(self, bits: int = 4, encoding: str = "signed", rewards: str = "signed") -> None:
        self.task = Multiplexer(bits=bits, encoding=encoding, rewards=rewards)
        low = -1.0 if encoding == "signed" else 0.0
        self.observation_space = gymnasium.spaces.Box(low, 1.0, (self.task.size,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        self.state = self.np_random.random((1, self.task.size)) < 0.5
        return self.task.observe(self.state)[0], {}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        reward = self.task.reward(self.state, np.asarray([action]))
        return self.task.observe(self.state)[0], float(reward[0]), True, False, {}
