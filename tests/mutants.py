"""A good rule, a good task and a good environment of somebody's own, and what becomes of each when one thing breaks.

Every mutant has the words that its line must have: who it is, and what is wrong.
"""

import dataclasses
import itertools

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Discrete

from coexplore import Control, Rule, Run, outer
from coexplore.laws import Bernoulli
from coexplore.tasks.base import Task
from coexplore.units import Affine

count = itertools.count()


def credit(self, layer, signal, above):
    return outer(layer.x, signal * (layer.h - 0.5))


def a_rule(**changes):
    """A class like a good rule, but for these."""
    name = f"rule-{next(count)}"
    usual = {
        "name": name,
        "title": "a rule of somebody's own",
        "credit": credit,
    }
    return type(name.title().replace("-", ""), (Rule,), {k: v for k, v in (usual | changes).items() if v is not None})


GOOD = {
    "sample": lambda self, B, key: jax.random.bernoulli(key, 0.5, (B, 3)),
    "observe": lambda self, state: jnp.where(state, 1.0, -1.0).astype(jnp.float32),
    "reward": lambda self, state, action: jnp.where(self.answer(state) == action, 1.0, -1.0).astype(jnp.float32),
    "answer": lambda self, state: (state[:, 0] ^ state[:, 1]).astype(jnp.int32),
}


def a_task(**changes):
    name = f"task-{next(count)}"
    usual = {
        **GOOD,
        "name": name,
        "title": "a task of somebody's own",
        "batch": 4,
        "episodes": 64,
        "size": property(lambda self: 3),
        "output": property(lambda self: Bernoulli()),
        "outputs": property(lambda self: 1),
    }
    return type(name.title().replace("-", ""), (Task,), {k: v for k, v in (usual | changes).items() if v is not None})


class World(gymnasium.Env):
    """Five steps of three numbers; `broken` says what goes wrong in which step."""

    observation_space = Box(-1.0, 1.0, (3,), np.float32)
    action_space = Discrete(2)

    def __init__(self, broken=None):
        self.broken = broken or {}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.broken.get("reset", lambda good: good)((self.seen(), {}))

    def step(self, action):
        self.t += 1
        good = self.seen(), float(action), self.t == 5, False, {}
        return self.broken["step"](good) if "step" in self.broken and self.t == 3 else good

    def seen(self):
        return self.np_random.uniform(-1, 1, 3).astype(np.float32)


def an_environment(**broken):
    name = f"mutant/World{next(count)}-v0"
    gymnasium.register(name, entry_point=World, kwargs={"broken": broken}, disable_env_checker=True)
    return name


# How things break -----------------------------------------------------------------------------------------------------

ERRORS = {
    "ValueError: out\nof order": "ValueError: out",
    "NotImplementedError": "NotImplementedError",
    "ZeroDivisionError: by zero": "ZeroDivisionError: by zero",
    "SystemExit: 3": "SystemExit: 3",
}


def raising(what):
    def function(*given):
        name, _, text = what.partition(": ")
        kind = {"SystemExit": SystemExit}.get(name) or getattr(__import__("builtins"), name)
        raise kind(*[text.strip("'")] * bool(text))

    return function


def after(good, change):
    """The good function, and then a change to what it gives."""
    return lambda *given: change(good(*given))


@dataclasses.dataclass
class Another:
    W: jax.Array
    b: jax.Array


def undecided(good):
    """A function that asks what cannot be known yet."""

    def function(self, *given):
        found = good(self, *given)
        return found if float(jax.tree.leaves(found)[0].sum()) > 0 else None

    return function


def forged(record, **changes):
    """The record with these changes, as in a user's process, where nobody checks what records are made of."""
    made = object.__new__(type(record))
    made.__dict__.update(vars(record) | changes)
    return made


def affine(W, b):
    return forged(Affine(jnp.zeros((1, 1)), jnp.zeros(1)), W=W, b=b)


