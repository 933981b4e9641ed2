"""What every rule and every task must do, tried on one of them: `coexplore check`."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from coexplore import network
from coexplore.engines import xla
from coexplore.engines.base import said
from coexplore.engines.guard import fault
from coexplore.engines.program import program, stack
from coexplore.engines.watched import named_leaves, not_finite
from coexplore.network import Params
from coexplore.rules import Reinforce, Rule
from coexplore.run.names import grid
from coexplore.run.run import Run
from coexplore.settings import Choice, Count, FieldError, Number, OneOf, Spec, Switch, flat_specs, flat_values
from coexplore.tasks.base import Task
from coexplore.tasks.control import Control
from coexplore.tasks.multiplexer import Multiplexer
from coexplore.tasks.supervised import Boolean

SMALL = {"hidden": (5, 4), "batch": 4, "episodes": 4 * 40}
UPDATES = 5
Check = tuple[str, Callable[[], str | None]]


@dataclasses.dataclass(frozen=True)
class Finding:
    """One check: what it is, and what is wrong; `wrong` is None if nothing is."""

    what: str
    wrong: str | None


def check_rule(kind: type[Rule]) -> Iterator[Finding]:
    """Check a rule with every setting at its default, then setting by setting."""
    yield from _found(_of_rule(kind))


def check_task(task: Task) -> Iterator[Finding]:
    """Check a task of one step."""
    yield from _found(_of_task(task))


def _found(checks: Iterator[Check]) -> Iterator[Finding]:
    for what, check in checks:
        try:
            wrong = check()
        except FieldError as error:
            wrong = str(error)
        except Exception as error:  # the user's code may fail in any way
            wrong = f"it raises {said(error)}"
        yield Finding(what, wrong)
        if wrong and what == MADE:
            return  # nothing else can be tried


MADE = "a run can be made of it"


def _of_rule(kind: type[Rule]) -> Iterator[Check]:
    def run(**changes: Any) -> Run:
        return Run(**{"rule": kind(), "task": Multiplexer(bits=1), **SMALL, **changes})

    yield MADE, lambda: None if run() else ""
    yield "its description is read back", lambda: _read_back(run())
    yield "one layer learns", lambda: _trained(run(hidden=4))
    yield "two layers learn", lambda: _trained(run())
    yield (
        "under and above another rule",
        lambda: _trained(run(rule=(kind(), Reinforce()))) or _trained(run(rule=(Reinforce(), kind()))),
    )
    yield "without a critic", lambda: _trained(run(critic=None))
    yield "where the output is given the right answer", lambda: _trained(run(task=Boolean(rewards="loss", bits=3)))
    if kind().law.binary:
        yield "with signed signals", lambda: _trained(run(signals="signed"))
    yield "in an environment", lambda: fault(run(task=Control(), batch=1, episodes=2))
    yield "an episode's credit does not depend on its neighbours", lambda: _alone(run())
    for name, spec in flat_specs(kind).items():
        if name in flat_values(kind()):
            yield f"{name} has an effect", lambda name=name, spec=spec: _effect(run(), name, spec)  # type: ignore[misc]


def _of_task(task: Task) -> Iterator[Check]:
    run = Run(rule=Reinforce(), task=task, hidden=4, batch=8, episodes=8 * 40)
    yield "its methods give what they should", lambda: fault(run)
    yield "its description is read back", lambda: _read_back(run)
    yield "one key gives one sample", lambda: _same_samples(task)
    yield "rewards are within its reward_range", lambda: _in_range(task)
    yield "a network learns on it", lambda: _trained(run)


def _read_back(run: Run) -> str | None:
    again = Run.from_dict(run.to_dict())
    return None if again == run else "Run.from_dict(run.to_dict()) is another run"


def _trained(run: Run) -> str | None:
    """A few updates on xla, in which every number must stay finite."""
    if line := fault(run):
        return line
    state = xla.advance(xla.start([run]), UPDATES)
    names = not_finite(xla.params(state)[0])
    if names:
        return f"{names[0]} is not finite after {UPDATES} updates"
    return None if np.isfinite(state.reward).all() else f"the reward is not finite after {UPDATES} updates"


def _alone(run: Run) -> str | None:
    """Compare the credit of a batch with the mean of the credits of its halves."""
    params, s, activities, signals = _drawn(run)
    net = run.network

    def credits(keep: Any) -> Params:
        return network.credits(net, params, s, activities, [jnp.where(keep, each, 0.0) for each in signals])

    half = jnp.arange(run.batch) < run.batch // 2
    whole, one, other = map(credits, (jnp.ones_like(half), half, ~half))
    for name, leaf in named_leaves(whole.layers).items():
        parts = named_leaves(one.layers)[name] + named_leaves(other.layers)[name]
        if not np.allclose(leaf, parts, rtol=1e-3, atol=1e-5):
            return f"{name} of credit is not a mean over the batch: episodes change each other's"
    return None


def _drawn(run: Run) -> tuple[Params, Any, Any, list[Any]]:
    """A network of random weights, what it draws, and a signal for each layer."""
    params, key = noise(run), jax.random.key(1)
    assert isinstance(run.task, Task)
    s = run.task.observe(run.task.sample(run.batch, key))
    activities = network.act(run.network.actor, params, s, key)
    return params, s, activities, [jax.random.normal(key, (run.batch,))] * len(activities)


def noise(run: Run) -> Params:
    """Parameters away from zero: where training starts, some settings have no effect yet."""
    leaves, tree = jax.tree.flatten(jax.eval_shape(run.init))
    keys = jax.random.split(jax.random.key(0), len(leaves))
    return jax.tree.unflatten(
        tree, [0.5 * jax.random.normal(key, leaf.shape) for key, leaf in zip(keys, leaves, strict=True)]
    )


def _effect(run: Run, name: str, spec: Spec) -> str | None:
    """Whether another value gives other parameters after an update, or other first parameters."""
    usual, others = named_leaves(_updated(run)), _other_values(run, name, spec)
    for value in others:
        try:
            found = named_leaves(_updated(grid(run, **{name: [value]})[0]))
        except FieldError:  # it does not go with the other settings
            continue
        if found.keys() != usual.keys() or any(not np.array_equal(found[leaf], x) for leaf, x in usual.items()):
            return None
    return f"no value of it changes anything; tried {', '.join(map(str, others))}" if others else None


def _updated(run: Run) -> Any:
    """First parameters, and random ones after two updates."""
    assert isinstance(run.task, Task)
    params, numbers = noise(run), jax.tree.map(jnp.asarray, stack([program(run)]))
    moments, key = xla.ADAM.init(params), jax.random.key(2)
    numbers = jax.tree.map(lambda x: x[0], numbers)
    for t in range(2):
        params, moments, _ = xla.update(numbers, run.task.load(), jax.random.fold_in(key, t), 0.5, params, moments)
    return run.init(), params


def _other_values(run: Run, name: str, spec: Spec) -> list[Any]:
    value = flat_values(run.rules[0])[name]
    if isinstance(spec, Number):
        tried = [x for x in (0.5, 0.9, 2.0) if spec.low <= x <= spec.high and x != value]
        return tried[:2]
    if isinstance(spec, Count):
        return [x for x in (value + 1, value - 1) if spec.low <= x <= (spec.high or x)]  # type: ignore[operator]
    if isinstance(spec, Choice):
        return [option for option in spec.options if option != value]
    if isinstance(spec, Switch):
        return [not value]
    if isinstance(spec, OneOf):
        return [option.name for option in spec.options if type(value) is not option]
    return []


def _same_samples(task: Task) -> str | None:
    one, other = (named_leaves(task.sample(6, jax.random.key(3))) for _ in range(2))
    same = all(np.array_equal(leaf, other[name]) for name, leaf in one.items())
    return None if same else "sample gives other states for the same key"


def _in_range(task: Task) -> str | None:
    if task.reward_range is None or task.graded:
        return None
    high = task.reward_range[1]
    state = task.sample(256, jax.random.key(4))
    actions = task.output.every(task.outputs)
    if actions is None:
        return None
    for action in actions:
        r = np.asarray(task.reward(state, jnp.broadcast_to(action, (256, *np.shape(action)))))
        if r.max() > high + 1e-6:
            return f"a reward of {r.max():g} is above {high:g}, the largest mean reward that it states"
    return None
