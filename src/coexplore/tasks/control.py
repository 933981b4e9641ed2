"""Any Gymnasium environment as a task: episodes of many steps, the reward of each step and the TD error to learn from.

    δ = r + γ V(s′) − V(s), where V(s′) counts as 0 if the episode has terminated (but not if it was cut short)

What environments show and take, as numbers, is in spaces.py.
"""

import functools
import inspect
import math
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx

from coexplore.code_hash import is_own
from coexplore.laws import Categorical, Gaussian, Output
from coexplore.settings import FieldError, Scalar, Text, choice, count, field, number, refusal
from coexplore.tasks.base import AnyTask
from coexplore.tasks.env_args import Arguments, EnvArgs
from coexplore.tasks.spaces import Spaces, spaces_of

ARGUMENTS = EnvArgs("what to make the environment with; may be given several times")
OWN = ("id", "max_episode_steps", "disable_env_checker", "vectorization_mode")  # what `gymnasium.make` keeps for itself

# The least and the greatest reward of a step, and the usual limit of steps, where Gymnasium's pages say so.
STEP_REWARDS = {
    "CartPole-v0": (0.0, 1.0, 200),
    "CartPole-v1": (0.0, 1.0, 500),
    "phys2d/CartPole-v0": (0.0, 1.0, 200),
    "phys2d/CartPole-v1": (0.0, 1.0, 500),
    "Acrobot-v1": (-1.0, 0.0, 500),
    "MountainCar-v0": (-1.0, 0.0, 200),
    "Pendulum-v1": (-(math.pi**2 + 0.1 * 8**2 + 0.001 * 2**2), 0.0, 200),
}


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
    drives: str = choice(
        "relative", "softmax: the first action's drive is 0, or every action has its own", options=("relative", "all")
    )
    action_variance: Scalar = number(0.1, "variance of actions that are numbers", low=0.0, open_low=True)
    action_scale: Scalar = number(1.0, "k: where actions are numbers, what is done is kA + m", low=0.0, open_low=True)
    action_shift: Scalar = number(0.0, "m: where actions are numbers, what is done is kA + m", low=-1e6, high=1e6)
    reward_limit: Scalar = number(0.0, "rewards are learned from up to this size; 0: as they are", low=0.0)
    anneal: int = count(0, "steps after which schedules are at their end; 0: with the last episode")
    # In Python a dictionary.
    env_arg: Arguments = eqx.field(
        default=(),
        static=True,
        converter=functools.partial(ARGUMENTS.check, "env_arg"),
        metadata={"spec": ARGUMENTS},
    )
    max_steps: int = count(0, "steps after which an episode is cut short; 0: as the environment has it")
    env_steps: int = count(0, "train for so many steps instead of episodes; 0: for --episodes", high=2**31 - 1)

    @property
    def spaces(self) -> Spaces:
        return spaces(self.env, self.env_arg, self.edition)

    @property
    def code(self) -> tuple[object, ...]:
        """The environment's class and what it is registered with, where its code is the user's own."""
        return own_code(self.env)

    @property
    def size(self) -> int:
        return self.spaces.size

    @property
    def output(self) -> Output:
        found = self.spaces
        if self._all_drives:
            return Categorical(self.temperature)
        if not found.parts:
            return Gaussian(self.action_variance, self.action_scale, self.action_shift)
        return found.law(self.temperature)

    @property
    def outputs(self) -> int:
        return self.spaces.outputs + self._all_drives

    @property
    def _all_drives(self) -> bool:
        found = self.spaces
        if self.drives == "all" and found.several:
            raise refusal("drives", self.drives, "relative where an action has several parts")
        return self.drives == "all" and bool(found.parts)

    @property
    def label(self) -> str:
        return self.env

    @property
    def missing(self) -> str | None:
        try:
            _ = self.spaces
        except FieldError as error:
            return str(error)
        return None

    @property
    def possible_rewards(self) -> tuple[float, float]:
        """Of an episode; of Gymnasium's as they are made without arguments."""
        if self.env not in STEP_REWARDS or self.env_arg:
            return super().possible_rewards
        low, high, steps = STEP_REWARDS[self.env]
        return low * (self.max_steps or steps), high * (self.max_steps or steps)

    def made(self) -> Any:
        """One such environment."""
        return make(self.env, self.env_arg, self.max_steps)


