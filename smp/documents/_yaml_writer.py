"""Values to YAML text that kubectl and YAML 1.1 and 1.2 readers read in the same way.

Theory of operation. The text is written line by line in block style, with a stack of
the lists and objects that are open instead of recursion, so that only ``MAX_DEPTH``
limits their nesting. Each element or member begins a line; a scalar ends it. For

    {"a": [{"b": 1, "c": 2}]}

the lines are ``a:``, for its value is a collection; ``- b: 1``, since the first member
of an object in a list stands on the line of the dash, which is kept in ``dashes`` until
then; and ``  c: 2``, with spaces in place of the dash.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from smp._values.steps import count_steps
from smp._values.text_cache import TextCache
from smp._values.values import JSON, type_name
from smp.documents._json import dump_json, not_json
from smp.documents._scalars import is_string_everywhere
from smp.documents._text import MAX_DEPTH, has_unusual_character, unusual_character
from smp.errors import DepthError

# Most strings. The words that readers take for something else are shorter, and numbers
# and times begin in another way.
_SURELY_PLAIN: Final = re.compile(r"[A-Za-z/][A-Za-z0-9_./@-]{5,}\Z")
# What a plain scalar in block style cannot be: empty, an indicator, a marker of
# documents, a key, followed by a comment (YAML 1.2, section 7.3.3).
_NOT_PLAIN: Final = re.compile(
    r"""\Z|[-?:](?: |\Z)|[#,\[\]{}&*!|>'"%@` ]|---|\.\.\.|.*(?:: |:\Z| #| \Z)"""
)
# Text of several lines that a literal block keeps: no white space at the start, which
# would look like indentation, and none at the end of a line.
# Few texts need it, and to compile it takes time.
_LITERAL: Final = r"(?=\S)(?:[^\n]*\S)?(?:\n(?:[^\n]*\S)?)+"
# A longer key is introduced by a question mark, as libyaml does: readers look for the
# colon of a key within a limited number of characters (YAML 1.2, section 7.4.2: 1024).
_LONGEST_KEY: Final = 128
_SHORT: Final = 64


def dump_yaml(values: Iterable[Any]) -> str:
    """Write values as YAML documents that all YAML readers read in the same way.

    kubectl and readers of YAML 1.1 and 1.2 get the same values. Block style, keys in
    their order, text of several lines as a literal block. An integral float comes back
    as an integer, as it does from kubectl. Raises DocumentError, DepthError, and
    TypeError for what cannot be iterated over.
    """
    lines: list[str] = []
    for index, value in enumerate(values):
        # Only the second document and later ones start with ``---``.
        if index > 0:
            lines.append("---")
        lines += yaml_lines(value)
    lines.append("")
    return "\n".join(lines)


def yaml_lines(value: Any) -> list[str]:
    """Write a value as YAML, with a text for each part that begins a line.

    These are the members of objects and the elements of lists, in their order, at any
    depth, but for an element that has something in it: it begins on the line of what is
    first in it. A part has several lines where a text has. Raises what ``dump_yaml``
    raises.
    """
    lines: list[str] = []
    try:
        if isinstance(value, dict | list) and value:
            _write(value, lines)
        else:
            lines.append(_scalar(value, "  "))
    except UnicodeError as error:
        raise not_json(str(error)) from None
    return lines


def _write(root: dict[str, JSON] | list[JSON], lines: list[str]) -> None:
    # The parts that are still to be written of each open collection, whether it is a
    # list, and the spaces that its lines begin with.
    pending = [_parts(root, "")]
    dashes = ""
    while pending:
        parts, is_list, spaces = pending[-1]
        inner = f"{spaces}  "
        for part in parts:
            count_steps(1)
            if is_list:
                line, value = "-", part
            else:
                line, value = _key(part[0], spaces), part[1]
            line = (dashes or spaces) + line
            dashes = ""
            if not isinstance(value, dict | list) or not value:
                lines.append(f"{line} {_scalar(value, inner)}")
                continue
            if len(pending) == MAX_DEPTH:
                problem = f"the value is nested more than {MAX_DEPTH} levels deep"
                raise DepthError(problem)
            if is_list:
                dashes = f"{line} "
                pending.append(_parts(value, inner))
            else:
                lines.append(line)
                # As kubectl does, a list in an object is not indented.
                is_object = isinstance(value, dict)
                pending.append(_parts(value, inner if is_object else spaces))
            break
        else:
            pending.pop()


def _parts(
    collection: dict[str, JSON] | list[JSON], spaces: str
) -> tuple[Iterator[Any], bool, str]:
    if isinstance(collection, dict):
        return iter(collection.items()), False, spaces
    return iter(collection), True, spaces


def _key(key: object, spaces: str) -> str:
    if not isinstance(key, str):
        raise not_json(f"{type_name(key)} as a key")
    text = _TEXTS[key]
    return f"? {text}\n{spaces}:" if len(text) > _LONGEST_KEY else f"{text}:"


def _scalar(value: JSON, spaces: str) -> str:
    """Write a scalar or an empty collection; ``spaces`` precede lines of a block."""
    if isinstance(value, str):
        if "\n" in value:
            if re.fullmatch(_LITERAL, value) and not has_unusual_character(value):
                return _literal(value, spaces)
            return _text(value)
        return _TEXTS[value]
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, list):
        return "[]"
    if value is None or isinstance(value, bool | int | float):
        return dump_json(value, indent=None)
    raise not_json(f"a {type_name(value)}")


def _literal(text: str, spaces: str) -> str:
    # YAML 1.2, section 8.1.1.2: how many line breaks at the end belong to the text.
    header = "|"
    if not text.endswith("\n"):
        header = "|-"
    elif text.endswith("\n\n"):
        header = "|+"
    lines = text.removesuffix("\n").split("\n")
    return "\n".join([header, *[spaces + line if line else "" for line in lines]])


def _text(text: str) -> str:
    if _SURELY_PLAIN.match(text):
        return text
    if "\n" in text or "\t" in text or has_unusual_character(text):
        # Double quotes have the escapes of JSON, which leaves more characters as is.
        return unusual_character().sub(_escape, msgspec.json.encode(text).decode())
    if not _NOT_PLAIN.match(text) and is_string_everywhere(text):
        return text
    return "'" + text.replace("'", "''") + "'"


def _escape(character: re.Match[str]) -> str:
    # All that are unusual have 16 bits.
    return f"\\u{ord(character[0]):04x}"


# The same short texts occur again and again, above all keys.
_TEXTS: Final[TextCache[str]] = TextCache(_text, longest=_SHORT)
