"""Former names of settings, when signal and baseline were one: what they mean in a file, and what a person is told."""

import hashlib
import json
from pathlib import Path

import pytest

from coexplore import Boltzmann, Linear, Predicted, Recurrent, Reinforce, Run, WeightMax, grid, load
from coexplore.cli.train import read
from coexplore.cli.tune import tune_command
from coexplore.run import change
from coexplore.run.parts import named
from coexplore.run.selection import select
from coexplore.run.upgrade import former, upgraded, upgraded_names
from coexplore.settings import FieldError

PACK = Path(__file__).parent / "data" / "pack-1.safetensors"
ESTIMATED = {"centring_strength": 0.5, "pair_strength": 0.25, "centring_rate": 2.0}
# Rule and its default, and of each centring: signal, baseline, and the settings that mattered.
MEANT = {
    ("reinforce", "both"): {
        "none": ("reward", "none", {}),
        "activity": ("reward", "probability", {"centring_strength": 0.5}),
        "reward": ("advantage", "none", {}),
        "both": ("advantage", "probability", {"centring_strength": 0.5}),
        "predicted": ("advantage", "predicted", {"centring_strength": 0.5, "centring_rate": 2.0}),
    },
    ("boltzmann", "reward"): {
        "none": ("reward", "none", {}),
        "activity": ("reward", "chains", {"centring_strength": 0.5, "chains": 3}),
        "reward": ("advantage", "none", {}),
        "both": ("advantage", "chains", {"centring_strength": 0.5, "chains": 3}),
        "mean": ("centred-advantage", "none", {"centring_rate": 2.0}),
        "half": ("advantage", "half", {"centring_strength": 0.5, "pair_strength": 0.25}),
        "drive": ("advantage", "drive", {"centring_strength": 0.5, "pair_strength": 0.25}),
        "usual": ("advantage", "usual", ESTIMATED),
        "predicted": ("advantage", "predicted", ESTIMATED),
        "learned": ("advantage", "learned", {"centring_strength": 0.5, "centring_rate": 2.0}),
    },
    **{
        (rule, "both"): {"activity": ("reward", "none", {}), "both": ("advantage", "none", {})}
        for rule in ("ste", "weight-max", "unbiased-weight-max", "map-prop", "backprop")
    },
}
MEANT["recurrent", "both"] = MEANT["reinforce", "both"]
NEW = {"centring_strength": "strength", "pair_strength": "pairs", "centring_rate": "rate", "chains": "chains"}
EVERY = [
    pytest.param(rule, usual, centring, settings if with_settings else {}, id=f"{rule}-{centring}-{with_settings}")
    for (rule, usual), centrings in MEANT.items()
    for centring, (_, _, settings) in centrings.items()
    for with_settings in ((False, True) if settings else (False,))
]


def digest(content):
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(("rule", "usual", "centring", "settings"), EVERY)
def test_every_centring_means_a_signal_and_a_baseline_and_keeps_the_name_of_its_file(rule, usual, centring, settings):
    told = {"name": rule, "centring": centring, **settings}
    run = Run.from_dict({"rule": told}, imported_only=True)
    (mine,) = run.rules
    signal, baseline, _ = MEANT[rule, usual][centring]
    assert (mine.learning_signal.name, mine.baseline.name) == (signal, baseline)
    part = mine.learning_signal if centring == "mean" else mine.baseline
    assert {name: getattr(part, NEW[name]) for name in settings} == settings
    written = {"name": rule, **({"centring": centring} if centring != usual else {}), **settings}
    assert run.digest_in_file() == run.digest_in_file({"rule": told}) == digest({"rule": written})
    assert (run.digest == run.digest_in_file()) == (centring == usual and not settings)
    assert run == Run.from_dict(run.to_dict())


@pytest.mark.parametrize(
    ("told", "variant"),
    [
        ({"name": "boltzmann", "depression": "one-without-other", "depression_strength": 0.5}, "depression"),
        ({"name": "recurrent", "centring": "reward", "depression": "post-before-pre"}, "depression"),
        ({"name": "recurrent", "layer_reward": "path"}, "layer-reward"),
        ({"name": "boltzmann", "centring": "both", "chains": 2, "layer_reward": "last"}, "layer-reward"),
    ],
)
def test_depression_and_rewards_per_layer_are_variants_and_keep_the_names_of_their_files(told, variant):
    described = {"rule": told, "hidden": [4, 3]}
    run = Run.from_dict(described, imported_only=True)
    assert run.rules[0].variant == named(run.rules[0])["variant"] == variant
    assert run.digest_in_file() == run.digest_in_file(described) == digest(described)
    assert run.digest != run.digest_in_file()
    assert Run.from_dict(run.to_dict()) == run


def test_settings_that_had_no_effect_are_dropped_and_still_name_the_file():
    told = {"name": "boltzmann", "centring": "reward", "chains": 4, "pair_strength": 0.5, "depression_strength": 3.0}
    run = Run.from_dict({"rule": told}, imported_only=True)
    assert run == Run()
    written = {"name": "boltzmann", "chains": 4, "pair_strength": 0.5, "depression_strength": 3.0}
    assert run.digest_in_file({"rule": told}) == digest({"rule": written})


