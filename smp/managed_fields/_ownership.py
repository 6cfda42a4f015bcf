"""Who owns what after a write: the rules of structured-merge-diff on field sets.

Go: merge.Updater. A write takes over what it adds or modifies, and what it removes is
lost to all managers. An apply that would take over what another manager owns is a
conflict, unless it is forced.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from smp._values.values import JSONObject
from smp.errors import ObjectError, bounded
from smp.managed_fields._compare import FieldSetComparison, compare
from smp.managed_fields._entries import Identity, ManagedFields, Owner, Write
from smp.managed_fields._field_set import EMPTY, FieldSet
from smp.managed_fields._shapes import (
    ATOMIC_LIST,
    ATOMIC_MAP,
    LIST,
    MAP,
    Shape,
    root_shape,
)
from smp.managed_fields._typed import listing, type_problems
from smp.managed_fields._versions import Serving, convert_to_form
from smp.paths import Path
from smp.schema.model import Schema

# What a server sets or what names the object has no owner. Go: NewStripMetaManager.
NEVER_OWNED: Final = FieldSet.of(
    Path(("apiVersion",)),
    Path(("kind",)),
    Path(("metadata",)),
    Path(("metadata", "name")),
    Path(("metadata", "namespace")),
    Path(("metadata", "creationTimestamp")),
    Path(("metadata", "selfLink")),
    Path(("metadata", "uid")),
    Path(("metadata", "clusterName")),
    Path(("metadata", "generation")),
    Path(("metadata", "managedFields")),
    Path(("metadata", "resourceVersion")),
)


class Changes:
    """What a write changes in an object, as the versions of the entries see it.

    The fields that the write resets do not count.
    """

    __slots__ = ("_by_version", "_new", "_old", "_schema", "_write", "comparison")

    def __init__(
        self, old: JSONObject, new: JSONObject, schema: Schema, write: Write
    ) -> None:
        self._old = old
        self._new = new
        self._schema = schema
        self._write = write
        # As the version of the write sees it, with what is reset.
        self.comparison = compare(old, new, schema)
        self._by_version = {schema.api_version: self.comparison.without(write.reset)}

    def of(self, api_version: str) -> FieldSetComparison:
        """Return the changes as the version of an entry sees them."""
        found = self._by_version.get(api_version)
        if found is not None:
            return found
        schema = self._write.serving.schema_of(api_version, self._schema)
        if schema is None or schema is self._schema:
            found = self._by_version[self._schema.api_version]
        else:
            old = convert_to_form(self._old, schema)
            new = convert_to_form(self._new, schema)
            # Go: versionConverter.Convert. Nothing leaves out what the version of the
            # entry does not know, and no element may occur twice.
            problems = type_problems(new, schema)
            if problems:
                problem = f"failed to convert new object: {listing(problems)}"
                raise ObjectError(problem, code="not-convertible")
            found = compare(old, new, schema).without(self._write.reset)
        self._by_version[api_version] = found
        return found


def conflicts(
    managed: ManagedFields, identity: Identity, changes: Changes
) -> list[Owner]:
    """Return the other entries, with what they own of what a write adds or modifies."""
    found: list[Owner] = []
    for other, owner in managed.owners.items():
        changed = changes.of(owner.api_version).changed
        if changed and other != identity:
            theirs = owner.fields.intersection(changed)
            if theirs:
                found.append(replace(owner, fields=theirs))
    return found


def take_over(managed: ManagedFields, identity: Identity, changes: Changes) -> None:
    """Take from all other entries what a write adds, modifies or removes.

    Go: merge.Updater.update, with force.
    """
    for other, owner in [*managed.owners.items()]:
        if other == identity:
            continue
        comparison = changes.of(owner.api_version)
        left = owner.fields.difference(comparison.changed)
        left = left.difference(comparison.removed)
        if not left:
            del managed.owners[other]
        elif left is not owner.fields:
            managed.owners[other] = replace(owner, fields=left)


@bounded("the field set")
def reconcile(
    managed: ManagedFields, live: JSONObject, schema: Schema, serving: Serving
) -> None:
    """Bring the entries to the schemas as they are now.

    A list, a map or a struct may have become atomic since an entry was written. Who
    owned a part of it then owns it as a whole (Go: typed.ReconcileFieldSetWithSchema).
    An entry of a version that is no longer served is dropped. Raises ObjectError
    for one of a custom resource that the live object cannot be converted for.
    """
    convertible: set[str] = set()
    for identity, owner in [*managed.owners.items()]:
        its_schema = serving.schema_of(owner.api_version, schema)
        if its_schema is None and serving.custom:
            # Go: k8s.io/apiextensions-apiserver, pkg/apiserver/conversion.
            raise ObjectError(
                "request to convert CR to an invalid group/version: "
                f"{owner.api_version}",
                code="version-not-served",
            )
        if its_schema is None:
            del managed.owners[identity]
            continue
        if its_schema is not schema and owner.api_version not in convertible:
            # Go: versionConverter.Convert. Nothing leaves out what the version of the
            # entry of a custom resource does not know, and no element may occur twice.
            problems = type_problems(convert_to_form(live, its_schema), its_schema)
            if problems:
                raise ObjectError(listing(problems), code="not-convertible")
            convertible.add(owner.api_version)
        fields = _reconcile(owner.fields, root_shape(its_schema, {}))
        if fields is not owner.fields:
            managed.owners[identity] = replace(owner, fields=fields)


def _reconcile(fields: FieldSet, shape: Shape) -> FieldSet:
    """Return a set below a value of that shape, of a list or map that is granular."""
    changed: dict[str, FieldSet] = {}
    for element, below in fields.children.items():
        inner = shape.of_path_element(element)
        # The schema may not know the field any more.
        if inner is None:
            continue
        if inner.form in (ATOMIC_LIST, ATOMIC_MAP):
            changed[element] = EMPTY
        elif inner.form in (LIST, MAP):
            reconciled = _reconcile(below, inner)
            if reconciled is not below:
                changed[element] = reconciled
    if not changed:
        return fields
    members = {element for element, below in changed.items() if not below}
    children = {
        element: changed.get(element, below)
        for element, below in fields.children.items()
        if element not in members
    }
    return FieldSet(fields.members | members, children)
