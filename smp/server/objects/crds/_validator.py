"""The validator of custom resources: that of jsonschema for draft 4, with changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from jsonschema import Draft4Validator, FormatChecker
from jsonschema.validators import extend

from smp.server.objects.crds._formats import FORMATS
from smp.server.objects.crds._keywords import KEYWORDS, is_integer
from smp.values import JSONObject

# The format that Kubernetes and jsonschema, without further packages, check alike.
_FORMATS: Final = FormatChecker(["email"])


def for_strings(is_valid: Callable[[str], bool]) -> Callable[[object], bool]:
    """Return a check that accepts every other value: formats are of strings only."""
    return lambda value: not isinstance(value, str) or is_valid(value)


for _name, _is_valid in FORMATS.items():
    _FORMATS.checks(_name)(for_strings(_is_valid))


_Validator: Final[Any] = extend(  # type: ignore[no-untyped-call]  # its stubs lack it
    Draft4Validator,
    KEYWORDS,
    type_checker=Draft4Validator.TYPE_CHECKER.redefine("integer", is_integer),
)


def validator_of(schema: JSONObject) -> Any:
    """Return the validator of a schema."""
    return _Validator(schema, format_checker=_FORMATS)
