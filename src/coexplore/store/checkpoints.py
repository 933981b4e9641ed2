"""Where a run stands, as a sealed file."""

from pathlib import Path
from typing import NamedTuple

from coexplore import engines
from coexplore.run.curve import full_bins
from coexplore.run.result import Tensors
from coexplore.run.run import Run
from coexplore.settings import Json
from coexplore.store.door import (
    CURVE,
    SNAPSHOTS,
    UPDATES,
    check_finite,
    check_rewards,
    check_seen,
    check_snapshots,
    sizes_of,
)
from coexplore.store.encoding import about, is_about, run_of, with_prefix, without_prefix
from coexplore.store.sealed import Unsealed, kinds_of, readable, sealed
from coexplore.store.texts import StoreError


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
    source: Path | str, contents: Unsealed, run: Run, engine: str, built: dict[str, Json]
) -> Checkpoint | None:
    """The checkpoint again. One made by another build of the engine is of no use: its low bits differ."""
    stated, tensors, provenance = contents
    if not _is_about(stated, run, engine):
        raise StoreError(f"{source}: another run's checkpoint under this name")
    with readable(source, "checkpoint"):
        return checked_checkpoint(run, engine, tensors) if provenance["built"] == built else None


def checked_checkpoint(run: Run, engine: str, tensors: Tensors) -> Checkpoint:
    """What no engine needs to look at again; the shapes of its own arrays it knows by itself."""
    seen = without_prefix(SNAPSHOTS, tensors)
    own = {name: tensor for name, tensor in tensors.items() if not name.startswith(SNAPSHOTS)}
    done = own["done"]
    if done.shape != () or done.dtype.kind not in "iu" or not 0 <= done <= run.updates:
        raise ValueError(f"'done' is no number of {run.updates} updates")
    for name, x in own.items():
        check_finite(name, x)
    if seen and UPDATES not in seen:
        raise ValueError("snapshots of no moment")
    check_snapshots(sizes_of(run), kinds_of(seen))
    check_seen(int(done), seen)
    curve = engines.find(engine).curve(run, own)
    if curve.ndim != 1 or len(curve) > full_bins(int(done), run.updates):
        raise ValueError("not the curve of this run")
    check_rewards(CURVE, curve)
    return Checkpoint(own, seen)


def _is_about(stated: Json, run: Run, engine: str) -> bool:
    """By digest: a Run may have gained fields, at their defaults, since the file was written."""
    try:
        same = is_about(stated["run"], run) or run_of(stated["run"]) == run
        return same and {**stated, "run": {}} == {**about(run, engine), "run": {}}
    except (ValueError, KeyError, TypeError, AttributeError):
        return False
