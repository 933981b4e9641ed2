"""Groups sent out as Ray tasks, and what comes back.

Retries are Ray's; a group that was lost with its node goes on from the last checkpoint that it sent.
"""

import contextlib
import importlib
import time
from collections import deque
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np

from coexplore.run import Run
from coexplore.store import Store, StoreError, received
from coexplore.study.cluster import worker
from coexplore.study.cluster.connection import ClusterError, connected, sent_along
from coexplore.study.cluster.nodes import Place, groups, places
from coexplore.study.cluster.worker import Delivery, Handle, Order, reason
from coexplore.study.progress import Shown
from coexplore.study.work import Work

CHECKPOINT_SECONDS = 60.0  # between two that a long group sends
NAP = 0.2  # seconds after which Ctrl-C is heard
PATIENCE = 0.5  # seconds between two looks at runs that another process is training
FAREWELL = 10.0  # seconds that groups have to send a checkpoint when they are to stop
AHEAD = 16  # groups sent beyond twice what fits, so that a cluster that can grow sees a need


class Sent(NamedTuple):
    """A group that is with the cluster. Its runs are locked for as long."""

    number: int
    place: Place
    runs: list[Run]
    done: list[int]
    locks: contextlib.ExitStack


def train_on_cluster(
    address: str, at_a_time: int | None, work: Work, runs: Sequence[Run], store: Store | None, show: Shown
) -> None:
    """Train these runs there; those that another process holds are looked at again until they are done."""
    if not runs:
        show.begin()
        return
    with connected(address, work.threads, show.say) as ray, sent_along(runs):
        try:
            cut = groups(ray, places(ray, runs, work.engine, show))
            show.begin()
            Dispatch(ray, work, store, show, at_a_time).train(cut)
        except ray.exceptions.RayError as error:
            raise ClusterError(f"cluster: {address!r} is lost: {reason(error)}") from None


class Dispatch:
    def __init__(self, ray: ModuleType, work: Work, store: Store | None, show: Shown, most: int | None) -> None:
        self.ray, self.work, self.store, self.show, self.most = ray, work, store, show, most
        self.waiting: deque[tuple[Place, list[Run]]] = deque()
        self.elsewhere: list[tuple[Place, list[Run]]] = []
        self.out: dict[Handle, Sent] = {}
        self.over: list[int] = []
        self.count = 0
        self.desk = self._desk()
        self.task = ray.remote(worker.train_group)

    def train(self, cut: Iterable[tuple[Place, list[Run]]]) -> None:
        self.waiting.extend(cut)
        try:
            while self.waiting or self.out or self.elsewhere:
                self._send_some()
                self._collect()
                self._look_again()
        except KeyboardInterrupt:
            self._stop()
            raise
        finally:
            for reference, sent in self.out.items():
                self.ray.cancel(reference, force=True)
                sent.locks.close()

    def _desk(self) -> Handle:
        """On the driver's own node: if that is lost, so is the study."""
        near = importlib.import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
        here = near(self.ray.get_runtime_context().get_node_id(), False)
        return self.ray.remote(worker.Desk).options(num_cpus=0, scheduling_strategy=here).remote()

    def _send_some(self) -> None:
        """No more than keeps the cluster busy: each has locks, and one that waits here can be trained by others."""
        has = self.ray.cluster_resources()
        room = self.most or AHEAD + 2 * int(has.get("CPU", 0) + has.get("GPU", 0))
        while self.waiting and len(self.out) < room:
            place, runs = self.waiting.popleft()
            locks = contextlib.ExitStack()
            mine = {run for run in runs if not self.store or locks.enter_context(self.store.lock(run, place.engine))}
            if others := [run for run in runs if run not in mine]:
                self.elsewhere.append((place, others))
            kept = self.work.take_finished(mine)  # another process may have finished them a moment ago
            if left := [run for run in runs if run in mine and run not in kept]:
                self._send(Sent(self.count, place, left, [0] * len(left), locks))
            else:
                locks.close()

    def _send(self, sent: Sent) -> None:
        saved = {
            i: self.store and self.store.checkpoint_bytes(run, sent.place.engine) for i, run in enumerate(sent.runs)
        }
        known = {i: data for i, data in saved.items() if data}
        work, (engine, gpu, _) = self.work, sent.place
        why = {i: work.trained_for[run] for i, run in enumerate(sent.runs) if run in work.trained_for}
        order = Order(sent.number, engine, gpu, known, work.looks, work.looking, why, CHECKPOINT_SECONDS)
        self.out[self.task.options(**sent.place.options()).remote(sent.runs, order, self.desk)] = sent
        self.count += 1

    def _collect(self) -> None:
        """What has come back by the end of a nap."""
        waited = list(self.out)
        ready = self.ray.wait(waited, num_returns=len(waited), timeout=NAP)[0] if waited else []
        self._hear()  # before what is ready leaves: the last checkpoint of a group that stopped came ahead of it
        for reference in ready:
            sent = self.out.pop(reference)
            with sent.locks:
                self._take(sent, self._delivery(sent, reference))
            self.over.append(sent.number)

    def _delivery(self, sent: Sent, reference: Handle) -> Delivery:
        try:
            return self.ray.get(reference)
        except self.ray.exceptions.RayError as error:  # Ray has tried again as often as it was told to
            return Delivery({}, dict.fromkeys(range(len(sent.runs)), reason(error)), [], 0.0)

    def _take(self, sent: Sent, delivery: Delivery) -> None:
        self.work.problems += delivery.problems
        self.work.compile_seconds = max(self.work.compile_seconds, delivery.compile_seconds)
        failures = dict(delivery.failures)
        for i, data in delivery.files.items():
            run, engine = sent.runs[i], sent.place.engine
            try:
                result = self.store.adopt(run, engine, data) if self.store else received(run, engine, data)
            except StoreError as error:
                failures[i] = str(error)
                continue
            self.work.finished[run] = result
            self.work.trained.append(run)
            self._advance(sent, i, run.updates, result.last)
        for i, why in failures.items():
            self.work.fail(sent.runs[i], sent.place.engine, why)
        self.show.end_runs(len({*delivery.files, *failures}))

    def _hear(self) -> None:
        """How far the groups are, and their checkpoints."""
        told, checkpoints = self.ray.get(self.desk.news.remote(self.over))
        self.over = []
        with_us = {sent.number: sent for sent in self.out.values()}
        for number, levels in told.items():
            for i, (done, reward) in levels.items() if number in with_us else ():
                self._advance(with_us[number], i, done, reward)
        for number, i, data in checkpoints:
            if self.store and number in with_us:
                sent = with_us[number]
                self.store.adopt_checkpoint(sent.runs[i], sent.place.engine, data)

    def _advance(self, sent: Sent, i: int, done: int, reward: float) -> None:
        """A group that was lost goes back to its last checkpoint: fewer updates than before."""
        self.show.advance([sent.runs[i]], done - sent.done[i], np.array([reward]))
        sent.done[i] = done

    def _look_again(self) -> None:
        if self.elsewhere and not self.waiting and not self.out:
            self.show.wait_for(sum(len(runs) for _, runs in self.elsewhere))
            time.sleep(PATIENCE)
        if not self.waiting:
            self.waiting.extend(self.elsewhere)
            self.elsewhere = []

    def _stop(self) -> None:
        """Groups under way send where they are, those that wait come back as they went."""
        self.ray.get(self.desk.stop.remote())
        until = time.monotonic() + FAREWELL
        while self.out and time.monotonic() < until:
            self._collect()
