"""Whatever a user adds to a rule, a task, a critic or a schedule is a setting of the run, or is refused."""

import dataclasses
import functools

import equinox as eqx
import pytest

from coexplore import Boltzmann, Critic, Linear, Local, Reinforce, Rule, Run, number, outer
from coexplore.rules.baseline import Baseline, Expectation, Nothing
from coexplore.rules.eligibility import Alone, Eligibility, Pair
from coexplore.rules.learning_signal import Advantage, Reward
from coexplore.settings import FieldError, part

TINY = {"hidden": (4,), "episodes": 160, "critic": None}


class Plain(Rule):
    name, title = "plain-of-tests", "for these tests"
    gain: float = number(2.0, "a factor")

    def credit(self, layer, signal, above):
        return outer(layer.x, self.gain * signal * layer.h)


class Parent(eqx.Module):
    slope: float = 1.0


class Gained(Plain):
    """Sets a setting from another argument."""

    name = "gained-of-tests"

    def __init__(self, doubled=4.0):
        self.learning_signal, self.gain = Advantage(), doubled / 2


class Hidden(Plain):
    name = "hidden-of-tests"

    def __init__(self, gain=2.0, more=1.0, learning_signal=Advantage()):
        self.learning_signal, self.gain = learning_signal, gain
        self.__dict__["more"] = more


def with_field(*bases, **members):
    """An object of a rule of a user's with another field."""
    annotations = {"__annotations__": dict.fromkeys(members, object)}
    return type("A", (Plain, *bases), {"name": "field-of-tests"} | annotations | members)()


class OwnCritic(Critic):
    pass


class OwnSchedule(Linear):
    pass


class OwnReward(Reward):
    pass


SUBCLASSES = {
    r"critic: OwnCritic\(\) is not allowed; give a Critic\(\)": lambda: Run(critic=OwnCritic()),
    "learning_rate: OwnSchedule": lambda: Run(learning_rate=OwnSchedule(0.1, 0.01)),
    "coupling: OwnSchedule": lambda: Boltzmann(coupling=OwnSchedule(0.1, 0.01)),
    r"learning_signal: OwnReward\(\)": lambda: Reinforce(learning_signal=OwnReward()),
}


@pytest.mark.parametrize("line", SUBCLASSES)
def test_a_subclass_whose_code_is_no_part_of_a_run_is_refused(line):
    with pytest.raises(FieldError, match=line):
        SUBCLASSES[line]()


def test_a_run_has_no_subclasses():
    with pytest.raises(TypeError, match="Mine: Run cannot be subclassed"):
        type("Mine", (Run,), {})


class Late(Plain):
    """Sets a field that is no setting once everything else is set."""

    name = "late-of-tests"
    bias: float = eqx.field(init=False)

    def __post_init__(self):
        self.bias = 1.0


FIELDS = {
    "a number": functools.partial(with_field, bias=2.0),
    "a module": functools.partial(with_field, bias=Parent()),
    "of a parent": functools.partial(with_field, Parent),
    "not in init": Late,
    "hidden": Hidden,
}


@pytest.mark.filterwarnings("ignore:.*init=False")
@pytest.mark.parametrize("which", FIELDS)
def test_a_field_without_a_spec_is_refused_in_a_line(which):
    line = (
        r"\w+\.\w+: 'a field without a spec' is not allowed; give a setting made with number, count, choice or switch"
    )
    with pytest.raises(FieldError, match=line):
        Run(rule=FIELDS[which](), **TINY)


def test_an_init_that_does_not_take_the_settings_is_refused_in_a_line():
    with pytest.raises(FieldError, match=r"Gained.__init__: it must take every setting by its name \(TypeError"):
        Run(rule=Gained(), **TINY)


def test_settings_of_parents_and_inits_that_take_them_are_fine():
    class Own(Plain):
        more: float = number(1.0, "another factor")

        def __init__(self, gain=2.0, more=1.0, learning_signal=Advantage()):
            self.learning_signal, self.gain, self.more = learning_signal, gain, more

    runs = [Run(rule=Own(gain=gain), **TINY) for gain in (1.0, 2.0)]
    assert runs[0] != runs[1]
    assert dataclasses.asdict(runs[0].rules[0])["gain"] == 1.0


# Parts of a rule ------------------------------------------------------------------------------------------------------


class Level(Baseline):
    """A constant."""

    name = "level"
    height: float = number(0.5, "how much is subtracted")

    def __call__(self, params, layer):
        return Expectation(self.height + 0 * layer.h)


class Shifted(Level):
    """With a field that is no setting."""

    name = "shifted"
    shift: float = 1.0


class Levelled(Local):
    name, title = "levelled-of-tests", "with a baseline of its own"
    baseline: Baseline = part(Level(), "what is subtracted", options=(Nothing, Level, Shifted))

    def eligibility(self, layer, E):
        return Eligibility(W=Pair(layer.x, layer.h - E.mean), b=Alone(layer.h - E.mean))


def test_settings_of_a_part_of_ones_own_are_settings_of_the_run():
    runs = [Run(rule=Levelled(baseline=Level(height)), **TINY) for height in (0.5, 0.25)]
    assert runs[0] != runs[1]
    assert runs[0] == Run(rule=Levelled(), **TINY)
    described = runs[1].to_dict()
    assert (described["rule"]["baseline"], described["rule"]["baseline_height"]) == ("level", 0.25)
    assert Run.from_dict(described) == runs[1]


def test_a_plain_field_of_a_part_is_refused_in_a_line():
    line = r"Shifted\.shift: 'a field without a spec' is not allowed; give a setting made with number, count"
    with pytest.raises(FieldError, match=line):
        Run(rule=Levelled(baseline=Shifted()), **TINY)
