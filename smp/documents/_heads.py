"""What identifies the object in a YAML document, found without parsing it.

It looks at the keys of the object and of its metadata, and has no patterns: these take
longer to compile than a small document to read, and longer to search a large one.
"""

from __future__ import annotations

from typing import Final

from smp.documents._scalars import resolve

# A line that begins with one of these may be a key in an unusual form.
_UNUSUAL_STARTS: Final = frozenset(b"\"'?&*!{[<|>@`")
_DASH: Final = ord("-")
_COMMENT: Final = ord("#")
# What a string consists of that is the same with quotes and without.
_OF_WORDS: Final = (
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:-"
)
_LONGEST: Final = 253
# The words that are no strings in YAML 1.1, unless they are quoted.
_NO_STRINGS: Final = frozenset(
    ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
)
# A list of objects has items, and is no object itself.
_OF_OBJECTS: Final = frozenset((b"apiVersion", b"kind", b"metadata", b"items"))
_OF_METADATA: Final = frozenset((b"name", b"namespace", b"generateName"))


def head_of(data: bytes, indent: int = 0) -> dict[str, str] | None:
    """Find what identifies the object in a YAML document without parsing it.

    Returns apiVersion, kind, name, namespace and generateName as far as they exist.
    ``indent`` is the indentation of the object. None for a document that has to be
    parsed for them: a list of objects, no object, or one in an unusual form.
    """
    found: dict[str, str] = {}
    has_metadata = is_in_metadata = False
    # All keys of the metadata have the indentation of the first one.
    inner = -1
    for line in data.split(b"\n"):
        content = line.lstrip(b" ")
        spaces = len(line) - len(content)
        if spaces > indent and not is_in_metadata:
            continue
        if not content.strip() or content[0] == _COMMENT:
            continue
        start = content[0]
        names = _OF_METADATA
        if spaces <= indent:
            is_in_metadata = False
            if spaces < indent or start == _DASH:
                continue
            names = _OF_OBJECTS
        elif inner < 0:
            inner = spaces
        elif spaces != inner:
            continue
        if start in _UNUSUAL_STARTS:
            return None
        key, colon, rest = content.partition(b":")
        name = key.rstrip()
        if name not in names:
            continue
        if name == b"metadata" and not has_metadata and colon and not rest.strip():
            has_metadata = is_in_metadata = True
            continue
        text = _string(rest)
        # An object that has a key twice is an error of its own.
        if text is None or name.decode() in found:
            return None
        found[name.decode()] = text
    if not has_metadata or inner < 0 or not found.keys() >= {"apiVersion", "kind"}:
        return None
    return None if "items" in found or "metadata" in found else found


def _string(rest: bytes) -> str | None:
    """Return the string that is the rest of a line, or None where it may be more."""
    if rest[:1] not in b" \t":
        return None
    text = rest.strip()
    quote = text[:1]
    is_quoted = quote in (b'"', b"'")
    if is_quoted:
        text, _, behind = text[1:].partition(quote)
        if behind and not (behind[:1] in b" \t" and behind.lstrip()[:1] == b"#"):
            return None
    else:
        text = text.partition(b" #")[0].rstrip()
    # A name has at most 253 characters, and a number may have too many digits.
    if not text or len(text) > _LONGEST or text.strip(_OF_WORDS):
        return None
    string = text.decode()
    if is_quoted or (string[0].isalpha() and string.lower() not in _NO_STRINGS):
        return string
    return string if isinstance(resolve(string), str) else None
