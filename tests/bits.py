"""The bits of short runs, of every rule on every engine that this machine has: a redesign must not move one.

    python tests/bits.py record FILE     before a change
    python tests/bits.py compare FILE    after it, on the same machine (low bits depend on it)

What is compared: file names in the store (digest, engine, stream) and a hash over curve, parameters and snapshots. (Not
the store's own hash: it covers the run's full description, which grows with every setting that is added.)
"""

import hashlib
import json
import sys
import tempfile
from pathlib import Path

import jax
from safetensors.numpy import load_file

import coexplore
from coexplore import (
    Backprop,
    Boltzmann,
    Boolean,
    Control,
    Critic,
    Digits,
    Linear,
    MapProp,
    Multiplexer,
    Recurrent,
    Reinforce,
    Run,
    StraightThrough,
    UnbiasedWeightMax,
    WeightMax,
)

UPDATES = 200
FALLING = Linear(0.01, 0.001)
RULES = [
    Reinforce(),
    Reinforce("none"),
    Reinforce("activity", 0.7),
    Reinforce("reward"),
    Boltzmann(),
    Boltzmann(coupling=Linear(0.4, 0.1), steps=5),
    Boltzmann(steps=2, sampler="one-by-one"),
    Boltzmann(steps=3, sampler="lazy"),
    Boltzmann(steps=3, centring="both", chains=2, centring_strength=0.5),
    Boltzmann(steps=2, sampler="one-by-one", centring="activity"),
    Recurrent(),
    Recurrent(coupling=Linear(0.5, 0.0), steps=4, trace_decay=0.9, centring="reward"),
    StraightThrough(),
    StraightThrough("identity"),
    WeightMax(),
    UnbiasedWeightMax(),
    UnbiasedWeightMax(expected=True),
    MapProp(),
    MapProp(variance=0.3, relax_steps=0),
    Backprop(),
    Backprop("tanh", "activity"),
]


def one_step():
    """On the multiplexer: one layer, two layers, and what else a run may be made of."""
    runs = [Run(rule=rule, hidden=(24,), seed=seed) for rule in RULES for seed in (0, 7)]
    pairs = zip(RULES, RULES[3:], strict=False)
    runs += [Run(rule=pair, hidden=(9, 8), task=Multiplexer(bits=2), learning_rate=FALLING) for pair in pairs]
    runs += [Run(rule=rule, hidden=(13,), critic=None) for rule in RULES[::3]]
    runs += [Run(hidden=(16,), critic=Critic("tanh", 32)), Run(hidden=(16,), critic=Critic("softplus", (8, 6)))]
    runs += [Run(task=Multiplexer(bits=3, encoding="binary", rewards="binary"), learning_rate=(0.01, FALLING, 0.002))]
    return [coexplore.grid(run, episodes=UPDATES * run.batch)[0] for run in runs]


def labelled():
    tasks = [Digits(), Digits(rewards="loss"), Boolean(bits=4), Boolean("loss", function="majority", bits=5)]
    made = zip(RULES[::2], tasks * 3, strict=False)
    return [Run(rule=rule, hidden=(10,), task=task, episodes=UPDATES * 16) for rule, task in made]


def control():
    made = [Run(rule=rule, hidden=(8,), task=Control(), episodes=10) for rule in RULES if rule.centres_reward]
    made += [Run(rule=Recurrent(), hidden=(8, 6), task=Control(), batch=2, episodes=20, critic=Critic("softplus"))]
    made += [Run(rule=Reinforce(), hidden=(8,), task=Control(env="Pendulum-v1"), learning_rate=FALLING, episodes=2)]
    return made


def bits():
    found = {}
    for runs, engines in ((one_step(), ("cpu", "xla")), (labelled(), ("xla",)), (control(), ("control",))):
        for engine in engines:
            able = [run for run in runs if engine != "cpu" or _trains(run)]
            with tempfile.TemporaryDirectory() as folder:
                coexplore.train(able, engine=engine, store=folder, progress=False)
                for path in sorted(Path(folder).glob("*.safetensors")):
                    found[path.name] = _hash(load_file(path))
            jax.clear_caches()  # every program keeps memory maps, of which a process may have only so many
    return found


def _hash(tensors):
    parts = ((name.encode(), tensors[name].tobytes()) for name in sorted(tensors))
    return hashlib.sha256(b"".join(part for pair in parts for part in pair)).hexdigest()


def _trains(run):
    try:
        coexplore.train(coexplore.grid(run, episodes=run.batch), engine="cpu", progress=False)
    except ValueError:
        return False
    return True


if __name__ == "__main__":
    what, path = sys.argv[1], Path(sys.argv[2])
    found = bits()
    if what == "record":
        path.write_text(json.dumps(found, indent=0))
        print(f"{len(found)} runs recorded")
    else:
        before = json.loads(path.read_text())
        moved = sorted(name for name in before.keys() | found.keys() if before.get(name) != found.get(name))
        print("\n".join(moved), f"{len(moved)} of {len(before)} runs moved", sep="\n")
        sys.exit(bool(moved))
