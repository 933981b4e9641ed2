"""What others wrote is tried before it is trained: their rules and tasks in one traced update, which computes nothing,
their environments in a short episode. What is ours needs no such trial: the tests know it.
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from coexplore import network
from coexplore.engines.base import Fault, said
from coexplore.engines.program import Program, program
from coexplore.engines.watched import (
    Noted,
    WatchedRule,
    WatchedTask,
    called,
    check_shape,
    named_leaves,
    not_finite,
    watched_signal,
)
from coexplore.laws import Bits, Law, Output, Softmaxes
from coexplore.network import Network, Params
from coexplore.programs import in_our_config, jit
from coexplore.rules import OURS, Outcome, Rule, Sizes
from coexplore.rules.baseline import Baseline
from coexplore.rules.learning_signal import Signal
from coexplore.run.run import Run
from coexplore.settings import shown, worked_out
from coexplore.tasks.base import Task
from coexplore.tasks.control import Control
from coexplore.tasks.joint import JointBits
from coexplore.tasks.multiplexer import Multiplexer
from coexplore.tasks.supervised import Boolean, Digits

TRUSTED = (Multiplexer, Digits, Boolean, JointBits, Control)
_sound: set[Any] = set()  # the shapes of what was tried and found good


def foreign(run: Run) -> bool:
    """Whether a rule or the task is somebody else's."""
    return type(run.task) not in TRUSTED or any(type(rule) not in OURS for rule in run.rules)


@in_our_config
def fault(run: Run) -> str | None:
    """What is wrong with the rules or the task of a run, in one line; None if nothing is, or if all of it is ours."""
    try:
        if called(task_name(run), "missing", lambda: run.task.missing):  # which whoever chooses an engine will tell
            return None
        if isinstance(run.task, Control):
            from coexplore.engines.control.trial import try_out  # Gymnasium is not everybody's

            try_out(run)
        if not foreign(run):
            return None
        _check_task(run)
        shape = jax.tree.structure(program(run)), run.hidden, run.batch
        if shape not in _sound:
            _try_out(run)
            _sound.add(shape)
    except Fault as found:
        return str(found)
    except Exception as error:
        return f"{', '.join((*dict.fromkeys(rule_names(run)), task_name(run)))}: an update raises {said(error)}"
    return None


def home(run: Run) -> str:
    """The engine that trains what others wrote."""
    return "control" if isinstance(run.task, Control) else "xla"


def task_name(run: Run) -> str:
    return f"task {run.task.name!r}"


def rule_names(run: Run) -> list[str]:
    """Of each hidden layer, and which layer it is where there are several."""
    layers = enumerate(run.rules, start=1)
    return [f"rule {r.name!r}" + (f" (layer {i})" if len(run.hidden) > 1 else "") for i, r in layers]


def _asked(who: str, part: object, name: str, fits: Callable[[Any], bool], wanted: str) -> Any:
    """A property of a part, which must be what it should be."""
    value = called(who, name, lambda: getattr(part, name))
    if not called(who, name, fits, value):
        raise Fault(f"{who}: {name} is {shown(value)}, and should be {wanted}"[:200])
    return value


def _check_task(run: Run) -> None:
    ask = functools.partial(_asked, task_name(run), run.task)
    ask("size", _counts, "a whole number of at least 1")
    ask("outputs", _counts, "a whole number of at least 1")
    law = ask("output", lambda law: isinstance(law, Output), "a law that draws actions, as Bernoulli()")
    if isinstance(law, Softmaxes):
        units = sum(law.parts) - len(law.parts)
        ask("outputs", lambda outputs: outputs == units, f"{units}, for {law.told(units)}")
    ask("graded", lambda graded: isinstance(graded, bool), "True or False")
    if isinstance(law, Bits | Softmaxes):
        ask("graded", lambda graded: not graded, "False where actions have several parts")
    ask("chance", lambda level: isinstance(float(level), float), "a number")
    ask("reward_range", lambda ends: ends is None or float(ends[0]) <= float(ends[1]), "None, or the two ends of it")


def _counts(x: Any) -> bool:
    return isinstance(x, int | np.integer) and not isinstance(x, bool) and int(x) >= 1


def _check_laws(run: Run) -> None:
    """How the layers begin and draw."""
    shapes = [Sizes(*shape, run.sizes[-1]) for shape in zip(run.sizes, run.sizes[1:], run.sizes[2:], strict=False)]
    for rule, who, sizes in zip(run.rules, rule_names(run), shapes, strict=True):
        law = _asked(who, rule, "law", lambda law: isinstance(law, Law), "a law, as Bernoulli()")
        _asked(who, rule, "baseline", lambda baseline: isinstance(baseline, Baseline), "a Baseline")
        _asked(who, rule, "learning_signal", lambda signal: isinstance(signal, Signal), "a Signal")
        jax.eval_shape(functools.partial(_try_law, who, rule, law, run.batch, sizes), jax.random.key(0))


