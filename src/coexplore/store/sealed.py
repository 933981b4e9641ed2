"""Files that notice damage: tensors and JSON in one safetensors file, under two hashes.

`sha256` covers what the file is about (a run and the engine that trained it) and the tensors: two files with the same
one hold the same result, bit for bit. `seal` covers the rest of the JSON, such as the time it took.
"""

import collections
import contextlib
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load as from_bytes
from safetensors.numpy import save as to_bytes

from coexplore.files import write
from coexplore.run.result import Tensors
from coexplore.settings import Json

SUFFIX = ".safetensors"
METADATA = "coexplore"  # the one metadata key of a file; it holds JSON
Unsealed = tuple[Json, Tensors, dict[str, Json]]


class StoreError(ValueError):
    """A file is not what it should be; the message is one line for the user."""


class UnknownError(StoreError):
    """A file is as it was written, but its rule or its task means nothing here."""


class LeftOut(str):
    """A line about files that are as they were written, but whose rule or task means nothing here."""

    __slots__ = ()


def left_out(place: Path, errors: Iterable[UnknownError]) -> list[LeftOut]:
    """A line for each rule or task, however many runs name it."""
    whys = collections.Counter(str(error).partition(": ")[2] for error in errors)
    return [LeftOut(f"{place}: left out {n} {'run' if n == 1 else 'runs'}: {why}") for why, n in whys.items()]


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


def unseal(path: Path) -> Unsealed:
    """What the file is about, its tensors, its provenance with the hash; StoreError if anything is not as it was."""
    with _readable(path):
        with safe_open(path, framework="numpy") as file:
            text = (file.metadata() or {})[METADATA]
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        return _checked(path, text, tensors)


def unsealed(data: bytes, source: str) -> Unsealed:
    """The same of a file's bytes, which came from `source`."""
    with _readable(source):
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        return _checked(source, header["__metadata__"][METADATA], from_bytes(data))


@contextlib.contextmanager
def _readable(source: Path | str) -> Iterator[None]:
    try:
        yield
    except StoreError:
        raise
    except FileNotFoundError:
        raise StoreError(f"{source}: there is no such file") from None
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"{source}: not a readable result ({type(error).__name__})") from None


def _checked(source: Path | str, text: str, tensors: Tensors) -> Unsealed:
    content = json.loads(text)
    stated = content.pop("seal")
    if stated != _digest(content) or content["sha256"] != _hash(content["about"], tensors):
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
