"""Markers (``// +name=value``) and struct tags: what they are, not what they mean."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from smp.schema.sources.golang._syntax import Comment, Field

# Declarative validation marks how stable a marker is: +k8s:beta(since:
# "1.37")=+k8s:unionMember
_STABILITY: Final = re.compile(r"k8s:(?:alpha|beta)\([^)]*\)=\+")
_PLAIN: Final = re.compile(r"unionMember(?=,)|k8s:\w+(?=\()")
_ARGUMENT: Final = re.compile(
    r"""(\w+)\s*:\s*(?:"([^"]*)"|'([^']*)'|`([^`]*)`|([\w.-]+))"""
)
_TAG: Final = re.compile(r'\s*([^\s":]+):("(?:[^"\\\n]|\\.)*")')


class Marker(NamedTuple):
    """One marker of a comment: ``value`` is what follows the first equals sign."""

    line: int
    name: str
    value: str

    @property
    def arguments(self) -> dict[str, str]:
        """The named arguments of ``name(key: "value", ..)``."""
        found = _ARGUMENT.findall(self.name.partition("(")[2])
        return {key: "".join(value) for key, *value in found}


Markers: TypeAlias = Mapping[str, tuple[Marker, ...]]
NO_MARKERS: Final[Markers] = MappingProxyType({})


def markers(comment: Comment) -> Markers:
    """Read the markers of a comment by name; one that is repeated has several (Go:
    gengo.ExtractCommentTags).

    ``unionMember,optional`` is found as ``unionMember``, and ``k8s:unionMember(union:
    "u")`` as ``k8s:unionMember``.
    """
    found: dict[str, tuple[Marker, ...]] = {}
    for marker in _read(comment):
        plain = _PLAIN.match(marker.name)
        name = plain[0] if plain else marker.name
        found[name] = (*found.get(name, ()), marker)
    return found


def _read(comment: Comment) -> Iterator[Marker]:
    for number, text in comment:
        line = text.strip()
        if line.startswith("+"):
            stated = _STABILITY.sub("", line[1:], count=1)
            # Arguments may contain an equals sign; the value follows them.
            head = re.match(r"[^=(]*(?:\([^)]*\))?[^=]*", stated)
            name = head[0] if head else stated
            yield Marker(number, name, stated[len(name) + 1 :])


def struct_tag(tag: str, key: str) -> str | None:
    """Return the value of a key in a struct tag, None without it (Go:
    reflect.StructTag.Lookup).
    """
    position = 0
    while match := _TAG.match(tag, position):
        if match[1] == key:
            try:
                return str(ast.literal_eval(match[2]))
            except (SyntaxError, ValueError):
                return None
        position = match.end()
    return None


@dataclass(frozen=True, slots=True)
class JSONTag:
    """How encoding/json treats a field: under which name, whether left out when empty,
    as a string.
    """

    name: str
    skipped: bool
    omitempty: bool
    as_string: bool
    inline: bool
    stray_inline: bool

    @classmethod
    def of(cls, field: Field) -> JSONTag:
        """Read the tag of a field; an embedded field without a name of its own is
        inlined.
        """
        tag = struct_tag(field.tag, "json") or ""
        name, *options = tag.split(",")
        unexported = not field.name[:1].isupper() and not field.embedded
        return cls(
            name=name or field.name,
            skipped=tag == "-" or unexported,
            omitempty="omitempty" in options,
            as_string="string" in options,
            inline=field.embedded and not name,
            stray_inline="inline" in options and not field.embedded,
        )
