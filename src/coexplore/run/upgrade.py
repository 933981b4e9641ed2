"""Descriptions of our own rules in former names, as files have them, in the names of today.

A file keeps the description that it was written with. What it means is worked out here when the file is read: the rule,
the names of its tensors and the digest in the file's name. Which names are former ones: rules/renamed.py.
"""

import re
from collections.abc import Mapping
from typing import TypeVar

from coexplore.rules import BUILT_IN
from coexplore.rules.renamed import CENTRINGS, LOCAL, SIGNALS, baseline_of, usual_baseline, usual_centring
from coexplore.settings import Json, Number, plain, unplain

T = TypeVar("T")
DEFAULTS: Mapping[str, Json] = {  # of the old settings, which a rule had only some of
    "chains": 1,
    "centring_strength": 1.0,
    "pair_strength": 0.0,
    "centring_rate": 1.0,
    "depression": "none",
    "depression_strength": 1.0,
    "layer_reward": "global",
}
OLD = ("centring", *DEFAULTS)
SETTINGS: Mapping[str, Mapping[str, str]] = {  # of each baseline: what its settings were called
    "none": {},
    "probability": {"strength": "centring_strength"},
    "chains": {"strength": "centring_strength", "chains": "chains"},
    "half": {"strength": "centring_strength", "pairs": "pair_strength"},
    "drive": {"strength": "centring_strength", "pairs": "pair_strength"},
    "usual": {"strength": "centring_strength", "pairs": "pair_strength", "rate": "centring_rate"},
    "predicted": {"strength": "centring_strength", "pairs": "pair_strength", "rate": "centring_rate"},
    "learned": {"strength": "centring_strength", "rate": "centring_rate"},
}
LEARNED = ("mean", "usual", "predicted", "learned")  # centrings that had parameters of their own
PART_TENSORS = re.compile(r"^(.*\b(?:params|norm))\.layers\.(\d{1,3})\.([UuQm])$")


def upgraded(data: Mapping[str, Json]) -> dict[str, Json]:
    """A rule's description in the names of today; one without old names as it is."""
    old = {name: data[name] for name in OLD if name in data}
    new = {name: value for name, value in data.items() if name not in OLD}
    if not old:
        return new
    rule = data["name"]
    centring = old.get("centring", usual_centring(rule))
    if centring not in CENTRINGS:
        raise ValueError(f"no rule has ever had the centring {centring!r}")
    new["learning_signal"] = SIGNALS.get(centring, "advantage")
    if centring == "mean" and "centring_rate" in old:
        new["learning_signal_rate"] = old["centring_rate"]
    if rule in LOCAL:
        new["baseline"] = baseline = baseline_of(rule, centring)
        named = SETTINGS[baseline].items()
        own_pairs = rule == "boltzmann"  # a baseline's `pairs` are no setting of the other rules
        new |= {f"baseline_{own}": old[was] for own, was in named if was in old and (own != "pairs" or own_pairs)}
    if old.get("depression", "none") != "none":
        strength = old.get("depression_strength", DEFAULTS["depression_strength"])
        new |= {"variant": "depression", "variant_form": old["depression"], "variant_strength": strength}
    if old.get("layer_reward", "global") != "global":
        if "variant" in new:
            raise ValueError("a rule with depression and with a reward per layer has no name any more")
        new |= {"variant": "layer-reward", "variant_by": old["layer_reward"]}
    return new


