"""Entries of other versions of the API than that of a write.

Go converts the object to the version of each entry, and compares it there. So it is
here where a built-in kind has versions of different forms. In all other versions the
object is the same, as in a custom resource without a conversion webhook; only the
schemas may differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from smp._storage.typed_storage import convert, form_in, is_typed, stored
from smp._storage.update import decode_object, fill_in
from smp._values.plain import require_texts
from smp._values.values import JSONObject, as_text, type_name
from smp.errors import ObjectError
from smp.schema.model import Schema

# Kubernetes 1.37.
_FIRST_TO_KEEP: Final = 37


class Serving(msgspec.Struct, frozen=True):
    """How a server serves a kind, as far as managed fields depend on it.

    Without ``has_status`` the status is a field like any other, as that of a custom
    resource whose definition does not declare the subresource. ``versions`` are the
    schemas of the other versions that are served, by apiVersion: an entry of a version
    that is not among them is dropped. None says that they are unknown: an entry is then
    taken for one of the version of the write, and dropped if it is of another group. A
    HorizontalPodAutoscaler needs none of them. Where the kind is ``custom``, an entry
    whose version is not served, or does not know a field of the stored object, makes an
    apply fail. ``storage`` is the apiVersion among ``versions`` in which its objects
    are stored. ``kubernetes`` is the version of the server, such as ``1.36.2``. Raises
    ObjectError (not-an-object, not-a-string, not-a-boolean) for other types.
    """

    has_status: bool = True
    versions: Mapping[str, Schema] | None = None
    custom: bool = False
    kubernetes: str = "1.37"
    storage: str = ""

    def __post_init__(self) -> None:
        if self.versions is not None and not isinstance(self.versions, Mapping):
            raise ObjectError(
                f"versions is an object, not {type_name(self.versions)}",
                code="not-an-object",
            )
        require_texts(kubernetes=self.kubernetes, storage=self.storage)
        for name in ("has_status", "custom"):
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise ObjectError(
                    f"{name} is a boolean, not {type_name(value)}", code="not-a-boolean"
                )

    def schema_of(self, api_version: str, schema: Schema) -> Schema | None:
        """Return the schema of an entry; None for a version that is not served.

        ``schema`` is that of the write.
        """
        if api_version == schema.api_version:
            return schema
        if is_typed(schema) and _group(api_version) != _group(schema.api_version):
            # Go: the hub of a versionConverter is that of the group of the write, so
            # that what an Event of the other group has is of no version.
            return None
        form = form_in(schema, api_version)
        if form is not None:
            return form
        return schema if self.versions is None else self.versions.get(api_version)

    def seen_from(self, schema: Schema) -> Serving:
        """Return the same for a write in another version than that of the schema."""
        if self.versions is None:
            return self
        return replace(self, versions={**self.versions, schema.api_version: schema})

    def put_at_rest(
        self, obj: JSONObject, schema: Schema, *, profile: str
    ) -> JSONObject:
        """Return a custom resource as it is read after it was written in a version.

        What the version that is stored does not know is dropped, and its defaults are
        filled in (Go: k8s.io/apiextensions-apiserver, pkg/apiserver,
        crdConversionRESTOptionsGetter: the codec of the storage).
        """
        storage = self.versions.get(self.storage) if self.versions else None
        if storage is None or self.storage == schema.api_version:
            return obj
        decoded = decode_object(obj, None, storage, typed=False, custom=True)
        return fill_in(decoded.object, None, storage, profile=profile)

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


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def convert_to_form(obj: JSONObject, schema: Schema) -> JSONObject:
    """Return an object without managedFields as the version of a schema sees it.

    Versions of one form see it as it is. Go: versionConverter.Convert.
    """
    if form_in(schema, as_text(obj.get("apiVersion"))) is None:
        return obj
    return stored(convert(obj, schema.kind, schema.api_version), schema)


def convert_to_version(obj: JSONObject, schema: Schema) -> JSONObject:
    """Return a stored object in the version of a schema, as a server serves it."""
    if obj.get("apiVersion") in (None, schema.api_version) or not schema.api_version:
        return obj
    return {**convert_to_form(obj, schema), "apiVersion": schema.api_version}
