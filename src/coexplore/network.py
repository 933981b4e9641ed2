"""A network of stochastic layers and its critic: `init`, `act` and `learn`, in the order of the algorithm boxes.

Every hidden layer has a rule, and draws by its law; the output has a law alone, since all outputs learn alike,
by δ ∇ log P(A | H).
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, UInt

from coexplore.critic import Critic, CriticParams
from coexplore.laws import AbstractActivity, Activity, Gaussian, Law, Output
from coexplore.programs import jit
from coexplore.rules import Layer, Message, Outcome, Rule, Sizes
from coexplore.rules.baseline import Baseline
from coexplore.rules.eligibility import filled
from coexplore.rules.layer import PartParams, likelihood
from coexplore.settings import Scalar, worked_out
from coexplore.tasks.base import Task
from coexplore.units import Affine, Weighted, drive, evenly, outer, sent

T = TypeVar("T")
Activities = tuple[AbstractActivity, ...]
Attempt = tuple[Array, tuple[Array, ...], Array]  # η, the values, and which episodes go on
SMALLEST_STEP = 2.0**-32  # η at which relaxation gives up, and leaves the values as they were drawn


class Actor(eqx.Module):
    """What acts: how each layer draws, the output last, and what binary units send up: H, or 2H − 1 if signed."""

    laws: tuple[Law, ...]
    signals: str = eqx.field(default="binary", static=True)

    def sends(self, law: Law, h: Float[Array, "B N"]) -> Float[Array, "B N"]:
        """What the next layer hears of a layer of this law that drew h."""
        return sent(h, self.signals) if law.binary else h

    def heard(self, s: Float[Array, "B D"], activities: Activities) -> tuple[Array, ...]:
        """What each layer hears: the observation, then what the layer below it sends."""
        return (s, *(self.sends(law, activity.h) for law, activity in zip(self.laws, activities[:-1], strict=False)))

    def received(self, law: Law, above: Message) -> Message:
        """The message as a layer of this law can use it: a function of what it drew, not of what it sent."""
        return above.of_bits() if self.signals == "signed" and law.binary else above

    def layers(self, params: "Params", s: Float[Array, "B D"], activities: Activities) -> list[Layer]:
        """Each layer with its law, parameters, input and draw; the output last."""
        parts = (*params.parts, PartParams())
        return [*map(Layer, self.laws, params.layers, self.heard(s, activities), activities, parts)]


class Network(eqx.Module):
    """The rules of the hidden layers, what draws the action, the critic, if there is one, and what is sent up."""

    rules: tuple[Rule, ...]
    output: Output
    critic: Critic | None
    signals: str = eqx.field(default="binary", static=True)

    @property
    def actor(self) -> Actor:
        return Actor((*(rule.law for rule in self.rules), self.output), self.signals)


class Params(eqx.Module):
    """The parameters of a network. `layers`: the hidden ones from the first to the last, then the output."""

    layers: tuple[Any, ...]
    critic: Any  # CriticParams, or None where there is no critic
    parts: tuple[PartParams, ...] = ()  # of each hidden layer's rule


def root_keys(seed: int | UInt[Array, ""]) -> tuple[Key[Array, ""], Key[Array, ""]]:
    """The key of the first parameters and the key of everything drawn while training."""
    init_key, train_key = jax.random.split(jax.random.key(seed))
    return init_key, train_key


@functools.partial(jit, static_argnames="sizes")
def init(network: Network, sizes: tuple[int, ...], key: Key[Array, ""]) -> Params:
    """Parameters before learning; `sizes` are those of the observation, the hidden layers and the output."""
    network = worked_out(network, 0.0)
    *keys, output_key, critic_key = jax.random.split(key, len(sizes))
    shapes = [Sizes(*shape, sizes[-1]) for shape in zip(sizes, sizes[1:], sizes[2:], strict=False)]
    hidden = [rule.init(*each) for rule, *each in zip(network.rules, shapes, keys, strict=True)]
    output = network.output.init(sizes[-2], sizes[-1], output_key)
    pairs = zip(network.rules, shapes, strict=True)
    parts = tuple(PartParams(rule.baseline.init(each), rule.learning_signal.init()) for rule, each in pairs)
    of_critic = network.critic.init(sizes[0], critic_key) if network.critic else None
    return Params((*hidden, output), of_critic, parts)


@jit
def spread_evenly(params: Params) -> Params:
    """Parameters before learning with every W of Glorot's uniform law instead of his normal one; what is 0 stays 0."""

    def one(layer: T) -> T:
        return eqx.tree_at(lambda p: p.W, layer, evenly(layer.W)) if isinstance(layer, Weighted) else layer

    of_critic = params.critic and CriticParams.of(map(one, params.critic.layers))
    return dataclasses.replace(params, layers=tuple(map(one, params.layers)), critic=of_critic)


