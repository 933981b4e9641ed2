"""What a learning rule is.

Rule     how a layer draws (`law`), what its parameters are credited with (`credit`), what the layer below is told
         (`message`)
Local    a rule of one equation, ΔW = signal · eligibility, which sees nothing of the layers above but the signal
"""

from abc import abstractmethod
from typing import ClassVar, Generic, TypeVar, final

import equinox as eqx
from jaxtyping import Array, Float, Key

from coexplore.laws import AbstractActivity, Bernoulli, Law
from coexplore.rules.baseline import Baseline, Expectation, Nothing
from coexplore.rules.eligibility import Eligibility
from coexplore.rules.layer import Layer, Message, Outcome, Sizes, likelihood
from coexplore.rules.learning_signal import Advantage, Reward, Signal
from coexplore.rules.renamed import FORMER, keywords, written_now
from coexplore.settings import Checked, Scalar, is_ours, part, shown, specs
from coexplore.units import Weighted

P = TypeVar("P", bound=Weighted)  # a layer's parameters
A = TypeVar("A", bound=AbstractActivity)  # what it drew
This = TypeVar("This", bound="Rule")
OF_THE_LAW = ("explore", "log_probability")


class Rule(Checked, Generic[P, A]):
    """One layer's way to learn. Numbers are leaves, structure is static."""

    name: ClassVar[str]
    title: ClassVar[str]
    variant: ClassVar[str] = ""  # of a rule in variants/, which has the name of the rule that it varies

    learning_signal: Signal = part(Advantage(), "what it learns from: R, or R − V", options=(Reward, Advantage))
    # Which code of the user's this is; set where a Run is made, empty for rules of ours (run/editions.py).
    edition: str = eqx.field(default="", static=True, init=False)

    def __new__(cls: type[This], *args: object, **fields: object) -> This:
        """Refuse a former keyword of a rule of ours by a line that says how it is written now."""
        for name in FORMER & fields.keys() if is_ours(cls) else ():
            if now := keywords(cls.name, name, fields[name], specs(cls)):
                raise written_now(f"{name}: {shown(fields[name])}", now)
        return super().__new__(cls)

    @property
    def law(self) -> Law[P, A]:
        """How the layer draws: independent binary units, unless a rule says otherwise."""
        return Bernoulli()  # type: ignore[return-value]  # of rules that have no other law

    @property
    def rates(self) -> dict[str, Scalar]:
        """Parameters, by name, whose learning rate is a multiple of their layer's."""
        return {}

    def init(self, sizes: Sizes, key: Key[Array, ""]) -> P:
        """The layer's parameters before learning, those of its law and any others. Others need no credit."""
        return self.law.init(sizes.inputs, sizes.units, key)

    @abstractmethod
    def credit(self, layer: Layer[P, A], signal: Float[Array, "B 1"], above: Message) -> object:
        """The ascent direction: a record of batch means by the names of `layer.params`.

        Parameters that the record does not have stay as they are, bit for bit. Linear in the signal where agents learn
        over the steps of an environment.
        """

    def message(self, layer: Layer[P, A], above: Message) -> Message:
        """What the layer below is told: by default how likely it was that this layer drew what it did.

        A rule whose credit follows a slope of `above` gives the layer below a slope to follow, by a message of its own.
        """
        return likelihood(layer)

    def update(self, layer: Layer[P, A], outcome: Outcome) -> dict[str, Array]:
        """New values, by name, of parameters that learn outside the optimiser."""
        return {}

    @property
    def baseline(self) -> Baseline:
        """What is subtracted from a draw; a field of rules that have a choice."""
        return Nothing()

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        for name in OF_THE_LAW:
            if name in cls.__dict__:
                raise TypeError(f"{cls.__name__}.{name}: would never be called; it belongs to the rule's law")


class Local(Rule[P, A]):
    """A rule of one equation: ΔW = signal · eligibility."""

    baseline: Baseline = part(Nothing(), "what is subtracted from a draw", options=(Nothing,))

    @abstractmethod
    def eligibility(self, layer: Layer[P, A], E: Expectation) -> Eligibility:
        """What the layer's draw is credited with, less what the baseline expects of it."""

    @final
    def credit(self, layer: Layer[P, A], signal: Float[Array, "B 1"], above: Message) -> P:
        E = self.baseline(layer.parts.baseline, layer)
        return self.eligibility(layer, E).times(signal, layer.params)

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "credit" in cls.__dict__:
            raise TypeError(f"{cls.__name__}.credit: a Local rule has an `eligibility`; derive it from Rule instead")
