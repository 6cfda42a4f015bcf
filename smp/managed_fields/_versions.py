"""Entries of other versions of the API than that of a write.

Go converts the object to the version of each entry, and compares it there. Here the
object is the same in all versions, as in a custom resource without a conversion
webhook; only the schemas may differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from smp.errors import ObjectError
from smp.managed_fields._compare import Comparison, compare
from smp.managed_fields._field_set import FieldSet
from smp.plain import require_texts
from smp.schema.model import Schema
from smp.values import JSONObject, type_name

# Kubernetes 1.37.
_FIRST_TO_KEEP: Final = 37


class Serving(msgspec.Struct, frozen=True):
    """How a server serves a kind, as far as managed fields depend on it.

    Without ``has_status`` the status is a field like any other, as that of a custom
    resource whose definition does not declare the subresource. ``versions`` are the
    schemas of the other versions that are served, by apiVersion: an entry of a version
    that is not among them is dropped. None says that they are unknown, and every entry
    is taken for one of the version of the write. Where the kind is ``custom``, an entry
    whose version is not served, or does not know a field of the stored object, makes an
    apply fail. ``kubernetes`` is the version of the server, such as ``1.36.2``. Raises
    ObjectError (codes not-an-object, not-a-string) for other types of these two.
    """

    has_status: bool = True
    versions: Mapping[str, Schema] | None = None
    custom: bool = False
    kubernetes: str = "1.37"

    def __post_init__(self) -> None:
        if self.versions is not None and not isinstance(self.versions, Mapping):
            raise ObjectError(
                f"versions is an object, not {type_name(self.versions)}",
                code="not-an-object",
            )
        require_texts(kubernetes=self.kubernetes)

    def schema_of(self, api_version: str, schema: Schema) -> Schema | None:
        """Return the schema of an entry; None for a version that is not served.

        ``schema`` is that of the write.
        """
        if self.versions is None or api_version == schema.api_version:
            return schema
        return self.versions.get(api_version)

    @property
    def keeps_emptied(self) -> bool:
        """Whether an object or list that an apply empties stays, and is not null.

        structured-merge-diff v6.3.1 to v6.4.1 did that: kubernetes PR 140294.
        """
        return self.kubernetes.removeprefix("v") in ("1.36.0", "1.36.1", "1.36.2")

    @property
    def keeps_untracked(self) -> bool:
        """Whether managedFields stay as they are where a write cannot be tracked.

        A server before 1.37 drops them: kubernetes PR 136949.
        """
        _, _, version = self.kubernetes.partition(".")
        minor, _, _ = version.partition(".")
        # A version that is no such text is taken for a newer one.
        return not minor.isdecimal() or int(minor) >= _FIRST_TO_KEEP


SERVING: Final = Serving()


class Changes:
    """What a write changes in an object, as the versions of the entries see it.

    ``reset`` are the fields that the write resets: they do not count.
    """

    __slots__ = (
        "_by_version",
        "_new",
        "_old",
        "_reset",
        "_schema",
        "_serving",
        "comparison",
    )

    def __init__(
        self,
        old: JSONObject,
        new: JSONObject,
        schema: Schema,
        serving: Serving,
        reset: FieldSet,
    ) -> None:
        self._old = old
        self._new = new
        self._schema = schema
        self._serving = serving
        self._reset = reset
        # As the version of the write sees it, with what is reset.
        self.comparison = compare(old, new, schema)
        self._by_version = {schema.api_version: self.comparison.without(reset)}

    def of(self, api_version: str) -> Comparison:
        """Return the changes as the version of an entry sees them."""
        found = self._by_version.get(api_version)
        if found is not None:
            return found
        schema = self._serving.schema_of(api_version, self._schema)
        if schema is None or schema is self._schema:
            found = self._by_version[self._schema.api_version]
        else:
            found = compare(self._old, self._new, schema).without(self._reset)
        self._by_version[api_version] = found
        return found
