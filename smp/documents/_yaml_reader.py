"""YAML text to values, in one pass over the parser's events and without recursion.

Theory of operation. The library parses a text to events (start of a list, scalar,
alias, end of a list, ..) and composes nothing. ``_Builder`` keeps a stack of the lists
and objects that are open; each scalar, alias and closed collection is added to the
innermost one. For

    a: &x [1]
    b: *x

it sees: the start of an object; the scalar ``a`` (a key); the start of a list with the
anchor ``x``; the scalar ``1``; the end of the list, which becomes the value of ``a``;
the scalar ``b``; the alias ``x``, which adds the same list once more; and the end of
the object, which becomes the document.

Since the limits are checked at each event, a document is rejected at the place where it
breaks one: nesting (``MAX_DEPTH``), and expansion, which is how much larger than the
text its values would be with every alias written out ("billion laughs"). go-yaml, and
so kubectl, has a limit on aliases as well ("document contains excessive aliasing"), of
another form.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from math import isfinite
from typing import Final, Protocol, TypeAlias

import yaml
from yaml.reader import ReaderError
from yaml.scanner import ScannerError

from smp._values.values import JSON
from smp.documents._scalars import TAGS, key_text, resolve, resolve_tagged
from smp.documents._text import MAX_DEPTH, QUOTE_IT, Text
from smp.errors import QUOTE_BOOLEANS, DocumentError

# The nodes have the measures that limits are checked against: ``size`` counts
# characters with every alias written out, ``depth`` levels of nesting. ``complete`` is
# false until the end of a list or object: an alias to it before that would make it
# contain itself.


class ScalarNode:
    """A value without parts."""

    __slots__ = ("complete", "depth", "size", "value")

    def __init__(self, value: JSON, size: int) -> None:
        self.value = value
        self.size = size
        self.depth = 0
        self.complete = True


class ListNode:
    """A list under construction."""

    __slots__ = ("complete", "depth", "size", "value")

    def __init__(self) -> None:
        self.value: list[JSON] = []
        self.size = 1
        self.depth = 1
        self.complete = False

    def add(self, value: JSON, *, merge: bool) -> None:  # noqa: ARG002  # in a list << is a string like any other
        """Append the next element."""
        self.value.append(value)


class ObjectNode:
    """An object under construction: keys and values are added in turn.

    ``key`` is the key whose value comes next; ``merging`` is true between a merge key
    (``<<``) and its value; ``inherited`` are the keys that came from merge keys.
    """

    __slots__ = ("complete", "depth", "inherited", "key", "merging", "size", "value")

    def __init__(self) -> None:
        self.value: dict[str, JSON] = {}
        self.size = 1
        self.depth = 1
        self.complete = False
        self.key: str | None = None
        self.merging = False
        self.inherited: set[str] = set()

    def add(self, value: JSON, *, merge: bool) -> None:
        """Take the next key, or the value of the last one.

        ``merge`` tells that the value, if it is a key, is the merge key. Raises
        DocumentError, without its place.
        """
        if self.key is not None:
            self.value[self.key] = value
            self.key = None
        elif self.merging:
            self.merging = False
            self._inherit(value)
        elif merge:
            self.merging = True
        else:
            try:
                self.key = key_text(value)
            except ValueError as error:
                raise _key_error(str(error)) from None
            # YAML 1.2, section 3.2.1.1: the keys of a mapping are unique. kubectl keeps
            # the last one. A key of the object itself overrides an inherited one.
            if self.key in self.value and self.key not in self.inherited:
                problem = f"duplicate key {self.key!r}"
                hint = QUOTE_BOOLEANS if self.key in ("true", "false") else ""
                raise DocumentError(problem, code="duplicate-key", hint=hint)
            self.inherited.discard(self.key)

    def _inherit(self, value: JSON) -> None:
        """Copy the members of the objects that a merge key refers to.

        https://yaml.org/type/merge.html: of a list of objects, earlier ones override
        later ones. It also says that keys of the object itself override inherited ones,
        in any order; go-yaml, and so kubectl, assigns keys in their order, so
        that keys before the merge key are overridden (Go: decoder.merge).
        """
        for source in reversed(value if isinstance(value, list) else [value]):
            if not isinstance(source, dict):
                raise _key_error("a merge key << takes an object or a list of objects")
            self.inherited |= source.keys() - self.value.keys()
            self.value.update(source)


CollectionNode: TypeAlias = ListNode | ObjectNode
Node: TypeAlias = ScalarNode | ListNode | ObjectNode


def _key_error(problem: str) -> DocumentError:
    return DocumentError(
        problem, code="invalid-key", hint="keys must be strings; quote it"
    )


# Compiled, where the library was installed with libyaml.
LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# libyaml 0.2.6 has the limit of MAX_DEPTH as well, and looks some tokens ahead.
_NESTED: Final = "exceeded maximum nesting depth"
# How many characters aliases may add: a constant, and some for each byte of the text.
_EXPANSION: Final = 2**20
_EXPANSION_PER_BYTE: Final = 10
_MERGE: Final = f"{TAGS}merge"
# Go: go-yaml's decode.go, and encoding/json's UnsupportedValueError.
_GO_WORDS: Final = {
    "recursive-alias": "anchor '{anchor}' value contains itself",
    "too-large-expansion": "document contains excessive aliasing",
    "undefined-alias": "unknown anchor '{anchor}' referenced",
}


def parse_documents(text: Text) -> list[tuple[JSON, int]]:
    """Return each document of a YAML text, and the line where its content starts.

    Raises DocumentError.
    """
    builder = _Builder(len(text.data))
    try:
        for event in yaml.parse(text.data, Loader=LOADER):
            handle = _HANDLERS.get(type(event))
            if handle is None:
                continue
            try:
                handle(builder, event)
            except DocumentError as error:
                raise _place(error, event.start_mark, text) from None
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, text) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        first_line = str(error).partition("\n")[0]
        raise text.error("invalid-yaml", f"not YAML: {first_line}") from None
    return builder.documents


def parse_first(text: Text) -> tuple[JSON, tuple[str, ...]]:
    """Return the first document of a YAML text, and the keys that it has twice.

    The last value of such a key counts. Raises DocumentError in the words of go-yaml.
    """
    builder = _Builder(len(text.data))
    duplicates: list[str] = []
    duplicate = ""
    try:
        for event in yaml.parse(text.data, Loader=LOADER):
            if duplicate:
                # Go: go-yaml's setMapIndex, which has the line of the value.
                line = event.start_mark.line + 1 if event.start_mark else 1
                duplicates.append(f"line {line}: key {duplicate} already set in map")
                duplicate = ""
            handle = _HANDLERS.get(type(event))
            if handle is None:
                continue
            try:
                handle(builder, event)
            except DocumentError as error:
                if error.code != "duplicate-key":
                    raise _word(error, getattr(event, "anchor", "")) from None
                if isinstance(event, yaml.ScalarEvent):
                    duplicate = json.dumps(scalar_value(event), ensure_ascii=False)
            if builder.documents:
                break
    except yaml.MarkedYAMLError as error:
        if error.problem == _NESTED:
            raise _too_deep() from None
        raise DocumentError(_go_problem(error), code="invalid-yaml") from None
    except ReaderError as error:
        raise DocumentError(f"{error.reason}", code="invalid-yaml") from None
    return builder.root, tuple(duplicates)


def _go_problem(error: yaml.MarkedYAMLError) -> str:
    """Word an error of the parser, which is libyaml in both (Go: parser.fail)."""
    line = 0
    if error.problem_mark and error.problem_mark.line:
        line = error.problem_mark.line
        # Go: scanner errors don't iterate the line before they are returned.
        if isinstance(error, ScannerError):
            line += 1
    elif error.context_mark:
        line = error.context_mark.line
    problem = error.problem or error.context
    return f"line {line}: {problem}" if line else f"{problem}"


def _word(error: DocumentError, anchor: str) -> DocumentError:
    """Word an error of a value as go-yaml does, where it has a text for it."""
    wording = _GO_WORDS.get(error.code)
    if "not base64" in error.problem:
        wording = "!!binary value contains invalid base64 data"
    if wording is None:
        return error
    return DocumentError(wording.format(anchor=anchor), code=error.code)


class _Builder:
    def __init__(self, size: int) -> None:
        self.documents: list[tuple[JSON, int]] = []
        self.root: JSON = None
        self.line = 1
        self.open: list[CollectionNode] = []
        self.anchored: dict[str, Node] = {}
        self.allowance = _EXPANSION + _EXPANSION_PER_BYTE * size

    def end_document(self, _: yaml.DocumentEndEvent) -> None:
        """Finish the document; anchors are known within one document only."""
        self.documents.append((self.root, self.line))
        self.anchored.clear()

    def scalar(self, event: yaml.ScalarEvent) -> None:
        value, size = scalar_value(event), len(event.value) + 1
        if event.anchor or not self.open:
            self._begin(event, ScalarNode(value, size))
        self._add(value, size, merge=is_merge_key(event))

    def alias(self, event: yaml.AliasEvent) -> None:
        """Add the value of an anchor once more."""
        # YAML 1.2, section 7.1: "It is an error for an alias node to use an anchor that
        # does not previously occur in the document."
        if event.anchor not in self.anchored:
            raise DocumentError(
                f"unknown anchor {event.anchor!r}", code="undefined-alias"
            )
        target = self.anchored[event.anchor]
        # YAML allows this, JSON cannot express it, and go-yaml rejects it.
        if not target.complete:
            raise DocumentError(
                f"the anchor {event.anchor!r} contains itself", code="recursive-alias"
            )
        self.allowance -= target.size
        if self.allowance < 0:
            raise DocumentError(
                "aliases make the document many times as large as its text",
                code="too-large-expansion",
            )
        self._check_depth(target.depth)
        self._add(target.value, target.size, target.depth)

    def start_list(self, event: yaml.SequenceStartEvent) -> None:
        self._start(event, ListNode())

    def start_object(self, event: yaml.MappingStartEvent) -> None:
        self._start(event, ObjectNode())

    def end(self, _: yaml.CollectionEndEvent) -> None:
        """Close the innermost list or object, and add it to the one around it."""
        collection = self.open.pop()
        collection.complete = True
        self._add(collection.value, collection.size, collection.depth)

    def _start(
        self, event: yaml.CollectionStartEvent, collection: CollectionNode
    ) -> None:
        self._check_depth(1)
        self._begin(event, collection)
        self.open.append(collection)

    def _begin(
        self, event: yaml.ScalarEvent | yaml.CollectionStartEvent, node: Node
    ) -> None:
        """Note the anchor of a node, and the line of a document's first node."""
        if event.anchor:
            self.anchored[event.anchor] = node
        if not self.open and event.start_mark:
            self.line = event.start_mark.line + 1

    def _add(
        self, value: JSON, size: int, depth: int = 0, *, merge: bool = False
    ) -> None:
        """Add a value to the innermost open collection, else make it the document."""
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
            raise _too_deep()


