"""Digests of runs, which name files in every store: those of all packs in results/, of tests/data, and of settings that
are drawn at random. A change of the library must not change them.

    python tests/goldens.py record digests    writes tests/golden/digests.json
    python tests/digests.py [SOURCE]          prints each digest and its run: a diff of two lists tells which changed

Every run is read from its description, as files have it, and its digest is worked out again. One hash stands for the
sorted digests of a source, in up to three parts:

    plain      names no centring, no depression and no layer reward: these digests never change
    numbers    names only numbers that go with one of them, such as `centring_strength`
    variants   names a centring, a depression or a layer reward

"Names" means: has a value other than the rule's default. Of `numbers` and `variants` these are the digests that files
have in their names, of descriptions in former names; `numbers now` and `variants now` are the runs' own. What
is drawn comes from the table below: names and values are those of files, whatever the library's classes look like. Do
not reorder it: the order decides what is drawn.
"""

import functools
import hashlib
import json
import random
import sys
from pathlib import Path

from safetensors import safe_open
from variants import VARIANTS

from coexplore import Run

ROOT = Path(__file__).parents[1]
RESULTS, DATA = ROOT / "results", ROOT / "tests" / "data"
DRAWN = 3_200  # of which the library accepts 2,000 and more
NAMED, SHARE = 0.4, 0.2  # how often a setting is named; how often layers have rules of their own
DEFAULTS = {"boltzmann": "reward"}  # the centring of a rule; of the others "both"
BASELINES = {"reinforce": "probability", "recurrent": "probability"}  # of the others "none"
VARYING = {"depression": "none", "layer_reward": "global", "learning_signal": "advantage", "variant": ""}
FORMER = {"centring_strength": 1, "centring_rate": 1, "pair_strength": 0, "chains": 1, "depression_strength": 1}
NUMBERS = {**FORMER, "baseline_strength": 1}


def falling(start, stop):
    return {"start": start, "stop": stop}


