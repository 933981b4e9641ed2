"""The GPU: whether there is one, the kernels compiled for it, memory and launches. The one place that uses CuPy."""

import contextlib
import ctypes
import dataclasses
import functools
import importlib.util
import itertools
import re
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from coexplore.engines.base import NO_GPU
from coexplore.engines.cuda.layout import Shape
from coexplore.settings import FieldError

SOURCES = Path(__file__).parent
OLDEST, CLUSTERS = 8, 9  # compute capability: the matrix instructions are Ampere's, clusters of blocks Hopper's
MULTIPROCESSOR_COUNT, CAPABILITY_MAJOR, SHARED_MEMORY_OF_A_BLOCK = 16, 75, 97  # in the driver's list of attributes


@functools.cache
def missing() -> str | None:
    """Why nothing can be trained here. Asks the driver; CuPy itself is imported only for training."""
    capabilities = _asked(CAPABILITY_MAJOR)
    if not capabilities:
        return NO_GPU
    if max(capabilities) < OLDEST:
        return f"its kernels need an NVIDIA GPU of compute capability {OLDEST} or more"
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed: pip install 'coexplore[cuda]'"
    return None


def _asked(attribute: int) -> list[int]:
    """An attribute of every GPU; nothing where there is no driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count, value, values = ctypes.c_int(), ctypes.c_int(), []
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return []
    for index in range(count.value):
        driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, index)
        values.append(value.value)
    return values


@functools.cache
def able() -> list[int]:
    """The GPUs that can train."""
    return [index for index, major in enumerate(_asked(CAPABILITY_MAJOR)) if major >= OLDEST]


@functools.cache
def multiprocessors() -> int:
    """Of the smallest GPU that can train."""
    return min((_asked(MULTIPROCESSOR_COUNT)[index] for index in able()), default=1)


@functools.cache
def name() -> str:
    """Of the first GPU that can train."""
    text = ctypes.create_string_buffer(100)
    ctypes.CDLL("libcuda.so.1").cuDeviceGetName(text, len(text), able()[0])
    return text.value.decode()


@functools.cache
def lacks(shape: Shape) -> str | None:
    """Why not every GPU that can train takes this shape."""
    if shape.cluster > 1 and any(_asked(CAPABILITY_MAJOR)[index] < CLUSTERS for index in able()):
        return f"it takes at most 128 units on a GPU of compute capability below {CLUSTERS}"
    if any(_asked(SHARED_MEMORY_OF_A_BLOCK)[index] < shape.shared for index in able()):
        return f"this GPU has too little shared memory for {shape.units} units"
    return None


@dataclasses.dataclass(frozen=True)
class Kernel:
    """What is compiled: a function, in a file of the same name, for a shape."""

    name: str
    shape: Shape
    record: bool = False

    @property
    def shared(self) -> int:
        """Bytes of shared memory of a block."""
        return self.shape.shared if self.name == "train" else self.shape.shared_without_moments


@functools.cache
def source(kernel: str, without: tuple[str, ...] = ()) -> str:
    """A kernel as one file, so that the compiler needs no paths and CuPy's cache sees every change."""
    seen = set(without)

    def text(name: str) -> str:
        if name in seen:
            return ""
        seen.add(name)
        whole = (SOURCES / name).read_text().replace("#pragma once\n", "")
        return re.sub(r'#include "(.+)"\n', lambda found: text(found[1]), whole)

    return text(f"{kernel}.cu")


def options(kernel: Kernel) -> tuple[str, ...]:
    shape = kernel.shape
    given = {
        "FAMILY": shape.family,
        "UNITS": shape.units,
        "TILES": shape.tiles,
        "BLOCKS": shape.blocks,
        "INPUTS": shape.inputs,
        "CLUSTER": shape.cluster,
        "SIGNED": str(shape.signed).lower(),
        "SIGNED_CHAIN": str(shape.signed_chain).lower(),
        "OWN_RATE": str(shape.own_rate).lower(),
        "LAZY": str(shape.lazy).lower(),
        "CENTRE": shape.centre,
        "PAIRS": str(shape.pairs).lower(),
        "STREAMED": shape.streamed,
        "THREADS": shape.threads,
        "SHARED": kernel.shared,
        "LENGTH": shape.length,
        "RECORD": str(kernel.record).lower(),
    }
    return ("--std=c++17", *(f"-DGIVEN_{name}={value}" for name, value in given.items()))


_turns = itertools.count()
_compiling: dict[Any, threading.Lock] = defaultdict(threading.Lock)
_compiled: dict[Any, Any] = {}


class Gpu:
    """One GPU and a stream on it, for one group of runs."""

    def __init__(self) -> None:
        import cupy

        self.cupy = cupy
        self.index = able()[next(_turns) % len(able())]
        with cupy.cuda.Device(self.index):
            self.stream = cupy.cuda.Stream(non_blocking=True)

    @contextlib.contextmanager
    def working(self, on: str) -> Iterator[None]:
        """On this GPU and stream; whatever was asked for is done in the end."""
        try:
            with self.cupy.cuda.Device(self.index), self.stream:
                yield
                self.stream.synchronize()
        except self.cupy.cuda.memory.OutOfMemoryError:
            raise FieldError(
                f"engine: 'cuda' has no GPU memory left for {on}; give fewer runs or another engine"
            ) from None

    def put(self, array: np.ndarray) -> Any:
        return self.cupy.asarray(array)

    def empty(self, shape: tuple[int, ...]) -> Any:
        return self.cupy.empty(shape, np.float32)

    def get(self, array: Any) -> np.ndarray:
        with self.working("a copy"):
            return self.cupy.asnumpy(array)

    def compiled(self, kernel: Kernel) -> Any:
        """CuPy keeps it on disk; the first time takes seconds, and says so."""
        key = self.index, kernel
        with _compiling[key], self.cupy.cuda.Device(self.index):
            if key not in _compiled:
                with _telling():
                    module = self.cupy.RawModule(code=source(kernel.name), options=options(kernel))
                    function = module.get_function(kernel.name)
                function.max_dynamic_shared_size_bytes = kernel.shared
                _compiled[key] = function
        return _compiled[key]

    def launch(self, kernel: Kernel, runs: int, arguments: tuple[Any, ...]) -> None:
        blocks, threads = (runs * kernel.shape.cluster,), (kernel.shape.threads,)
        self.compiled(kernel)(blocks, threads, arguments, shared_mem=kernel.shared)


_told = threading.Event()


@contextlib.contextmanager
def _telling() -> Iterator[None]:
    """Says what the wait is for, once, if there is one."""

    def tell() -> None:
        if not _told.is_set():
            _told.set()
            print("coexplore: compiling for this GPU; the next time it is there already", file=sys.stderr)

    timer = threading.Timer(0.5, tell)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
