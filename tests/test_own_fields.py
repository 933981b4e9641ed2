"""Whatever a user adds to a rule, a task, a critic or a schedule is a setting of the run, or is refused."""

import dataclasses
import functools

import equinox as eqx
import pytest

from coexplore import Boltzmann, Critic, Linear, Rule, Run, choice, number, outer
from coexplore.settings import FieldError

TINY = {"hidden": (4,), "episodes": 160, "critic": None}


class Plain(Rule):
    name, title = "plain-of-tests", "for these tests"
    centring: str = choice("reward", "the signal is R − V", options=("reward",))
    gain: float = number(2.0, "a factor")

    def credit(self, params, x, activity, feedback):
        return outer(x, self.gain * feedback.delta * activity.h)


class Parent(eqx.Module):
    slope: float = 1.0


class Gained(Plain):
    """Sets a setting from another argument."""

    name = "gained-of-tests"

    def __init__(self, doubled=4.0):
        self.centring, self.gain = "reward", doubled / 2


class Hidden(Plain):
    name = "hidden-of-tests"

    def __init__(self, gain=2.0, more=1.0, centring="reward"):
        self.centring, self.gain = centring, gain
        self.__dict__["more"] = more


def with_field(*bases, **members):
    """An object of a rule of a user's with another field."""
    annotations = {"__annotations__": dict.fromkeys(members, object)}
    return type("A", (Plain, *bases), {"name": "field-of-tests"} | annotations | members)()


class OwnCritic(Critic):
    pass


class OwnSchedule(Linear):
    pass


SUBCLASSES = {
    r"critic: OwnCritic\(\) is not allowed; give a Critic\(\)": lambda: Run(critic=OwnCritic()),
    "learning_rate: OwnSchedule": lambda: Run(learning_rate=OwnSchedule(0.1, 0.01)),
    "coupling: OwnSchedule": lambda: Boltzmann(coupling=OwnSchedule(0.1, 0.01)),
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

        def __init__(self, gain=2.0, more=1.0, centring="reward"):
            self.centring, self.gain, self.more = centring, gain, more

    runs = [Run(rule=Own(gain=gain), **TINY) for gain in (1.0, 2.0)]
    assert runs[0] != runs[1]
    assert dataclasses.asdict(runs[0].rules[0])["gain"] == 1.0
