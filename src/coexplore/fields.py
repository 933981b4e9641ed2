"""Where settings used to be declared: their names are `coexplore`'s own now. This module goes with the next version."""

import warnings

from coexplore.settings import FieldError, Linear, choice, count, field, number, switch

__all__ = ["FieldError", "Linear", "choice", "count", "field", "number", "switch"]

warnings.warn(
    "coexplore.fields will be gone in the next version: import number, choice, count and switch from coexplore",
    DeprecationWarning,
    stacklevel=2,
)
