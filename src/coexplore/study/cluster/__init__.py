"""Runs trained on the machines of a Ray cluster. Ray is imported here alone, and only when a cluster is asked for.

connection.py   the cluster that an address means, and code of the user's own
nodes.py        which engines the nodes have, and which of them trains which runs
dispatch.py     groups sent out as Ray tasks, and what comes back from them: the only one who writes into the store
worker.py       what runs on the nodes
"""

from coexplore.study.cluster.connection import ClusterError, checked_address
from coexplore.study.cluster.dispatch import train_on_cluster

__all__ = ["ClusterError", "checked_address", "train_on_cluster"]
