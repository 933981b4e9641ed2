"""What neither of the fused engines trains: it is xla's."""

from coexplore.rules import Boltzmann, StraightThrough
from coexplore.run import Run
from coexplore.tasks.multiplexer import Multiplexer


def refused(run: Run) -> str | None:
    rule, critic, rates = run.rules[0], run.critic, run.learning_rates[2:]
    phases = isinstance(rule, Boltzmann) and (rule.sampler != "synchronous" or rule.centres_activity)
    deep = critic is not None and (len(critic.widths) > 1 or critic.activation == "softplus")
    reasons = {
        "it trains on the multiplexer": not isinstance(run.task, Multiplexer),
        "it takes one hidden layer": len(run.hidden) > 1,
        "its boltzmann samples synchronously and has no negative phase": phases,
        "its ste has no identity slope": isinstance(rule, StraightThrough) and rule.slope != "sigmoid",
        "its critic has one hidden layer of relu or tanh units": deep,
        "its critic learns at one rate": any(rate != rates[0] for rate in rates),
    }
    return next((reason for reason, applies in reasons.items() if applies), None)
