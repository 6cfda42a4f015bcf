"""The marks of the documents of a YAML text, from the events of its parser."""

from __future__ import annotations

from collections.abc import Iterable

import yaml

from smp.documents._marks import Mark
from smp.documents._scalars import key_text
from smp.documents._yaml_reader import LOADER, is_merge_key, scalar_value


def marks_of(data: bytes) -> list[Mark]:
    """Return the marks of each document of a YAML text, which is valid."""
    builder = _MarksBuilder()
    for event in yaml.parse(data, Loader=LOADER):
        builder.take(event)
    return builder.documents


class _Object:
    """An object whose members are read: keys and values in turn."""

    __slots__ = ("is_merging", "key", "key_mark", "mark")

    def __init__(self, mark: Mark) -> None:
        self.mark = mark
        self.key: str | None = None
        self.key_mark = mark
        self.is_merging = False


class _MarksBuilder:
    def __init__(self) -> None:
        self.documents: list[Mark] = []
        self._root = Mark(0, 0)
        self._open: list[_Object | Mark] = []
        self._anchored: dict[str, tuple[yaml.NodeEvent, Mark]] = {}

    def take(self, event: yaml.Event) -> None:
        """Add what an event begins, and close what it ends."""
        if isinstance(event, yaml.DocumentEndEvent):
            self.documents.append(self._root)
            self._anchored.clear()
        elif isinstance(event, yaml.CollectionEndEvent):
            closed = self._open.pop()
            self._add(closed.mark if isinstance(closed, _Object) else closed)
        elif isinstance(event, yaml.NodeEvent) and event.start_mark is not None:
            self._begin(event, Mark(event.start_mark.line, event.start_mark.column))

    def _begin(self, event: yaml.NodeEvent, mark: Mark) -> None:
        named = event
        if isinstance(event, yaml.AliasEvent) and event.anchor is not None:
            # The value stands where the alias is, its parts where the anchor is.
            named, anchored = self._anchored[event.anchor]
            mark = anchored.at(mark)
        elif event.anchor is not None:
            self._anchored[event.anchor] = event, mark
        parent = self._open[-1] if self._open else None
        if (
            isinstance(parent, _Object)
            and isinstance(named, yaml.ScalarEvent)
            and parent.key is None
            and not parent.is_merging
        ):
            # An alias can be a key, but no merge key.
            if isinstance(event, yaml.ScalarEvent) and is_merge_key(event):
                parent.is_merging = True
            else:
                parent.key = key_text(scalar_value(named))
                parent.key_mark = mark
        elif isinstance(event, yaml.MappingStartEvent):
            mark.members = {}
            self._open.append(_Object(mark))
        elif isinstance(event, yaml.SequenceStartEvent):
            mark.elements = []
            self._open.append(mark)
        else:
            self._add(mark)

    def _add(self, mark: Mark) -> None:
        """Add a value to the innermost open collection, else make it the document."""
        if not self._open:
            self._root = mark
            return
        parent = self._open[-1]
        # The elements of a list stand where they begin, members where their keys do.
        if isinstance(parent, Mark):
            if parent.elements is not None:
                parent.elements.append(mark)
        elif parent.is_merging:
            parent.is_merging = False
            _inherit(parent.mark, mark)
        elif parent.key is not None and parent.mark.members is not None:
            parent.mark.members[parent.key] = mark.at(parent.key_mark)
            parent.key = None


def _inherit(mark: Mark, merged: Mark) -> None:
    """Give an object the members that a merge key refers to (see ObjectNode)."""
    sources: Iterable[Mark] = merged.elements or [merged]
    for source in reversed([*sources]):
        if mark.members is not None:
            mark.members.update(source.members or {})
