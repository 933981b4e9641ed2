"""Runs trained on a real Ray cluster of two nodes on this machine: the same bits, whatever is lost on the way.

`make cluster-test` runs these; `make test`, which has a few minutes, runs one on one node, in test_cluster.py.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from coexplore import Boltzmann, Multiplexer, Reinforce, Run, grid, train
from coexplore.rules.baseline import Chains
from coexplore.rules.learning_signal import Reward
from coexplore.settings import FieldError
from coexplore.store import Store, read
from coexplore.study import study
from coexplore.study.cluster import connection, dispatch

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),  # Ray's
]
BIN = Path(sys.executable).parent
SEEDS = 24  # of runs that take seconds each: more than are done before a signal arrives
TINY = Run(rule=Reinforce(), hidden=(5,), task=Multiplexer(bits=1), episodes=16 * 400)
LONG = Run(rule=Boltzmann(steps=25), hidden=(48,), task=Multiplexer(bits=4), episodes=16 * 150_000)  # several seconds
FINISHED = "*.cpu-*.safetensors"


def contents(folder):
    """What is the same wherever a run was trained. Of the provenance, `seconds` and `finished` are not."""
    found, problems = read(folder)
    assert problems == []
    return {result.run.digest: (result.engine, result.provenance["sha256"]) for result in found}


FAKE = """
import importlib.abc, importlib.util, os, sys

class CudaWithoutGpu(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    '''The cpu engine under the name of cuda, for whoever was given a GPU.'''
    def find_spec(self, name, path=None, target=None):
        if os.environ.get("NO_COMPILER") and name == "coexplore.engines.cpu._kernel_generic":
            raise ImportError("not built")
        return importlib.util.spec_from_loader(name, self) if name == "coexplore.engines.cuda" else None
    def exec_module(self, module):
        from coexplore.engines import cpu
        vars(module).update({k: v for k, v in vars(cpu).items() if not k.startswith("__")})
        module.name, module.waits = "cuda", True
        module.missing = lambda: None if os.environ.get("CUDA_VISIBLE_DEVICES") else "there is no NVIDIA GPU"
        module.finish = self.finish
    def finish(self, state):
        import ray
        from coexplore.engines import cpu
        where = {"node": ray.get_runtime_context().get_node_id(), "gpu": os.environ["CUDA_VISIBLE_DEVICES"]}
        (done,) = cpu.finish(state)
        return [type(done)(done.run, "cuda", done.curve, done.params, {**done.provenance, **where})]

sys.meta_path.insert(0, CudaWithoutGpu())
"""


class Cluster:
    """A head that declares a GPU which is not there and has no cores, and nodes of one core each."""

    def __init__(self):
        from ray.cluster_utils import Cluster as Simulated

        self.cluster = Simulated()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            door = free.getsockname()[1]
        self.client = f"ray://127.0.0.1:{door}"
        self.head = self.cluster.add_node(num_cpus=0, num_gpus=1, include_dashboard=False, ray_client_server_port=door)
        self.nodes = [self.cluster.add_node(num_cpus=1) for _ in range(2)]
        self.cluster.wait_for_nodes()
        self.address = self.cluster.address

    def lose(self, node):
        self.cluster.remove_node(node, allow_graceful=False)
        self.nodes.remove(node)

    def grow(self, **more):
        self.nodes.append(self.cluster.add_node(num_cpus=1, **more))
        self.cluster.wait_for_nodes()


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Of all processes of a cluster: what they compile is kept for the others, and nodes with a GPU have an engine."""
    (fake := tmp_path_factory.mktemp("fake") / "sitecustomize.py").write_text(FAKE)
    return {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path_factory.mktemp("cache")),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "PYTHONPATH": str(fake.parent),
    }


@pytest.fixture(scope="module")
def cluster(environment):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        made = Cluster()
        yield made
        made.cluster.shutdown()


def until(what, seconds=120):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)


