"""The schemas of a server: its OpenAPI v3 documents, compiled, by their hash.

A server lists its documents, one for each group version, with a hash in the address of
each. A compiled document is small (some kilobytes) and is kept under its address, so
that a later run reads no document that it has seen (Go: k8s.io/client-go/openapi3,
openapi/cached).
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from functools import lru_cache
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import msgspec

from smp import custom_resources
from smp._values.values import JSONObject, as_object, as_text
from smp.cluster.plan.discovery import DiscoveredResource
from smp.cluster.plan.exchange import Plan
from smp.cluster.plan.sending import (
    exchange,
    get_request,
    is_not_found,
    object_of,
    send,
)
from smp.errors import SmpError
from smp.schema.catalog import (
    Catalog,
    bundled_overlay,
    compile_openapi,
    kubernetes,
    read_compiled,
)
from smp.schema.model import Schema
from smp.schema.sources.crd import structural_schemas

STRATEGIC: Final = "application/strategic-merge-patch+json"
_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
# Of a kind that is described nowhere.
FREE_FORM: Final = Schema.inline("any")
# Where compiled documents are kept: by their address, which has the hash.
Documents = MutableMapping[str, bytes]


class KindSchema(msgspec.Struct, frozen=True):
    """The schema of a kind on a server.

    ``bundled`` is true where the server publishes none, and the types of the newest
    bundled Kubernetes are taken. ``schema`` is that of free-form data where there is
    none at all. ``is_strategic`` says whether a strategic merge patch is sent (Go:
    gvkSupportsPatchOpenAPIV3). ``judging`` is the schema with what the definition of
    the kind refuses, where that was read.
    """

    schema: Schema
    is_strategic: bool = False
    bundled: bool = False
    judging: Schema | None = None


class _Compiled(msgspec.Struct):
    """A compiled document, as it is kept."""

    types: bytes
    patching: dict[str, bool]


class ClusterSchemas:
    """The schemas of a server, as far as they were asked for."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._addresses: dict[str, str] | None = None
        self._group_versions: dict[str, tuple[Catalog, dict[str, bool]] | None] = {}
        self._definitions: dict[str, JSONObject] = {}

    def of(self, api_version: str, kind: str) -> Plan[KindSchema]:
        """Return the schema of a kind. Raises what ``send`` raises, and SchemaError."""
        found = self._group_versions.get(api_version)
        if api_version not in self._group_versions:
            found = yield from self._group_version(api_version)
            self._group_versions[api_version] = found
        # The server publishes no document of this group version.
        if found is None:
            return _find_bundled(api_version, kind)
        catalog, patching = found
        try:
            schema = catalog.schema(api_version, kind)
        except SmpError:
            return _find_bundled(api_version, kind)
        return KindSchema(schema, patching.get(kind, False))

    def of_definition(
        self, known: KindSchema, resource: DiscoveredResource
    ) -> Plan[tuple[KindSchema, str]]:
        """Return the schema of a kind with what its definition refuses.

        Beside it is what of that cannot be checked, for the first object that asks. The
        OpenAPI of a server has neither rules nor all formats. A kind that is not custom
        has no definition. Raises what ``send`` raises, but for an answer.
        """
        if not known.schema.is_custom:
            return known, ""
        is_first = resource.qualified not in self._definitions
        unchecked = ""
        try:
            definition = yield from self.definition(resource)
        except SmpError as error:
            definition = self._definitions[resource.qualified] = {}
            unchecked = f"its definition cannot be read: {error}"
        structural = structural_schemas([definition] if definition else [])
        found = structural.get((resource.api_version, resource.kind))
        if found is None:
            return known, unchecked
        judging = msgspec.structs.replace(
            known.schema,
            structural=found.schema,
            subresources=found.subresources,
            at_rest=set(),
        )
        if is_first:
            unchecked = str(custom_resources.unchecked(found.schema) or "")
        return msgspec.structs.replace(known, judging=judging), unchecked

    def definition(self, resource: DiscoveredResource) -> Plan[JSONObject]:
        """Return the definition of a kind: it is read once, and empty without one.

        Raises what ``send`` raises.
        """
        name = resource.qualified
        if name not in self._definitions:
            answer = yield from exchange(get_request(f"{_DEFINITIONS}/{name}"))
            # An aggregated API server has kinds without a definition.
            self._definitions[name] = {} if is_not_found(answer) else object_of(answer)
        return self._definitions[name]

    def forget(self) -> None:
        """Ask for the list of documents again, as kinds were defined just now."""
        self._addresses = None
        self._group_versions.clear()
        self._definitions.clear()

    def _group_version(
        self, api_version: str
    ) -> Plan[tuple[Catalog, dict[str, bool]] | None]:
        """Return the schemas of a group version; None where none are published."""
        if self._addresses is None:
            # The path of each document, such as apis/apps/v1, and its address.
            answer = yield from exchange(get_request("/openapi/v3"))
            # A server before Kubernetes 1.24, or one that hides it, has no such list.
            found = {} if is_not_found(answer) else object_of(answer)
            self._addresses = {
                path: as_text(as_object(entry).get("serverRelativeURL"))
                for path, entry in as_object(found.get("paths")).items()
            }
        root = "apis" if "/" in api_version else "api"
        address = self._addresses.get(f"{root}/{api_version}")
        if address is None:
            return None
        data = self._documents.get(address)
        if data is not None:
            with suppress(msgspec.MsgspecError, SmpError):
                return _read(data)
            # It was cut, or written by another version of this package.
        parts = urlsplit(address)
        query = tuple(parse_qsl(parts.query, keep_blank_values=True))
        answer = yield from send(get_request(parts.path, query))
        document = object_of(answer)
        types = compile_openapi(document, source="the API server")
        compiled = _Compiled(types, dict(_list_patching(document, api_version)))
        data = msgspec.msgpack.encode(compiled)
        # Without a hash, the address may have another document tomorrow.
        if any(name == "hash" for name, _ in query):
            self._documents[address] = data
        return _read(data)


# Linking the types of a document takes longer than an apply.
@lru_cache(maxsize=128)
def _read(data: bytes) -> tuple[Catalog, dict[str, bool]]:
    """Read a compiled document. Raises MsgspecError and SchemaError."""
    compiled = msgspec.msgpack.decode(data, type=_Compiled)
    # What a server publishes of unions is wrong in places, and lacks most.
    catalog = read_compiled(compiled.types).with_overlay(bundled_overlay())
    return catalog, compiled.patching


def _list_patching(
    document: JSONObject, api_version: str
) -> Iterator[tuple[str, bool]]:
    """Yield each kind, and whether its PATCH takes a strategic merge patch."""
    for operations in as_object(document.get("paths")).values():
        patch = as_object(as_object(operations).get("patch"))
        kind = as_object(patch.get("x-kubernetes-group-version-kind"))
        group, version = as_text(kind.get("group")), as_text(kind.get("version"))
        # The PATCH of a subresource may be of a kind of another group: scale.
        if (f"{group}/{version}" if group else version) != api_version:
            continue
        content = as_object(as_object(patch.get("requestBody")).get("content"))
        yield as_text(kind.get("kind")), STRATEGIC in content


def _find_bundled(api_version: str, kind: str) -> KindSchema:
    try:
        schema = kubernetes().schema(api_version, kind)
    except SmpError:
        return KindSchema(FREE_FORM)
    # Go: the built-in types are taken where the server has no OpenAPI.
    return KindSchema(schema, is_strategic=True, bundled=True)
