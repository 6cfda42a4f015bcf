"""What a CustomResourceDefinition becomes: resources, schemas and columns."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from typing import Final

import msgspec

from smp._values import codec
from smp._values.json_path import JSONPathError, value_finder
from smp._values.values import (
    JSON,
    Absent,
    JSONObject,
    as_list,
    as_object,
    as_text,
    objects_in,
    printed,
    strings_in,
    value_at,
)
from smp.custom_resources import definition_violations, unchecked
from smp.errors import SchemaError, UnionError, bounded
from smp.paths import Path
from smp.schema.catalog import Catalog
from smp.schema.openapi_writer import REFERENCE_PREFIX
from smp.schema.resources import Resource, ScalePaths, api_version
from smp.schema.rewrite import rewrite
from smp.schema.sources.crd import to_openapi
from smp.server.errors import InvalidError, UnknownResourceError, invalid, raise_invalid
from smp.server.objects.crds._status import complete_names
from smp.server.objects.overlays import add_fitting_rows, check_kinds
from smp.server.objects.tables.columns import NAME, Column, time_since

_KINDS: Final = "x-kubernetes-group-version-kind"
_LIST_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
_UNIONS: Final = "x-kubernetes-unions"
_JSON_SCHEMA: Final = (
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
)


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

    def __init__(self, document: JSONObject, settings: SchemaSettings) -> None:
        self.name: str = as_text(value_at(document, ("metadata", "name")))
        spec = as_object(document.get("spec"))
        versions = objects_in(spec.get("versions"))
        # KEP-1027, Upgrade / Downgrade Strategy: with the feature off, "any schema
        # markers will appear in the schema, but not do anything".
        evaluated = document if settings.unions else _drop_unions(document)
        # A server takes a definition that serves nothing. Objects may be stored in a
        # version that is not served.
        served = [version for version in versions if version.get("served") is True]
        self.catalog: Catalog = Catalog({}, lambda _name: None)
        if served:
            # Enums are judged with all else that a schema says of values.
            catalog = Catalog.from_crd(evaluated)
            self.catalog = catalog.without_enums(keeps_discriminators=True)
        ignored: list[str] = []
        self.warnings: tuple[str, ...] = tuple(_warnings(spec))
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
        published = to_openapi(document) if served else {}
        schemas = as_object(value_at(published, ("components", "schemas")))
        # The rules allow exactly one that is stored.
        [stored] = [version for version in versions if version.get("storage") is True]
        generation = value_at(document, ("metadata", "generation"))
        is_changed = isinstance(generation, int) and generation > 1
        self._versions: dict[str, DefinedVersion] = {
            as_text(version.get("name")): _find_defined_version(
                spec, version, stored, schemas, is_changed=is_changed
            )
            for version in served
        }
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
        judged = definition_violations(document, old, written=False)
        raise_invalid(violation for violation in judged if not violation.warning)
        return cls._checked(document, settings)

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
        raise_invalid(definition_violations(document, written=False, rules=False))
        try:
            return cls._checked(document, settings)
        except InvalidError as error:
            if not settings.unions:
                raise
            without = msgspec.structs.replace(settings, unions=False)
            definition = cls._checked(document, without)
            definition.ignored += tuple(map(str, error.violations))
            return definition

    @classmethod
    def _checked(cls, document: JSONObject, settings: SchemaSettings) -> Definition:
        try:
            definition = cls(document, settings)
            # What is wrong with a type would otherwise be found by a request.
            check_kinds(definition.catalog)
        # The schema follows all rules of Kubernetes, and yet no catalog can be made of
        # it: list map keys without a list, for example, or unions that cannot work.
        except (SchemaError, UnionError) as error:
            name = value_at(document, ("metadata", "name"))
            path = Path(("spec", "versions"))
            raise InvalidError([invalid(path, name, str(error))]) from None
        return definition

    def version(self, name: str) -> DefinedVersion:
        """Return a served version. Raises UnknownResourceError."""
        if name not in self._versions:
            raise UnknownResourceError(f"version {name} of {self.name} not found")
        return self._versions[name]


@lru_cache(maxsize=4)
def accepting_unions(catalog: Catalog) -> Catalog:
    """Add unions to the schemas in CustomResourceDefinitions (KEP-1027, OpenAPI).

    Kubernetes has not published the field. It is free-form, as a list on an object and
    an object on a discriminator are both allowed. The result is kept, so that the types
    of a catalog are linked once.
    """
    if catalog.load(_JSON_SCHEMA) is None:
        return catalog
    return catalog.with_overlay({"types": {_JSON_SCHEMA: {"fields": {_UNIONS: "any"}}}})


def _drop_unions(document: JSONObject) -> JSONObject:

    def without(node: JSONObject) -> JSONObject:
        return {name: value for name, value in node.items() if name != _UNIONS}

    spec = as_object(document.get("spec"))
    versions: list[JSON] = []
    for version in objects_in(spec.get("versions")):
        schema = {"openAPIV3Schema": rewrite(_schema(version), without)}
        versions.append({**version, "schema": schema})
    return {**document, "spec": {**spec, "versions": versions}}


def _schema(version: JSONObject) -> JSONObject:
    return as_object(value_at(version, ("schema", "openAPIV3Schema")))


def _find_defined_version(
    spec: JSONObject,
    version: JSONObject,
    stored: JSONObject,
    schemas: JSONObject,
    *,
    is_changed: bool,
) -> DefinedVersion:
    """Return a version, with its component out of those of all versions."""
    resource = _resource(spec, version, stored, is_changed=is_changed)
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
        schema=_schema(version),
        storage=_schema(stored),
        subresources=as_object(version.get("subresources")),
        weight=_weigh(_schema(version)),
        columns=_columns(objects_in(version.get("additionalPrinterColumns"))),
        components={name: schema, f"{name}List": list_schema},
    )


def _resource(
    spec: JSONObject, version: JSONObject, stored: JSONObject, *, is_changed: bool
) -> Resource:
    names, group = complete_names(spec), as_text(spec.get("group"))
    subresources = as_object(version.get("subresources"))
    scale = subresources.get("scale")
    return Resource(
        group=group,
        version=as_text(version.get("name")),
        kind=as_text(names.get("kind")),
        plural=as_text(names.get("plural")),
        namespaced=spec.get("scope") == "Namespaced",
        singular=as_text(names.get("singular")),
        list_kind=as_text(names.get("listKind")),
        short_names=tuple(strings_in(names.get("shortNames"))),
        categories=tuple(strings_in(names.get("categories"))),
        status=subresources.get("status") is not None,
        scale=_scale_paths(scale) if isinstance(scale, dict) else None,
        storage_api_version=api_version(group, as_text(stored.get("name"))),
        custom=True,
        reading_schemas=_reading_schemas(spec, version, stored, is_changed=is_changed),
        selectable_fields=tuple(
            as_text(field.get("jsonPath")).removeprefix(".")
            for field in objects_in(version.get("selectableFields"))
        ),
    )


def _reading_schemas(
    spec: JSONObject, version: JSONObject, stored: JSONObject, *, is_changed: bool
) -> bytes:
    """Return the schemas by which stored objects are read in a version.

    What a definition did not change was stored by the schema of the stored version.
    """
    versions = objects_in(spec.get("versions"))
    if not is_changed:
        versions = [] if version is stored else [version]
    group = as_text(spec.get("group"))
    schemas: JSONObject = {
        api_version(group, as_text(each.get("name"))): _schema(each)
        for each in versions
    }
    return codec.encode(schemas) if schemas else b""


def _scale_paths(scale: JSONObject) -> ScalePaths:
    """Return the names in the paths of a scale (Go: splitReplicasPath)."""

    def names_in(field: str) -> tuple[str, ...]:
        path = as_text(scale.get(field))
        return tuple(path.removeprefix(".").split(".")) if path else ()

    return ScalePaths(
        spec_replicas=names_in("specReplicasPath"),
        status_replicas=names_in("statusReplicasPath"),
        selector=names_in("labelSelectorPath"),
    )


def _warnings(spec: JSONObject) -> Iterator[str]:
    """Yield the parts of a definition that this server does not evaluate."""
    if value_at(spec, ("conversion", "strategy")) == "Webhook":
        place = Path(("spec", "conversion", "strategy"))
        yield (
            f"{place}: this server calls no webhook of it; its versions differ by"
            " apiVersion and by what their schemas know"
        )
    for index, version in enumerate(objects_in(spec.get("versions"))):
        path = Path(("spec", "versions", index))
        # Rules in the Common Expression Language need a package that evaluates them.
        if missing := unchecked(_schema(version)):
            yield f"{path / 'schema' / 'openAPIV3Schema'}: {missing}"
        shown = objects_in(version.get("additionalPrinterColumns"))
        for number, column in enumerate(shown):
            # Kubernetes evaluates more of JSONPath than this server does.
            if not _is_supported(as_text(column.get("jsonPath"))):
                place = path / "additionalPrinterColumns" / number / "jsonPath"
                yield f"{place}: not supported by this server, the column stays empty"


# A definition without columns gets this one after the name.
_AGE: Final[JSONObject] = {
    "name": "Age",
    "type": "date",
    "jsonPath": ".metadata.creationTimestamp",
}


def _columns(defined: list[JSONObject]) -> tuple[Column, ...]:
    # The name is always the first column.
    shown = tuple(defined) or (_AGE,)
    return (NAME, *[_column(column) for column in shown])


def _is_supported(json_path: str) -> bool:
    """Tell whether a path is supported; a column with another one stays empty."""
    try:
        value_finder(json_path)
    except JSONPathError:
        return False
    return True


def _column(column: JSONObject) -> Column:
    json_path = as_text(column.get("jsonPath"))
    type_, priority = as_text(column.get("type")), column.get("priority")
    # An unsupported path gives a warning where the definition is read.
    find = value_finder(json_path) if _is_supported(json_path) else None

    def cell(obj: JSONObject, now: datetime) -> JSON:
        value = find(obj) if find else None
        # A path that leads to no value leaves the cell empty, as null does.
        if value is None or isinstance(value, Absent):
            return None
        return _cell_value(value, type_, now)

    return Column(
        name=as_text(column.get("name")),
        cell=cell,
        type=type_,
        priority=priority if isinstance(priority, int) else 0,
        format=as_text(column.get("format")),
        description=as_text(column.get("description"))
        or f"Custom resource definition column (in JSONPath format): {json_path}",
    )


def _cell_value(value: JSON, json_type: str, now: datetime) -> JSON:
    """Return a value as a column of a type shows it, or None if it cannot."""
    # As the difference to the current time, like the column Age.
    if json_type == "date":
        return time_since(value, now)
    # Objects and lists are shown as JSON, in this type of column only.
    if json_type == "string":
        is_scalar = not isinstance(value, dict | list)
        return printed(value) if is_scalar else codec.encode(value).decode()
    # In Python a boolean is a number, too.
    if isinstance(value, bool):
        return value if json_type == "boolean" else None
    if isinstance(value, int | float) and json_type == "number":
        return value
    if isinstance(value, int | float) and json_type == "integer":
        return int(value)
    return None


# Keywords whose value has schemas that are all applied to the same value.
_BRANCHES: Final = ("allOf", "anyOf", "oneOf")
_SCHEMAS: Final = ("additionalProperties", "items", "not")
# How long the parts of a schema take, measured: a value of a custom resource takes four
# times as long as one of a built-in kind.
_VALUE: Final = 4
_BRANCH: Final = 8
_DEFAULT: Final = 32  # it becomes a value of each object, however small that is
_FIELD: Final = 1
_MOST_LISTED: Final = 256  # a message lists the values of an enum, up to so many


def _weigh(schema: JSONObject) -> int:
    """Estimate how many times longer a value takes than one of a built-in kind.

    A bound: it counts the branches and the defaults of all levels, the fields of the
    widest object, and the values of the longest enum.
    """
    branches, defaults, widest, longest = 0, 0, 0, 0
    parts = [schema]
    while parts:
        part = parts.pop()
        properties = as_object(part.get("properties"))
        defaults += "default" in part
        longest = max(longest, len(as_list(part.get("enum"))))
        widest = max(widest, len(properties) + len(as_list(part.get("required"))))
        parts += map(as_object, properties.values())
        for keyword in _BRANCHES:
            schemas = as_list(part.get(keyword))
            branches += len(schemas)
            parts += map(as_object, schemas)
        for keyword in _SCHEMAS:
            if isinstance(part.get(keyword), dict):
                branches += keyword == "not"
                parts.append(as_object(part[keyword]))
    return (
        _VALUE
        + branches * _BRANCH
        + defaults * _DEFAULT
        + widest * _FIELD
        + min(longest, _MOST_LISTED)
    )
