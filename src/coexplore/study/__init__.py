"""Many runs: grouped, in chunks, with progress, checkpoints, snapshots and resume; and searches among settings."""

from coexplore.study.cluster import ClusterError
from coexplore.study.snapshots import MOMENTS
from coexplore.study.studies import Interrupted, Study, study, train
from coexplore.study.tuning import Tuned, tune
from coexplore.study.work import Failure

__all__ = ["MOMENTS", "ClusterError", "Failure", "Interrupted", "Study", "Tuned", "study", "train", "tune"]
