"""The network that cpu and cuda train: one hidden layer of binary units on the multiplexer. The rest is xla's."""

import functools
from typing import NamedTuple

import jax

from coexplore.rules import Boltzmann, StraightThrough
from coexplore.rules.boltzmann import Chains
from coexplore.rules.centring import LEARNED
from coexplore.rules.chain import Synchronous
from coexplore.run.run import Run
from coexplore.settings import Scalar, schedule
from coexplore.tasks.multiplexer import Multiplexer

Ends = tuple[float, float]  # of a schedule
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
    centring_rate: float  # so is that of U and u


def refused(run: Run) -> str | None:
    """None, or why neither of the two trains the run."""
    rule, critic, rates = run.rules[0], run.critic, run.learning_rates[2:]
    phases = isinstance(rule, Boltzmann) and (rule.sampler == "one-by-one" or rule.centres_activity)
    learns = rule.centring in LEARNED and (not isinstance(rule, Boltzmann) or rule.centring not in CENTRES)
    depresses = getattr(rule, "depression", "none") != "none"
    deep = critic is not None and (len(critic.widths) > 1 or critic.activation == "softplus")
    reasons = {
        "it trains on the multiplexer": type(run.task) is not Multiplexer,
        "it takes one hidden layer": len(run.hidden) > 1,
        "its boltzmann samples all units at once and has no negative phase": phases,
        f"it centres by nothing that is learned but {', '.join(CENTRES)} of boltzmann": learns,
        "its rules depress nothing (boltzmann has centring half)": depresses,
        "its ste has no identity slope": isinstance(rule, StraightThrough) and rule.slope != "sigmoid",
        "its critic has one hidden layer of relu or tanh units": deep,
        "its critic learns at one rate": any(rate != rates[0] for rate in rates),
    }
    return next((reason for reason, applies in reasons.items() if applies), None)


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
    law = law.chain if isinstance(law, Chains) else law
    return law if isinstance(law, Synchronous) else None


def centre(run: Run) -> str:
    """By which the hidden layer centres its activity."""
    return run.rules[0].centring if run.rules[0].centring in CENTRES else "none"


def predicts(run: Run) -> bool:
    """Whether its units learn to predict themselves."""
    return centre(run) == "predicted"


def centres_pairs(run: Run) -> bool:
    """Whether its W_rec is centred too."""
    return centre(run) != "none" and numbers(run).pair_strength != (0.0, 0.0)


def steps(run: Run) -> int:
    drawn = chain(run)
    return drawn.steps if drawn else 1


def numbers(run: Run) -> Numbers:
    rule, drawn, rates = run.rules[0], chain(run), run.learning_rates
    hidden, output, critic = (_ends(rate) for rate in (*rates, *rates[-1:])[:3])
    coupling = _ends(drawn.coupling if drawn else 0.0)
    strength, pairs = (_ends(getattr(rule, f"{what}_strength", 1.0)) for what in ("centring", "pair"))
    decay, *rates_of = (float(getattr(rule, name, 0.0)) for name in ("trace_decay", "recurrent_rate", "centring_rate"))
    return Numbers(coupling, strength, pairs, hidden, output, critic, decay, *rates_of)


def _ends(x: Scalar) -> Ends:
    line = schedule(x)
    return float(line.start), float(line.stop)
