"""Sealed files on their way between machines: a store in memory, for runs that are trained for somebody else."""

import contextlib
from collections.abc import Callable, Iterable

from coexplore.run.result import Result
from coexplore.run.run import Run
from coexplore.settings import Json
from coexplore.store.checkpoints import Checkpoint, opened_checkpoint, sealed_checkpoint
from coexplore.store.encoding import about, encoded
from coexplore.store.sealed import sealed, unsealed
from coexplore.store.texts import StoreError


class Parcel:
    """In place of a Store: it hands out the checkpoints that it came with, and collects finished runs."""

    def __init__(self, checkpoints: dict[Run, bytes], send: Callable[[Run, bytes], None]) -> None:
        self.checkpoints, self.send = checkpoints, send  # a new checkpoint is sent at once
        self.finished: dict[Run, bytes] = {}

    def save(self, result: Result) -> Result:
        self.finished[result.run] = sealed(about(result.run, result.engine), encoded(result), result.provenance)[1]
        return result

    def save_checkpoint(self, run: Run, engine: str, checkpoint: Checkpoint, built: dict[str, Json]) -> None:
        self.send(run, sealed_checkpoint(run, engine, checkpoint, built))

    def checkpoint(self, run: Run, engine: str, built: dict[str, Json]) -> tuple[Checkpoint | None, list[str]]:
        if run not in self.checkpoints:
            return None, []
        source = f"the checkpoint of {run.digest[:12]}…"
        try:
            return opened_checkpoint(source, unsealed(self.checkpoints[run], source), run, engine, built), []
        except StoreError as error:
            return None, [f"{error}; the run starts again"]

    def refuse_checkpoint(self, run: Run, engine: str, why: str) -> str:
        del self.checkpoints[run]
        return f"the checkpoint of {run.digest[:12]}…: {why}; the run starts again"

    def find_all(self, runs: Iterable[Run], engine: str = "auto") -> tuple[dict[Run, Result], list[str]]:
        """Whoever sent the runs has looked."""
        return {}, []

    def lock(self, run: Run, engine: str) -> contextlib.AbstractContextManager[bool]:
        """Whoever sent the runs holds their locks."""
        return contextlib.nullcontext(True)

    def fail(self, run: Run, engine: str, reason: str) -> None:
        """Whoever sent the runs writes it down."""
