"""Many runs: grouped, in chunks, with progress, checkpoints, snapshots and resume."""

from coexplore.study.cluster import ClusterError
from coexplore.study.snapshots import MOMENTS
from coexplore.study.studies import Interrupted, Study, study, train
from coexplore.study.work import Failure

__all__ = ["MOMENTS", "ClusterError", "Failure", "Interrupted", "Study", "study", "train"]
