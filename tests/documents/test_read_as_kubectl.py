"""The reader against what kubectl made of texts, recorded by tests.record.documents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from random import Random
from typing import Any, Final

import pytest

from smp._values.values import JSON, as_text, same
from smp.documents import MAX_BYTES, _yaml_reader, chunks, parse, read
from smp.documents._scalars import as_go_prints
from smp.documents._text import Text
from smp.documents._yaml_lines import value_of_lines
from smp.errors import DocumentError
from tests.record.documents import recorded, recorded_random, text_of
from tests.support.paths import DOCS

# The classes of texts that are read in another way on purpose, or by another library:
# how our error begins (code: problem), or kubectl's message. docs/deviations.md has a
# row for each.
STRICTER: Final = {
    # Of two equal keys kubectl does not look at what the first has.
    "duplicate keys": r"duplicate-key|invalid-key: null",
    "text that is not Unicode": r"invalid-encoding|invalid-json: .*(?:truncated|utf-16)"
    r"|invalid-scalar: .*UTF-8",
    "NaN and infinity": r"not-a-number",
    "keys that are floats": r"invalid-key: [\d.]+ cannot be a key",
    "text after a document": r"invalid-yaml: .*(?:document start|%YAML directive"
    r"|no line --- before it|comment of the separator|document separator)",
    "byte order marks": r"invalid-yaml: a byte order mark",
    "two carriage returns": r"invalid-yaml: .*two carriage returns",
    "YAML that libyaml refuses": r"invalid-yaml: .*(?:unexpected ':'|unknown escape"
    r"|whitespace or line break|incompatible YAML|mapping values|end of the stream"
    r"|expected key\b|node content|could not find expected ':')"
    r"|invalid-json: .*invalid character",
}
MORE_LENIENT: Final = {
    "directives": r"document start|incompatible YAML|directive|comment or line break",
    "YAML that go-yaml refuses": r"unknown escape|expected ',' or|start any token"
    r"|node content|expected key\b|mapping values|in string literal|expected ':'",
    "many aliases": r"excessive aliasing",
    "tags that do not fit": r"cannot decode !!\w+ `.*` as a !!",
    "YAML after JSON": r"invalid character .* (?:looking for beginning|in numeric)"
    r"|unexpected EOF",
    "what is no object": r"type info|cannot unmarshal|is not a list|unsupported map",
}
OTHER_VALUES: Final = {"integers beyond 64 bits"}


class Reading:
    """What the reader makes of a text, in the terms of a recorded row."""

    def __init__(self, data: bytes, *, first_only: bool = False) -> None:
        """Read a text; of each of its parts ``first_only`` the first document."""
        self.objects: list[JSON] = []
        self.others: list[JSON] = []
        self.no_objects = 0
        self.error = ""
        try:
            for chunk in chunks(BytesIO(data), "f", MAX_BYTES):
                if first_only:
                    self._add_first(chunk.data)
                    continue
                for document in parse(chunk):
                    self._add(document.value)
        except DocumentError as error:
            self.error = f"{error.code}: {error.problem}"

    def _add_first(self, data: bytes) -> None:
        # The separators of a part stand before its content.
        content = re.split(rb"^---.*\n", data, flags=re.MULTILINE)[-1]
        if content.startswith(b"..."):
            return
        value, _ = _yaml_reader.parse_first(Text(content, "f"))
        if value is not None:
            self._add(value)

    def _add(self, value: JSON) -> None:
        if not isinstance(value, dict):
            self.no_objects += 1
        elif as_text(value.get("kind")):
            self.objects.append(value)
        else:
            self.others.append(value)

    @property
    def values(self) -> list[JSON]:
        return [self.objects, self.others, self.no_objects]


def difference(row: dict[str, Any]) -> str:
    """Name the class of texts that explains a difference; empty where there is none."""
    ours = Reading(text_of(row))
    # What has no kind is in a message of kubectl as it was written: 10.0.
    theirs: list[JSON] = [row["objects"], _as_go(row["others"]), row["no_objects"]]
    if row["error"]:
        nothing = "no objects passed to patch" in row["error"]
        # Where both refuse a text, one may have read more of it before.
        if ours.error or (nothing and not any(ours.values)):
            return ""
        return _class_of(row["error"], MORE_LENIENT)
    if ours.error:
        name = _class_of(ours.error, STRICTER)
        if not name.startswith("unexplained"):
            return name
        # What is wrong stands in what kubectl does not look at.
        first = Reading(text_of(row), first_only=True)
        dropped = same(_as_float(first.values), _as_float(theirs))
        return "text after a document" if dropped else name
    if same(ours.values, theirs):
        return ""
    if same(_as_float(ours.values), _as_float(theirs)):
        return "integers beyond 64 bits"
    return f"unexplained: {ours.values}"


def _class_of(message: str, classes: dict[str, str]) -> str:
    for name, pattern in classes.items():
        if re.search(pattern, message):
            return name
    return f"unexplained: {message}"


def _as_go(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {name: _as_go(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_as_go(element) for element in value]
    return as_go_prints(value) if isinstance(value, float) else value


def _as_float(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {_key(key): _as_float(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_as_float(element) for element in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return float(value)
    return value


def _key(key: str) -> str:
    # Go formats a float key with the precision of 32 bits.
    return f"{float(key):.8g}" if key.isdigit() and len(key) > len(str(2**64)) else key


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return recorded()


def test_texts_are_read_as_kubectl_reads_them(rows: list[dict[str, Any]]) -> None:
    assert unexplained(rows) == []
    assert len(rows) > 4000  # as many as were recorded, roughly


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\r---\rb: 2\r",
        "a: 1\r---\nb: 2\n",
        "a: 1\u2028---\u2028b: 2\n",
        "a: 1\n--- # c\rb: 2\n",
        '\ufeff{"a": 1}---\nb: 2\n',
        '\ufeff{"a": 1}{"b": 2}\n',
        "a: >-\r\r\n  v1\r\r\n",
    ],
)
def test_what_kubectl_drops_is_an_error(text: str) -> None:
    """kubectl reads ``{"a": 1}``, and of the last text ``{"a": "v1"}``."""
    for given in (text, text.encode()):
        with pytest.raises(DocumentError) as caught:
            read(given)
        assert caught.value.code in ("invalid-yaml", "invalid-json")


HEAD: Final = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"


def test_a_byte_order_mark_is_one_at_the_head_of_a_document_only() -> None:
    """Go: YAMLReader, by whose texts go-yaml parses; the library reads no such text."""
    value = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}
    for separator in ("---\n", "--- # c\n", "---\r\n"):
        found = read(f"{HEAD}{separator}\ufeff{HEAD}")
        assert [each.value for each in found] == [value, value]
    for text in (
        # A key that begins with the mark, also behind the first separator.
        f"---\n\ufeff{HEAD}",
        f"{HEAD}data:\n\ufeff  a: b\n",
        # Errors of kubectl that libyaml does not see.
        f"{HEAD}\ufeff# comment\ndata: {{a: b}}\n",
        f"{HEAD}\n\ufeff\n",
    ):
        with pytest.raises(DocumentError, match="byte order mark"):
            read(text)


def test_utf_16_has_no_separators() -> None:
    """kubectl looks for them in bytes, and reads the first document."""
    assert [each.value for each in read("a: 1\n".encode("utf-16"))] == [{"a": 1}]
    with pytest.raises(DocumentError, match="kubectl drops"):
        read("a: 1\n\u2028---\u2028b: 2\n".encode("utf-16"))


def unexplained(rows: list[dict[str, Any]]) -> list[tuple[str, bytes, str, str]]:
    """Return the texts that are read in another way, of which no class tells why."""
    found = []
    for row in rows:
        name = difference(row)
        if name.startswith("unexplained"):
            found.append((row["group"], text_of(row), row["error"], name))
    return found


@pytest.mark.parametrize(
    "step", [10, pytest.param(1, marks=pytest.mark.exhaustive)], ids=["some", "all"]
)
def test_random_texts_are_read_as_kubectl_reads_them(step: int) -> None:
    """Recorded from kubectl 1.37.1, a third of them in parts, or with odd line ends."""
    rows = recorded_random()
    assert len(rows) > 15_000
    assert unexplained(rows[::step]) == []


def test_the_documentation_has_every_class_and_no_other(
    rows: list[dict[str, Any]],
) -> None:
    # Lines that end with two carriage returns, and many aliases, are in random texts.
    seen = Counter(difference(row) for row in (*rows, *recorded_random()))
    classes = {*STRICTER, *MORE_LENIENT, *OTHER_VALUES}
    assert {*seen} - {""} == classes
    text = (DOCS / "deviations.md").read_text("utf-8")
    _, _, section = text.partition("## Stricter than kubectl")
    section, _, _ = section.partition("\n## ")
    assert {*re.findall(r"^\| ([^|]+?) \|", section, re.MULTILINE)} - {
        "what",
        "---",
    } == classes


def texts_of_lines(rows: list[dict[str, Any]]) -> Iterator[Text]:
    """Yield the recorded texts, with their head in block style as well."""
    for row in rows:
        data = text_of(row)
        for text in (
            data,
            data.replace(b"metadata: {name: x}", b"metadata:\n  name: x"),
        ):
            try:
                yield Text(text, "f")
            except DocumentError:
                continue


def test_reading_line_by_line_gives_what_the_library_gives(
    rows: list[dict[str, Any]],
) -> None:
    read = 0
    for text in texts_of_lines(rows):
        found = value_of_lines(text.data.decode())
        if found is None:
            continue
        read += 1
        [expected] = _yaml_reader.parse_documents(text)
        assert same([*found], [*expected]), text.data
    assert read > 500  # all others are left to the library


def test_a_changed_text_is_read_as_the_library_reads_it_or_left_to_it(
    rows: list[dict[str, Any]],
) -> None:
    random = Random(11)
    texts = [
        text.data.decode()
        for text in texts_of_lines(rows)
        if value_of_lines(text.data.decode()) is not None
    ]
    for _ in range(4000):
        text = random.choice(texts)
        place = random.randrange(len(text))
        inserted = random.choice(" \n-:#|'\"[]{},&*!?%<=.0eyn\\")
        changed = text[:place] + inserted + text[place + random.randrange(3) :]
        found = value_of_lines(changed)
        if found is not None:
            [expected] = _yaml_reader.parse_documents(Text(changed, "f"))
            assert same([*found], [*expected]), changed
