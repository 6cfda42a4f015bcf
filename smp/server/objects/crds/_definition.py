"""What a CustomResourceDefinition becomes: resources, schemas and columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from smp._values.codec import encode
from smp._values.values import JSON, JSONObject, as_object
from smp.custom_resources import definition_violations, unchecked
from smp.errors import SchemaError, bounded
from smp.paths import Path
from smp.schema.catalog import Catalog
from smp.schema.model import Loader
from smp.schema.openapi_writer import REFERENCE_PREFIX
from smp.schema.sources.crd import to_openapi
from smp.server.errors import (
    InvalidError,
    UnknownResourceError,
    invalid,
    raise_invalid,
)
from smp.server.objects.crds._spec import Crd, Version, read
from smp.server.objects.crds._union_rules import UNIONS, drop_unions, union_problems
from smp.server.objects.crds._work import weight
from smp.server.objects.crds.printer_columns import columns, is_supported
from smp.server.objects.fields import value_at
from smp.server.objects.overlays import add_fitting_rows, check_kinds
from smp.server.objects.resources import Resource, ScalePaths, api_version
from smp.server.objects.tables.columns import Column
from smp.violations import Violation

_KINDS: Final = "x-kubernetes-group-version-kind"
_LIST_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"


class DefinedVersion(msgspec.Struct, frozen=True):
    """One served version of a custom resource.

    ``schema`` is the OpenAPI schema of its objects, ``storage`` that of the version in
    which they are stored, and ``weight`` how many times longer these take to validate
    than those of a simple schema. ``subresources`` are as they are defined. ``columns``
    are those of its table, and ``components`` the schemas that are published, by name:
    that of an object and that of a list.
    """

    resource: Resource
    schema: JSONObject
    storage: JSONObject
    subresources: JSONObject
    weight: int
    columns: tuple[Column, ...]
    components: dict[str, JSONObject]


class SchemaSettings(msgspec.Struct, frozen=True):
    """How the schemas of definitions are evaluated.

    Without ``unions`` those that a schema declares have no effect. ``overlay`` corrects
    the schemas (smp.schema.overlay) on a server of a Kubernetes ``version``.
    """

    unions: bool = True
    overlay: JSONObject = {}
    version: str = ""


DEFAULT: Final = SchemaSettings()


class Definition:
    """A valid CustomResourceDefinition; compared by identity.

    ``catalog`` has the schemas of its served versions, as the handler needs them;
    ``warnings`` list the parts of the definition that this server does not evaluate,
    and ``ignored`` what it should evaluate and cannot.
    """

    def __init__(
        self, crd: Crd, document: JSONObject, settings: SchemaSettings
    ) -> None:
        self.name: str = crd.metadata.name
        malformed = tuple(_union_problems(crd)) if settings.unions else ()
        evaluated = document
        # KEP-1027, Upgrade / Downgrade Strategy: with the feature off, "any schema
        # markers will appear in the schema, but not do anything".
        if malformed or not settings.unions:
            evaluated = drop_unions(document)
        # A server takes a definition that serves nothing.
        is_served = any(version.served for version in crd.spec.versions)
        self.catalog: Catalog = Catalog({}, lambda _name: None)
        if is_served:
            self.catalog = Catalog.from_crd(evaluated)
        ignored = [*map(str, malformed)]
        self.warnings: tuple[str, ...] = tuple(_warnings(crd))
        if settings.overlay:
            self.catalog, misfits = add_fitting_rows(
                self.catalog, settings.overlay, settings.version
            )
            for misfit in misfits:
                warning = f"the overlay does not fit and is ignored: {misfit}"
                ignored.append(warning)
                self.warnings = (*self.warnings, warning)
        self.ignored: tuple[str, ...] = tuple(ignored)
        # As an API server publishes them, with apiVersion, kind and metadata.
        published = to_openapi(document) if is_served else {}
        schemas = as_object(value_at(published, ("components", "schemas")))
        if settings.overlay:
            schemas = {
                name: _add_unions_of_type(
                    as_object(schema), f"#{name}", self.catalog.load
                )
                for name, schema in schemas.items()
            }
        self._versions: dict[str, DefinedVersion] = {}
        for version in crd.spec.versions:
            # Objects may be stored in a version that is not served.
            if version.served:
                self._versions[version.name] = _find_defined_version(
                    crd, version, schemas
                )
        self.resources: tuple[Resource, ...] = tuple(
            version.resource for version in self._versions.values()
        )

    @classmethod
    @bounded("the CustomResourceDefinition")
    def read(
        cls,
        document: JSONObject,
        settings: SchemaSettings = DEFAULT,
        old: JSONObject | None = None,
    ) -> Definition:
        """Read a CustomResourceDefinition that is to be stored, in place of ``old``.

        Raises InvalidError, StatusError and DepthError.
        """
        crd = read(document)
        judged = definition_violations(document, old, written=False)
        found = [violation for violation in judged if not violation.warning]
        if settings.unions:
            found += _union_problems(crd)
        raise_invalid(found)
        return cls._checked(crd, document, settings)

    @classmethod
    @bounded("the CustomResourceDefinition")
    def stored(
        cls, document: JSONObject, settings: SchemaSettings = DEFAULT
    ) -> Definition:
        """Read a CustomResourceDefinition that was stored.

        It may have been stored while unions had no effect (KEP-1027, Feature Enablement
        and Rollback: "retrieving newly invalid CRs should still always succeed"). If
        one is malformed, all unions of the definition are ``ignored``. Raises
        InvalidError, StatusError and DepthError.
        """
        crd = read(document)
        raise_invalid(definition_violations(document, written=False, rules=False))
        return cls._checked(crd, document, settings)

    @classmethod
    def _checked(
        cls, crd: Crd, document: JSONObject, settings: SchemaSettings
    ) -> Definition:
        try:
            definition = cls(crd, document, settings)
            # What is wrong with a type would otherwise be found by a request.
            check_kinds(definition.catalog)
        # The schema follows all rules of Kubernetes, and yet no catalog can be made of
        # it: list map keys without a list, for example.
        except SchemaError as error:
            path = Path(("spec", "versions"))
            raise InvalidError([invalid(path, crd.metadata.name, str(error))]) from None
        return definition

    def version(self, name: str) -> DefinedVersion:
        """Return a served version. Raises UnknownResourceError."""
        if name not in self._versions:
            raise UnknownResourceError(f"version {name} of {self.name} not found")
        return self._versions[name]


def _union_problems(crd: Crd) -> Iterator[Violation]:
    for index, version in enumerate(crd.spec.versions):
        path = Path(("spec", "versions", index, "schema", "openAPIV3Schema"))
        yield from union_problems(version.schema.openapi, path)


def _add_unions_of_type(schema: JSONObject, document: JSON, load: Loader) -> JSONObject:
    """Return a schema with the unions of its type document, or that of its field.

    They are those that the schema declares, as an overlay corrects them.
    """
    type_ = as_object(document).get("is", document)
    # Only metadata and what an overlay brings have names.
    while isinstance(type_, str) and type_.startswith("#"):
        type_ = load(type_[1:])
    parts = as_object(type_)
    changed = {name: value for name, value in schema.items() if name != UNIONS}
    if parts.get("unions"):
        changed[UNIONS] = parts["unions"]
    fields = as_object(parts.get("fields"))
    if "properties" in schema:
        properties: JSONObject = {}
        for name, node in as_object(schema["properties"]).items():
            properties[name] = _add_unions_of_type(
                as_object(node), fields.get(name), load
            )
        changed["properties"] = properties
    for keyword, part in (("items", "items"), ("additionalProperties", "values")):
        node = schema.get(keyword)
        if isinstance(node, dict):
            changed[keyword] = _add_unions_of_type(node, parts.get(part), load)
    return changed


def _find_defined_version(
    crd: Crd, version: Version, schemas: JSONObject
) -> DefinedVersion:
    """Return a version, with its component out of those of all versions."""
    resource = _resource(crd, version)
    kind: JSONObject = {
        "group": resource.group,
        "version": resource.version,
        "kind": resource.kind,
    }
    # A component is found by its kind, for its name is chosen by the schema reader.
    name, schema = next(
        (name, as_object(schema))
        for name, schema in schemas.items()
        if as_object(schema).get(_KINDS) == [kind]
    )
    # The rules allow exactly one.
    stored = next(version for version in crd.spec.versions if version.storage)
    # A definition has no schema of lists: all lists have the same one.
    list_schema: JSONObject = {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"$ref": REFERENCE_PREFIX + _LIST_META},
            "items": {"type": "array", "items": {"$ref": REFERENCE_PREFIX + name}},
        },
        _KINDS: [{**kind, "kind": resource.list_kind}],
    }
    return DefinedVersion(
        resource=resource,
        schema=version.schema.openapi or {},
        storage=stored.schema.openapi or {},
        subresources=_subresources(version),
        weight=weight(version.schema.openapi or {}),
        columns=columns(version.additional_printer_columns),
        components={name: schema, f"{name}List": list_schema},
    )


def _subresources(version: Version) -> JSONObject:
    """Return the subresources as a validator reads them."""
    return as_object(msgspec.to_builtins(version.subresources))


def _resource(crd: Crd, version: Version) -> Resource:
    names = crd.spec.names
    scale_paths = None
    if scale := version.subresources.scale:
        scale_paths = ScalePaths(
            spec_replicas=_names_in(scale.spec_replicas_path),
            status_replicas=_names_in(scale.status_replicas_path),
            selector=_names_in(scale.label_selector_path),
        )
    storage_versions = [
        api_version(crd.spec.group, version.name)
        for version in crd.spec.versions
        if version.storage
    ]
    return Resource(
        group=crd.spec.group,
        version=version.name,
        kind=names.kind,
        plural=names.plural,
        namespaced=crd.spec.scope == "Namespaced",
        singular=names.singular,
        list_kind=names.list_kind,
        short_names=names.short_names,
        categories=names.categories,
        status=version.subresources.status is not None,
        scale=scale_paths,
        # The rules allow exactly one.
        storage_api_version=storage_versions[0],
        custom=True,
        reading_schema=b"" if version.storage else encode(version.schema.openapi or {}),
        selectable_fields=tuple(
            [field.json_path.removeprefix(".") for field in version.selectable_fields]
        ),
    )


def _names_in(path: str) -> tuple[str, ...]:
    """Return the names in a path of a scale (Go: splitReplicasPath)."""
    return tuple(path.removeprefix(".").split(".")) if path else ()


def _warnings(crd: Crd) -> Iterator[str]:
    """Yield the parts of a definition that this server does not evaluate."""
    if crd.spec.conversion.strategy == "Webhook":
        place = Path(("spec", "conversion", "strategy"))
        yield (
            f"{place}: this server calls no webhooks; its versions differ by"
            " apiVersion and by what their schemas know"
        )
    for index, version in enumerate(crd.spec.versions):
        path = Path(("spec", "versions", index))
        schema = version.schema.openapi or {}
        # Rules in the Common Expression Language need a package that evaluates them.
        if missing := unchecked(schema):
            yield f"{path / 'schema' / 'openAPIV3Schema'}: {missing}"
        for number, column in enumerate(version.additional_printer_columns):
            # Kubernetes evaluates more of JSONPath than this server does.
            if not is_supported(column.json_path):
                place = path / "additionalPrinterColumns" / number / "jsonPath"
                yield f"{place}: not supported by this server, the column stays empty"