_HANDLERS: Final[dict[type[yaml.Event], Callable[..., None]]] = {
    yaml.DocumentEndEvent: _Builder.end_document,
    yaml.ScalarEvent: _Builder.scalar,
    yaml.AliasEvent: _Builder.alias,
    yaml.SequenceStartEvent: _Builder.start_list,
    yaml.MappingStartEvent: _Builder.start_object,
    yaml.SequenceEndEvent: _Builder.end,
    yaml.MappingEndEvent: _Builder.end,
}


def is_merge_key(event: yaml.ScalarEvent) -> bool:
    """Tell whether a scalar is the merge key, if it is a key.

    That is a plain << or one with the tag; a quoted << is a string (Go: go-yaml's
    isMerge).
    """
    return event.value == "<<" and (event.implicit[0] or event.tag == _MERGE)


def scalar_value(event: yaml.ScalarEvent) -> JSON:
    """Return the value of a scalar. Raises DocumentError, without its place."""
    text: str = event.value
    try:
        if event.style == '"':
            # Raises UnicodeEncodeError for half a surrogate pair, which only an escape
            # in double quotes can write.
            text.encode()
        # The tag "!" makes a scalar a string, as quotes do (YAML 1.2, section 6.9.1).
        if event.tag and event.tag != "!":
            value = resolve_tagged(event.tag, text)
        elif event.style or event.tag:
            value = text
        else:
            value = resolve(text)
    except ValueError as error:
        raise DocumentError(str(error), code="invalid-scalar") from None
    if isinstance(value, float) and not isfinite(value):
        raise DocumentError(
            f"{text} is not valid JSON", code="not-a-number", hint=QUOTE_IT
        )
    return value


class _Mark(Protocol):
    """A place of the parser: the library and libyaml have a class each, unrelated."""

    line: int
    column: int


def _syntax_error(error: yaml.MarkedYAMLError, text: Text) -> DocumentError:
    mark = error.problem_mark or error.context_mark
    if error.problem == _NESTED:
        return text.placed(_too_deep(), mark.line + 1 if mark else None)
    hint = ""
    if mark:
        # YAML 1.2, section 6.1: indentation may not contain tab characters.
        lines = text.data.decode().splitlines()
        line = lines[mark.line] if mark.line < len(lines) else ""
        if line[mark.column : mark.column + 1] == "\t":
            hint = "indent with spaces, not tabs"
    problem = f"not YAML: {error.problem or error.context}"
    return _place(DocumentError(problem, code="invalid-yaml", hint=hint), mark, text)


def _too_deep() -> DocumentError:
    return DocumentError(
        f"the document is nested more than {MAX_DEPTH} levels deep", code="too-deep"
    )


def _place(error: DocumentError, mark: _Mark | None, text: Text) -> DocumentError:
    if mark is None:
        return text.placed(error)
    return text.placed(error, mark.line + 1, mark.column + 1)
