"""What an environment shows and takes, as numbers: observations of any kind flattened, actions of four kinds.

    Discrete                    one choice, by a softmax; so is one whole number in a Box
    MultiDiscrete               several at once, a softmax for each
    MultiBinary                 bits, a unit for each
    Box of floating numbers     numbers, by a Gaussian

Observations may be nested (Dict, Tuple); what is one of n things is n numbers, all 0 but one.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coexplore.laws import Gaussian, Output, Softmax, together
from coexplore.settings import Scalar, refusal

KINDS = "one choice or several (Discrete, MultiDiscrete, MultiBinary) or floating numbers (Box)"


class Spaces(NamedTuple):
    size: int  # of an observation
    parts: tuple[int, ...]  # how many actions there are for each part, if they can be counted
    several: bool  # whether an action is a row of choices, and not one
    numbers: int  # how many numbers an action is, if it is not choices

    @property
    def outputs(self) -> int:
        return sum(self.parts) - len(self.parts) if self.parts else self.numbers

    def law(self, temperature: Scalar = 1.0) -> Output:
        """How such actions are drawn."""
        if self.several:
            return together(self.parts, temperature)
        return Softmax(temperature) if self.parts else Gaussian()


def spaces_of(env: str, instance: Any) -> Spaces:
    """Of an environment of this name."""
    from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, flatdim

    seen, acts = instance.observation_space, instance.action_space
    if not _is_numbers(seen):
        raise refusal("env", env, f"observations that are numbers of a fixed count, not {_in_a_line(seen)}")
    size, several = int(flatdim(seen)), isinstance(acts, MultiDiscrete | MultiBinary)
    if size and isinstance(acts, Box) and np.issubdtype(acts.dtype, np.floating):
        return Spaces(size, (), False, int(flatdim(acts)))
    parts: tuple[int, ...] = ()
    if isinstance(acts, Discrete):
        parts = (int(acts.n),)
    elif whole(acts):
        parts = (int(acts.high.item()) - int(acts.low.item()) + 1,)
    elif isinstance(acts, MultiDiscrete):
        parts = tuple(map(int, acts.nvec.ravel()))
    elif isinstance(acts, MultiBinary):
        parts = (2,) * int(np.prod(acts.shape))
    if size and any(choices > 1 for choices in parts):
        return Spaces(size, parts, several, 0)
    what = f"actions that are {KINDS}, not {_in_a_line(acts)}" if size else "observations of at least one number"
    raise refusal("env", env, what)


def whole(acts: Any) -> bool:
    """Whether an action is one whole number between two limits, as in tabular/CliffWalking-v0: a choice in a Box."""
    from gymnasium.spaces import Box

    if not isinstance(acts, Box) or not np.issubdtype(acts.dtype, np.integer):
        return False
    return acts.shape == (1,) and int(acts.low.item()) < int(acts.high.item())


def _is_numbers(space: Any) -> bool:
    """Of a count that never changes, and that mean the same throughout."""
    from gymnasium.spaces import Dict, OneOf, Text, Tuple

    if isinstance(space, Dict | Tuple):
        return all(map(_is_numbers, space.spaces.values() if isinstance(space, Dict) else space.spaces))
    return space.is_np_flattenable and not isinstance(space, Text | OneOf)


def _in_a_line(space: Any) -> str:
    shown = " ".join(str(space).split())
    return shown if len(shown) < 120 else f"{shown[:120]}…"


class Flat:
    """An environment: numbers in, numbers out."""

    def __init__(self, env: Any) -> None:
        from gymnasium.spaces import Box, Discrete, flatten

        self.env, seen, acts = env, env.observation_space, env.action_space
        self.flat: Any = np.ravel if isinstance(seen, Box) else functools.partial(flatten, seen)
        if isinstance(seen, Box) and len(seen.shape) == 1:
            self.flat = np.asarray  # it is flat
        self.acts, self.kind = acts, acts.dtype.type
        self.counted, self.numbers = isinstance(acts, Discrete), isinstance(acts, Box)
        self.first = getattr(acts, "start", 0)  # of choices; bits have none
        if self.counted:
            self.first = int(self.first)
        self.whole = whole(acts)
        if self.whole:
            self.first = int(acts.low.item())

    def begin(self, seed: int) -> NDArray[Any]:
        return self.flat(self.env.reset(seed=seed)[0])

    def take(self, action: Any) -> tuple[NDArray[Any], float, bool, bool]:
        o, r, terminated, truncated, _ = self.env.step(self.taken(action))
        return self.flat(o), float(r), bool(terminated), bool(truncated and not terminated)

    def taken(self, action: Any) -> Any:
        """The network's action as the environment wants it: numbers are kept within its limits."""
        if self.counted:
            return self.kind(self.first + action)  # as the space itself samples: a Python int is checked slower
        if self.whole:
            return np.full(1, self.first + action, self.kind)
        if self.numbers:
            return np.clip(action.reshape(self.acts.shape), self.acts.low, self.acts.high).astype(self.acts.dtype)
        return (self.first + action.reshape(self.acts.shape)).astype(self.acts.dtype)
