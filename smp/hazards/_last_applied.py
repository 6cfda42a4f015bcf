"""The hazards of a last-applied configuration: missing, foreign, stale, oversized."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from smp._values import codec
from smp._values.api_objects import annotations_of
from smp._values.last_applied import LAST_APPLIED, configuration_text, drop_last_applied
from smp._values.names import MAX_ANNOTATIONS, annotations_size
from smp._values.values import JSON, JSONObject, as_list, as_object, as_text, same
from smp.errors import SmpError
from smp.hazards._hazard import Hazard, hazard
from smp.hazards._objects import Look
from smp.paths import Path

_ANNOTATION: Final = Path(("metadata", "annotations", LAST_APPLIED))
_MANAGED_FIELDS: Final = Path(("metadata", "managedFields"))


def last_applied_hazards(
    last_applied: JSONObject | None,
    modified: JSONObject,
    live: JSONObject | None,
    look: Look,
) -> list[Hazard]:
    """Return the hazards of a last-applied configuration, and of the next one.

    The look is one at the manifest.
    """
    found: list[Hazard] = []
    if live is not None:
        if last_applied is None:
            found.append(hazard("no-last-applied", Path(), "last-applied"))
        annotations = annotations_of(live)
        if LAST_APPLIED in annotations:
            found += _compare_annotation(annotations[LAST_APPLIED], last_applied)
            if not found or found[-1].code != "invalid-last-applied":
                found += _find_superseding(live)
    if last_applied:
        found += _foreign(last_applied, modified)
    if _is_oversized(modified, live, look):
        limit = str(MAX_ANNOTATIONS)
        found.append(
            hazard("oversized-last-applied", _ANNOTATION, "manifest", limit=limit)
        )
    return found


def _compare_annotation(
    text: JSON, last_applied: JSONObject | None
) -> Iterator[Hazard]:
    """Compare the annotation of live with the configuration that was given."""
    # What kubectl writes is compared first, as it takes no parsing.
    if isinstance(text, str) and last_applied is not None:
        bare = drop_last_applied(last_applied)
        printed = _print_sorted(bare).decode()
        if text == f"{printed}\n":
            return
        # Go escapes some characters.
        if printed and "\\u00" in text and text == configuration_text(bare):
            return
    try:
        annotated = codec.decode(text) if isinstance(text, str) else None
    except SmpError:
        annotated = None
    if not isinstance(annotated, dict):
        yield hazard("invalid-last-applied", _ANNOTATION, "live")
        return
    if last_applied is not None and not same(
        drop_last_applied(annotated), drop_last_applied(last_applied)
    ):
        what = "the last-applied configuration is another one than the annotation has"
        yield hazard("stale-last-applied", _ANNOTATION, "live", what=what)
    # Such a text was made from a live object, and not from a manifest.
    if LAST_APPLIED in annotations_of(annotated) or "status" in annotated:
        what = "it has a status, or the annotation itself, as a live object does"
        found = hazard("rewritten-last-applied", _ANNOTATION, "live", what=what)
        yield msgspec.structs.replace(found, severity="warning")
    # In another order than the sorted one it cannot be what kubectl writes. That takes
    # less time to find out than to print it as Go does.
    elif (
        msgspec.json.encode(annotated) != msgspec.json.encode(annotated, order="sorted")
        or configuration_text(annotated) != text
    ):
        what = "its keys are not sorted, or its line does not end"
        yield hazard("rewritten-last-applied", _ANNOTATION, "live", what=what)


def _print_sorted(obj: JSONObject) -> bytes:
    """Print an object; one with half a surrogate pair, which JSON has not, as b""."""
    try:
        return msgspec.json.encode(obj, order="sorted")
    except UnicodeEncodeError:
        return b""


def _find_superseding(live: JSONObject) -> Iterator[Hazard]:
    """Find a server-side apply that came after the annotation was written.

    The entry of its manager has the annotation among its fields; its time is that of
    the last change. Times are in UTC, so their texts can be compared.
    """
    entries = as_list(as_object(live.get("metadata")).get("managedFields"))
    if not any(as_object(entry).get("operation") == "Apply" for entry in entries):
        return
    # When did the manager of the annotation last change anything?
    written = ""
    for entry in entries:
        fields = as_object(as_object(entry).get("fieldsV1"))
        for name in ("f:metadata", "f:annotations"):
            fields = as_object(fields.get(name))
        if f"f:{LAST_APPLIED}" in fields:
            written = max(written, as_text(as_object(entry).get("time")))
    for index, entry in enumerate(entries):
        members = as_object(entry)
        is_later = bool(written) and as_text(members.get("time")) > written
        # An apply to a subresource, such as status, has nothing of the configuration.
        if (
            members.get("operation") == "Apply"
            and is_later
            and not members.get("subresource")
        ):
            yield hazard(
                "superseded-last-applied",
                _MANAGED_FIELDS / index,
                "live",
                manager=as_text(members.get("manager")),
            )


def _foreign(last_applied: JSONObject, modified: JSONObject) -> list[Hazard]:
    """Compare what the two configurations say that they are of."""
    found: list[Hazard] = []
    metadata = as_object(last_applied.get("metadata"))
    our_metadata = as_object(modified.get("metadata"))
    for name in ("apiVersion", "kind"):
        theirs, ours = last_applied.get(name), modified.get(name)
        if theirs == ours:
            continue
        group = as_text(theirs).rpartition("/")[0]
        # Another version of the API is the same object.
        if name == "kind" or group != as_text(ours).rpartition("/")[0]:
            found += _report_difference(Path((name,)), theirs, ours)
    # A uid is not compared.
    for name in ("name", "namespace"):
        theirs, ours = metadata.get(name), our_metadata.get(name)
        if theirs != ours:
            found += _report_difference(Path(("metadata", name)), theirs, ours)
    return found


def _report_difference(path: Path, theirs: JSON, ours: JSON) -> list[Hazard]:
    # A partial configuration does not say what it is of; a manifest may leave out the
    # namespace.
    if not as_text(theirs) or not as_text(ours):
        return []
    what = f"{path.steps[-1]} is {as_text(theirs)}, and not {as_text(ours)}"
    return [hazard("foreign-last-applied", path, "last-applied", what=what)]


def _is_oversized(modified: JSONObject, live: JSONObject | None, look: Look) -> bool:
    """Tell whether the annotations are too large after an apply by kubectl."""
    # Those of others stay beside the one of kubectl.
    others = 0
    for obj in (live or {}, modified):
        for name, value in annotations_of(obj).items():
            if name != LAST_APPLIED:
                others += len(name) + len(as_text(value))
    # These are characters, of up to four bytes; almost all objects are small.
    if look.most + 4 * others + 1000 <= MAX_ANNOTATIONS:
        return False
    if look.least > MAX_ANNOTATIONS:
        return True
    together: JSONObject = {}
    for obj in (live or {}, modified):
        together |= annotations_of(obj)
    room = MAX_ANNOTATIONS - annotations_size({**together, LAST_APPLIED: ""})
    bare = drop_last_applied(modified)
    # Go escapes <, > and & with five more bytes, U+2028 and U+2029 with three.
    text = _print_sorted(bare)
    most = len(text) + len("\n")
    if not text.isascii():
        most += 3 * text.count(b"\xe2\x80")
    most += 5 * (text.count(b"<") + text.count(b">") + text.count(b"&"))
    if look.has_doubles:
        # It prints 21 digits for 1e20, and 0.00001 for 1e-5.
        exponents = text.count(b"e1") + text.count(b"e2") + text.count(b"e-")
        most += 17 * exponents
    return most > room and len(configuration_text(bare).encode()) > room
