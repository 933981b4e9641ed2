"""Whole settings by name: what the author of a rule trained with, where that is not the paper's common setting.

Learning rates are those of the first hidden layer, the second and the output, then of the critic's layers.
"""

import dataclasses
from collections.abc import Sequence
from typing import TypedDict, Unpack

from coexplore.critic import Critic
from coexplore.rules import MapProp, Reinforce, Rule, WeightMax
from coexplore.run.run import Run
from coexplore.settings import Linear, Schedulable, refusal
from coexplore.tasks.base import AnyTask
from coexplore.tasks.control import Control
from coexplore.tasks.multiplexer import Multiplexer

CRITIC = Critic(activation="softplus", width=(64, 32))
Rates = tuple[Schedulable, ...]


class Settings(TypedDict, total=False):
    """What a preset may change of a Control besides the traces."""

    temperature: float
    drives: str
    action_scale: float
    action_shift: float
    action_variance: float
    reward_limit: float
    anneal: int


def _control(
    rule: Rule | Sequence[Rule],
    env: str,
    episodes: int,
    actor: Rates,
    critic: Rates,
    traces: tuple[float, float],
    **settings: Unpack[Settings],
) -> Run:
    """The author's way: observations as they are, an episode cut short teaches nothing at its end."""
    lambda_, of_critic = traces
    task = Control(
        env=env, scaling="none", truncation="ignore", actor_trace=lambda_, critic_trace=of_critic, **settings
    )
    return Run(rule=rule, task=task, hidden=(64, 32), episodes=episodes, learning_rate=(*actor, *critic), critic=CRITIC)


def _map_prop(
    variances: tuple[float, float],
    env: str,
    episodes: int,
    actor: Rates,
    critic: Rates,
    trace: float,
    **settings: Unpack[Settings],
) -> Run:
    """With a critic that learns by backprop, where the author's learned by MAP propagation too."""
    rule = tuple(MapProp(variance=v) for v in variances)
    return _control(rule, env, episodes, actor, critic, (trace, trace), **settings)


def _throughout(run: Run, *variances: float) -> Run:
    """The critic learns by MAP propagation as well, its layers of these variances; first weights of the uniform law."""
    critic = dataclasses.replace(CRITIC, rule="map-prop", variance=variances)
    return dataclasses.replace(run, critic=critic, initial_weights="uniform")


def _falling(starts: tuple[float, ...], stops: tuple[float, ...]) -> Rates:
    return tuple(start if start == stop else Linear(start, stop) for start, stop in zip(starts, stops, strict=True))


def _tenth(*starts: float) -> Rates:
    return _falling(starts, tuple(start / 10 for start in starts))


_CARTPOLE = (
    _falling((0.02, 2e-4, 2e-5), (2e-4, 2e-6, 2e-7)),
    _falling((0.04, 4e-5, 4e-6), (0.004, 4e-5, 4e-6)),
)
_MAP_CARTPOLE = (_falling((0.01, 1e-5, 1e-6), (0.001, 1e-6, 1e-8)), _tenth(0.02, 2e-5, 2e-6))


def _weight_max(rule: Rule) -> dict[str, Run]:
    """Weight Maximization's settings for environments, with this rule in both layers."""
    acrobot = (_tenth(0.1, 1e-3, 1e-4), (0.01, 1e-5, 1e-6))
    lander = ((0.08, 8e-4, 8e-5), (0.02, 2e-5, 2e-6))
    return {
        "cartpole": _control(rule, "CartPole-v1", 1000, *_CARTPOLE, (0.0, 0.8), anneal=50_000),
        "acrobot": _control(rule, "Acrobot-v1", 1000, *acrobot, (0.0, 0.8), anneal=1_000_000),
        "lunar-lander": _control(rule, "LunarLander-v3", 3000, *lander, (0.0, 0.9), temperature=2.0),
    }


PRESETS: dict[str, dict[str, Run]] = {
    MapProp.name: {
        "author": Run(
            rule=(MapProp(variance=0.3), MapProp(variance=1.0)),
            task=Multiplexer(bits=5),
            hidden=(64, 32),
            batch=128,
            learning_rate=(0.04, 4e-5, 4e-6),
            critic=None,
        ),
        "cartpole": _map_prop(
            (0.03, 0.1),
            "CartPole-v1",
            1000,
            *_MAP_CARTPOLE,
            temperature=2.0,
            trace=0.95,
            anneal=50_000,
        ),
        "acrobot": _map_prop(
            (0.03, 0.1),
            "Acrobot-v1",
            500,
            *_MAP_CARTPOLE,
            temperature=4.0,
            trace=0.97,
            anneal=100_000,
        ),
        "lunar-lander": _throughout(
            _map_prop(
                (0.06, 0.2),
                "LunarLander-v3",
                2500,
                (0.004, 4e-6, 4e-8),
                (0.01, 1e-5, 1e-7),
                temperature=8.0,
                drives="all",
                trace=0.97,
            ),
            *(0.003, 0.01, 0.01),
        ),
        "mountain-car": _throughout(
            _map_prop(
                (0.03, 0.1),
                "MountainCarContinuous-v0",
                500,
                (0.004, 4e-6, 4e-8),
                (0.01, 1e-5, 1e-6),
                action_variance=0.5,
                action_scale=2.0,
                action_shift=1.0,
                reward_limit=5.0,
                trace=0.97,
            ),
            *(0.003, 0.01, 0.05),
        ),
    },
    WeightMax.name: {
        "author": Run(
            rule=WeightMax(),
            hidden=(64, 32),
            episodes=800_000,
            batch=1,
            learning_rate=(0.01, 0.001, 0.0001),
            critic=None,
        ),
        **_weight_max(WeightMax()),
    },
    Reinforce.name: _weight_max(Reinforce()),
}


def base(rule: Rule, preset: str | None = None, task: AnyTask | None = None) -> Run:
    """What flags change: the paper's common setting with this rule on this task, or one of the rule's presets."""
    if preset is None:
        return Run(rule=rule, task=task or Multiplexer())
    if task is not None:
        raise refusal("preset", preset, "either --preset, which has a task, or --task")
    presets = PRESETS.get(rule.name, {})
    if preset not in presets:
        raise refusal("preset", preset, f"one that {rule.name} has: {', '.join(presets) or 'none'}", presets)
    return presets[preset]
