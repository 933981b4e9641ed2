"""What runs on the nodes of a cluster. Whatever comes of it goes through Ray to the driver, who alone has a store."""

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coexplore import __version__, engines
from coexplore.rules import Rule
from coexplore.run import Result, Run
from coexplore.run.editions import first_difference
from coexplore.settings import FieldError, Json
from coexplore.store import Parcel
from coexplore.study.work import Work
from coexplore.tasks.base import AnyTask

TELL_SECONDS = 1.0  # between two words to the driver
DESK_SECONDS = 60.0  # in which the driver's desk must answer
Handle = Any  # type: ignore[explicit-any]  # Ray makes it out of a class; its methods have `remote`
Levels = dict[int, tuple[int, float]]  # how many updates a run of a group has done, and its reward


class Answer(NamedTuple):
    """What a node says of some settings: for each the engine that would train it there, or why none can."""

    version: str
    engines: list[str | None]
    reasons: list[str | None]
    cautions: list[str]
    built: dict[str, dict[str, Json]]  # of each engine that was named
    on_gpu: set[str]  # those of them that need the GPU


class Order(NamedTuple):
    """What a task is asked to train, and how."""

    number: int
    engine: str
    gpu: bool
    checkpoints: dict[int, bytes]
    looks: int | None
    looking: bool
    trained_for: dict[int, str]
    checkpoint_seconds: float


class Delivery(NamedTuple):
    """What came of it: files of finished runs and reasons of failed ones, by their place in the group."""

    files: dict[int, bytes]
    failures: dict[int, str]
    problems: list[str]
    compile_seconds: float


class Desk:
    """Between workers and driver: how far groups are, their latest checkpoints, and whether to stop."""

    def __init__(self) -> None:
        self.told: dict[int, Levels] = {}
        self.kept: dict[int, dict[int, bytes]] = {}
        self.new: list[tuple[int, int]] = []
        self.stopping = False

    def begin(self, group: int) -> dict[int, bytes] | None:
        """The checkpoints of a group that was begun elsewhere before; None if nothing is to be begun any more."""
        return None if self.stopping else self.kept.get(group, {})

    def tell(self, group: int, levels: Levels) -> bool:
        """Whether to stop."""
        self.told.setdefault(group, {}).update(levels)
        return self.stopping

    def keep(self, group: int, run: int, data: bytes) -> None:
        self.kept.setdefault(group, {})[run] = data
        self.new.append((group, run))

    def news(self, over: Iterable[int]) -> tuple[dict[int, Levels], list[tuple[int, int, bytes]]]:
        """What came in since the last time. Groups that are over need not be kept any longer."""
        for group in over:
            self.kept.pop(group, None)
        new = [(g, i, self.kept[g][i]) for g, i in dict.fromkeys(self.new) if g in self.kept]
        told, self.told, self.new = self.told, {}, []
        return told, new

    def stop(self) -> None:
        self.stopping = True


class Messenger:
    """The audience of a group's work: tells the desk now and then, and hears from it whether to stop."""

    def __init__(self, desk: Handle, group: int, runs: Sequence[Run], stop: Callable[[], None]) -> None:
        self.desk, self.group, self.stop = desk, group, stop
        self.place = {run: i for i, run in enumerate(runs)}
        self.done = dict.fromkeys(runs, 0)
        self.told, self.last = 0.0, None

    def advance(self, runs: Sequence[Run], updates: int, rewards: NDArray[np.float64] | None, steps: int = 0) -> None:
        for run in runs:
            self.done[run] += updates
        if time.perf_counter() - self.told < TELL_SECONDS:
            return
        self.told = time.perf_counter()
        levels = [float("nan")] * len(runs) if rewards is None else map(float, rewards)
        told = {self.place[run]: (self.done[run], level) for run, level in zip(runs, levels, strict=True)}
        self.desk.tell.remote(self.group, told).future().add_done_callback(self._hear)

    def _hear(self, answer: Handle) -> None:
        if answer.exception() is not None or answer.result():  # without the driver nobody wants the results
            self.stop()

    def keep(self, run: Run, data: bytes) -> None:
        self.last = self.desk.keep.remote(self.group, self.place[run], data).future()

    def wait(self) -> None:
        """Until the desk has all that it was sent."""
        if self.last:
            self.last.result(DESK_SECONDS)

    def take(self, results: Iterable[Result]) -> None:
        """There are none: whoever sent the runs has looked."""

    def end_runs(self, count: int) -> None:
        """The driver sees it by what it gets."""


