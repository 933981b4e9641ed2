"""What the fused engines accept: each accepted setting has an effect in them, and any other is refused.

No GPU is needed: what `cuda` hands to one is compared with bytes that were recorded (`python tests/test_fused.py`
records them again).
"""

import contextlib
import hashlib
import json
import random
import zlib
from pathlib import Path
from unittest import mock

import jax
import numpy as np
import pytest
from replay import noise

from coexplore import (
    Boltzmann,
    Critic,
    Linear,
    Multiplexer,
    Recurrent,
    Reinforce,
    Run,
    StraightThrough,
    UnbiasedWeightMax,
    grid,
)
from coexplore.engines import cpu, cuda
from coexplore.engines.cuda import layout
from coexplore.engines.one_layer import ACCEPTED
from coexplore.rules.baseline import Drive, Half, Predicted, Probability
from coexplore.settings import specs

GOLDEN = Path(__file__).parent / "data" / "cuda-layout.json"
MULTIPROCESSORS = 132
SMALL = {"hidden": 4, "task": Multiplexer(bits=1), "episodes": 640}
PREDICTED = Boltzmann(steps=2, baseline=Predicted())

# Record and field: a run in which the field matters, and another value of it.
CHANGES = {
    (Run, "hidden"): (Run(**SMALL), {"units": 5}),
    (Run, "episodes"): (Run(**SMALL, learning_rate=Linear(0.01, 0.001)), {"episodes": 1280}),
    (Run, "batch"): (Run(**SMALL), {"batch": 8}),
    (Run, "learning_rate"): (Run(**SMALL), {"learning_rate": (0.005, 0.005, 0.01)}),
    (Run, "signals"): (Run(**SMALL), {"signals": "signed"}),
    (Run, "initial_weights"): (Run(**SMALL), {"initial_weights": "uniform"}),
    (Run, "seed"): (Run(**SMALL), {"seed": 1}),
    (Multiplexer, "bits"): (Run(**SMALL), {"bits": 2}),
    (Multiplexer, "encoding"): (Run(**SMALL), {"encoding": "binary"}),
    (Multiplexer, "rewards"): (Run(**SMALL), {"rewards": "binary"}),
    (Critic, "activation"): (Run(**SMALL), {"critic": "tanh"}),
    (Critic, "width"): (Run(**SMALL), {"critic_width": 63}),
    (Reinforce, "learning_signal"): (Run(Reinforce(), **SMALL), {"learning_signal": "reward"}),
    (Reinforce, "baseline"): (Run(Reinforce(), **SMALL), {"baseline": "none"}),
    (Boltzmann, "coupling"): (Run(Boltzmann(), **SMALL), {"coupling": 0.5}),
    (Boltzmann, "steps"): (Run(Boltzmann(), **SMALL), {"steps": 2}),
    (Boltzmann, "sampler"): (Run(Boltzmann(), **SMALL), {"sampler": "lazy"}),
    (Boltzmann, "learning_signal"): (Run(Boltzmann(), **SMALL), {"learning_signal": "reward"}),
    (Boltzmann, "baseline"): (Run(Boltzmann(), **SMALL), {"baseline": "drive"}),
    (Boltzmann, "chain_signals"): (Run(Boltzmann(), **SMALL), {"chain_signals": "signed"}),
    (Boltzmann, "recurrent_rate"): (Run(Boltzmann(), **SMALL), {"recurrent_rate": 0.5}),
    (Recurrent, "coupling"): (Run(Recurrent(), **SMALL), {"coupling": 0.5}),
    (Recurrent, "steps"): (Run(Recurrent(), **SMALL), {"steps": 3}),
    (Recurrent, "trace_decay"): (Run(Recurrent(), **SMALL), {"trace_decay": 0.5}),
    (Recurrent, "learning_signal"): (Run(Recurrent(), **SMALL), {"learning_signal": "reward"}),
    (Recurrent, "baseline"): (Run(Recurrent(), **SMALL), {"baseline": "none"}),
    (Recurrent, "chain_signals"): (Run(Recurrent(), **SMALL), {"chain_signals": "signed"}),
    (Recurrent, "recurrent_rate"): (Run(Recurrent(), **SMALL), {"recurrent_rate": 0.5}),
    (StraightThrough, "learning_signal"): (Run(StraightThrough(), **SMALL), {"learning_signal": "reward"}),
    (UnbiasedWeightMax, "learning_signal"): (Run(UnbiasedWeightMax(), **SMALL), {"learning_signal": "reward"}),
    (UnbiasedWeightMax, "expected"): (Run(UnbiasedWeightMax(), **SMALL), {"expected": True}),
    (Probability, "strength"): (Run(Recurrent(), **SMALL), {"baseline_strength": 0.5}),
    **{
        (type(baseline), name): (Run(Boltzmann(steps=2, baseline=baseline), **SMALL), {f"baseline_{name}": 0.5})
        for baseline in (Half(), Drive(), Predicted())
        for name in specs(baseline)
    },
}
NO_NUMBER = {(Multiplexer, "source")}  # where a person found the task
each_change = pytest.mark.parametrize("field", CHANGES, ids=lambda field: f"{field[0].__name__}.{field[1]}")


