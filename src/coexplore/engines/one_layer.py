"""The network that cpu and cuda train: one hidden layer of binary units on the multiplexer. The rest is xla's.

`ACCEPTED` lists what the two engines can: for each record that a Run is made of, the fields that may differ from their
defaults, and to which values. Whatever is not listed is refused, so that a setting which is added later trains on `xla`
until an engine has learned it.
"""

import dataclasses
import functools
import inspect
import itertools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import jax

from coexplore.critic import Critic
from coexplore.laws import Synchronous, TwoPhase
from coexplore.rules import Boltzmann, Recurrent, Reinforce, Rule, StraightThrough, UnbiasedWeightMax
from coexplore.rules.baseline import Drive, Half, Nothing, Predicted, Probability
from coexplore.rules.learning_signal import Advantage, Reward
from coexplore.run.run import Run
from coexplore.settings import Part, Scalar, flat_values, schedule, specs
from coexplore.tasks.multiplexer import Multiplexer

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
else:
    DataclassInstance = object

Ends = tuple[float, float]  # of a schedule
Accepts = Callable[[Any], bool]
WITH_PROBABILITY = ("ste", "unbiased-weight-max", "expected")  # rules that have it in their credit
CENTRES = ("half", "drive", "predicted")  # that Algorithm 1 has there


class Numbers(NamedTuple):
    coupling: Ends
    strength: Ends
    pair_strength: Ends
    rate_hidden: Ends
    rate_output: Ends
    rate_critic: Ends  # that of the output where there is no critic
    trace_decay: float
    recurrent_rate: float  # W_rec's rate is so many times rate_hidden
    baseline_rate: float  # so is that of U and u


def _any(value: object) -> bool:
    return True


def _numbers(*names: str) -> Mapping[str, Accepts]:
    """Fields that may have any value."""
    return dict.fromkeys(names, _any)


def _one_of(*values: str) -> Accepts:
    return lambda value: value in values


def _part(*kinds: type[Part]) -> Accepts:
    return lambda value: type(value) in kinds


def _one_layer(sizes: Any) -> bool:
    return not isinstance(sizes, tuple) or len(sizes) == 1


def _one_critic_rate(rates: Any) -> bool:
    """Whether all layers of the critic learn at one rate. Rates of the hidden layer and the output come before."""
    return not isinstance(rates, tuple) or all(rate == rates[2] for rate in rates[2:])


_COUPLED: Mapping[str, Accepts] = {
    "chain_signals": _one_of("binary", "signed"),
    **_numbers("coupling", "steps", "recurrent_rate"),
}
_SIGNAL: Mapping[str, Accepts] = {"learning_signal": _part(Reward, Advantage)}
_PROBABILITY: Mapping[str, Accepts] = {"baseline": _part(Nothing, Probability)}
ACCEPTED: Mapping[type, Mapping[str, Accepts]] = {
    Run: {
        "hidden": _one_layer,
        "learning_rate": _one_critic_rate,
        "signals": _one_of("binary", "signed"),
        "initial_weights": _one_of("normal", "uniform"),
        **_numbers("episodes", "batch", "seed"),
    },
    Multiplexer: {
        "bits": _any,
        "encoding": _one_of("signed", "binary"),
        "rewards": _one_of("signed", "binary"),
        "source": _any,  # where a person found the task
    },
    Critic: {"activation": _one_of("relu", "tanh", "linear", "mean"), "width": _one_layer},
    Reinforce: {**_SIGNAL, **_PROBABILITY},
    Boltzmann: {
        **_COUPLED,
        **_SIGNAL,
        "sampler": _one_of("synchronous", "lazy"),
        "baseline": _part(Nothing, Half, Drive, Predicted),
    },
    Recurrent: {**_COUPLED, **_SIGNAL, **_PROBABILITY, **_numbers("trace_decay")},
    StraightThrough: _SIGNAL,
    UnbiasedWeightMax: {**_SIGNAL, "expected": _any},
    Reward: {},
    Advantage: {},
    Nothing: {},
    Probability: _numbers("strength"),
    Half: _numbers("strength", "pairs"),
    Drive: _numbers("strength", "pairs"),
    Predicted: _numbers("strength", "pairs", "rate"),
}
FLAGS = {"hidden": "units", "activation": "critic", "width": "critic_width"}  # fields that a flag calls otherwise


