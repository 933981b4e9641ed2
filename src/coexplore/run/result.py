"""Result: what a finished run leaves behind."""

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar

import numpy as np
from jaxtyping import Array, Key
from numpy.typing import ArrayLike, NDArray

from coexplore.network import Params
from coexplore.rules import Rule
from coexplore.run.accuracy import Confusion, accuracy, confusion
from coexplore.run.contents import Contents, Held, Listed, Scores, Tensor, Tensors, score
from coexplore.run.editions import difference
from coexplore.run.evaluation import Evaluation, How, evaluated
from coexplore.run.frozen import within_reach
from coexplore.run.policy import Policy
from coexplore.run.repeat import command
from coexplore.run.run import Run
from coexplore.settings import FieldError, Json, at_the_end, checked_path, refusal
from coexplore.tasks.base import AnyTask
from coexplore.tasks.supervised import Labelled

__all__ = ["CHOOSING", "JUDGING", "Result", "Tensor", "Tensors", "by_purpose", "by_setting"]

CHOOSING, JUDGING, NONE = "choosing", "judging", "none"  # what a search trained a run for, as its provenance says
Purpose = tuple[Run, str]  # a setting, and what its runs were trained for


class Result:
    """What came of a `run` on an `engine`: `train` and `load` give these. `curve` holds the mean reward of each of P
    equal stretches of training, `params` the final parameters, `provenance` when, where and with what it was made.

    `snapshots` has what a study saw at K moments of the training: `updates` [K], `firing.0` [K, N] (and so on, up to
    the output unit), `critic_error` [K], `norm.NAME` [K] for each parameter and, where inputs are held out,
    `accuracy` [K]. Without a store it is empty unless `train` was given `snapshots`. Of a stored result these are read
    when they are asked for.
    """

    def __init__(
        self,
        run: Run,
        engine: str,
        curve: NDArray[np.float32],
        params: Params | None,  # a pack keeps those of one seed per setting
        provenance: dict[str, Json] | None = None,
        snapshots: Tensors | None = None,
    ) -> None:
        self.engine, self.contents = engine, Held(curve, params, snapshots or {})
        self.__dict__.update(run=run, provenance=provenance or {})  # as their cached properties would leave them

    engine: str
    contents: Contents
    writer: ClassVar[Callable[["Result", Path], None]]  # the store's, which knows the format of files

    @classmethod
    def stored(
        cls,
        run: Run,
        engine: str,
        contents: Contents,
        provenance: dict[str, Json],
        scores: Scores | None = None,
        curve: NDArray[np.float32] | None = None,
    ) -> "Result":
        """A result whose arrays are elsewhere, but for what is given here."""
        result = object.__new__(cls)
        result.engine, result.contents = engine, contents
        known = {"run": run, "provenance": provenance, "scores": scores, "curve": curve}
        result.__dict__.update({name: value for name, value in known.items() if value is not None})
        return result

    @classmethod
    def listed(cls, source: Listed, engine: str, setting: Run, seed: int, digest: str) -> "Result":
        """A result of which a list tells no more than this; there may be a hundred thousand of them."""
        result = object.__new__(cls)
        result.__dict__ = {
            "engine": engine,
            "contents": source,
            "setting": setting,
            "seed": seed,
            "digest": digest,
        }
        return result

    @functools.cached_property
    def run(self) -> Run:
        assert isinstance(self.contents, Listed)
        return self.contents.run()

    @functools.cached_property
    def provenance(self) -> dict[str, Json]:
        assert isinstance(self.contents, Listed)
        return self.contents.provenance()

    @functools.cached_property
    def setting(self) -> Run:
        """The run with seed 0: what it shares with the other seeds."""
        return self.run.setting

    @functools.cached_property
    def seed(self) -> int:
        return self.run.seed

    @functools.cached_property
    def digest(self) -> str:
        """Of the run."""
        return self.run.digest

    @property
    def trained_for(self) -> str:
        """`choosing` or `judging` if a search such as `tune` has trained the run, else `none`."""
        known = self.__dict__.get("provenance")
        if known is None and isinstance(self.contents, Listed):  # there may be 100,000: none of them keeps it
            known = self.contents.provenance()
        word = (known or {}).get("trained_for")
        return word if word in (CHOOSING, JUDGING) else NONE

    @functools.cached_property
    def curve(self) -> NDArray[np.float32]:
        curve = self.contents.read().curve
        if not len(curve):
            raise refusal("curve", None, f"a result with one; of {self.run.digest[:12]}… this pack kept scores alone")
        return curve

    @property
    def has_curve(self) -> bool:
        """A pack keeps none of a run that only served to choose."""
        with contextlib.suppress(FieldError):
            return len(self.curve) > 0
        return False

    def replaced(
        self,
        curve: NDArray[np.float32] | None = None,
        params: Params | None = None,
        provenance: dict[str, Json] | None = None,
        snapshots: Tensors | None = None,
    ) -> "Result":
        """The same with some of it changed."""
        return Result(
            self.run,
            self.engine,
            self.curve if curve is None else curve,
            self.params if params is None else params,
            self.provenance if provenance is None else provenance,
            self.snapshots if snapshots is None else snapshots,
        )

    def __repr__(self) -> str:
        """What it came to, and how to repeat it."""
        told = f"reward {self.reward:.3f}, first quarter {self.first:.3f}, last quarter {self.last:.3f}"
        told += "" if self.accuracy is None else f", accuracy {self.accuracy:.3f} (held out, one draw)"
        repeat = command(self.run, self.provenance)
        again = f"{repeat} --engine {self.engine}" if repeat else f"run {self.digest}, which no command can say"
        return f"{told}{', frozen' * self.frozen} ({self.engine}, seed {self.seed})\n{again}"

    @property
    def params(self) -> Params | None:
        return self.contents.read().params

    @property
    def snapshots(self) -> Tensors:
        return self.contents.read().snapshots

    @property
    def episodes(self) -> NDArray[np.float64]:
        """Episodes (of a run with a budget of steps, steps) trained by the end of each point of the curve."""
        P = len(self.curve)
        return np.arange(1, P + 1, dtype=np.float64) * (self.run.length / P)

    @functools.cached_property
    def scores(self) -> Scores:
        """Worked out once; every claim, table and picture asks."""
        return self.contents.scores() if isinstance(self.contents, Listed) else score(self.run, self.contents.read())

    @property
    def reward(self) -> float:
        """Mean reward over all episodes."""
        return self.scores.reward

    @property
    def first(self) -> float:
        """Mean reward over the first quarter of the curve."""
        return self.scores.first

    @property
    def last(self) -> float:
        """Mean reward over the last quarter of the curve."""
        return self.scores.last

    @property
    def frozen(self) -> bool:
        """All binary units of a layer, or the output, the same in every state, and the reward at chance at the end.

        A result, but one to be told of: at large c the hidden units freeze; at large N the output may.
        """
        return self.scores.frozen

    @functools.cached_property
    def accuracy(self) -> float | None:
        """How often the likeliest label given one draw of the hidden layers is right on held-out inputs, a mean over
        ten draws; None where there are none, or no parameters, or a chain too long to be drawn."""
        if not isinstance(self.setting.task, Labelled):
            return None
        if self.scores.accuracy is not None:
            return self.scores.accuracy
        if self.params is None or not within_reach(self.run):
            return None
        return accuracy(self.run.task, at_the_end(self.run.network.actor), self.params)

    def act(
        self, observations: ArrayLike, key: int | Key[Array, ""] | None = None, *, deterministic: bool = False
    ) -> Tensor | np.int32:
        """An action for each observation [B, D], or for one [D]: a whole number, or a row of numbers.

        It is drawn with `key`, a JAX key or a seed; or the most probable one (`deterministic`, see policy.py).
        Compiled at the first call for each B."""
        return self._policy.act(observations, key, deterministic)

    def evaluate(
        self,
        task: object = None,
        episodes: int | None = None,
        seed: int = 0,
        *,
        deterministic: bool = False,
        held_out: bool = True,
    ) -> Evaluation:
        """What the network earns now: the mean over episodes and its 95 % interval; nothing is learned.

        `task` is the run's own if not given, or another that fits it, an environment, or the name of either. Where
        inputs are held out it is these, each once, unless `held_out` is False; else 1000 states, or 100 episodes of an
        environment, if `episodes` does not say how many. Actions are as `act` has them."""
        return evaluated(self.run, self._policy, task, How(episodes, seed, deterministic, held_out))

    def confusion(self) -> Confusion:
        """How often each label is taken for each other one: `counts` [L, L] of held-out inputs, a row for the right
        label and a column for the one that the network names, and the `labels` [L].

        The network names the label that `act` gives if it is deterministic, so the share on the diagonal is not
        `accuracy`."""
        return confusion(self.run.task, functools.partial(self.act, deterministic=True))

    def save(self, path: str | Path) -> None:
        """Write the result to a file of its own, whose name ends in `.safetensors`; `load` reads it.

        The file is there whole or not at all; one of that name is replaced."""
        self._trained_params()
        self.writer(checked_path("path", path))

    def _trained_params(self) -> Params:
        if self.params is None and self.run.task.missing:
            raise FieldError(self.run.task.missing)
        if self.params is None:
            raise refusal("params", None, "a result with parameters; this pack kept those of another seed")
        return self.params

    @functools.cached_property
    def _policy(self) -> Policy:
        params = self._trained_params()
        parts: list[Rule | AnyTask] = [*self.run.rules, self.run.task]
        for line in dict.fromkeys(filter(None, map(difference, parts))):
            warnings.warn(f"{line}, which acts now", stacklevel=4)
        return Policy(self.run, params)


def by_purpose(results: Iterable[Result]) -> dict[Purpose, list[Result]]:
    """Results that differ in nothing but the seed and were trained for the same, together.

    Seeds that chose a setting favour it, so they must not be averaged with the seeds that judge it.
    """
    groups: dict[Purpose, list[Result]] = {}
    for result in results:
        groups.setdefault((result.setting, result.trained_for), []).append(result)
    return groups


def by_setting(results: Iterable[Result]) -> dict[Run, list[Result]]:
    """Results that differ in nothing but the seed, together."""
    settings: dict[Run, list[Result]] = {}
    for result in results:
        settings.setdefault(result.setting, []).append(result)
    return settings
