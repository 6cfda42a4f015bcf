"""What is served at this moment: the built-in kinds, and those that the
CustomResourceDefinitions in the store add.

Every server on one store follows its definitions. One that has just been asked for a
resource that it does not know looks into the store, so that nobody is told that what
was acknowledged elsewhere is not there.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Final

from smp.errors import SmpError, UnknownKindError
from smp.schema.catalog import Catalog
from smp.schema.model import Schema
from smp.server.errors import UnknownResourceError
from smp.server.objects.crds import DefinedVersion, Definition, is_established
from smp.server.objects.resources import Resource, Resources
from smp.server.objects.tables import Column, columns_of
from smp.server.openapi import OpenAPI
from smp.server.registry.target import CRDS, Target, locate
from smp.server.store import Event, Expired, FutureRevisionError, Store, StoreError
from smp.wire import decode

_LOG: Final = logging.getLogger("smp.server")
_PAUSE: Final = 0.5  # seconds before another try


@dataclass(frozen=True, slots=True)
class Kind:
    """What handling the objects of a resource takes; ``defined`` is there for custom
    resources.
    """

    resource: Resource
    schema: Schema | None
    columns: tuple[Column, ...]
    defined: DefinedVersion | None = None


class Kinds:
    """The kinds that are served, each change of a CustomResourceDefinition included at
    once.
    """

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog
        self._builtin = Resources.builtin(catalog)
        self._definitions: dict[str, Definition] = {}
        self._revisions: dict[str, int] = {}
        self._kinds: dict[Resource, Kind] = {}
        self._is_current = True
        self._resources = self._builtin
        self._openapi = OpenAPI(self._builtin, catalog)
        self.crds = Target(self._builtin.find(CRDS[0], "v1", CRDS[1]))

    async def load(self) -> int:
        """Learn the definitions that there are; return the revision of the store."""
        page = await self._store.list(self.crds.prefix)
        for item in page.items:
            self.learn(item.key, item.value, item.revision)
        gone = self._definitions.keys() - {self._name(item.key) for item in page.items}
        for name in gone:
            self.learn(self.crds.named(name).key, None, page.revision)
        return page.revision

    async def follow(self, since: int) -> None:
        """Learn every change of a definition after a revision, until the store is
        closed.
        """
        while True:
            try:
                async with aclosing(
                    self._store.watch(self.crds.prefix, since)
                ) as events:
                    async for event in events:
                        self._follow(event)
                        since = event.revision
            except (Expired, FutureRevisionError, StoreError):
                await asyncio.sleep(_PAUSE)
                with suppress(StoreError):
                    since = await self.load()
            else:
                return

    def _follow(self, event: Event) -> None:
        if event.type != "progress":
            self.learn(
                event.key, event.value if event.type == "put" else None, event.revision
            )

    def learn(self, key: str, value: bytes | None, revision: int) -> None:
        """Take a definition, or with None its end, as of a revision; what is older than
        known is ignored.
        """
        name = self._name(key)
        if revision <= self._revisions.get(name, 0):
            return
        self._revisions[name] = revision
        self._definitions.pop(name, None)
        if value is not None and (definition := _established(name, value)):
            self._definitions[name] = definition
        self._is_current = False

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
        if self._is_current:
            return
        definitions = self._definitions.values()
        self._resources = self._builtin.with_resources(
            one for each in definitions for one in each.resources
        )
        self._openapi = self._openapi.with_resources(self._resources, definitions)
        self._kinds = {}
        self._is_current = True

    async def locate(self, group: str, version: str, path: str) -> Target:
        """Return what a path names. Raises UnknownResourceError."""
        try:
            return locate(self.resources, group, version, path)
        except UnknownResourceError:
            if not await self._look_up(group, path):
                raise
        return locate(self.resources, group, version, path)

    async def _look_up(self, group: str, path: str) -> bool:
        """Learn the definitions of a group for a path in which one of them may be
        named; tell whether any is new.
        """
        before = dict(self._revisions)
        for plural in {*path.split("/")[:3:2]} if group else ():
            stored = await self._store.get(self.crds.named(f"{plural}.{group}").key)
            if stored:
                self.learn(stored.key, stored.value, stored.revision)
        return before != self._revisions

    def of(self, resource: Resource) -> Kind:
        """Return what handling the objects of a resource takes."""
        self._refresh()
        kind = self._kinds.get(resource)
        if kind is None:
            kind = self._kinds[resource] = self._kind(resource)
        return kind

    def _kind(self, resource: Resource) -> Kind:
        if not resource.custom:
            return Kind(
                resource, self._schema(self._catalog, resource), columns_of(resource)
            )
        definition = self._definitions.get(resource.qualified)
        if definition is None:  # it has gone meanwhile
            raise UnknownResourceError(
                f"no resource {resource.plural} in {resource.api_version}"
            )
        defined = definition.version(resource.version)
        return Kind(
            resource,
            self._schema(definition.catalog, resource),
            defined.columns,
            defined,
        )

    @staticmethod
    def _schema(catalog: Catalog, resource: Resource) -> Schema | None:
        try:
            return catalog.schema(resource.api_version, resource.kind)
        except UnknownKindError:
            return None

    def _name(self, key: str) -> str:
        return key.removeprefix(self.crds.prefix)


def _established(name: str, value: bytes) -> Definition | None:
    """Read a definition, unless its names are somebody else's."""
    try:
        document = decode(value)
        if isinstance(document, dict) and is_established(document):
            return Definition.read(document)
    except SmpError as error:  # written by another version of this program
        _LOG.warning(
            "a CustomResourceDefinition is not served",
            extra={"fields": {"name": name, "error": str(error)}},
        )
    return None
