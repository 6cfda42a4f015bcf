"""Where in a document something is, and how to write that down."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from smp.values import JSON


class Element(msgspec.Struct, frozen=True):
    """A step into an element of a merge list, known by its merge key and by its index."""

    index: int
    merge_key: str
    value: JSON

    def __str__(self) -> str:
        return f"[{self.merge_key}={_key_text(self.value)}]"


Step: TypeAlias = str | int | Element


class Path(msgspec.Struct, frozen=True):
    """A path from the root of a document: field names, list indexes, merge-list
    elements.
    """

    steps: tuple[Step, ...] = ()

    def __truediv__(self, step: Step) -> Path:
        return Path((*self.steps, step))

    def under(self, step: Step) -> Path:
        """Return this path as seen from one level further up."""
        return Path((step, *self.steps))

    @property
    def pointer(self) -> str:
        """The path as a JSON Pointer (RFC 6901)."""
        return "".join(f"/{_escape(step)}" for step in self.steps)

    def __str__(self) -> str:
        """Render as ``spec.containers[name=app].env``; the root is the empty string."""
        return "".join(_readable(step) for step in self.steps).removeprefix(".")


def _readable(step: Step) -> str:
    if isinstance(step, Element):
        return str(step)
    if isinstance(step, int):
        return f"[{step}]"
    # A name with dots or brackets (an annotation) is bracketed, so that the path stays
    # readable.
    return (
        f"[{step}]"
        if not step or any(char in ".[]/= " for char in step)
        else f".{step}"
    )


def _key_text(value: JSON) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)


def _escape(step: Step) -> str:
    if isinstance(step, Element):
        return str(step.index)
    return str(step).replace("~", "~0").replace("/", "~1")
