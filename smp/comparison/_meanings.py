"""What a value means by its type: the normalizer that its type asks for.

The schema of a built-in kind calls a quantity a string. Its Go type tells more
(smp._storage.typed_storage), and for a custom resource the schema of its definition
does.
"""

from __future__ import annotations

from typing import Final

from smp._storage.typed_storage import BYTES, MICRO_TIME, GoType, storage_plan
from smp._storage.typed_storage import NUMBER as NUMBER_FORM
from smp._storage.typed_storage import QUANTITY as QUANTITY_FORM
from smp._storage.typed_storage import TIME as TIME_FORM
from smp._values.values import JSON, JSONObject, as_object
from smp.comparison._normalizers import (
    BASE64,
    DURATION,
    LABEL_SELECTOR,
    NUMBER,
    QUANTITY,
    TIME,
)
from smp.schema.model import ObjectType, Schema, Type

_BY_FORM: Final = {
    QUANTITY_FORM: QUANTITY,
    TIME_FORM: TIME,
    MICRO_TIME: TIME,
    BYTES: BASE64,
    NUMBER_FORM: NUMBER,
}
# The formats that definitions give to a string. Go: kube-openapi, pkg/validation/strfmt
# (a duration is first read by time.ParseDuration).
_BY_FORMAT: Final = {"duration": DURATION, "date-time": TIME, "quantity": QUANTITY}
# controller-gen writes a resource.Quantity as an integer or a string with this pattern
# (sigs.k8s.io/controller-tools, pkg/crd, KnownPackages).
_QUANTITY_PATTERN: Final = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_LABEL_SELECTOR: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"


class TypeNormalizer:
    """What is known of the values at a place beside their type."""

    __slots__ = ("_definition", "_go")

    def __init__(self, go: GoType | None, definition: JSON) -> None:
        self._go = go
        self._definition = definition

    @classmethod
    def of(cls, schema: Schema) -> TypeNormalizer:
        """Return what is known of whole objects."""
        go = storage_plan(schema.types).root(schema.type)
        return cls(go, schema.structural)

    def member(self, name: str) -> TypeNormalizer:
        """Return what is known of a member of an object."""
        definition = as_object(self._definition)
        properties = as_object(definition.get("properties"))
        # A structural schema has one of both.
        others = definition.get("additionalProperties")
        # Go types are known of built-in kinds, and of the metadata of all others.
        go = self._go
        if go is not None and go.struct is not None:
            member = go.struct.members.get(name) or go.struct.member(name)
            go = None if member is None else member.type
        elif go is not None:
            go = go.inner
        return TypeNormalizer(go, properties.get(name, others))

    @property
    def element(self) -> TypeNormalizer:
        """What is known of the elements of a list."""
        go = None if self._go is None else self._go.inner
        items = as_object(self._definition).get("items")
        return TypeNormalizer(go, items)

    def normalizer(self, type_: Type) -> str:
        """Return the normalizer that the type of the values asks for, or ""."""
        go = self._go
        if go is not None and go.form in _BY_FORM:
            return _BY_FORM[go.form]
        if isinstance(type_, ObjectType) and type_.name == _LABEL_SELECTOR:
            return LABEL_SELECTOR
        return _read_definition(as_object(self._definition))


def _read_definition(schema: JSONObject) -> str:
    format_ = schema.get("format")
    is_text = schema.get("type") == "string"
    if is_text and isinstance(format_, str):
        return _BY_FORMAT.get(format_, "")
    if schema.get("type") == "number":
        return NUMBER
    # Of an integer or a string as such, a server keeps what was written.
    if schema.get("x-kubernetes-int-or-string") is True:
        is_quantity = schema.get("pattern") == _QUANTITY_PATTERN
        return QUANTITY if is_quantity or format_ == "quantity" else ""
    return ""
