"""The validator of custom resources: that of jsonschema for draft 4, with changes."""

from __future__ import annotations

import re
from typing import Any, Final

from jsonschema import Draft4Validator, FormatChecker
from jsonschema.validators import extend

from smp.server.objects.crds._keywords import KEYWORDS, is_integer
from smp.values import JSONObject

# The formats that Kubernetes and jsonschema, without further packages, check alike.
_FORMATS: Final = FormatChecker(["date", "email", "ipv4", "ipv6", "uuid"])
_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)


@_FORMATS.checks("date-time")
def _is_time(value: object) -> bool:
    # A format is a rule for strings only.
    return not isinstance(value, str) or bool(_TIME.fullmatch(value))


_Validator: Final[Any] = extend(  # type: ignore[no-untyped-call]  # its stubs lack it
    Draft4Validator,
    KEYWORDS,
    type_checker=Draft4Validator.TYPE_CHECKER.redefine("integer", is_integer),
)


def validator_of(schema: JSONObject) -> Any:
    """Return the validator of a schema."""
    return _Validator(schema, format_checker=_FORMATS)
