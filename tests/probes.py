"""Environments so small that what an agent should learn in them is known on paper."""

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple


class Probe(gymnasium.Env):
    """Observations and rewards by the given functions: `see(step, coin)`, `pay(step, coin, action)`; coin is ±1."""

    observation_space = Box(-1.0, 1.0, (1,), np.float32)
    action_space = Discrete(2)

    def __init__(self, see, pay, steps=1, cut=False):
        self.see, self.pay, self.steps, self.cut = see, pay, steps, cut

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.step_, self.coin = 0, 1 if self.np_random.random() < 0.5 else -1
        return self._seen(), {}

    def step(self, action):
        r = float(self.pay(self.step_, self.coin, action))
        self.step_ += 1
        over = self.step_ >= self.steps
        return self._seen(), r, over and not self.cut, over and self.cut, {}

    def _seen(self):
        return np.full(1, self.see(self.step_, self.coin), np.float32)


class Numbers(Probe):
    """Actions that are numbers; 0.5 is the best."""

    action_space = Box(-1.0, 1.0, (1,), np.float32)


class Forgetful(Probe):
    """Its coin does not come from the seed: no episode can be had again."""

    count = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        Forgetful.count += 1
        self.coin = 1 if Forgetful.count % 3 else -1
        return self._seen(), {}


class Odd(Probe):
    """A choice and a number: not an action that a network of ours can draw."""

    action_space = Tuple((Discrete(2), Box(0.0, 1.0, (1,))))


class Dials(Probe):
    """Two dials whose positions are called 1 to 3 and 5 to 6, and an observation by names, one of them nested."""

    action_space = MultiDiscrete([3, 2], start=[1, 5])
    observation_space = Dict(coin=Discrete(2), far=Dict(at=Box(-9.0, 9.0, (1, 2), np.float32)))

    def _seen(self):
        return {"coin": (self.coin + 1) // 2, "far": {"at": np.array([[self.step_, self.coin]], np.float32)}}


class Switches(Probe):
    """Four bits in two rows, and an observation of several parts."""

    action_space = MultiBinary((2, 2))
    observation_space = Tuple((Discrete(3, start=-1), MultiBinary(2), MultiDiscrete([2, 2], start=[4, 0])))

    def _seen(self):
        up = (self.coin + 1) // 2
        return self.coin, np.array([up, 1], np.int8), np.array([4 + up, 0])


class Broken(Probe):
    """Its numbers are lost: in the observation of a step, in a reward, or at once."""

    def __init__(self, where, **rest):
        super().__init__(**rest)
        self.where = where

    def _seen(self):
        lost = self.where == "reset" or (self.where == "observation" and self.step_ == 3)
        return np.full(1, np.nan if lost else 0.0, np.float32)

    def step(self, action):
        o, r, *rest = super().step(action)
        return o, np.inf if self.where == "reward" and self.step_ == 3 else r, *rest


class Paid(Probe):
    """What it pays is an argument."""

    def __init__(self, prize=1.0, double=False, **rest):
        super().__init__(**rest)
        self.pay = lambda step, coin, action: prize * (2 if double else 1)


class Picture(Probe):
    observation_space = Box(0, 255, (80, 80, 3), np.uint8)

    def _seen(self):
        return np.full((80, 80, 3), self.step_, np.uint8)


class Late(Probe):
    """Its actions are called 5 and 6, its observations are one of three things."""

    action_space = Discrete(2, start=5)
    observation_space = Discrete(3)

    def _seen(self):
        return self.coin + 1


def nothing(step, coin):
    return 0.0


def the_coin(step, coin):
    return coin


def as_action(step, coin, action):
    return 1 if action == 1 else -1


def as_both(step, coin, action):
    return 1 if (action == 1) == (coin > 0) else -1


# What a network of any rule should make of each: the value of its states (observation → V), and whether 1 is right.
PROBES = {
    "constant-v0": (Probe, {"see": nothing, "pay": lambda step, coin, action: 1}),
    "observation-v0": (Probe, {"see": the_coin, "pay": lambda step, coin, action: coin}),
    "delayed-v0": (
        Probe,
        {"see": lambda step, coin: min(step, 1), "pay": lambda step, coin, action: step, "steps": 2},
    ),
    "action-v0": (Probe, {"see": nothing, "pay": as_action}),
    "both-v0": (Probe, {"see": the_coin, "pay": as_both}),
}
OTHERS = {
    "numbers-v0": (Numbers, {"see": nothing, "pay": lambda step, coin, action: -((action[0] - 0.5) ** 2)}),
    "forgetful-v0": (Forgetful, {"see": the_coin, "pay": as_both}),
    "odd-v0": (Odd, {"see": the_coin, "pay": as_action}),
    "late-v0": (Late, {"see": the_coin, "pay": lambda step, coin, action: 1 if action == 6 else -1}),
    "dials-v0": (
        Dials,
        {"see": nothing, "pay": lambda step, coin, a: 1.0 if tuple(a) == (2 + coin, 5) else -1.0, "steps": 3},
    ),
    "switches-v0": (
        Switches,
        {
            "see": nothing,
            "pay": lambda step, coin, a: np.sum(a[0]) - np.sum(a[1]) if coin > 0 else np.sum(a),
            "steps": 3,
        },
    ),
    "paid-v0": (Paid, {"see": nothing, "pay": None}),
    "endless-v0": (Probe, {"see": nothing, "pay": as_action, "steps": 10**9}),
    "picture-v0": (Picture, {"see": nothing, "pay": as_action}),
    **{
        f"{where}-broken-v0": (Broken, {"where": where, "see": nothing, "pay": as_action, "steps": 9})
        for where in ("reset", "observation", "reward")
    },
    "cut-v0": (Probe, {"see": the_coin, "pay": as_both, "steps": 3, "cut": True}),
    "walk-v0": (Probe, {"see": lambda step, coin: coin * np.cos(step), "pay": as_both, "steps": 7}),
}


def register():
    for name, (kind, settings) in (PROBES | OTHERS).items():
        if f"probe/{name}" not in gymnasium.registry:
            gymnasium.register(f"probe/{name}", entry_point=kind, kwargs=settings, disable_env_checker=True)
