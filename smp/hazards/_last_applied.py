"""The hazards of a last-applied configuration: missing, foreign, stale, oversized."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from smp import codec
from smp.errors import SmpError
from smp.hazards._hazard import Hazard, hazard
from smp.last_applied import LAST_APPLIED, configuration_text
from smp.names import MAX_ANNOTATIONS, annotations_size
from smp.paths import Path
from smp.values import ABSENT, JSONObject, as_list, as_object, as_text, same

_ANNOTATION: Final = Path(("metadata", "annotations", LAST_APPLIED))
_MANAGED_FIELDS: Final = Path(("metadata", "managedFields"))
# A text of so many characters has fewer bytes than the annotations of an object may
# have, also where JSON escapes all of them.
_SMALL: Final = MAX_ANNOTATIONS // 8
# What tells an object from others.
_IDENTITY: Final = (("apiVersion",), ("kind",), ("metadata", "name"))


def last_applied_hazards(
    last_applied: JSONObject | None,
    modified: JSONObject,
    live: JSONObject | None,
    characters: int,
) -> Iterator[Hazard]:
    """Yield the hazards of a last-applied configuration, and of the next one.

    ``characters`` are those of the manifest, about.
    """
    if live is not None:
        if last_applied is None:
            yield hazard("no-last-applied", Path(), "last-applied")
        yield from _of_annotation(last_applied, live)
    if last_applied:
        yield from _foreign(last_applied, modified)
    if characters > _SMALL:
        yield from _oversized(modified, live)


def _of_annotation(
    last_applied: JSONObject | None, live: JSONObject
) -> Iterator[Hazard]:
    """Compare the annotation of live with the configuration that was given."""
    annotations = as_object(as_object(live.get("metadata")).get("annotations"))
    text = annotations.get(LAST_APPLIED, ABSENT)
    if text is ABSENT:
        return
    # kubectl writes sorted keys and a line break; that is compared first, as it takes
    # no parsing.
    if isinstance(text, str) and last_applied is not None:
        bare = _bare(last_applied)
        printed = msgspec.json.encode(bare, order="sorted").decode()
        if text == f"{printed}\n":
            yield from _superseded(live)
            return
    try:
        annotated = codec.decode(text) if isinstance(text, str) else None
    except SmpError:
        annotated = None
    if not isinstance(annotated, dict):
        yield hazard("invalid-last-applied", _ANNOTATION, "live")
        return
    yield from _superseded(live)
    if last_applied is not None and not same(_bare(annotated), _bare(last_applied)):
        what = "the last-applied configuration is another one than the annotation has"
        yield hazard("stale-last-applied", _ANNOTATION, "live", what=what)
    # Such a text was made from a live object, and not from a manifest.
    nested = LAST_APPLIED in as_object(
        as_object(annotated.get("metadata")).get("annotations")
    )
    if nested or "status" in annotated:
        what = "it has a status, or the annotation itself, as a live object does"
        yield hazard(
            "rewritten-last-applied",
            _ANNOTATION,
            "live",
            severity="warning",
            what=what,
        )
    # In another order than the sorted one it cannot be what kubectl writes. That takes
    # less time to find out than to print it as Go does.
    elif (
        msgspec.json.encode(annotated) != msgspec.json.encode(annotated, order="sorted")
        or configuration_text(annotated) != text
    ):
        what = "its keys are not sorted, or its line does not end"
        yield hazard("rewritten-last-applied", _ANNOTATION, "live", what=what)


def _bare(configuration: JSONObject) -> JSONObject:
    """Return a configuration without the annotation, as kubectl writes it into one.

    It has annotations in any case (Go: GetModifiedConfiguration).
    """
    metadata = as_object(configuration.get("metadata"))
    annotations = dict(as_object(metadata.get("annotations")))
    annotations.pop(LAST_APPLIED, None)
    return {**configuration, "metadata": {**metadata, "annotations": annotations}}


def _superseded(live: JSONObject) -> Iterator[Hazard]:
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


def _foreign(last_applied: JSONObject, modified: JSONObject) -> Iterator[Hazard]:
    """Compare what the two configurations say that they are of."""
    # A namespace is compared only below, a uid not at all.
    for steps in _IDENTITY:
        yield from _differing(last_applied, modified, steps)
    # A manifest may leave the namespace out.
    steps = ("metadata", "namespace")
    if _text_at(last_applied, steps) and _text_at(modified, steps):
        yield from _differing(last_applied, modified, steps)


def _differing(
    last_applied: JSONObject, modified: JSONObject, steps: tuple[str, ...]
) -> Iterator[Hazard]:
    theirs, ours = _text_at(last_applied, steps), _text_at(modified, steps)
    # A partial configuration, as of a test, does not say what it is of.
    if theirs and ours and theirs != ours:
        # Another version of the API is the same object.
        if steps == ("apiVersion",) and _group(theirs) == _group(ours):
            return
        what = f"{steps[-1]} is {theirs}, and not {ours}"
        yield hazard("foreign-last-applied", Path(steps), "last-applied", what=what)


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def _text_at(obj: JSONObject, steps: tuple[str, ...]) -> str:
    for name in steps[:-1]:
        obj = as_object(obj.get(name))
    return as_text(obj.get(steps[-1]))


def _oversized(modified: JSONObject, live: JSONObject | None) -> Iterator[Hazard]:
    """Measure the annotations that an object has after an apply by kubectl."""
    # Those of others stay beside the one of kubectl.
    annotations: JSONObject = {}
    for obj in (live or {}, modified):
        annotations |= as_object(as_object(obj.get("metadata")).get("annotations"))
    size = annotations_size({**annotations, LAST_APPLIED: configuration_text(modified)})
    if size > MAX_ANNOTATIONS:
        yield hazard(
            "oversized-last-applied",
            _ANNOTATION,
            "manifest",
            size=str(size),
            limit=str(MAX_ANNOTATIONS),
        )
