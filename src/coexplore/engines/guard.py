"""What others wrote is tried before it is trained: their rules and tasks in one traced update, which computes nothing,
their environments in a short episode. What is ours needs no such trial: the tests know it.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from coexplore.engines.base import Fault, said
from coexplore.engines.program import Program, program
from coexplore.engines.watched import WatchedRule, WatchedTask, called, check_shape
from coexplore.network import Network
from coexplore.rules import OURS
from coexplore.rules.laws import Law, Output
from coexplore.rules.several import Bits, Softmaxes
from coexplore.run.programs import in_32_bits
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


@in_32_bits
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
    for rule, who, D, N in zip(run.rules, rule_names(run), run.sizes, run.hidden, strict=False):
        law = _asked(who, rule, "law", lambda law: isinstance(law, Law), "a law, as Bernoulli()")
        jax.eval_shape(functools.partial(_try_law, who, law, run.batch, D, N), jax.random.key(0))


def _try_law(who: str, law: Law, B: int, D: int, N: int, key: Any) -> Any:
    law = worked_out(jax.tree.map(jnp.asarray, law), 0.0)
    params = called(who, "law.init", law.init, D, N, key)
    for name, shape in (("W", (D, N)), ("b", (N,))):
        check_shape(who, f"{name} of law.init", getattr(params, name, None), shape)
    activity = called(who, "law.explore", law.explore, params, jnp.zeros((B, D)), key)
    check_shape(who, "h of law.explore", getattr(activity, "h", None), (B, N))
    return params


def _try_out(run: Run) -> None:
    """One update, of which only the shapes are worked out."""
    _check_laws(run)
    data = called(task_name(run), "load", run.task.load) if isinstance(run.task, Task) else None
    jax.eval_shape(functools.partial(_update, run), program(run), data, jax.random.key(0))


def _update(run: Run, numbers: Program, data: Any, key: Any) -> Any:
    """As the engine will do it, everybody watched."""
    watched, params = _watched(run, numbers), run.init()
    if isinstance(run.task, Control):
        from coexplore.engines.control.agent import acted

        return acted(worked_out(watched, jnp.float32(0)), params, jnp.zeros(run.task.size), key)
    from coexplore.engines.xla import ADAM, update

    task = watched.task.holding(data)
    state = task.sample(run.batch, key)
    task.observe(state)
    task.answer(state)  # for which no update need ask
    return update(watched, data, key, jnp.float32(0), params, ADAM.init(params))


def _watched(run: Run, numbers: Program) -> Program:
    numbers = jax.tree.map(lambda x: x if x.ndim else x.astype(jnp.float32), numbers)
    net = numbers.network
    pairs = zip(net.rules, rule_names(run), strict=True)
    rules = tuple(WatchedRule(inner=rule, who=who, centring=rule.centring) for rule, who in pairs)
    task = WatchedTask(numbers.task, task_name(run), run.batch) if isinstance(run.task, Task) else numbers.task
    return Program(Network(rules, net.output, net.critic, net.signals), task, numbers.rates, run.batch)
