"""A network of stochastic layers and its critic: `init`, `act` and `learn`, in the order of the algorithm boxes.

Every layer is a rule, the output included: it learns by δ ∇ log P(A | H), which for a Bernoulli-logistic unit is what
REINFORCE centred on both sides does. So a network is a tuple of rules, the last of which draws the action.
"""

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from coexplore.critic import Critic
from coexplore.rules import AbstractActivity, Feedback, Reinforce, Rule
from coexplore.rules.outputs import Gaussian, Softmax
from coexplore.run import Run
from coexplore.units import drive


class Params(eqx.Module):
    layers: tuple[Any, ...]
    critic: Any  # CriticParams, or None where there is no critic


def layers(run: Run) -> tuple[Rule, ...]:
    """The rules of the hidden layers, then the output's."""
    return (*run.rules, _output(run.task))


def _output(task: Any) -> Rule:
    match task.law:
        case "bernoulli":
            return Reinforce()
        case "softmax":
            return Softmax(temperature=getattr(task, "temperature", 1.0))
    return Gaussian(variance=task.action_variance)


def root_keys(seed: int) -> tuple[Key[Array, ""], Key[Array, ""]]:
    """The key of the first parameters and the key of everything drawn while training."""
    init_key, train_key = jax.random.split(jax.random.key(seed))
    return init_key, train_key


def init(run: Run) -> Params:
    """The parameters that every engine starts from."""
    sizes = (run.task.size, *run.hidden, run.task.outputs)
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


def action(layers: tuple[Rule, ...], activities: tuple[AbstractActivity, ...]) -> Array:
    """A: whole numbers [B] of choices, where all bits at 0 are the first choice; or numbers [B, N]."""
    h = activities[-1].h
    return h if isinstance(layers[-1], Gaussian) else h.astype(jnp.int32) @ jnp.arange(1, h.shape[1] + 1)


def relax(
    layers: tuple[Rule, ...], params: Params, s: Float[Array, "B D"], activities: tuple[AbstractActivity, ...]
) -> tuple[AbstractActivity, ...]:
    """Where rules ask for it (MAP propagation), move h uphill on log Pr(H, A | S), A fixed, all layers at once."""
    steps = [getattr(rule, "relax_steps", 0) for rule in layers]
    if not any(steps):
        return activities

    def moved(hs: tuple[Any, ...]) -> tuple[AbstractActivity, ...]:
        """The layers with these values; one that draws nothing follows from the value below it."""
        made, x = [], s
        for rule, p, activity, h in zip(layers, params.layers, activities, hs, strict=True):
            made.append(dataclasses.replace(activity, h=rule.follows(p, x) if hasattr(rule, "follows") else h))
            x = made[-1].h
        return tuple(made)

    def log_joint(hs: tuple[Any, ...]) -> Float[Array, ""]:
        now = moved(hs)
        seen = zip(layers, params.layers, (s, *(activity.h for activity in now[:-1])), now, strict=True)
        return jnp.sum(sum(rule.log_probability(p, drive(p, x), activity) for rule, p, x, activity in seen))

    def step(t: Any, hs: tuple[Any, ...]) -> tuple[Any, ...]:
        slopes = jax.grad(log_joint)(hs)
        return tuple(
            h + jnp.where(t < T, rule.relax_rate, 0.0) * slope if T else h  # type: ignore[attr-defined]
            for rule, T, h, slope in zip(layers, steps, hs, slopes, strict=True)
        )

    return moved(jax.lax.fori_loop(0, max(steps), step, tuple(activity.h for activity in activities)))


def outcome(
    task: Any, layers: tuple[Rule, ...], params: Params, state: Any, activities: tuple[AbstractActivity, ...]
) -> tuple[tuple[AbstractActivity, ...], Float[Array, " B"]]:
    """What happened, and its reward R(S, A). Where the task grades, the right answer stands for A, R = log P(A | H)."""
    if not task.graded:
        return activities, task.reward(state, action(layers, activities))
    *hidden, output = activities
    bits = jax.nn.one_hot(task.answer(state), task.outputs + 1, dtype=output.h.dtype)[:, 1:]
    given = dataclasses.replace(output, h=bits)
    p = params.layers[-1]
    return (*hidden, given), layers[-1].log_probability(p, drive(p, hidden[-1].h), given)


def learn(
    layers: tuple[Rule, ...],
    critic: Critic | None,
    params: Params,
    s: Float[Array, "B D"],
    activities: tuple[AbstractActivity, ...],
    r: Float[Array, " B"],
    graded: bool = False,
) -> Params:
    """The ascent direction of every parameter, from the rewards r; `graded`: they are log P(A | H), A not drawn."""
    delta = r - critic.value(params.critic, s) if critic else r
    signals = [delta if rule.centres_reward else r for rule in layers]
    if graded:
        signals[-1] = jnp.ones_like(r)  # the output climbs log P(A | H) itself
    of_critic = critic.credit(params.critic, s, delta) if critic else None
    return Params(_credits(layers, params, s, relax(layers, params, s, activities), signals, graded), of_critic)


def eligibility(
    layers: tuple[Rule, ...],
    critic: Critic | None,
    params: Params,
    s: Float[Array, "1 D"],
    activities: tuple[AbstractActivity, ...],
) -> Params:
    """What one step adds to the traces of learning over time: each credit for δ = 1, and ∇V(s)."""
    one = jnp.ones(1, s.dtype)
    of_critic = critic.credit(params.critic, s, one) if critic else None
    return Params(_credits(layers, params, s, relax(layers, params, s, activities), [one] * len(layers)), of_critic)


def _credits(
    layers: tuple[Rule, ...],
    params: Params,
    s: Float[Array, "B D"],
    activities: tuple[AbstractActivity, ...],
    signals: Sequence[Float[Array, " B"]],
    graded: bool = False,
) -> tuple[Any, ...]:
    """The credit of each layer for its signal; messages come down from the output."""
    inputs = (s, *(activity.h for activity in activities[:-1]))
    seen = list(zip(layers, params.layers, inputs, activities, strict=True))
    credits = []
    for i, (rule, p, x, activity) in enumerate(seen):
        feedback = Feedback(signals[i][:, None], graded=graded)
        for upper, upper_params, upper_x, upper_activity in reversed(seen[i + 1 :]):
            feedback = upper.below(upper_params, upper_x, upper_activity, feedback)
        credits.append(rule.credit(p, x, activity, feedback))
    return tuple(credits)
