"""Texts of documents, to compare how smp and kubectl read them.

Each has the object ``HEAD`` with a member ``v``, unless it is about how a text is cut
into documents. The same seed makes the same texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Final

HEAD: Final = "apiVersion: example.com/v1\nkind: Anything\nmetadata: {name: x}\n"
# The same as the beginning of a JSON text.
JSON_HEAD: Final = (
    '{"apiVersion": "example.com/v1", "kind": "Anything", "metadata": {"name": "x"}'
)

# Plain scalars that YAML 1.1, YAML 1.2 and Go have different rules for.
_SCALARS: Final = """
    y Y n N yes Yes YES yEs no NO on On oN off OFF true True tRue TRUE false FALSE ~
    null Null NULL nUll nil none undefined NaN nan .nan .NaN .NAN .inf -.inf +.INF
    .Inf 0 -0 +0 00 007 0777 08 09 -08 0o17 0O17 0o8 -0o17 +0o7 0x1F 0XfF 0x 0xg
    -0x1f 0b101 0b12 -0b101 0b-1 0b 1_000 1__0 _1 1_ 0x_1 0b1_0 0_7 0o7_7 1,000
    1.000,5 9223372036854775807 9223372036854775808 -9223372036854775808
    -9223372036854775809 18446744073709551615 18446744073709551616
    123456789012345678901234567890 9007199254740993 9007199254740993.0
    0x7fffffffffffffff 0xffffffffffffffff 0x1ffffffffffffffff
    01777777777777777777777 0o2777777777777777777777 1. 1.0 10.0 -1.0 -0.0 +1.0 .5
    -.5 +.5 5. 08.5 1.10 1e3 1E3 1e+3 1e-3 1.e3 1.5e3 1e18 1e19 1e20 1e21 1e22 1e308
    1e309 -1e400 1e-400 1e 1e+ e3 .e3 1.5.2 1.2.3 1..2 0.1 0.30000000000000004
    123456789.123456789 5e-324 1.7976931348623157e308 1_0.5 12:30 12:30:45 -1:30
    1:30.5 190:20:30 1:2 2001-12-14 2001-12-14T21:59:43Z
    2001-12-14t21:59:43.10-05:00 2001-1-1 20011214 10Gi 500m 1k 0.5Gi 100% 1/2 v1
    1.2.3.4 = << < > - -- --a -a ? ?a : :a a:b a: a#b #a @a `a %a &a &a_b *a !a !!a
    | > [a] {a} 'a' "a" "" '' 'it''s' "a\\tb" "\\x41" "\\u00e9" "\\U0001F600" "\\0"
    "\\/" "\\_" "\\N" "\\ud83d\\ude00" "\\ud800" "\\q" "a\\" 'a\\' a\\b a'b
    a"b é 日本 😀 a b
"""

_TAGS: Final = """
    !!str !!int !!float !!bool !!null !!binary !!timestamp !!set !!omap !!seq !!map
    !!merge !!value !!pairs !foo ! !!unknown !<tag:yaml.org,2002:str>
    !<tag:example.com,2000:x> !e!tag
"""
_TAGGED: Final = """
    5 5.5 abc ~ yes "5" 'yes' "" 0x10 1e3 1.0 aGVsbG8= /w== @ 2001-12-14 [] {} [a]
    [1,2] {a:} <<
