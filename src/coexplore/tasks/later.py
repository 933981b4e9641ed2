"""Our environments are registered when Gymnasium is imported: it takes 0.2 s, and a command such as `--version` none."""

import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from coexplore.tasks import register

GYMNASIUM = "gymnasium"


def register_later() -> None:
    """Now, where Gymnasium is there already."""
    if sys.modules.get(GYMNASIUM):
        register()
    else:
        sys.meta_path.insert(0, Watch())  # type: ignore[arg-type]  # a finder needs no more than this


class Watch:
    """Sees Gymnasium come, once, and leaves its import to whoever would do it anyway."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != GYMNASIUM:
            return None
        sys.meta_path.remove(self)  # type: ignore[arg-type]
        spec = importlib.util.find_spec(name)
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                register()

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec
