"""Stable-Baselines3's PPO in the environments of docs/environments.md, measured as ours are: results/control/ppo.json.

In an environment of its own (`pip install stable-baselines3`): `python benchmarks/ppo.py results/control/ppo.json`.
What the file has is not trained again. Settings are those of the RL Zoo (hyperparams/ppo.yml) where it has any, its
numbers of steps apart, and PPO's defaults elsewhere. Seeds come first, so that a stopped run has something of each.
"""

import argparse
import json
import sys
from importlib.metadata import version
from pathlib import Path

import gymnasium
import numpy as np
import torch
from gymnasium.wrappers import FlattenObservation
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

POINTS = 1000  # of a curve, as coexplore's: the last quarter is that of the steps
TOY, CLASSIC = 20_000, 30_000
# Steps, arguments of the environment, settings of PPO; `falls`: these go down to 0 with the steps.
ENVIRONMENTS = {
    "CartPole-v1": (CLASSIC, {}, {
        "n_envs": 8, "n_steps": 32, "batch_size": 256, "gae_lambda": 0.8, "gamma": 0.98, "n_epochs": 20,
        "learning_rate": 1e-3, "clip_range": 0.2, "falls": ["learning_rate", "clip_range"],
    }),
    "Acrobot-v1": (CLASSIC, {}, {
        "n_envs": 16, "normalize": True, "n_steps": 256, "gae_lambda": 0.94, "gamma": 0.99, "n_epochs": 4,
    }),
    "Pendulum-v1": (CLASSIC, {}, {
        "n_envs": 4, "n_steps": 1024, "gae_lambda": 0.95, "gamma": 0.9, "n_epochs": 10, "learning_rate": 1e-3,
        "clip_range": 0.2, "use_sde": True, "sde_sample_freq": 4,
    }),
    "FrozenLake-v1 is_slippery=false": (TOY, {"is_slippery": False}, {}),
    "FrozenLake-v1": (TOY, {}, {}),
    "CliffWalking-v1": (TOY, {"max_episode_steps": 200}, {}),
    "Blackjack-v1": (TOY, {}, {}),
    "Taxi-v4": (TOY, {}, {}),
}  # fmt: skip


class Returns(BaseCallback):
    """When episodes ended, and what they returned."""

    def __init__(self):
        super().__init__()
        self.ended = []

    def _on_step(self):
        self.ended += [(self.num_timesteps, i["episode"]["r"]) for i in self.locals["infos"] if "episode" in i]
        return True


def last_quarter(ended, steps):
    """Of the mean returns of the episodes that ended in each stretch; where none did, as in the stretch before."""
    values, found = np.zeros(POINTS), [[] for _ in range(POINTS)]
    for step, value in ended:
        if step <= steps:
            found[(step - 1) * POINTS // steps].append(value)
    for i, own in enumerate(found):
        values[i] = np.mean(own) if own else values[i - 1] if i else 0.0
    return float(values[-POINTS // 4 :].mean())


def made(name, args):
    env = gymnasium.make(name, **args)
    return FlattenObservation(env) if isinstance(env.observation_space, gymnasium.spaces.Tuple) else env


def trained(name, steps, args, settings, seed):
    own = dict(settings)
    envs = make_vec_env(lambda: made(name.split()[0], args), n_envs=own.pop("n_envs", 1), seed=seed)
    if own.pop("normalize", False):
        envs = VecNormalize(envs, gamma=own["gamma"])
    for falling in own.pop("falls", []):
        own[falling] = lambda left, start=own[falling]: left * start
    seen = Returns()
    PPO("MlpPolicy", envs, seed=seed, device="cpu", **own).learn(steps, callback=seen)
    return last_quarter(seen.ended, steps)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", type=int, default=5, help="seeds 0 to this [5]")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    packages = ("stable-baselines3", "torch", "gymnasium", "numpy")
    kept = json.loads(asked.out.read_text()) if asked.out.exists() else {"last quarter": {}}
    kept |= {"versions": {"python": sys.version.split()[0]} | {one: version(one) for one in packages}}
    kept["settings"] = {
        name: {"steps": steps, "arguments": args, "PPO": settings or "defaults"}
        for name, (steps, args, settings) in ENVIRONMENTS.items()
    }
    for seed in range(asked.seeds):
        for name, (steps, args, settings) in ENVIRONMENTS.items():
            own = kept["last quarter"].setdefault(name, {})
            if str(seed) not in own:
                own[str(seed)] = trained(name, steps, args, settings, seed)
                print(name, seed, own[str(seed)], flush=True)
                asked.out.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