def pair(field):
    run, changes = CHANGES[field]
    return run, grid(run, **changes)[0]


def test_every_accepted_field_is_tried():
    accepted = {(record, name) for record, fields in ACCEPTED.items() for name in fields}
    assert accepted == CHANGES.keys() | NO_NUMBER


@each_change
def test_an_accepted_field_changes_what_the_cpu_engine_computes(field):
    def trained(run):
        with contextlib.nullcontext() if field == (Run, "initial_weights") else mock.patch.object(Run, "init", noise):
            state = cpu.advance(cpu.start([run]), 3)  # `noise` has nothing to compile
        return state.params.tobytes(), state.reward.tobytes()

    one, other = pair(field)
    assert cpu.supports(one) is None is cpu.supports(other)
    assert trained(one) != trained(other)


@each_change
def test_an_accepted_field_changes_what_the_gpu_gets(field):
    """The kernel, the run's settings and parameters, or how many updates there are; the batch is always the same."""

    def handed(run):
        kind = layout.shape(run, 1, MULTIPROCESSORS)
        weights = layout.pack(run, cuda._first([run]), kind.length)
        return kind, layout.settings([run]).tobytes(), weights.tobytes(), run.updates

    one, other = pair(field)
    if field == (Run, "batch"):
        assert cuda.supports(other) == "it takes batches of 16"
    else:
        assert handed(one) != handed(other)


@pytest.mark.parametrize("critic", ["linear", "mean"])
def test_a_critic_without_hidden_units_trains_on_cpu_and_not_on_a_gpu(critic):
    run = Run(**SMALL, critic=Critic(critic))
    with mock.patch.object(Run, "init", noise):
        before, after = (cpu.params(state)[0].critic for state in (cpu.start([run]), cpu.advance(cpu.start([run]), 3)))
    moved = [not np.array_equal(a, b) for a, b in zip(*map(jax.tree.leaves, (before, after)), strict=True)]
    assert moved == [True] * (2 if critic == "linear" else 1)
    assert cpu.supports(run) is None
    assert cuda.supports(run) == f"it does not take critic {critic}"


@each_change
def test_a_field_that_is_not_listed_is_refused(field):
    """As it would be for a setting that a later release adds."""
    record, name = field
    rest = {other: accepts for other, accepts in ACCEPTED[record].items() if other != name}
    _, changed = pair(field)
    with mock.patch.dict(ACCEPTED, {record: rest}):
        for engine in (cpu, cuda):
            assert "it does not take" in engine.supports(changed)


@pytest.mark.parametrize("initial_weights", ["normal", "uniform"])
@pytest.mark.parametrize("rule", [Reinforce(), PREDICTED])
def test_cuda_begins_where_every_engine_begins(rule, initial_weights):
    runs = [Run(rule, **SMALL, initial_weights=initial_weights, seed=seed) for seed in (0, 5)]
    for run, params in zip(runs, cuda._first(runs), strict=True):
        jax.tree.map(np.testing.assert_array_equal, jax.tree.leaves(params), jax.tree.leaves(run.init()))


# What cuda hands to the GPU, in bytes ---------------------------------------------------------------------------------

