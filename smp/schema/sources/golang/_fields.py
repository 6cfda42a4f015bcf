"""What the tags and markers of a field add to its schema: extensions and a default."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONObject,
    as_list,
    as_object,
    same,
)
from smp.errors import SchemaError
from smp.schema.model import Strategy
from smp.schema.sources.golang import _well_known
from smp.schema.sources.golang._enums import Enums, list_values
from smp.schema.sources.golang._json_fields import JSONField
from smp.schema.sources.golang._markers import (
    ENUM_EXCLUDE,
    ENUM_MARKERS,
    KUBEBUILDER_ENUM,
    KUBEBUILDER_ITEMS_ENUM,
    OPTIONALITY,
    Marker,
    Markers,
    struct_tag,
)
from smp.schema.sources.golang._packages import (
    BasicType,
    DeclaredType,
    Packages,
    PublishedType,
    ResolvedType,
)
from smp.schema.sources.golang._problems import Problems
from smp.schema.sources.golang._syntax import (
    GoName,
    GoType,
    MapType,
    PointerType,
    SliceType,
    SourcePosition,
    StructType,
)
from smp.schema.sources.golang._union_markers import UNION_MARKERS

# Validation of single elements of a list (Go: validation-gen, validators/item.go).
_ITEM: Final = "k8s:item"
# Those of them that are read, and become something or an error.
_READ: Final = frozenset(
    {
        *ENUM_MARKERS,
        *chain.from_iterable(OPTIONALITY),
        *UNION_MARKERS,
        ENUM_EXCLUDE,
        KUBEBUILDER_ENUM,
        KUBEBUILDER_ITEMS_ENUM,
        "k8s:discriminator",
        "k8s:modeDiscriminator",
        _ITEM,
    }
)
# For each marker: the extension that it becomes, the types that it may mark and how to
# call them, and its values (Go: kube-openapi's tagToExtension).
_TYPE_MARKERS: Final[dict[str, tuple[str, tuple[type, ...], str, tuple[str, ...]]]] = {
    "listType": (
        "x-kubernetes-list-type",
        (SliceType,),
        "a list",
        ("atomic", "set", "map"),
    ),
    "mapType": ("x-kubernetes-map-type", (MapType,), "a map", ("atomic", "granular")),
    "structType": (
        "x-kubernetes-map-type",
        (DeclaredType, PublishedType, StructType),
        "a struct",
        ("atomic", "granular"),
    ),
}
_REFERENCE: Final = re.compile(r"ref\((?:([^\"()]+)\.)?([^\".()]+)\)")
# A chain of type names longer than this is circular, which the resolution of the type
# reports.
_LONGEST_CHAIN: Final = 100


class FieldReader:
    """Reads the tags and markers of fields."""

    def __init__(self, packages: Packages, enums: Enums, problems: Problems) -> None:
        self._packages = packages
        self._enums = enums
        self._problems = problems

    def _check_enum(self, field: JSONField, resolved: ResolvedType) -> None:
        if KUBEBUILDER_ENUM in field.markers and not isinstance(resolved, BasicType):
            problem = f"+{KUBEBUILDER_ENUM} lists the values of a scalar"
            self._problems.misuse_on(field, KUBEBUILDER_ENUM, problem)
        is_list = isinstance(resolved, SliceType)
        if KUBEBUILDER_ITEMS_ENUM in field.markers and not is_list:
            problem = (
                f"+{KUBEBUILDER_ITEMS_ENUM} lists the values of elements of a list"
            )
            self._problems.misuse_on(field, KUBEBUILDER_ITEMS_ENUM, problem)
        self._enums.check_listed(field.markers, field.at)
        # A field may have fewer values than its type, no others.
        enum = self._enums.of(field.field.type)
        for value in list_values(field.markers) if enum else []:
            if enum and value not in enum.values:
                problem = f"{value} is not a constant of the type"
                hint = "one of " + ", ".join(enum.values)
                self._problems.misuse_on(field, KUBEBUILDER_ENUM, problem, hint)

    def extensions(self, field: JSONField) -> JSONObject:
        """Return the ``x-kubernetes-*`` keys of a field, except those of unions.

        ``+patchStrategy``, ``+patchMergeKey``, ``+listType``, ``+listMapKey``,
        ``+mapType`` and ``+structType`` become extensions (Go: kube-openapi's
        parseExtensions; Kubernetes documentation of server-side apply, "Merge
        strategy").
        """
        resolved = self._packages.value_type(field.field.type)
        self._check_enum(field, resolved)
        extensions: JSONObject = {}
        merge_key = self._tag_or_marker(field, "patchMergeKey")
        if merge_key:
            extensions["x-kubernetes-patch-merge-key"] = merge_key
            if not isinstance(resolved, SliceType):
                problem = "a merge key is for a list"
                self._problems.misuse_on(field, "patchMergeKey", problem)
        try:
            strategy = str(Strategy.parse(self._tag_or_marker(field, "patchStrategy")))
        except SchemaError as error:
            self._problems.misuse_on(field, "patchStrategy", error.problem, error.hint)
            strategy = ""
        if strategy:
            extensions["x-kubernetes-patch-strategy"] = strategy
        self._check_strategy(field, strategy, resolved, has_key=bool(merge_key))

        extensions |= self.type_extensions(field.at, field.markers, resolved)
        markers = field.markers.get("listMapKey", ())
        map_keys: list[JSON] = [marker.value for marker in markers]
        # An API server makes the same two demands of a CustomResourceDefinition.
        is_map = extensions.get("x-kubernetes-list-type") == "map"
        if is_map and not map_keys:
            problem = "a list of type map needs the keys of its elements"
            self._problems.misuse_on(field, "listType", problem, "+listMapKey")
        if map_keys:
            extensions["x-kubernetes-list-map-keys"] = map_keys
            if not is_map:
                problem = "only a list of type map has keys"
                self._problems.misuse_on(field, "listMapKey", problem, "+listType=map")
        self._check_items(field)
        self.tell_unread(field.at, field.markers)
        return extensions

    def _check_strategy(
        self, field: JSONField, strategy: str, resolved: ResolvedType, *, has_key: bool
    ) -> None:
        """Check that elements which are merged have a key.

        Go: strategicpatch, "no merge key found in ..", when a patch is made or applied.
        """
        if not isinstance(resolved, SliceType) or has_key:
            return
        strategies = strategy.split(",")
        element = self._packages.value_type(resolved.element)
        is_keyed = isinstance(element, DeclaredType | PublishedType | StructType)
        problem = ""
        if "merge" in strategies and is_keyed:
            problem = "the elements of a list are merged by a key"
        elif "retainKeys" in strategies:
            problem = "the strategy retainKeys is for elements with a key"
        if problem:
            hint = 'patchMergeKey:"name"'
            self._problems.misuse_on(field, "patchStrategy", problem, hint)

    def tell_unread(self, at: SourcePosition, markers: Markers) -> None:
        """Tell what is said of the values of a type or field that is not published."""
        for name, found in markers.items():
            if name in _READ or not found[0].is_of_values:
                continue
            # Kubernetes says it twice: for its API server, and for OpenAPI.
            other = markers.get(name.removeprefix("k8s:"), ()) if "k8s:" in name else ()
            said = {marker.value for marker in other}
            for marker in found:
                if marker.value not in said:
                    self._problems.leave_out(at, marker)
        for marker in markers.get(ENUM_EXCLUDE, ()):
            self._problems.misuse(at, marker, f"+{ENUM_EXCLUDE} marks a constant")

    def _check_items(self, field: JSONField) -> None:
        """Tell what is said of single elements of a list, which no schema says.

        Go: validation-gen, validators/item.go: the arguments name the element by the
        keys of the list.
        """
        keys = {
            marker.value
            for name in ("listMapKey", "k8s:listMapKey")
            for marker in field.markers.get(name, ())
        }
        for marker in field.markers.get(_ITEM, ()):
            if keys and {*marker.arguments} == keys:
                self._problems.leave_out(field.at, marker)
                continue
            problem = f"+{_ITEM} names an element by the keys of a list of type map"
            hint = f"the keys are {', '.join(sorted(keys))}" if keys else "+listMapKey"
            self._problems.misuse(field.at, marker, problem, hint)

    def type_extensions(
        self, at: SourcePosition, markers: Markers, resolved: ResolvedType
    ) -> JSONObject:
        """Return what ``+listType``, ``+mapType`` and ``+structType`` become.

        The markers are those of a field, or of a struct itself.
        """
        extensions: JSONObject = {}
        for name, (key, types, type_name, allowed) in _TYPE_MARKERS.items():
            if name not in markers:
                continue
            marker = markers[name][0]
            # A scalar is atomic, so the marker says nothing new. k8s.io/api has it on a
            # string (kube-openapi only logs that).
            if isinstance(resolved, BasicType) and marker.value == "atomic":
                continue
            if not isinstance(resolved, types):
                self._problems.misuse(at, marker, f"+{name} is for {type_name}")
            if marker.value not in allowed:
                hint = "one of " + ", ".join(allowed)
                self._problems.misuse(at, marker, f"+{name}={marker.value}", hint)
            extensions[key] = marker.value
        return extensions

    def _tag_or_marker(self, field: JSONField, name: str) -> str:
        """Return what the struct tag and the marker of a name say.

        Kubernetes has both on its types, and they must be equal (Go: kube-openapi's
        validatePatchTags). The retainKeys proposal separates strategies with ``|``, Go
        code and published schemas with a comma.
        """
        tag = (struct_tag(field.field.tag, name) or "").replace("|", ",")
        marker = ",".join(marker.value for marker in field.markers.get(name, ()))
        if tag and marker and tag != marker:
            problem = f"the tag says {name} {tag}, the marker says {marker}"
            self._problems.misuse_on(field, name, problem)
        return tag or marker

    # --- defaults ---

    def default(self, field: JSONField, schema: JSONObject) -> JSON | Absent:
        """Return the default of a field (Go: kube-openapi's generateDefault).

        ``+default`` on the field or on its type states it. A value that Go always
        writes has Go's zero value as its default. ``schema`` is that of its type.
        """
        stated = self._find_default(field)
        zero = self._zero_value(field.field.type, omitempty=field.json.omitempty)
        if stated is None:
            return zero
        at, marker, value = stated
        # Go cannot tell a field that is absent from one with the zero value, so that no
        # other default has an effect.
        if not isinstance(zero, Absent) and not same(value, zero):
            self._problems.misuse(
                at,
                marker,
                f"{marker.value} cannot be the default here",
                f"without omitempty or a pointer the default is {json.dumps(zero)}",
            )
        # Go writes the empty string for an unset field, whatever the enum has.
        if not same(value, zero):
            for wrong, enum in _outside(value, schema):
                hint = "one of " + ", ".join(json.dumps(allowed) for allowed in enum)
                problem = f"the default {json.dumps(wrong)} is not a value of the enum"
                self._problems.misuse(at, marker, problem, hint)
        return value

    def _find_default(
        self, field: JSONField
    ) -> tuple[SourcePosition, Marker, JSON] | None:
        """Return the first ``+default``: of the field, its type, and what that is of.

        Go: kube-openapi's defaultFromComments.
        """
        at, markers, type_ = field.at, field.markers, field.field.type
        for _ in range(_LONGEST_CHAIN):
            defaults = markers.get("default", ())
            for marker in defaults[1:]:
                self._problems.misuse(at, marker, "more than one default")
            if defaults and defaults[0].value:
                return at, defaults[0], self._read_default(at, defaults[0])
            while isinstance(type_, PointerType):
                type_ = type_.to
            if not isinstance(type_, GoName):
                return None
            declared = self._packages.named_type(type_)
            if not isinstance(declared, DeclaredType):
                return None
            at, markers = declared.syntax.at, declared.markers
            type_ = declared.syntax.type
        return None

    def _read_default(self, at: SourcePosition, marker: Marker) -> JSON:
        """Read a default: JSON, or ``ref(Constant)`` and ``ref(path.Constant)``."""
        reference = _REFERENCE.fullmatch(marker.value)
        if reference:
            path, name = reference[1] or "", reference[2]
            constant = self._packages.constant_value(at, path, name)
            if isinstance(constant, str | int | float):
                return constant
            problem = f"cannot evaluate {marker.value}"
            self._problems.misuse(at, marker, problem, "ref(Constant)")
            return None
        try:
            value: JSON = json.loads(marker.value, parse_constant=_reject_constant)
        except ValueError:
            problem = f"{marker.value:.80} is not JSON"
            hint = 'a string has quotes: +default="a"'
            self._problems.misuse(at, marker, problem, hint)
            return None
        # Go's encoding/json prints 1.0 as 1.
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def _zero_value(self, type_: GoType, *, omitempty: bool) -> JSON | Absent:
        """Return the value that Go writes for an unset field, ABSENT if it writes none.

        Go: kube-openapi's mustEnforceDefault.
        """
        resolved = self._packages.resolve(type_)
        if isinstance(resolved, BasicType) and not omitempty and resolved.name != "any":
            return _well_known.ZERO[str(_well_known.BASIC[resolved.name]["type"])]
        # A struct is never empty for omitempty.
        if isinstance(resolved, PublishedType | StructType):
            return {}
        # "the zero value for these structs is also null": types with UnmarshalJSON.
        if (
            not isinstance(resolved, DeclaredType)
            or resolved.syntax.name in resolved.package.unmarshalers
        ):
            return ABSENT
        struct = resolved.syntax.type
        fields = struct.fields if isinstance(struct, StructType) else ()
        # "Treat a struct with a single embedded member the same as an alias."
        if len(fields) == 1 and fields[0].embedded:
            return self._zero_value(fields[0].type, omitempty=omitempty)
        return {}


def _outside(value: JSON, schema: JSONObject) -> Iterator[tuple[JSON, list[JSON]]]:
    """Yield the values in a default that their enum does not have, with the enum."""
    enum = as_list(schema.get("enum"))
    known = not enum or any(same(value, allowed) for allowed in enum)
    # A default of null is none.
    if not known and value is not None:
        yield value, enum
    for element in as_list(value):
        yield from _outside(element, as_object(schema.get("items")))
    for member in as_object(value).values():
        yield from _outside(member, as_object(schema.get("additionalProperties")))


def _reject_constant(constant: str) -> JSON:
    """Raise for NaN and Infinity, which Python reads and JSON does not have."""
    raise ValueError(constant)
