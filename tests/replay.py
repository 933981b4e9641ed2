"""Small runs of an engine, replayed update by update by the oracle from the draws that the engine used."""

import dataclasses

import jax
import numpy as np
import oracle

from coexplore import Linear, Multiplexer, Run

INIT = Run.init
SURE = 1e-5  # Adam divides by the gradient's size: where that is rounding itself, so is the step


def small(rule, N=7, bits=1, batch=16, updates=40, **kwargs):
    task = kwargs.pop("task", Multiplexer(bits=bits))
    hidden = N if isinstance(N, tuple) else (N,)
    return Run(rule=rule, hidden=hidden, task=task, batch=batch, episodes=batch * updates, **kwargs)


def name_of(run):
    return f"{run.rules[0].name}-{run.hidden[0]}-{run.digest[:4]}"


def shaken(params):
    """Noise on every parameter: at W_rec = 0, where training starts, some mistakes are mute."""
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda p: np.asarray(p) + rng.normal(scale=0.5, size=p.shape).astype(np.float32), params)


def noise(run):
    """Parameters to start from that are noise; nothing has to be compiled for them, as it has for `run.init`."""
    return shaken(jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), jax.eval_shape(lambda: INIT(run))))


def as_dict(record):
    """A record as nested dicts of float64 arrays."""
    if record is None:
        return None
    if isinstance(record, tuple):
        return tuple(map(as_dict, record))
    if dataclasses.is_dataclass(record):
        return {f.name: as_dict(getattr(record, f.name)) for f in dataclasses.fields(record)}
    return np.asarray(record, np.float64)


def parts_of(params):
    """The oracle's parameters: a dict for each layer with what its rule's parts learn, then the critic's."""
    own = [as_dict(part.baseline) or {} for part in params.parts] + [{}]
    signals = [as_dict(part.learning_signal) or {} for part in params.parts] + [{}]
    layers = [as_dict(layer) for layer in params.layers]
    return [*(a | b | c for a, b, c in zip(layers, own, signals, strict=True)), as_dict(params.critic)]


def leaves(parts):
    """The arrays of all parts by name, in a fixed order."""
    flat = {}
    for i, part in enumerate(parts):
        for path, leaf in jax.tree_util.tree_leaves_with_path(part):
            flat[f"{i}{jax.tree_util.keystr(path)}"] = np.asarray(leaf)
    return flat


def at(value, progress):
    """A number of a run's description, as it stands at this point of the training."""
    return value["start"] + (value["stop"] - value["start"]) * progress if isinstance(value, dict) else value


def drawn_by_one_layer(run, draws):
    """What the cpu and cuda engines drew, as the oracle wants it: the episode first."""
    chain = hasattr(run.rule, "steps")
    hidden = {"u": draws["u"].swapaxes(0, 1), "h": draws["h"][-1]} | ({"H": draws["h"].swapaxes(0, 1)} if chain else {})
    output = {"u": draws["u_a"][:, None, None], "h": draws["a"][:, None]}
    signed = run.task.rewards == "signed"
    r = [oracle.multiplexer_reward(s, a, run.task.bits, signed) for s, a in zip(draws["s"], draws["a"], strict=True)]
    return {"s": draws["s"], "r": r, "layers": [hidden, output]}


class Replay:
    """The oracle's side of a run, from these parameters on."""

    def __init__(self, run, params):
        self.run, self.parts, self.t = run, parts_of(params), 0
        self.moments, self.smallest, self.coin = {}, {}, oracle.Coin()

    def update(self, draws):
        progress = self.t / (self.run.updates - 1)
        self.t += 1
        described = self.run.to_dict()
        rules = described["rule"] if isinstance(described["rule"], list) else [described["rule"]] * len(self.run.hidden)
        numbers = {"rules": [{k: at(v, progress) for k, v in rule.items()} for rule in rules]}
        whole = {"layers": self.parts[:-1], "critic": self.parts[-1]}
        gradient = leaves(oracle.gradient(described, numbers, whole, draws, self.coin))
        rates = [rate.at(progress) if isinstance(rate, Linear) else rate for rate in self.run.learning_rates]
        flat = leaves(self.parts)
        for name, g in gradient.items():
            before = self.moments.get(name, (np.zeros_like(g), np.zeros_like(g)))
            part = int(name.split("[")[0])
            rate = rates[part] * (rules[part]["recurrent_rate"] if "W_rec" in name else 1)
            if name.split("'")[1] in "UuQ":
                rate *= rules[part].get("baseline_rate", 1.0)
            if name.split("'")[1] == "m":
                rate *= rules[part].get("learning_signal_rate", 1.0)
            flat[name], self.moments[name] = oracle.adam(flat[name], g, before, self.t, rate)
            small = np.where(g == 0, np.inf, np.abs(g))
            self.smallest[name] = np.minimum(self.smallest.get(name, np.inf), small)
        self.parts = jax.tree.unflatten(jax.tree.structure(self.parts), list(flat.values()))

    def agrees(self, params, mu, tolerance):
        """With the engine's parameters and first moments."""
        expected, found, mu = leaves(self.parts), leaves(parts_of(params)), leaves(parts_of(mu))
        assert found.keys() == expected.keys()
        most = 2.1 * self.t * max(max(r.start, r.stop) if isinstance(r, Linear) else r for r in self.run.learning_rates)
        checked = 0
        for name, value in expected.items():
            np.testing.assert_allclose(mu[name], self.moments[name][0], atol=tolerance, rtol=tolerance)
            sure = self.smallest[name] > SURE
            checked += sure.sum()
            np.testing.assert_allclose(found[name][sure], value[sure], atol=tolerance, rtol=tolerance)
            assert np.abs(found[name] - value).max() < most
        assert checked > 0.95 * sum(leaf.size for leaf in expected.values())
        assert self.coin.ties <= 2 + 1e-5 * self.coin.draws
