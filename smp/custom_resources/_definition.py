"""Whether a server takes a definition: all rules, in the order of a server.

Go: ValidateCustomResourceDefinition in k8s.io/apiextensions-apiserver,
pkg/apis/apiextensions/validation. Its estimate of what rules cost is not made here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import msgspec

from smp._storage.immutable import find_immutable_changes
from smp._values import names
from smp._values.plain import over_json, require_object, require_object_or_none
from smp._values.values import (
    ABSENT,
    JSON,
    JSONObject,
    as_list,
    as_object,
    as_text,
    same,
)
from smp.custom_resources import _expressions as expressions
from smp.custom_resources._declared_types import DeclaredTypes
from smp.custom_resources._definition_rules import (
    SHARED,
    SPEC,
    find_approval_violations,
    find_selectable_violations,
    find_spec_violations,
    find_storage_violations,
    find_written_path,
)
from smp.custom_resources._rules import (
    Correlation,
    RuleJudge,
    RuleNode,
    RulePlace,
    warn_of_unchecked_rule,
)
from smp.custom_resources._schema_node import SchemaNode
from smp.custom_resources._schema_rules import (
    VALIDATIONS,
    find_keyword_violations,
    find_root_violations,
    find_structural_violations,
    is_convertible,
)
from smp.custom_resources._structure import MOST_VIOLATIONS
from smp.custom_resources._table import (
    EMBEDDED,
    LIST_TYPE,
    MAP_TYPE,
    PRESERVE,
    SchemaPlace,
)
from smp.custom_resources._validate import value_violations
from smp.errors import SchemaError
from smp.paths import Path
from smp.schema.rewrite import rewrite
from smp.schema.structural import prune_value
from smp.violations import Violation, invalid, require

# What Go has a pointer to: false, or an empty text, is not the same as absent.
_KEPT: Final = frozenset({"$ref", "default", LIST_TYPE, MAP_TYPE, PRESERVE})
_NAME: Final = Path(("metadata", "name"))
_KIND: Final = ("apiextensions.k8s.io", "CustomResourceDefinition")


@over_json("the CustomResourceDefinition", "definition", "old")
def definition_violations(
    definition: dict[str, Any],
    old: dict[str, Any] | None = None,
    *,
    written: bool = True,
    rules: bool = True,
) -> tuple[Violation, ...]:
    """Return what an API server refuses of a definition; not more than 1,000.

    It is of v1, and its types are right. ``old`` is the one that it updates. Paths are
    as ``written``, or else those of a server, which moves what all versions have in
    common to the spec. Rules in CEL are compiled where the extra ``cel`` is installed;
    without ``rules`` they are not. What they cost is not estimated. With a warning is a
    rule of which nothing is known. Raises DepthError. Source: Go,
    apiextensions-apiserver, pkg/apis/apiextensions/validation.
    """
    definition = require_object("definition", definition)
    old = require_object_or_none("old", old)
    found: list[Violation] = []
    for violation in _Judge(definition, old, rules=rules).violations():
        path = find_written_path(violation.path) if written else violation.path
        found.append(msgspec.structs.replace(violation, path=path))
        if len(found) == MOST_VIOLATIONS:
            break
    return tuple(found)


class _Judge:
    """One definition, and what its versions have in common."""

    def __init__(
        self, definition: JSONObject, old: JSONObject | None, *, rules: bool
    ) -> None:
        self._definition = definition
        self._old = old
        self._compiles = rules
        self._spec = as_object(definition.get("spec"))
        self._versions = [
            as_object(each) for each in as_list(self._spec.get("versions"))
        ]

    def violations(self) -> Iterator[Violation]:
        """Yield what is wrong, in the order of a server."""
        metadata = as_object(self._definition.get("metadata"))
        group = as_text(self._spec.get("group"))
        plural = as_text(as_object(self._spec.get("names")).get("plural"))
        name = as_text(metadata.get("name"))
        if self._old is None and not name:
            yield require(_NAME, "name or generateName is required")
        elif self._old is None:
            if problem := names.subdomain(name):
                yield invalid(_NAME, name, problem)
            # There is one definition for each group and plural name.
            if name != f"{plural}.{group}":
                yield invalid(_NAME, name, 'must be spec.names.plural+"."+spec.group')
        yield from find_spec_violations(self._spec, self._versions)
        yield from self._check_versions()
        former = as_object(self._old)
        stored = as_list(as_object(former.get("status")).get("storedVersions"))
        yield from find_storage_violations(stored, self._versions)
        before = None if self._old is None else as_object(former.get("metadata"))
        yield from find_approval_violations(metadata, before, group)
        if self._old is not None:
            yield from find_immutable_changes(_KIND, self._old, self._definition)

    def _is_shared(self, field: str) -> bool:
        """Tell whether all versions have the same (Go: conversion.go)."""
        parts = [_normalize(version, field) for version in self._versions]
        return all(same(part, parts[0]) for part in parts)

    def _places(self, field: str) -> Iterator[tuple[JSONObject, Path]]:
        """Yield the versions that are judged for a field, and the path of the field."""
        if not self._versions:
            return
        if self._is_shared(field):
            yield self._versions[0], SPEC / SHARED[field]
            return
        for index, version in enumerate(self._versions):
            yield version, SPEC / "versions" / index / field

    def _check_versions(self) -> Iterator[Violation]:
        for version, path in self._places("schema"):
            schema = as_object(version.get("schema")).get("openAPIV3Schema")
            judged = [version]
            if self._is_shared("schema"):
                judged = self._versions
            has_status = any(
                as_object(each.get("subresources")).get("status") is not None
                for each in judged
            )
            if isinstance(schema, dict):
                here = path / "openAPIV3Schema"
                yield from _SchemaJudge(schema, here, rules=self._compiles).violations(
                    has_status=has_status
                )
        for version, path in self._places("subresources"):
            scale = as_object(version.get("subresources")).get("scale")
            if isinstance(scale, dict):
                yield from SchemaPlace(scale, path / "scale").refusals("scale")
        for version, path in self._places("additionalPrinterColumns"):
            columns = as_list(version.get("additionalPrinterColumns"))
            for index, column in enumerate(columns):
                place = SchemaPlace(as_object(column), path / index)
                yield from place.refusals("column")
        for version, path in self._places("selectableFields"):
            fields = as_list(version.get("selectableFields"))
            schema = as_object(version.get("schema")).get("openAPIV3Schema")
            # Go looks for the schema beside the fields: of all versions, or of one.
            is_beside = self._is_shared("schema") == self._is_shared("selectableFields")
            if fields and not (is_beside and isinstance(schema, dict)):
                detail = "may only be set when the schema is beside it"
                yield invalid(path, "", detail)
            elif fields:
                yield from find_selectable_violations(fields, as_object(schema), path)


def _normalize(version: JSONObject, field: str) -> JSON:
    """Return a field of a version as Go compares it (Semantic.DeepEqual)."""
    part = version.get(field)
    schema = as_object(part).get("openAPIV3Schema")
    if isinstance(schema, dict):
        # What is no schema is as it is written.
        with suppress(SchemaError):
            return rewrite(schema, _drop_zeros)
    return None if part == [] else part


def _drop_zeros(node: JSONObject) -> JSONObject:
    """Return a node without what Go does not tell from a field that is absent."""
    return {
        name: value
        for name, value in node.items()
        if value is not None
        and (name in _KEPT or (value is not False and value not in ("", [])))
    }


class _SchemaJudge:
    """The schema of a version."""

    def __init__(self, schema: JSONObject, path: Path, *, rules: bool) -> None:
        self._root = SchemaPlace(schema, path)
        self._node = SchemaNode(schema, is_root=True)
        self._compiles = rules
        # Where rules can be compiled.
        self._types: DeclaredTypes | None = None

    def violations(self, *, has_status: bool) -> Iterator[Violation]:
        """Go: validateCustomResourceDefinitionValidation."""
        root = self._root
        found = [*find_root_violations(root, has_status=has_status)]
        is_structural = is_convertible(root)
        if is_structural:
            wrong = [*find_structural_violations(root)]
            if not wrong:
                embedded: JSONObject = {**root.schema, EMBEDDED: True}
                whole = msgspec.structs.replace(root, schema=embedded)
                wrong = [*self._check_defaults(whole)]
            if not wrong and self._compiles and expressions.is_installed():
                self._types = DeclaredTypes()
                self._declare(self._node)
            found += wrong
        of_keywords, of_rules = self._check_keywords(root, self._node)
        found += [*of_keywords, *of_rules]
        if not found and not is_structural:
            found.append(invalid(root.path, "", "is not a structural schema"))
        yield from found

    def _declare(self, node: SchemaNode) -> None:
        """Take in the types of all schemas that have rules."""
        if node.validations and node.is_seen and self._types is not None:
            self._types.add(node)
        for inner in node.inner():
            self._declare(inner)

    def _check_defaults(self, place: SchemaPlace) -> Iterator[Violation]:
        """Yield the defaults that their schemas refuse (Go: ValidateDefaults)."""
        default = place.schema.get("default")
        path = place.path / "default"
        if default is not None:
            if not same(prune_value(default, place.schema), default):
                yield invalid(path, default, "must not have unknown fields")
            wrong = [*value_violations(default, place.schema)]
            wrong = wrong or [*self._rules_of_default(default, place.schema)]
            for violation in wrong:
                yield violation.below(path)
        for inner in place.inner():
            # There are none in additionalProperties and in conditions.
            if inner.keyword in ("properties", "items"):
                yield from self._check_defaults(inner)

    def _rules_of_default(
        self, default: JSON, schema: JSONObject
    ) -> Iterator[Violation]:
        """Yield what rules refuse in a default, as an update and as a new value."""
        node = SchemaNode(schema)
        has_rules = any(inner.validations for inner in node.within())
        if not (has_rules and self._compiles and expressions.is_installed()):
            return
        types, place = DeclaredTypes(), SchemaPlace(schema, Path())
        types.add(node)
        for index, rule in enumerate(node.validations):
            at = place.path / VALIDATIONS / index
            for each in _check_rule(rule, at, place, node, types):
                if not each.warning and each.path.steps[-1] == "rule":
                    detail = f"rule compile error: {each.message}"
                    yield invalid(place.path, node.type, detail)
                    return
        rules = RuleNode(node, node)
        for old in (default, ABSENT):
            judged = RulePlace(default, old, rules, Correlation())
            found = [*RuleJudge().violations(judged)]
            yield from [each for each in found if not each.warning]
            if found:
                return

    def _check_keywords(
        self, place: SchemaPlace, node: SchemaNode | None
    ) -> tuple[list[Violation], list[Violation]]:
        """Return what is wrong with keywords, and with rules that do not compile.

        Go: ValidateCustomResourceDefinitionOpenAPISchema.
        """
        found = [*find_keyword_violations(place)]
        of_rules: list[Violation] = []
        for inner in place.inner():
            below = None if node is None else _node_below(node, inner)
            of_keywords, more = self._check_keywords(inner, below)
            found += of_keywords
            of_rules += more
        # Go: rules are not judged where anything is wrong with the schema in question.
        if node is not None and not found and self._types is not None:
            of_rules += self._check_rules(place, node, self._types)
        return found, of_rules

    def _check_rules(
        self, place: SchemaPlace, node: SchemaNode, types: DeclaredTypes
    ) -> Iterator[Violation]:
        """Yield the rules of a schema that do not compile against it."""
        path = place.path / VALIDATIONS
        if node.validations and not node.is_seen:
            detail = "rules do not see a value of this schema"
            yield invalid(path, [*node.validations], detail)
            return
        for index, rule in enumerate(node.validations):
            yield from _check_rule(rule, path / index, place, node, types)


def _check_rule(
    rule: JSONObject,
    path: Path,
    place: SchemaPlace,
    node: SchemaNode,
    types: DeclaredTypes,
) -> Iterator[Violation]:
    """Go: compileRule, and what is said of its result."""
    text = as_text(rule.get("rule"))
    worded = as_text(rule.get("messageExpression"))
    is_optional = rule.get("optionalOldSelf") is True
    wrong: list[Violation] = []
    for field, written, type_ in (
        ("rule", text, "bool"),
        ("messageExpression", worded, "string"),
    ):
        try:
            problem = (
                not wrong
                and written
                and types.problem_of(
                    written, node, type_, optional_old_self=is_optional
                )
            )
        except expressions.BudgetError as error:
            yield warn_of_unchecked_rule(written, path / field, str(error))
            continue
        if problem:
            wrong.append(invalid(path / field, written, problem))
    yield from wrong
    is_compiled = not any(each.path.steps[-1] == "rule" for each in wrong)
    uses_old = is_compiled and expressions.uses_old_self(text)
    if uses_old and place.uncorrelated is not None:
        detail = (
            "oldSelf cannot be used on the uncorrelatable portion of the schema within"
            f" {place.uncorrelated}"
        )
        yield invalid(path / "rule", text, detail)
    elif not uses_old and rule.get("optionalOldSelf") is not None:
        detail = "may not be set if oldSelf is not used in rule"
        yield invalid(path / "optionalOldSelf", is_optional, detail)


def _node_below(node: SchemaNode, inner: SchemaPlace) -> SchemaNode | None:
    """Return the schema of the same place; None below a condition."""
    match inner.keyword:
        case "items":
            return node.items
        case "additionalProperties":
            return node.others
        case "properties":
            return node.declared(str(inner.name))
    return None
