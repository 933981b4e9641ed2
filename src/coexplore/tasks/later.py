"""Our environments are registered when somebody imports Gymnasium, which takes 0.2 s that most commands do not need."""

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

from coexplore.tasks import register

GYMNASIUM = "gymnasium"


def register_later() -> None:
    """Now, where Gymnasium is there already."""
    if sys.modules.get(GYMNASIUM):
        register()
    else:
        sys.meta_path.insert(0, Watch())


class Watch:
    """Sees Gymnasium come, once, and leaves its import to whoever would do it anyway."""

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        if name != GYMNASIUM:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                register()

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec
