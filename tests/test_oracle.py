"""Updates of the xla engine, replayed from their draws by the oracle."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from replay import Replay, as_dict, shaken, small

from coexplore import (
    Backprop,
    Boltzmann,
    Critic,
    Linear,
    MapProp,
    Multiplexer,
    Recurrent,
    Reinforce,
    StraightThrough,
    UnbiasedWeightMax,
    WeightMax,
    network,
)
from coexplore.engines import xla
from coexplore.engines.program import program, stack
from coexplore.rules.baseline import Chains, Drive, Half, Learned, Nothing, Predicted, Probability, Usual
from coexplore.rules.learning_signal import CentredAdvantage, Reward
from coexplore.run import bins
from coexplore.variants.depression import DepressedBoltzmann, DepressedRecurrent
from coexplore.variants.layer_reward import RewardedBoltzmann, RewardedRecurrent

ONE_UPDATE = {
    "reinforce": small(Reinforce()),
    "reinforce none": small(Reinforce(baseline=Nothing(), learning_signal=Reward())),
    "reinforce activity": small(Reinforce(learning_signal=Reward())),
    "reinforce reward": small(Reinforce(baseline=Nothing())),
    "reinforce half centred": small(Reinforce(baseline=Probability(strength=0.5))),
    "reinforce one unit": small(Reinforce(), N=1, batch=1),
    "reinforce 100 units": small(Reinforce(), N=100, bits=4, batch=33),
    "reinforce two layers": small(Reinforce(), N=(7, 5), bits=2),
    "reinforce three layers": small(
        (Reinforce(), Reinforce(baseline=Nothing()), Reinforce(learning_signal=Reward())), N=(4, 3, 2)
    ),
    "boltzmann": small(Boltzmann(steps=3)),
    "boltzmann paper": small(Boltzmann(), N=64, bits=4),
    "boltzmann one unit": small(Boltzmann(steps=1), N=1, batch=1),
    "boltzmann one step": small(Boltzmann(steps=1), N=100, bits=4, batch=33),
    "boltzmann no coupling": small(Boltzmann(coupling=0.0, steps=2)),
    "boltzmann strong": small(Boltzmann(coupling=2.0, steps=25), batch=33),
    "boltzmann uncentred": small(Boltzmann(steps=2, learning_signal=Reward())),
    "boltzmann lazy": small(Boltzmann(steps=4, sampler="lazy"), batch=5),
    "boltzmann lazy, negative phase, signed": small(
        Boltzmann(steps=3, sampler="lazy", chain_signals="signed", baseline=Chains(chains=2)), N=4, batch=5
    ),
    "boltzmann one-by-one": small(Boltzmann(steps=2, sampler="one-by-one"), batch=5),
    "boltzmann one-by-one one unit": small(Boltzmann(steps=4, sampler="one-by-one"), N=1, batch=1),
    "boltzmann three layers": small(tuple(Boltzmann(c, T) for c, T in ((0.5, 2), (1.0, 1), (0.2, 3))), N=(4, 3, 5)),
    "boltzmann over reinforce": small((Reinforce(), Boltzmann(steps=2)), N=(5, 6)),
    "recurrent": small(Recurrent()),
    "recurrent paper": small(Recurrent(), N=64, bits=4),
    "recurrent one unit": small(Recurrent(steps=1), N=1, batch=1),
    "recurrent long": small(Recurrent(steps=25, trace_decay=0.9), batch=33),
    "recurrent no trace": small(Recurrent(steps=4, trace_decay=0.0), N=100, bits=4),
    "recurrent full trace": small(Recurrent(steps=3, trace_decay=1.0, coupling=1.0)),
    "recurrent activity": small(Recurrent(learning_signal=Reward())),
    "recurrent reward": small(Recurrent(baseline=Nothing())),
    "recurrent half centred": small(Recurrent(baseline=Probability(strength=0.3))),
    "recurrent three layers": small(tuple(map(Recurrent, (0.5, 1.0, 0.2), (2, 1, 3), (0.0, 1.0, 0.5))), N=(4, 3, 5)),
    "recurrent over boltzmann": small((Boltzmann(steps=2), Recurrent()), N=(5, 4)),
    "reinforce over recurrent over boltzmann": small(
        (Boltzmann(steps=2), Recurrent(), Reinforce(baseline=Nothing(), learning_signal=Reward())), N=(5, 4, 3)
    ),
    "boltzmann negative phase": small(Boltzmann(steps=2, baseline=Chains(chains=2), learning_signal=Reward()), N=4),
    "boltzmann negative phase, half": small(Boltzmann(steps=2, baseline=Chains(strength=0.5, chains=3)), N=4),
    "boltzmann negative phase, one-by-one": small(
        Boltzmann(steps=2, sampler="one-by-one", baseline=Chains(chains=2)), N=4, batch=5
    ),
    "boltzmann mean": small(Boltzmann(steps=2, learning_signal=CentredAdvantage(rate=0.5)), N=(4, 3)),
    "boltzmann learned": small(Boltzmann(steps=2, baseline=Learned()), N=(5, 4)),
    "boltzmann learned, signed, at a rate of its own": small(
        Boltzmann(steps=2, chain_signals="signed", baseline=Learned(strength=0.5, rate=3.0)), N=4
    ),
    "boltzmann pre without post": small(DepressedBoltzmann(steps=2, variant_form="pre-without-post"), N=(5, 4)),
    "boltzmann post without pre": small(
        DepressedBoltzmann(steps=2, variant_form="post-without-pre", variant_strength=0.4), N=(5, 4)
    ),
    "boltzmann one without other": small(
        DepressedBoltzmann(steps=2, variant_form="one-without-other", variant_strength=0.4)
    ),
    "boltzmann depressed, negative phase, signed": small(
        DepressedBoltzmann(
            steps=2, chain_signals="signed", baseline=Chains(strength=0.5), variant_form="pre-without-post"
        ),
        N=4,
    ),
    "boltzmann depressed, learned": small(
        DepressedBoltzmann(steps=2, baseline=Learned(strength=0.5), variant_form="pre-without-post"), N=4
    ),
    "boltzmann one without other, half, pairs too": small(
        DepressedBoltzmann(steps=2, baseline=Half(pairs=0.5), variant_form="one-without-other"), N=5
    ),
    "recurrent pre without post": small(
        DepressedRecurrent(variant_form="pre-without-post", variant_strength=0.4), N=(5, 4)
    ),
    "recurrent post without pre, signed": small(
        DepressedRecurrent(chain_signals="signed", variant_form="post-without-pre", variant_strength=0.4),
        task=Multiplexer(bits=1, encoding="binary"),
    ),
    "recurrent post before pre": small(
        DepressedRecurrent(steps=3, variant_form="post-before-pre", variant_strength=0.4), N=(5, 4)
    ),
    "boltzmann, a reward per layer, last": small(RewardedBoltzmann(steps=3, variant_by="last"), N=(6, 5, 4)),
    "boltzmann, a reward per layer, path": small(RewardedBoltzmann(steps=3, variant_by="path"), N=(6, 5, 4)),
    "boltzmann, a reward per layer, lazy": small(
        RewardedBoltzmann(steps=3, sampler="lazy", variant_by="path"), N=(5, 4)
    ),
    "boltzmann, a reward per layer, lazy, last, signed": small(
        RewardedBoltzmann(steps=2, sampler="lazy", chain_signals="signed", variant_by="last"),
        N=(5, 4),
        signals="signed",
    ),
    "boltzmann, a reward per layer, one-by-one": small(
        RewardedBoltzmann(steps=2, sampler="one-by-one", variant_by="path"), N=(4, 5), batch=5
    ),
    "boltzmann, a reward per layer, one-by-one, last": small(
        RewardedBoltzmann(steps=2, sampler="one-by-one", variant_by="last"), N=(4, 5), batch=5
    ),
    "boltzmann, a reward per layer, negative phase": small(
        RewardedBoltzmann(steps=2, baseline=Chains(), variant_by="last"), N=(5, 4), signals="signed"
    ),
    "boltzmann, a reward per layer, mean": small(
        RewardedBoltzmann(steps=2, learning_signal=CentredAdvantage(), variant_by="last"), N=(5, 4)
    ),
    "boltzmann, a reward per layer, learned": small(
        RewardedBoltzmann(steps=2, baseline=Learned(), variant_by="path"), N=(5, 4)
    ),
    "recurrent, a reward per layer, last": small(
        RewardedRecurrent(variant_by="last"), N=(6, 5, 4, 3), signals="signed"
    ),
    "recurrent, a reward per layer, path": small(
        RewardedRecurrent(steps=3, chain_signals="signed", variant_by="path"), N=(6, 5, 4)
    ),
    "a reward per layer, one of them": small(
        (RewardedRecurrent(variant_by="last"), Boltzmann(steps=2), RewardedRecurrent(variant_by="path")), N=(6, 5, 4)
    ),
    "a reward per layer under reinforce": small((RewardedBoltzmann(steps=2, variant_by="path"), Reinforce()), N=(6, 5)),
    **{
        f"boltzmann {baseline.name}": small(Boltzmann(steps=2, baseline=baseline), N=(5, 4))
        for baseline in (Half(), Drive(), Usual(), Predicted())
    },
    "boltzmann predicted, pairs too": small(
        Boltzmann(steps=2, baseline=Predicted(strength=0.7, pairs=0.4, rate=2.0)), N=5
    ),
    "boltzmann half, pairs too, signed": small(
        Boltzmann(steps=2, chain_signals="signed", baseline=Half(pairs=1.0)), N=5, signals="signed"
    ),
    "reinforce predicted": small(Reinforce(baseline=Predicted(strength=0.6)), N=(5, 4)),
    "recurrent predicted": small(Recurrent(steps=3, baseline=Predicted(strength=0.6)), N=(5, 4)),
    "ste": small(StraightThrough(), N=64, bits=4),
    "ste two layers": small(StraightThrough(), N=(7, 5)),
    "ste three layers": small(tuple(map(StraightThrough, ("sigmoid", "identity", "sigmoid"))), N=(6, 5, 4)),
    "ste identity": small(StraightThrough(slope="identity"), N=(7, 5)),
    "weight-max": small(WeightMax(), N=7, batch=33),
    "weight-max two layers": small(WeightMax(), N=(7, 5)),
    "weight-max three layers": small(WeightMax(), N=(6, 5, 4)),
    "unbiased-weight-max": small(UnbiasedWeightMax(), N=64, bits=4),
    "unbiased-weight-max two layers": small(UnbiasedWeightMax(), N=(7, 5)),
    "unbiased-weight-max three layers": small(
        (UnbiasedWeightMax(), UnbiasedWeightMax(expected=True), UnbiasedWeightMax()), N=(5, 4, 3)
    ),
    "unbiased-weight-max expected": small(UnbiasedWeightMax(expected=True), N=(7, 5), batch=1),
    "map-prop": small(MapProp(), N=7),
    "map-prop two layers": small((MapProp(0.3), MapProp(1.0, relax_steps=20)), N=(7, 5)),
    "backprop": small(Backprop(), N=64, bits=4),
    "backprop four layers": small(tuple(map(Backprop, ("tanh", "relu", "softplus", "sigmoid"))), N=(7, 6, 5, 4)),
    "map-prop three layers": small(tuple(MapProp(v, relax_steps=5) for v in (0.3, 1.0, 0.5)), N=(5, 4, 3)),
    "binary": small(Recurrent(), task=Multiplexer(bits=2, encoding="binary", rewards="binary")),
    "six bits": small(Reinforce(), task=Multiplexer(bits=6), batch=4),
    "tanh critic": small(Boltzmann(steps=2), critic=Critic(activation="tanh", width=5)),
    "linear critic": small(Boltzmann(steps=2), bits=2, critic=Critic("linear"), learning_rate=(0.01, 0.002, 0.03)),
    "mean critic": small(Reinforce(), N=(5, 4), critic=Critic("mean"), learning_rate=(0.01, 0.002, 0.005, 0.03)),
    "no critic": small(Boltzmann(steps=2), critic=None),
    "signed reinforce": small(Reinforce(), N=(7, 5), signals="signed"),
    "signed ste": small(StraightThrough(), N=(7, 5), signals="signed"),
    "signed weight-max": small(WeightMax(), N=(7, 5), signals="signed"),
    "signed unbiased-weight-max": small(UnbiasedWeightMax(), N=(7, 5), signals="signed"),
    "signed expected weight-max": small(UnbiasedWeightMax(expected=True), N=(7, 5), signals="signed"),
    "signed boltzmann": small(Boltzmann(steps=2), N=(6, 4), signals="signed"),
    "signed chain of boltzmann": small(Boltzmann(steps=3, chain_signals="signed"), N=(6, 4), signals="signed"),
    "signed chain, negative phase": small(
        Boltzmann(steps=2, chain_signals="signed", sampler="one-by-one", baseline=Chains(chains=2)), N=4, batch=5
    ),
    "signed chain of recurrent": small(Recurrent(steps=3, chain_signals="signed"), N=(6, 4), signals="signed"),
    "W_rec at a rate of its own": small((Boltzmann(recurrent_rate=0.3), Recurrent(recurrent_rate=2.5)), N=(5, 4)),
    "fan-in": small(Reinforce(), N=(7, 5), rate_scaling="fan-in"),
    "rates of its own": small(Reinforce(), learning_rate=(0.01, 0.002, 0.03)),
}
TWENTY_UPDATES = {
    "reinforce": small(
        Reinforce(baseline=Probability(strength=Linear(1.0, 0.2))), N=(7, 5), learning_rate=Linear(0.01, 0.001)
    ),
    "boltzmann": small(Boltzmann(coupling=Linear(1.0, 0.2), steps=4), N=20, bits=2),
    "recurrent": small(Recurrent(coupling=0.5, steps=3), N=20, bits=2, critic=Critic("tanh", 9)),
    "depression that falls": small(
        DepressedBoltzmann(steps=2, variant_form="one-without-other", variant_strength=Linear(1.0, 0.0)), N=20, bits=2
    ),
}


def drawn_layer(activity):
    """Uniforms and bits of a layer, the episode first."""
    mine = as_dict(activity)
    if "positive" not in mine:
        return drawn(mine)
    negative = {} if mine["negative"] is None else {"negative": drawn(mine["negative"])}
    return drawn(mine["positive"]) | negative


def drawn(mine):
    if isinstance(mine["draws"], dict):  # one-by-one
        found = {"u": mine["draws"]["u"], "unit": mine["draws"]["unit"].astype(int), "bits": mine["bits"]}
        return {name: value.swapaxes(0, 1) for name, value in found.items()} | {"h_0": mine["h_0"]}
    found = {"u": mine["draws"].swapaxes(0, 1), "h": mine["h"]}
    return found | ({"H": mine["H"].swapaxes(0, 1)} if "H" in mine else {})


def only(tree):
    """Of the group's one run; in NumPy, since JAX would compile every slice."""
    return jax.tree.map(lambda x: np.asarray(x)[0], tree)


def started(run):
    """`xla.start`, but from noise, and with nothing that has to be compiled."""
    zeros = jax.tree.map(lambda x: np.zeros((1, *x.shape), x.dtype), jax.eval_shape(run.init))
    moments = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), jax.eval_shape(xla._moments, zeros))
    curve, zero = jnp.zeros((1, bins(run.updates))), jnp.asarray(0, jnp.int32)
    progress = xla.Progress(shaken(zeros), moments, curve, zero, zero, zero)
    return xla.State((run,), stack([program(run)]), network.root_keys(run.seed)[1][None], progress, np.full(1, np.nan))


def agree(run, updates, tolerance):
    state = started(run)
    replay = Replay(run, only(state.progress.params))
    for _ in range(updates):
        state, recorded = xla.update_with_draws(state)
        recorded = only(recorded)
        layers = [drawn_layer(activity) for activity in recorded.activities]
        replay.update({"s": recorded.s, "r": recorded.r, "layers": layers})
    replay.agrees(only(state.progress.params), only(state.progress.moments.mu), tolerance)


AGAIN = ("a reward per layer, ", "without")  # variants that lost, in further forms


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=[pytest.mark.learning] * any(map(x.count, AGAIN))) for x in ONE_UPDATE]
)
def test_one_update_is_the_algorithm_box(name):
    agree(ONE_UPDATE[name], 1, 3e-6)


@pytest.mark.parametrize("name", TWENTY_UPDATES)
def test_twenty_updates_are_the_algorithm_box(name):
    agree(TWENTY_UPDATES[name], 20, 2e-5)


def test_advancing_does_what_the_recorded_updates_do():
    run = TWENTY_UPDATES["boltzmann"]
    one = two = xla.start([run])
    for _ in range(20):
        one, _ = xla.update_with_draws(one)
    two = xla.advance(two, 20)
    for a, b in zip(jax.tree.leaves(one.progress), jax.tree.leaves(two.progress), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
