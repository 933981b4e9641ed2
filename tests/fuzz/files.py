"""Hostile and damaged files, dozens of one form at a time, in a store with good ones beside them.

What must hold: a file is used or refused in one line; nothing but lines that begin with `coexplore: ` is on standard
error of a command; good files beside it are read, shown and used; no file is gone afterwards.
"""

import collections
import contextlib
import io
import json
import os
import shutil
import sys
import warnings
from pathlib import Path

from fuzz.forging import bent, damaged, dumped, forged, twisted

os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
MANY, HURT = 320, 0.2  # files of an attempt; the share of them that are damaged rather than forged
SLOW = {"checkpoint": 8}  # of forms that take longer an attempt has so many times fewer, and there are so many more
LOOKS = 2  # at a network on its way, each of which takes as long as its training
FORMS = ("result", "network", "pack", "first pack", "checkpoint", "plan", "failure", "gradients", "claims", "index")
COMMANDS = {
    "runs": ["runs"],
    "csv": ["runs", "--export", "x.csv", "--sort", "seconds"],
    "json": ["runs", "--export", "x.json", "--curves"],
    "report": ["report", "--out", "x.html"],
    "plot": ["plot", "x.svg"],
    "claims": ["claims", "--json"],
    "pack": ["runs", "pack", "x.safetensors"],
}
OLD = Path(__file__).parent.parent / "data" / "pack-1.safetensors"
AGAIN = "listed anew, and the same command goes on"  # where the list of a store was believed too long
tried = collections.Counter()
good = {}  # digests of the runs of a store that are there whatever happens, by folder
named = {}  # what the other files of the store are called


