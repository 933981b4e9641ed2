"""Former names of settings of rules, and how a person writes them now.

`centring` was one word for what multiplies (the learning signal) and for what is subtracted (the baseline); depression
and rewards per layer were settings of the rules, and are variants. Files may have these names (run/upgrade.py).
"""

from collections.abc import Mapping

from coexplore.settings import FieldError, Json, Linear, OneOf, Spec, unplain

LOCAL = ("boltzmann", "recurrent", "reinforce")  # rules with a baseline; the others had a centring for its signal
COUPLED = ("boltzmann", "recurrent")
USUAL = {"boltzmann": "reward"}  # the default centring; that of all other rules was "both"
CENTRINGS = ("none", "activity", "reward", "both", "mean", "half", "drive", "usual", "predicted", "learned")
ESTIMATES = ("half", "drive", "usual", "predicted", "learned")  # centrings that are baselines of the same name
SIGNALS = {"none": "reward", "activity": "reward", "mean": "centred-advantage"}  # of all other centrings: advantage
HAVING = {  # which rules had a setting; all had a centring
    "chains": ("boltzmann",),
    "centring_strength": LOCAL,
    "pair_strength": ("boltzmann",),
    "centring_rate": LOCAL,
    "depression": COUPLED,
    "depression_strength": COUPLED,
    "layer_reward": COUPLED,
}
FORMER = frozenset(("centring", *HAVING))
OF_BASELINE = {"chains": "chains", "centring_strength": "strength", "pair_strength": "pairs", "centring_rate": "rate"}
UNSAID = {"depression": "none", "layer_reward": "global"}  # values that no longer have a word
NOTHING = "nothing: it is the default"


def usual_centring(rule: str) -> str:
    """The centring that a rule had by default."""
    return USUAL.get(rule, "both")


def baseline_of(rule: str, centring: str) -> str:
    """The baseline that a centring meant."""
    if centring in ESTIMATES:
        return centring
    if centring in ("activity", "both"):
        return "chains" if rule == "boltzmann" else "probability"
    return "none"


def usual_baseline(rule: str) -> str:
    return baseline_of(rule, usual_centring(rule)) if rule in LOCAL else "none"


def settings_now(rule: str, name: str, value: object) -> dict[str, object] | None:
    """The settings that a former one is written as now, by flat name; None if the rule never had it."""
    if name == "centring" and value in CENTRINGS and (rule in LOCAL or value not in ESTIMATES):
        signal: dict[str, object] = {"learning_signal": SIGNALS.get(str(value), "advantage")}
        return {**signal, "baseline": baseline_of(rule, str(value))} if rule in LOCAL else signal
    if rule not in HAVING.get(name, ()):
        return None
    if value == UNSAID.get(name):
        return {}
    words: Mapping[str, dict[str, object]] = {
        "chains": {"baseline": "chains", "baseline_chains": value},
        "depression": {"variant": "depression", "variant_form": value},
        "depression_strength": {"variant": "depression", "variant_strength": value},
        "layer_reward": {"variant": "layer-reward", "variant_by": value},
    }
    return words.get(name) or {f"baseline_{OF_BASELINE[name]}": value}


def advice(rule: str, name: str, value: Json) -> str | None:
    """The flags that a person gives for a former setting now; None if the rule never had it."""
    now = settings_now(rule, name, value)
    if now is None:
        of_baseline = " and --baseline" if rule in LOCAL else ""
        return f"--learning-signal{of_baseline}" if name == "centring" else None
    usual = {"learning_signal": "advantage", "baseline": usual_baseline(rule)}
    flags = [f"--{key.replace('_', '-')} {_text(each)}" for key, each in now.items() if usual.get(key) != each]
    either = ", or --learning-signal-rate" if name == "centring_rate" and rule == "boltzmann" else ""
    return " ".join(flags) + either or NOTHING


def selection(rule: str, name: str, value: str) -> str | None:
    """A former setting as one selects results by it now: `baseline=chains,baseline-chains=4`."""
    now = settings_now(rule, name, value)
    return ",".join(f"{key.replace('_', '-')}={each}" for key, each in now.items()) if now else None


def keywords(rule: str, name: str, value: object, specs: Mapping[str, Spec]) -> str | None:
    """A former setting as a keyword of a rule with these specs: `baseline=Chains(chains=4)`."""
    now = settings_now(rule, name, value)
    if now is None:
        return advice(rule, name, value) and "learning_signal and baseline"
    if name in OF_BASELINE and isinstance(spec := specs["baseline"], OneOf):
        kind = next(each for each in spec.options if OF_BASELINE[name] in spec.settings(each))
        return f"baseline={kind.__name__}({OF_BASELINE[name]}={value!r})"
    if "variant" in now:
        return f"{', '.join(f'{key}={each!r}' for key, each in now.items())} to grid(run, …)"
    usual = {"learning_signal": "advantage", "baseline": usual_baseline(rule)}
    return ", ".join(f"{key}={each!r}" for key, each in now.items() if usual.get(key) != each) or NOTHING


def written_now(setting: str, now: str) -> FieldError:
    """The error to raise where a person gives a former setting."""
    return FieldError(f"{setting} is written otherwise now; give {now}")


def _text(value: object) -> str:
    value = unplain(value)
    return f"{value.start}..{value.stop}" if isinstance(value, Linear) else f"{value}"
