"""Objects that hold very many elements of one sort."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from smp._values.values import JSON, JSONObject

# The name and the value of each element; all have the same length.
Elements: TypeAlias = Sequence[tuple[str, str]]


class Shape(NamedTuple):
    """A kind of collection, and the function that makes an object with elements."""

    name: str
    api_version: str
    kind: str
    make_object: Callable[[Elements], JSONObject]


def elements(count: int, value: Callable[[int], str]) -> Elements:
    """Return so many elements, each with the value for its position."""
    return [(f"e-{index:06}", value(index)) for index in range(count)]


def _containers(elements: Elements) -> JSONObject:
    containers: list[JSON] = [
        {"name": name, "image": value} for name, value in elements
    ]
    return {"spec": {"containers": containers}}


def _finalizers(elements: Elements) -> JSONObject:
    finalizers: list[JSON] = [f"example.com/{name}-{value}" for name, value in elements]
    return {"metadata": {"finalizers": finalizers}}


def _data(elements: Elements) -> JSONObject:
    return {"data": dict(elements)}


SHAPES: Final = (
    Shape("list with keys", "v1", "Pod", _containers),
    Shape("list of scalars", "v1", "Pod", _finalizers),
    Shape("map", "v1", "ConfigMap", _data),
)
