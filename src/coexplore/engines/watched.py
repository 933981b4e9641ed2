"""Rules and tasks of others, watched while an update is traced: what does not fit is told in one line, with its author.

Unwatched, an array of the wrong shape ends in a sentence of JAX's that names nobody, or trains without a word:
`control` joins all parameters to one vector, in which W and its transpose are equally long.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from coexplore.engines.base import Fault, said
from coexplore.laws import Law, Output
from coexplore.rules import Layer, Local, Message, Outcome, Rule, Sizes
from coexplore.rules.baseline import Baseline, Expectation
from coexplore.rules.eligibility import Eligibility
from coexplore.rules.learning_signal import Signal
from coexplore.settings import is_ours
from coexplore.tasks.base import Task
from coexplore.units import drive

NUMBERS = (jax.Array, np.ndarray, np.generic, bool, int, float, complex)


def called(who: str, what: str, function: Callable[..., Any], *given: Any) -> Any:
    """What somebody else's function gives; whatever it raises is a Fault of theirs."""
    try:
        return function(*given)
    except Fault:
        raise
    except (Exception, SystemExit) as error:
        raise Fault(f"{who}: {what} raises {said(error)}") from error


def check_shape(who: str, what: str, found: Any, *shapes: tuple[int, ...]) -> None:
    """Real numbers, of one of these shapes."""
    if not isinstance(found, NUMBERS):
        raise Fault(f"{who}: {what} is {kind(found)}, and should be an array of shape {_either(shapes)}")
    if np.shape(found) not in shapes:
        raise Fault(f"{who}: {what} has shape {_listed(np.shape(found))}, and should have {_either(shapes)}")
    if jnp.issubdtype(dtype := jnp.result_type(found), jnp.complexfloating):
        raise Fault(f"{who}: {what} has numbers of type {dtype}, and should have real ones")


def check_like(who: str, what: str, found: Any, wanted: Any) -> None:
    """The same tree of arrays, each of the same shape and type."""
    mine, theirs = named_leaves(found), named_leaves(wanted)
    parts, (one, other) = ", ".join(theirs), (_structure(found), _structure(wanted))
    if one != other:
        if found is None or mine.keys() == theirs.keys() or not set(mine) & set(theirs):
            raise Fault(
                f"{who}: {what} is {kind(found)}, and should be {kind(wanted)} of {parts}, as the parameters are"
            )
        raise Fault(f"{who}: {what} has {', '.join(mine)}, and should have {parts}, as the parameters do")
    for name, leaf in mine.items():
        check_shape(who, f"{name} of {what}", leaf, np.shape(theirs[name]))
        check_type(who, f"{name} of {what}", leaf, theirs[name])


def check_type(who: str, what: str, found: Any, wanted: Any) -> None:
    """Numbers of the same type."""
    types = jnp.result_type(found), jnp.result_type(wanted)
    if types[0] != types[1]:
        raise Fault(f"{who}: {what} has numbers of type {types[0]}, and should have {types[1]}")


def _structure(tree: Any) -> Any:
    return jax.tree.structure(tree)


def named_leaves(tree: Any) -> dict[str, Any]:
    """Every array by its name; the tree itself, where it is none, has no name."""
    named = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in named}


def not_finite(tree: Any) -> list[str]:
    """The names of the arrays, such as parameters, in which some number is infinite or none."""
    return [name for name, leaf in named_leaves(tree).items() if not np.all(np.isfinite(leaf))]


def too_large(names: list[str]) -> str:
    """What to say of a run whose parameters of these names are not finite, where nobody else is to blame."""
    return f"its parameters are no longer finite ({names[0]}); a lower learning rate may help"


def kind(x: Any) -> str:
    if x is None or isinstance(x, jax.Array):
        return "None" if x is None else "an array"
    return f"{'an' if type(x).__name__[0] in 'AEIOUaeiou' else 'a'} {type(x).__name__}"


def _listed(shape: tuple[int, ...]) -> str:
    return str(list(shape))


def _either(shapes: tuple[tuple[int, ...], ...]) -> str:
    return " or ".join(map(_listed, dict.fromkeys(shapes)))


class Noted:
    """Whether a layer's credit has followed a slope of the message, which tracing finds out."""

    slope = False


