"""What a study tells a function of the user's own while runs train, and what the function may answer."""

import enum
import functools
import threading
from collections.abc import Callable
from typing import Final, NamedTuple

from coexplore.engines.base import State
from coexplore.network import Params
from coexplore.run import Run
from coexplore.settings import refusal
from coexplore.study.group import Group


class Answer(enum.Enum):
    STOP = "stop"


STOP: Final = Answer.STOP


class Moment:
    """Where a `run` is: `updates` are done, `reward` is its mean since the moment before, and `params` are its present
    parameters.
    """

    def __init__(self, run: Run, updates: int, reward: float, params: Callable[[], Params]) -> None:
        self.run, self.updates, self.reward = run, updates, reward
        self._params: Callable[[], Params] | None = params
        self._known: Params | None = None

    @property
    def episodes(self) -> int:
        """Of a run with a budget of steps, steps."""
        return self.updates * self.run.batch

    @property
    def finished(self) -> bool:
        """Whether this is the run's last moment."""
        return self.updates == self.run.updates

    @property
    def params(self) -> Params:
        """The present parameters, in NumPy: fetched when they are asked for, which must be during the call."""
        if self._known is None:
            if self._params is None:
                raise refusal("params", None, "them a name while the callback is called: the run has moved on")
            self._known = self._params()
        return self._known

    def pass_by(self) -> None:
        """What was not asked for by now can no longer be had."""
        self._params = None


Callback = Callable[[Moment], Answer | None]


class Stopped(NamedTuple):
    """A run that the callback stopped, after so many updates."""

    run: Run
    updates: int


class Raised(BaseException):
    """Carries what a callback raised past those who write failures down: it ends the training, not a run."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def checked_callback(callback: object, cluster: str | None) -> None:
    if callback is None:
        return
    if not callable(callback):
        raise refusal("callback", callback, "a function of one argument, a Moment")
    if cluster is not None:
        raise refusal("cluster", cluster, "none to a training with a callback, which is called where runs are trained")


class Caller:
    """Calls the callback so many times on the way of each run, one call at a time whatever the number of threads."""

    def __init__(self, callback: Callback, count: int) -> None:
        self.callback, self.count, self.lock = callback, count, threading.Lock()
        self.over = False  # it has raised, and is not called again

    def call(self, group: Group[State]) -> list[int]:
        """For every run that is still in the group, if it has come to a moment; the places of those to stop."""
        if not group.moment():
            return []
        every = functools.cache(group.params)  # one copy serves all runs of the group
        with self.lock:
            try:
                return [] if self.over else [i for i in group.here if self._stops(group, i, every)]
            except Exception as error:
                self.over = True
                raise Raised(error) from None

    def _stops(self, group: Group[State], i: int, every: Callable[[], list[Params]]) -> bool:
        moment = Moment(group.runs[i], group.done, float(group.rewards[i]), lambda: every()[i])
        answer = self.callback(moment)
        moment.pass_by()
        if answer is not None and answer is not STOP:
            raise refusal("callback", answer, "coexplore.STOP back, or nothing")
        return answer is STOP