SCHEDULES = (0.0, 0.1, 0.7, {"start": 0.9, "stop": 0.2})
OF_CHAINS = {"coupling": SCHEDULES, "steps": (1, 2, 7), "chain_signals": ("signed",), "recurrent_rate": (0.3, 2.0)}
CENTRED = {"centring": ("none", "activity", "reward")}
RULES = {
    "reinforce": CENTRED,
    "boltzmann": {**OF_CHAINS, "sampler": ("lazy",), "centring": ("none", "half", "drive", "predicted", "predicted")},
    "recurrent": {**OF_CHAINS, **CENTRED, "trace_decay": (0.0, 0.9, 1.0)},
    "ste": {"centring": ("activity",)},
    "unbiased-weight-max": {"centring": ("activity",), "expected": (True,)},
}
CENTRE = {"centring_strength": SCHEDULES, "pair_strength": SCHEDULES}  # where a rule's centring is one of these
OF_CENTRINGS = {"half": CENTRE, "drive": CENTRE, "predicted": {**CENTRE, "centring_rate": (0.3,)}}
TASK = {"bits": (1, 2, 3, 5), "encoding": ("binary",), "rewards": ("binary",)}
OTHERS = {
    "learning_rate": (0.01, {"start": 0.02, "stop": 0.001}, [0.01, 0.002, 0.03]),
    "signals": ("signed",),
    "initial_weights": ("uniform",),
    "critic": (None, {"activation": "tanh"}, {"width": 9}, {"activation": "tanh", "width": 33}),
}
UNITS = (1, 13, 32, 60, 64, 96, 128, 150, 300, 512)


def descriptions(count=500):
    """Random runs as plain data, drawn from the tables above, in former names."""
    rng = random.Random(0)

    def some(fields):
        return {name: rng.choice(values) for name, values in fields.items() if rng.random() < 0.4}

    for _ in range(count):
        name = rng.choice(sorted(RULES))
        rule = {"name": name, **some(RULES[name])}
        rule |= some(OF_CENTRINGS.get(rule.get("centring"), {}))
        if name in ("reinforce", "recurrent") and rule.get("centring", "both") in ("activity", "both"):
            rule |= some({"centring_strength": SCHEDULES})
        others = some(OTHERS)
        if others.get("critic", {}) is None:
            others.pop("learning_rate", None)  # one of them has a rate for the critic
        yield {
            "rule": rule,
            "task": {"name": "multiplexer", **some(TASK)},
            "hidden": [rng.choice(UNITS)],
            "episodes": 16 * rng.randint(1, 10_000),
            "seed": rng.randrange(2**32),
            **others,
        }


def filled(run):
    """Parameters whose values depend on their names alone, and not on the order in which a tree has them."""

    def values(path, leaf):
        name = jax.tree_util.keystr(path, simple=True, separator=".")
        name = name.replace("parts.0.baseline", "layers.0")  # where U and u were when the bytes were recorded
        return np.random.default_rng(zlib.crc32(name.encode())).normal(size=leaf.shape).astype(np.float32)

    return jax.tree_util.tree_map_with_path(values, jax.eval_shape(run.init))


def golden():
    """Of each run a hash of what the GPU gets, by what it gets."""
    found = {"shape": [], "variant": [], "settings": [], "parameters": []}
    structures = {}
    for description in descriptions():
        run = Run.from_dict(description, imported_only=True)
        key = run.sizes, run.critic and run.critic.widths, layout.family(run), layout.predicts(run)
        if key not in structures:
            structures[key] = filled(run)
        shapes = [layout.shape(run, runs, MULTIPROCESSORS) for runs in (1, 200, 1000)]
        words = layout.pack(run, [structures[key]], shapes[0].length)
        found["shape"].append(repr(shapes))
        found["variant"].append(repr(layout.variant(run)))
        found["settings"].append(layout.settings([run]).tobytes().hex())
        found["parameters"].append(hashlib.sha256(words.tobytes()).hexdigest())
    return {name: hashlib.sha256("\n".join(parts).encode()).hexdigest() for name, parts in found.items()}


def test_what_cuda_hands_to_the_gpu_is_what_was_recorded():
    assert golden() == json.loads(GOLDEN.read_text())


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(golden(), indent=2) + "\n")
