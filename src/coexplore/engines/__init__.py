"""The engines by name, and which of them trains a run. What each owes is in base.py."""

import functools
import importlib
from typing import TYPE_CHECKING, cast

from coexplore.engines.base import Engine, State
from coexplore.rules.map_prop import relax_together
from coexplore.run.run import Run
from coexplore.settings import FieldError, refusal

if TYPE_CHECKING:  # mypy holds each of them to the contract
    from coexplore.engines import control, cpu, cuda, functional, xla

    cuda_: Engine[cuda.State] = cuda
    cpu_: Engine[cpu.State] = cpu
    xla_: Engine[xla.State] = xla
    functional_: Engine[functional.State] = functional
    control_: Engine[control.State] = control

NAMES = ("cuda", "cpu", "xla", "functional", "control")  # in the order in which `auto` tries them


def find(name: str) -> Engine[State]:
    """The engine, imported when it is first asked for."""
    if name not in NAMES:
        raise refusal("engine", name, f"one of auto, {', '.join(NAMES)}", ["auto", *NAMES])
    return cast(Engine[State], importlib.import_module(f"coexplore.engines.{name}"))


def stream(run: Run, name: str) -> int:
    """The version of an engine's random numbers and arithmetic for this run: another version gives other results.

    It is one more where several layers relax, whose steps were once never shortened (rules/map_prop.py).
    """
    return _stream(run.setting, name)


@functools.lru_cache(maxsize=10_000)  # every name of a file asks
def _stream(setting: Run, name: str) -> int:
    several = relax_together(setting.rules) or bool(setting.critic and setting.critic.laws)
    return find(name).stream + several


def choose(run: Run, name: str = "auto") -> Engine[State]:
    """The engine for a run: the one asked for, or the first that can."""
    if run.task.missing:
        raise FieldError(run.task.missing)
    reasons = {}
    for each in NAMES if name == "auto" else [name]:
        engine = find(each)
        reason = engine.missing() or engine.supports(run)
        if reason is None:
            return engine
        reasons[each] = reason
    raise refusal("engine", name, "; ".join(f"another than {k}: {why}" for k, why in reasons.items()))
