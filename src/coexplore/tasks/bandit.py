"""A reward that is a function of state and action. Files know it by its name, and by the version that its author
declares or else by a hash of the code (code_hash.py)."""

import dataclasses
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
from jaxtyping import Array, Key

from coexplore.code_hash import code_hash
from coexplore.settings import Count, FieldError, Text, field, loaded, offered, refusal
from coexplore.tasks.base import GROUP, NAME, VERSION, Task

SIZE, ACTIONS = Count("numbers of a state", low=1), Count("how many actions there are", low=2)
DECLARED = Text("which version of the functions", rf"({VERSION.pattern})?", VERSION.allowed)


@dataclasses.dataclass(frozen=True, eq=False)
class Functions:
    reward: Callable[..., Any]
    sample: Callable[..., Any] | None


_here: weakref.WeakValueDictionary[tuple[str, str], Functions] = weakref.WeakValueDictionary()  # by name and revision


class Bandit(Task):
    """A reward by `reward(state, action)`, in JAX: one number per episode, for states [B, `size`] and actions [B],
    whole numbers from 0 to `actions` − 1. States are standard normal numbers, or what `sample(B, key)` draws; the
    network sees them as they are.

    The functions are known by `name` and by what their code does. With a `version` they are known by that instead:
    give another one when you change a function.
    """

    name: ClassVar[str] = "bandit"
    title: ClassVar[str] = "a reward that is a function of your own"
    in_name: ClassVar[tuple[str, ...]] = ("called", "version", "inputs", "choices")

    called: str = field("", NAME)
    version: str = field("", DECLARED)
    inputs: int = field(1, SIZE)
    choices: int = field(2, ACTIONS)
    functions: Functions | None = eqx.field(default=None, static=True)

    def __init__(
        self,
        reward: Callable[..., Any] | None = None,
        size: int = 1,
        actions: int = 2,
        sample: Callable[..., Any] | None = None,
        *,
        name: str = "",
        version: str = "",
        source: str = "",
        given: Any = None,
        **known: Any,  # the other fields, where there are no functions to make them of
    ) -> None:
        if not known:
            known = {"called": NAME.check("name", name), "functions": _functions(reward, sample)}
            known |= {"inputs": SIZE.check("size", size), "choices": ACTIONS.check("actions", actions)}
            known["functions"] = _registered(name, DECLARED.check("version", version), known["functions"])
        self.source, self.given = source, given
        self.called, self.version = known["called"], version
        self.inputs, self.choices = known["inputs"], known["choices"]
        self.functions = known.get("functions")

    @property
    def label(self) -> str:
        return self.called

    @property
    def revision(self) -> str:
        return self.version

    @property
    def code(self) -> tuple[object, ...]:
        """The functions, where no version stands for them."""
        found = None if self.version else self._found()
        return (found.reward, found.sample) if found else ()

    @property
    def size(self) -> int:
        return self.inputs

    @property
    def actions(self) -> int:
        return self.choices

    @property
    def missing(self) -> str | None:
        try:
            self._found()
        except FieldError as error:
            return str(error)
        return None

    def sample(self, B: int, key: Key[Array, ""]) -> Any:
        drawn = self._found().sample
        return drawn(B, key) if drawn else jax.random.normal(key, (B, self.inputs))

    def reward(self, state: Any, action: Any) -> Any:
        return self._found().reward(state, action)

    def _found(self) -> Functions:
        """The functions, if this process has them, or if a plug-in of that name does."""
        revision = self.version or self.edition
        found = self.functions or _here.get((self.called, revision))
        if found is None and self.called in offered(GROUP):
            loaded(offered(GROUP)[self.called], "task")
            found = _here.get((self.called, revision))
        if found is None:
            raise FieldError(
                f"task: the function {self.called!r}, version {revision!r}, is not here; "
                f"make the Bandit of that name and version first"
            )
        return found


def _registered(name: str, version: str, functions: Functions) -> Functions:
    """The functions that this name stands for from now on: those of a declared version are the last ones given."""
    if version:
        _here[name, version] = functions
        return functions
    return _here.setdefault((name, code_hash(functions.reward, functions.sample)), functions)


def _functions(reward: Any, sample: Any) -> Functions:
    if not callable(reward):
        raise refusal("reward", reward, "a function of states and actions, in JAX")
    if not (sample is None or callable(sample)):
        raise refusal("sample", sample, "a function of a count and a key, in JAX")
    return Functions(reward, sample)