class WatchedRule(Rule):
    """The rule of a layer, which `who` names."""

    learning_signal: Signal = eqx.field(kw_only=True)  # without a spec: the user's own is none of its options
    inner: Rule = eqx.field(kw_only=True)
    who: str = eqx.field(static=True, kw_only=True)
    noted: Noted = eqx.field(static=True, kw_only=True)

    @property
    def law(self) -> Law:
        return self.inner.law

    @property
    def baseline(self) -> Baseline:
        own = called(self.who, "baseline", lambda: self.inner.baseline)
        return own if is_ours(type(own)) else WatchedBaseline(own, self.who)

    @property
    def rates(self) -> dict[str, Any]:
        return called(self.who, "rates", lambda: self.inner.rates)

    def init(self, sizes: Sizes, key: Any) -> Any:
        return called(self.who, "init", self.inner.init, sizes, key)

    def credit(self, layer: Layer, signal: Any, above: Message) -> Any:
        if isinstance(self.inner, Local):
            return self._local_credit(self.inner, layer, signal)
        found = called(self.who, "credit", self.inner.credit, layer, signal, _watched(above, self.noted))
        check_credit(self.who, "credit", found, layer.params)
        return found

    def _local_credit(self, inner: Local, layer: Layer, signal: Any) -> Any:
        """As Local.credit has it, from a baseline and an eligibility that are looked at."""
        found = called(self.who, "eligibility", inner.eligibility, layer, self.baseline(layer.parts.baseline, layer))
        if not isinstance(found, Eligibility):
            raise Fault(f"{self.who}: eligibility is {kind(found)}, and should be an Eligibility")
        credits = {name: called(self.who, "eligibility", term.times, signal) for name, term in found.terms.items()}
        check_update(self.who, "eligibility", credits, layer.params)
        return found.times(signal, layer.params)

    def message(self, layer: Layer, above: Message) -> Message:
        found = called(self.who, "message", self.inner.message, layer, above)
        if not isinstance(found, Message):
            raise Fault(f"{self.who}: message is {kind(found)}, and should be a Message")
        values = called(self.who, "message", lambda: found.of_drive(drive(found.params, layer.x)))
        check_shape(self.who, "what message gives", values, layer.x.shape[:1])
        return found

    def update(self, layer: Layer, outcome: Outcome) -> dict[str, Any]:
        found = called(self.who, "update", self.inner.update, layer, outcome)
        check_update(self.who, "update", found, layer.params)
        return found


class WatchedBaseline(Baseline):
    """A baseline of the user's, in a rule which `who` names."""

    name: ClassVar[str] = "watched"

    inner: Baseline
    who: str = eqx.field(static=True)

    @property
    def rate(self) -> Any:
        return called(self.who, "baseline.rate", lambda: self.inner.rate)

    def init(self, sizes: Sizes) -> Any:
        return called(self.who, "baseline.init", self.inner.init, sizes)

    def __call__(self, params: Any, layer: Layer) -> Expectation:
        found = called(self.who, "baseline", self.inner, params, layer)
        if not isinstance(found, Expectation):
            raise Fault(f"{self.who}: baseline gives {kind(found)}, and should give an Expectation")
        return found

    def credit(self, params: Any, layer: Layer) -> Any:
        found = called(self.who, "baseline.credit", self.inner.credit, params, layer)
        if found is not None:
            check_like(self.who, "baseline.credit", found, params)
        return found

    def update(self, params: Any, layer: Layer, outcome: Outcome) -> dict[str, Any]:
        found = called(self.who, "baseline.update", self.inner.update, params, layer, outcome)
        check_update(self.who, "baseline.update", found, params)
        return found


class WatchedSignal(Signal):
    """A learning signal of the user's, in a rule which `who` names."""

    name: ClassVar[str] = "watched"
    centred: ClassVar[bool] = True

    inner: Signal
    who: str = eqx.field(static=True)

    @property
    def rate(self) -> Any:
        return called(self.who, "learning_signal.rate", lambda: self.inner.rate)

    def init(self) -> Any:
        return called(self.who, "learning_signal.init", self.inner.init)

    def __call__(self, params: Any, r: Any, delta: Any) -> Any:
        found = called(self.who, "learning_signal", self.inner, params, r, delta)
        check_shape(self.who, "what learning_signal gives", found, delta.shape)
        return found

    def credit(self, params: Any, signal: Any) -> Any:
        found = called(self.who, "learning_signal.credit", self.inner.credit, params, signal)
        check_like(self.who, "learning_signal.credit", found, params)
        return found