STRENGTHS = [0, 0.5, 1, 1.0, 2.5, falling(1.0, 0.25), falling(0.3, 0.3)]
RATES = [0.01, 0.1, 1, 1.0, 10]
OF_CHAINS = {
    "coupling": [0, 0.1, 0.25, 1, falling(0.4, 0.1), falling(0, 1)],
    "steps": [1, 2, 3, 10, 25, 51],
    "centring_strength": STRENGTHS,
    "chain_signals": ["binary", "signed"],
    "recurrent_rate": RATES,
    "depression_strength": STRENGTHS,
    "layer_reward": ["global", "path", "last"],
}
ACTIVITY = ["activity", "both"]
EVERY = ["none", "activity", "reward", "both", "predicted"]
FORMS = ["none", "pre-without-post", "post-without-pre"]
RULES = {
    "reinforce": {"centring": EVERY, "centring_strength": STRENGTHS},
    "boltzmann": {
        **OF_CHAINS,
        "sampler": ["synchronous", "lazy", "one-by-one"],
        "centring": [*EVERY, "mean", "learned", "half", "drive", "usual"],
        "chains": [1, 2, 16],
        "pair_strength": STRENGTHS,
        "centring_rate": RATES,
        "depression": [*FORMS, "one-without-other"],
    },
    "recurrent": {
        **OF_CHAINS,
        "trace_decay": [0, 0.25, 0.5, 1],
        "centring": EVERY,
        "depression": [*FORMS, "post-before-pre"],
    },
    "ste": {"slope": ["sigmoid", "identity"], "centring": ACTIVITY},
    "weight-max": {"centring": ACTIVITY},
    "unbiased-weight-max": {"expected": [False, True], "centring": ACTIVITY},
    "map-prop": {"variance": [0.03, 0.3, 1, 2.0], "relax_steps": [0, 5, 20], "centring": ACTIVITY},
    "backprop": {"activation": ["relu", "sigmoid", "tanh", "softplus"], "centring": ACTIVITY},
}
OFTEN = ["boltzmann", "boltzmann", "recurrent", "reinforce", *RULES]
REWARDS = ["drawn", "loss"]
ENVIRONMENTS = ["CartPole-v1", "Acrobot-v1", "Pendulum-v1", "MountainCarContinuous-v0", "tabular/Blackjack-v0"]
TASKS = {
    "multiplexer": {
        "bits": [1, 3, 4, 5, 6],
        "encoding": ["signed", "binary"],
        "rewards": ["signed", "binary"],
    },
    "digits": {"rewards": REWARDS},
    "boolean": {
        "rewards": REWARDS,
        "function": ["parity", "majority", "symmetry", "random"],
        "bits": [3, 6, 12],
        "held_out": [0, 0.2, 0.5],
    },
    "joint-bits": {"address": [2, 3], "joint": [0, 0.25, 0.5, 1], "policy": ["bits", "joint"]},
    "control": {
        "env": ENVIRONMENTS,
        "discount": [0.9, 0.98, 1],
        "actor_trace": [0, 0.9, 0.97],
        "critic_trace": [0, 0.9, 0.97],
        "scaling": ["none", "running"],
        "truncation": ["bootstrap", "ignore"],
        "temperature": [0.5, 1, 4.0],
        "drives": ["relative", "all"],
        "action_variance": [0.1, 0.5],
        "action_scale": [1, 2.0],
        "action_shift": [0, -1, 1.0],
        "reward_limit": [0, 5],
        "anneal": [0, 50_000],
        "env_arg": [[], [["render_mode", "none"]], [["b", 2], ["a", False]]],
        "max_steps": [0, 200],
        "env_steps": [0, 20_000],
    },
    "dataset": {"called": ["rings", "mine-2"], "rewards": REWARDS},
    "bandit": {"called": ["sign", "far.off"], "version": ["1", "b"]},
}
MINE = {
    "dataset": {"called": "rings", "sha256": "0123456789abcdef" * 4, "inputs": 5, "labels": 3},
    "bandit": {"called": "sign", "version": "1", "inputs": 3, "choices": 4},
}
MOSTLY = ["multiplexer", "multiplexer", "multiplexer", *TASKS]
CRITIC = {
    "activation": ["relu", "tanh", "softplus"],
    "width": [3, 64, [64, 32]],
    "rule": ["backprop", "map-prop"],
    "variance": [0.1, 0.5, [0.003, 0.01], [0.003, 0.01, 0.05]],
}
STEPS = [0.001, 0.005, 0.02, 1, falling(0.01, 0.001), falling(5e-05, 2.5e-06)]
RUN = {
    "hidden": [[8], [64], [64], [128], [64, 32], [16, 8, 4]],
    "episodes": [160, 3200, 160_000, 4_000_000],
    "batch": [1, 4, 16, 32],
    "rate_scaling": ["none", "fan-in"],
    "signals": ["binary", "signed"],
    "initial_weights": ["normal", "uniform"],
    "seed": [0, 1, 77, 2**32 - 1],
}


class Draws:
    """Settings drawn one after another, by `random.random` alone, whose numbers Python promises never to change."""

    def __init__(self, seed):
        self.random = random.Random(seed).random

    def one(self, values):
        return values[int(self.random() * len(values))]

    def some(self, table):
        """Values for some of the names of a table."""
        return {name: self.one(values) for name, values in table.items() if self.random() < NAMED}

    def rule(self):
        name = self.one(OFTEN)
        return {"name": name, **self.some(RULES[name])}

    def run(self):
        run = self.some(RUN)
        layers = len(run.get("hidden", [64]))
        run["rule"] = [self.rule() for _ in range(layers)] if self.random() < SHARE else self.rule()
        if self.random() < NAMED:
            name = self.one(MOSTLY)
            run["task"] = {"name": name, **MINE.get(name, {}), **self.some(TASKS[name])}
        if self.random() < NAMED:
            run["critic"] = self.some(CRITIC) if self.random() < 0.8 else None
        if self.random() < NAMED:
            rates = [self.one(STEPS) for _ in range(layers + 1 + self.one([0, 1, 2]))]
            run["learning_rate"] = rates if self.random() < NAMED else rates[0]
        return run


