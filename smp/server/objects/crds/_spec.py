"""The parts of a CustomResourceDefinition, typed; what is left out is empty, for rules
to complain about.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from msgspec.structs import replace

from smp.errors import DepthError
from smp.server.errors import StatusError
from smp.values import JSON, JSONObject

_SCHEMA: Final = "openAPIV3Schema"


class Names(msgspec.Struct, frozen=True, rename="camel"):
    """What a resource and its kind are called."""

    plural: str = ""
    singular: str = ""
    kind: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class Scale(msgspec.Struct, frozen=True, rename="camel"):
    """Where the scale of an object is: JSON paths."""

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


class Keywords(msgspec.Struct, frozen=True, rename="camel"):
    """The keywords of a schema, typed; only their types are checked here."""

    description: str | None = None
    title: str | None = None
    type: str | None = None
    format: str | None = None
    pattern: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool | None = None
    exclusive_maximum: bool | None = None
    multiple_of: Annotated[float, msgspec.Meta(gt=0)] | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    min_properties: int | None = None
    max_properties: int | None = None
    unique_items: bool | None = None
    nullable: bool | None = None
    enum: list[Any] | None = None
    required: list[str] | None = None
    properties: dict[str, Keywords] | None = None
    additional_properties: bool | Keywords | None = None
    items: Keywords | list[Keywords] | None = None
    all_of: list[Keywords] | None = None
    any_of: list[Keywords] | None = None
    one_of: list[Keywords] | None = None
    not_: Keywords | None = msgspec.field(default=None, name="not")


class VersionSchema(msgspec.Struct, frozen=True):
    """Where a version has its schema."""

    openapi: dict[str, Any] | None = msgspec.field(default=None, name=_SCHEMA)


class Version(msgspec.Struct, frozen=True, rename="camel"):
    """One version of a resource."""

    name: str = ""
    served: bool = False
    storage: bool = False
    schema: VersionSchema = VersionSchema()
    subresources: Subresources = Subresources()
    additional_printer_columns: tuple[PrinterColumn, ...] = ()


class Conversion(msgspec.Struct, frozen=True, rename="camel"):
    """How objects get from one version to another."""

    strategy: str = "None"


class Spec(msgspec.Struct, frozen=True, rename="camel"):
    """What a definition defines."""

    group: str = ""
    names: Names = Names()
    scope: str = ""
    versions: tuple[Version, ...] = ()
    conversion: Conversion = Conversion()
    preserve_unknown_fields: bool = False


class Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """Of the metadata, what matters here."""

    name: str = ""
    annotations: dict[str, str] = {}


class Crd(msgspec.Struct, frozen=True, rename="camel"):
    """A CustomResourceDefinition."""

    api_version: str = ""
    kind: str = ""
    metadata: Metadata = Metadata()
    spec: Spec = Spec()


def read(document: JSONObject) -> Crd:
    """Read a CustomResourceDefinition, and complete its names as a server does.

    Raises StatusError for values of other types, and DepthError.
    """
    try:
        crd = msgspec.convert(_without_nulls(document), Crd)
        for version in crd.spec.versions:
            msgspec.convert(version.schema.openapi, Keywords | None)
    except msgspec.ValidationError as error:
        raise StatusError(f"this is no CustomResourceDefinition: {error}") from None
    except RecursionError:
        raise DepthError("the CustomResourceDefinition is nested too deeply") from None
    names = crd.spec.names
    list_kind = names.list_kind or (f"{names.kind}List" if names.kind else "")
    completed = replace(
        names, singular=names.singular or names.kind.lower(), list_kind=list_kind
    )
    return replace(crd, spec=replace(crd.spec, names=completed))


def _without_nulls(value: JSON) -> JSON:
    """Drop nulls, which are as good as nothing here; a schema keeps them, for its
    defaults and enums.
    """
    if isinstance(value, list):
        return [_without_nulls(element) for element in value]
    if not isinstance(value, dict):
        return value
    kept = ((name, member) for name, member in value.items() if member is not None)
    return {
        name: member if name == _SCHEMA else _without_nulls(member)
        for name, member in kept
    }
