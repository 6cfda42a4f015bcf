"""Fields that a server-side apply leaves to their other managers.

The configuration that is sent lacks them: those that the options name, and, where
conflicts are to be skipped, those that the server has a conflict for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from smp._values.path_patterns import paths_selected, pattern_of
from smp._values.values import Absent, JSONObject, printed, same
from smp.cluster.plan.client_side import ApplyTarget
from smp.cluster.plan.failures import ApiError
from smp.cluster.plan.objects import Item
from smp.cluster.plan.options import ApplyOptions
from smp.errors import ApplyWarning, ObjectError
from smp.managed_fields import (
    ApplyConflictError,
    give_up,
    owned_path,
    owned_value,
    owners_of,
    server_side_apply,
)
from smp.paths import Path
from smp.schema.model import Schema

# Go: k8s.io/apimachinery, metav1.CauseTypeFieldManagerConflict.
_CONFLICT: Final = "FieldManagerConflict"


def require_given_up(items: Iterable[Item], options: ApplyOptions) -> None:
    """Raise ObjectError (code no-field) for a path to give up that no manifest has."""
    objects = [item.object for item in items]
    for text in options.give_up:
        pattern = pattern_of(text)
        if not any(paths_selected(obj, pattern) for obj in objects):
            raise ObjectError(
                f"no manifest has {text}, which is to be given up", code="no-field"
            )


def drop_given_up(
    target: ApplyTarget, options: ApplyOptions
) -> tuple[ApplyTarget, list[Path]]:
    """Return what is applied without the fields that the options give up, and these.

    Raises what ``give_up`` raises.
    """
    obj = target.item.object
    schema = _schema_of(target)
    paths = [
        owned_path(obj, schema, path)
        for text in options.give_up
        for path in paths_selected(obj, pattern_of(text))
    ]
    return drop_paths(target, paths), paths


def drop_conflicts(
    target: ApplyTarget, live: JSONObject | None, options: ApplyOptions, error: ApiError
) -> tuple[ApplyTarget, list[Path]]:
    """Return what is applied without the conflicts that a server has found.

    Raises the error where that is for another reason, or where they are not found here.
    """
    if live is None or all(cause.reason != _CONFLICT for cause in error.causes):
        raise error
    paths = find_conflicts(target, live, options)
    if not paths:
        raise error
    return drop_paths(target, paths), paths


def find_conflicts(
    target: ApplyTarget, live: JSONObject | None, options: ApplyOptions
) -> list[Path]:
    """Return the paths that an apply has a conflict for.

    Raises what else ``server_side_apply`` raises.
    """
    obj, schema = target.item.object, _schema_of(target)
    try:
        server_side_apply(live, obj, schema, manager=options.manager, profile="off")
    except ApplyConflictError as found:
        return [*dict.fromkeys(conflict.path for conflict in found.conflicts)]
    return []


def warnings_of_given_up(
    target: ApplyTarget,
    live: JSONObject | None,
    stored: JSONObject,
    paths: Iterable[Path],
) -> list[ApplyWarning]:
    """Return what the fields that were left out have become, and whose they are."""
    schema = _schema_of(target)
    return [
        ApplyWarning("given-up", path, _sentence(live, stored, schema, path))
        for path in dict.fromkeys(paths)
    ]


def drop_paths(target: ApplyTarget, paths: list[Path]) -> ApplyTarget:
    """Return what is applied without fields."""
    if not paths:
        return target
    item = target.item
    left = give_up(item.object, _schema_of(target), paths)
    return replace(target, item=Item(left, item.source))


def _schema_of(target: ApplyTarget) -> Schema:
    return target.kind_schema.schema.with_unknown_fields("merge")


def _sentence(
    live: JSONObject | None, stored: JSONObject, schema: Schema, path: Path
) -> str:
    before = owned_value(live or {}, schema, path)
    after = owned_value(stored, schema, path)
    if isinstance(after, Absent):
        return "left out of the apply: the object does not have it"
    whose = ", ".join(
        f"{owner.manager} ({f'{owner.operation} {owner.subresource}'.rstrip()})"
        for owner in owners_of(stored, path)
    )
    whose = f"owned by {whose}" if whose else "a default that no manager owns"
    # The values of a Secret are in no message.
    now = "" if schema.kind == "Secret" else f" {printed(after)},"
    if live is None or same(before, after):
        return f"left out of the apply: it is{now} {whose}"
    return f"left out of the apply: it is changed, and is{now} {whose}"