"""

COLLECTIONS: Final = (
    "{<<: {a: 1, b: 2}, a: 3}",
    "{a: 3, <<: {a: 1, b: 2}}",
    "{<<: [{a: 1, c: 1}, {a: 2, b: 3}]}",
    "{<<: {a: 1}, <<: {b: 2}}",
    "{<<: 1}",
    "{<<: }",
    "{<<: ~}",
    "{<<: []}",
    "{<<: [1]}",
    "{<<: [[{a: 1}]]}",
    "{<<: {a: 1}, a: 2, a: 3}",
    "{'<<': {a: 1}}",
    '{"<<": {a: 1}}',
    "{!!merge '<<': {a: 1}}",
    "{!!str <<: {a: 1}}",
    "{<<: &x {a: 1}, b: *x}",
    "[&a {x: 1}, {<<: *a, y: 2}]",
    "[&a {<<: {x: 1}, z: 2}, {<<: *a, w: 3}]",
    "[&a 1, *a, &a 2, *a]",
    "[&a [1], *a]",
    "[*a]",
    "[*a, &a 1]",
    "&a [*a]",
    "{a: &a {b: *a}}",
    "{&k foo: 1, z: {*k : 2}}",
    "{&k foo: 1, z: {*k: 2}}",
    "[& a]",
    "[* a]",
    "[&a]",
    "[&a, *a]",
    "[&a !!str 1, *a]",
    "[!!str &a 1, *a]",
    "[&a &b 1]",
    "[&a-b.c/d 1, *a-b.c/d]",
    "{? a}",
    "{? a : b}",
    "{? [a] : b}",
    "{a}",
    "{a, b: 1}",
    "{a: }",
    "{: a}",
    "{,}",
    "{a: 1,}",
    "{a: 1,,}",
    "{a:1}",
    '{"a":1}',
    '{"a" :1}',
    "{'a':1}",
    "{a: [b, {c: d}], e: {f: []}}",
    "[a, b]",
    "[a, b,]",
    "[a,, b]",
    "[,]",
    "[a b, c]",
    "[a: b]",
    "[a: b, c: d]",
    "[? a : b]",
    "[: b]",
    "[a",
    "[a]]",
    "{a: b",
    "{a: b]",
    "[a}",
    "{a: 1, a: 2}",
    "{a: 1, 'a': 2}",
    "{1: a, '1': b}",
    "{y: 1, yes: 2}",
    "{1: a, 1.5: b, true: c, ~: d}",
    "{1.5: a}",
    "{true: a, off: b, y: c}",
    "{~: a}",
    "{null: a}",
    "{1.10: a, 1e3: b, 0x10: c, 1e-7: d}",
    "{1.23456789: a}",
    "{123456789012345678901234567890: a}",
    "{18446744073709551615: a}",
    "{.inf: a}",
    "{2001-12-14: a, 12:30: b}",
    "{!!str 1: a}",
    "{!!int '1': a}",
    "{!!binary aGVsbG8=: a}",
    "{[a]: b}",
    "{{a: 1}: b}",
    "{a: {b: {c: {d: {e: [[[[[]]]]]}}}}}",
    "{a #c\n  : b}",
    "{a: b #c\n  }",
    "[a, #c\n  b]",
    "[a#b, c]",
    "[a\n  b]",
    "[\n  a\n  ,\n  b\n  ]",
    "[\na\n]",
    "{\na: b\n}",
    "{a: b,\n\tc: d}",
    "{a: 'b\n  c'}",
    '{a: "b\\\n  c"}',
    "[http://a.b/c?d=e&f, a:b, ::]",
    "[-1, - 1, -]",
    "[--- a]",
    "[a ,b]",
    "[%a]",
    "[@a]",
    "[!a]",
    "[! a]",
    "[|]",
    "[1.0, 10.0, 1e2, -0.0]",
)

# What follows "v:" in block style.
BLOCKS: Final = (
    "\n- a\n- b",
    "\n  - a\n  - b",
    "\n- a\n  - b",
    "\n- - a\n  - b\n- c",
    "\n-\n  a\n- \n  b",
    "\n-\ta",
    "\n- \ta",
    "\n-\n\t- a",
    "\n- a: 1\n  b: 2\n- c: 3",
    "\n- a: 1\n   b: 2",
    "\n- a: 1\n b: 2",
    "\n-   a: 1\n    b: 2",
    "\n- ? a\n  : b",
    "\n  a: 1\n  b: 2",
    "\n  a: 1\n   b: 2",
    "\n  a: 1\n b: 2",
    "\n  a:\n    b:\n      c: 1\n  d: 2",
    "\n  a:\n  - 1\n  - 2\n  b: 3",
    "\n  a:\n  b:\n  c: 3",
    "\n  a: 1\n  a: 2",
    "\n  a: 1\n  b: 1\n  a:\n    c: 1",
    "\n\ta: 1",
    "\n  a:\n\t  b: 1",
    "\n  a:\t1",
    "\n  a: 1\t",
    "\n  a: 1 \t # c",
    "\n  a : 1",
    "\n  a:1",
    "\n  a:1\n  b: 2",
    "\n  a: b: c",
    "\n  a: 'b': c",
    "\n  ? a\n  : b",
    "\n  ? a\n  ? b",
    "\n  ? - a\n  : - b",
    "\n  ? |\n    a\n  : b",
    "\n  'a b': 1\n  \"c\\td\": 2",
    "\n  a b c: 1\n  d-e_f.g/h: 2",
    '\n  "a\nb": 1',
    "\n  <<: {a: 1}\n  b: 2",
    "\n  <<:\n    a: 1\n  b: 2",
    "\n  a: &x {c: 1}\n  b: *x",
    "\n  a: &x\n    c: 1\n  b:\n    <<: *x\n    d: 2",
    "\n  a: &x\n    c: 1\n  b:\n    <<: [*x]\n    c: 2",
    "\n  a: &x !!str\n    1\n  b: *x",
    " &x\n  a: 1",
    " !!map\n  a: 1",
    " !!seq\n- a",
    " &x\n- a\n- b",
    " &x a\nw: *x",
    " # comment\n  a: 1",
    "\n  # comment\n  a: 1\n  # more\n  b: 2 # end\n# last",
    "\n# comment\n  a: 1",
    "\n    # comment\n  a: 1",
    "\n  a: b#c\n  d: e #f\n  g: #h\n  i: '#'",
    " a b\n  c d\n\n  e",
    " a\nb",
    " a\n b\n  c",
    " a\n  # comment\n  b",
    " a #c\n  b",
    "\n  a\n  b",
    "\n\n\n  a",
    " 'a\n  b\n\n  c'",
    " 'a\n\n\n  b '",
    ' "a\n  b\n\n  c"',
    ' "a \\\n  b\\n\\\n  c"',
    ' "a\n\tb"',
    ' "a\\\n\\tb"',
    " 'a\nb'",
    ' "a\nb"',
    ' "a',
    " 'a",
    " 'a' b",
    ' "a" b',
    ' "a"b',
    " 'a' # c",
    " 'a'# c",
    " a\n---\n",
    " a\n...\n",
    " [a,\nb]",
    " [\n  a, b\n  ]",
    " {a: 1,\n  b: 2}",
    "\n  - a\n  b: c",
    "\n- a\nb",
    "\n- a\n\n\n- b\n\n",
    "\n- |\n  a\n- >\n  b\n  c\n- 'd'",
    "\n- |\n a\n- b",
    "\n-\n-\n- ",
    "\n- # c\n- a",
    "\n- &x a\n- *x\n- !!str 1",
    "\n- [a]\n- {b: 1}\n- - c\n  - {d: e}",
    "\n- a:\n  - b:\n    - c: 1\n      d: 2",
    "\n-\n  - a\n -\n  - b",
)

# A block scalar is a header and lines, and then the end of the text.
BLOCK_HEADERS: Final = (
    *("|", ">", "|-", ">-", "|+", ">+", "|2", ">1", "|2-", "|-2", "|+1", "|0", "|10"),
    *("| # c", "|#c", "| c", "|-+", "&x |", "!!str |", "!!int |", "|\t", ">  "),
)
BLOCK_BODIES: Final = (
    "",
    "  a",
    "  a\n  b",
    "  a\n\n  b",
    "  a\n\n\n  b",
    "  a\n   b\n  c",
    "  a\n\n   b\n\n  c",
    "\n  a",
    "\n\n  a\n  b",
    "   \n  a",
    " \n  a",
    "  \n\n",
    "    a\n  b",
    "  a\n b",
    " a\n b",
    "  # a\n  b",
    "  a\n# b",
    "  a\n # b\n  c",
    "  a  \n  b\t",
    "  \ta\n  \tb",
    "\ta",
    "  a\n\tb",
    "  a: b\n  - c",
    "  a\\n\\\n  'b' \"c\"",
    "  é\u2028x\n  \u0085y",
    "  ---\n  ...",
    "  a\n   ",
    "  a\n   \n\n  ",
    "  - a\n   - b\n  - c",
    "  a\r\n  b\r",
    "  1",
)
ENDS: Final = ("", "\n", "\n\n", "\n\n\n", "\n  \n", "\n# c", "\nw: 1", "\n...\n")

SEPARATORS: Final = (
    *("---\n", "--- \n", "---\t\n", "--- # c\n", "---# c\n", "---\r\n", "----\n"),
    *("---a\n", "--- a\n", "--- {}\n", "--- |\n", "---\n---\n", "---\n\n---\n"),
    *("...\n", "...\n---\n", "... # c\n---\n", "...\n...\n---\n", " ---\n", "\n"),
    *(
        "---\n# c\n---\n",
        "---\n...\n---\n",
        "---\n%YAML 1.1\n---\n",
        "...a\n",
        "-- -\n",
    ),
    *("...\n%YAML 1.2\n---\n", "---\nnull\n---\n", "---\n~\n---\n", "---\n''\n---\n"),
    *("---\n- a\n---\n", "---\nx\n---\n", "---\n5\n---\n", "---\n[\n---\n", "# ---\n"),
    *(
        "---\n{}\n---\n",
        "---\n[]\n---\n",
        "---\n \n---\n",
        "---\n\t\n---\n",
        "---\r---\n",
    ),
)
BEGINNINGS: Final = (
    *(
        "",
        "\n",
        "\n\n",
        " \n",
        "\t\n",
        "# c\n",
        "  # c\n",
        "\t# c\n",
        "---\n",
        "--- # c\n",
    ),
    *("# c\n---\n", "\n---\n", " \n---\n", "---\n---\n", "...\n", "...\n---\n", "\r\n"),
    *("%YAML 1.1\n---\n", "%YAML 1.2\n---\n", "%YAML 2.0\n---\n", "%YAML 1.1\n"),
    *("%TAG !e! tag:yaml.org,2002:\n---\n", "%FOO bar\n---\n", "# c\n%YAML 1.1\n---\n"),
    *("%YAML 1.1 x\n---\n", "%YAML 1.1\n%YAML 1.1\n---\n", "---\n%YAML 1.1\n---\n"),
    *(
        "\ufeff",
        "\ufeff---\n",
        "\ufeff# c\n",
        " \ufeff",
        "---\n\ufeff",
        "\u0000",
        "\x0c",
    ),
)

# The values of a JSON member, some of which JSON does not have.
JSON_MEMBERS: Final = (
    *(
        "10.0",
        "1.0",
        "-1.0",
        "0.0",
        "-0.0",
        "-0",
        "1e3",
        "1E+3",
        "1.5e1",
        "1e-3",
        "1e21",
    ),
    *(
        "1e20",
        "1e400",
        "-1e400",
        "1e-400",
        "9223372036854775807",
        "9223372036854775808",
    ),
    *("18446744073709551615", "123456789012345678901234567890", "9007199254740993"),
    *(
        "9007199254740993.0",
        "0.1",
        "1.10",
        "0.30000000000000004",
        "01",
        "1.",
        ".5",
        "+1",
    ),
    *(
        "0x10",
        "1_000",
        "NaN",
        "Infinity",
        "-Infinity",
        "nan",
        "yes",
        "True",
        "null",
        "~",
    ),
    *("undefined", "'a'", "a", "[1.0, 2.50, [3.0]]", '{"a": 10.0, "b": {"c": 1e2}}'),
    *(
        '"a"',
        '"\\u00e9"',
        '"\\ud83d\\ude00"',
        '"\\ud800"',
        '"\\udc00x"',
        '"\\q"',
        '"\\/"',
    ),
    *('"a\tb"', '"a\nb"', '"\\x41"', '"é"', '"\u2028"', '"<&>"', '"\\u0000"', '"\x7f"'),
    *(
        '"10.0"',
        '"a',
        "[1, 2,]",
        '{"a": 1,}',
        "[1 2]",
        "[,]",
        '{"a" 1}',
        "{a: 1}",
        "[",
        "{",
    ),
    *(
        '{"a": 1, "a": 2}',
        '{"a": 1, "\\u0061": 2}',
        '{"A": 1, "a": 2}',
        '{"": 1}',
        "[]",
    ),
    *(
        "{}",
        "[[]]",
        "[null]",
        "/* c */ 1",
        "1 // c",
        "1 # c",
        "[1,\n# c\n2]",
        "[1,\n\t2]",
    ),
    *(
        '{"<<": {"a": 1}}',
        "!!str 1",
        "&a 1",
        "[&a 1, *a]",
        "{1: 2}",
        '{"a":1,"b":[{}]}',
    ),
)
# Texts after a JSON text.
JSON_SEQUELS: Final = (
    *(
        "",
        "\n",
        " \n\n",
        "\n\t",
        "\r\n",
        "\n# c\n",
        "\n---\n",
        "\n...\n",
        ",",
        "\n}",
        "x",
    ),
    *(
        "\n---\n{}\n",
        "\nnull\n",
        "\n[]\n",
        "\n1\n",
        '\n"a"\n',
        "\n{",
        "\n\u0000",
        "\ufeff",
    ),
)

LISTS: Final = (
    "{kind: List, apiVersion: v1, items: [@, @]}",
    "{kind: List, apiVersion: v1, items: []}",
    "{kind: List, apiVersion: v1, items: null}",
    "{kind: List, apiVersion: v1, items: ~}",
    "{kind: List, apiVersion: v1}",
    "{kind: List, apiVersion: v1, metadata: {resourceVersion: ''}, items: [@]}",
    "{kind: List, apiVersion: v1, items: [{kind: List, apiVersion: v1, items: [@]}]}",
    "{kind: PodList, apiVersion: v1, items: [{metadata: {name: a}}]}",
    "{kind: PodList, apiVersion: v1, items: [{kind: Pod, metadata: {name: a}}]}",
    "{kind: PodList, apiVersion: v1, items: [{apiVersion: v1, metadata: {name: a}}]}",
    "{kind: PodList, apiVersion: v1, items: [@]}",
    "{kind: PodList, apiVersion: v1, items: null}",
    "{kind: PodList, apiVersion: v1, items: [null, @]}",
    "{kind: PodList, apiVersion: v1, items: [{}, @]}",
    "{kind: FooList, apiVersion: a.b/v1, items: [{metadata: {name: a}, v: 1.0}]}",
    "{kind: Foo, apiVersion: a.b/v1, items: [@], metadata: {name: l}}",
    "{kind: F, apiVersion: a/v1, items: [{metadata: {name: a}}], metadata: {name: l}}",
    "{kind: Foo, apiVersion: a.b/v1, items: [x], metadata: {name: l}}",
    "{kind: Foo, apiVersion: a.b/v1, items: {x: 1}, metadata: {name: l}}",
    "{kind: Foo, apiVersion: a.b/v1, items: null, metadata: {name: l}}",
    "{kind: Foo, apiVersion: a.b/v1, items: '', metadata: {name: l}}",
    "{kind: Foo, apiVersion: a.b/v1, items: [], metadata: {name: l}}",
    "{kind: Foo, apiVersion: a.b/v1, items: [[@]], metadata: {name: l}}",
    "{kind: List, items: [@]}",
    "{kind: '', apiVersion: v1, items: [@]}",
    "{kind: 5, apiVersion: v1, items: [@], metadata: {name: l}}",
    "{kind: Foo, apiVersion: 5, metadata: {name: l}}",
    "{kind: Foo, apiVersion: '', metadata: {name: l}}",
    "{kind: Foo, apiVersion: v1, metadata: {name: 5}}",
    "{apiVersion: v1, items: [@]}",
    "{items: [@]}",
)
_ITEM: Final = "{apiVersion: example.com/v1, kind: Anything, metadata: {name: x}}"
_WORDS: Final = (
    *(
        "a",
        "name",
        "key-1",
        "a.b/c",
        "x_y",
        "80",
        "8080",
        "true",
        "no",
        "1.0",
        "10",
        "null",
    ),
    *(
        "é",
        "日本",
        "",
        " ",
        "a b",
        "a: b",
        "a #b",
        "- a",
        "#",
        "'",
        '"',
        "0x1",
        "1e3",
        "~",
    ),
    *(
        "line\nline\n",
        "a\n\nb",
        "tab\tb",
        "x" * 90,
        "1_0",
        "=",
        "2001-01-01",
        "\\",
        "a,b",
    ),
)


def texts(seed: int = 7) -> Iterator[tuple[str, str | bytes]]:
    """Yield each text with the name of its group."""
    random = Random(seed)
    yield from _scalars_and_collections(random)
    yield from _rows_of_documents()
    yield from _characters()
    for number in range(400):
        value = _random_value(random, 3)
        yield "random", f"{HEAD}{_written(random, {'v': value}, number)}"


def random_texts(count: int, seed: int = 29) -> Iterator[str]:
    """Yield random rows of documents, some of them with line ends of other systems."""
    random = Random(seed)
    for _ in range(count):
        documents = [
            _random_document(random) for _ in range(random.choice((1, 1, 2, 3)))
        ]
        text = documents[0]
        for document in documents[1:]:
            between = random.choice(_BETWEEN) if random.randrange(3) else "---\n"
            text += random.choice(("", "\n", "\n")) + between + document
        if random.randrange(5) == 0:
            text = random.choice(BEGINNINGS) + text
        yield _with_line_ends(random, _damaged(random, text))


_BETWEEN: Final = (*SEPARATORS, *JSON_SEQUELS)
_LINE_ENDS: Final = ("\r\n", "\r\n", "\r", "\r\r\n", "\n\r", "\u2028", "\x85")
_PIECES: Final = (
    *("\t", " ", "#", ":", "-", "[", "]", "{", "}", "'", '"', "&a ", "*a", "!", "|"),
    *(">", "%", "@", "`", ",", "\n", "\r", "\r\n", "\n---\n", "---", "\n...\n", "..."),
    *("\ufeff", "\x00", "\x85", "\u2028", "<<: *a", "!!str ", "? ", "- ", ": ", "\\"),
)


def _random_document(random: Random) -> str:
    style = random.randrange(8)
    if style == 0:
        members = random.choice(JSON_MEMBERS)
        return f'{JSON_HEAD}, "v": {members}}}' + random.choice(("", "\n", " "))
    if style == 1:
        value = _random_value(random, 3)
        return (
            f'{JSON_HEAD}, "v": {json.dumps(value, indent=random.choice((None, 1)))}}}'
        )
    if style == 2:
        return f"{HEAD}v: {random.choice(_SCALARS.split())}\n"
    if style == 3:
        return (
            f"{HEAD}v: {random.choice(COLLECTIONS)}\nw: {random.choice(COLLECTIONS)}\n"
        )
    if style == 4:
        return f"{HEAD}v:{random.choice(BLOCKS)}\nw:{random.choice(BLOCKS)}\n"
    if style == 5:
        header, body = random.choice(BLOCK_HEADERS), random.choice(BLOCK_BODIES)
        return f"{HEAD}v: {header}\n{body}{random.choice(ENDS)}"
    if style == 6 and random.randrange(20) == 0:
        return HEAD + _aliases(random)
    value = _random_value(random, 4)
    return HEAD + "".join(
        _block(random, {"v": value, "w": _random_value(random, 2)}, 0)
    )


def _aliases(random: Random) -> str:
    """Write levels of aliases, each of the level before."""
    width, levels = random.choice((2, 5, 10)), random.randrange(2, 6)
    lines = ["l0: &l0 [" + ", ".join("a" * width) + "]"]
    for level in range(1, levels + 1):
        members = ", ".join([f"*l{level - 1}"] * width)
        lines.append(f"l{level}: &l{level} [{members}]")
    return "\n".join(lines) + "\n"


def _damaged(random: Random, text: str) -> str:
    """Insert, remove or replace something in two texts of three."""
    for _ in range(random.choice((0, 1, 2))):
        place = random.randrange(len(text) + 1)
        after = place + random.choice((0, 0, 1, 2))
        text = text[:place] + random.choice((*_PIECES, "")) + text[after:]
    return text


def _with_line_ends(random: Random, text: str) -> str:
    """Write some or all line ends as other systems do, in one text of five."""
    if random.randrange(5):
        return text
    end = random.choice(_LINE_ENDS)
    if random.randrange(2):
        return text.replace("\n", end)
    lines = text.split("\n")
    written = lines[0]
    for line in lines[1:]:
        written += random.choice(("\n", "\n", end)) + line
    return written


def _scalars_and_collections(random: Random) -> Iterator[tuple[str, str]]:
    for scalar in _SCALARS.split():
        yield "scalars", f"{HEAD}v: {scalar}\n"
        yield "scalars in lists", f"{HEAD}v: [{scalar}]\nw:\n- {scalar}\n"
    for tag in _TAGS.split():
        for text in _TAGGED.split():
            yield "tags", f"{HEAD}v: {tag} {text}\n"
    for text in COLLECTIONS:
        yield "flow style", f"{HEAD}v: {text}\n"
    for text in BLOCKS:
        yield "block style", f"{HEAD}v:{text}\n"
        yield "block style, CRLF", f"{HEAD}v:{text}\n".replace("\n", "\r\n")
    for header in BLOCK_HEADERS:
        for body in BLOCK_BODIES:
            end = random.choice(ENDS)
            yield "block scalars", f"{HEAD}v: {header}\n{body}{end}"
    for body in BLOCK_BODIES:
        for end in ENDS:
            yield "block scalars", f"{HEAD}v: |\n{body}{end}"


def _rows_of_documents() -> Iterator[tuple[str, str]]:
    for beginning in BEGINNINGS:
        yield "beginnings", f"{beginning}{HEAD}v: 1\n"
        yield "beginnings", f"{beginning}{JSON_HEAD}}}\n"
    for separator in SEPARATORS:
        yield "separators", f"{HEAD}v: 1\n{separator}{HEAD}v: 2\n"
        yield "separators", f"{HEAD}v: 1\n{separator}"
        yield "separators", f"{separator}{HEAD}v: |\n  a\n{separator}{HEAD}v: 2"
    for member in JSON_MEMBERS:
        yield "JSON", f'{JSON_HEAD}, "v": {member}}}\n'
        yield "JSON in YAML", f'---\n{JSON_HEAD}, "v": {member}}}\n'
    for sequel in JSON_SEQUELS:
        yield "JSON texts", f"{JSON_HEAD}}}{sequel}"
        yield "JSON texts", f'{JSON_HEAD}}}{sequel}{JSON_HEAD}, "v": 10.0}}\n'
        yield "JSON and YAML", f"{JSON_HEAD}}}{sequel}{HEAD}v: 2\n"
    for text in LISTS:
        yield "lists", text.replace("@", _ITEM) + "\n"
        yield "lists", f"---\n{text.replace('@', _ITEM)}\n---\n{HEAD}"


def _characters() -> Iterator[tuple[str, str | bytes]]:
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp1252"):
        yield "encodings", f"{HEAD}v: é\n".encode(encoding)
        yield "encodings", f"{JSON_HEAD}}}\n".encode(encoding)
    for data in (
        b"\xff",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\xf0\x9f\x98",
        b"\x80",
        b"\xc0\xaf",
    ):
        yield "encodings", HEAD.encode() + b"v: a" + data + b"b\n"
        yield "encodings", JSON_HEAD.encode() + b', "v": "' + data + b'"}\n'
    for character in "\x00\x01\x07\x0b\x0c\x1b\x7f\x80\x85\x9f\u2028\ufeff\ufffe\uffff":
        yield "characters", f"{HEAD}v: a{character}b\n"
        yield "characters", f'{HEAD}v: "a{character}b"\n'
        yield "characters", f"{HEAD}v: a # {character}\n"


def _random_value(random: Random, depth: int) -> object:
    kind = random.randrange(6) if depth else 0
    if kind < 2:
        return random.choice((*_WORDS, 5, 1.5, True, None))
    count = random.randrange(4)
    if kind == 2:
        return [_random_value(random, depth - 1) for _ in range(count)]
    return {
        random.choice(_WORDS): _random_value(random, depth - 1) for _ in range(count)
    }


def _written(random: Random, value: object, number: int) -> str:
    """Write a value in random styles; one text in four is then damaged."""
    text = "".join(_block(random, value, 0))
    if number % 4 == 0:
        place = random.randrange(len(text))
        text = text[:place] + random.choice("\t #:-[]{}'\"&*!|>%@,\n") + text[place:]
    if number % 5 == 0:
        text = text.replace("\n", "\r\n")
    return text


def _block(random: Random, value: object, indent: int) -> Iterator[str]:
    pad = " " * indent
    if isinstance(value, dict) and value:
        for key, member in value.items():
            yield f"{pad}{_scalar(random, key)}:"
            yield from _member(random, member, indent)
    elif isinstance(value, list) and value:
        for element in value:
            yield f"{pad}-"
            yield from _member(random, element, indent)
    else:
        yield f"{pad}{_flow(random, value)}\n"


def _member(random: Random, value: object, indent: int) -> Iterator[str]:
    if random.randrange(8) == 0:
        yield random.choice((" # comment", " ", "\t", " &x", " !!str"))
    is_collection = isinstance(value, dict | list) and bool(value)
    if is_collection and random.randrange(4):
        yield "\n"
        if random.randrange(8) == 0:
            yield "\n# comment\n"
        yield from _block(random, value, indent + random.choice((2, 2, 2, 4)))
    elif isinstance(value, str) and value and random.randrange(3) == 0:
        pad = " " * (indent + 2)
        yield f" {random.choice(('|', '>', '|-', '|+', '>-'))}\n"
        yield "".join(f"{pad}{line}\n" for line in value.split("\n"))
    else:
        yield f" {_flow(random, value)}\n"


def _flow(random: Random, value: object) -> str:
    if isinstance(value, dict):
        members = [
            f"{_scalar(random, key)}: {_flow(random, member)}"
            for key, member in value.items()
        ]
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(random, element) for element in value) + "]"
    return _scalar(random, value)


def _scalar(random: Random, value: object) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    style = random.randrange(3)
    if style == 0 and "\n" not in value:
        return value
    if style == 1:
        return "'" + value.replace("'", "''") + "'"
    return json.dumps(value, ensure_ascii=random.randrange(2) == 0)
