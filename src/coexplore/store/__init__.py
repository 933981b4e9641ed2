"""Where results are kept: a folder that several processes may share, small packs, and the reading of both."""

from coexplore.files import Unwritable, write
from coexplore.run.result import Result
from coexplore.store.checkpoints import Checkpoint
from coexplore.store.door import LARGEST
from coexplore.store.encoding import received
from coexplore.store.folder import Store
from coexplore.store.packs import pack
from coexplore.store.parcels import Parcel
from coexplore.store.plans import Planned, planned
from coexplore.store.reading import load, read
from coexplore.store.sealed import LeftOut, readable
from coexplore.store.texts import StoreError, cause, read_json
from coexplore.store.under_way import UnderWay

__all__ = [
    "LARGEST",
    "Checkpoint",
    "LeftOut",
    "Parcel",
    "Planned",
    "Result",
    "Store",
    "StoreError",
    "UnderWay",
    "Unwritable",
    "cause",
    "load",
    "pack",
    "planned",
    "read",
    "read_json",
    "readable",
    "received",
    "write",
]
