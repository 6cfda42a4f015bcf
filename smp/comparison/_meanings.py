"""What a value means by its type: the normalizer that its type asks for.

The schema of a built-in kind calls a quantity a string. Its Go type tells more
(smp.typed_storage), and for a custom resource the schema of its definition does.
"""

from __future__ import annotations

from typing import Final

from smp.comparison._normalizers import (
    BASE64,
    DURATION,
    LABEL_SELECTOR,
    NUMBER,
    QUANTITY,
    TIME,
)
from smp.schema.model import OPAQUE, Field, ObjectType, Schema, Type
from smp.typed_storage import BYTES, MICRO_TIME, GoType, storage_plan
from smp.typed_storage import NUMBER as NUMBER_FORM
from smp.typed_storage import QUANTITY as QUANTITY_FORM
from smp.typed_storage import TIME as TIME_FORM
from smp.values import JSON, JSONObject, as_object

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


class Meaning:
    """What is known of the values at a place: their type, Go type and definition."""

    __slots__ = ("_definition", "_go", "field", "type")

    def __init__(
        self, type_: Type, field: Field | None, go: GoType | None, definition: JSON
    ) -> None:
        self.type = type_
        self.field = field
        self._go = go
        self._definition = definition

    @classmethod
    def of(cls, schema: Schema) -> Meaning:
        """Return what is known of whole objects."""
        type_ = schema.type
        go = storage_plan(schema.types).root(type_)
        return cls(type_, None, go, schema.structural)

    def member(self, name: str) -> Meaning:
        """Return what is known of a member of an object."""
        field = self.type.field(name)
        type_ = OPAQUE if field is None else field.type
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
        return Meaning(type_, field, go, properties.get(name, others))

    @property
    def element(self) -> Meaning:
        """What is known of the elements of a list."""
        go = None if self._go is None else self._go.inner
        items = as_object(self._definition).get("items")
        return Meaning(self.type.items, None, go, items)

    @property
    def is_set(self) -> bool:
        """Whether the elements are a set, of which the order says nothing."""
        return getattr(self.type, "list_type", "") == "set"

    @property
    def normalizer(self) -> str:
        """The normalizer that the type asks for, or ""."""
        go = self._go
        if go is not None and go.form in _BY_FORM:
            return _BY_FORM[go.form]
        if isinstance(self.type, ObjectType) and self.type.name == _LABEL_SELECTOR:
            return LABEL_SELECTOR
        return _of_definition(as_object(self._definition))


def _of_definition(schema: JSONObject) -> str:
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