def environments() -> list[str]:
    """The names that Gymnasium knows, those of `coexplore` among them."""
    import gymnasium

    return list(gymnasium.registry)


def make(env: str, args: Arguments = (), max_steps: int = 0) -> Any:
    """The environment. A name that says what to import is refused: a file with results may have brought it."""
    import gymnasium

    if taken := [name for name, _ in args if name in OWN]:
        raise refusal("env_arg", taken[0], "arguments of the environment; --max-steps limits an episode")
    try:
        return gymnasium.make(env, max_episode_steps=max_steps or None, disable_env_checker=True, **dict(args))
    except gymnasium.error.NameNotFound:
        known = "an environment that Gymnasium knows; import the package that brings it"
        raise refusal("env", env, known, environments()) from None
    except Exception as error:  # somebody else's code may fail in any way
        if "box2d" in str(error).lower():
            raise FieldError(f"env: {env!r} needs Box2D: pip install 'coexplore[box2d]'") from None
        if "flax" in str(error).lower():
            raise FieldError(f"env: {env!r} needs Flax: pip install 'coexplore[jax-envs]'") from None
        if args and (unknown := _unknown(env, args)):
            raise unknown from None
        kind = "" if isinstance(error, gymnasium.error.Error) else f"{type(error).__name__}: "
        how = f" with {ARGUMENTS.show(args)}" if args else ""
        raise FieldError(f"env: {env!r} cannot be made{how}: {kind}{' '.join(str(error).split())}") from None


def _unknown(env: str, args: Arguments) -> FieldError | None:
    """What to say of an argument that the environment does not have, where it tells which it has."""
    import gymnasium

    try:
        entry = gymnasium.spec(env).entry_point
        maker: Callable[..., Any] | None = (
            gymnasium.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
        )
    except Exception:  # it is not even known, or cannot be imported, which is what is to be said
        return None
    known = inspect.signature(maker).parameters if maker else {}
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in known.values()):
        return None
    wrong = [name for name, _ in args if name not in known]
    return refusal("env_arg", wrong[0], f"one that {env} has: {', '.join(known) or 'none'}", known) if wrong else None


def strange(env: str) -> bool:
    """Whether it is neither Gymnasium's own nor ours, and may be anything."""
    import gymnasium

    home = gymnasium.spec(env).entry_point
    return not (isinstance(home, str) and home.startswith(("gymnasium.", "coexplore.")))


def own_code(env: str) -> tuple[object, ...]:
    """What makes an environment of the user's own: its class, arguments and wrappers; empty if all are installed."""
    gymnasium: Any = sys.modules.get("gymnasium")  # until it is imported, no environment of a user's is registered
    spec = gymnasium and gymnasium.registry.get(env)
    if spec is None or not strange(env):
        return ()
    load = gymnasium.envs.registration.load_env_creator
    try:
        makers = [spec.entry_point, *(wrapper.entry_point for wrapper in spec.additional_wrappers)]
        makers = [load(maker) if isinstance(maker, str) else maker for maker in makers]
    except Exception:  # `make` says why the environment cannot be made
        return ()
    if not any(is_own(getattr(getattr(maker, "func", maker), "__module__", None)) for maker in makers):
        return ()
    given = [wrapper.kwargs for wrapper in spec.additional_wrappers]
    return (*makers, spec.kwargs, *given, spec.max_episode_steps)


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


@functools.cache  # another edition may have other spaces
def spaces(env: str, args: Arguments = (), edition: str = "") -> Spaces:
    instance = make(env, args)
    try:
        return spaces_of(env, instance)
    finally:
        instance.close()
