"""What xla and control compile: a run's numbers as leaves, so that a whole grid of them shares one compilation."""

from collections.abc import Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from coexplore.critic import CriticParams
from coexplore.network import Network, Params
from coexplore.rules import Rule
from coexplore.rules.layer import PartParams
from coexplore.run.run import Run
from coexplore.settings import Linear, schedule
from coexplore.tasks.base import AnyTask, Task

Tree = TypeVar("Tree")
BETAS, EPSILON = (0.9, 0.999), 1e-8  # Adam's

# The arithmetic of one update is small: threads inside it would cost more than they give.
OPTIONS = {"xla_cpu_multi_thread_eigen": False}


class Program(eqx.Module):
    """What a compiled update needs to know of a run: its numbers, each as a schedule, are leaves."""

    network: Network
    task: Any
    rates: Any
    batch: int = eqx.field(static=True)


def program(run: Run, task: AnyTask | None = None) -> Program:
    """Of the run; with a task in place of its own, where what is compiled should not depend on all of it. The task's
    data are no part of it: they are there once, whatever the number of runs."""
    numbers = (run.network, task or run.task.bare(), run.learning_rates)
    network, task, rates = jax.tree.map(schedule, numbers, is_leaf=lambda x: isinstance(x, Linear))
    return Program(network, task, rates, run.batch)


def data_of(run: Run) -> Any:
    """What its task reads: arrays in memory."""
    assert isinstance(run.task, Task)
    return run.task.load()


def each_rate(rules: Sequence[Rule], params: Params, rates: Sequence[Any]) -> Params:
    """The rate of every parameter: its layer's, or the multiple of it that the layer's rule or a part of it names."""
    layers, multiples = params.layers, [*(rule.rates for rule in rules), {}]
    of_layers = tuple(map(_spread, layers, rates, multiples))
    of_parts = tuple(map(_rates_of_parts, rules, params.parts, rates))
    if params.critic is None:
        return Params(of_layers, None, of_parts)
    of_critic = map(_spread, params.critic.layers, rates[len(layers) :], [{}] * len(params.critic.layers))
    return Params(of_layers, CriticParams.of(of_critic), of_parts)


def _rates_of_parts(rule: Rule, own: PartParams, rate: Any) -> PartParams:
    of_baseline = jax.tree.map(lambda _: rate * rule.baseline.rate, own.baseline)
    return PartParams(of_baseline, jax.tree.map(lambda _: rate * rule.learning_signal.rate, own.learning_signal))


def _spread(part: Any, rate: Any, multiples: dict[str, Any]) -> Any:
    """The part with its rate in every parameter's place."""

    def one(path: Any, _: Any) -> Any:
        multiple = multiples.get(getattr(path[-1], "name", ""))
        return rate if multiple is None else rate * multiple

    return jax.tree_util.tree_map_with_path(one, part)


def stack(trees: Sequence[Tree]) -> Tree:
    """One tree for a group, numbers along a first axis."""
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves), jnp.float32), *trees)


def padded(group: Sequence[Tree], width: int) -> list[Tree]:
    """The group filled up to a width with copies of its last: the low bits of a result depend on the width."""
    return [*group, *[group[-1]] * (width - len(group))]