def test_a_study_that_loses_a_node_ends_with_the_same_bits(cluster, tmp_path, monkeypatch, capfd):
    runs = grid(LONG, seed=range(3))
    monkeypatch.setattr(dispatch, "CHECKPOINT_SECONDS", 0.5)
    told, advance = {}, dispatch.Dispatch._advance
    begun = str(tmp_path / "begun")

    def train_group(runs, order, desk):
        import ray

        from coexplore.study.cluster import worker

        with open(begun, "a") as file:
            print(order.number, ray.get_runtime_context().get_node_id(), file=file)
        return worker.train_group(runs, order, desk)

    def noted(self, sent, i, done, reward):
        told.setdefault(sent.runs[i], []).append(done)
        advance(self, sent, i, done, reward)

    def lose_a_node():
        until(
            lambda: len(list(tmp_path.glob("there/checkpoints/[!.]*"))) == 2
        )  # both nodes are in the middle of something
        cluster.lose(cluster.nodes[0])

    monkeypatch.setattr(dispatch.worker, "train_group", train_group)
    monkeypatch.setattr(dispatch.Dispatch, "_advance", noted)
    thread = threading.Thread(target=lose_a_node)
    thread.start()
    done = study(runs, "cpu", store=tmp_path / "there", cluster=cluster.address)
    thread.join()
    cluster.grow()
    assert (done.trained, done.failures, done.problems) == (3, [], [])
    begun = Path(begun).read_text().splitlines()
    assert len(begun) == len(set(begun)) == 4  # one of the three was begun again, on the other node
    assert {line.split()[0] for line in begun} == {"0", "1", "2"}
    assert [levels.count(0) for levels in told.values()] == [1, 1, 1]  # … and went on from a checkpoint
    out, err = capfd.readouterr()
    assert out == ""
    assert "coexplore: Ray: Task train_group failed. There are 3 retries remaining" in err
    study(runs, "cpu", progress=False, store=tmp_path / "here")
    assert contents(tmp_path / "there") == contents(tmp_path / "here")
    assert not list(tmp_path.glob("there/checkpoints/*"))
    one, other = (Store(tmp_path / name).find(runs[0])[0] for name in ("there", "here"))
    differing = {name for name in one.provenance if one.provenance[name] != other.provenance[name]}
    assert differing <= {"seconds", "finished"}


def test_results_without_a_store_are_those_of_this_machine(cluster):
    runs = [
        TINY,
        *grid(TINY, rule=Boltzmann(steps=2, baseline=Chains(), learning_signal=Reward()), seed=range(2)),
    ]  # which only xla has
    there = train(runs, "auto", progress=False, cluster=cluster.address)
    assert [result.engine for result in there] == ["cuda", "xla", "xla"]
    here = train(runs[1:], progress=False)
    for a, b in zip(there[1:], here, strict=True):
        assert np.array_equal(a.curve, b.curve)
        assert np.array_equal(a.params.layers[0].W, b.params.layers[0].W)
        assert a.snapshots == b.snapshots == {}


