"""The environments of one run, stepped in Python beside its agent, and how they are brought back after an interruption.

Every reset has a seed of its own, so that an episode is its seed and its actions: a checkpoint keeps those of the
episodes under way, and plays them again.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coexplore.engines.base import Fault, fitting, said
from coexplore.run.curve import bin_sizes, bins
from coexplore.run.result import Tensor, Tensors
from coexplore.run.run import Run
from coexplore.tasks.control import Control, make
from coexplore.tasks.env_args import Arguments
from coexplore.tasks.spaces import Flat

REHEARSAL = 200  # steps


def control(run: Run) -> Control:
    assert isinstance(run.task, Control)
    return run.task


def of_environment(run: Run, what: str) -> str:
    return f"environment {control(run).env!r}: {what}"


def mean_returns(run: Run, sums: Tensor, ended: Tensor | None = None) -> NDArray[np.float64]:
    """Of the episodes in each bin. Where bins are of steps, and none `ended` in one, it is as in the one before it, and
    before the first as in that."""
    if ended is None or not control(run).env_steps:
        return sums / (bin_sizes(run.updates)[: len(sums)] * run.batch)
    known = np.flatnonzero(ended)
    latest = np.searchsorted(known, np.arange(len(sums)), side="right") - 1
    return (sums[known] / ended[known])[np.maximum(latest, 0)] if len(known) else np.zeros(0)


class World(Flat):
    """One environment of a run."""

    def __init__(self, run: Run, place: int) -> None:
        super().__init__(control(run).made())
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
        self.ended = np.zeros(len(self.sums), np.int64)  # how many episodes in each bin
        self.recent: list[float] = []  # returns since somebody last looked
        self.finished = False
        self.lost = ""  # what was not finite first in the agent, which then goes no further
        self.anneal, self.budget = control(run).anneal, control(run).env_steps  # read in every step, and slow to read
        self.flat = answers.reshape(-1)
        self.zeros = np.zeros_like(self.flat)  # 0 times a number is 0, and times anything else it is not
        D = run.task.size
        self.after, self.start, self.rest = answers[:, :D], answers[:, D : 2 * D], answers[:, 2 * D :]
        if saved is None:
            self.start[:] = self._first()
            self._check_finite("after reset")
        else:
            self._replay(saved)

    def _first(self) -> list[Tensor]:
        try:
            return [world.reset() for world in self.worlds]
        except Exception as error:
            raise self.fault(f"reset raises {said(error)}") from error

    @property
    def progress(self) -> float:
        """How far schedules are: over `anneal` steps, or over the run's episodes or steps."""
        return min(1.0, self.steps / self.anneal if self.anneal else self.trained / self.run.length)

    @property
    def trained(self) -> int:
        """Of the run's length."""
        return self.steps if self.budget else self.episodes

    @property
    def updates(self) -> int:
        return self.run.updates if self.lost else self.trained // self.run.batch

    @property
    def curve(self) -> NDArray[np.float32]:
        """Of a run in which no episode ended, what they have come to so far."""
        found = mean_returns(self.run, self.sums, self.ended)
        so_far = np.mean([world.total for world in self.worlds])
        return (found if len(found) else np.full(len(self.sums), so_far)).astype(np.float32)

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
        if self.budget:
            self.finished = self.steps >= self.budget
        self._check_finite(f"in step {self.steps}")

    def _check_finite(self, when: str) -> None:
        """Gymnasium's own too: what they are made with may be anything."""
        with np.errstate(invalid="ignore"):
            finite = math.isfinite(self.flat.dot(self.zeros))
        if not finite:
            what = "an observation" if np.all(np.isfinite(self.rest)) else "a reward"
            raise self.fault(f"{what} is not finite, {when}")

    def fault(self, what: str) -> Fault:
        """Which concerns no other run."""
        return Fault(of_environment(self.run, what), self.run)

    def lose(self, what: str) -> None:
        self.lost, self.finished = what, True

    def _ended(self, total: float) -> None:
        update = (self.steps - 1) // len(self.worlds) if self.budget else self.updates
        place = update * len(self.sums) // self.run.updates
        self.sums[place] += total
        self.ended[place] += 1
        self.recent.append(total)
        self.episodes += 1
        self.finished = not self.budget and self.episodes >= self.run.episodes

    def tensors(self) -> Tensors:
        """Enough to go on: the seeds follow from the counts of episodes."""
        counts = np.array([self.steps, self.episodes, *(world.episode for world in self.worlds)])
        under_way = {f"world.actions.{b}": np.array(world.actions) for b, world in enumerate(self.worlds)}
        kept = {"world.sums": self.sums.copy(), "world.answers": self.answers.copy(), "world.counts": counts}
        return {**kept, **under_way, "world.ended": self.ended.copy()}

    def _replay(self, saved: Tensors) -> None:
        self.sums = fitting(saved, "world.sums", self.sums.shape, self.sums.dtype).copy()
        self.ended = saved.get("world.ended", self.ended).copy()  # before there were budgets, nobody needed it
        self.steps, self.episodes, *episodes = map(int, saved["world.counts"])
        self.finished = self.trained >= self.run.length
        self.answers[:] = fitting(saved, "world.answers", self.answers.shape, self.answers.dtype)
        for b, (world, episode) in enumerate(zip(self.worlds, episodes, strict=True)):
            world.episode = episode
            o = world.reset()
            for action in saved[f"world.actions.{b}"]:
                o, *_ = world.step(action)
            if not np.array_equal(np.asarray(o, np.float32), self.start[b]):
                raise RuntimeError(
                    f"{control(self.run).env} did not repeat itself; remove the checkpoint to start anew"
                )


class Rehearsal(NamedTuple):
    """`replayable`: the same seed and the same actions give the same episode, in this environment and in a fresh one.
    `ends`: an episode is limited, or a short one has ended by itself."""

    replayable: bool
    ends: bool


@functools.cache  # another edition may behave otherwise
def rehearsed(env: str, args: Arguments = (), edition: str = "") -> Rehearsal:
    old, fresh = Flat(make(env, args)), Flat(make(env, args))
    try:
        history = _play(old, seed=1)
        _play(old, seed=2)  # what came before must not matter
        same = history == _play(old, seed=1) == _play(fresh, seed=1)
        limited = old.env.spec is not None and old.env.spec.max_episode_steps is not None
        return Rehearsal(same, limited or any(history[-1][2:]))
    finally:
        old.env.close()
        fresh.env.close()


def _play(flat: Flat, seed: int) -> list[Any]:
    env = flat.env
    env.action_space.seed(seed)
    history: list[Any] = [np.asarray(flat.begin(seed)).tobytes()]
    for _ in range(REHEARSAL):
        o, r, terminated, truncated, _ = env.step(env.action_space.sample())
        history.append((np.asarray(flat.flat(o)).tobytes(), float(r), bool(terminated), bool(truncated)))
        if terminated or truncated:
            break
    return history
