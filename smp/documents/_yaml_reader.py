"""YAML text to values, in one pass over the parser's events and without recursion.

So whatever a document may not do (nest or expand without end) is noticed where it
happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isfinite
from typing import Final, Protocol

import yaml

from smp.documents._nodes import Collection, List, Node, Object, Scalar
from smp.documents._scalars import TAGS, resolve, resolve_tagged
from smp.documents._text import MAX_DEPTH, QUOTE_IT, Text
from smp.errors import DocumentError
from smp.values import JSON

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_EXPANSION: Final = 2**20
_EXPANSION_RATIO: Final = 10
_MERGE: Final = f"{TAGS}merge"


def parse_documents(text: Text) -> list[tuple[JSON, int]]:
    """Return each document of a YAML text and the line of its content. Raises
    DocumentError.
    """
    builder = _Builder(len(text.data))
    for event in _events(text):
        try:
            if handle := _HANDLERS.get(type(event)):
                handle(builder, event)
        except DocumentError as error:
            raise _placed(error, event.start_mark, text) from None
    return builder.documents


class _Builder:
    """The values that the events so far have made."""

    def __init__(self, size: int) -> None:
        self.documents: list[tuple[JSON, int]] = []
        self.root: JSON = None
        self.line = 1
        self.open: list[Collection] = []
        self.anchored: dict[str, Node] = {}
        self.allowance = _EXPANSION + _EXPANSION_RATIO * size

    def end_document(self, _: yaml.DocumentEndEvent) -> None:
        """Take the document, and forget its anchors."""
        self.documents.append((self.root, self.line))
        self.anchored.clear()

    def scalar(self, event: yaml.ScalarEvent) -> None:
        """Take a scalar."""
        value, size = _scalar_value(event), len(event.value) + 1
        if event.anchor or not self.open:
            self._begin(event, Scalar(value, size))
        self._add(
            value,
            size,
            merge=event.value == "<<" and (event.implicit[0] or event.tag == _MERGE),
        )

    def alias(self, event: yaml.AliasEvent) -> None:
        """Take what an anchor names once more."""
        target = self._target(event.anchor)
        self.allowance -= target.size
        if self.allowance < 0:
            problem = "its aliases make it many times as large as it is written"
            raise DocumentError(problem, code="too-large-expansion")
        self._check_depth(target.depth)
        self._add(target.value, target.size, target.depth)

    def start_list(self, event: yaml.SequenceStartEvent) -> None:
        """Open a list."""
        self._start(event, List())

    def start_object(self, event: yaml.MappingStartEvent) -> None:
        """Open an object."""
        self._start(event, Object())

    def end(self, _: yaml.CollectionEndEvent) -> None:
        """Close the innermost list or object."""
        collection = self.open.pop()
        collection.complete = True
        self._add(collection.value, collection.size, collection.depth)

    def _start(self, event: yaml.CollectionStartEvent, collection: Collection) -> None:
        self._check_depth(1)
        self._begin(event, collection)
        self.open.append(collection)

    def _begin(
        self, event: yaml.ScalarEvent | yaml.CollectionStartEvent, node: Node
    ) -> None:
        if event.anchor:
            self.anchored[event.anchor] = node
        if not self.open and event.start_mark:
            self.line = event.start_mark.line + 1

    def _target(self, anchor: str | None) -> Node:
        if anchor not in self.anchored:
            raise DocumentError(
                f"no anchor {anchor!r} stands before its alias", code="undefined-alias"
            )
        target = self.anchored[anchor]
        if not target.complete:
            raise DocumentError(
                f"the anchor {anchor!r} contains itself", code="recursive-alias"
            )
        return target

    def _add(
        self, value: JSON, size: int, depth: int = 0, *, merge: bool = False
    ) -> None:
        if not self.open:
            self.root = value
            return
        parent = self.open[-1]
        parent.size += size
        if depth >= parent.depth:
            parent.depth = depth + 1
        parent.add(value, merge=merge)

    def _check_depth(self, depth: int) -> None:
        if len(self.open) + depth > MAX_DEPTH:
            raise DocumentError(
                f"it is nested more than {MAX_DEPTH} levels deep", code="too-deep"
            )


_HANDLERS: Final[dict[type[yaml.Event], Callable[..., None]]] = {
    yaml.DocumentEndEvent: _Builder.end_document,
    yaml.ScalarEvent: _Builder.scalar,
    yaml.AliasEvent: _Builder.alias,
    yaml.SequenceStartEvent: _Builder.start_list,
    yaml.MappingStartEvent: _Builder.start_object,
    yaml.SequenceEndEvent: _Builder.end,
    yaml.MappingEndEvent: _Builder.end,
}


def _scalar_value(event: yaml.ScalarEvent) -> JSON:
    try:
        value = _resolved(event)
    except ValueError as error:
        raise DocumentError(str(error), code="invalid-scalar") from None
    if isinstance(value, float) and not isfinite(value):
        raise DocumentError(
            f"JSON has no {event.value}", code="not-a-number", hint=QUOTE_IT
        )
    return value


def _resolved(event: yaml.ScalarEvent) -> JSON:
    text: str = event.value
    if event.style == '"':
        # refuses half a surrogate pair, which only an escape in quotes can write
        text.encode()
    if event.tag and event.tag != "!":
        return resolve_tagged(event.tag, text)
    return text if event.style or event.tag else resolve(text)


# --- the parser, and its errors ---


class _Mark(Protocol):
    """Where the parser was; two unrelated classes of the library are one."""

    line: int
    column: int


def _events(text: Text) -> Iterator[yaml.Event]:
    try:
        yield from yaml.parse(text.data, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, text) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise text.error(
            "invalid-yaml", f"not YAML: {error}".partition("\n")[0]
        ) from None


def _syntax_error(error: yaml.MarkedYAMLError, text: Text) -> DocumentError:
    mark = error.problem_mark or error.context_mark
    hint = "indent with spaces, not tabs" if mark and _is_tab(mark, text) else ""
    problem = f"not YAML: {error.problem or error.context}"
    return _placed(DocumentError(problem, code="invalid-yaml", hint=hint), mark, text)


def _placed(error: DocumentError, mark: _Mark | None, text: Text) -> DocumentError:
    return (
        text.placed(error, mark.line + 1, mark.column + 1)
        if mark
        else text.placed(error)
    )


def _is_tab(mark: _Mark, text: Text) -> bool:
    lines = text.data.decode().splitlines()[mark.line : mark.line + 1]
    return any(line[mark.column : mark.column + 1] == "\t" for line in lines)
