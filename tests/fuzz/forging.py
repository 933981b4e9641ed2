"""Files that are well-formed and hostile: their hashes fit, their contents do not. And files that are damaged."""

import copy
import hashlib
import json
import os

import numpy as np
from safetensors.numpy import save

VALUES = (
    None, True, False, 0, 1, -1, 7, 0.5, -1e-300, 1e308, 2**31, 2**63 - 1, 2**63, 10**30, 10**400, float("nan"),
    float("inf"), "", "cpu", "xla", "boltzmann", "x" * 2000, "\ud800", "</script><img src=x>", "\u202egnp",
    "\n\x1b[31mred\x07",
    "../../etc/passwd", "os:system", "builtins:eval", [], {}, [[]], [0] * 50, [None], {"start": 1, "stop": "x"},
    {"start": 0.1, "stop": 0.9}, {"name": "reinforce"}, {"once": [1], "which": [5]},
)  # fmt: skip
NAMES = ("params.x", "snapshots.firing.9", "snapshots.x", "9.curve", "0.whole.curve", "curve")
RUNS = {
    "hidden": ([10**9], [1] * 400, [0], [5, 5], 5, [[5]], [5.5], [2**62], []),
    "episodes": (1, 16, 2**31 - 1, 2**31, 0, -16, 1600.0, 1e300, 17),
    "batch": (1, 2**31 - 1, 10**18, 0, 1600, 3),
    "seed": (-1, 2**32, 2**32 - 1, 1.0, 10**40),
    "learning_rate": (0, 1e300, [0.1, 0.1], {"start": 1e-9, "stop": 1e9}, 10**308),
    "critic": (None, {}, {"hidden": 10**9}, {"rule": "boltzmann"}, {"widths": [1] * 200}),
    "rule": (
        {"name": "boltzmann", "steps": 10**9}, {"name": "boltzmann", "steps": 10**18}, {"name": "nobody"}, {"name": 0},
        [], [{"name": "reinforce"}] * 3, {"name": "recurrent", "steps": 10**7}, {"name": "map-prop"}, {},
        {"name": "boltzmann", "chains": 10**9}, {"name": "map-prop", "relax_steps": 10**9},
    ),
    "task": (
        {"name": "multiplexer", "bits": 6}, {"name": "multiplexer", "bits": 60}, {"name": "digits"}, {"name": "parity"},
        {"name": "control", "env": "CartPole-v1"}, {"name": "control", "env": "os:system"}, {"name": "dataset"},
        {"name": "control", "env": "CartPole-v1", "env_arg": [["render_mode", "human"]]}, {"name": "no:body"}, {},
        {"name": "dataset", "inputs": 10**12, "labels": 10**12}, {"name": "control", "env": "Nobody-v0"},
    ),
}  # fmt: skip


def dumped(data, **how):
    """As the store writes it, but for numbers that it would not."""
    try:
        return json.dumps(data, sort_keys=True, separators=(",", ":"), **how)
    except RecursionError:  # too deep for us
        return "{}"


def forged(about, tensors, provenance, **more):
    """The bytes of a file with these contents, whatever they are, whose hashes fit."""
    tensors = {name: np.asarray(x, order="C") for name, x in tensors.items()}
    digest = hashlib.sha256(dumped(about).encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype.str} {tensors[name].shape}".encode())
        digest.update(tensors[name].tobytes())
    content = {"about": about, "provenance": provenance, "sha256": digest.hexdigest(), **more}
    seal = hashlib.sha256(dumped(content).encode()).hexdigest()
    return save(tensors, metadata={"coexplore": dumped({**content, "seal": seal})})


def places(data, at=()):
    """Every place in JSON."""
    yield at
    for key in list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ():
        yield from places(data[key], (*at, key))


