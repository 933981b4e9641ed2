"""The environments of one run, stepped in Python beside its agent, and how they are brought back after an interruption.

Every reset has a seed of its own, so that an episode is its seed and its actions: a checkpoint keeps those of the
episodes under way, and plays them again.
"""

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coexplore.engines.base import Fault, said
from coexplore.run.curve import bin_sizes, bins
from coexplore.run.result import Tensor, Tensors
from coexplore.run.run import Run
from coexplore.tasks.control import Control, Flat, make, strange


def control(run: Run) -> Control:
    assert isinstance(run.task, Control)
    return run.task


def mean_returns(run: Run, sums: Tensor) -> NDArray[np.float64]:
    """Of the episodes in each bin."""
    return sums / (bin_sizes(run.updates) * run.batch)


class World(Flat):
    """One environment of a run."""

    def __init__(self, run: Run, place: int) -> None:
        super().__init__(make(control(run).env))
        self.run, self.place, self.episode = run, place, 0

    def reset(self) -> Tensor:
        seed = np.random.SeedSequence((self.run.seed, self.place, self.episode)).generate_state(1)[0]
        self.actions: list[Any] = []
        self.total = 0.0
        return self.begin(int(seed))

    def step(self, action: Any) -> tuple[Tensor, float, bool, bool]:
        self.actions.append(action)
        seen = self.take(action)
        self.total += seen[1]
        return seen


def answer_size(run: Run) -> int:
    """An observation, the one to act on next, the reward, terminated, truncated, and how far schedules are."""
    return 2 * run.task.size + 4


class Worlds:
    """The environments of a run, their answers (a row for each, see `answer_size`), and the returns of its episodes."""

    def __init__(self, run: Run, answers: Tensor, saved: Tensors | None = None) -> None:
        self.run, self.answers, self.worlds = run, answers, [World(run, place) for place in range(run.batch)]
        self.sums, self.steps, self.episodes = np.zeros(bins(run.updates)), 0, 0
        self.recent: list[float] = []  # returns since somebody last looked
        self.finished = False
        self.anneal = control(run).anneal  # read in every step, and a task's fields are slow to read
        self.flat, self.watched = answers.reshape(-1), strange(control(run).env)
        self.zeros = np.zeros_like(self.flat)  # 0 times a number is 0, and times anything else it is not
        D = run.task.size
        self.after, self.start, self.rest = answers[:, :D], answers[:, D : 2 * D], answers[:, 2 * D :]
        if saved is None:
            self.start[:] = self._first()
        else:
            self._replay(saved)

    def _first(self) -> list[Tensor]:
        try:
            return [world.reset() for world in self.worlds]
        except Exception as error:
            raise self.fault(f"reset raises {said(error)}") from error

    @property
    def progress(self) -> float:
        """How far schedules are: over `anneal` steps, or over the run's episodes."""
        return min(1.0, self.steps / self.anneal if self.anneal else self.episodes / self.run.episodes)

    @property
    def updates(self) -> int:
        return self.episodes // self.run.batch

    @property
    def curve(self) -> NDArray[np.float32]:
        return mean_returns(self.run, self.sums).astype(np.float32)

    def step(self, actions: Tensor) -> None:
        """Take the actions; where an episode ends, begin the next."""
        taken = actions if actions.ndim > 1 else actions.tolist()  # choices: faster one by one as Python's own numbers
        for b, world in enumerate(self.worlds):
            if self.finished:
                return
            self.steps += 1
            after, r, terminated, truncated = world.step(taken[b])
            self.after[b] = self.start[b] = after
            if terminated or truncated:
                self._ended(world.total)
                world.episode += 1
                self.start[b] = world.reset()
            rest = self.rest[b]
            rest[0], rest[1], rest[2], rest[3] = r, terminated, truncated, self.progress
        if self.watched and not math.isfinite(self.flat.dot(self.zeros)):
            what = "an observation" if np.all(np.isfinite(self.rest)) else "a reward"
            raise self.fault(f"{what} is not finite, in step {self.steps}")

    def fault(self, what: str) -> Fault:
        """Which concerns no other run."""
        return Fault(f"environment {control(self.run).env!r}: {what}", self.run)

    def _ended(self, total: float) -> None:
        self.sums[self.updates * len(self.sums) // self.run.updates] += total
        self.recent.append(total)
        self.episodes += 1
        self.finished = self.episodes >= self.run.episodes

    def tensors(self) -> Tensors:
        """Enough to go on: the seeds follow from the counts of episodes."""
        counts = np.array([self.steps, self.episodes, *(world.episode for world in self.worlds)])
        under_way = {f"world.actions.{b}": np.array(world.actions) for b, world in enumerate(self.worlds)}
        kept = {"world.sums": self.sums.copy(), "world.answers": self.answers.copy(), "world.counts": counts}
        return {**kept, **under_way}

    def _replay(self, saved: Tensors) -> None:
        self.sums = saved["world.sums"].copy()
        self.steps, self.episodes, *episodes = map(int, saved["world.counts"])
        self.finished = self.episodes >= self.run.episodes
        self.answers[:] = saved["world.answers"]
        for b, (world, episode) in enumerate(zip(self.worlds, episodes, strict=True)):
            world.episode = episode
            o = world.reset()
            for action in saved[f"world.actions.{b}"]:
                o, *_ = world.step(action)
            if not np.array_equal(np.asarray(o, np.float32), self.start[b]):
                raise RuntimeError(
                    f"{control(self.run).env} did not repeat itself; remove the checkpoint to start anew"
                )


@functools.cache
def replayable(env: str) -> bool:
    """Whether the same seed and the same actions give the same episode, in this environment and in a fresh one."""
    old, fresh = make(env), make(env)
    try:
        history = _play(old, seed=1)
        _play(old, seed=2)  # what came before must not matter
        return history == _play(old, seed=1) == _play(fresh, seed=1)
    finally:
        old.close()
        fresh.close()


def _play(env: Any, seed: int, steps: int = 200) -> list[Any]:
    env.action_space.seed(seed)
    history: list[Any] = [np.asarray(env.reset(seed=seed)[0], dtype=object).tolist()]
    for _ in range(steps):
        o, r, terminated, truncated, _ = env.step(env.action_space.sample())
        history.append((np.asarray(o, dtype=object).tolist(), float(r), bool(terminated), bool(truncated)))
        if terminated or truncated:
            break
    return history
