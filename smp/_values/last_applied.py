"""The last-applied configuration: the annotation in which kubectl apply keeps it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from smp._values import codec
from smp._values.api_objects import annotations_of, set_metadata
from smp._values.plain import (
    as_plain_object,
    over_json,
    require_object,
    require_object_or_none,
)
from smp._values.stack import require_stack
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONObject,
    as_object,
    require_plain,
)
from smp.errors import DocumentError, SmpError, bounded
from smp.paths import Path

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
# What may be a double; that may also be in a string.
_DOUBLE: Final = re.compile(r"[:,\[]-?[0-9]+[.eE]")
_ANNOTATION: Final = Path(("metadata", "annotations", LAST_APPLIED))


# The parameters of a public operation that are these objects.
INPUTS: Final = ("last_applied", "modified", "live")


class ApplyInputs(msgspec.Struct, frozen=True):
    """The objects of an apply; no last-applied configuration is None."""

    last_applied: JSONObject | None
    manifest: JSONObject
    live: JSONObject

    @classmethod
    def of(
        cls,
        last_applied: Mapping[str, Any] | None,
        modified: Mapping[str, Any],
        live: Mapping[str, Any],
    ) -> ApplyInputs:
        """Take what is given to a public operation; raises ObjectError for no object.

        Raises NotPlainError for mappings that are no dicts.
        """
        return cls(
            require_object_or_none("last_applied", last_applied),
            require_object("modified", modified),
            require_object("live", live),
        )


@over_json("the object", "live")
def last_applied_configuration(live: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the last-applied configuration from the annotation of kubectl, or None.

    Raises DocumentError for an annotation that is not the JSON of an object.
    """
    text: JSON | Absent = require_object("live", live)
    for name in ("metadata", "annotations", LAST_APPLIED):
        if not isinstance(text, dict):
            require_plain(text)
        text = as_object(text).get(name, ABSENT)
    # Go: CreateThreeWayMergePatch, which takes an empty text as none.
    if text is ABSENT or text == "":
        return None
    try:
        value = codec.decode(text) if isinstance(text, str) else None
    except SmpError as error:
        raise error.at(_ANNOTATION) from None
    if not isinstance(value, dict):
        raise DocumentError(
            "the annotation is not an object",
            code="invalid-last-applied",
            path=_ANNOTATION,
        )
    return value


@bounded("the object")
def with_last_applied(modified: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration with itself in the last-applied annotation.

    The annotation is byte for byte as kubectl writes it. Go:
    k8s.io/kubectl, pkg/util/apply.go, GetModifiedConfiguration. Raises ObjectError
    (codes not-an-object and not-json), and DepthError.
    """
    require_stack(modified)
    # The annotation is text, so all of the configuration has to be JSON.
    bare = drop_last_applied(as_plain_object("modified", modified))
    text = configuration_text(bare)
    applied: JSONObject = {**annotations_of(bare), LAST_APPLIED: text}
    return set_metadata(bare, annotations=applied)


def drop_last_applied(modified: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration without the annotation; annotations are there, if empty.

    It is what the annotation has (Go: GetModifiedConfiguration).
    """
    # Go: unstructured.NestedNullCoercingStringMap.
    annotations: JSONObject = {
        name: "" if value is None else value
        for name, value in annotations_of(modified).items()
        if name != LAST_APPLIED
    }
    return set_metadata(modified, annotations=annotations)


def _add_go_doubles(value: JSON) -> object:
    """Return a value whose doubles are printed as Go prints them."""
    if isinstance(value, dict):
        return {name: _add_go_doubles(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_add_go_doubles(element) for element in value]
    if not isinstance(value, float):
        return value
    return msgspec.Raw(codec.print_double(value).encode())


def configuration_text(configuration: dict[str, Any]) -> str:
    """Print a configuration for the annotation, byte for byte as kubectl does."""
    return print_by_go(configuration) + "\n"


def print_by_go(value: Any) -> str:
    """Print a value as JSON, byte for byte as Go does (encoding/json).

    Its keys are sorted as those of a Go map are.
    """
    text = msgspec.json.encode(value, order="sorted").decode()
    if _DOUBLE.search(text):
        text = msgspec.json.encode(_add_go_doubles(value), order="sorted").decode()
    # Go's encoder escapes these (json.HTMLEscape); they occur only inside strings.
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text