def former(data: Mapping[str, Json]) -> dict[str, Json] | None:
    """The description without defaults that a rule of ours had in old names; None if it has the same today, or had
    none. Rules of users were never renamed, whatever their settings are called.

    `data`: name and settings that are not at their defaults.
    """
    if data["name"] not in BUILT_IN:
        return None
    signal, baseline = data.get("learning_signal", "advantage"), data.get("baseline", usual_baseline(data["name"]))
    strengths = {name: value for name, value in data.items() if name.startswith(("baseline_", "learning_signal_"))}
    if not strengths.keys() | data.keys() & {"learning_signal", "baseline", "variant"}:
        return None
    centring = _centring(data["name"], signal, baseline)
    if centring is None:
        return None
    old: dict[str, Json] = {"centring": centring}
    old |= {SETTINGS[baseline][own.removeprefix("baseline_")]: value for own, value in strengths.items()
            if own.startswith("baseline_")}  # fmt: skip
    if "learning_signal_rate" in strengths:
        old["centring_rate"] = strengths["learning_signal_rate"]
    if data.get("variant") == "depression":
        old |= {"depression": data.get("variant_form", "pre-without-post")}
        old |= {"depression_strength": data["variant_strength"]} if "variant_strength" in data else {}
    if data.get("variant") == "layer-reward":
        old["layer_reward"] = data.get("variant_by", "path")
    return _without_parts(data) | without_defaults(data["name"], old)


def content_in_file(content: Mapping[str, Json], described: Mapping[str, Json] | None = None) -> dict[str, Json] | None:
    """What the digest of a run was made of under old names; None if it is made of the same today.

    Args:
        content: what the digest is made of today.
        described: the run as a file describes it; without it, old names are worked out from today's.
    """
    now = content["rule"] if isinstance(content["rule"], list) else [content["rule"]]
    if described is None:
        before = list(map(former, now))
    else:
        told = described["rule"] if isinstance(described["rule"], list) else [described["rule"]]
        before = [_as_told(*pair) for pair in zip(now, told, strict=True)] if len(now) == len(told) else [None]
    if all(each is None for each in before):
        return None
    layers = [old if old is not None else new for old, new in zip(before, now, strict=False)]
    return {**content, "rule": layers if isinstance(content["rule"], list) else layers[0]}


def _as_told(now: Mapping[str, Json], told: Mapping[str, Json]) -> dict[str, Json] | None:
    """A rule's content under the old names that a description has; None if it has none."""
    old = {name: told[name] for name in OLD if name in told and now["name"] in BUILT_IN}
    return {**_without_parts(now), **without_defaults(now["name"], old)} if old else None


def _without_parts(data: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in data.items() if not name.startswith(("baseline", "learning_", "variant"))}


def without_defaults(rule: str, old: Mapping[str, Json]) -> dict[str, Json]:
    """Old settings that are not at the defaults that they had, in the form that files have."""
    usual = {"centring": usual_centring(rule), **DEFAULTS}
    return {name: _as_in_files(name, value) for name, value in old.items() if value != usual[name]}


def _as_in_files(name: str, value: Json) -> Json:
    """The value of an old setting as its field normalised it."""
    if isinstance(value, str) or name == "chains":
        return value
    return plain(Number("", schedule=True).check(name, unplain(value)))


def upgraded_names(described: Mapping[str, Json], tensors: Mapping[str, T]) -> dict[str, T]:
    """Tensors of a file by the names of today: what a part of a rule learned was a parameter of the layer.

    `described`: the run as the file describes it.
    """
    rules = described["rule"] if isinstance(described["rule"], list) else [described["rule"]]

    def renamed(match: re.Match[str]) -> str:
        rule = rules[min(int(match[2]), len(rules) - 1)]
        if rule.get("centring") not in LEARNED or rule["name"] not in LOCAL:
            return match[0]
        home = "learning_signal" if match[3] == "m" else "baseline"
        return f"{match[1]}.parts.{match[2]}.{home}.{match[3]}"

    return {PART_TENSORS.sub(renamed, name): tensor for name, tensor in tensors.items()}


def _centring(rule: str, signal: str, baseline: str) -> str | None:
    """The inverse of what `upgraded` makes of a centring; None if no centring meant this."""
    if rule not in LOCAL:
        return {"reward": "activity", "advantage": "both"}.get(signal)
    found = (
        each for each in CENTRINGS if SIGNALS.get(each, "advantage") == signal and baseline_of(rule, each) == baseline
    )
    return next(found, None)
