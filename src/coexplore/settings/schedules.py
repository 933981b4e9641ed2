"""Numbers that change while a run trains. An engine works them out: a rule only ever computes with numbers."""

from typing import TYPE_CHECKING, TypeVar

import equinox as eqx
import jax
from jaxtyping import Array, Float

if TYPE_CHECKING:
    # Wherever a number may change, a Run may hold a schedule, and the engine puts the number in its place before a
    # rule sees it. So to a type checker a schedule is a number.
    NumberLike = float
    Schedulable = float  # in a Run
    Scalar = float | Array  # in a rule
else:
    NumberLike = object

Tree = TypeVar("Tree")


class Linear(eqx.Module, NumberLike):  # type: ignore[misc]  # both say what == means
    """A number that moves in a straight line from `start` at the first update to `stop` at the last."""

    start: "float | int | Float[Array, '']"
    stop: "float | int | Float[Array, '']"

    def at(self, progress: "float | Float[Array, '']") -> "float | Array":
        """start + (stop − start)·progress, progress running from 0 to 1."""
        return self.start + (self.stop - self.start) * progress


if not TYPE_CHECKING:
    Schedulable = float | int | Linear
    Scalar = Schedulable | Float[Array, ""]


def schedule(x: Scalar) -> Linear:
    """A number as a schedule, so that constants and schedules share a compilation."""
    return x if isinstance(x, Linear) else Linear(x, x)


def multiplied(x: Schedulable, factor: float) -> Schedulable:
    """A number times a factor, or both ends of a schedule."""
    if factor == 1.0:
        return x
    return Linear(x.start * factor, x.stop * factor) if isinstance(x, Linear) else x * factor


def worked_out(tree: Tree, progress: "float | Float[Array, '']") -> Tree:
    """The tree with every schedule at its value for this progress."""
    return jax.tree.map(lambda x: x.at(progress) if _is_schedule(x) else x, tree, is_leaf=_is_schedule)


def at_the_end(tree: Tree) -> Tree:
    """The tree with every schedule at its last value."""
    return jax.tree.map(lambda x: x.stop if _is_schedule(x) else x, tree, is_leaf=_is_schedule)


def _is_schedule(x: object) -> bool:
    return isinstance(x, Linear)
