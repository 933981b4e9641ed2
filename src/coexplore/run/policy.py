"""A trained network that acts, compiled. On the CPU: there a call takes least, and its answer is the same everywhere.

`drawn` acts as in training. `decided` takes the most probable action (of actions that are numbers, their mean): the
output's probabilities are averaged over DRAWS draws of the hidden layers, the same ones for every observation, so that
an observation has one action whatever stands beside it. Hidden units are not rounded to what is likeliest for each:
what each does most often is not what they do together, and such a network was often worse than the one that draws.
"""

import functools
from collections.abc import Iterator

import jax
import numpy as np
from jaxtyping import Array, Float, Int, Key
from numpy.typing import ArrayLike, NDArray

from coexplore import network
from coexplore.laws import Output
from coexplore.network import Actor, Params
from coexplore.programs import in_our_config, jit
from coexplore.run.contents import Tensor
from coexplore.run.needs import check_fits
from coexplore.run.run import Run
from coexplore.settings import at_the_end, refusal
from coexplore.units import drive

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
DRAWS = 32
AT_ONCE = 256  # observations: more would only need more memory
OPTIONS = {"xla_cpu_multi_thread_eigen": False}  # threads inside arithmetic this small cost more than they give


class Policy:
    """The network of a run with these parameters, schedules at their end."""

    def __init__(self, run: Run, params: Params) -> None:
        check_fits(run)  # whose chain, in a file from anywhere, may be of any length
        actor = jax.tree.map(np.float32, at_the_end(run.network.actor))
        self.actor, self.params = jax.device_put((actor, params), jax.devices("cpu")[0])
        self.size = run.task.size

    @in_our_config
    def act(self, observations: ArrayLike, key: int | Key[Array, ""] | None, deterministic: bool) -> Tensor | np.int32:
        """As `Result.act`."""
        D = self.size
        try:
            s = np.asarray(observations, dtype=np.float32)
        except (TypeError, ValueError):
            raise refusal("observations", observations, f"numbers, of shape [{D}] or [batch, {D}]") from None
        if s.ndim not in (1, 2) or s.shape[-1] != D:
            raise refusal("observations", list(s.shape), f"observations of shape [{D}] or [batch, {D}]")
        if key is None and not deterministic:
            raise refusal("key", key, "a seed or a JAX key to draw with, or deterministic=True")
        if isinstance(key, int):
            key = jax.random.key(key)
        rows = np.atleast_2d(s)
        actions = self.decided(rows) if deterministic or key is None else self.drawn(rows, key)
        return actions[0] if s.ndim == 1 else actions

    def drawn(self, s: Floats, key: Key[Array, ""]) -> Tensor:
        """All from one key, as the network draws a batch."""
        return np.asarray(_drawn(self.actor, self.params, s, key))

    def decided(self, s: Floats) -> Tensor:
        """Of many observations a part at a time, the last one filled up: so there is one program for all of them."""
        if len(s) <= AT_ONCE:
            return np.asarray(_decided(self.actor, self.params, s))
        parts = [_decided(self.actor, self.params, part) for part in in_parts(s)]
        return np.concatenate(parts)[: len(s)]

    def drawn_each(self, s: Floats, key: Key[Array, ""], episode: Ints, t: Ints) -> Tensor:
        """From keys that depend on nothing but the episode and its step."""
        return np.asarray(_drawn_each(self.actor, self.params, s, key, episode, t))


def in_parts(rows: Tensor) -> Iterator[Tensor]:
    """AT_ONCE of them at a time; the last part is filled up with its last row."""
    for i in range(0, len(rows), AT_ONCE):
        part = rows[i : i + AT_ONCE]
        yield np.concatenate([part, np.repeat(part[-1:], AT_ONCE - len(part), axis=0)])


def output(actor: Actor) -> Output:
    law = actor.laws[-1]
    assert isinstance(law, Output)
    return law


def expected(actor: Actor, params: Params, s: Float[Array, " D"]) -> Float[Array, " N"]:
    """E[H] of the output at one observation, over draws of the hidden layers."""

    def given_one_draw(key: Key[Array, ""]) -> Float[Array, " N"]:
        heard = actor.heard(s[None], network.act(actor, params, s[None], key))
        return output(actor).expected(drive(params.layers[-1], heard[-1]))[0]

    return jax.vmap(given_one_draw)(jax.random.split(jax.random.key(0), DRAWS)).mean(axis=0)


@functools.partial(jit, compiler_options=OPTIONS)
def _drawn(actor: Actor, params: Params, s: Float[Array, "B D"], key: Key[Array, ""]) -> Array:
    return output(actor).action(network.act(actor, params, s, key)[-1].h)


@functools.partial(jit, compiler_options=OPTIONS)
def _decided(actor: Actor, params: Params, s: Float[Array, "B D"]) -> Array:
    return output(actor).decided(jax.vmap(functools.partial(expected, actor, params))(s))


@functools.partial(jit, compiler_options=OPTIONS)
def _drawn_each(
    actor: Actor,
    params: Params,
    s: Float[Array, "B D"],
    key: Key[Array, ""],
    episode: Int[Array, " B"],
    t: Int[Array, " B"],
) -> Array:
    def one(s: Float[Array, " D"], episode: Int[Array, ""], t: Int[Array, ""]) -> Array:
        mine = jax.random.fold_in(jax.random.fold_in(key, episode), t)
        return output(actor).action(network.act(actor, params, s[None], mine)[-1].h)[0]

    return jax.vmap(one)(s, episode, t)
