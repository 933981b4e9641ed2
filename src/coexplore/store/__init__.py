"""Where results are kept: a folder that several processes may share, small packs, and the reading of both."""

from coexplore.store.folder import Checkpoint, Store
from coexplore.store.packs import pack
from coexplore.store.plans import Planned, planned
from coexplore.store.reading import load, read
from coexplore.store.sealed import StoreError, write
from coexplore.store.under_way import UnderWay

__all__ = ["Checkpoint", "Planned", "Store", "StoreError", "UnderWay", "load", "pack", "planned", "read", "write"]
