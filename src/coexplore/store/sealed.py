"""Files that notice damage: tensors and JSON in one safetensors file, under two hashes.

`sha256` covers what the file is about (a run and the engine that trained it) and the tensors: two files with the same
one hold the same result, bit for bit. `seal` covers the rest of the JSON, such as the time it took.

That a hash fits says that nothing was damaged, not that it was ever right: what may be in a file of each kind, those
who read such files say (`fits`), and they are asked before its arrays are read, since these may be larger than memory.
"""

import collections
import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load as from_bytes
from safetensors.numpy import save as to_bytes

from coexplore.files import write
from coexplore.run.result import Tensors
from coexplore.settings import FieldError, Json, Unknown
from coexplore.store.texts import StoreError, UnreadableError, cause, check_file, parsed

SUFFIX = ".safetensors"
METADATA = "coexplore"  # the one metadata key of a file; it holds JSON
Unsealed = tuple[Json, Tensors, dict[str, Json]]
TYPES = {"F16": "f2", "F32": "f4", "F64": "f8", "I32": "i4", "I64": "i8", "U8": "u1", "U32": "u4", "BOOL": "?"}


class Kind(NamedTuple):
    """What a file says of an array before it is read."""

    shape: tuple[int, ...]
    dtype: DTypeLike


Kinds = Mapping[str, Kind]
Fits = Callable[[Json, Kinds], None]  # raises where what a file is about and its arrays do not go together


class NoRunsError(StoreError):
    """A safetensors file that is none of ours."""


class UnknownError(StoreError):
    """A file is as it was written, but its rule or its task means nothing here. `origins` are those of Unknown."""

    origins: frozenset[str] = frozenset()


def unknown_error(source: Path | str, error: Unknown) -> UnknownError:
    """The error about a file in which a name means nothing here."""
    unknown = UnknownError(f"{source}: {error}")
    unknown.origins = error.origins
    return unknown


class LeftOut(str):
    """A line about files that are as they were written, but whose rule or task means nothing here.

    `origins`: MODULE:NAME of that rule or task, as the files tell.
    """

    origins: frozenset[str] = frozenset()


def left_out(place: Path, errors: Sequence[UnknownError]) -> list[LeftOut]:
    """A line for each rule or task, however many runs name it."""
    lines = []
    for why, n in collections.Counter(_why(error) for error in errors).items():
        line = LeftOut(f"{place}: left out {n} {'run' if n == 1 else 'runs'}: {why}")
        line.origins = frozenset().union(*(error.origins for error in errors if _why(error) == why))
        lines.append(line)
    return lines


def _why(error: UnknownError) -> str:
    return str(error).partition(": ")[2]


def seal(path: Path, about: Json, tensors: Tensors, provenance: dict[str, Json]) -> str:
    """Write the file; gives the hash over what it is about and its tensors."""
    sha256, data = sealed(about, tensors, provenance)
    write(path, data)
    return sha256


def sealed(about: Json, tensors: Tensors, provenance: dict[str, Json]) -> tuple[str, bytes]:
    """The hash, and the file's bytes."""
    tensors = {name: np.asarray(tensor, order="C") for name, tensor in tensors.items()}
    content = {"about": about, "provenance": provenance, "sha256": _hash(about, tensors)}
    text = _canonical({**content, "seal": _digest(content)})
    return content["sha256"], to_bytes(tensors, metadata={METADATA: text})


def unseal(path: Path, fits: Fits | None = None) -> Unsealed:
    """What the file is about, its tensors, its provenance with the hash; StoreError if anything is not as it was."""
    with readable(path):
        check_file(path)
        with _opened(path) as file:
            content = _content(path, file.metadata())
            names = list(file.keys())
            if fits:
                kinds = {name: _kind(file.get_slice(name)) for name in names}
                with told_origins(content["provenance"]):
                    fits(content["about"], kinds)
            tensors = {name: file.get_tensor(name) for name in names}
        return _checked(path, content, tensors)


def unsealed(data: bytes, source: str, fits: Fits | None = None) -> Unsealed:
    """The same of a file's bytes, which came from `source`."""
    with readable(source):
        header = parsed(data[8 : 8 + int.from_bytes(data[:8], "little")].decode())
        content, tensors = _content(source, header.get("__metadata__")), from_bytes(data)
        if fits:
            with told_origins(content["provenance"]):
                fits(content["about"], kinds_of(tensors))
        return _checked(source, content, tensors)


@contextlib.contextmanager
def told_origins(provenance: Mapping[str, Json]) -> Iterator[None]:
    """Add to an Unknown where the provenance of a result says that its rule and its task come from."""
    try:
        yield
    except Unknown as error:
        told = (provenance.get(name) for name in ("rule", "task"))
        error.origins = frozenset(each for text in told if isinstance(text, str) for each in text.split(","))
        raise


@contextlib.contextmanager
def readable(source: Path | str, what: str = "result") -> Iterator[None]:
    """Whatever goes wrong with what came from there, in whatever way, is one line. What the machine cannot do at the
    moment is not the file's fault."""
    try:
        yield
    except StoreError:
        raise
    except Unknown as error:
        raise unknown_error(source, error) from None
    except FieldError as error:
        raise StoreError(f"{source}: {error}") from None
    except FileNotFoundError:
        raise StoreError(f"{source}: there is no such file") from None
    except (OSError, MemoryError) as error:
        why = "not enough memory" if isinstance(error, MemoryError) else error.strerror or error
        raise UnreadableError(f"{source}: cannot be read now ({why})") from None
    except Exception as error:
        why = f" ({cause(error)})" if cause(error) else ""
        raise StoreError(f"{source}: not a readable {what}{why}") from None


def kinds_of(tensors: Tensors) -> Kinds:
    return {name: Kind(x.shape, x.dtype) for name, x in tensors.items()}


def _opened(path: Path) -> safe_open:
    try:
        return safe_open(path, framework="numpy")
    except SafetensorError:
        raise StoreError(f"{path}: not a safetensors file, or only a part of one") from None


def _kind(array: Json) -> Kind:
    if array.get_dtype() not in TYPES:
        raise ValueError(f"an array of type {array.get_dtype()}")
    return Kind(tuple(array.get_shape()), np.dtype(TYPES[array.get_dtype()]))


def _content(source: Path | str, metadata: Mapping[str, str] | None) -> Json:
    """What the JSON says, if it is as it was written."""
    metadata = metadata or {}
    if METADATA not in metadata and not any('"seal":' in text for text in metadata.values()):  # the key may be damaged
        raise NoRunsError(f"{source}: holds no runs")
    content = parsed(metadata[METADATA])
    stated = content.pop("seal")
    if stated != _digest(content) or not isinstance(content["provenance"], dict):
        raise StoreError(f"{source}: damaged, its contents do not match its hash")
    return content


def _checked(source: Path | str, content: Json, tensors: Tensors) -> Unsealed:
    if content["sha256"] != _hash(content["about"], tensors):
        raise StoreError(f"{source}: damaged, its contents do not match its hash")
    return content["about"], tensors, {**content["provenance"], "sha256": content["sha256"]}


def _canonical(data: Json) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _digest(data: Json) -> str:
    return hashlib.sha256(_canonical(data).encode()).hexdigest()


def _hash(about: Json, tensors: Tensors) -> str:
    """SHA-256 over canonical JSON and every tensor's name, type, shape and bytes."""
    digest = hashlib.sha256(_canonical(about).encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype.str} {tensors[name].shape}".encode())
        digest.update(tensors[name].tobytes())
    return digest.hexdigest()
