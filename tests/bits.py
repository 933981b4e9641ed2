"""The bits of short runs, of every variant of every rule on every engine that this machine has: variants.py lists them.

    python tests/bits.py record FILE     before a change; six minutes of two cores
    python tests/bits.py compare FILE    after it, on the same machine: names each tensor that moved, and exits with 1
    python tests/bits.py sample          adds the bits of the sample on this build to tests/golden/bits.json

`make bits` does the first if build/bits.json is not there yet, else the second.

Each tensor of a result's file (curve, parameters, snapshots) has a hash of its own, so that a comparison tells what
moved; digest, engine and stream stand beside them. (The file's own hash covers the run's full description too, which
grows with every setting that is added.)

Low bits depend on the processor's instructions, on the compiler and on JAX, so that a file holds for one build only and
is not kept in the repository. What is kept is a sample of a few tiny runs on `cpu` and `xla`, which `make test` trains
(test_bits.py): of each tensor its shape and the sum of its absolute values, which on any build must agree but for
rounding; and the hashes of those builds on which `sample` was run. On any other build two trainings must agree.
"""

import functools
import hashlib
import importlib
import json
import platform
import re
import sys
import tempfile
from pathlib import Path

if sys.argv[1:] == ["sample"]:
    import conftest  # noqa: F401  (before jax, of which tests compile with fewer optimisations)

import jax
import numpy as np
from goldens import read, write
from safetensors.numpy import load_file
from variants import VARIANTS

import coexplore
from coexplore import Run, engines
from coexplore.run.upgrade import upgraded_names

MOMENTS = 3  # of snapshots
SAMPLE = {
    "cpu": [
        "recurrent centring=both recurrent_rate=0.1 chain_signals=signed",
        "boltzmann steps=3 centring=half pair_strength=0.5",
        "ste, signals signed",
        "unbiased-weight-max expected=True centring=both",
    ],
    "xla": [
        "boltzmann steps=3 centring=learned centring_rate=0.1",
        "recurrent depression=post-before-pre depression_strength=0.25",
        "boltzmann steps=3 layer_reward=last, hidden 9/8",
    ],
}


def able(engine):
    """The variants that this engine can train, by name."""
    if engines.find(engine).missing():
        return {}
    return {name: run for name, run in runs().items() if engines.find(engine).supports(run) is None}


@functools.cache
def runs():
    return {name: Run.from_dict(described, imported_only=True) for name, described in VARIANTS.items()}


def trained(chosen, engine):
    """Of each of these runs its digest, the engine's stream, and its tensors, as the files of a store have them."""
    with tempfile.TemporaryDirectory() as folder:
        coexplore.train(list(chosen.values()), engine=engine, store=folder, snapshots=MOMENTS, progress=False)
        files = {path.name.partition(".")[0]: path for path in Path(folder).glob("*.safetensors")}
        return {f"{name} on {engine}": _contents(run.digest, files[run.digest]) for name, run in chosen.items()}


def _contents(digest, path):
    stream = path.name.removesuffix(".safetensors").rpartition("-")[2]
    return {"digest": digest, "stream": stream, "tensors": load_file(path)}


def bits(tensor):
    """A hash of what an array is, bit for bit."""
    about = f"{tensor.dtype.str} {tensor.shape} "
    return hashlib.sha256(about.encode() + tensor.tobytes()).hexdigest()[:16]


def in_bits(found):
    """The runs with a hash in each tensor's place."""
    return {name: {**one, "tensors": {x: bits(y) for x, y in one["tensors"].items()}} for name, one in found.items()}


def recorded():
    found = {}
    for engine in engines.NAMES:
        chosen = able(engine)
        print(f"{engine}: {len(chosen)} runs", file=sys.stderr)
        found |= in_bits(trained(chosen, engine)) if chosen else {}
        jax.clear_caches()  # every program keeps memory maps, of which a process may have only so many
    return {"build": build(), "runs": found}


def build():
    """What low bits depend on: the instructions for vectors, the compiler of the cpu engine, JAX and its device."""
    about = Path("/proc/cpuinfo")
    flags = re.search(r"^(?:flags|Features)\s*:(.*)$", about.read_text() if about.exists() else "", re.M)
    vectors = [flag for flag in (flags[1].split() if flags else ()) if re.match("avx|fma|amx|sve|asimd", flag)]
    kernel = importlib.import_module("coexplore.engines.cpu").kernel()
    binary = Path(kernel.__file__).read_bytes() if kernel else b""
    compilers = {name.decode() for name in re.findall(rb"GCC: \([^)]*\) [\d.]+|clang version [\d.]+", binary)}
    made = f"jax {jax.__version__} on {jax.devices()[0].device_kind}"
    return ", ".join([platform.machine(), " ".join(sorted(vectors)), *sorted(compilers), made])


def in_names_of_today(found):
    """What was recorded under former names, with its tensors by the names that they have now."""
    known = {f"{name} on {engine}": described for name, described in VARIANTS.items() for engine in engines.NAMES}
    return {
        name: {**one, "tensors": upgraded_names(known[name], one["tensors"])} if name in known else one
        for name, one in found.items()
    }


def moved(before, after):
    """Lines on what is not as it was, and on runs whose digest alone is another."""
    lines, renamed = [], []
    for name in sorted(before.keys() | after.keys()):
        if name not in after or name not in before:
            lines.append(f"{name}: {'not trained any more' if name in before else 'was not recorded'}")
            continue
        old, new = before[name], after[name]
        if old["stream"] != new["stream"]:
            lines.append(f"{name}: stream {new['stream']} instead of {old['stream']}")
        if old["digest"] != new["digest"]:
            renamed.append(f"{name}: digest {new['digest'][:8]} instead of {old['digest'][:8]}")
        tensors = old["tensors"].keys() | new["tensors"].keys()
        lines += [f"{name}: {x}" for x in sorted(tensors) if old["tensors"].get(x) != new["tensors"].get(x)]
    return lines, renamed


def compare(path):
    """The exit status."""
    before = json.loads(path.read_text())
    if before["build"] != build():
        print(f"{path}: recorded on another build: {before['build']}; this is {build()}")
        return 2
    lines, renamed = moved(in_names_of_today(before["runs"]), recorded()["runs"])
    print(*renamed, *lines, f"{len(lines)} tensors of {len(before['runs'])} runs moved", sep="\n")
    return 1 if lines else 0


def sample():
    """The tensors of the sample."""
    found = {}
    for engine, names in SAMPLE.items():
        found |= trained({name: runs()[name] for name in names}, engine)
    return found


def record_sample():
    """Builds on which the same runs were recorded before are kept."""
    known, found = read("bits"), sample()
    kept = known["bits"] if shapes(known.get("runs", {})) == shapes(sizes(found)) else {}
    own = {name: one["tensors"] for name, one in in_bits(found).items()}
    write("bits", {"runs": sizes(found), "bits": {**kept, build(): own}})


def sizes(found):
    """The runs with shape and sum of absolute values in each tensor's place."""
    return {name: {**one, "tensors": {x: _size(y) for x, y in one["tensors"].items()}} for name, one in found.items()}


def _size(tensor):
    return [list(tensor.shape), float(np.abs(tensor.astype(np.float64)).sum())]


def shapes(measured):
    """Stream and shapes, by run and tensor."""
    return {name: (one["stream"], {x: y[0] for x, y in one["tensors"].items()}) for name, one in measured.items()}


def main(command, *paths):
    if command == "sample":
        return record_sample()
    path = Path(*paths)
    if command == "compare":
        return compare(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found := recorded(), indent=0))
    print(f"{len(found['runs'])} runs recorded")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
