"""The parts of a CustomResourceDefinition, typed.

A field that is left out is empty: smp.custom_resources judges the whole.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec.structs import replace

from smp._values.values import JSON, JSONObject
from smp.errors import bounded
from smp.server.errors import StatusError

# The one field with a name that rename="camel" does not give.
_SCHEMA: Final = "openAPIV3Schema"


class Names(msgspec.Struct, frozen=True, rename="camel"):
    """The names of a resource and of its kind."""

    plural: str = ""
    singular: str = ""
    kind: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class Scale(msgspec.Struct, frozen=True, rename="camel"):
    """The JSON paths of the parts of a Scale."""

    spec_replicas_path: str = ""
    status_replicas_path: str = ""
    label_selector_path: str = ""


class Subresources(msgspec.Struct, frozen=True, rename="camel"):
    """The subresources of a version."""

    status: dict[str, Any] | None = None
    scale: Scale | None = None


class PrinterColumn(msgspec.Struct, frozen=True, rename="camel"):
    """A column of the table that ``kubectl get`` prints."""

    name: str = ""
    type: str = ""
    json_path: str = ""
    description: str = ""
    format: str = ""
    priority: int = 0


class VersionSchema(msgspec.Struct, frozen=True):
    """The schema of a version, one level down."""

    openapi: dict[str, Any] | None = msgspec.field(default=None, name=_SCHEMA)


class SelectableField(msgspec.Struct, frozen=True, rename="camel"):
    """A field that a field selector may name (KEP-4358)."""

    json_path: str = ""


class Version(msgspec.Struct, frozen=True, rename="camel"):
    """One version of a resource."""

    name: str = ""
    served: bool = False
    storage: bool = False
    schema: VersionSchema = VersionSchema()
    subresources: Subresources = Subresources()
    additional_printer_columns: tuple[PrinterColumn, ...] = ()
    selectable_fields: tuple[SelectableField, ...] = ()


class ConversionSpec(msgspec.Struct, frozen=True, rename="camel"):
    """How objects are converted between versions."""

    strategy: str = "None"


class Spec(msgspec.Struct, frozen=True, rename="camel"):
    """The spec of a definition."""

    group: str = ""
    names: Names = Names()
    scope: str = ""
    versions: tuple[Version, ...] = ()
    conversion: ConversionSpec = ConversionSpec()


class Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """The metadata that rules look at."""

    name: str = ""


class Crd(msgspec.Struct, frozen=True, rename="camel"):
    """A CustomResourceDefinition."""

    api_version: str = ""
    kind: str = ""
    metadata: Metadata = Metadata()
    spec: Spec = Spec()


@bounded("the CustomResourceDefinition")
def read(document: JSONObject) -> Crd:
    """Read a CustomResourceDefinition, and complete its names as a server does.

    Raises StatusError for values of wrong types, and DepthError.
    """
    try:
        crd = msgspec.convert(_drop_nulls(document), Crd)
    except msgspec.ValidationError as error:
        raise StatusError(f"invalid CustomResourceDefinition: {error}") from None
    # Go: SetDefaults_CustomResourceDefinitionSpec in pkg/apis/apiextensions/v1.
    names = crd.spec.names
    list_kind = names.list_kind
    if not list_kind and names.kind:
        list_kind = f"{names.kind}List"
    names = replace(
        names, singular=names.singular or names.kind.lower(), list_kind=list_kind
    )
    return replace(crd, spec=replace(crd.spec, names=names))


def _drop_nulls(value: JSON) -> JSON:
    """Drop null fields, which count as absent; a schema keeps its own.

    In a schema a null may be a default or a value of an enum.
    """
    if isinstance(value, list):
        return [_drop_nulls(element) for element in value]
    if not isinstance(value, dict):
        return value
    kept: JSONObject = {}
    for name, field in value.items():
        if name == _SCHEMA and field is not None:
            kept[name] = field
        elif field is not None:
            kept[name] = _drop_nulls(field)
    return kept
