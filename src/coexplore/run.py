"""Run: the whole description of one training run, as plain data that is checked, hashed, written and read."""

import dataclasses
import functools
import hashlib
import json
from typing import Any

from coexplore import fields, rules
from coexplore.critic import Critic
from coexplore.fields import Count, FieldError, Number, Units, field, refuse
from coexplore.rules import Boltzmann, MapProp, Rule, StraightThrough, WeightMax
from coexplore.tasks.base import Task
from coexplore.tasks.control import Control
from coexplore.tasks.multiplexer import Multiplexer
from coexplore.tasks.supervised import Boolean, Digits

TASKS: dict[str, type[Task]] = {task.name: task for task in (Multiplexer, Digits, Boolean, Control)}
BY_TASK = ("episodes", "batch")  # whose defaults are the task's


@dataclasses.dataclass(frozen=True)
class Rates:
    """One learning rate, or one for each hidden layer, the output and (where there is one) the critic or its layers."""

    help: str
    one: Number = Number("", low=0.0, open_low=True, schedule=True)

    @property
    def allowed(self) -> str:
        return self.one.allowed + ", or one for each part of the network as .01/.001/.0001"

    def check(self, name: str, value: Any) -> Any:
        rates = value if isinstance(value, tuple | list) and value else (value,)
        try:
            rates = tuple(self.one.check(name, rate) for rate in rates)
        except FieldError:
            raise refuse(name, value, self.allowed) from None
        return rates[0] if len(rates) == 1 else rates

    def parse(self, name: str, text: str) -> Any:
        return self.check(name, [self.one.parse(name, part) for part in text.split("/")])

    def show(self, value: Any) -> str:
        return "/".join(map(self.one.show, value if isinstance(value, tuple) else (value,)))


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """One training run. Two Runs are equal when their digests are."""

    rule: Rule | tuple[Rule, ...] = Boltzmann()
    task: Any = Multiplexer()  # a Task; each kind has settings of its own
    hidden: Any = field((64,), Units("N, hidden units; 64-32 means two layers"))
    episodes: Any = field(None, Count("how many episodes to train", low=1, high=2**31 - 1))
    batch: Any = field(None, Count("episodes an update", low=1))
    learning_rate: Any = field(0.005, Rates("α, Adam's step size"))
    critic: Critic | None = Critic()
    seed: int = field(0, Count("seed of every random number", low=0, high=2**32 - 1))

    def __post_init__(self) -> None:
        put = functools.partial(object.__setattr__, self)
        if not isinstance(self.task, Task):
            raise refuse("task", self.task, "a task such as Multiplexer()")
        if not (self.critic is None or isinstance(self.critic, Critic)):
            raise refuse("critic", self.critic, "a Critic() or None")
        for name in BY_TASK:
            if getattr(self, name) is None:
                put(name, getattr(self.task, name))
        for name, spec in fields.specs(self).items():
            put(name, spec.check(FLAGS.get(name, name), getattr(self, name)))
        if self.episodes % self.batch:
            raise refuse("episodes", self.episodes, f"a multiple of the batch, {self.batch}")
        put("rule", self._checked_rule())
        if not self.task.one_step and not all(rule.centres_reward for rule in self.rules):
            raise refuse("centring", self.rules[0].centring, "reward or both: what is learned from is the TD error")
        if self.task.graded and (mix := _led_astray(self.rules)):
            raise refuse("rewards", "loss", f"drawn to {mix}: the values would move towards a draw, not the answer")
        layers, critic = self._parts
        if isinstance(self.learning_rate, tuple) and len(self.learning_rate) - layers not in {min(critic, 1), critic}:
            of = "each hidden layer, the output" + (" and the critic, or each of its layers" if critic else "")
            counts = " or ".join(map(str, dict.fromkeys((layers + min(critic, 1), layers + critic))))
            raise refuse("learning_rate", self.learning_rate, f"one rate, or {counts}: {of}")

    def _checked_rule(self) -> Rule | tuple[Rule, ...]:
        layers = self.rule if isinstance(self.rule, tuple) else (self.rule,) * len(self.hidden)
        for rule in layers:
            if not isinstance(rule, Rule):
                raise refuse("rule", rule, "a rule such as Boltzmann()")
        if len(layers) != len(self.hidden):
            units, names = "-".join(map(str, self.hidden)), ",".join(rule.name for rule in layers)
            raise refuse("rule", names, f"one rule a hidden layer, of which {units} has {len(self.hidden)}")
        layers = tuple(fields.checked(rule) for rule in layers)
        same = all(_described(rule) == _described(layers[0]) for rule in layers)
        return layers[0] if same else layers

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rule of each hidden layer."""
        return self.rule if isinstance(self.rule, tuple) else (self.rule,) * len(self.hidden)

    @property
    def learning_rates(self) -> tuple[Any, ...]:
        """α of each hidden layer, the output and each of the critic's layers (if there is one)."""
        layers, critic = self._parts
        if not isinstance(self.learning_rate, tuple):
            return (self.learning_rate,) * (layers + critic)
        of_layers, of_critic = self.learning_rate[:layers], self.learning_rate[layers:]
        return of_layers + (of_critic * critic if len(of_critic) == 1 else of_critic)

    @property
    def _parts(self) -> tuple[int, int]:
        """How many layers act, the output included, and how many the critic has."""
        return len(self.hidden) + 1, len(self.critic.widths) + 1 if self.critic else 0

    @property
    def updates(self) -> int:
        return self.episodes // self.batch

    @functools.cached_property
    def setting(self) -> "Run":
        """The run with its seed left at the default: what repeats of it share."""
        return dataclasses.replace(self, seed=0)

    def to_dict(self) -> dict[str, Any]:
        """The full description as plain data."""
        rule = [_described(r) for r in self.rule] if isinstance(self.rule, tuple) else _described(self.rule)
        critic = None if self.critic is None else fields.describe(self.critic)
        return {"rule": rule, "task": _described(self.task), "critic": critic, **fields.describe(self)}

    @classmethod
    def from_dict(cls, data: dict[str, Any], imported_only: bool = False) -> "Run":
        """The run again. `imported_only`: a rule that nobody has imported yet is refused rather than loaded."""
        data, find = dict(data), rules.imported if imported_only else rules.find
        rule, task, critic = data.pop("rule", None), data.pop("task", None), data.pop("critic", {})
        own = fields.specs(cls)
        for name in data:
            if name not in own:
                raise refuse("field", name, f"fields of Run: rule, task, critic, {', '.join(own)}", own)
        if rule is not None:
            made = tuple(_made(r, find) for r in (rule if isinstance(rule, list) else [rule]))
            data["rule"] = made if isinstance(rule, list) else made[0]
        if task is not None:
            data["task"] = _made(task, find_task)
        data["critic"] = None if critic is None else fields.build(Critic, critic)
        return cls(**{name: fields.unplain(value) for name, value in data.items()})

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Run":
        return cls.from_dict(json.loads(text))

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON. Fields at their default are left out, so that a field added
        later changes no digest; for the same reason a default, once published, never changes."""
        text = json.dumps(_without_defaults(self), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


FLAGS = {"hidden": "units"}  # what a field of Run is called where a person meets it, if not by its own name


def find_task(name: str) -> type[Task]:
    if name not in TASKS:
        raise refuse("task", name, f"one of {', '.join(TASKS)}", TASKS)
    return TASKS[name]


def _led_astray(layers: tuple[Rule, ...]) -> str | None:
    """MAP propagation under layers that pass the slope of a graded reward down but do not move themselves."""
    below = False
    for rule in layers:
        if below and isinstance(rule, StraightThrough | WeightMax):
            return f"{MapProp.name} under {rule.name}"
        below = below or isinstance(rule, MapProp)
    return None


def _described(record: Any) -> dict[str, Any]:
    return {"name": record.name, **fields.describe(record)}


def _made(data: dict[str, Any], find: Any) -> Any:
    return fields.build(find(data["name"]), {k: v for k, v in data.items() if k != "name"})


def _without_defaults(run: Run) -> dict[str, Any]:
    data = _changed(run)
    for name in BY_TASK:
        if getattr(run, name) == getattr(run.task, name):
            del data[name]
    data["rule"] = [_named(rule) for rule in run.rule] if isinstance(run.rule, tuple) else _named(run.rule)
    if (task := _named(run.task)) != {"name": Multiplexer.name}:
        data["task"] = task
    if (critic := None if run.critic is None else _changed(run.critic)) != {}:
        data["critic"] = critic
    return data


def _changed(record: Any) -> dict[str, Any]:
    default = {name: fields.plain(value) for name, value in fields.defaults(record).items()}
    return {k: v for k, v in fields.describe(record).items() if v != default[k]}


def _named(record: Any) -> dict[str, Any]:
    return {"name": record.name, **_changed(record)}
