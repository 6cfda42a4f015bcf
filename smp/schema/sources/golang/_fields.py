"""What the tags and markers of a field add to its schema: patch strategy, list and map
types, default.
"""

from __future__ import annotations

import json
import re
from typing import Final

from smp.errors import SchemaError
from smp.schema.model import Strategy
from smp.schema.sources.golang import _known
from smp.schema.sources.golang._enums import STATED_VALUES
from smp.schema.sources.golang._markers import Marker, Markers, struct_tag
from smp.schema.sources.golang._packages import (
    Basic,
    Bundled,
    Declaration,
    Packages,
    Resolved,
)
from smp.schema.sources.golang._problems import Problems
from smp.schema.sources.golang._structs import Member
from smp.schema.sources.golang._syntax import (
    List,
    Map,
    Name,
    Pointer,
    Position,
    Struct,
    Type,
)
from smp.values import ABSENT, JSON, Absent, JSONObject, same

_STRUCTS: Final = (Declaration, Bundled, Struct)
# marker: the extension that it becomes, on which types, and its values
_TYPED: Final[dict[str, tuple[str, tuple[type, ...], str, tuple[str, ...]]]] = {
    "listType": ("x-kubernetes-list-type", (List,), "a list", ("atomic", "set", "map")),
    "mapType": ("x-kubernetes-map-type", (Map,), "a map", ("atomic", "granular")),
    "structType": (
        "x-kubernetes-map-type",
        _STRUCTS,
        "a struct",
        ("atomic", "granular"),
    ),
}
_REFERENCE: Final = re.compile(r"ref\((?:([^\"()]+)\.)?([^\".()]+)\)")


