"""Many runs: grouped, in chunks, with progress, checkpoints, snapshots and resume."""

from coexplore.study.studies import Interrupted, Study, study, train
from coexplore.study.work import Failure

__all__ = ["Failure", "Interrupted", "Study", "study", "train"]
