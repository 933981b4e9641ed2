"""Where a run stands, as a sealed file."""

from typing import NamedTuple

from coexplore.run.result import Tensors
from coexplore.run.run import Run
from coexplore.settings import Json
from coexplore.store.encoding import SNAPSHOTS, about, is_about, run_of, with_prefix, without_prefix
from coexplore.store.sealed import StoreError, Unsealed, sealed


class Checkpoint(NamedTuple):
    """Where a run stands: what its engine needs to go on, and what was seen of it so far."""

    tensors: Tensors
    snapshots: Tensors

    @property
    def done(self) -> int:
        return int(self.tensors["done"])


def sealed_checkpoint(run: Run, engine: str, checkpoint: Checkpoint, built: dict[str, Json]) -> bytes:
    seen = with_prefix(SNAPSHOTS, checkpoint.snapshots)
    return sealed(about(run, engine), {**checkpoint.tensors, **seen}, {"built": built})[1]


def opened_checkpoint(
    source: object, contents: Unsealed, run: Run, engine: str, built: dict[str, Json]
) -> Checkpoint | None:
    """The checkpoint again. One made by another build of the engine is of no use: its low bits differ."""
    stated, tensors, provenance = contents
    if not _is_about(stated, run, engine):
        raise StoreError(f"{source}: another run's checkpoint under this name")
    seen = without_prefix(SNAPSHOTS, tensors)
    own = {name: tensor for name, tensor in tensors.items() if not name.startswith(SNAPSHOTS)}
    return Checkpoint(own, seen) if provenance["built"] == built else None


def _is_about(stated: Json, run: Run, engine: str) -> bool:
    """By digest: a Run may have gained fields, at their defaults, since the file was written."""
    try:
        same = is_about(stated["run"], run) or run_of(stated["run"]) == run
        return same and {**stated, "run": {}} == {**about(run, engine), "run": {}}
    except (ValueError, KeyError, TypeError, AttributeError):
        return False
