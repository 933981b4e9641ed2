"""What a Run is made of: fields that know what they may hold, and how they are checked, written and read.

A rule, a task or a critic declares its settings with `number`, `count`, `choice` and `switch`; checks, JSON, the
command line's flags and the help texts all follow from that one declaration.
"""

from coexplore.settings.layers import EachLayer, Positive, Rates, Units
from coexplore.settings.plugins import INSTALL, is_ours, latest, loaded, module_named, offered
from coexplore.settings.records import (
    Checked,
    Json,
    build,
    checked,
    choice,
    count,
    describe,
    field,
    number,
    plain,
    plain_defaults,
    specs,
    switch,
    unplain,
)
from coexplore.settings.refusals import FieldError, Unknown, one_line, reason, refusal, shown
from coexplore.settings.schedules import Linear, Scalar, Schedulable, at_the_end, multiplied, schedule, worked_out
from coexplore.settings.specs import MOST, Choice, Count, Number, Spec, Switch, Text, Value, checked_path

__all__ = [
    "INSTALL",
    "MOST",
    "Checked",
    "Choice",
    "Count",
    "EachLayer",
    "FieldError",
    "Json",
    "Linear",
    "Number",
    "Positive",
    "Rates",
    "Scalar",
    "Schedulable",
    "Spec",
    "Switch",
    "Text",
    "Units",
    "Unknown",
    "Value",
    "at_the_end",
    "build",
    "checked",
    "checked_path",
    "choice",
    "count",
    "describe",
    "field",
    "is_ours",
    "latest",
    "loaded",
    "module_named",
    "multiplied",
    "number",
    "offered",
    "one_line",
    "plain",
    "plain_defaults",
    "reason",
    "refusal",
    "schedule",
    "shown",
    "specs",
    "switch",
    "unplain",
    "worked_out",
]
