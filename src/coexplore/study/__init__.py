"""Many runs: grouped, in chunks, with progress, checkpoints, snapshots and resume; and searches among settings."""

from coexplore.study.callbacks import STOP, Moment, Stopped
from coexplore.study.cluster import ClusterError
from coexplore.study.studies import SNAPSHOTS, THREADS, Interrupted, Study, faulty, study, train
from coexplore.study.tuning import Tuned, tune

__all__ = [
    "SNAPSHOTS",
    "STOP",
    "THREADS",
    "ClusterError",
    "Interrupted",
    "Moment",
    "Stopped",
    "Study",
    "Tuned",
    "faulty",
    "study",
    "train",
    "tune",
]
