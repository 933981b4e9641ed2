"""Inputs and labels of one's own, as arrays. Files know them by a hash: they hold the runs, and never the data."""

import dataclasses
import hashlib
import weakref
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import equinox as eqx
import numpy as np
from numpy.typing import ArrayLike, NDArray

from coexplore.settings import FieldError, Number, Text, count, field, loaded, offered, refusal
from coexplore.tasks.base import GROUP, NAME
from coexplore.tasks.supervised import Data, Labelled, split

FRACTION = Number("fraction of the inputs that is held out", low=0.0, high=0.9)
HASH = Text("SHA-256 of the data", "[0-9a-f]{64}", "64 hexadecimal digits")
This = TypeVar("This", bound="Dataset")


@dataclasses.dataclass(frozen=True, eq=False)
class Held:
    """Data in memory, and what its labels are called; two are the same only if they are one."""

    data: Data
    names: NDArray[Any]


_here: weakref.WeakValueDictionary[str, Held] = weakref.WeakValueDictionary()  # by their hash


class Dataset(Labelled):
    """Classification of inputs `x` [n, …] with labels `y` [n]: whole numbers or words, of which action i names the i-th
    in order. `held_out` is a fraction, drawn by a fixed permutation, or the rows themselves. `name` is what pictures
    and files call it.

    Inputs are taken as float32 and as they are: scale them first. Data are known by a SHA-256 over inputs, labels and
    split: other data are another task.
    """

    name: ClassVar[str] = "dataset"
    title: ClassVar[str] = "inputs and labels of your own"
    in_name: ClassVar[tuple[str, ...]] = ("called", "sha256", "inputs", "labels")

    called: str = field("dataset", NAME)
    sha256: str = field("", HASH)
    inputs: int = count(1, "numbers of an input", low=1)
    labels: int = count(2, "how many labels there are", low=2)
    held: Held | None = eqx.field(default=None, static=True)

    def __init__(
        self,
        x: ArrayLike | None = None,
        y: ArrayLike | None = None,
        held_out: float | Sequence[int] | NDArray[Any] = 0.2,
        *,
        name: str = "dataset",
        rewards: str = "drawn",
        source: str = "",
        given: Any = None,
        **known: Any,  # the other fields, where there are no arrays to make them of
    ) -> None:
        if not known:
            known = {"called": NAME.check("name", name), **_described(x, y, held_out)}
        self.rewards, self.source, self.given = rewards, source, given
        self.called, self.sha256 = known["called"], known["sha256"]
        self.inputs, self.labels = known["inputs"], known["labels"]
        self.held = known.get("held")

    @property
    def label(self) -> str:
        return self.called

    @property
    def revision(self) -> str:
        return self.sha256[:8]

    @property
    def size(self) -> int:
        return self.inputs

    @property
    def classes(self) -> int:
        return self.labels

    @property
    def missing(self) -> str | None:
        try:
            self.load()
        except FieldError as error:
            return str(error)
        return None

    @property
    def label_names(self) -> NDArray[Any]:
        return self._held().names

    def load(self) -> Data:
        """The arrays, if this process has them, or if a plug-in of that name does."""
        return self._held().data

    def _held(self) -> Held:
        held = self.held or _here.get(self.sha256)
        if held is None and self.called in offered(GROUP):
            loaded(offered(GROUP)[self.called], "task")
            held = _here.get(self.sha256)
        if held is None:
            raise FieldError(
                f"task: the data of {self.called!r} are not here; make the Dataset of {self.inputs} inputs and "
                f"{self.labels} labels whose sha256 is {self.sha256[:12]}… first"
            )
        return held

    def bare(self: This) -> This:
        return self.replaced(source="", held=None)


def _described(x: Any, y: Any, held_out: Any) -> dict[str, Any]:
    """The fields that arrays give."""
    inputs, labels = _inputs(x), np.asarray(y)
    if labels.ndim != 1 or len(labels) != len(inputs):
        raise refusal("y", list(labels.shape), f"a label for each of {len(inputs)} inputs")
    if labels.dtype.kind == "f" and not np.all(labels == np.floor(labels)):
        raise refusal("y", labels.dtype.name, "labels that are whole numbers or words")
    known, places = np.unique(labels, return_inverse=True)
    if len(known) < 2:
        raise refusal("y", len(known), "at least two different labels")
    data = _divided(inputs, places, held_out)
    digest = hashlib.sha256(repr(data.x.shape).encode())
    for array in data:
        array.setflags(write=False)
        digest.update(array.astype(array.dtype.newbyteorder("<"), copy=False).data)
    held = _here.setdefault(digest.hexdigest(), Held(data, known))
    if not np.array_equal(held.names, known):  # the same data, whose labels are called otherwise
        held = Held(held.data, known)
    return {"sha256": digest.hexdigest(), "inputs": inputs.shape[1], "labels": len(known), "held": held}


def _inputs(x: Any) -> NDArray[np.float32]:
    """A copy, which nobody else can change."""
    try:
        with np.errstate(over="ignore"):  # what becomes infinite is refused below
            array = np.array(x, np.float32, order="C")
    except (TypeError, ValueError):
        raise refusal("x", type(x).__name__, "an array of numbers, an input in each row") from None
    if array.ndim < 2 or not array.size:
        raise refusal("x", list(array.shape), "an array of numbers, an input in each row")
    if not np.all(np.isfinite(array)):
        raise refusal("x", "nan or inf", "numbers that are finite in float32")
    return array.reshape(len(array), -1)


def _divided(x: NDArray[np.float32], y: NDArray[Any], held_out: Any) -> Data:
    """Into inputs to train on and inputs that are held out."""
    if np.ndim(held_out) == 0:
        return split(x, y, round(FRACTION.check("held_out", held_out) * len(x)))
    rows = np.asarray(held_out)
    whole = rows.ndim == 1 and (rows.dtype.kind in "iu" or not rows.size)
    if not whole or len(np.unique(rows)) < len(rows) or np.any((rows < 0) | (rows >= len(x))) or len(rows) >= len(x):
        wanted = f"a fraction from 0 to 0.9, or different rows from 0 to {len(x) - 1}, but not all"
        raise refusal("held_out", f"{len(rows)} rows", wanted)
    kept = np.setdiff1d(np.arange(len(x)), rows)
    return Data(x, y.astype(np.int32), kept.astype(np.int32), rows.astype(np.int32))
