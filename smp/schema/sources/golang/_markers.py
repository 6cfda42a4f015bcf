"""Markers (``// +name=value``) and struct tags: their form, not their meaning.

A marker is a line of the comment right above a declaration (Go: ExtractCommentTags of
k8s.io/gengo/v2).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

import msgspec

from smp.schema.sources.golang._syntax import Comment

# Declarative validation says how stable a marker is, and of which feature gate it is:
# +k8s:beta(since: "1.37")=+k8s:ifEnabled(Gate)=+k8s:unionMember
_WRAPPERS: Final = re.compile(r"(?:k8s:(?:alpha|beta|ifEnabled)\([^)]*\)=\+)*")
# The name and its arguments, which may contain an equals sign; the value follows them.
_HEAD: Final = re.compile(r"[^=(]*(?:\([^)]*\))?[^=]*")
_NAME_BEFORE_OPTIONS: Final = re.compile(r"unionMember(?=,)|k8s:\w+(?=\()")
_ARGUMENT: Final = re.compile(
    r"""(?:(\w+)\s*:\s*)?(?:"([^"]*)"|'([^']*)'|`([^`]*)`|([\w.-]+))"""
)
_TAG: Final = re.compile(r'\s*([^\s":]+):("(?:[^"\\\n]|\\.)*")')


class Marker(msgspec.Struct, frozen=True):
    """One marker of a comment: ``value`` is what follows the first equals sign."""

    line: int
    name: str
    value: str

    @property
    def is_of_values(self) -> bool:
        """Whether it says which values a type or a field may have."""
        return _OF_VALUES.match(self.name) is not None

    @property
    def arguments(self) -> dict[str, str]:
        """The arguments of ``name(key: "value", ..)``; the key may be left out."""
        arguments: dict[str, str] = {}
        for match in _ARGUMENT.finditer(self.name.partition("(")[2]):
            # One of the four ways to write a value matched.
            key, *values = match.groups(default="")
            arguments[key] = "".join(values)
        return arguments


# The markers of an enum type: of OpenAPI (KEP-2887), of declarative validation
# (KEP-5073), and of controller-gen, which also has one for the elements of a list.
ENUM_MARKERS: Final = ("enum", "k8s:enum")
ENUM_EXCLUDE: Final = "k8s:enumExclude"
KUBEBUILDER_ENUM: Final = "kubebuilder:validation:Enum"
KUBEBUILDER_ITEMS_ENUM: Final = "kubebuilder:validation:items:Enum"

# Whether a field may be left out (Go: kube-openapi's isOptional; controller-gen,
# pkg/crd/schema.go, structToSchema).
OPTIONALITY: Final = (
    ("optional", "required"),
    ("k8s:optional", "k8s:required"),
    ("kubebuilder:validation:Optional", "kubebuilder:validation:Required"),
)
# Declarative validation and controller-gen say more of values than the OpenAPI of Go
# types has. Generators have names with a hyphen.
_OF_VALUES: Final = re.compile(
    r"k8s:(?!\w+-|\w*[sS]ubresource|deprecated|opaqueType)"
    r"|kubebuilder:(?:validation:|default|pruning:)"
)

Markers: TypeAlias = Mapping[str, tuple[Marker, ...]]
NO_MARKERS: Final[Markers] = MappingProxyType({})


def markers(comment: Comment) -> Markers:
    """Read the markers of a comment by name; a repeated one has several values.

    gengo cuts a marker at its first equals sign, so that it knows no
    ``unionMember,optional``. Here that is found under ``unionMember``, and
    ``k8s:unionMember(union: "u")`` under ``k8s:unionMember``.
    """
    by_name: dict[str, tuple[Marker, ...]] = {}
    for comment_line in comment:
        line = comment_line.text.strip()
        if not line.startswith("+"):
            continue
        # A wrapper does not change what the marker means.
        text = _WRAPPERS.sub("", line[1:], count=1)
        head_match = _HEAD.match(text)
        head = head_match[0] if head_match else text
        marker = Marker(comment_line.number, head, text[len(head) + 1 :])
        plain = _NAME_BEFORE_OPTIONS.match(head)
        name = plain[0] if plain else head
        by_name[name] = (*by_name.get(name, ()), marker)
    return by_name


def struct_tag(tag: str, key: str) -> str | None:
    """Return the value of a key in a struct tag, None if the key is absent.

    Go: reflect.StructTag.Lookup. A tag that is not of the form ``key:"value"`` ends the
    search, as there.
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
