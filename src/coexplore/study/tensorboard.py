"""A callback for TensorBoard: the reward of every run, and the size of its parameters, over the episodes."""

import importlib
import os
import time
import uuid
from pathlib import Path
from typing import Any

from coexplore.engines.look import norms
from coexplore.files import writing
from coexplore.run import Run
from coexplore.settings import FieldError, checked_path
from coexplore.study.callbacks import Moment

FIRST = "brain.Event:2"  # what the first record of a file must say


class TensorBoard:
    """A callback of `train`: `TensorBoard("tb")` writes into that `folder` what `tensorboard --logdir tb` shows.

    Every run has a folder, named after its rule, its seed and the first letters of its digest, and a new file in it
    for every training. Nothing stays open, or unwritten, between two moments.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder, self.files = checked_path("folder", folder), dict[Run, Path]()
        _event()  # where TensorBoard is missing, say so before anything is trained

    def __call__(self, moment: Moment) -> None:
        if moment.run not in self.files:
            self.files[moment.run] = self._new_file(moment.run)
        values = {"reward": moment.reward, **{name: float(x) for name, x in norms(moment.params).items()}}
        summary = {"value": [{"tag": tag, "simple_value": value} for tag, value in values.items()]}
        _append(self.files[moment.run], _event(step=moment.episodes, summary=summary))

    def _new_file(self, run: Run) -> Path:
        folder = self.folder / f"{'+'.join(dict.fromkeys(r.name for r in run.rules))}-{run.seed}-{run.digest[:12]}"
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"events.out.tfevents.{time.time():.0f}.{os.getpid()}.{uuid.uuid4().hex[:8]}"
        _append(path, _event(file_version=FIRST))
        return path


def _event(**fields: Any) -> bytes:  # type: ignore[explicit-any]  # of a protocol buffer
    try:
        events = importlib.import_module("tensorboard.compat.proto.event_pb2")
    except ImportError:
        raise FieldError("callback: TensorBoard is not installed: pip install 'coexplore[tensorboard]'") from None
    return events.Event(wall_time=time.time(), **fields).SerializeToString()


def _append(path: Path, record: bytes) -> None:
    writer = importlib.import_module("tensorboard.summary.writer.record_writer").RecordWriter
    with writing(path), path.open("ab") as file:
        writer(file).write(record)
