"""Objects that hold very many elements of one sort."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from smp.values import JSONObject

# the name of each, and what it holds; equal lengths
Elements: TypeAlias = Sequence[tuple[str, str]]


class Shape(NamedTuple):
    """A sort of elements, and the object that holds them."""

    name: str
    api_version: str
    kind: str
    holding: Callable[[Elements], JSONObject]


def elements(count: int, value: Callable[[int], str]) -> Elements:
    """Return so many elements, each with the value for its position."""
    return [(f"e-{at:06}", value(at)) for at in range(count)]


def _containers(held: Elements) -> JSONObject:
    return {
        "spec": {"containers": [{"name": name, "image": value} for name, value in held]}
    }


def _finalizers(held: Elements) -> JSONObject:
    return {
        "metadata": {
            "finalizers": [f"example.com/{name}-{value}" for name, value in held]
        }
    }


def _data(held: Elements) -> JSONObject:
    return {"data": dict(held)}


SHAPES: Final = (
    Shape("list with keys", "v1", "Pod", _containers),
    Shape("list of scalars", "v1", "Pod", _finalizers),
    Shape("map", "v1", "ConfigMap", _data),
)
