"""A network of stochastic layers and its critic: `init`, `act` and `learn`, in the order of the algorithm boxes.

Every layer is a rule, the output included: its one Bernoulli-logistic unit learns by δ ∇ log P(A | H), which is
what REINFORCE centred on both sides does. So a network is a tuple of rules, the last of which draws the action.
"""

import dataclasses
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from coexplore.critic import Critic
from coexplore.rules import AbstractActivity, Feedback, Reinforce, Rule
from coexplore.run import Run
from coexplore.units import drive


class Params(eqx.Module):
    layers: tuple[Any, ...]
    critic: Any  # CriticParams, or None where there is no critic


def layers(run: Run) -> tuple[Rule, ...]:
    """The rules of the hidden layers, then the output's."""
    return (*run.rules, Reinforce())


def root_keys(seed: int) -> tuple[Key[Array, ""], Key[Array, ""]]:
    """The key of the first parameters and the key of everything drawn while training."""
    init_key, train_key = jax.random.split(jax.random.key(seed))
    return init_key, train_key


def init(run: Run) -> Params:
    """The parameters that every engine starts from."""
    sizes = (run.task.size, *run.hidden, 1)
    return _init(layers(run), run.critic, sizes, root_keys(run.seed)[0])


@partial(jax.jit, static_argnames="sizes")
def _init(layers: tuple[Rule, ...], critic: Critic | None, sizes: tuple[int, ...], key: Key[Array, ""]) -> Params:
    *layer_keys, critic_key = jax.random.split(key, len(sizes))
    made = map(lambda rule, *shape_and_key: rule.init(*shape_and_key), layers, sizes[:-1], sizes[1:], layer_keys)
    return Params(tuple(made), critic.init(sizes[0], critic_key) if critic else None)


def act(
    layers: tuple[Rule, ...], params: Params, s: Float[Array, "B D"], key: Key[Array, ""]
) -> tuple[AbstractActivity, ...]:
    """Draw layer after layer, each from what the one below it drew; the last draw is the action."""
    activities, x = [], s
    keys = jax.random.split(key, len(layers))
    for rule, p, layer_key in zip(layers, params.layers, keys, strict=True):
        activities.append(rule.explore(p, x, layer_key))
        x = activities[-1].h
    return tuple(activities)


def action(activities: tuple[AbstractActivity, ...]) -> Float[Array, " B"]:
    """A."""
    return activities[-1].h[:, 0]


def relax(
    layers: tuple[Rule, ...], params: Params, s: Float[Array, "B D"], activities: tuple[AbstractActivity, ...]
) -> tuple[AbstractActivity, ...]:
    """Where rules ask for it (MAP propagation), move h uphill on log Pr(H, A | S), A fixed, all layers at once."""
    steps = [getattr(rule, "relax_steps", 0) for rule in layers]
    if not any(steps):
        return activities

    def moved(hs: tuple[Any, ...]) -> tuple[AbstractActivity, ...]:
        return tuple(dataclasses.replace(activity, h=h) for activity, h in zip(activities, hs, strict=True))

    def log_joint(hs: tuple[Any, ...]) -> Float[Array, ""]:
        seen = zip(layers, params.layers, (s, *hs[:-1]), moved(hs), strict=True)
        return jnp.sum(sum(rule.log_probability(p, drive(p, x), activity) for rule, p, x, activity in seen))

    def step(t: Any, hs: tuple[Any, ...]) -> tuple[Any, ...]:
        slopes = jax.grad(log_joint)(hs)
        return tuple(
            h + jnp.where(t < T, rule.relax_rate, 0.0) * slope if T else h  # type: ignore[attr-defined]
            for rule, T, h, slope in zip(layers, steps, hs, slopes, strict=True)
        )

    return moved(jax.lax.fori_loop(0, max(steps), step, tuple(activity.h for activity in activities)))


def learn(
    layers: tuple[Rule, ...],
    critic: Critic | None,
    params: Params,
    s: Float[Array, "B D"],
    activities: tuple[AbstractActivity, ...],
    r: Float[Array, " B"],
) -> Params:
    """The ascent direction of every parameter, from the rewards r."""
    activities = relax(layers, params, s, activities)
    delta = r - critic.value(params.critic, s) if critic else r
    inputs = (s, *(activity.h for activity in activities[:-1]))
    seen = list(zip(layers, params.layers, inputs, activities, strict=True))
    credits = []
    for i, (rule, p, x, activity) in enumerate(seen):
        feedback = Feedback((delta if rule.centres_reward else r)[:, None])
        for upper, upper_params, upper_x, upper_activity in reversed(seen[i + 1 :]):
            feedback = upper.below(upper_params, upper_x, upper_activity, feedback)
        credits.append(rule.credit(p, x, activity, feedback))
    return Params(tuple(credits), critic.credit(params.critic, s, delta) if critic else None)