def test_a_client_of_a_cluster_far_away_gets_the_same(cluster, tmp_path):
    """In a process of its own, as Ray lets one connect in one way only."""
    words = [
        "train",
        "reinforce",
        "--units",
        "5",
        "--bits",
        "1",
        "--episodes",
        "6400",
        "--engine",
        "cpu",
        "--seeds",
        "3",
    ]
    for folder, more in {"there": ["--cluster", cluster.client], "here": []}.items():
        told = [BIN / "coexplore", *words, "--store", tmp_path / folder, *more]
        done = subprocess.run(told, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert len(done.stderr.splitlines()) == 1  # the bar
    assert contents(tmp_path / "there") == contents(tmp_path / "here")
    assert len(contents(tmp_path / "here")) == 3


def test_what_needs_a_gpu_goes_to_the_node_that_declares_one(cluster):
    found = train(grid(TINY, seed=range(3)), progress=False, cluster=cluster.address)
    assert {(result.engine, result.provenance["gpu"]) for result in found} == {("cuda", "0")}
    assert {result.provenance["node"] for result in found} == {cluster.head.node_id}
    with pytest.raises(FieldError, match="another than cuda: it has no map-prop"):
        train(Run.from_dict({**TINY.to_dict(), "rule": {"name": "map-prop"}}), "cuda", False, cluster=cluster.address)


def test_a_node_without_the_engine_is_given_nothing_for_it(cluster):
    cluster.grow(env_vars={"NO_COMPILER": "1"})
    found = train(grid(TINY, seed=range(6)), "cpu", progress=False, cluster=cluster.address)
    cluster.lose(cluster.nodes[-1])
    assert {result.engine for result in found} == {"cpu"}
    assert len(found) == 6


OWN = """
import os, sys
import numpy as np
from coexplore import Bandit, Boolean, Dataset, Run, grid, number, train
from helpers.signals import half
from rule import Halved

class Mine(Boolean):
    name, title = "mine", "a task of one's own, defined in the script"
    level: float = number(1.0, "a setting of its own")

def paid(state, action):
    return half(state[:, 0])

tasks = [Mine(function="parity", bits=3), Dataset(np.eye(5), [0, 1, 0, 1, 1]), Bandit(paid, name="own", version="1")]
run = Run(rule=Halved(), hidden=(6,), episodes=16 * 300)
runs = grid(run, task=tasks, seed=range(2))
here = train(runs, progress=False)
for file in ("rule.py", "helpers/signals.py", "helpers/__init__.py"):
    os.remove(file)  # as on a machine that has none of them
there = train(runs, progress=False, cluster=sys.argv[1], store="runs")
print(all(np.array_equal(a.curve, b.curve) for a, b in zip(here, there)), there[1].params is not None)
"""
RULE = """
from coexplore import Rule, outer
from helpers.signals import half

class Halved(Rule):
    name, title = "halved", "REINFORCE with half of the signal"

    def credit(self, layer, signal, above):
        return outer(layer.x, half(signal) * (layer.h - layer.h.mean(axis=1, keepdims=True)))
"""


def test_a_rule_and_a_task_of_ones_own_reach_the_workers_with_what_lies_beside_them(cluster, environment, tmp_path):
    (tmp_path / "helpers").mkdir()
    for name, text in {
        "script.py": OWN,
        "rule.py": RULE,
        "helpers/signals.py": "def half(x):\n    return x / 2\n",
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "helpers" / "__init__.py").touch()
    words = [sys.executable, "script.py", cluster.address]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, env=os.environ | environment, check=False
    )
    assert done.stdout == "True True\n", done.stderr


AFTERNOON = """
import importlib, sys
from pathlib import Path
import numpy as np
import ray
from coexplore import Rule, Run, outer
from coexplore.study import study
import bent

sys.dont_write_bytecode = True
ray.init(sys.argv[1], log_to_driver=False)

def trained(step):
    source = "class Bending(Rule):\\n    name, title = 'bending', 'a rule that is edited'\\n"
    source += "    def credit(self, layer, signal, above):\\n        x = layer.x\\n        " + step
    exec(source + "\\n        return outer(x, signal * bent.bend(layer.h))", globals())
    done = study(Run(rule=Bending(), hidden=(6,), episodes=16 * 300), store="runs", cluster=sys.argv[1])
    return done.trained, done.failures, done.results and done.results[0].curve.sum()

def edited(text):
    Path(bent.__file__).write_text(text)
    importlib.reload(bent)

print([trained("pass")[:2], trained("# a comment")[:2], trained("x = 2 * x")[:2]])
first = trained("pass")[2]
edited("def bend(h):\\n    return 0.25 - h")
done = trained("pass")
print(done[:2], done[2] != first)
edited("def bend(h):\\n    # a comment\\n    return 0.25 - h")
print(trained("pass")[:2])
"""


def test_edited_code_is_trained_and_a_changed_comment_is_not(cluster, environment, tmp_path):
    (tmp_path / "beside").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "beside" / "script.py").write_text(AFTERNOON)
    (tmp_path / "elsewhere" / "bent.py").write_text("def bend(h):\n    return h - 0.5\n")
    env = os.environ | environment
    env["PYTHONPATH"] += f":{tmp_path / 'elsewhere'}"
    words = [sys.executable, "beside/script.py", cluster.address]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=env, check=False)
    assert done.stdout == "[(1, []), (0, []), (1, [])]\n(1, []) True\n(0, [])\n", done.stderr


