"""Discriminators that belong to a manager though it does not apply them.

The documents on unions let a server write the discriminator when the members change.
The field then belongs to the manager whose apply caused that, as long as it applies the
member which the discriminator names (KEP "Union types" of 2019, Normalizing).
"""

from __future__ import annotations

from smp.errors import bounded
from smp.managed_fields._elements import field_element, step_of
from smp.managed_fields._field_set import EMPTY, FieldSet
from smp.managed_fields._shapes import Form, Shape, path_elements, root_shape
from smp.paths import Element, Path
from smp.schema.model import ObjectType, Schema
from smp.values import JSON, JSONObject, as_text


@bounded("the object")
def kept_claims(
    live: JSONObject, schema: Schema, former: FieldSet, applied: FieldSet
) -> FieldSet:
    """Return the discriminators that a manager owned, and keeps without applying them.

    ``former`` and ``applied`` are the sets of the manager, before and now.
    """
    candidates = former.difference(applied)
    if not candidates:
        return EMPTY
    return _kept(live, root_shape(schema, live), candidates, applied)


def _kept(
    value: JSON, shape: Shape, candidates: FieldSet, applied: FieldSet
) -> FieldSet:
    below: dict[str, JSON] = {}
    members: list[str] = []
    if shape.form is Form.MAP and isinstance(value, dict):
        below = {field_element(name): content for name, content in value.items()}
        if isinstance(shape.type, ObjectType):
            for union in shape.type.unions:
                element = field_element(union.discriminator)
                chosen = union.by_value.get(as_text(below.get(element)))
                if chosen is None or element not in candidates.members:
                    continue
                member = field_element(chosen.name)
                if member in applied.members or member in applied.children:
                    members.append(element)
    elif shape.form is Form.LIST and isinstance(value, list):
        below = dict(zip(path_elements(shape, value), value, strict=True))
    children: dict[str, FieldSet] = {}
    for element, inner_candidates in candidates.children.items():
        if element in below:
            content = below[element]
            step = step_of(element)
            if isinstance(step, str):
                inner = shape.of_name(step, content)
            else:
                inner = shape.of_element(content)
            inner_applied = applied.children.get(element, EMPTY)
            kept = _kept(content, inner, inner_candidates, inner_applied)
            if kept:
                children[element] = kept
    return FieldSet(frozenset(members), children) if members or children else EMPTY


def owned_path(obj: JSONObject, schema: Schema, path: Path) -> Path:
    """Return the path by which a field of an object is owned.

    The path has indexes of elements, or their patch merge keys. What is in an atomic
    value is owned with that.
    """
    value: JSON = obj
    shape = root_shape(schema, obj)
    owned = Path()
    for step in path.steps:
        if isinstance(step, (int, Element)):
            if shape.form is not Form.LIST or not isinstance(value, list):
                break
            index = step if isinstance(step, int) else step.index
            value = value[index]
            owned = owned / step_of(shape.element(value))
            shape = shape.of_element(value)
        elif isinstance(step, str):
            if shape.form is not Form.MAP or not isinstance(value, dict):
                break
            value = value.get(step)
            owned = owned / step
            shape = shape.of_name(step, value)
    return owned
