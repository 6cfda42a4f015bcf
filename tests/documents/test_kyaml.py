"""KYAML is written as kubectl writes it, and read back as what was written."""

from __future__ import annotations

from typing import Final

import yaml
from hypothesis import given
from hypothesis import strategies as st

from smp import documents
from smp._values.values import JSON, same
from smp.documents import dump_kyaml
from tests.support.kubectl import label_local, needs_kubectl

# What is plain, what is ambiguous, and what is neither, as keys.
KEYS: Final = (
    *(
        "a",
        "a.b/c",
        "a-b",
        "_",
        "_a",
        "a_",
        "é",
        "中",
        "½",
        "-a",
        "a-",
        ".a",
        "a.",
        "/a",
    ),
    *("a/", "a:b", "a=b", "a,b", "yes", "No", "oN", "off", "y", "N", "t", "F", "true"),
    *("null", "~", "1", "0", "08", "0x1F", "0xg", "0b1", "0b2", "0o7", "0o", "1_000"),
    *("_-01", "1e3", "1e", "1.5", "1.5.5", "1.", "0x1p4", "0x1p", "inf", "Infinity"),
    *("nan", "2024-01-02", "2024-2-29", "0000-02-29", "9223372036854775807"),
    *("9223372036854775808", "777777777777777777777777"),
)
# Those that Go leaves plain, although a reader takes them for a number or a date.
TAKEN_FOR_OTHERS: Final = ("0xffffffffffffffff", "1e999", "2024-13-01", "2023-2-29")
TEXTS: Final = (
    *(
        "",
        "a",
        "1",
        "true",
        " a ",
        '"',
        "\\",
        "a\tb",
        "\t",
        "é中😀",
        "\x00\x07\x1b\x7f",
    ),
    *("\u00a0", "\u2028\u2029", "\u3000", "\U000e0001", "\r", "#", "a: b", "%a", "---"),
    *("a\n", "a\nb", "\n", "\n\n", "a\n\n  b\n\tc\n", " a\nb ", "a\r\nb\r\n", '"\n\\'),
)
NUMBERS: Final = (0, -1, 2**53, 1.5, -0.25, 1e16, 1e20, 1e21, 1e-6, 1.5e-7, -1e22, 0.1)


def config_map(data: JSON) -> JSON:
    """Return an object that kubectl prints as it is, but for the order of its keys."""
    return {
        "apiVersion": "v1",
        "data": data,
        "kind": "ConfigMap",
        "metadata": {"labels": {"a": "b"}, "name": "x"},
    }


@needs_kubectl
def test_it_is_what_kubectl_prints() -> None:
    custom: JSON = {
        "apiVersion": "example.com/v1",
        "kind": "Some",
        "metadata": {"labels": {"a": "b"}, "name": "x"},
        "spec": {
            "cuddled": [{"a": [[1], [], {}]}, {}, [{"b": None}]],
            "mixed": [1, {"a": True}, ["x\ny"], False],
            "numbers": list(NUMBERS),
        },
    }
    texts = {f"k{index}": text for index, text in enumerate(TEXTS)}
    # kubectl cannot print DEL; it is in the other test.
    printable: dict[str, JSON] = {
        name: text.replace("\x7f", "") for name, text in texts.items()
    }
    keys: JSON = dict.fromkeys(sorted(KEYS, key=str.encode), "")
    wrong = []
    for value in (
        config_map(keys),
        config_map(dict(sorted(printable.items()))),
        custom,
    ):
        printed = label_local(value, "a=b", "kyaml")
        if dump_kyaml([value]) != printed:
            wrong.append((dump_kyaml([value]), printed))
    assert wrong == []


RECORDED: Final = """\
---
{
  "yes": "a",
  k: [{
    "t": "\\
       a\\n\\
      \\  b\\n\\
      ",
  }, {}],
  "n": [
    1,
    "x",
  ],
  e: {},
}
"""


def test_it_is_what_kubectl_printed() -> None:
    """As 1.37.1 does, where there is no kubectl."""
    value = {"yes": "a", "k": [{"t": "a\n  b\n"}, {}], "n": [1, "x"], "e": {}}
    assert dump_kyaml([value]) == RECORDED


def test_nothing_is_lost() -> None:
    """Go writes white space at the start of a line so that it reads other text."""
    value: JSON = {
        "keys": dict.fromkeys((*KEYS, *TAKEN_FOR_OTHERS, *TEXTS), 1),
        "texts": [*TEXTS, *(f"a\n{text}\nb" for text in TEXTS)],
    }
    (read,) = documents.read(dump_kyaml([value]))
    assert same(read.value, value)
    assert same(yaml.safe_load(dump_kyaml([value])), value)


VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_it_is_read_as_what_was_written(value: JSON) -> None:
    (read,) = documents.read(dump_kyaml([{"value": value}]))
    assert same(read.value, {"value": value})
