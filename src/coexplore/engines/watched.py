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
from coexplore.rules import Feedback, Rule
from coexplore.rules.base import Above
from coexplore.rules.laws import Law, Output
from coexplore.tasks.base import Task

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
        types = jnp.result_type(leaf), jnp.result_type(theirs[name])
        if types[0] != types[1]:
            raise Fault(f"{who}: {name} of {what} has numbers of type {types[0]}, and should have {types[1]}")


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
    return "None" if x is None else f"{'an' if type(x).__name__[0] in 'AEIOUaeiou' else 'a'} {type(x).__name__}"


def _listed(shape: tuple[int, ...]) -> str:
    return str(list(shape))


def _either(shapes: tuple[tuple[int, ...], ...]) -> str:
    return " or ".join(map(_listed, dict.fromkeys(shapes)))


class Noted:
    """Whether a layer's credit has followed a slope of `above`, which tracing finds out."""

    slope = False


class WatchedRule(Rule):
    """The rule of a layer, which `who` names."""

    inner: Rule
    who: str = eqx.field(static=True)
    centring: str = eqx.field(static=True)
    noted: Noted = eqx.field(static=True)

    @property
    def law(self) -> Law:
        return self.inner.law

    @property
    def paces(self) -> dict[str, Any]:
        return called(self.who, "paces", lambda: self.inner.paces)

    @property
    def centres_reward(self) -> bool:
        return self.inner.centres_reward

    @property
    def own(self) -> tuple[str, ...]:
        return called(self.who, "own", lambda: self.inner.own)

    def lesson(self, params: Any, x: Any, activity: Any) -> dict[str, Any]:
        found = called(self.who, "lesson", self.inner.lesson, params, x, activity)
        if sorted(found) != sorted(self.own):
            raise Fault(f"{self.who}: lesson has {', '.join(found) or 'nothing'}, and own {', '.join(self.own)}")
        for name, leaf in found.items():
            check_shape(self.who, f"{name} of lesson", leaf, np.shape(getattr(params, name)))
        return found

    def signal(self, params: Any, delta: Any) -> Any:
        found = called(self.who, "signal", self.inner.signal, params, delta)
        check_shape(self.who, "signal", found, delta.shape)
        return found

    def credit(self, params: Any, x: Any, activity: Any, feedback: Feedback) -> Any:
        watched = dataclasses.replace(feedback, above=_watched(feedback.above, self.noted))
        found = called(self.who, "credit", self.inner.credit, params, x, activity, watched)
        check_like(self.who, "credit", found, params)
        return found

    def below(self, params: Any, x: Any, activity: Any, feedback: Feedback) -> Feedback:
        found = called(self.who, "below", self.inner.below, params, x, activity, feedback)
        if not isinstance(found, Feedback):
            raise Fault(f"{self.who}: below is {kind(found)}, and should be a Feedback")
        check_shape(self.who, "delta of below", found.delta, (x.shape[0], 1), x.shape)
        return found


def _watched(above: Above, noted: Noted) -> Above:
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