def act(actor: Actor, params: Params, s: Float[Array, "B D"], key: Key[Array, ""]) -> Activities:
    """Draw layer after layer, each from what the one below it sends; the last draw is the action."""
    activities, x = [], s
    keys = jax.random.split(key, len(actor.laws))
    for law, p, layer_key in zip(actor.laws, params.layers, keys, strict=True):
        activities.append(law.explore(p, x, layer_key))
        x = actor.sends(law, activities[-1].h)
    return tuple(activities)


def action(network: Network, activities: Activities) -> Array:
    """A: whole numbers [B] of choices, or numbers [B, N]."""
    return network.output.action(activities[-1].h)


def relax(network: Network, params: Params, s: Float[Array, "B D"], activities: Activities) -> Activities:
    """Where laws ask for it (MAP propagation), move h uphill on log Pr(H, A | S), A fixed, all layers at once."""
    return _relaxed(network.actor, params, s, activities)


def _relaxed(actor: Actor, params: Params, s: Float[Array, "B D"], activities: Activities) -> Activities:
    """`relax` of any actor: an episode that the ascent made less likely repeats it with half the step (map_prop.py)."""
    steps, drawn = [law.relax_steps for law in actor.laws], tuple(activity.h for activity in activities)
    given = actor, params, s, activities
    if not any(steps):
        return activities
    if _bounded(actor.laws):
        return _moved(*given, _climbed(*given, 1.0))

    def attempt(carry: Attempt) -> Attempt:
        eta, hs, left = carry
        start, tried = _log_joint(*given, drawn), _climbed(*given, eta)
        better = _log_joint(*given, tried) >= start  # False where it is NaN
        taken = (left & better)[:, None]
        hs = tuple(jnp.where(taken, new, old) if T else old for T, new, old in zip(steps, tried, hs, strict=True))
        return eta / 2, hs, left & ~better & jnp.isfinite(start)

    first = jnp.ones((), s.dtype), drawn, jnp.ones(s.shape[0], bool)
    ended = jax.lax.while_loop(lambda carry: carry[2].any() & (carry[0] >= SMALLEST_STEP), attempt, first)
    return _moved(*given, ended[1])


def _bounded(laws: tuple[Law, ...]) -> bool:
    """Whether relaxation is bounded at any step size: one layer relaxes, and bits above pull it with bounded force."""
    lowest = next(i for i, law in enumerate(laws) if law.relax_steps)
    return all(law.binary for law in laws[lowest + 1 :])


def _climbed(
    actor: Actor, params: Params, s: Float[Array, "B D"], activities: Activities, eta: Scalar
) -> tuple[Array, ...]:
    """The values after `relax_steps` steps of gradient ascent, η times as long as the laws' `relax_rate` says."""
    laws, steps = actor.laws, [law.relax_steps for law in actor.laws]

    def step(t: Array, hs: tuple[Array, ...]) -> tuple[Array, ...]:
        slopes = jax.grad(lambda hs: _log_joint(actor, params, s, activities, hs).sum())(hs)
        return tuple(
            h + jnp.where(t < T, eta * law.relax_rate, 0.0) * slope if T else h
            for law, T, h, slope in zip(laws, steps, hs, slopes, strict=True)
        )

    return jax.lax.fori_loop(0, max(steps), step, tuple(activity.h for activity in activities))


def _moved(
    actor: Actor, params: Params, s: Float[Array, "B D"], activities: Activities, hs: tuple[Array, ...]
) -> Activities:
    """The layers with these values."""
    settled, x = [], s
    for law, p, activity, h in zip(actor.laws, params.layers, activities, hs, strict=True):
        settled.append(dataclasses.replace(activity, h=law.settled(p, x, h)))
        x = actor.sends(law, settled[-1].h)
    return tuple(settled)


def _log_joint(
    actor: Actor, params: Params, s: Float[Array, "B D"], activities: Activities, hs: tuple[Array, ...]
) -> Float[Array, " B"]:
    """log Pr(H, A | S) of each episode, at these values."""
    moved = _moved(actor, params, s, activities, hs)
    seen = zip(actor.laws, params.layers, actor.heard(s, moved), moved, strict=True)
    return jnp.asarray(sum(law.log_probability(p, drive(p, x), activity) for law, p, x, activity in seen))