def bent(rng, data):
    """JSON that differs in one to three places."""
    data = copy.deepcopy(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        all_of_it = list(places(data))
        *home, last = rng.choice(all_of_it[1:]) if len(all_of_it) > 1 else (None,)
        if last is None:
            return copy.deepcopy(rng.choice(VALUES))
        here = data
        for key in home:
            here = here[key]
        if _bend(rng, here, last):
            break
    return data


def _bend(rng, here, last):
    """Whether it is so deep now that we could not copy it again."""
    how = rng.randrange(8)
    if how == 0:
        del here[last]
    elif how == 1 and isinstance(here, dict):
        here[rng.choice(("", "name", "x" * 300, "\ud800", "seed", "\n"))] = copy.deepcopy(here[last])
    elif how == 2 and isinstance(here, list):
        here.extend(copy.deepcopy(here[: rng.randrange(1, 4)]))
    elif how == 3 and isinstance(here[last], int | float) and not isinstance(here[last], bool):
        here[last] = min(here[last], 10**300) * rng.choice((-1, 0, 2, 10**6, 10**18))
    elif how == 4 and isinstance(here, dict) and last in RUNS:
        here[last] = copy.deepcopy(rng.choice(RUNS[last]))
    elif how == 5:
        deep = here[last]
        for _ in range(rng.choice((1, 5, 100, 300))):
            deep = [deep]
        here[last] = deep
        return True
    else:
        here[last] = copy.deepcopy(rng.choice(VALUES))
    return False


def twisted(rng, tensors):
    """Arrays of which some have another shape, type, name or other values."""
    tensors = dict(tensors)
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(sorted(tensors) or ["x"])
        x = np.asarray(tensors.get(name, np.zeros(3)))
        how = rng.randrange(9)
        if how == 0:
            tensors.pop(name, None)
        elif how == 1:
            tensors[rng.choice((f"{name}x", *NAMES))] = x
        elif how == 2 and tensors:
            tensors[name] = np.asarray(tensors[rng.choice(sorted(tensors))])
        elif how in (3, 4):
            tensors[name] = _reshaped(rng, x)
        elif how == 5:
            with np.errstate(all="ignore"):
                tensors[name] = x.astype(rng.choice((np.float64, np.float16, np.int64, np.uint8, np.bool_, np.int32)))
        elif x.size:
            y = x.astype(np.float32 if x.dtype.kind == "b" else x.dtype).copy()
            bad = (np.nan, np.inf, -np.inf, 3e38, -3e38, 1e14, 1e30, -1, 0) if y.dtype.kind == "f" else (0, 1, 100)
            with np.errstate(all="ignore"):
                y.reshape(-1)[rng.randrange(y.size) if rng.random() < 0.5 else slice(None)] = rng.choice(bad)
            tensors[name] = y
    return tensors


def _reshaped(rng, x):
    ways = (x.reshape(-1), x[None], x[..., None], x.T, x[:0], x[:1], x[:-1], np.concatenate([x] * 3)) if x.ndim else ()
    return rng.choice((*ways, np.zeros((), x.dtype), np.zeros((0, 3), x.dtype), np.zeros(5000, x.dtype)))


def damaged(rng, path, other):
    """Hurt a file, in place."""
    data = bytearray(path.read_bytes())
    how = rng.randrange(8)
    if how < 3 and data:
        for _ in range(rng.choice((1, 1, 5, 100))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif how == 3:
        data = data[: rng.randrange(len(data) + 1)]
    elif how == 4:
        data = bytearray(other.read_bytes())
    elif how == 5:
        at = rng.randrange(len(data) + 1)
        data[at : at + rng.randrange(200)] = rng.randbytes(rng.randrange(200)) if rng.random() < 0.5 else b""
    elif how == 6:
        data[: rng.randrange(16)] = rng.randrange(2**62).to_bytes(8, "little")
    path.unlink()
    if how < 7:
        path.write_bytes(data)
        return
    strange = rng.choice((path.mkdir, lambda: os.mkfifo(path), lambda: path.symlink_to(path.name)))
    strange()