def answer(settings: list[Handle], engine: str, gpu: bool) -> Answer | str:
    """What this node can do with these settings, which come as a reference; a line if it cannot even read them."""
    import ray

    _hide_gpu(gpu)
    try:
        (runs,) = ray.get(settings)
    except Exception as error:  # somebody else's code may fail in any way while it is imported
        return reason(error)
    said = Answer(__version__, [], [], [], {}, set())
    for run in runs:
        _ask(said, run, engine)
    return said


def _ask(said: Answer, run: Run, engine: str) -> None:
    try:
        chosen = engines.choose(run, engine)
    except FieldError as error:
        said.engines.append(None)
        said.reasons.append(str(error))
        return
    if chosen.name not in said.built:
        chosen.prepare()
        said.built[chosen.name] = chosen.built()
        if chosen.waits or _device(said.built[chosen.name]) != "cpu":
            said.on_gpu.add(chosen.name)
    said.engines.append(chosen.name)
    said.reasons.append(None)
    said.cautions.extend(filter(None, [chosen.caution(run)]))


def _device(built: dict[str, Json]) -> str:
    """What JAX trains on, where it does."""
    return str(built.get("device", "cpu"))


def grouped(runs: list[Run], engine: str, gpu: bool, gpus: int) -> list[list[int]]:
    """The places of the runs that this node's engine would train together, a share for each GPU of the cluster."""
    _hide_gpu(gpu)
    module, place = engines.find(engine), {run: i for i, run in enumerate(runs)}
    module.prepare()
    shares = gpus if module.waits else 1
    groups = [group for i in range(shares) for group in module.groups(runs[i::shares])]
    return [[place[run] for run in group] for group in groups]


def train_group(runs: list[Run], order: Order, desk: Handle) -> Delivery:
    """Train a group from where it is known to have been last."""
    _hide_gpu(order.gpu)
    latest = desk.begin.remote(order.number).future().result(DESK_SECONDS)
    if latest is None:
        return Delivery({}, {}, [], 0.0)
    if other := other_code(runs):
        return Delivery({}, dict.fromkeys(range(len(runs)), other), [], 0.0)
    saved = {runs[i]: data for i, data in {**order.checkpoints, **latest}.items()}
    stop = threading.Event()
    messenger = Messenger(desk, order.number, runs, stop.set)
    parcel = Parcel(saved, messenger.keep)
    why = {runs[i]: word for i, word in order.trained_for.items()}
    work = Work(order.engine, parcel, messenger, 1, order.looks, order.checkpoint_seconds, stop, order.looking, why)
    engine = engines.find(order.engine)
    engine.prepare()
    work.train_group(engine, runs)
    messenger.wait()
    files = {messenger.place[run]: data for run, data in parcel.finished.items()}
    failures = {messenger.place[failure.run]: failure.reason for failure in work.failures}
    return Delivery(files, failures, work.problems, work.compile_seconds)


def other_code(runs: Iterable[Run]) -> str:
    """A line if this worker has other code of the user's than the runs mean: it imports modules and keeps them."""
    parts: dict[tuple[type, str, str], Rule | AnyTask] = {}
    for run in runs:
        parts |= {(type(rule), rule.edition, ""): rule for rule in run.rules}
        parts[type(run.task), run.task.edition, run.task.label] = run.task
    line = first_difference(parts.values())
    return line and f"{line}, which a worker of the cluster has imported before; connect to the cluster anew"


def _hide_gpu(gpu: bool) -> None:
    """A task that was not given a GPU must not take one; Ray would let it."""
    if not gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


def reason(error: BaseException) -> str:
    """The line of an error that says what it is; Ray's put a traceback around it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if line.partition(":")[0].endswith(("Error", "Exception", "Interrupt"))]
    return (named or lines or [type(error).__name__])[-1 if named else 0][:300]
