"""The kinds that are served now: the built-in ones, and the custom resources.

Custom resources are those of the CustomResourceDefinitions (CRDs) in the store. Every
replica of the server follows them by a watch. On an unknown resource a replica also
re-reads CRDs from the store before it answers 404, so that a CRD created through
another replica is visible at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import aclosing, suppress
from functools import partial
from typing import Final

import msgspec

from smp._values.codec import decode
from smp.errors import SmpError, UnknownKindError
from smp.handler import Options
from smp.schema.catalog import Catalog, read_published_enums
from smp.schema.model import Schema
from smp.schema.resources import Resource, Resources
from smp.server.errors import UnknownResourceError
from smp.server.objects.crds import (
    DefinedVersion,
    Definition,
    SchemaSettings,
    accepting_unions,
    is_established,
)
from smp.server.objects.overlays import add_fitting_rows, check_kinds
from smp.server.objects.tables import Column, columns_of
from smp.server.openapi import OpenAPI
from smp.server.registry.target import CRDS, Target, locate
from smp.server.settings import Settings
from smp.server.store import Expired, FutureRevisionError, Store, StoreError
from smp.server.work import Workers

_LOG: Final = logging.getLogger("smp.server")
_RETRY: Final = 0.5  # seconds before the store is read again after it failed
_COMPILE: Final = 1e-6  # seconds to read a byte of a definition


class Kind(msgspec.Struct, frozen=True):
    """What is needed to handle the objects of a resource.

    ``schema`` is None where the catalog does not describe the kind; ``defined`` is the
    version of the CRD of a custom resource, ``versions`` are the schemas of the other
    ones that are served, by apiVersion. ``options`` has those of former requests, by
    subresource and field manager.
    """

    resource: Resource
    schema: Schema | None
    columns: tuple[Column, ...]
    defined: DefinedVersion | None = None
    versions: Mapping[str, Schema] | None = None
    options: dict[tuple[str, str], Options] = {}

    @property
    def weight(self) -> int:
        """How many times longer its objects take than those of a simple schema."""
        return self.defined.weight if self.defined else 1


class Kinds:
    """The kinds that are served, with every change of a CRD as soon as it is known.

    ``catalog`` has the built-in ones; ``schema_settings`` say how the schemas of CRDs
    are evaluated. Raises SchemaError where the overlay does not fit a built-in type.
    """

    def __init__(self, store: Store, settings: Settings, workers: Workers) -> None:
        self._store = store
        self._workers = workers
        # The built-in kinds, as the settings correct them. The overlay has to fit.
        catalog = accepting_unions(settings.catalog)
        if settings.overlay:
            _, misfits = add_fitting_rows(catalog, settings.overlay, catalog.version)
            if misfits:
                raise misfits[0]
            catalog = catalog.with_overlay(settings.overlay)
            check_kinds(catalog)
        enums = read_published_enums(catalog.version)
        if not settings.feature_gates.OpenAPIEnums:
            catalog, enums = catalog.without_enums(), {}
        self.catalog = catalog
        self.schema_settings: SchemaSettings = SchemaSettings(
            unions=settings.union_profile != "off",
            overlay=settings.overlay,
            version=self.catalog.version,
        )
        self._builtin = Resources.builtin(self.catalog, settings.runtime_config.serves)
        self.crds: Target = Target(self._builtin.find(CRDS[0], "v1", CRDS[1]))
        # The established definitions, and the revision of the last change of each CRD,
        # by name. That of a deleted CRD stays until the watch has passed it; after that
        # everything up to the revision of the watch is known, and what is older and
        # comes yet, from a read that began earlier, is ignored.
        self._definitions: dict[str, Definition] = {}
        self._revisions: dict[str, int] = {}
        self._deleted: set[str] = set()
        self._watched = 0
        # What follows from the definitions; computed again when it is next needed.
        self._is_current = True
        self._resources = self._builtin
        self._openapi = OpenAPI(self._builtin, self.catalog, enums=enums)
        self._kinds: dict[Resource, Kind] = {}

    async def load(self) -> int:
        """Learn all definitions of the store, and return its revision."""
        page = await self._store.list(self.crds.prefix)
        self._watched = 0
        for item in page.items:
            await self.learn(item.key, item.value, item.revision)
        # Definitions that were deleted while this server did not watch.
        names = {self._name(item.key) for item in page.items}
        for deleted in self._definitions.keys() - names:
            await self.learn(self.crds.named(deleted).key, None, page.revision)
        self._pass(page.revision)
        return page.revision

    async def follow(self, since: int) -> None:
        """Learn every change after a revision, until the store is closed."""
        while True:
            try:
                events = self._store.watch(self.crds.prefix, since)
                async with aclosing(events):
                    async for event in events:
                        if event.type == "put":
                            await self.learn(event.key, event.value, event.revision)
                        elif event.type == "delete":
                            await self.learn(event.key, None, event.revision)
                        since = event.revision
                        self._pass(since)
            except (Expired, FutureRevisionError, StoreError):
                # Changes may have been missed: read everything again.
                await asyncio.sleep(_RETRY)
                with suppress(StoreError):
                    since = await self.load()
            else:
                return

    async def learn(self, key: str, value: bytes | None, revision: int) -> None:
        """Take over a CRD as of a revision; a value of None is its deletion.

        What is older than what is known is ignored.
        """
        name = self._name(key)
        # The same change comes more than once: from this server's own write, from the
        # watch, and from reading the store on an unknown resource.
        if self._is_known(name, revision):
            return
        definition = None
        if value is not None:
            definition = await self._workers.run(
                None, len(value) * _COMPILE, partial(self._established, name, value)
            )
        # Meanwhile a later change may have been learned.
        if self._is_known(name, revision):
            return
        self._revisions[name] = revision
        if value is None:
            self._deleted.add(name)
        else:
            self._deleted.discard(name)
        self._definitions.pop(name, None)
        if definition is not None:
            self._definitions[name] = definition
        self._is_current = False

    def _is_known(self, name: str, revision: int) -> bool:
        return revision <= self._revisions.get(name, self._watched)

    def _pass(self, revision: int) -> None:
        """Take note that all changes up to a revision are learned."""
        self._watched = revision
        for name in [*self._deleted]:
            if self._revisions[name] <= revision:
                del self._revisions[name]
                self._deleted.remove(name)

    @property
    def resources(self) -> Resources:
        """The resources that are served."""
        self._refresh()
        return self._resources

    @property
    def openapi(self) -> OpenAPI:
        """Their OpenAPI documents."""
        self._refresh()
        return self._openapi

    def _refresh(self) -> None:
        # On demand, not at every change: CRDs are often created many at a time.
        if self._is_current:
            return
        definitions = self._definitions.values()
        custom: list[Resource] = []
        for definition in definitions:
            custom.extend(definition.resources)
        self._resources = self._builtin.with_resources(custom)
        self._openapi = self._openapi.with_resources(self._resources, definitions)
        self._kinds = {}
        self._is_current = True

    async def locate(self, group: str, version: str, path: str) -> Target:
        """Return what a path names. Raises UnknownResourceError."""
        try:
            return locate(self.resources, group, version, path)
        except UnknownResourceError:
            if not await self._read_definitions(group, path):
                raise
        return locate(self.resources, group, version, path)

    async def _read_definitions(self, group: str, path: str) -> bool:
        """Read the CRDs that a path may name; tell whether any was new.

        The path is PLURAL/... or namespaces/NAMESPACE/PLURAL/...
        """
        if not group:  # no custom resource is in the core group
            return False
        revisions = dict(self._revisions)
        segments = path.split("/")
        for plural in {segments[0], *segments[2:3]}:
            stored = await self._store.get(self.crds.named(f"{plural}.{group}").key)
            if stored:
                await self.learn(stored.key, stored.value, stored.revision)
        return revisions != self._revisions

    def of(self, resource: Resource) -> Kind:
        """Return what is needed to handle the objects of a resource.

        Raises UnknownResourceError where its definition was deleted meanwhile.
        """
        self._refresh()
        kind = self._kinds.get(resource)
        if kind is not None:
            return kind
        if resource.custom:
            definition = self._definitions.get(resource.qualified)
            if definition is None:
                raise UnknownResourceError(
                    f"resource {resource.plural} not found in {resource.api_version}"
                )
            defined = definition.version(resource.version)
            schema = _schema(definition.catalog, resource)
            versions = {
                other.api_version: definition.catalog.schema(
                    other.api_version, other.kind
                )
                for other in definition.resources
                if other.version != resource.version
            }
            kind = Kind(resource, schema, defined.columns, defined, versions)
        else:
            schema = _schema(self.catalog, resource)
            kind = Kind(resource, schema, columns_of(resource))
        self._kinds[resource] = kind
        return kind

    def _established(self, name: str, value: bytes) -> Definition | None:
        """Read a CRD; None where another resource has its names, or it is invalid."""
        try:
            document = decode(value)
            # A CRD whose names are taken is stored, but never established.
            if not isinstance(document, dict) or not is_established(document):
                return None
            definition = Definition.stored(document, self.schema_settings)
        except SmpError as error:
            # It was valid when it was written, so another version of this program wrote
            # it.
            _LOG.warning(
                "a CustomResourceDefinition is not served",
                extra={"fields": {"name": name, "error": str(error)}},
            )
            return None
        if definition.ignored:
            _LOG.warning(
                "parts of a schema are ignored",
                extra={
                    "fields": {"name": name, "error": "; ".join(definition.ignored)}
                },
            )
        return definition

    def _name(self, key: str) -> str:
        return key.removeprefix(self.crds.prefix)


def _schema(catalog: Catalog, resource: Resource) -> Schema | None:
    try:
        return catalog.schema(resource.api_version, resource.kind)
    except UnknownKindError:
        return None
