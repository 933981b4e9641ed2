"""Which engines the nodes of a cluster have, and which of them trains which runs."""

import importlib
from collections import defaultdict
from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple

from coexplore import __version__, engines
from coexplore.run import Run
from coexplore.settings import FieldError, Json
from coexplore.study.cluster import worker
from coexplore.study.cluster.connection import ClusterError
from coexplore.study.cluster.worker import Answer, reason
from coexplore.study.progress import Shown

PATIENCE = 120.0  # seconds in which a node must say what it has: it may be busy, and imports JAX
SLIVER = 0.01  # of a GPU, enough to be let near it


class Node(NamedTuple):
    id: str
    name: str
    cpus: float
    gpus: float


class Place(NamedTuple):
    """Where groups of an engine may be trained: on any node with a core, or a GPU, free; or on some nodes only."""

    engine: str
    gpu: bool
    only: tuple[str, ...]  # ids of nodes; none: all

    def options(self) -> dict[str, object]:
        """What to ask of Ray for a task there."""
        needs: dict[str, object] = {"num_gpus": 1, "num_cpus": 0} if self.gpu else {"num_cpus": 1}
        if self.only:
            needs["label_selector"] = {"ray.io/node-id": f"in({','.join(self.only)})"}
        return needs


def able(ray: ModuleType) -> list[Node]:
    """The nodes that can be given anything to train."""
    found = []
    for each in ray.nodes():
        has = each["Resources"]
        node = Node(each["NodeID"], each["NodeManagerHostname"], has.get("CPU", 0), has.get("GPU", 0))
        if each["Alive"] and (node.cpus >= 1 or node.gpus >= 1):
            found.append(node)
    if not found:
        raise ClusterError("cluster: none of its nodes has a core or a GPU for us")
    return found


def places(ray: ModuleType, runs: Sequence[Run], engine: str, show: Shown) -> dict[Run, Place]:
    """Where each run is trained: by the first engine that any node has for it. What that depends on is the setting."""
    settings = list(dict.fromkeys(run.setting for run in runs))
    nodes = able(ray)
    answers = _ask(ray, nodes, settings, engine)
    late = [
        f"node {node.name} does not say what it can train; done without it" for node in nodes if node not in answers
    ]
    cautions = [line for answer in answers.values() for line in answer.cautions]
    for line in dict.fromkeys((*late, *cautions, *_differing(answers))):
        show.say(line)
    chosen = {setting: _place(i, nodes, answers) for i, setting in enumerate(settings)}
    return {run: chosen[run.setting] for run in runs}


def _ask(ray: ModuleType, nodes: list[Node], settings: list[Run], engine: str) -> dict[Node, Answer]:
    near = importlib.import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
    given = ray.put(settings)
    asked = {}
    for node in nodes:
        options = {"num_cpus": 0, "num_gpus": SLIVER if node.gpus else 0, "scheduling_strategy": near(node.id, False)}
        asked[ray.remote(worker.answer).options(**options).remote([given], engine, node.gpus > 0)] = node
    ready, late = ray.wait(list(asked), num_returns=len(asked), timeout=PATIENCE)
    for reference in late:
        ray.cancel(reference)
    said = {asked[reference]: _said(ray, asked[reference], reference) for reference in ready}
    if not any(said.values()):
        raise ClusterError(f"cluster: none of its nodes says within {PATIENCE:.0f} s what it can train")
    return {node: answer for node, answer in said.items() if answer}


def _said(ray: ModuleType, node: Node, reference: object) -> Answer | None:
    """None of a node that is gone."""
    try:
        said = ray.get(reference)
    except (ray.exceptions.NodeDiedError, ray.exceptions.WorkerCrashedError, ray.exceptions.TaskUnschedulableError):
        return None
    except ray.exceptions.RayError as error:
        said = reason(error)
    if isinstance(said, str):
        raise ClusterError(f"cluster: node {node.name} cannot read the runs: {said}")
    if said.version != __version__:
        raise ClusterError(f"cluster: node {node.name} has coexplore {said.version}; install {__version__} there")
    return said


def _place(i: int, nodes: list[Node], answers: dict[Node, Answer]) -> Place:
    """Of the setting with this number."""
    offers: dict[tuple[str, bool], list[Node]] = defaultdict(list)
    for node, answer in answers.items():
        if (name := answer.engines[i]) is not None:
            offers[name, name in answer.on_gpu].append(node)
    if not offers:
        best = max(answers, key=lambda node: node.gpus)  # whoever has most can tell best what is still missing
        raise FieldError(str(answers[best].reasons[i]))
    engine, gpu = min(offers, key=lambda offer: (engines.NAMES.index(offer[0]), not offer[1]))
    these = offers[engine, gpu]
    all_of_them = all(node in these for node in nodes if (node.gpus if gpu else node.cpus))
    return Place(engine, gpu, () if all_of_them else tuple(node.id for node in these))


def _differing(answers: dict[Node, Answer]) -> list[str]:
    """A line for each engine whose results differ in their low bits between the nodes."""
    built: dict[str, list[dict[str, Json]]] = defaultdict(list)
    for answer in answers.values():
        for name, of_node in answer.built.items():
            if of_node not in built[name]:
                built[name].append(of_node)
    line = "the nodes are not alike: low bits of {}'s results depend on which of them trains a run"
    return [line.format(name) for name, kinds in built.items() if len(kinds) > 1]


def groups(ray: ModuleType, chosen: dict[Run, Place]) -> list[tuple[Place, list[Run]]]:
    """The runs in the groups in which the engines of their places train them."""
    theirs: dict[Place, list[Run]] = defaultdict(list)
    for run, place in chosen.items():
        theirs[place].append(run)
    gpus = max(1, int(sum(node.gpus for node in able(ray))))
    asked = {}
    for place, runs in theirs.items():
        options = {**place.options(), "num_cpus": 0, "num_gpus": SLIVER if place.gpu else 0}
        asked[place] = ray.remote(worker.grouped).options(**options).remote(runs, place.engine, place.gpu, gpus)
    cut = {place: ray.get(reference) for place, reference in asked.items()}
    return [(place, [theirs[place][i] for i in group]) for place in theirs for group in cut[place]]
