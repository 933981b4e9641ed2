"""A reward that is a function of state and action. Files know it by a name and a version: code has no hash that means
anything, so that a change of it is not noticed."""

import dataclasses
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
from jaxtyping import Array, Key

from coexplore.settings import Count, FieldError, Text, field, loaded, offered, refusal
from coexplore.tasks.base import GROUP, NAME, Task

SIZE, ACTIONS = Count("numbers of a state", low=1), Count("how many actions there are", low=2)
VERSION = Text("which version of the function", r"\w[\w.-]*", "letters, digits, dots and dashes, such as 1")


@dataclasses.dataclass(frozen=True, eq=False)
class Functions:
    reward: Callable[..., Any]
    sample: Callable[..., Any] | None


_here: weakref.WeakValueDictionary[tuple[str, str], Functions] = weakref.WeakValueDictionary()  # by name and version


class Bandit(Task):
    """A reward by `reward(state, action)`, in JAX: one number per episode, for states [B, `size`] and actions [B],
    whole numbers from 0 to `actions` − 1. States are standard normal numbers, or what `sample(B, key)` draws; the
    network sees them as they are.

    The functions are known by `name` and `version`: give another version when you change one.
    """

    name: ClassVar[str] = "bandit"
    title: ClassVar[str] = "a reward that is a function of your own"
    in_name: ClassVar[tuple[str, ...]] = ("called", "version", "inputs", "choices")

    called: str = field("", NAME)
    version: str = field("", VERSION)
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
            _here[name, VERSION.check("version", version)] = known["functions"]
        self.source, self.given = source, given
        self.called, self.version = known["called"], version
        self.inputs, self.choices = known["inputs"], known["choices"]
        self.functions = known.get("functions")

    @property
    def label(self) -> str:
        return self.called

    @property
    def edition(self) -> str:
        return self.version

    @property
    def size(self) -> int:
        return self.inputs

    @property
    def actions(self) -> int:
        return self.choices

    @property
    def homes(self) -> list[str]:
        """The modules that have its functions."""
        functions = (self._found().reward, self._found().sample)
        return [home for function in functions if (home := getattr(function, "__module__", None))]

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
        found = self.functions or _here.get((self.called, self.version))
        if found is None and self.called in offered(GROUP):
            loaded(offered(GROUP)[self.called], "task")
            found = _here.get((self.called, self.version))
        if found is None:
            raise FieldError(
                f"task: the function {self.called!r}, version {self.version!r}, is not here; "
                f"make the Bandit of that name and version first"
            )
        return found


def _functions(reward: Any, sample: Any) -> Functions:
    if not callable(reward):
        raise refusal("reward", reward, "a function of states and actions, in JAX")
    if not (sample is None or callable(sample)):
        raise refusal("sample", sample, "a function of a count and a key, in JAX")
    return Functions(reward, sample)