CREDITS = {  # change → words of the line
    lambda c: affine(c.W.T, c.b): "W of credit has shape [2, 3], and should have [3, 2]",
    lambda c: affine(c.W[:-1], c.b): "W of credit has shape [2, 2], and should have [3, 2]",
    lambda c: affine(c.W[None], c.b): "W of credit has shape [1, 3, 2], and should have [3, 2]",
    lambda c: affine(c.W.ravel(), c.b): "W of credit has shape [6], and should have [3, 2]",
    lambda c: affine(c.W[:, :1], c.b): "W of credit has shape [3, 1], and should have [3, 2]",
    lambda c: affine(c.W.sum(), c.b): "W of credit has shape [], and should have [3, 2]",
    lambda c: affine(c.W, c.b[:-1]): "b of credit has shape [1], and should have [2]",
    lambda c: affine(c.W, c.b[None]): "b of credit has shape [1, 2], and should have [2]",
    lambda c: affine(c.W, 0.0): "b of credit has shape [], and should have [2]",
    lambda c: affine(c.b, c.W): "W of credit has shape [2], and should have [3, 2]",
    lambda c: affine(c.W.astype(jnp.float16), c.b): "W of credit has numbers of type float16, and should have float32",
    lambda c: affine(c.W.astype(jnp.int32), c.b): "W of credit has numbers of type int32, and should have float32",
    lambda c: affine(c.W, c.b > 0): "b of credit has numbers of type bool, and should have float32",
    lambda c: affine(
        c.W.astype(jnp.complex64), c.b
    ): "W of credit has numbers of type complex64, and should have real ones",
    lambda c: affine("W", c.b): "W of credit is a str, and should be an array of shape [3, 2]",
    lambda c: affine(c.W, len): "b of credit is a builtin_function_or_method, and should be an array of shape [2]",
    lambda c: affine(c.W, None): "credit has W, and should have W, b",
    lambda c: affine(None, c.b): "credit has b, and should have W, b",
    lambda c: None: "credit is None, and should be an Affine of W, b",
    lambda c: 0.0: "credit is a float, and should be an Affine of W, b",
    lambda c: "credit": "credit is a str, and should be an Affine of W, b",
    lambda c: (c.W, c.b): "credit is a tuple, and should be an Affine of W, b",
    lambda c: [c]: "credit is a list, and should be an Affine of W, b",
    lambda c: {"W": c.W, "b": c.b}: "credit is a dict, and should be an Affine of W, b",
    lambda c: {"W": c.W, "b": c.b, "v": c.b}: "credit has W, b, v, and should have W, b",
    lambda c: Another(c.W, c.b): "credit is an Another, and should be an Affine of W, b",
}
UNKNOWN = "is None, and should be an array of shape"
ARRAYS = {  # of B rows
    lambda x: None: UNKNOWN,
    lambda x: "x": "is a str, and should be an array of shape",
    lambda x: x[:-1]: "has shape [3",
    lambda x: x[..., None]: "1], and should have [4",
    lambda x: x.astype(jnp.complex64): "complex64, and should have real ones",
}


class NoDraw(Bernoulli):
    def explore(self, params, x, key):
        raise OSError("no dice")


class Narrow(Bernoulli):
    def explore(self, params, x, key):
        return forged(super().explore(params, x, key), h=jnp.zeros((x.shape[0], 1)))


class NoStart(Bernoulli):
    def init(self, D, N, key):
        return {"W": jnp.zeros((D, N))}


class Transposed(Bernoulli):
    def init(self, D, N, key):
        return affine(jnp.zeros((N, D)), jnp.zeros(N))


LAWS = {
    NoDraw(): "law.explore raises OSError: no dice",
    Narrow(): "h of law.explore has shape [4, 1], and should have [4, 2]",
    NoStart(): "W of law.init is None, and should be an array of shape [3, 2]",
    Transposed(): "W of law.init has shape [2, 3], and should have [3, 2]",
    None: "law is None, and should be a law",
}
PROPERTIES = {
    "size": ({"three": "'three'", 0: "0", True: "True"}, "a whole number of at least 1"),
    "outputs": ({1.0: "1.0", -1: "-1"}, "a whole number of at least 1"),
    "output": ({"softmax": "'softmax'"}, "a law that draws actions"),
    "chance": ({"half": None}, "ValueError"),
    "reward_range": ({(1.0, 0.0): "(1.0, 0.0)"}, "None, or the two ends of it"),
}


def broken_rules():
    """Classes, and the words for a network with one layer of two units on the good task, in batches of four."""
    for change, words in CREDITS.items():
        yield a_rule(credit=after(credit, change)), words
    for error, words in ERRORS.items():
        yield a_rule(credit=raising(error)), f"credit raises {words}"
        yield a_rule(law=property(raising(error))), f"law raises {words}"
    yield a_rule(rates=property(raising("ValueError: no rate"))), "rates raises ValueError: no rate"
    yield a_rule(credit=lambda self: None), "credit raises TypeError: "
    yield a_rule(credit=undecided(credit)), "credit raises ConcretizationTypeError: "
    yield (
        a_rule(credit=lambda self, layer, *rest: layer.params.V),
        "credit raises AttributeError: 'Affine' object has",
    )
    for law, words in LAWS.items():
        yield a_rule(law=property(lambda self, law=law: law)), words


