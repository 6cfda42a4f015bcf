"""JSON and multi-document YAML text, read and written the way kubectl reads them.

YAML is built in one pass over the parser's events, without recursion, so that whatever a document may
not do (nest or expand without end, say a key twice) is noticed where it happens. Where kubectl would
silently lose something (a duplicate key, bytes that are not Unicode) this module raises; integers
beyond 64 bits, which kubectl turns into floats, stay integers.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from math import inf, isfinite, isinf, nan
from typing import Final, Protocol

import msgspec
import yaml

from smp.errors import DepthError, DocumentError
from smp.values import ABSENT, JSON, type_name

MAX_BYTES: Final = 32 * 1024 * 1024
MAX_DEPTH: Final = 1_000


@dataclass(frozen=True, slots=True)
class Document:
    """A value, the name of the text it was read from, and the line on which it starts there."""

    value: JSON
    source: str
    line: int


def read(data: bytes | str, *, source: str = "<input>", max_bytes: int = MAX_BYTES) -> list[Document]:
    """Read every document of a YAML or JSON text, or of several JSON texts in a row.

    As for kubectl, documents without content are skipped, and an object of some ``kind`` with a list
    of objects as ``items`` (List, PodList, ...) stands for those items. Raises DocumentError, also
    when nothing is left.
    """
    text = _Text(data, source, max_bytes)
    documents = [Document(item, source, line) for value, line in text.documents() for item in _unrolled(value)]
    if not documents:
        raise text.error("empty-document", "there is no document in it")
    return documents


def read_one(data: bytes | str, *, source: str = "<input>", max_bytes: int = MAX_BYTES) -> Document:
    """Read the only document of a YAML or JSON text. Raises DocumentError, also when there are several."""
    first, *others = read(data, source=source, max_bytes=max_bytes)
    if others:
        problem = f"{len(others) + 1} documents where one is expected"
        raise DocumentError(problem, code="several-documents", source=source, line=others[0].line)
    return first


def parse_json(data: bytes | str, *, source: str = "<input>", max_bytes: int = MAX_BYTES) -> JSON:
    """Parse one JSON text (RFC 8259), keeping integers of any size.

    Raises DocumentError, also for a duplicate key, NaN, Infinity and a number out of range.
    """
    text = _Text(data, source, max_bytes)
    return text.json(0, len(text.data))


def dump_json(value: JSON, *, indent: int | None = 2) -> str:
    """Write a value as JSON, keys in their order; ``indent=None`` writes one line without spaces.

    Raises DocumentError for what JSON cannot say (NaN, a lone surrogate), and DepthError.
    """
    try:
        encoded = msgspec.json.encode(value)
        # NaN and infinity would be written as null: only then is a closer look needed.
        if b"null" in encoded:
            json.dumps(value, allow_nan=False)
        return (encoded if indent is None else msgspec.json.format(encoded, indent=indent)).decode()
    except RecursionError:
        raise DepthError("the value is nested too deep to be written") from None
    except (TypeError, ValueError) as error:
        raise _not_json(str(error)) from None


def dump_yaml(values: Iterable[JSON]) -> str:
    """Write values as YAML documents, from which kubectl and YAML 1.1 and 1.2 readers read the same values.

    Block style, keys in their order, text of several lines as a literal block. (An integral float
    comes back as an integer, as it does from kubectl.) Raises DocumentError and DepthError.
    """
    try:
        return str(yaml.emit(_stream_events(values), Dumper=_DUMPER, allow_unicode=True, width=_NEVER_FOLD))
    except (UnicodeError, yaml.YAMLError) as error:
        raise _not_json(str(error)) from None


def _unrolled(value: JSON) -> list[JSON]:
    if value is None:
        return []
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        return [value]
    items = value.get("items", ABSENT)
    if isinstance(items, list) and all(isinstance(item, dict) for item in items):
        return [_named_as(value, item) for item in items]
    return [] if items is None else [value]


def _named_as(collection: JSON, item: JSON) -> JSON:
    """Give an item without a kind the one of its list: a Pod in a PodList."""
    if not isinstance(collection, dict) or not isinstance(item, dict) or item.get("kind"):
        return item
    kind = str(collection["kind"]).removesuffix("List")
    return {"apiVersion": collection.get("apiVersion", ""), "kind": kind, **item} if kind else item


# --- a text, and its errors ------------------------------------------------------------------------------------------

_UTF16: Final = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_JSON_START: Final = re.compile(rb'\s*[{\[]\s*(?:["{}\[\]0-9-]|true\b|false\b|null\b|$)')
_NEWLINE_OR_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_NOT_A_NUMBER: Final = re.compile(rb"NaN|Infinity")
_JSON_STRING: Final = rb'("[^"\\]*(?:\\.[^"\\]*)*")'
_JSON_NUMBER: Final = re.compile(_JSON_STRING + rb"|(-?[0-9][0-9.eE+-]*)")
_JSON_KEY: Final = re.compile(_JSON_STRING + rb"[ \t\r\n]*(:?)|[{}]")
_TRAILING: Final = "trailing characters"
_QUOTING_HINT: Final = "quote it if it is meant as text"


class _Text:
    """Bytes that are known to be UTF-8, with the name that errors tell."""

    def __init__(self, data: bytes | str, source: str, max_bytes: int) -> None:
        self.source = source
        self.data = data if isinstance(data, bytes) else b""
        if len(data) > max_bytes:
            raise self.error("too-large", f"it has more than {max_bytes} bytes")
        try:
            self.data = _as_utf8(data)
        except UnicodeError as error:
            place = error.start if isinstance(error, UnicodeDecodeError) else None
            raise self.error("invalid-encoding", f"it is not Unicode text: {error}", place) from None

    def error(self, code: str, problem: str, offset: int | None = None, hint: str = "") -> DocumentError:
        """Make an error that tells the place of a byte."""
        if offset is None:
            return DocumentError(problem, code=code, hint=hint, source=self.source)
        line = self.data.count(b"\n", 0, offset) + 1
        column = len(self.data[self.data.rfind(b"\n", 0, offset) + 1 : offset].decode(errors="replace")) + 1
        return DocumentError(problem, code=code, hint=hint, source=self.source, line=line, column=column)

    def documents(self) -> list[tuple[JSON, int]]:
        """Return each value and its line. What begins like JSON but is not may still be YAML."""
        if not _JSON_START.match(self.data):
            return list(_Builder(self).documents())
        try:
            return list(self._json_texts())
        except DocumentError as error:
            if error.code != "invalid-json":
                raise
            return self._yaml_rather(error)

    def _yaml_rather(self, failure: DocumentError) -> list[tuple[JSON, int]]:
        try:
            return list(_Builder(self).documents())
        except DocumentError as error:
            raise (failure if error.code == "invalid-yaml" else error) from None

    def _json_texts(self) -> Iterator[tuple[JSON, int]]:
        end, line = 0, 1
        while (start := _after_space(self.data, end)) < len(self.data):
            line += self.data.count(b"\n", end, start)
            end = self._end_of_json(start)
            yield self.json(start, end), line
            line += self.data.count(b"\n", start, end)

    def _end_of_json(self, start: int) -> int:
        try:
            msgspec.json.decode(memoryview(self.data)[start:], type=msgspec.Raw)
        except msgspec.DecodeError as error:
            problem, offset = _reported(error)
            if problem == _TRAILING and offset is not None:
                return start + offset
        except RecursionError:
            pass  # said when it is parsed
        return len(self.data)

    def json(self, start: int, end: int) -> JSON:
        """Parse the JSON text between two offsets."""
        data = memoryview(self.data)[start:end]
        try:
            value: JSON = msgspec.json.decode(data)
            # What is written back as it was read has not lost a key.
            if msgspec.json.encode(value) != msgspec.json.format(data.tobytes(), indent=-1):
                json.loads(data.tobytes(), object_pairs_hook=_distinct)
        except msgspec.ValidationError:
            raise self._number_error(start, end) from None
        except msgspec.DecodeError as error:
            raise self._syntax_error(error, start, end) from None
        except _DuplicateKeyError:
            raise self._duplicate_key_error(start, end) from None
        except RecursionError:
            raise self.error("too-deep", "it is nested too deep") from None
        return value

    def _syntax_error(self, error: msgspec.DecodeError, start: int, end: int) -> DocumentError:
        problem, offset = _reported(error)
        place = end if offset is None else start + offset
        if constant := _NOT_A_NUMBER.match(self.data, place):
            return self.error("not-a-number", f"JSON has no {constant[0].decode()}", place, _QUOTING_HINT)
        return self.error("invalid-json", f"not JSON: {problem}", place)

    def _number_error(self, start: int, end: int) -> DocumentError:
        numbers = (found for found in _JSON_NUMBER.finditer(self.data, start, end) if found[2])
        place = next((found.start() for found in numbers if _out_of_range(found[2])), start)
        return self.error("invalid-number", "a number is out of range", place, _QUOTING_HINT)

    def _duplicate_key_error(self, start: int, end: int) -> DocumentError:
        place, key = next(_repeated_keys(self.data, start, end))
        return self.error("duplicate-key", f"the key {key!r} is there twice", place)


def _repeated_keys(data: bytes, start: int, end: int) -> Iterator[tuple[int, str]]:
    objects: list[set[str]] = []
    for token in _JSON_KEY.finditer(data, start, end):
        if token[0] == b"{":
            objects.append(set())
        elif token[0] == b"}":
            objects.pop()
        elif token[2]:
            key = msgspec.json.decode(token[1], type=str)
            if key in objects[-1]:
                yield token.start(), key
            objects[-1].add(key)


class _DuplicateKeyError(Exception):
    pass


def _distinct(members: list[tuple[str, JSON]]) -> None:
    if len(dict(members)) != len(members):
        raise _DuplicateKeyError


def _as_utf8(data: bytes | str) -> bytes:
    """Return UTF-8 without a byte order mark; as kubectl, take UTF-16 with one as well. Raises UnicodeError."""
    if isinstance(data, bytes):
        data = data[2:].decode(_UTF16[data[:2]]) if data[:2] in _UTF16 else data.decode()
    return data.removeprefix("\ufeff").encode()


def _after_space(data: bytes, start: int) -> int:
    found = _NEWLINE_OR_SPACE.match(data, start)
    return found.end() if found else start


def _reported(error: msgspec.DecodeError) -> tuple[str, int | None]:
    """Take a report such as ``JSON is malformed: invalid character (byte 7)`` apart."""
    problem, _, offset = str(error).removeprefix("JSON is malformed: ").removesuffix(")").partition(" (byte ")
    # Trailing characters are counted from one, everything else from zero.
    return problem, int(offset) - (problem == _TRAILING) if offset else None


def _out_of_range(number: bytes) -> bool:
    try:
        int(number)
    except ValueError:  # also for more digits than Python converts
        return number.lstrip(b"-").isdigit() or isinf(float(number))
    return False


def _not_json(problem: str) -> DocumentError:
    return DocumentError(f"not a JSON value: {problem}", code="not-json")


# --- scalars: the table of kubectl -----------------------------------------------------------------------------------


def _forms(word: str) -> set[str]:
    return {word, word.capitalize(), word.upper()}


_WORDS: Final[dict[str, JSON]] = {
    form: value
    for value, words in (
        (True, ("y", "yes", "on", "true")),
        (False, ("n", "no", "off", "false")),
        (None, ("", "~", "null")),
    )
    for word in words
    for form in _forms(word)
}
_NUMBER_WORDS: Final[dict[str, JSON]] = {
    **{sign + form: value for sign, value in (("", inf), ("+", inf), ("-", -inf)) for form in (".inf", ".Inf", ".INF")},
    **dict.fromkeys((".nan", ".NaN", ".NAN"), nan),
}
_RESOLVED: Final = _WORDS | _NUMBER_WORDS
_FIRST: Final = frozenset("+-.0123456789")
_BASES: Final = (
    (8, re.compile(r"[-+]?0[oO]?[0-7]+")),
    (16, re.compile(r"[-+]?0[xX][0-9a-fA-F]+")),
    (2, re.compile(r"[-+]?0[bB][01]+|0b[-+][01]+")),
)
_BASE_PREFIX: Final = re.compile(r"0[oOxXbB]?")
_DECIMAL: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_TAGS: Final = "tag:yaml.org,2002:"
_TAGGED: Final[dict[str, tuple[type, ...]]] = {
    "bool": (bool,),
    "float": (int, float),
    "int": (int,),
    "null": (type(None),),
}


def resolve(text: str) -> JSON:
    """Tell what kubectl takes a plain YAML scalar for: YAML 1.1 with some of 1.2 (``y``, ``0777``, ``0o17``, ``1e3``).

    ``.inf`` and ``.nan`` resolve to the floats that JSON does not have. Raises ValueError for an
    integer with more digits than Python converts.
    """
    if text in _RESOLVED:
        return _RESOLVED[text]
    return _number(text) if text[0] in _FIRST else text


def _number(text: str) -> JSON:
    plain = text if text[0] == "." else text.replace("_", "")
    for base, pattern in _BASES:
        if pattern.fullmatch(plain):
            value = int(_BASE_PREFIX.sub("", plain, count=1), base)
            if -(2**63) <= value < 2**64:
                return value
    if _DECIMAL.fullmatch(plain):
        return int(plain)
    if _FLOAT.fullmatch(plain) and isfinite(number := float(plain)):
        return _as_go_prints(number)
    return text


def _as_go_prints(number: float) -> int | float:
    """Go writes an integral float without a fraction, and so it is an integer wherever it is read again."""
    integral = number.is_integer() and abs(number) < 2**63
    return int(Decimal(repr(number))) if integral else number


def _tagged(tag: str, text: str) -> JSON:
    """Resolve a scalar with a tag: the core ones convert, any other one makes it a string."""
    name = tag.removeprefix(_TAGS)
    if name == "binary":
        return base64.b64decode("".join(text.split()), validate=True).decode()
    if name not in _TAGGED:
        return text
    value = resolve(text)
    if type(value) not in _TAGGED[name]:
        raise ValueError(f"{text!r} is no !!{name}")
    return value


# --- YAML: from events to values -------------------------------------------------------------------------------------

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_EXPANSION: Final = 2**20
_EXPANSION_RATIO: Final = 10
_MERGE: Final = f"{_TAGS}merge"


class _Mark(Protocol):
    """Where the parser was; two unrelated classes of the library are one."""

    line: int
    column: int


class _Value:
    """A finished value: its size in characters with every alias written out, and its depth."""

    __slots__ = ("depth", "size", "value")

    def __init__(self, value: JSON, size: int, depth: int) -> None:
        self.value, self.size, self.depth = value, size, depth


class _List:
    """A list in the making."""

    __slots__ = ("anchor", "depth", "items", "size")

    def __init__(self, anchor: str | None) -> None:
        self.anchor, self.size, self.depth = anchor, 1, 1
        self.items: list[JSON] = []

    def add(self, value: JSON, event: yaml.Event) -> None:  # noqa: ARG002  (an object looks for a merge key in it)
        """Take the next element."""
        self.items.append(value)

    def finished(self) -> _Value:
        """Return the list with its measures."""
        return _Value(self.items, self.size, self.depth)


class _Object:
    """An object in the making: keys and values come in turn."""

    __slots__ = ("anchor", "depth", "inherited", "key", "members", "merging", "size")

    def __init__(self, anchor: str | None) -> None:
        self.anchor, self.size, self.depth = anchor, 1, 1
        self.members: dict[str, JSON] = {}
        self.key: str | None = None
        self.merging = False
        self.inherited: set[str] = set()

    def add(self, value: JSON, event: yaml.Event) -> None:
        """Take the next key, or the value of the last one. Raises ValueError, for a repeated key KeyError."""
        if self.merging:
            self.merging = False
            self._inherit(value)
        elif self.key is not None:
            self.members[self.key] = value
            self.key = None
        elif _is_merge_key(value, event):
            self.merging = True
        else:
            self.key = _key(value)
            if self.key in self.members and self.key not in self.inherited:
                raise KeyError(self.key)
            self.inherited.discard(self.key)

    def _inherit(self, value: JSON) -> None:
        # As in kubectl, keys before the merge key give way; the YAML proposal would keep them.
        for source in reversed(value if isinstance(value, list) else [value]):
            if not isinstance(source, dict):
                raise ValueError("a merge key << takes an object or a list of objects")  # noqa: TRY004  (text is at fault)
            self.inherited |= source.keys() - self.members.keys()
            self.members.update(source)

    def finished(self) -> _Value:
        """Return the object with its measures."""
        return _Value(self.members, self.size, self.depth)


def _is_merge_key(value: JSON, event: yaml.Event) -> bool:
    return value == "<<" and isinstance(event, yaml.ScalarEvent) and (event.implicit[0] or event.tag == _MERGE)


def _key(value: JSON) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    # Go formats a float key with 32 bits; six digits are what these bits always hold.
    if isinstance(value, float) and float(text := f"{value:g}") == value:
        return text
    raise ValueError(f"{value if isinstance(value, float) else type_name(value)} cannot be a key of a JSON object")


class _Builder:
    """Builds the values of a YAML text from the events of its parser."""

    def __init__(self, text: _Text) -> None:
        self.text = text
        self.open: list[_List | _Object] = []
        self.anchored: dict[str, _Value | None] = {}
        self.root: JSON = None
        self.line = 1
        self.expanded = 0

    def documents(self) -> Iterator[tuple[JSON, int]]:
        """Yield each document and the line of its content. Raises DocumentError."""
        try:
            for event in yaml.parse(self.text.data, Loader=_LOADER):
                if handle := _HANDLERS.get(type(event)):
                    if not self.open and event.start_mark:
                        self.line = event.start_mark.line + 1
                    handle(self, event)
                elif isinstance(event, yaml.DocumentEndEvent):
                    yield self.root, self.line
                    self.anchored.clear()
        except yaml.MarkedYAMLError as error:
            raise self._syntax_error(error) from None
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            raise self.text.error("invalid-yaml", f"not YAML: {error}".partition("\n")[0]) from None

    def scalar(self, event: yaml.ScalarEvent) -> None:
        """Take a scalar."""
        try:
            value = _scalar(event)
        except ValueError as error:
            raise self._error(event, "invalid-scalar", str(error)) from None
        if isinstance(value, float) and not isfinite(value):
            raise self._error(event, "not-a-number", f"JSON has no {event.value}", _QUOTING_HINT)
        size = len(event.value) + 1
        if event.anchor:
            self.anchored[event.anchor] = _Value(value, size, 0)
        self._add(value, event, size, 0)

    def alias(self, event: yaml.AliasEvent) -> None:
        """Take what an anchor names once more."""
        if event.anchor not in self.anchored:
            raise self._error(event, "undefined-alias", f"no anchor {event.anchor!r} stands before its alias")
        target = self.anchored[event.anchor]
        if target is None:
            raise self._error(event, "recursive-alias", f"the anchor {event.anchor!r} contains itself")
        self.expanded += target.size
        if self.expanded > _EXPANSION + _EXPANSION_RATIO * len(self.text.data):
            raise self._error(event, "too-large-expansion", "its aliases make it many times as large as it is written")
        self._check_depth(event, target.depth)
        self._add(target.value, event, target.size, target.depth)

    def start_list(self, event: yaml.SequenceStartEvent) -> None:
        """Open a list."""
        self._start(event, _List(event.anchor))

    def start_object(self, event: yaml.MappingStartEvent) -> None:
        """Open an object."""
        self._start(event, _Object(event.anchor))

    def _start(self, event: yaml.CollectionStartEvent, collection: _List | _Object) -> None:
        self._check_depth(event, 1)
        if collection.anchor:
            self.anchored[collection.anchor] = None
        self.open.append(collection)

    def end(self, event: yaml.CollectionEndEvent) -> None:
        """Close the innermost list or object."""
        collection = self.open.pop()
        finished = collection.finished()
        if collection.anchor:
            self.anchored[collection.anchor] = finished
        self._add(finished.value, event, finished.size, finished.depth)

    def _add(self, value: JSON, event: yaml.Event, size: int, depth: int) -> None:
        if not self.open:
            self.root = value
            return
        parent = self.open[-1]
        parent.size += size
        parent.depth = max(parent.depth, depth + 1)
        try:
            parent.add(value, event)
        except KeyError as error:
            raise self._error(event, "duplicate-key", f"the key {error} is there twice") from None
        except ValueError as error:
            raise self._error(event, "invalid-key", str(error), "keys are strings; quote it") from None

    def _check_depth(self, event: yaml.Event, depth: int) -> None:
        if len(self.open) + depth > MAX_DEPTH:
            raise self._error(event, "too-deep", f"it is nested more than {MAX_DEPTH} levels deep")

    def _syntax_error(self, error: yaml.MarkedYAMLError) -> DocumentError:
        problem = f"not YAML: {error.problem or error.context}"
        mark = error.problem_mark or error.context_mark
        hint = "indent with spaces, not tabs" if mark and self._is_tab(mark) else ""
        return self._error_at(mark, "invalid-yaml", problem, hint)

    def _is_tab(self, mark: _Mark) -> bool:
        lines = self.text.data.decode().splitlines()[mark.line : mark.line + 1]
        return any(line[mark.column : mark.column + 1] == "\t" for line in lines)

    def _error(self, event: yaml.Event, code: str, problem: str, hint: str = "") -> DocumentError:
        return self._error_at(event.start_mark, code, problem, hint)

    def _error_at(self, mark: _Mark | None, code: str, problem: str, hint: str) -> DocumentError:
        line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
        return DocumentError(problem, code=code, hint=hint, source=self.text.source, line=line, column=column)


_HANDLERS: Final[dict[type[yaml.Event], Callable[..., None]]] = {
    yaml.ScalarEvent: _Builder.scalar,
    yaml.AliasEvent: _Builder.alias,
    yaml.SequenceStartEvent: _Builder.start_list,
    yaml.MappingStartEvent: _Builder.start_object,
    yaml.SequenceEndEvent: _Builder.end,
    yaml.MappingEndEvent: _Builder.end,
}


def _scalar(event: yaml.ScalarEvent) -> JSON:
    text: str = event.value
    if event.style == '"':
        text.encode()  # refuses half a surrogate pair, which only an escape in quotes can write
    if event.tag and event.tag != "!":
        return _tagged(event.tag, text)
    return text if event.style or event.tag else resolve(text)


# --- YAML: from values to events -------------------------------------------------------------------------------------

_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_FOREIGN: Final = yaml.SafeLoader.yaml_implicit_resolvers
_NEVER_FOLD: Final = 2**30
_BRACKETS: Final = {
    True: (yaml.MappingStartEvent, yaml.MappingEndEvent),
    False: (yaml.SequenceStartEvent, yaml.SequenceEndEvent),
}
_ODD_BREAK: Final = re.compile("[\r\x85\u2028\u2029]")
_LITERAL: Final = re.compile(r"(?=\S)(?:[^\n]*\S)?(?:\n(?:[^\n]*\S)?)+")


def _stream_events(values: Iterable[JSON]) -> Iterator[yaml.Event]:
    yield yaml.StreamStartEvent()
    for index, value in enumerate(values):
        yield yaml.DocumentStartEvent(explicit=index > 0)
        yield from _events(value)
        yield yaml.DocumentEndEvent()
    yield yaml.StreamEndEvent()


def _events(root: JSON) -> Iterator[yaml.Event]:
    depth = 0
    pending: list[JSON | yaml.Event] = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, yaml.Event):
            depth -= 1
            yield node
        elif not isinstance(node, dict | list):
            yield _scalar_event(node)
        elif depth == MAX_DEPTH:
            raise DepthError(f"the value is nested more than {MAX_DEPTH} levels deep")
        else:
            depth += 1
            start, end = _BRACKETS[isinstance(node, dict)]
            yield start(None, None, implicit=True, flow_style=False)
            pending.append(end())
            pending.extend(reversed(node if isinstance(node, list) else list(chain.from_iterable(node.items()))))


def _scalar_event(value: JSON) -> yaml.ScalarEvent:
    if isinstance(value, str):
        style = "|" if _LITERAL.fullmatch(value) else '"' if _ODD_BREAK.search(value) else None
        return yaml.ScalarEvent(None, None, (_is_plain(value), True), value, style=style)
    if value is None or isinstance(value, bool | int | float):
        return yaml.ScalarEvent(None, None, (True, False), dump_json(value, indent=None))
    raise _not_json(f"a {type_name(value)}")


def _is_plain(text: str) -> bool:
    """Tell whether no reader of YAML takes the bare text for anything but a string."""
    if not isinstance(resolve(text), str) or _FLOAT.fullmatch(text):
        return False
    return not any(pattern.match(text) for _, pattern in _FOREIGN.get(text[:1], ()))