def test_a_worker_that_cannot_import_a_rule_is_named_in_a_line(cluster, tmp_path, monkeypatch, here):
    (tmp_path / "gone.py").write_text(RULE.replace("from helpers.signals import half", "half = abs"))
    (tmp_path / "gone-1.dist-info").mkdir()
    (tmp_path / "gone-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: gone\nVersion: 1\n")
    (tmp_path / "gone-1.dist-info" / "entry_points.txt").write_text("[coexplore.rules]\nhalved = gone:Halved\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(connection, "is_own", lambda module: False)
    done = here("train", "halved", "--episodes", "1600", "--cluster", cluster.address)
    line = f"coexplore: cluster: node {socket.gethostname()} cannot read the runs: "
    assert (done.returncode, done.stderr) == (1, f"{line}ModuleNotFoundError: No module named 'gone'\n")


def processes(mark):
    """Of those who have it in their environment, and are not just about to be buried."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (
                mark.encode() in (folder / "environ").read_bytes()
                and "Z" not in (folder / "stat").read_text().split()[2]
            ):
                found.append(folder)
        except OSError:
            pass
    return found


def listening(folders):
    """Addresses on which these processes listen, as the kernel writes them."""
    sockets = {os.readlink(fd) for folder in folders for fd in folder.glob("fd/*") if fd.is_symlink()}
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path("/proc/net", name).read_text().splitlines()[1:]]
    return {row[1].partition(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets}


def interrupted(store, address, mark, seen):
    """A command that is stopped as a terminal does it once `seen` is there; all that it printed."""
    words = ["train", "boltzmann", "--units", "48", "--episodes", "2400000", "--seeds", str(SEEDS), "--engine", "cpu"]
    words = [BIN / "coexplore", *words, "--cluster", address, "--store", store]
    env = {**os.environ, "MARK": mark, "COLUMNS": "200"}
    process = subprocess.Popen(
        words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    until(lambda: seen() or process.poll() is not None)
    addresses = listening(processes(mark))
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    return addresses, err


def test_ctrl_c_keeps_what_is_done_and_leaves_nobody_behind(tmp_path, environment, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    mark = f"coexplore-{os.getpid()}-{time.time_ns()}"
    addresses, err = interrupted(tmp_path, "ray", mark, lambda: list(tmp_path.glob(FINISHED)))
    until(lambda: not processes(mark), 15)
    assert addresses <= {"0100007F", "0000000000000000FFFF00000100007F"}  # loopback
    assert addresses
    finished = len(list(tmp_path.glob(FINISHED)))
    assert 1 <= finished < SEEDS
    last = err.strip().splitlines()[-1]
    assert last.startswith(f"coexplore: interrupted; {finished} of {SEEDS} runs were finished and kept in")
    assert not [line for line in err.splitlines() if not line.startswith("coexplore:") and "━" not in line.strip()]
    under_way = Store(tmp_path).under_way()
    assert under_way
    assert all(0 < each.done < each.run.updates for each in under_way)
    assert not list((tmp_path / ".locks").iterdir())
    runs = grid(Run(rule=Boltzmann(), hidden=(48,), episodes=2_400_000), seed=[under_way[0].run.seed])
    resumed = study(runs, "cpu", progress=False, store=tmp_path)  # the rest of it on this machine
    assert resumed.trained == 1
    study(runs, "cpu", progress=False, store=tmp_path / "alone")
    assert contents(tmp_path / "alone").items() <= contents(tmp_path).items()


def test_ctrl_c_does_not_end_a_cluster_that_others_started(cluster, tmp_path):
    interrupted(tmp_path, cluster.address, "of-others", lambda: list(tmp_path.glob("plans/*")))
    assert train(TINY, "cpu", progress=False, cluster=cluster.address)[0].run == TINY


@pytest.mark.parametrize("scheme", ["ray://", ""])
def test_an_address_that_does_not_answer_costs_a_line_and_seconds(scheme, here):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        began = time.monotonic()
        closed = here("train", "reinforce", "--episodes", "1600", "--cluster", f"{scheme}127.0.0.1:{port}")
        assert time.monotonic() - began < 10
        listener.listen()  # somebody who is not Ray, and says nothing
        silent = here("train", "reinforce", "--episodes", "1600", "--cluster", f"{scheme}127.0.0.1:{port}")
        assert time.monotonic() - began < 15
    for done in (closed, silent):
        assert done.returncode == 2
        assert done.stderr.startswith(f"coexplore: cluster: '{scheme}127.0.0.1:{port}' ")
        assert len(done.stderr.splitlines()) == 1
    assert closed.stderr.endswith("give an address where Ray answers (Connection refused)\n")
