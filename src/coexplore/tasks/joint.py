"""A bandit of k action bits whose reward is shared out between single bits and bits taken together.

The state has k data bits and the log₂ k bits of an address, all fair coins, seen as −1/+1. The address rotates the
data: action bit i should be data bit i + address (mod k), a multiplexer of its own, for which a hidden layer is needed.

    v_i = +1 where bit i is right, else −1
    R   = (1/k) Σ check_i,   check_i = v_i;  of the last jk checks v_{i−1} v_i, and check_0, if it is one, v_0 v_1 v_2

So R = (1 − j) · additive + j · joint, each the mean of its checks. Under uniform actions no product of different bits
can be foretold from any function of single bits: j is exactly the share of Var(R) that no additive function explains.
The checks are independent functions of the bits (as vectors over GF(2)), and so are k fair coins again whatever j is:
mean 0, variance 1/k, the best reward, 1, for the one right answer, and everything else in the law of R, are the same.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Key

from coexplore.settings import Scalar, choice, count, number, refusal
from coexplore.tasks.base import Task


class JointBits(Task):
    name: ClassVar[str] = "joint-bits"
    title: ClassVar[str] = "name k bits at once, rewarded one by one, or for how they fit together"

    address: int = count(2, "address bits, which rotate 2^address data bits; an action has as many", low=2, high=4)
    joint: Scalar = number(0.5, "share of the reward, in whole bits, that looks at bits together", low=0.0, high=1.0)
    policy: str = choice(
        "bits", "a unit for each bit, or one softmax over all joint actions", options=("bits", "joint")
    )

    def __check_init__(self) -> None:
        if isinstance(self.joint, float) and self.joint * self.bits % 1:
            raise refusal("joint", self.joint, f"a multiple of 1/{self.bits}, where there are {self.bits} bits")

    @property
    def bits(self) -> int:
        """k."""
        return 2**self.address

    @property
    def size(self) -> int:
        return self.address + self.bits

    @property
    def actions(self) -> int | tuple[int, ...]:
        return 2**self.bits if self.policy == "joint" else (2,) * self.bits

    @property
    def chance(self) -> float:
        return 0.0

    @property
    def reward_range(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def possible_rewards(self) -> tuple[float, float]:
        return -1.0, 1.0

    def sample(self, B: int, key: Key[Array, ""]) -> Bool[Array, "B D"]:
        return jax.random.bernoulli(key, 0.5, (B, self.size))

    def observe(self, state: Any) -> Any:
        return jnp.where(state, jnp.float32(1), jnp.float32(-1))

    def answer(self, state: Any) -> Any:
        """The data bits, rotated; where one softmax acts, as the number that they are, the first bit first."""
        places = 2 ** jnp.arange(self.bits, dtype=jnp.int32)[::-1]
        address = jnp.where(state[:, : self.address], places[-self.address :], 0).sum(axis=1)
        rotated = (jnp.arange(self.bits)[None] + address[:, None]) % self.bits
        right = jnp.take_along_axis(state[:, self.address :], rotated, axis=1).astype(jnp.int32)
        return right @ places if self.policy == "joint" else right

    def reward(self, state: Any, action: Any) -> Any:
        k, wrong = self.bits, self.answer(state) ^ action
        if self.policy == "joint":
            wrong = (wrong[:, None] >> jnp.arange(k, dtype=jnp.int32)[::-1]) & 1
        v = 1 - 2 * wrong.astype(jnp.float32)
        together = jnp.concatenate([v[:, :1] * v[:, 1:2] * v[:, 2:3], v[:, :-1] * v[:, 1:]], axis=1)
        # j k is whole but for rounding
        return jnp.where(jnp.arange(k, dtype=jnp.float32) + 0.5 > k * (1 - jnp.float32(self.joint)), together, v).mean(
            axis=1
        )
