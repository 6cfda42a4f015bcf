"""What a server refuses of a custom resource beside the keywords of its schema.

These are the names of embedded resources, elements of lists that are there twice, and
replicas that are none. Go: apiextensions-apiserver, pkg/apiserver/schema/objectmeta and
listtype, and pkg/registry/customresource/validator.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from smp._values import names
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONArray,
    JSONObject,
    as_text,
    printed,
    value_key,
)
from smp.custom_resources._schema_node import SchemaNode
from smp.custom_resources._structure import go_number
from smp.paths import DottedName, Key, Path
from smp.violations import Violation, duplicate, invalid, require

_INT32: Final = 2**31 - 1
_INT64: Final = 2**63
_ROOT: Final = Path()


def find_embedded_violations(
    value: JSON, node: SchemaNode | None, path: Path = _ROOT
) -> Iterator[Violation]:
    """Yield what is wrong with the names of embedded resources (Go: objectmeta)."""
    if isinstance(value, dict) and node is not None:
        if node.is_embedded:
            yield from _names_violations(value, path)
        for name, member in value.items():
            inner = node.declared(name)
            step = Key(name) if inner is None else name
            yield from find_embedded_violations(
                member, inner or node.others, path / step
            )
    elif isinstance(value, list) and node is not None:
        for index, element in enumerate(value):
            yield from find_embedded_violations(element, node.items, path / index)


def _names_violations(obj: JSONObject, path: Path) -> Iterator[Violation]:
    """Go: validateEmbeddedResource."""
    for field in ("apiVersion", "kind"):
        here = path / field
        name = obj.get(field, ABSENT)
        if isinstance(name, Absent):
            yield require(here)
        elif not isinstance(name, str):
            yield invalid(here, name, "must be a string")
        elif not name:
            yield invalid(here, name, "must not be empty")
        # Go: schema.ParseGroupVersion.
        elif field == "apiVersion" and name.count("/") > 1:
            yield invalid(here, name, f"unexpected GroupVersion string: {name}")
        elif field == "kind" and (problem := names.rfc1035_label(name.lower())):
            words = "may have mixed case, but should otherwise match"
            yield invalid(here, name, f"{words}: {problem}")
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return
    for field in ("name", "generateName"):
        name = metadata.get(field)
        if isinstance(name, str) and name and (problem := names.path_segment(name)):
            yield invalid(path / "metadata" / field, name, problem)
    for field, check in (
        ("labels", names.label_key),
        ("annotations", names.annotation_key),
    ):
        members = metadata.get(field)
        for name, text in members.items() if isinstance(members, dict) else ():
            here = path / "metadata" / field
            if problem := check(name):
                yield invalid(here, name, problem)
            if field == "labels" and (problem := names.label_value(as_text(text))):
                yield invalid(here, text, problem)


def list_violations(
    value: JSON, node: SchemaNode | None, path: Path = _ROOT
) -> Iterator[Violation]:
    """Yield elements of sets and maps that are there twice (Go: listtype)."""
    if node is None or not node.has_lists:
        return
    if isinstance(value, dict):
        others = node.others
        for name, member in value.items():
            # Go: both loops of ValidateListSetsAndMaps.
            if others is not None and others.has_lists:
                yield from list_violations(member, others, path / Key(name))
            declared = node.declared(name)
            if declared is not None and declared.has_lists:
                yield from list_violations(member, declared, path / name)
    elif isinstance(value, list):
        if node.list_type == "set":
            for index in _find_repeated([_key_of(element) for element in value]):
                yield duplicate(path / index, _round_as_go(value[index]))
        elif node.list_type == "map":
            yield from _map_violations(value, node, path)
        if node.items is not None and node.items.has_lists:
            for index, element in enumerate(value):
                yield from list_violations(element, node.items, path / index)


def _map_violations(
    elements: JSONArray, node: SchemaNode, path: Path
) -> Iterator[Violation]:
    """Go: validateListMap."""
    keys: list[JSONObject] = []
    for index, element in enumerate(elements):
        if element is not None and not isinstance(element, dict):
            detail = "must be an object for an array of list-type map"
            yield invalid(path / index, element, detail)
            return
        members = element or {}
        keys.append({name: members[name] for name in node.map_keys if name in members})
    for index in _find_repeated([_key_of(key) for key in keys]):
        yield duplicate(path / index, keys[index])


def _key_of(value: JSON) -> object:
    """Return what is equal for the same values, of integers beyond 64 bits as floats.

    The keys of a map are scalars, as are the elements of most sets.
    """
    if isinstance(value, dict):
        return value_key({name: _round_as_go(member) for name, member in value.items()})
    return value_key(_round_as_go(value))


def _round_as_go(value: JSON) -> JSON:
    return go_number(value) if isinstance(value, int) else value


def _find_repeated(keys: list[object]) -> Iterator[int]:
    """Yield the indexes of the second occurrences; there is none for the third."""
    times: dict[object, int] = {}
    for index, key in enumerate(keys):
        times[key] = times.get(key, 0) + 1
        if times[key] == 2:  # noqa: PLR2004  # the second occurrence
            yield index


def scale_violations(
    obj: JSONObject, scale: JSONObject, *, status_only: bool
) -> Iterator[Violation]:
    """Yield the replicas and the selector of a scale that are of no use to it.

    Go: ValidateScaleSpec, ValidateScaleStatus.
    """
    for field in ("specReplicasPath", "statusReplicasPath", "labelSelectorPath"):
        path = as_text(scale.get(field))
        if not path or (status_only and field == "specReplicasPath"):
            continue
        value, problem = _nest(obj, path.removeprefix("."))
        is_number = field != "labelSelectorPath"
        # The error has the path as it is written, with its leading period.
        here = Path((DottedName(path),))
        if problem:
            yield invalid(here, 0 if is_number else "", problem)
        elif value is not ABSENT and is_number:
            yield from _replicas_violations(value, path, here)
        elif value is not ABSENT and not isinstance(value, str):
            shown = _go_value(value)
            detail = f"{path} accessor error: {shown} is of the type, expected string"
            yield invalid(here, "", detail)


def _replicas_violations(
    value: JSON | Absent, path: str, here: Path
) -> Iterator[Violation]:
    is_int = isinstance(value, int) and not isinstance(value, bool)
    if not is_int or not isinstance(value, int) or not -_INT64 <= value < _INT64:
        # Go: NestedInt64; null is none as well.
        detail = (
            f"{path} accessor error: {_go_value(value)} is of the type"
            f" {_go_type(value)}, expected int64"
        )
        yield invalid(here, 0, detail)
    elif value < 0:
        yield invalid(here, value, "should be a non-negative integer")
    elif value > _INT32:
        yield invalid(here, value, f"should be less than or equal to {_INT32}")


def _nest(obj: JSONObject, path: str) -> tuple[JSON | Absent, str]:
    """Go: unstructured.NestedFieldNoCopy."""
    current: JSON | Absent = obj
    for name in path.split("."):
        if current is None:
            return ABSENT, ""
        if not isinstance(current, dict):
            shown = f"{_go_value(current)} is of the type {_go_type(current)}"
            detail = f"{shown}, expected map[string]interface{{}}"
            return ABSENT, f".{path} accessor error: {detail}"
        current = current.get(name, ABSENT)
        if isinstance(current, Absent):
            return ABSENT, ""
    return current, ""


def _go_value(value: JSON | Absent) -> str:
    is_scalar = value is None or isinstance(value, float)
    return printed(value) if is_scalar else str(value)


def _go_type(value: JSON | Absent) -> str:
    names_of_go = {str: "string", bool: "bool", list: "[]interface {}", int: "int64"}
    if value is None:
        return "<nil>"
    return names_of_go.get(type(value), "float64")
