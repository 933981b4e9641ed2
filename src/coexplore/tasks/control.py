"""Any Gymnasium environment as a task: episodes of many steps, the reward of each step and the TD error to learn from.

    δ = r + γ V(s′) − V(s), where V(s′) counts as 0 if the episode has terminated (but not if it was cut short)

Observations are flattened to numbers; actions are one of several (softmax) or numbers (gaussian).
"""

import functools
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coexplore.rules.laws import Gaussian, Output, Softmax
from coexplore.settings import FieldError, Scalar, Text, choice, count, field, number, refusal
from coexplore.tasks.base import AnyTask


class Control(AnyTask):
    name: ClassVar[str] = "control"
    title: ClassVar[str] = "any Gymnasium environment by its own name; episodes of many steps"
    batch: ClassVar[int] = 1
    episodes: ClassVar[int] = 1000
    in_name: ClassVar[tuple[str, ...]] = ("env",)

    env: str = field("CartPole-v1", Text("the environment", r"[\w.-]+(/[\w.-]+)?", "a name that Gymnasium knows"))
    discount: Scalar = number(0.98, "γ, what a reward is worth one step later", low=0.0, high=1.0)
    actor_trace: Scalar = number(0.9, "λ of the actor's eligibility traces", low=0.0, high=1.0)
    critic_trace: Scalar = number(0.9, "λ of the critic's eligibility traces", low=0.0, high=1.0)
    scaling: str = choice(
        "running", "observations as they are, or centred and scaled as seen so far", options=("none", "running")
    )
    truncation: str = choice(
        "bootstrap",
        "an episode cut short: V(s′) still counts, or its last step teaches nothing",
        options=("bootstrap", "ignore"),
    )
    temperature: Scalar = number(1.0, "τ of the softmax over actions", low=0.0, open_low=True)
    action_variance: Scalar = number(0.1, "variance of actions that are numbers", low=0.0, open_low=True)
    reward_limit: Scalar = number(0.0, "rewards are learned from up to this size; 0: as they are", low=0.0)
    anneal: int = count(0, "steps after which schedules are at their end; 0: with the last episode")

    @property
    def size(self) -> int:
        return spaces(self.env).size

    @property
    def output(self) -> Output:
        return Gaussian(self.action_variance) if spaces(self.env).choices is None else Softmax(self.temperature)

    @property
    def outputs(self) -> int:
        found = spaces(self.env)
        return found.numbers if found.choices is None else found.choices - 1

    @property
    def label(self) -> str:
        return self.env

    @property
    def missing(self) -> str | None:
        try:
            spaces(self.env)
        except FieldError as error:
            return str(error)
        return None


class Spaces(NamedTuple):
    size: int  # of an observation
    choices: int | None  # how many actions there are, if they can be counted
    numbers: int  # how many numbers an action is, if not


def environments() -> list[str]:
    """The names that Gymnasium knows, those of `coexplore` among them."""
    import gymnasium

    return list(gymnasium.registry)


def make(env: str) -> Any:
    """The environment. A name that says what to import is refused: a file with results may have brought it."""
    import gymnasium

    try:
        return gymnasium.make(env, disable_env_checker=True)
    except gymnasium.error.NameNotFound:
        known = "an environment that Gymnasium knows; import the package that brings it"
        raise refusal("env", env, known, environments()) from None
    except Exception as error:  # somebody else's code may fail in any way
        if "box2d" in str(error).lower():
            raise FieldError(f"env: {env!r} needs Box2D: pip install 'coexplore[box2d]'") from None
        kind = "" if isinstance(error, gymnasium.error.Error) else f"{type(error).__name__}: "
        raise FieldError(f"env: {env!r} cannot be made: {kind}{' '.join(str(error).split())}") from None


@functools.cache
def strange(env: str) -> bool:
    """Whether it is neither Gymnasium's own nor ours, and may be anything."""
    import gymnasium

    home = gymnasium.spec(env).entry_point
    return not (isinstance(home, str) and home.startswith(("gymnasium.", "coexplore.")))


def is_environment(thing: object) -> bool:
    """Whether it is an environment that somebody has made."""
    import gymnasium

    return isinstance(thing, gymnasium.Env)


def name_of(instance: Any) -> str:
    return instance.spec.id if instance.spec else type(instance.unwrapped).__name__


def home(env: str) -> str | None:
    """The module that has the environment, if it is neither Gymnasium's nor ours: importing it should make it known."""
    import gymnasium

    entry = getattr(gymnasium.registry.get(env), "entry_point", None)
    module = entry.partition(":")[0] if isinstance(entry, str) else getattr(entry, "__module__", None)
    return None if module is None or module.partition(".")[0] in ("gymnasium", "coexplore", "__main__") else module


@functools.cache
def spaces(env: str) -> Spaces:
    instance = make(env)
    try:
        return spaces_of(env, instance)
    finally:
        instance.close()


def spaces_of(env: str, instance: Any) -> Spaces:
    """Of an environment of this name."""
    from gymnasium.spaces import Box, Discrete, flatdim

    seen, acts = instance.observation_space, instance.action_space
    if not seen.is_np_flattenable:
        raise refusal("env", env, f"observations that are numbers of a fixed count, not {seen}")
    if isinstance(acts, Discrete) and acts.n > 1:
        return Spaces(flatdim(seen), int(acts.n), 0)
    if isinstance(acts, Box) and np.issubdtype(acts.dtype, np.floating):
        return Spaces(flatdim(seen), None, flatdim(acts))
    raise refusal("env", env, f"actions that are choices or numbers, not {acts}")


class Flat:
    """An environment: numbers in, numbers out."""

    def __init__(self, env: Any) -> None:
        from gymnasium.spaces import Box, Discrete, flatten

        self.env, seen, acts = env, env.observation_space, env.action_space
        self.flat: Any = np.ravel if isinstance(seen, Box) else functools.partial(flatten, seen)
        if isinstance(seen, Box) and len(seen.shape) == 1:
            self.flat = np.asarray  # it is flat
        self.counted = isinstance(acts, Discrete)
        self.first = int(acts.start) if self.counted else 0
        self.acts, self.kind = acts, acts.dtype.type

    def begin(self, seed: int) -> NDArray[Any]:
        return self.flat(self.env.reset(seed=seed)[0])

    def take(self, action: Any) -> tuple[NDArray[Any], float, bool, bool]:
        o, r, terminated, truncated, _ = self.env.step(self.taken(action))
        return self.flat(o), float(r), bool(terminated), bool(truncated and not terminated)

    def taken(self, action: Any) -> Any:
        """The network's action as the environment wants it: numbers are kept within its limits."""
        if self.counted:
            return self.kind(self.first + action)  # as the space itself samples: a Python int is checked slower
        return np.clip(action.reshape(self.acts.shape), self.acts.low, self.acts.high).astype(self.acts.dtype)