def test_what_no_centring_meant_has_no_former_name():
    rules = [{"name": "boltzmann", "learning_signal": "reward", "baseline": "predicted"}]
    rules += [{"name": "boltzmann", "learning_signal": "centred-advantage", "baseline": "half"}]
    assert [former(rule) for rule in rules] == [None, None]
    assert upgraded(rules[0]) == rules[0]
    run = Run.from_dict({"rule": rules[0]})
    assert run.digest_in_file() == run.digest


def test_tensors_are_renamed_where_a_layer_learned_to_centre_itself_and_nowhere_else():
    layers = [
        {"name": "boltzmann", "centring": "learned"},
        {"name": "boltzmann", "centring": "mean"},
        {"name": "recurrent", "centring": "both"},
    ]
    names = ["params.layers.0.Q", "snapshots.norm.layers.0.U", "params.layers.1.m", "params.layers.2.u", "curve"]
    names += ["whole.params.layers.0.u", "params.layers.0.W", "params.critic.hidden.W"]
    renamed = upgraded_names({"rule": layers}, dict.fromkeys(names))
    assert list(renamed) == [
        "params.parts.0.baseline.Q",
        "snapshots.norm.parts.0.baseline.U",
        "params.parts.1.learning_signal.m",
        "params.layers.2.u",
        "curve",
        "whole.params.parts.0.baseline.u",
        "params.layers.0.W",
        "params.critic.hidden.W",
    ]


ASKED = {  # what a person asks for in former words, and how it is written now
    "centring: 'both' .*; give --baseline chains$": lambda: change(Run(), "centring", "both"),
    "centring: 'mean' .*; give --learning-signal centred-advantage$": lambda: grid(Run(), centring=["mean"]),
    "centring: 'activity' .*; give --learning-signal reward$": lambda: change(Run(WeightMax()), "centring", "activity"),
    "centring: 'none' .*; give --learning-signal reward --baseline none$": lambda: Run.from_dict(
        {"rule": {"name": "reinforce", "centring": "none"}}
    ),
    "centring_strength: 0.5 .*; give --baseline-strength 0.5$": lambda: grid(Run(Reinforce()), centring_strength=[0.5]),
    r"centring_strength: Linear.*; give --baseline-strength 1.0..0.5$": lambda: grid(
        Run(Reinforce()), centring_strength=Linear(1.0, 0.5)
    ),
    "depression: 'post-before-pre' .*; give --variant depression --variant-form post-before-pre$": lambda: change(
        Run(), "depression", "post-before-pre"
    ),
    "depression: 'none' .*; give nothing": lambda: Run.from_dict({"rule": {"name": "boltzmann", "depression": "none"}}),
    "layer_reward: 'global' .*; give nothing": lambda: change(Run(), "layer_reward", "global"),
    # keywords
    "centring: 'both' .*; give baseline='chains'$": lambda: Boltzmann(centring="both"),
    "centring: 'none' .*; give learning_signal='reward', baseline='none'$": lambda: Recurrent(centring="none"),
    r"chains: 3 .*; give baseline=Chains\(chains=3\)$": lambda: Boltzmann(chains=3),
    r"centring_strength: 0.5 .*; give baseline=Probability\(strength=0.5\)$": lambda: Reinforce(centring_strength=0.5),
    "layer_reward: 'last' .*; give variant='layer-reward', variant_by='last' to grid": lambda: Recurrent(
        layer_reward="last"
    ),
    # flags
    "--centring predicted is .*; give --baseline predicted$": lambda: read(["boltzmann", "--centring", "predicted"]),
    "--centring both is .*; give nothing": lambda: read(["reinforce", "--centring=both", "--units", "8"]),
    "--chains 1 16 is .*; give --baseline chains --baseline-chains 1 16$": lambda: read(
        ["reinforce", "boltzmann", "--chains", "1", "16", "--centring-strength", "0.5", "1"]
    ),
    "--pair-strength 0.5 is .*; give --baseline-pairs 0.5$": lambda: read(["boltzmann", "--pair-strength", "0.5"]),
    "flag: '--pair-strength' is not allowed": lambda: read(["reinforce", "--pair-strength", "0.5"]),
    "grid: chains=1,2 is .*; give --baseline chains --baseline-chains 1,2$": lambda: tune_command(
        ["boltzmann", "--grid", "chains=1,2"]
    ),
    "select: centring=both is .*; give learning-signal=advantage,baseline=chains$": lambda: select(
        load(PACK), "rule=boltzmann,centring=both"
    ),
}


@pytest.mark.parametrize("line", ASKED)
def test_a_person_who_uses_a_former_word_is_told_the_new_one_in_a_line(line):
    with pytest.raises(FieldError, match=line) as refused:
        ASKED[line]()
    assert "\n" not in str(refused.value)


def test_a_part_given_by_its_name_is_the_part_with_its_defaults():
    assert Boltzmann(baseline="predicted").baseline == Predicted()
    with pytest.raises(FieldError, match="baseline: 'both' is not allowed"):
        Boltzmann(baseline="both")
    with pytest.raises(TypeError, match="other"):
        Boltzmann(other="both")
