"""The last-applied configuration: the annotation in which kubectl apply keeps it."""

from __future__ import annotations

from typing import Final

import msgspec

from smp import codec
from smp.errors import DocumentError, SmpError, bounded
from smp.paths import Path
from smp.plain import as_plain_object, over_json
from smp.stack import require_stack
from smp.values import ABSENT, JSON, Absent, JSONObject, as_object, require_plain

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_ANNOTATION: Final = Path(("metadata", "annotations", LAST_APPLIED))


@over_json("the object", "live")
def last_applied_configuration(live: JSONObject) -> JSONObject | None:
    """Return the last-applied configuration from the annotation of kubectl, or None.

    Raises DocumentError for an annotation that is not the JSON of an object.
    """
    text: JSON | Absent = live
    for name in ("metadata", "annotations", LAST_APPLIED):
        if not isinstance(text, dict):
            require_plain(text)
        text = as_object(text).get(name, ABSENT)
    if text is ABSENT:
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
def with_last_applied(modified: JSONObject) -> JSONObject:
    """Return the configuration with itself in the last-applied annotation.

    The annotation is byte for byte as kubectl writes it. Go:
    k8s.io/kubectl, pkg/util/apply.go, GetModifiedConfiguration. Raises ObjectError
    (codes not-an-object and not-json), and DepthError.
    """
    require_stack(modified)
    # The annotation is text, so all of the configuration has to be JSON.
    modified = as_plain_object("modified", modified)
    metadata = as_object(modified.get("metadata"))
    annotations = dict(as_object(metadata.get("annotations")))
    # The configuration in the annotation has no such annotation itself.
    annotations.pop(LAST_APPLIED, None)
    bare: JSONObject = {
        **modified,
        "metadata": {**metadata, "annotations": annotations},
    }
    applied: JSONObject = {**annotations, LAST_APPLIED: configuration_text(bare)}
    return {**modified, "metadata": {**metadata, "annotations": applied}}


def configuration_text(configuration: JSONObject) -> str:
    """Print a configuration for the annotation, byte for byte as Go does.

    Its keys are sorted as those of a Go map are, and a line break ends it.
    """
    text = msgspec.json.encode(configuration, order="sorted").decode()
    # Go's encoder escapes these (json.HTMLEscape); they occur only inside strings.
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text + "\n"