def outcome(
    task: Task, actor: Actor, params: Params, state: object, activities: Activities
) -> tuple[Activities, Float[Array, " B"]]:
    """What happened, and its reward R(S, A). Where the task grades, the right answer stands for A, R = log P(A | H)."""
    *_, below, output = actor.laws
    assert isinstance(output, Output)
    if not task.graded:
        return activities, task.reward(state, output.action(activities[-1].h))
    *hidden, last = activities
    bits = jax.nn.one_hot(task.answer(state), task.outputs + 1, dtype=last.h.dtype)[:, 1:]
    assert isinstance(last, Activity)
    given = dataclasses.replace(last, h=bits)
    p = params.layers[-1]
    return (*hidden, given), output.log_probability(p, drive(p, actor.sends(below, hidden[-1].h)), given)


def advantage(network: Network, params: Params, s: Float[Array, "B D"], r: Float[Array, " B"]) -> Float[Array, " B"]:
    """δ = R − V; R where there is no critic."""
    return r - network.critic.value(params.critic, s) if network.critic else r


def learn(
    network: Network,
    params: Params,
    s: Float[Array, "B D"],
    activities: Activities,
    r: Float[Array, " B"],
    graded: bool = False,
) -> Params:
    """The ascent direction of every parameter, from the rewards r; `graded`: they are log P(A | H), A not drawn."""
    critic, delta = network.critic, advantage(network, params, s, r)
    signals = _signals(network, params, r, delta)
    signals.append(jnp.ones_like(r) if graded else delta)  # given the answer, the output climbs log P(A | H) itself
    of_critic = critic.credit(params.critic, s, delta) if critic else None
    relaxed = relax(network, params, s, activities)
    return dataclasses.replace(credits(network, params, s, relaxed, signals, graded), critic=of_critic)


def _signals(
    network: Network, params: Params, r: Float[Array, " B"], delta: Float[Array, " B"]
) -> list[Float[Array, " B"]]:
    """The learning signal of each hidden layer."""
    pairs = zip(network.rules, params.parts, strict=True)
    return [rule.learning_signal(own.learning_signal, r, delta) for rule, own in pairs]


def eligibility(
    network: Network, params: Params, s: Float[Array, "1 D"], activities: Activities, key: Key[Array, ""] | None = None
) -> Params:
    """What one step adds to the traces of learning over time: each credit for δ = 1, and ∇V(s).

    What a baseline learns stands there as it is: its trace lasts for one step, and counts whatever δ is. `key` is what
    a critic that draws draws from.
    """
    one, critic = jnp.ones(1, s.dtype), network.critic
    of_critic = critic and (
        _relaxed_credit(critic, params.critic, s, key) if critic.laws else critic.credit(params.critic, s, one)
    )
    relaxed = relax(network, params, s, activities)
    return dataclasses.replace(credits(network, params, s, relaxed, [one] * len(relaxed)), critic=of_critic)


def weights(network: Network, params: Params, delta: Float[Array, " B"]) -> Params | None:
    """What the trace of each parameter counts for, [B] each: its layer's signal, or 1 for what a baseline learns.
    None where that is δ for all of them."""
    signals = _signals(network, params, delta, delta)
    if all(each is delta for each in signals) and not jax.tree.leaves([own.baseline for own in params.parts]):
        return None

    def all_of(part: T, weight: Float[Array, " B"]) -> T:
        return jax.tree.map(lambda _: weight, part)

    ones = jnp.ones_like(delta)
    layers = tuple(map(all_of, params.layers, (*signals, delta)))
    parts = tuple(
        PartParams(all_of(own.baseline, ones), all_of(own.learning_signal, signal))
        for own, signal in zip(params.parts, signals, strict=True)
    )
    return Params(layers, all_of(params.critic, delta), parts)


def updates_itself(network: Network) -> bool:
    """Whether any rule or baseline has parameters that learn outside the optimiser."""
    return any(
        type(rule).update is not Rule.update or type(rule.baseline).update is not Baseline.update
        for rule in network.rules
    )


Updates = tuple[tuple[dict[str, Array], dict[str, Array]], ...]  # of each hidden layer: by its rule, by its baseline


def own_updates(
    network: Network, params: Params, s: Float[Array, "B D"], activities: Activities, outcome: Outcome
) -> Updates:
    """New values, by name, of what rules and baselines learn outside the optimiser; `params` drew the activities."""
    layers, found = network.actor.layers(params, s, activities), []
    for i, (rule, layer) in enumerate(zip(network.rules, layers, strict=False)):
        own = dataclasses.replace(outcome, key=jax.random.fold_in(outcome.key, i))
        found.append((rule.update(layer, own), rule.baseline.update(layer.parts.baseline, layer, own)))
    return tuple(found)


