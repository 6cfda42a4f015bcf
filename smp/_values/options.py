"""Checks of options that are data: a misspelled one would be a decision."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from smp._values.values import show
from smp.errors import SmpError

# What Go's strconv.ParseBool reads.
BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def require_options(
    options: object,
    choices: Mapping[str, Collection[str]],
    types: Mapping[str, tuple[type, ...]],
) -> None:
    """Raise SmpError (code invalid-option) for a value that an option cannot have.

    ``options`` has an attribute for each name. ``choices`` are texts, ``types`` classes
    of Python, of which bool is no int.
    """
    for name, texts in choices.items():
        require_choice(name, getattr(options, name), texts)
    for name, classes in types.items():
        value = getattr(options, name)
        is_boolean = isinstance(value, bool)
        if not isinstance(value, classes) or (is_boolean and bool not in classes):
            wanted = " or ".join(each.__name__ for each in classes)
            wanted = wanted.replace("NoneType", "None")
            raise _invalid(f"{name} is {wanted}, not {show(value)}")


def require_choice(name: str, value: object, texts: Collection[str]) -> None:
    """Raise SmpError (code invalid-option) for what is not one of some texts."""
    if not isinstance(value, str) or value not in texts:
        listed = ", ".join(map(repr, texts))
        raise _invalid(f"{name} is one of {listed}, not {show(value)}")


def _invalid(problem: str) -> SmpError:
    return SmpError(f"the option {problem}", code="invalid-option")