def attempt(rng, folder):
    os.chdir(_furnished(folder))
    (form,), store = rng.choices(FORMS, [SLOW.get(form, 1) for form in FORMS]), Path("store")
    shutil.rmtree(store, ignore_errors=True)
    shutil.copytree(folder / "kept", store)
    passed = []
    for i in range(MANY // SLOW.get(form, 1)):
        path = _attacked(rng, form, store, i)
        if why := _tried(rng, form, path, passed):
            return f"{form}: {why}"
    before = len(list(store.rglob("*")))
    if why := _among_good_ones(rng, form, store, bool(passed)):
        return f"{form} among good ones: {why}"
    return f"{form}: a file is gone" if len(list(store.rglob("*"))) < before else None


def _attacked(rng, form, store, i):
    """One more file of this form."""
    source, path = _places(form, store, i)
    path.parent.mkdir(exist_ok=True)
    _remove(path)
    shutil.copy(source, path)
    if rng.random() < HURT:
        tried[f"damaged {form}"] += 1
        damaged(rng, path, rng.choice([each for each in store.glob("*") if each.is_file()]))
        return path
    tried[f"hostile {form}"] += 1
    return _forged(rng, form, path)


def _places(form, store, i):
    """The good file, and where one like it is put."""
    home, first = store.parent, store.parent / "result.safetensors"
    return {
        "result": lambda: (first, store / f"{i:064x}.cpu-1.safetensors"),
        "network": lambda: (first, home / "networks" / f"{i}.safetensors"),
        "pack": lambda: (home / "pack.safetensors", store / f"pack{i}.safetensors"),
        "first pack": lambda: (OLD, store / f"pack{i}.safetensors"),
        "checkpoint": lambda: (home / "checkpoint.safetensors", store / "checkpoints" / named["checkpoint"]),
        "plan": lambda: (home / "plan.json", store / "plans" / named["plan"]),
        "failure": lambda: (home / "failure.json", store / "failed" / named["failure"]),
        "gradients": lambda: (home / "gradients.json", store / "gradients.json"),
        "claims": lambda: (home / "claims.json", store / "claims.json"),
        "index": lambda: (home / "index.safetensors", store / ".index" / "runs.safetensors"),
    }[form]()


def _remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _forged(rng, form, path):
    """The same with other contents, under a hash that fits and the name that goes with it."""
    if path.suffix == ".json":
        text = dumped(bent(rng, json.loads(path.read_text())), ensure_ascii=rng.random() < 0.9)
        path.write_text(text, "utf-8", "surrogatepass")
        return path
    from coexplore.store.sealed import unseal

    about, tensors, provenance = unseal(path)
    del provenance["sha256"]
    if form == "result":
        about["run"]["seed"] = rng.randrange(10, 10**9)
    how = rng.randrange(3)
    about = about if how == 1 else bent(rng, about)
    tensors = tensors if how == 0 else twisted(rng, tensors)
    provenance = bent(rng, provenance) if rng.random() < 0.2 else provenance
    path.write_bytes(forged(about, tensors, provenance))
    name = _name(about) if form == "result" else None
    return path.rename(path.with_name(name)) if name and not path.with_name(name).exists() else path


def _name(about):
    """What a file about this should be called, if that can be said."""
    from coexplore.store.encoding import run_of

    with contextlib.suppress(Exception):
        about["engine"].encode()
        return f"{run_of(about['run']).digest}.{about['engine'][:20]}-{about['stream'] % 10**9}.safetensors".replace(
            "/", ""
        )
    return None


def _tried(rng, form, path, passed):
    """One file by itself is used, or refused in one line; anything else is raised, or said."""
    from coexplore.store import StoreError

    try:
        _used(rng, form, path)
        passed.append(path)
    except StoreError as error:
        name = str(StoreError(path.name))  # as a line has it
        return None if str(error).isprintable() and name in str(error) else f"a bad line, {error!r}"
    return None


def _used(rng, form, path):
    from coexplore import load
    from coexplore.cli.reproduce import _written
    from coexplore.paper.checkpoints import read_table
    from coexplore.report.live import Follower
    from coexplore.store import StoreError, index, read

    if form in ("result", "pack", "first pack"):
        return read(path)
    if form == "network":
        for result in load(path):
            _ = repr(result), result.params, result.snapshots, result.frozen, result.curve
    if form == "checkpoint":
        _resumed(path.parent.parent, "cpu" if rng.random() < 0.99 else "xla")
    if form in ("plan", "failure", "checkpoint"):
        return json.dumps(Follower(path.parent.parent).live(), allow_nan=False, ensure_ascii=False).encode()
    if form == "gradients":
        read_table(path.parent)
    if form == "claims":
        with contextlib.redirect_stderr(io.StringIO()) as told:
            _written(path)
        if told.getvalue():
            raise StoreError(told.getvalue().strip())
    if form == "index":
        index.read_index(path).results(path.parent.parent, {})
    return None


def _resumed(store, engine):
    """Training goes on from it, or begins again; either way it comes to its end."""
    from coexplore.run import Run
    from coexplore.study import study

    run = Run.from_dict(json.loads((store.parent / "under_way.json").read_text()))
    done = study(run, engine=engine, progress=False, store=store, snapshots=LOOKS)
    lines = [*done.problems, *(failure.reason for failure in done.failures)]
    assert all(line.isprintable() for line in lines), lines
    assert done.results or all(any(w in f.reason for w in ("finite", "beyond")) for f in done.failures), lines
    for result in done.results:
        for found in store.glob(f"{result.digest}*"):
            found.unlink()


def _among_good_ones(rng, form, store, passed):
    """Commands over the store with all of these files."""
    from coexplore.store import read

    results, problems = read(store)
    if missing := good[Path.cwd()] - {result.digest for result in results}:
        return f"{len(missing)} good runs are gone, {problems[:1]}"
    if any(not line.isprintable() for line in problems):
        return f"a bad line, {problems}"
    if form == "claims":
        return _reproduced(store)
    reads = {"claims", "report"} if form == "gradients" else set(COMMANDS)
    names = sorted(reads & set(COMMANDS)) or sorted(COMMANDS)
    for name in rng.sample(names, 2 if passed else 1):
        words = [*COMMANDS[name], "--store", str(store)]
        if (why := _called(words, name)) and AGAIN in why:
            why = _called(words, name)
        if why:
            return f"{name}: {why}"
    return None


def _reproduced(store):
    """Verdicts are written where a list of others may be, or anything else."""
    from coexplore.cli.reproduce import _write

    with contextlib.redirect_stderr(io.StringIO()) as told:
        if not (store / "claims.json").is_dir():
            _write([], ["fig2"], store)
            json.loads((store / "claims.json").read_text())
    return None if told.getvalue().count("\n") <= 1 else told.getvalue()


def _called(words, name):
    """What a command did that it should not; None if it behaved."""
    from coexplore import cli

    tried[name] += 1
    out, err, argv, status = io.StringIO(), io.StringIO(), sys.argv, None
    sys.argv = ["coexplore", *words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("always")
            cli.main()
    except SystemExit as left:
        status = left.code
    finally:
        sys.argv = argv
    lines = err.getvalue().splitlines()
    bad = [
        line for line in lines if not line.startswith("coexplore: ") or not line.isprintable() or "unexpected" in line
    ]
    return None if status == 0 and not bad else f"status {status}, {(bad or lines)[:2]}"


def _furnished(folder):
    """A folder with a store: four finished runs and one of each of the other files."""
    here = folder / "here"
    here.mkdir(exist_ok=True)
    if here.resolve() in good and (folder / "kept").exists():
        return here
    from coexplore import STOP, Boltzmann, Reinforce, Run, grid, train
    from coexplore.store import Store, pack, read
    from coexplore.store import folder as folders
    from coexplore.tasks.multiplexer import Multiplexer

    kept, small = folder / "kept", Run(task=Multiplexer(bits=1), hidden=(5,), episodes=1600)
    shutil.rmtree(kept, ignore_errors=True)
    runs = grid(small, rule=[Boltzmann(), Reinforce()], seed=range(2))
    results = train(runs, engine="cpu", progress=False, store=kept)
    going = small.with_seed(5)
    stop = {"snapshots": LOOKS, "callback": lambda at: STOP if at.updates else None}
    train(going, engine="cpu", progress=False, store=kept, **stop)
    (here / "under_way.json").write_text(json.dumps(going.to_dict()))
    Store(kept).fail(small.with_seed(9), "cpu", "it was too much")
    pack(results, here / "pack.safetensors")
    (here / "gradients.json").write_text(json.dumps({"gradients": [_row(small, seed) for seed in range(3)]}))
    (here / "claims.json").write_text(json.dumps(_verdicts()))
    folders.LEAST_INDEXED = 1
    read(kept)
    for form, places in {"plan": "plans", "failure": "failed", "checkpoint": "checkpoints", "index": ".index"}.items():
        found = max(kept.glob(f"{places}/*"))
        named[form] = found.name
        shutil.copy(found, here / f"{form}{found.suffix}")
    shutil.copy(min(kept.glob("*.safetensors")), here / "result.safetensors")
    good[here.resolve()] = {run.digest for run in runs}
    return here


def _row(run, seed):
    from coexplore.paper.gradients import PARTS, STATISTICS

    parts = {part: {name: [0.5, 0.1] for name in STATISTICS} for part in PARTS}
    words = {"label": "a", "digest": run.digest, "setting": run.setting.digest, "engine": "cpu"}
    return {
        **words,
        "units": 5,
        "seed": seed,
        "episodes": 160,
        "level": 0.3,
        "reward": 0.1,
        **parts,
        "right_critic": parts,
    }


def _verdicts():
    from coexplore.paper.claims import verdicts

    return [verdict.to_dict() for verdict in verdicts([], 4_000_000)][:5]