class Fields:
    """Reads the tags and markers of fields."""

    def __init__(self, packages: Packages, problems: Problems) -> None:
        self._packages = packages
        self._problems = problems

    def extensions(self, member: Member) -> JSONObject:
        """Return the ``x-kubernetes-*`` keys of a field, unions aside."""
        resolved = self._packages.value_type(member.field.type)
        typed = self.typed(member.field.at, member.markers, resolved)
        if STATED_VALUES in member.markers and not isinstance(resolved, Basic):
            self._misuse(
                member, STATED_VALUES, f"+{STATED_VALUES} lists the values of a scalar"
            )
        return {
            **self._patch(member, resolved),
            **typed,
            **self._map_keys(member, typed),
        }

    def typed(self, at: Position, marked: Markers, resolved: Resolved) -> JSONObject:
        """Return what ``+listType``, ``+mapType`` and ``+structType`` say of a field,
        or of a struct.
        """
        found: JSONObject = {}
        for name, (key, types, what, allowed) in _TYPED.items():
            for marker in marked.get(name, ())[:1]:
                if not isinstance(resolved, types):
                    self._problems.misuse(at, marker, f"+{name} is for {what}")
                if marker.value not in allowed:
                    self._problems.misuse(
                        at,
                        marker,
                        f"+{name}={marker.value}",
                        "one of " + ", ".join(allowed),
                    )
                found[key] = marker.value
        return found

    def _map_keys(self, member: Member, typed: JSONObject) -> JSONObject:
        keys: list[JSON] = [
            marker.value for marker in member.markers.get("listMapKey", ())
        ]
        of_map = typed.get("x-kubernetes-list-type") == "map"
        if of_map and not keys:
            self._misuse(
                member,
                "listType",
                "a list of type map needs the keys of its elements",
                "+listMapKey",
            )
        if keys and not of_map:
            self._misuse(
                member,
                "listMapKey",
                "only a list of type map has keys",
                "+listType=map",
            )
        return {"x-kubernetes-list-map-keys": keys} if keys else {}

    def _patch(self, member: Member, resolved: Resolved) -> JSONObject:
        strategy, key = (
            self._stated(member, "patchStrategy"),
            self._stated(member, "patchMergeKey"),
        )
        if key and not isinstance(resolved, List):
            self._misuse(member, "patchMergeKey", "a merge key is for a list")
        try:
            normal = str(Strategy.parse(strategy))
        except SchemaError as error:
            self._misuse(member, "patchStrategy", error.problem, error.hint)
            normal = ""
        found: JSONObject = {
            "x-kubernetes-patch-merge-key": key,
            "x-kubernetes-patch-strategy": normal,
        }
        return {name: value for name, value in found.items() if value}

    def _stated(self, member: Member, name: str) -> str:
        """Return what the tag and the marker of a name say, which must not differ."""
        tag = (struct_tag(member.field.tag, name) or "").replace("|", ",")
        marker = ",".join(marker.value for marker in member.markers.get(name, ()))
        if tag and marker and tag != marker:
            self._misuse(
                member, name, f"the tag says {name} {tag}, the marker says {marker}"
            )
        return tag or marker

    # --- defaults (Go: kube-openapi generateDefault) ---

    def default(self, member: Member) -> JSON | Absent:
        """Return the default of a field: as marked, else the zero value of what is
        never left out.
        """
        found = self._marked_default(member)
        zero = self._zero(member.field.type, omitempty=member.json.omitempty)
        if found is None:
            return zero
        at, marker, stated = found
        if not isinstance(zero, Absent) and not same(stated, zero):
            hint = f"a value that is never left out has {json.dumps(zero)}; a pointer or omitempty lets it be another"
            self._problems.misuse(
                at, marker, f"{marker.value} cannot be the default here", hint
            )
        return stated

    def _marked_default(self, member: Member) -> tuple[Position, Marker, JSON] | None:
        for at, marked in self._marked_along(member):
            defaults = marked.get("default", ())
            for marker in defaults[1:]:
                self._problems.misuse(at, marker, "a second default")
            if defaults and defaults[0].value:
                return at, defaults[0], self._value(at, defaults[0])
        return None

    def _marked_along(self, member: Member) -> list[tuple[Position, Markers]]:
        """Gather the markers of a field, then of its type and of what that is made of."""
        found, written = [(member.field.at, member.markers)], member.field.type
        while isinstance(written, Name | Pointer) and len(found) < _LONGEST:
            if isinstance(written, Pointer):
                written = written.to
                continue
            declared = self._packages.meaning(written)
            if not isinstance(declared, Declaration):
                break
            found.append((declared.syntax.at, declared.markers))
            written = declared.syntax.type
        return found

    def _value(self, at: Position, marker: Marker) -> JSON:
        reference = _REFERENCE.fullmatch(marker.value)
        if reference:
            value = self._packages.constant(at, reference[1] or "", reference[2])
            if isinstance(value, str | int | float):
                return value
            self._problems.misuse(
                at,
                marker,
                f"there is no telling the value of {marker.value}",
                "ref(Constant)",
            )
            return None
        try:
            return _whole(json.loads(marker.value, parse_constant=_refuse))
        except ValueError:
            self._problems.misuse(
                at,
                marker,
                f"{marker.value:.80} is not JSON",
                'a string has quotes: +default="a"',
            )
            return None

    def _zero(self, written: Type, *, omitempty: bool) -> JSON | Absent:
        resolved = self._packages.resolve(written)
        if isinstance(resolved, Basic) and not omitempty and resolved.name != "any":
            return _known.ZERO[str(_known.BASIC[resolved.name]["type"])]
        if isinstance(resolved, Bundled | Struct):
            return {}
        if (
            not isinstance(resolved, Declaration)
            or resolved.syntax.name in resolved.package.unmarshals
        ):
            return ABSENT
        fields = (
            resolved.syntax.type.fields
            if isinstance(resolved.syntax.type, Struct)
            else ()
        )
        alone = len(fields) == 1 and fields[0].embedded
        return self._zero(fields[0].type, omitempty=omitempty) if alone else {}

    def _misuse(
        self, member: Member, marker: str, problem: str, hint: str = ""
    ) -> None:
        self._problems.misuse(member.field.at, member.marker(marker), problem, hint)


# A chain of type names longer than this goes in a circle, which the resolution of the
# type reports.
_LONGEST: Final = 100


def _refuse(constant: str) -> JSON:
    raise ValueError(constant)


def _whole(value: JSON) -> JSON:
    return int(value) if isinstance(value, float) and value.is_integer() else value