def drawn():
    draws = Draws(0)
    return [draws.run() for _ in range(DRAWN)]


def alone(descriptions):
    """Each with its own seed."""
    return [(one, [one.get("seed", 0)]) for one in descriptions]


def described(path):
    """The descriptions of the runs in a file of results, each with the seeds it has."""
    about = json.loads(_metadata(path)["coexplore"])["about"]
    if isinstance(about, dict) and "pack" in about:
        return [(setting["run"], setting["seeds"]) for setting in about["settings"]]
    return alone(one["run"] for one in (about if isinstance(about, list) else [about]))


def _metadata(path):
    with safe_open(path, framework="numpy") as file:
        return file.metadata() or {}


def rules_of(description):
    return description["rule"] if isinstance(description["rule"], list) else [description["rule"]]


def part_of(description):
    """Which of the three parts a run belongs to, described in names of today or in former ones."""
    rules = rules_of(description)
    for rule in rules:
        name = rule["name"]
        usual = {**VARYING, "centring": DEFAULTS.get(name, "both"), "baseline": BASELINES.get(name, "none")}
        if any(rule.get(key, value) != value for key, value in usual.items()):
            return "variants"
    named = any(rule.get(name, value) != value for rule in rules for name, value in NUMBERS.items())
    return "numbers" if named else "plain"


def digests(descriptions):
    """The part and the digest of each run, from descriptions with their seeds; what the library refuses is left out."""
    for description, seeds in descriptions:
        try:
            run = Run.from_dict(description, imported_only=True)
        except ValueError:
            continue
        part, known = part_of(description), {"centring", "depression", "layer_reward", *FORMER}
        former = any(name in known for rule in rules_of(description) for name in rule)
        for seed in seeds:
            one = run if seed == run.seed else run.with_seed(seed)
            yield part, one.digest if part == "plain" else one.digest_in_file(description if former else None)
            if part != "plain" and former:
                yield f"{part} now", one.digest


def fingerprint(descriptions):
    """Of each part how many runs it has, and one hash for all of their digests."""
    parts = {}
    for part, digest in digests(descriptions):
        parts.setdefault(part, []).append(digest)
    return {part: [len(found), _hash(" ".join(sorted(found)))] for part, found in sorted(parts.items())}


def _hash(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def packs():
    """Files of runs, by their name in results/."""
    paths = {path.relative_to(RESULTS).with_suffix("").as_posix(): path for path in RESULTS.rglob("*.safetensors")}
    return {name: path for name, path in sorted(paths.items()) if "coexplore" in _metadata(path)}


EVERY_RUN = {  # by source
    "drawn": lambda: alone(drawn()),
    "tests/variants.py": lambda: alone(VARIANTS.values()),
    "tests/data": lambda: [pair for path in sorted(DATA.rglob("*.safetensors")) for pair in described(path)],
    **{name: functools.partial(described, path) for name, path in packs().items()},
}


def fingerprint_of(source):
    """Of settings that are drawn, also a hash of what they are, before anything becomes of them."""
    of_settings = {"settings": [DRAWN, _hash(json.dumps(drawn(), sort_keys=True))]} if source == "drawn" else {}
    return {**of_settings, **fingerprint(EVERY_RUN[source]())}


SOURCES = {source: functools.partial(fingerprint_of, source) for source in EVERY_RUN}


def main(wanted=""):
    """Print every digest, with the description that it is of."""
    for source, descriptions in EVERY_RUN.items():
        for one in descriptions() if source.startswith(wanted) else ():
            for part, digest in digests([one]):
                print(digest, part, source, json.dumps(one[0], sort_keys=True, ensure_ascii=False))


if __name__ == "__main__":
    main(*sys.argv[1:])