def watched_signal(signal: Signal, who: str) -> Signal:
    return signal if is_ours(type(signal)) else WatchedSignal(signal, who)


def check_credit(who: str, what: str, found: Any, params: Any) -> None:
    """Check that a credit is like the parameters, some of which it may leave out."""
    left_out = set(named_leaves(params)) - set(named_leaves(found))
    if dataclasses.is_dataclass(found) and type(found) is not type(params) and left_out < set(named_leaves(params)):
        own = {name: getattr(params, name, None) for name in vars(found)}
        params = dataclasses.replace(found, **own)  # type: ignore[type-var]
    check_like(who, what, found, params)


def check_update(who: str, what: str, found: Any, params: Any) -> None:
    """Check that new values have the names, shapes and types of parameters."""
    if not isinstance(found, dict):
        raise Fault(f"{who}: {what} is {kind(found)}, and should be a dictionary of parameters by name")
    known = named_leaves(params)
    for name, leaf in found.items():
        if name not in known:
            raise Fault(f"{who}: {what} has {name}, and the parameters are {', '.join(known) or 'none'}")
        check_shape(who, f"{name} of {what}", leaf, np.shape(known[name]))
        check_type(who, f"{name} of {what}", leaf, known[name])


def _watched(above: Message, noted: Noted) -> Message:
    """A function of equal values that notes when it is differentiated."""
    of_drive = jax.custom_jvp(above.of_drive)

    @of_drive.defjvp
    def _(values: Any, slopes: Any) -> Any:
        noted.slope = True
        return jax.jvp(above.of_drive, values, slopes)

    return dataclasses.replace(above, of_drive=of_drive)


class WatchedTask(Task):
    """A task of one step, which `who` names, in batches of B."""

    name: ClassVar[str] = "watched"
    inner: Task
    who: str = eqx.field(static=True)
    B: int = eqx.field(static=True)

    @property
    def size(self) -> int:
        return self.inner.size

    @property
    def output(self) -> Output:
        return self.inner.output

    @property
    def outputs(self) -> int:
        return self.inner.outputs

    @property
    def graded(self) -> bool:
        return self.inner.graded

    def __getattr__(self, name: str) -> Any:
        """Whatever else there is of a task."""
        if name in ("inner", "who", "B"):
            raise AttributeError(name)
        return getattr(self.inner, name)

    def load(self) -> Any:
        return called(self.who, "load", self.inner.load)

    def holding(self, arrays: Any) -> "WatchedTask":
        return WatchedTask(self.inner.holding(arrays), self.who, self.B)

    def sample(self, B: int, key: Any) -> Any:
        state = called(self.who, "sample", self.inner.sample, B, key)
        leaves = jax.tree.leaves(state)
        for leaf in leaves or [state]:
            if not isinstance(leaf, NUMBERS):
                raise Fault(f"{self.who}: sample gives {kind(leaf)}, and should give arrays")
        return state

    def observe(self, state: Any) -> Any:
        s = called(self.who, "observe", self.inner.observe, state)
        check_shape(self.who, "what observe gives", s, (self.B, self.size))
        return s

    def reward(self, state: Any, action: Any) -> Any:
        r = called(self.who, "reward", self.inner.reward, state, action)
        check_shape(self.who, "what reward gives", r, (self.B,))
        return r

    def answer(self, state: Any) -> Any:
        """None where nobody knows it, and nobody needs it."""
        a = called(self.who, "answer", self.inner.answer, state)
        if a is None and not self.graded:
            return None
        action = jax.eval_shape(self.output.action, jnp.zeros((self.B, self.outputs)))
        check_shape(self.who, "what answer gives", a, action.shape)
        if self.graded and not jnp.issubdtype(jnp.result_type(a), jnp.integer):
            raise Fault(f"{self.who}: what answer gives is {jnp.result_type(a)}, and should be whole numbers")
        return a