def _try_law(who: str, rule: Rule, law: Law, B: int, sizes: Sizes, key: Any) -> Any:
    rule, law = worked_out(rule, 0.0), worked_out(jax.tree.map(jnp.asarray, law), 0.0)
    D, N, of_law = sizes.inputs, sizes.units, type(rule).init is Rule.init
    what = "law.init" if of_law else "init"
    params = called(who, what, rule.law.init, D, N, key) if of_law else called(who, what, rule.init, sizes, key)
    for name, shape in (("W", (D, N)), ("b", (N,))):
        check_shape(who, f"{name} of {what}", getattr(params, name, None), shape)
    called(who, "baseline.init", rule.baseline.init, sizes)
    called(who, "learning_signal.init", rule.learning_signal.init)
    activity = called(who, "law.explore", law.explore, params, jnp.zeros((B, D)), key)
    check_shape(who, "h of law.explore", getattr(activity, "h", None), (B, N))
    return params


def _try_out(run: Run) -> None:
    """One update, of which only the shapes are worked out."""
    _check_laws(run)
    data = called(task_name(run), "load", run.task.load) if isinstance(run.task, Task) else None
    noted = [Noted() for _ in run.rules]
    jax.eval_shape(functools.partial(_update, run, noted), program(run), data, jax.random.key(0))
    _check_messages(run, noted)
    if isinstance(run.task, Control):
        _check_linear(run)


def _check_messages(run: Run, noted: Sequence[Noted]) -> None:
    """Check that a layer which follows a slope is told one by the hidden layer above, if that follows a slope too."""
    layers = list(zip(run.rules, rule_names(run), noted, strict=True))
    for (_, _, below), (rule, who, above) in itertools.pairwise(layers):
        if below.slope and above.slope and type(rule).message is Rule.message:
            raise Fault(
                f"{who}: its credit follows a slope of `above`; its `message` must give the layer below one too"
            )


def _check_linear(run: Run) -> None:
    """Check that each credit is linear in the signal: over the steps of an environment it is worked out before δ is
    known (for a signal of 1), and multiplied by δ later.
    """
    found = _noisy_credits(run, jnp.asarray([0.7, -1.9, 0.7 - 1.9, 2 * 0.7]))
    if not_finite(found):
        return  # whose fault that is will be found where it happens in training
    for i, who in enumerate(rule_names(run)):
        learned = ((credits.layers[i], credits.parts[i].learning_signal) for credits in found)
        a, b, sums, doubles = ({**named_leaves(layer), **named_leaves(signal)} for layer, signal in learned)
        for name in a:
            near = functools.partial(np.allclose, rtol=1e-3, atol=1e-4 * float(np.abs(a[name]).max(initial=1.0)))
            if not (near(sums[name], a[name] + b[name]) and near(doubles[name], 2 * a[name])):
                raise Fault(
                    f"{who}: {name} of credit is not linear in the signal; twice the signal must give twice as much"
                )


def _noisy_credits(run: Run, deltas: Float[Array, " k"]) -> list[Params]:
    """The credits of each layer in a network of random weights for each signal, and the same draws for all of them."""

    def credits(net: Network, key: Key[Array, ""], delta: Float[Array, " 1"]) -> Params:
        leaves, tree = jax.tree.flatten(jax.eval_shape(run.init))
        keys = jax.random.split(key, len(leaves) + 2)
        noise = [0.5 * jax.random.normal(k, x.shape) for k, x in zip(keys, leaves, strict=False)]
        params, s = jax.tree.unflatten(tree, noise), jax.random.normal(keys[-2], (1, run.task.size))
        activities = network.act(net.actor, params, s, keys[-1])
        return network.credits(net, params, s, activities, [delta] * len(activities))

    net = jax.tree.map(np.float32, worked_out(run.network, 0.0))
    every = jit(jax.vmap(credits, (None, None, 0)))(net, jax.random.key(0), deltas[:, None])
    return [jax.tree.map(lambda leaf, k=k: np.asarray(leaf[k]), every) for k in range(deltas.size)]


def _update(run: Run, noted: Sequence[Noted], numbers: Program, data: Any, key: Any) -> Any:
    """Trace one update with the user's rules and task wrapped in shape-checking proxies."""
    watched, params = _watched(run, noted, numbers), run.init()
    if isinstance(run.task, Control):
        from coexplore.engines.control.agent import acted

        now, s = worked_out(watched, jnp.float32(0)), jnp.zeros(run.task.size)
        *_, activities = acted(now, params, s, key)
        outcome = Outcome(jnp.zeros(1), jnp.zeros(1), key, jnp.int32(0))
        return network.own_updates(now.network, params, s[None], activities, outcome)
    from coexplore.engines.xla import ADAM, update

    task = watched.task.holding(data)
    state = task.sample(run.batch, key)
    task.observe(state)
    task.answer(state)  # for which no update need ask
    return update(watched, data, key, jnp.float32(0), params, ADAM.init(params))


def _watched(run: Run, noted: Sequence[Noted], numbers: Program) -> Program:
    numbers = jax.tree.map(lambda x: x if x.ndim else x.astype(jnp.float32), numbers)
    net = numbers.network
    layers = zip(net.rules, rule_names(run), noted, strict=True)
    rules = tuple(
        WatchedRule(learning_signal=watched_signal(rule.learning_signal, who), inner=rule, who=who, noted=mine)
        for rule, who, mine in layers
    )
    task = WatchedTask(numbers.task, task_name(run), run.batch) if isinstance(run.task, Task) else numbers.task
    return Program(Network(rules, net.output, net.critic, net.signals), task, numbers.rates, run.batch)
