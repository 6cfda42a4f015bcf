"""The rules for the unions (``x-kubernetes-unions``) of a custom resource's schema.

A union is read in every shape that smp.schema.union_groups knows, from the two places
where KEP-1027 published it: a list on an object, or one union on the property that is
the discriminator. A union that cannot work is refused where it is written, with a cause
for each problem, because the objects of the definition would be refused otherwise::

    properties:
      type:                              # the discriminator: a declared string
        type: string
        enum: [A, B, ""]                 # has every value that selects a member
        x-kubernetes-unions:
          fieldMembers:
            A: {name: a}                 # a member: declared, neither required nor
            B: {name: b, optional: true} # defaulted, in no other union
            "": null                     # selects no member
      a: {type: object}
      b: {type: object}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from smp._values.values import JSON, JSONObject, as_list, as_object, type_name
from smp.custom_resources import SchemaPlace
from smp.paths import Key, Path
from smp.schema.catalog import Catalog
from smp.schema.rewrite import rewrite
from smp.schema.union_groups import MEMBER_FACETS
from smp.server.errors import forbidden, invalid, require
from smp.unions import PROFILES
from smp.violations import Violation, unsupported

UNIONS: Final = "x-kubernetes-unions"
_JSON_SCHEMA: Final = (
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
)
_BY_VALUE: Final = "fieldMembers"
_LISTED: Final = "fields"
_MEMBERS: Final = "members"
# In the order of precedence, for a union that is written in two shapes at once.
_SHAPES: Final = (
    _BY_VALUE,
    _LISTED,
    _MEMBERS,
    "fields-to-discriminateBy",
    "fields-to-discriminator-value",
)
# The type of each facet of a union beside its members and its discriminator.
_FACETS: Final = {
    "exactly_one": "boolean",
    "required": "boolean",
    "empty": "array",
    "none": "array",
    "default": "string",
    "profile": "string",
    "source": "string",
}
# Of the facets of a member all others are flags.
_TEXTS: Final = ("name", "value", "discriminatorValue")
_ONE_UNION: Final = "must be in one union only"


class _Member(msgspec.Struct, frozen=True):
    """A field that a union names, and the value that selects it, each with its path."""

    name: str
    path: Path
    value: str
    value_path: Path


def union_problems(schema: JSON, path: Path) -> Iterator[Violation]:
    """Yield what is wrong with the unions of a schema, and of those inside of it."""
    if not isinstance(schema, dict):
        return
    # A union on a property is judged with the object that has the property. What is
    # left are elements of lists and values of maps: they have no name.
    is_property = isinstance(path.steps[-1], Key)
    if UNIONS in schema and schema.get("type") != "object" and not is_property:
        yield _misplaced(path)
    check = _ObjectCheck(schema, path)
    check.run()
    yield from check.problems
    for inner in SchemaPlace(schema, path).inner():
        if inner.is_condition:
            yield from _condition_problems(inner.schema, inner.path)
        else:
            yield from union_problems(inner.schema, inner.path)


@lru_cache(maxsize=4)
def accepting_unions(catalog: Catalog) -> Catalog:
    """Add unions to the schemas in CustomResourceDefinitions (KEP-1027, OpenAPI).

    Kubernetes has not published the field. It is free-form, as a list on an object and
    an object on a discriminator are both allowed. The result is kept, so that the types
    of a catalog are linked once.
    """
    if catalog.load(_JSON_SCHEMA) is None:
        return catalog
    fields: JSONObject = {UNIONS: "any"}
    return catalog.with_overlay({"types": {_JSON_SCHEMA: {"fields": fields}}})


def drop_unions(document: JSONObject) -> JSONObject:
    """Return a valid CustomResourceDefinition whose schemas declare no unions."""

    def without(node: JSONObject) -> JSONObject:
        if UNIONS not in node:
            return node
        return {name: value for name, value in node.items() if name != UNIONS}

    spec = as_object(document.get("spec"))
    versions: list[JSON] = []
    for entry in as_list(spec.get("versions")):
        version = as_object(entry)
        schema = as_object(version.get("schema"))
        rewritten = rewrite(schema.get("openAPIV3Schema", {}), without)
        versions.append({**version, "schema": {**schema, "openAPIV3Schema": rewritten}})
    return {**document, "spec": {**spec, "versions": versions}}


def _condition_problems(schema: JSON, path: Path) -> Iterator[Violation]:
    """Yield the unions in a condition, which only restricts what is stated outside."""
    if not isinstance(schema, dict):
        return
    if UNIONS in schema:
        yield forbidden(path / UNIONS, "must be undefined to be structural")
    for inner in SchemaPlace(schema, path).inner():
        yield from _condition_problems(inner.schema, inner.path)


def _misplaced(path: Path) -> Violation:
    return forbidden(
        path / UNIONS,
        "must be on an object, or on the property that is the discriminator, a string",
    )


class _ObjectCheck:
    """Reads the unions of one object, and collects what is wrong with them.

    ``_members`` are the fields that are members, ``_selected`` the discriminators and
    the members that a discriminator selects.
    """

    def __init__(self, schema: JSONObject, path: Path) -> None:
        self.problems: list[Violation] = []
        self._members: set[str] = set()
        self._selected: set[str] = set()
        self._schema = schema
        self._path = path
        self._properties = as_object(schema.get("properties"))

    def run(self) -> None:
        """Read the list of unions on the object, and those on its properties."""
        if self._schema.get("type") == "object" and UNIONS in self._schema:
            published, path = self._schema[UNIONS], self._path / UNIONS
            if not isinstance(published, list):
                self._invalid(path, published, "must be a list on an object")
            for index, union in enumerate(as_list(published)):
                self._read_union(union, path / index, "")
        for name, node in self._properties.items():
            property_ = as_object(node)
            # The list on a property that is an object has the unions of that object.
            if UNIONS not in property_ or property_.get("type") == "object":
                continue
            path = self._path / "properties" / Key(name)
            published = property_[UNIONS]
            if property_.get("type") != "string":
                self.problems.append(_misplaced(path))
            elif isinstance(published, list):
                # KEP-1027, OpenAPI: "a list of unions", on the discriminator.
                for index, union in enumerate(published):
                    self._read_union(union, path / UNIONS / index, name)
            else:
                self._read_union(published, path / UNIONS, name)

    def _read_union(self, union: JSON, path: Path, property_: str) -> None:
        """Read one union; ``property_`` is the one that it is attached to, if any."""
        if not isinstance(union, dict):
            self._check_type(path, union, "object")
            return
        discriminator = self._read_discriminator(union, path, property_)
        shape = next((shape for shape in _SHAPES if shape in union), "")
        if not shape:
            problem = f"must name its members in one of {', '.join(_SHAPES)}"
            self.problems.append(require(path, problem))
            return
        if shape == _BY_VALUE and union.get("discriminator", property_) == "":
            problem = f"must be the field that has the values of {_BY_VALUE}"
            self.problems.append(require(path / "discriminator", problem))
        before = len(self.problems)
        members = self._read_members(union[shape], shape, path / shape)
        is_well_formed = len(self.problems) == before
        if not members and is_well_formed:
            problem = "must name at least one field"
            self.problems.append(require(path / shape, problem))
        self._check_members(members, discriminator)
        self._check_facets(union, _FACETS, path)
        # fieldMembers has all values. Against an enum alone, the default was checked
        # with the schema.
        property_schema = as_object(self._properties.get(discriminator))
        default = property_schema.get("default")
        if shape == _BY_VALUE and isinstance(default, str) and is_well_formed:
            values = [*as_object(union[shape]), *as_list(property_schema.get("enum"))]
            if default not in values:
                at_default = self._path / "properties" / Key(discriminator) / "default"
                self.problems.append(unsupported(at_default, default, values))

    def _read_discriminator(self, union: JSONObject, path: Path, property_: str) -> str:
        """Return the discriminator, or the empty string where there is none."""
        stated = union.get("discriminator", property_)
        path = path / "discriminator" if "discriminator" in union else path
        if not isinstance(stated, str):
            self._check_type(path, stated, "string")
            return ""
        if property_ and stated != property_:
            problem = "must be the property that the union is attached to"
            self._invalid(path, stated, problem)
            return property_
        if not stated:
            return ""
        # An enum of strings (KEP-1027, Discriminator Field).
        type_ = as_object(self._properties.get(stated)).get("type")
        if stated not in self._properties:
            self._invalid(path, stated, "must be a property of the object")
        elif type_ != "string":
            at_type = self._path / "properties" / Key(stated) / "type"
            self._invalid(at_type, type_, "must be string for a discriminator")
        # A discriminator belongs to one union.
        if stated in self._selected or stated in self._members:
            self._invalid(path, stated, _ONE_UNION)
        self._selected.add(stated)
        return stated

    def _read_members(self, published: JSON, shape: str, path: Path) -> list[_Member]:
        """Return the members of a union that have names."""
        self._check_type(path, published, "array" if shape == _LISTED else "object")
        members: list[_Member] = []
        # structured-merge-diff: [{"fieldName": FIELD, "discriminatorValue": VALUE}]
        for index, facets in enumerate(as_list(published)):
            at = path / index
            name = self._read_text(facets, "fieldName", at)
            value = self._read_text(facets, "discriminatorValue", at, default=name)
            at_value = at / "discriminatorValue"
            members.append(_Member(name, at / "fieldName", value, at_value))
        for key, facets in as_object(published).items():
            at = path / Key(key)
            # KEP-1027: {VALUE: {"name": FIELD, "optional": BOOL} | null}, where null
            # selects no member.
            if shape == _BY_VALUE and facets is not None:
                name = self._read_text(facets, "name", at)
                self._check_member(facets, ("name", "optional"), at)
                members.append(_Member(name, at / "name", key, at))
            elif shape != _BY_VALUE and isinstance(facets, str):
                members.append(_Member(key, at, facets, at))
            elif shape != _BY_VALUE:
                # An object with the value beside the name of the field.
                facet = "value" if shape == _MEMBERS else "discriminatorValue"
                value = self._read_text(facets, facet, at, default=key)
                self._check_member(facets, MEMBER_FACETS, at)
                members.append(_Member(key, at, value, at / facet))
        # A name that is missing is a problem already.
        return [member for member in members if member.name]

    def _read_text(
        self, facets: JSON, name: str, path: Path, default: str | None = None
    ) -> str:
        """Return a text of a member, or the empty string; without default, required."""
        if not isinstance(facets, dict):
            # It may be read twice, and is wrong once.
            if not any(problem.path == path for problem in self.problems):
                self._check_type(path, facets, "object")
            return ""
        value = facets.get(name, default)
        if value is None or (value == "" and default is None):
            self.problems.append(require(path / name))
        else:
            self._check_type(path / name, value, "string")
        return value if isinstance(value, str) else ""

    def _check_member(self, facets: JSON, known: Sequence[str], path: Path) -> None:
        flags = [name for name in known if name not in _TEXTS]
        self._check_facets(facets, dict.fromkeys(flags, "boolean"), path)
        for name in as_object(facets):
            if name not in known:
                problem = "is not known of a member"
                self.problems.append(forbidden(path / Key(name), problem))

    def _check_facets(self, facets: JSON, types: Mapping[str, str], path: Path) -> None:
        for name, expected in types.items():
            value = as_object(facets).get(name)
            if name not in as_object(facets):
                continue
            self._check_type(path / name, value, expected)
            for index, element in enumerate(as_list(value)):
                self._check_type(path / name / index, element, "string")
            if (
                name == "profile"
                and isinstance(value, str)
                and value not in ("", *PROFILES)
            ):
                self.problems.append(unsupported(path / name, value, PROFILES))

    def _check_members(self, members: list[_Member], discriminator: str) -> None:
        """Check that each member can be set, be absent, and be selected."""
        seen: set[str] = set()
        values: set[str] = set()
        requires = as_list(self._schema.get("required"))
        enum = as_list(as_object(self._properties.get(discriminator)).get("enum"))
        for member in members:
            name, path = member.name, member.path
            if name not in self._properties:
                self._invalid(path, name, "must be a property of the object")
            if name in requires:
                problem = "must not be a required property of the object"
                self._invalid(path, name, problem)
            # A server sets a default again at every request, whatever is selected.
            if as_object(self._properties.get(name)).get("default") is not None:
                self._invalid(path, name, "must be a property without a default")
            if name == discriminator:
                self._invalid(path, name, "must not be the discriminator")
            elif name in seen:
                self._invalid(path, name, "must be a member once")
            # Two unions without discriminators may share a member, which then excludes
            # the others of both (Kubernetes' NetworkPolicyPeer).
            elif name in self._selected or (discriminator and name in self._members):
                self._invalid(path, name, _ONE_UNION)
            seen.add(name)
            if discriminator and enum and member.value not in enum:
                self.problems.append(unsupported(member.value_path, member.value, enum))
            if discriminator and member.value in values:
                problem = "must select one member only"
                self._invalid(member.value_path, member.value, problem)
            values.add(member.value)
        self._members |= seen
        if discriminator:
            self._selected |= seen

    def _check_type(self, path: Path, value: JSON, expected: str) -> None:
        if type_name(value) != expected:
            problem = f"must be of type {expected}, not {type_name(value)}"
            self._invalid(path, value, problem)

    def _invalid(self, path: Path, value: JSON, problem: str) -> None:
        self.problems.append(invalid(path, value, problem))
