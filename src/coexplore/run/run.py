"""Run: the whole description of one training run, as plain data that is checked, hashed, written and read."""

import dataclasses
import functools
import hashlib
import inspect
import json
from collections.abc import Sequence

from coexplore import network, rules
from coexplore.critic import Critic
from coexplore.laws import Law
from coexplore.network import Network, Params
from coexplore.programs import in_our_config
from coexplore.rules import Boltzmann, Rule
from coexplore.rules.given_answer import misled, without_signal
from coexplore.run.editions import with_edition
from coexplore.run.parts import asked, build_named, check_named, describe_named, named
from coexplore.run.upgrade import content_in_file
from coexplore.settings import (
    Choice,
    Count,
    Json,
    Rates,
    Schedulable,
    Units,
    build,
    checked,
    describe,
    differing,
    is_ours,
    multiplied,
    plain,
    refusal,
    specs,
    unplain,
)
from coexplore.tasks import registry
from coexplore.tasks.base import AnyTask, Task
from coexplore.tasks.control import Control
from coexplore.tasks.multiplexer import Multiplexer
from coexplore.units import INITIAL, SIGNALS
from coexplore.variants import LAYER_REWARD

BY_TASK = ("episodes", "batch")  # whose defaults are the task's
SEED = Count("seed of every random number", low=0, high=2**32 - 1)
FLAGS = {"hidden": "units"}  # what a field of Run is called where a person meets it, if not by its own name


