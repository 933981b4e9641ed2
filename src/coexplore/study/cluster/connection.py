"""The cluster that an address means: one of our own, started and ended here, or one that others look after."""

import contextlib
import importlib
import importlib.util
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from types import ModuleType

from coexplore.code_hash import is_own
from coexplore.rules import Rule
from coexplore.run import Run
from coexplore.run.editions import may_have_edition
from coexplore.settings import FieldError, refusal
from coexplore.tasks.base import AnyTask

ADDRESSES = "ray, ray://HOST:PORT or HOST:PORT"
OUR_OWN = "local"  # Ray's word for a cluster that ends with the process that starts it
LONGEST = 150  # of a line of Ray's
PATIENCE = 5.0  # seconds in which somebody must answer at an address
SETTINGS = bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))  # HTTP/2's frame of that name, with which both sides begin
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SETTINGS
RAYS_WORDS = ("auto", OUR_OWN)  # that RAY_ADDRESS may hold in place of an address


class ClusterError(RuntimeError):
    """The cluster cannot do what it is asked; the message is one line for the user."""


def checked_address(cluster: str) -> str:
    """What to tell Ray: `ray` means what RAY_ADDRESS says or else a cluster of our own."""
    if importlib.util.find_spec("ray") is None:
        raise FieldError(f"cluster: {cluster!r} needs Ray: pip install 'coexplore[ray]'")
    if not isinstance(cluster, str):
        raise refusal("cluster", cluster, ADDRESSES)
    address = os.environ.get("RAY_ADDRESS") or OUR_OWN if cluster == "ray" else cluster
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if cluster == "ray" and address in RAYS_WORDS:
        return address
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise refusal("cluster", address, ADDRESSES)
    return address


@contextlib.contextmanager
def connected(address: str, cores: int, say: Callable[[str], None]) -> Iterator[ModuleType]:
    """Ray, on the cluster of this address. A cluster of our own has so many cores, and is ended again."""
    ray = importlib.import_module("ray")
    if ray.is_initialized():  # the user's own connection, which stays
        yield ray
        return
    with _changed("worker", "print_to_stdstream", _told_by(say)):
        try:
            if address == OUR_OWN:
                with _changed("ray_constants", "ENABLE_RAY_CLUSTER", False):  # on loopback alone, as Ray does on macOS
                    _start(ray, address, {"num_cpus": cores, "include_dashboard": False})
            else:
                _knock(address)
                _start(ray, address, {})
            yield ray
        finally:
            with _undisturbed():
                ray.shutdown()


@contextlib.contextmanager
def _changed(module: str, name: str, value: object) -> Iterator[None]:
    """Something of Ray's that has no setting."""
    names = vars(importlib.import_module(f"ray._private.{module}"))
    before, names[name] = names[name], value
    try:
        yield
    finally:
        names[name] = before


def _told_by(say: Callable[[str], None]) -> object:
    """What Ray has to say of lost nodes and tasks, which it would print on standard output, as a line each."""

    def tell(data: dict[str, list[str]], **_: bool) -> None:
        for text in data["lines"]:
            say(f"Ray: {' '.join(text.split())[:LONGEST]}…")

    return tell


def _knock(address: str) -> None:
    """Whether anybody answers who speaks as Ray's servers do, HTTP/2; Ray itself would try for minutes."""
    if address in RAYS_WORDS:
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), PATIENCE) as answering:
            if os.environ.get("RAY_USE_TLS", "0") == "0":
                answering.sendall(GREETING)
                if answering.recv(len(SETTINGS))[3:4] != SETTINGS[3:4]:
                    raise ConnectionError("somebody else does")
    except OSError as error:
        raise refusal("cluster", address, f"an address where Ray answers ({error.strerror or error})") from None


def _start(ray: ModuleType, address: str, more: dict[str, int]) -> None:
    here = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM)
    try:
        with _undisturbed(later=True):  # Ray would swallow a Ctrl-C while it connects
            ray.init(address, log_to_driver=False, logging_level=logging.CRITICAL, **more)
    except (ConnectionError, RuntimeError, ValueError, OSError, ImportError) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise FieldError(f"cluster: {address!r} cannot be used: {reason}") from None
    finally:
        if here:
            signal.signal(signal.SIGTERM, before)  # Ray put its own in place


@contextlib.contextmanager
def _undisturbed(later: bool = False) -> Iterator[None]:
    """Ctrl-C must not leave half of the cluster running; `later`, it is heard in the end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if later and heard:
        raise KeyboardInterrupt


@contextlib.contextmanager
def sent_along(runs: Collection[Run]) -> Iterator[None]:
    """Within this context Ray sends the code of the user's modules with the runs: workers do not import them.

    Installed packages are imported on the nodes instead, and must be installed there.
    """
    kinds: set[type[Rule] | type[AnyTask]] = {type(run.task) for run in runs}
    kinds |= {type(rule) for run in runs for rule in run.rules}
    modules = _own_modules() if any(map(may_have_edition, kinds)) else []
    pickle = importlib.import_module("ray.cloudpickle")
    try:
        for module in modules:
            pickle.register_pickle_by_value(module)
        yield
    finally:
        for module in modules:
            pickle.unregister_pickle_by_value(module)


def _own_modules() -> list[ModuleType]:
    """The imported modules of the user's that lie in files; the script itself is always sent."""
    named = [(name, module) for name, module in list(sys.modules.items()) if name not in ("__main__", "__mp_main__")]
    return [module for name, module in named if getattr(module, "__file__", None) and is_own(name)]