def refused(run: Run) -> str | None:
    """None, or why neither of the two engines trains the run."""
    if len(run.hidden) > 1:
        return "it takes one hidden layer"
    rule = run.rules[0]
    records = [rule, run.task, *([run.critic] if run.critic else [])]
    for record in records:
        if type(record) not in ACCEPTED:
            variant = f", variant {record.variant}" if isinstance(record, Rule) and record.variant else ""
            return f"it does not train {getattr(record, 'name', type(record).__name__)}{variant}"
    reasons = map(_refused_field, [*records, run])
    of_parts = (_refused_field(getattr(rule, name), f"{name}_") for name in ("learning_signal", "baseline"))
    return next(filter(None, itertools.chain(reasons, of_parts)), None)  # a part that is refused has no list


def _refused_field(record: Any, prefix: str = "") -> str | None:
    """The first field of a record that has another value than its default, and one that is not accepted."""
    kind: type[DataclassInstance] = type(record)
    accepted, own = ACCEPTED[kind], specs(kind)
    for name, default in _defaults(kind).items():
        value = getattr(record, name)
        if value != default and not (name in accepted and accepted[name](value)):
            shown = own[name].show(value) if name in own else repr(value)
            return f"it does not take {(prefix + FLAGS.get(name, name)).replace('_', '-')} {shown}"
    return None


@functools.cache
def _defaults(kind: type[DataclassInstance]) -> Mapping[str, Any]:
    """Field name → default; of a Run without the rule, the task and the critic, which are records of their own."""
    given = inspect.signature(kind).parameters
    fields = {f.name: f.default for f in dataclasses.fields(kind)}
    missing = {name: given[name].default for name, value in fields.items() if value is dataclasses.MISSING}
    return {name: value for name, value in (fields | missing).items() if name not in ("rule", "task", "critic")}


def structure(run: Run) -> jax.tree_util.PyTreeDef:
    """The tree that the parameters of a run make."""
    return _structure(run.setting)


@functools.lru_cache(maxsize=10_000)
def _structure(setting: Run) -> jax.tree_util.PyTreeDef:
    return jax.tree.structure(jax.eval_shape(setting.init))  # which takes 10 ms


def multiplexer(run: Run) -> Multiplexer:
    assert isinstance(run.task, Multiplexer)
    return run.task


def chain(run: Run) -> Synchronous | None:
    """The chain by which the hidden layer draws; None for independent units."""
    law = run.rules[0].law
    law = law.chain if isinstance(law, TwoPhase) else law
    return law if isinstance(law, Synchronous) else None


def form(run: Run) -> str:
    """The rule of the hidden layer as kernels count them: by its name, but `expected` where it is in that form."""
    rule = run.rules[0]
    return "expected" if flat_values(rule).get("expected") else rule.name


def centre(run: Run) -> str:
    """What Algorithm 1's hidden layer subtracts from H, and from pairs."""
    name = run.rules[0].baseline.name
    return name if name in CENTRES else "none"


def predicts(run: Run) -> bool:
    """Whether its units learn to predict themselves."""
    return centre(run) == Predicted.name


def subtracts_probability(run: Run) -> bool:
    """Whether p is subtracted from H. The credits of ste and unbiased-weight-max have it in them."""
    return run.rules[0].baseline.name == Probability.name or form(run) in WITH_PROBABILITY


def centres_pairs(run: Run) -> bool:
    """Whether W_rec's pairs are centred too."""
    return centre(run) != "none" and numbers(run).pair_strength != (0.0, 0.0)


def steps(run: Run) -> int:
    drawn = chain(run)
    return drawn.steps if drawn else 1


def numbers(run: Run) -> Numbers:
    rule, drawn, rates = run.rules[0], chain(run), run.learning_rates
    hidden, output, critic = (_ends(rate) for rate in (*rates, *rates[-1:])[:3])
    own: Mapping[str, Any] = flat_values(rule)
    coupling = _ends(drawn.coupling if drawn else 0.0)
    strength, pairs = _ends(own.get("baseline_strength", 1.0)), _ends(own.get("baseline_pairs", 0.0))
    decay, recurrent_rate = (float(own.get(name, 0.0)) for name in ("trace_decay", "recurrent_rate"))
    baseline_rate = float(rule.baseline.rate) if form(run) == Boltzmann.name else 0.0
    return Numbers(coupling, strength, pairs, hidden, output, critic, decay, recurrent_rate, baseline_rate)


def _ends(x: Scalar) -> Ends:
    line = schedule(x)
    return float(line.start), float(line.stop)