@dataclasses.dataclass(frozen=True, eq=False, init=False)
class Run:
    """One training run. Two Runs are equal when their digests are. `rule` is one for all hidden layers or one for
    each; `task` is what is learned; `critic` estimates V(s), and None does without; `episodes` and `batch` are the
    task's own if not given.
    """

    rule: Rule | tuple[Rule, ...]
    task: AnyTask
    critic: Critic | None
    hidden: tuple[int, ...] = dataclasses.field(
        metadata={"spec": Units("N, hidden units; 64-32 means two layers")},
    )
    episodes: int = dataclasses.field(
        metadata={"spec": Count("how many episodes to train", low=1, high=2**31 - 1)},
    )
    batch: int = dataclasses.field(metadata={"spec": Count("episodes per update", low=1)})
    learning_rate: Schedulable | tuple[Schedulable, ...] = dataclasses.field(
        metadata={"spec": Rates("α, Adam's step size")}
    )
    rate_scaling: str = dataclasses.field(
        metadata={"spec": Choice("fan-in: above the first layer α · observed inputs / the layer's", ("none", "fan-in"))}
    )
    signals: str = dataclasses.field(
        metadata={"spec": Choice("what binary units send up: H, or 2H − 1 if signed", SIGNALS)}
    )
    initial_weights: str = dataclasses.field(
        metadata={"spec": Choice("law of the weights before learning, of variance 2 / (inputs + units)", INITIAL)}
    )
    seed: int = dataclasses.field(metadata={"spec": SEED})

    def __init_subclass__(cls) -> None:
        raise TypeError(f"{cls.__name__}: Run cannot be subclassed, since a run is known by its fields alone")

    def __init__(
        self,
        rule: Rule | Sequence[Rule] = Boltzmann(),
        task: AnyTask = Multiplexer(),
        hidden: int | Sequence[int] = (64,),
        episodes: int | float | None = None,
        batch: int | float | None = None,
        learning_rate: Schedulable | Sequence[Schedulable] = 0.005,
        critic: Critic | None = Critic(),
        seed: int = 0,
        rate_scaling: str = "none",
        signals: str = "binary",
        initial_weights: str = "normal",
    ) -> None:
        put = functools.partial(object.__setattr__, self)
        _check_kinds(task, critic)
        check_named("task", task)
        put("task", with_edition(checked(task)))
        put("critic", critic and checked(critic))
        episodes, batch = (task.episodes if episodes is None else episodes), (task.batch if batch is None else batch)
        given = (hidden, episodes, batch, learning_rate, rate_scaling, signals, initial_weights, seed)
        for (name, spec), value in zip(specs(Run).items(), given, strict=True):
            put(name, spec.check(FLAGS.get(name, name), value))
        put("rule", _checked_rule(rule, self.hidden))
        self._check_together()

    def with_seed(self, seed: int, digest: str | None = None) -> "Run":
        """The run with another seed, unchecked, since a study makes thousands; `digest` is its digest if known."""
        seed, other = int(SEED.check("seed", seed)), object.__new__(Run)
        known = {name: self.__dict__[name] for name in FIELDS}
        known["seed"] = seed
        if digest is not None:
            known["digest"] = digest
        else:
            known["_content"] = {name: value for name, value in self._content.items() if name != "seed"}
            known["_content"] |= {"seed": seed} if seed else {}
        if not self.seed or "setting" in self.__dict__:
            known["setting"] = self.setting
        other.__dict__.update(known)
        return other

    def _check_together(self) -> None:
        """What no field can tell by itself."""
        if self.unit == "steps" and self.episodes != self.task.episodes:
            raise refusal("episodes", self.episodes, "either --episodes or --env-steps")
        if self.length % self.batch:
            name = "env_steps" if self.unit == "steps" else "episodes"
            raise refusal(name, self.length, f"a multiple of the batch, {self.batch}")
        if not isinstance(self.task, Task) and not all(rule.learning_signal.centred for rule in self.rules):
            raise refusal("learning_signal", "reward", "advantage: in environments rules learn from the TD error")
        if asked("task", self.task, "graded") and self._laws:
            self._check_given_answer()
        if len(self.hidden) == 1 and self.rules[0].variant == LAYER_REWARD:
            raise refusal("variant", LAYER_REWARD, "it to several hidden layers: the last one's reward is δ")
        if self.signals == "signed" and not any(law.binary for law in self._laws):
            raise refusal("signals", "signed", f"binary: {self.rules[0].name} has no binary units")
        if isinstance(self.task, Task) and self.critic and self.critic.laws:
            raise refusal("critic_rule", self.critic.rule, "backprop where episodes have one step")
        self._check_rates()

    def _check_given_answer(self) -> None:
        if mix := misled(self.rules):
            raise refusal("rewards", "loss", f"drawn to {mix}: the values would move towards a draw, not the answer")
        for rule in without_signal(self.rules):
            if not rule.learning_signal.centred:
                wanted = f"no signal to {rule.name} with rewards loss: it follows the reward itself"
                raise refusal("learning_signal", rule.learning_signal.name, wanted)

    def _check_rates(self) -> None:
        if self.rate_scaling != "none" and isinstance(self.learning_rate, tuple):
            raise refusal("rate_scaling", self.rate_scaling, "none where each part has a learning rate of its own")
        layers, critic = self._parts
        if isinstance(self.learning_rate, tuple) and len(self.learning_rate) - layers not in {min(critic, 1), critic}:
            of = "each hidden layer, the output" + (" and the critic, or each of its layers" if critic else "")
            counts = " or ".join(map(str, dict.fromkeys((layers + min(critic, 1), layers + critic))))
            raise refusal("learning_rate", self.learning_rate, f"one rate, or {counts}: {of}")
        if isinstance(self.learning_rate, tuple):
            self._check_rates_differ(self.learning_rate, layers)

    def _check_rates_differ(self, rates: tuple[Schedulable, ...], layers: int) -> None:
        """Check that the same rates cannot be written with fewer numbers: one run has one name."""
        shown = Rates("").show
        if len(set(rates)) == 1:
            raise refusal("learning_rate", shown(rates), f"{shown(rates[0])}: it is that of all parts")
        of_critic = rates[layers:]
        if len(of_critic) > 1 and len(set(of_critic)) == 1:
            raise refusal("learning_rate", shown(rates), f"{shown(rates[: layers + 1])}: the last is the critic's")

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rule of each hidden layer."""
        return self.rule if isinstance(self.rule, tuple) else (self.rule,) * len(self.hidden)

    @property
    def _laws(self) -> list[Law]:
        """The law of each hidden layer. A rule of the user's that has none is told so where it is tried out, too."""
        return [asked("rule", rule, "law") for rule in self.rules]

    @property
    def network(self) -> Network:
        return Network(self.rules, self.task.output, self.critic, self.signals)

    @in_our_config
    def init(self) -> Params:
        """The parameters that every engine starts from."""
        params = network.init(self.network, self.sizes, network.root_keys(self.seed)[0])
        return network.spread_evenly(params) if self.initial_weights == "uniform" else params

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of the observation, the hidden layers and the output."""
        return (self.task.size, *self.hidden, self.task.outputs)

    @property
    def learning_rates(self) -> tuple[Schedulable, ...]:
        """α of each hidden layer, the output and each of the critic's layers (if there is one)."""
        layers, critic = self._parts
        if not isinstance(self.learning_rate, tuple):
            scaled = tuple(multiplied(self.learning_rate, share) for share in self._shares)
            return scaled + (self.learning_rate,) * critic
        of_layers, of_critic = self.learning_rate[:layers], self.learning_rate[layers:]
        return of_layers + (of_critic * critic if len(of_critic) == 1 else of_critic)

    @property
    def _shares(self) -> list[float]:
        """What each layer's α is multiplied by: a step of Adam moves a drive by about α per input."""
        D, *hidden = self.sizes[:-1]
        by_inputs = [min(1.0, D / inputs) if self.rate_scaling == "fan-in" else 1.0 for inputs in hidden]
        return [1.0, *by_inputs]

    @property
    def _parts(self) -> tuple[int, int]:
        """How many layers act, the output included, and how many the critic has."""
        return len(self.hidden) + 1, len(self.critic.widths) + 1 if self.critic else 0

    @property
    def length(self) -> int:
        """How much is trained, in `unit`s: episodes, or steps of an environment where these are what was asked for."""
        return (self.task.env_steps if isinstance(self.task, Control) else 0) or self.episodes

    @property
    def unit(self) -> str:
        return "steps" if isinstance(self.task, Control) and self.task.env_steps else "episodes"

    @property
    def updates(self) -> int:
        return self.length // self.batch

    @functools.cached_property
    def setting(self) -> "Run":
        """The run with seed 0, which runs that differ only in their seed share."""
        return self.with_seed(0) if self.seed else self

    def to_dict(self) -> dict[str, Json]:
        """The full description as plain data."""
        rule = [describe_named(r) for r in self.rule] if isinstance(self.rule, tuple) else describe_named(self.rule)
        critic = None if self.critic is None else describe(self.critic)
        return {"rule": rule, "task": describe_named(self.task), "critic": critic, **describe(self)}

    @classmethod
    def from_dict(cls, data: dict[str, Json], imported_only: bool = False) -> "Run":
        """The run that this describes; with `imported_only`, no module is imported for it but an installed plug-in."""
        data, find = dict(data), rules.imported if imported_only else rules.find
        find_task = registry.find if imported_only else registry.asked
        rule, task, critic = data.pop("rule", None), data.pop("task", None), data.pop("critic", {})
        own = specs(cls)
        for name in data:
            if name not in own:
                raise refusal("field", name, f"fields of Run: rule, task, critic, {', '.join(own)}", own)
        if rule is not None:
            layers = rule if isinstance(rule, list) else [rule]
            built = tuple(build_named(each, find, imported_only) for each in layers)
            data["rule"] = built if isinstance(rule, list) else built[0]
        if task is not None:
            data["task"] = build_named(task, find_task, imported_only)
        data["critic"] = None if critic is None else build(Critic, critic)
        return cls(**{name: unplain(value) for name, value in data.items()})

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON. Fields at their default are left out, so that a field added later changes no
        digest; for the same reason a default, once published, never changes."""
        return _hash(self._content)

    def digest_in_file(self, described: Json = None) -> str:
        """The digest in the name of a file that describes the run by `described`, or by default in former names;
        today's digest where no name is a former one."""
        if described is None and not self.setting._was_renamed:
            return self.digest
        content = content_in_file(self._content, described)
        return self.digest if content is None else _hash(content)

    @functools.cached_property
    def _was_renamed(self) -> bool:
        """Whether the run was described in former names."""
        return content_in_file(self._content) is not None

    @functools.cached_property
    def _content(self) -> dict[str, Json]:
        return without_defaults(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


def _hash(content: dict[str, Json]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


FIELDS = tuple(field.name for field in dataclasses.fields(Run))
DEFAULTS = {name: plain(inspect.signature(Run).parameters[name].default) for name in specs(Run)}


def without_defaults(run: Run) -> dict[str, Json]:
    """What the digest is made of."""
    data = {name: value for name, value in describe(run).items() if value != DEFAULTS[name]}
    for name in BY_TASK:
        if getattr(run, name) == getattr(run.task, name):
            del data[name]
    data["rule"] = [named(rule) for rule in run.rule] if isinstance(run.rule, tuple) else named(run.rule)
    if (task := named(run.task)) != {"name": Multiplexer.name}:
        data["task"] = task
    if (critic := None if run.critic is None else differing(run.critic)) != {}:
        data["critic"] = critic
    return data


def _check_kinds(task: object, critic: object) -> None:
    if not isinstance(task, AnyTask):
        raise refusal("task", task, "a task such as Multiplexer()")
    registry.check(task)
    if not (critic is None or type(critic) is Critic):  # the code of a subclass would be no part of the run
        raise refusal("critic", critic, "a Critic() or None")


def _checked_rule(rule: Rule | Sequence[Rule], hidden: tuple[int, ...]) -> Rule | tuple[Rule, ...]:
    """One rule where all layers have the same, else one for each."""
    layers = (rule,) * len(hidden) if isinstance(rule, Rule) else rule
    for each in layers if isinstance(layers, list | tuple) else [layers]:
        if not isinstance(each, Rule):
            raise refusal("rule", each, "a rule such as Boltzmann()")
        check_named("rule", each)
        if not is_ours(type(each)) and (ours := rules.RESERVED.get(each.name)):
            raise refusal("name", each.name, f"one to {type(each).__name__} that is not {ours.__name__}'s")
    if len(layers) != len(hidden):
        units, names = "-".join(map(str, hidden)), ",".join(each.name for each in layers)
        raise refusal("rule", names, f"one rule per hidden layer, of which {units} has {len(hidden)}")
    if isinstance(rule, Rule):
        return with_edition(checked(rule))
    layers = tuple(with_edition(checked(each)) for each in layers)
    return layers[0] if all(describe_named(each) == describe_named(layers[0]) for each in layers) else layers
