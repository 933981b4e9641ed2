"""A package as somebody else might write it: a rule, a task, a data set, a function and an environment."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Discrete

from coexplore import Bandit, Dataset, Rule, Task, number, outer


class Halved(Rule):
    """W ← W + α s (R − V) (H − ½) xᵀ"""

    name, title = "halved", "centred on one half"
    strength: float = number(1.0, "s, what a step is multiplied by", low=0.0, schedule=True)

    def credit(self, layer, signal, above):
        return outer(layer.x, self.strength * signal * (layer.h - 0.5))


class Thermostat(Task):
    name, title = "thermostat", "heat, wait or cool, from the temperature"
    size, actions = 1, 3
    slack: float = number(0.3, "how far off is still fine", low=0.0)

    def sample(self, B, key):
        return jax.random.uniform(key, (B, 1), minval=-1.0)

    def reward(self, state, action):
        off = state[:, 0]
        right = jnp.where(off < -self.slack, 0, jnp.where(off > self.slack, 2, 1))
        return jnp.where(action == right, 1.0, -1.0)


_draws = np.random.RandomState(0)
_labels = np.arange(90) % 3
blobs = Dataset(_draws.randn(90, 2) + 3 * np.eye(3)[_labels][:, :2], _labels, held_out=1 / 3, name="blobs")
arms = Bandit(lambda s, a: jnp.where((a == 1) == (s[:, 0] > 0), 1.0, -1.0), size=2, name="arms", version="1")


class Corridor(gymnasium.Env):
    """Three steps to the right are worth 1, three to the left nothing."""

    observation_space, action_space = Box(-1.0, 1.0, (1,), np.float32), Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.place += 1 if action else -1
        seen = np.full(1, self.place / 3, np.float32)
        return seen, float(self.place == 3), abs(self.place) == 3, False, {}


def register():
    if "excursion/Corridor-v0" not in gymnasium.registry:
        gymnasium.register("excursion/Corridor-v0", entry_point="excursion:Corridor")


register()
