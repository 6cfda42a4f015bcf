"""What became of objects of a cluster, as the outcomes that all reports print."""

from __future__ import annotations

from typing import Final

from smp.cli._identity import identity_of
from smp.cli._object_outcomes import ObjectOutcome, notices_of
from smp.cli._objects import Entry
from smp.cli._options import WITHOUT_SCHEMA, Settings
from smp.cluster import Applied, Difference
from smp.cluster.plan.objects import applied_configurations
from smp.custom_resources import STRATEGIC_MERGE_PATCH
from smp.explain import Cause, explain_apply
from smp.values import JSON, JSONObject, as_object

# What a server counts and writes down for itself; nothing of it is asked for.
_OF_THE_SERVER: Final = (
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)


def shown(obj: JSONObject | None) -> JSONObject | None:
    """Return an object without what a server keeps for itself in its metadata."""
    if obj is None:
        return None
    metadata = {**as_object(obj.get("metadata"))}
    for name in _OF_THE_SERVER:
        metadata.pop(name, None)
    return {**obj, "metadata": metadata}


def outcome_of(
    result: Applied | Difference, entry: Entry, settings: Settings
) -> ObjectOutcome:
    """Return the outcome of an object that has no error, with its secrets masked."""
    if isinstance(result, Applied):
        before, after = shown(result.before), shown(result.object)
        notices = tuple(notices_of(result.warnings))
        # Of what was pruned there is only what it was.
        if result.action == "pruned":
            after = None
    else:
        before, after = shown(result.live), shown(result.merged)
        notices = ()
    last_applied, configuration = None, result.item.object
    if before is not None:
        last_applied, configuration = applied_configurations(result.item, before)
    patch = result.patch
    # One set of masks for all versions: equal values have equal masks.
    masks = settings.masks(
        {
            "live": before,
            "last applied": last_applied,
            "manifest": configuration,
            "result": after,
            "patch": patch if isinstance(patch, dict) else None,
        }
    )
    masked_before, masked_last = masks.mask(before), masks.mask(last_applied)
    masked_configuration = masks.mask(configuration)
    schema = result.schema or WITHOUT_SCHEMA
    # Causes are found in masked objects, so that no sentence shows a secret.
    causes: tuple[Cause, ...] = ()
    is_explained = settings.explains and result.schema is not None
    if is_explained and masked_before is not None and after is not None:
        causes = explain_apply(
            masked_last,
            masked_configuration,
            masked_before,
            schema,
            unknown_fields="merge",
        )
    masked_patch: JSON = patch
    if isinstance(patch, dict):
        masked_patch = masks.mask(patch)
    return ObjectOutcome(
        identity=identity_of(after or before or configuration),
        place=entry.place,
        before=masked_before,
        after=masks.mask(after),
        type_=schema.type,
        patch={} if masked_patch is None else masked_patch,
        media_type=result.media_type or STRATEGIC_MERGE_PATCH,
        notices=notices,
        last_applied=masked_last,
        configuration=masked_configuration,
        causes=causes,
        hazards=result.hazards,
        entries=(("manifest", entry),) if entry.part is not None else (),
        is_applied=isinstance(result, Applied),
    )