MESSAGES = {
    lambda m: None: "message is None, and should be a Message",
    lambda m: m.of_drive: "message is a function, and should be a Message",
    lambda m: forged(m, of_drive=lambda d: d): "what message gives has shape [4, 2], and should have [4]",
    lambda m: forged(m, of_drive=lambda d: d[:, :1]): "what message gives has shape [4, 1], and should have [4]",
    lambda m: forged(m, of_drive=lambda d: "down"): "what message gives is a str, and should be an array of shape",
}


def broken_uppers():
    """The same for the upper one of two layers."""
    for change, words in MESSAGES.items():
        yield a_rule(message=after(Rule.message, change)), words
    for error, words in ERRORS.items():
        yield a_rule(message=raising(error)), f"message raises {words}"


def broken_tasks():
    for name, good in GOOD.items():
        for error, words in ERRORS.items():
            yield a_task(**{name: raising(error)}), f"{name} raises {words}"
        for change, words in ARRAYS.items() if name != "sample" else ():
            if (name, words) != ("answer", UNKNOWN):  # nobody need know it
                yield a_task(**{name: after(good, change)}), words
    yield a_task(sample=lambda self, B, key: None), "sample gives None, and should give arrays"
    yield a_task(sample=lambda self, B, key: "heads"), "sample gives a str, and should give arrays"
    yield a_task(sample=after(GOOD["sample"], lambda x: x[1:])), "what observe gives has shape [3, 3]"
    yield a_task(missing=property(raising("OSError: gone"))), "missing raises OSError: gone"
    yield a_task(graded=property(lambda self: True), answer=lambda self, state: None), f"what answer gives {UNKNOWN}"
    yield a_task(reward=undecided(GOOD["reward"])), "reward raises ConcretizationTypeError: "
    for name, (values, wanted) in PROPERTIES.items():
        yield a_task(**{name: property(raising("OSError: gone"))}), f"{name} raises OSError: gone"
        for value, shown in values.items():
            words = f"{name} is {shown}, and should be {wanted}" if shown else f"{name} raises {wanted}"
            yield a_task(**{name: property(lambda self, value=value: value)}), words


ENVIRONMENTS = [
    ({"reset": lambda good: good[0]}, "reset gives array"),
    ({"reset": lambda good: (good[0][:2], {})}, "3 numbers, not an array of shape [2]"),
    ({"reset": lambda good: (good[0] * np.nan, {})}, "observations that are finite"),
    ({"reset": raising("ValueError: no start")}, "it raises ValueError: no start"),
    ({"step": lambda good: good[:4]}, "should give an observation, a reward, terminated, truncated and a dictionary"),
    ({"step": lambda good: (good[0][:1], *good[1:])}, "3 numbers, not an array of shape [1]"),
    ({"step": lambda good: (good[0], None, *good[2:])}, "it raises TypeError: float() argument"),
    ({"step": lambda good: (good[0], np.inf, *good[2:])}, "step gives inf, and should give a reward that is finite"),
    ({"step": raising("RuntimeError: stuck\nfast")}, "it raises RuntimeError: stuck"),
]


def not_numbers(x):
    return jax.tree.map(lambda leaf: leaf * jnp.nan, x)


SHORT = {"hidden": (2,), "episodes": 64, "critic": None}


def runs():
    """Every mutant as a run, and the words of its line."""
    good_rule, good_task = a_rule()(), a_task()()
    upper = Run(rule=good_rule, task=good_task, **SHORT | {"hidden": (2, 2)})
    for rule, words in broken_rules():
        yield Run(rule=rule(), task=good_task, **SHORT), f"rule {rule.name!r}: ", words
    for rule, words in broken_uppers():
        yield dataclasses.replace(upper, rule=(good_rule, rule())), f"rule {rule.name!r} (layer 2): ", words
    for task, words in broken_tasks():
        yield Run(rule=good_rule, task=task(), **SHORT), f"task {task.name!r}: ", words
    for broken, words in ENVIRONMENTS:
        env = an_environment(**broken)
        yield Run(rule=good_rule, task=Control(env=env), hidden=2, episodes=2), f"environment {env!r}: ", words