def with_updates(params: Params, updates: Updates) -> Params:
    """The parameters with these values in place of theirs."""
    layers, parts = list(params.layers), list(params.parts)
    for i, (of_rule, of_baseline) in enumerate(updates):
        layers[i] = dataclasses.replace(layers[i], **of_rule)
        if of_baseline:
            baseline = parts[i].baseline
            assert baseline is not None
            parts[i] = dataclasses.replace(parts[i], baseline=dataclasses.replace(baseline, **of_baseline))
    return dataclasses.replace(params, layers=tuple(layers), parts=tuple(parts))


def value(critic: Critic, params: CriticParams, s: Float[Array, "B D"], key: Key[Array, ""]) -> Float[Array, " B"]:
    """V(s); of a critic that draws, the mean of its output given what its hidden layers drew."""
    if not critic.laws:
        return critic.value(params, s)
    drawn = Actor(critic.laws)
    below = drawn.heard(s, act(drawn, Params(params.layers, None), s, key))[-1]
    assert isinstance(params.output, Affine)
    return drive(params.output, below)[:, 0]


def _relaxed_credit(
    critic: Critic, params: CriticParams, s: Float[Array, "1 D"], key: Key[Array, ""] | None
) -> CriticParams:
    """∇ log Pr(H, A | S) / (A − μ) of a critic that draws, once its values have moved (critic.py).

    A − μ may be small beside A: it is what was drawn less how far μ has moved, for a difference would be rounded off.
    """
    *hidden, output = critic.laws
    assert isinstance(output, Gaussian) and isinstance(params.output, Affine) and key is not None  # noqa: PT018
    drawn, layers = Actor(critic.laws), Params(params.layers, None)
    before = act(drawn, layers, s, key)
    relaxed = _relaxed(drawn, layers, s, before)
    h, v, last = relaxed[-2].h, output.variance, before[-1]
    assert isinstance(last, Activity)
    off = v**0.5 * last.draws[0] - (h - before[-2].h) @ params.output.W
    weight = jnp.where(off == 0, 0.0, 1 / jnp.where(off == 0, 1.0, off))[0, 0]
    below = Params(params.layers[:-1], None)
    values = tuple(activity.h for activity in relaxed[:-1])
    score = jax.grad(lambda p: _log_joint(Actor(tuple(hidden)), p, s, relaxed[:-1], values).sum())(below)
    of_hidden = jax.tree.map(lambda slope: weight * slope, score.layers)
    return CriticParams.of((*of_hidden, outer(h, jnp.ones_like(off) / v)))


def credits(
    network: Network,
    params: Params,
    s: Float[Array, "B D"],
    activities: Activities,
    signals: Sequence[Float[Array, " B"]],
    graded: bool = False,
) -> Params:
    """The credit of each layer for its signal [B], the output's last; the critic has none here.

    One pass from the output down: each layer is told what its draw is worth to the layer above it.
    """
    actor = network.actor
    *hidden, top = actor.layers(params, s, activities)
    layers = [outer(top.x, network.output.score(drive(top.params, top.x), top.h, signals[-1][:, None]))]
    parts, above = [], likelihood(top, graded, of_output=True)
    for rule, layer, signal in reversed([*zip(network.rules, hidden, signals, strict=False)]):
        above = actor.received(layer.law, above)
        layers.append(_completed(layer.params, rule.credit(layer, signal[:, None], above)))
        parts.append(_part_credits(rule, layer, signal))
        above = rule.message(layer, above)
    return Params(tuple(reversed(layers)), None, tuple(reversed(parts)))


def _part_credits(rule: Rule, layer: Layer, signal: Float[Array, " B"]) -> PartParams:
    own = layer.parts
    of_baseline = rule.baseline.credit(own.baseline, layer)
    if of_baseline is None:
        of_baseline = jax.tree.map(jnp.zeros_like, own.baseline)
    return PartParams(of_baseline, rule.learning_signal.credit(own.learning_signal, signal))


def _completed(params: T, credit: object) -> T:
    """The credit with zeros for parameters that it does not have."""
    if type(credit) is type(params):
        return credit
    assert dataclasses.is_dataclass(credit)
    return filled(params, {field.name: getattr(credit, field.name) for field in dataclasses.fields(credit)})
