"""The paper's energy picture on real data: E(h) along the sampling steps of a Boltzmann layer.

    E(h) = −(d·h + ½ c hᵀ W_rec h),  d = Wᵀx + b
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from coexplore import network
from coexplore.report.settings import short
from coexplore.result import Result, at_the_end
from coexplore.rules import Boltzmann, chain
from coexplore.units import drive

INPUTS, DRAWS, PATHS = 4, 64, 3


def energies(result: Result) -> dict[str, Any] | None:
    """Before and after learning, on a few inputs; None where the first layer has no such chain, or no parameters."""
    rule = at_the_end(result.run.rules[0])
    if not isinstance(rule, Boltzmann) or rule.sampler != "synchronous" or result.params is None:
        return None
    states = np.asarray(result.run.task.sample(INPUTS, jax.random.key(0)))
    x = np.repeat(result.run.task.observe(states), DRAWS, axis=0)
    found = {
        "before": _along(network.init(result.run).layers[0], jnp.float32(rule.coupling), rule.steps, x),
        "after": _along(result.params.layers[0], jnp.float32(rule.coupling), rule.steps, x),
    }
    inputs = [_named(result.run.task, states[i : i + 1]) for i in range(INPUTS)]
    return {"inputs": inputs, **{when: _described(np.asarray(E)) for when, E in found.items()}}


def energy(
    params: chain.Coupled, c: Any, x: Float[Array, "B D"], H: Float[Array, "steps B N"]
) -> Float[Array, "steps B"]:
    d = drive(params, x)
    return -(jnp.einsum("tbi,bi->tb", H, d) + 0.5 * c * jnp.einsum("tbi,ij,tbj->tb", H, params.W_rec, H))


@partial(jax.jit, static_argnames="T")
def _along(params: chain.Coupled, c: Any, T: int, x: Float[Array, "B D"]) -> Float[Array, "steps B"]:
    params = jax.tree.map(jnp.asarray, params)
    return energy(params, c, x, chain.synchronous(params, c, T, x, jax.random.key(1)).H)


def _described(E: np.ndarray) -> list[dict[str, Any]]:
    """For each input the mean over draws, its spread and a few single paths, step by step."""
    each = E.reshape(len(E), INPUTS, DRAWS)
    return [
        {
            "mean": [short(e) for e in each[:, i].mean(axis=1)],
            "sd": [short(e) for e in each[:, i].std(axis=1, ddof=1)],
            "paths": [[short(e) for e in each[:, i, j]] for j in range(PATHS)],
        }
        for i in range(INPUTS)
    ]


def _named(task: Any, state: np.ndarray) -> str:
    bits = "".join("1" if bit else "0" for bit in state[0])
    return f"address {bits[: task.bits]}, data {bits[task.bits :]}, right answer {int(task.answer(state)[0])}"
