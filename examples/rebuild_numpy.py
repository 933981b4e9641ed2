"""A trained network again in plain NumPy: read from its file, drawn layer after layer, and paid by its task.

    python examples/rebuild_numpy.py                trains a small network first
    python examples/rebuild_numpy.py FILE           a file of a store, of a run on the multiplexer

Only `read` to `probabilities` rebuild it; they need NumPy and safetensors. docs/networks.md says what the names mean.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from safetensors import safe_open

ACTIVATIONS = {
    "relu": lambda d: np.maximum(d, 0),
    "sigmoid": lambda d: 1 / (1 + np.exp(-d)),
    "tanh": np.tanh,
    "softplus": lambda d: np.logaddexp(d, 0),
}
sigmoid, softplus = ACTIVATIONS["sigmoid"], ACTIVATIONS["softplus"]


def read(path):
    """The run as plain data, and its parameters by name."""
    with safe_open(path, framework="numpy") as file:
        run = json.loads(file.metadata()["coexplore"])["about"]["run"]
        return run, {name: file.get_tensor(name) for name in file.keys() if name.startswith("params.")}  # noqa: SIM118


def final(x):
    """A number, or where its schedule ends."""
    return x["stop"] if isinstance(x, dict) else x


def drawn(p, rng):
    return (rng.random(p.shape) < p).astype(np.float32)


def hidden(rule, layer, x, rng):
    """What a hidden layer draws from what it hears, and whether its units are binary."""
    d = x @ layer["W"] + layer["b"]
    if rule["name"] == "backprop":
        return ACTIVATIONS[rule["activation"]](d), False
    if rule["name"] == "map-prop":
        return softplus(d) + np.sqrt(final(rule["variance"])) * rng.standard_normal(d.shape), False
    if "W_rec" not in layer:  # reinforce, ste, weight-max, unbiased-weight-max
        return drawn(sigmoid(d), rng), True
    if rule.get("sampler", "synchronous") != "synchronous":
        raise SystemExit("rebuild_numpy.py: the one-by-one sampler is not written here")
    h = drawn(sigmoid(d), rng)
    for _ in range(rule["steps"]):
        heard = 2 * h - 1 if rule["chain_signals"] == "signed" else h
        h = drawn(sigmoid(final(rule["coupling"]) * heard @ layer["W_rec"] + d), rng)
    return h, True


def probabilities(run, params, s, rng):
    """Of each action [B, actions], given one draw of the hidden layers."""
    layers = [
        {
            name: params[f"params.layers.{i}.{name}"]
            for name in ("W", "b", "W_rec")
            if f"params.layers.{i}.{name}" in params
        }
        for i in range(len(run["hidden"]) + 1)
    ]
    rules = run["rule"] if isinstance(run["rule"], list) else [run["rule"]] * len(run["hidden"])
    x = s
    for rule, layer in zip(rules, layers[:-1], strict=True):
        x, binary = hidden(rule, layer, x, rng)
        x = 2 * x - 1 if binary and run["signals"] == "signed" else x
    d = np.pad(x @ layers[-1]["W"] + layers[-1]["b"], ((0, 0), (1, 0)))  # the first action's is 0
    d = d / final(run["task"].get("temperature", 1.0))
    e = np.exp(d - d.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def act(run, params, s, rng, deterministic=False, draws=32):
    """Drawn, or the most probable on average over draws of the hidden layers."""
    if deterministic:
        return np.mean([probabilities(run, params, s, rng) for _ in range(draws)], axis=0).argmax(axis=1)
    p = probabilities(run, params, s, rng)
    return (rng.random((len(s), 1)) >= p.cumsum(axis=1)[:, :-1]).sum(axis=1)


def rewards(task, bits, actions):
    """The multiplexer's: the address, its most significant bit first, says which data bit is to be named."""
    k = task["bits"]
    address = bits[:, :k] @ 2 ** np.arange(k)[::-1]
    right = bits[np.arange(len(bits)), k + address] == actions
    return np.where(right, 1.0, -1.0 if task["rewards"] == "signed" else 0.0)


def rebuilt_rewards(path, episodes, deterministic, rng):
    run, params = read(path)
    task = run["task"]
    if task["name"] != "multiplexer":
        raise SystemExit(
            f"rebuild_numpy.py: {path} is of {task['name']}; only the multiplexer's rewards are written here"
        )
    bits = rng.integers(0, 2, (episodes, task["bits"] + 2 ** task["bits"]))
    s = (2 * bits - 1 if task["encoding"] == "signed" else bits).astype(np.float32)
    return rewards(task, bits, act(run, params, s, rng, deterministic))


def trained(folder):
    from coexplore import Boltzmann, Multiplexer, Run, train

    run = Run(rule=Boltzmann(), hidden=32, task=Multiplexer(bits=2), episodes=160_000, learning_rate=0.01)
    train(run, store=folder, progress=False)
    return next(Path(folder).glob("*.safetensors"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", nargs="?", help="a file of a store, of a run on the multiplexer")
    parser.add_argument("--episodes", type=int, default=5_000)
    options = parser.parse_args()
    from coexplore import load

    with tempfile.TemporaryDirectory() as folder:
        path = Path(options.file) if options.file else trained(folder)
        (result,) = load(path)
        for name, deterministic in (("drawn", False), ("deterministic", True)):
            found = rebuilt_rewards(path, options.episodes, deterministic, np.random.default_rng(1))
            ours = result.evaluate(episodes=options.episodes, deterministic=deterministic)
            half = 1.96 * found.std() / len(found) ** 0.5
            print(f"{name}: NumPy {found.mean():.3f} ± {half:.3f}, coexplore {ours}")


if __name__ == "__main__":
    main()
