"""Whether a server takes a custom resource: all checks, in the order of a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

import msgspec

from smp._values.extras import extra_hint
from smp._values.plain import (
    over_json,
    plain,
    require_object,
    require_object_or_none,
)
from smp._values.values import ABSENT, JSON, Absent, JSONObject, as_object
from smp.custom_resources import _expressions as expressions
from smp.custom_resources import _patterns as patterns
from smp.custom_resources._formats import FORMATS
from smp.custom_resources._invariants import (
    find_embedded_violations,
    list_violations,
    scale_violations,
)
from smp.custom_resources._rules import (
    Correlation,
    RuleJudge,
    RuleNode,
    RulePlace,
    warn_of_unchecked_rule,
)
from smp.custom_resources._schema_node import SchemaNode
from smp.custom_resources._structure import MOST_VIOLATIONS, structural_violations
from smp.errors import bounded
from smp.paths import Path
from smp.schema.model import Schema
from smp.schema.structural import add_schema_defaults, prune
from smp.violations import Violation, invalid

_MOST_CHARACTERS: Final = 1_000_000  # of the messages
_REMEMBERED: Final = 256  # definitions
# Go: hasBlockingErr.
_BLOCKING: Final = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)
_NOT_CHECKED: Final = invalid(
    Path(),
    None,
    "some validation rules were not checked because the object was invalid; correct"
    " the existing errors to complete validation",
)
# Each takes up to some seconds. A server has a budget for all rules of an object (Go:
# celconfig.RuntimeCELCostBudget), and evaluates no other rule once it is spent.
_MOST_EXHAUSTED: Final = 10
_NO_MORE_RULES: Final = warn_of_unchecked_rule(
    "any other one", Path(), "too many rules take too many steps"
)
_STATUS: Final = Path(("status",))


class Unchecked(msgspec.Struct, frozen=True):
    """What of a definition cannot be checked here: numbers, and what to do.

    ``lacks_extra``: for want of a package, and not of what it can.
    """

    rules: int = 0
    patterns: int = 0
    hint: str = ""
    lacks_extra: bool = False

    def __bool__(self) -> bool:
        return bool(self.rules or self.patterns)

    def __str__(self) -> str:
        parts = []
        for count, name in ((self.rules, "rule"), (self.patterns, "pattern")):
            if count:
                parts.append(f"{count} {name}{'' if count == 1 else 's'}")
        verb = "was" if self.rules + self.patterns == 1 else "were"
        return f"{' and '.join(parts)} {verb} not checked: {self.hint}"


class StructuralValidator:
    """The checks of one structural schema, read once."""

    def __init__(self, schema: JSONObject) -> None:
        self.schema = schema
        self.node = SchemaNode(schema, is_root=True)
        self._has_rules = False
        self._has_embedded = False
        for node in self.node.within():
            self._has_rules = self._has_rules or bool(node.validations)
            self._has_embedded = self._has_embedded or node.is_embedded

    @cached_property
    def rules(self) -> RuleNode:
        """The rules, compiled when they are first needed."""
        return RuleNode(self.node, self.node)

    def violations(
        self,
        obj: JSONObject,
        old: JSONObject | None,
        subresources: Mapping[str, Any],
        subresource: str,
        of_metadata: tuple[Violation, ...],
    ) -> Iterator[Violation]:
        """Yield what is refused of an object that is pruned and has its defaults."""
        former: JSON | Absent = ABSENT if old is None else old
        is_blocked = any(violation.reason in _BLOCKING for violation in of_metadata)
        for violation in self._structural(obj, former, subresources, subresource):
            is_blocked = is_blocked or violation.reason in _BLOCKING
            yield violation
        if not self._has_rules or not expressions.is_installed():
            return
        # Go: customResourceStrategy.Validate: rules need values that are right.
        if is_blocked:
            yield _NOT_CHECKED
            return
        correlation = Correlation()
        if old is not None:
            correlation = Correlation(obj, old, self.node, is_own=True)
        exhausted = 0
        judge = RuleJudge()
        place = RulePlace(obj, former, self.rules, correlation)
        for violation in judge.violations(place):
            yield violation
            exhausted += violation.code == "unchecked-rule"
            if exhausted == _MOST_EXHAUSTED or judge.is_spent:
                yield _NO_MORE_RULES
                return

    def _structural(
        self,
        obj: JSONObject,
        old: JSON | Absent,
        subresources: Mapping[str, Any],
        subresource: str,
    ) -> Iterator[Violation]:
        if subresource == "status":
            # Go: ValidateStatusUpdate: all but the status is that of the old object.
            status = self.node.member("status")
            if status is not None and "status" in obj:
                before = as_object(old).get("status", ABSENT)
                # Their messages have the path below the status.
                for violation in structural_violations(obj["status"], before, status):
                    yield violation.below(_STATUS)
        else:
            yield from structural_violations(obj, old, self.node)
            if self._has_embedded:
                yield from find_embedded_violations(obj, self.node)
        scale = as_object(subresources.get("scale"))
        yield from scale_violations(obj, scale, status_only=subresource == "status")
        # Go: elements that are there twice are tolerated where they were before.
        if isinstance(old, Absent) or not [*list_violations(old, self.node)]:
            yield from list_violations(obj, self.node)

    def unchecked(self) -> Unchecked:
        """Return what cannot be checked with the packages that are installed."""
        rules, texts = 0, 0
        for node in self.node.within():
            rules += len(node.validations)
            needs = node.format in FORMATS or isinstance(
                node.schema.get("pattern"), str
            )
            texts += needs
        if expressions.is_installed():
            rules = sum(bool(rule.problem) for rule in self.rules.within())
            hint = "cel-expr-python does not compile them"
        else:
            hint = extra_hint("cel")
        if patterns.is_installed():
            texts = 0
        else:
            hint = extra_hint("cel")
        lacks_extra = not (expressions.is_installed() and patterns.is_installed())
        return Unchecked(rules, texts, hint, lacks_extra)


_VALIDATORS: Final[dict[int, StructuralValidator]] = {}


def validator_of(schema: JSONObject) -> StructuralValidator:
    """Return the validator of a structural schema; those of the last ones are kept."""
    # The validator holds the schema, so that no other one gets its id.
    validator = _VALIDATORS.pop(id(schema), None)
    if validator is None or validator.schema is not schema:
        validator = StructuralValidator(schema)
    _VALIDATORS[id(schema)] = validator
    if len(_VALIDATORS) > _REMEMBERED:
        del _VALIDATORS[next(iter(_VALIDATORS))]
    return validator


@over_json("the schema", "structural")
def unchecked(structural: JSONObject) -> Unchecked:
    """Return how many rules of a schema cannot be checked, and what to install.

    It is false where there are none, and its text is a sentence. Rules need the extra
    ``cel``, and patterns RE2, which comes with it. Raises DepthError.
    """
    # Only what is interpreted notices that a schema is in itself.
    schema = as_object(plain(require_object("structural", structural)))
    return validator_of(schema).unchecked()


@over_json("the object", "obj", "old")
def validate(
    obj: dict[str, Any],
    schema: Schema,
    old: dict[str, Any] | None = None,
    *,
    subresource: str = "",
) -> tuple[Violation, ...]:
    """Return what an API server refuses of a custom resource; not more than 1,000.

    The object is pruned and gets the defaults of its schema first, and so does the
    ``old`` one, which it updates. ``subresource`` is ``status`` for an update of that
    alone; where there is that subresource, any other write leaves the status. With a
    warning is what could not be decided: a rule that takes more steps than the
    evaluator allows. ``unchecked`` tells what cannot be checked at all; a schema that
    is not of a definition refuses nothing. Raises DepthError and
    TooLargeDefaultsError. Source: Go, apiextensions-apiserver,
    pkg/registry/customresource.
    """
    structural = schema.structural
    if structural is None:
        return ()
    given = require_object("obj", obj)
    old = require_object_or_none("old", old)
    prepared = add_schema_defaults(prune(given, structural), structural)
    before = old
    if old is not None:
        before = add_schema_defaults(prune(old, structural), structural)
    subresources = schema.subresources
    if subresources.get("status") is not None:
        prepared = _take_part(prepared, before, subresource)
    return find_prepared_violations(
        prepared, before, structural, subresources, subresource=subresource
    )


def _take_part(obj: JSONObject, old: JSONObject | None, subresource: str) -> JSONObject:
    """Return an object with the status of the old one, or the old with its status.

    Go: PrepareForCreate and PrepareForUpdate of both strategies. A new object has no
    status; its defaults come when the object is read, after validation.
    """
    of_status, rest = old or {}, obj
    if subresource == "status" and old is not None:
        of_status, rest = obj, old
    kept = {name: value for name, value in rest.items() if name != "status"}
    if "status" in of_status:
        kept["status"] = of_status["status"]
    return kept


@bounded("the value")
def find_prepared_violations(
    obj: JSONObject,
    old: JSONObject | None,
    structural: JSONObject,
    subresources: Mapping[str, Any],
    *,
    subresource: str = "",
    of_metadata: tuple[Violation, ...] = (),
) -> tuple[Violation, ...]:
    """Return the same for objects that are pruned and have their defaults.

    Rules are not evaluated where something is missing, in the metadata as well, of
    which the violations are given. Raises DepthError.
    """
    found: list[Violation] = []
    length = 0
    validator = validator_of(structural)
    for violation in validator.violations(
        obj, old, subresources, subresource, of_metadata
    ):
        found.append(violation)
        # A message may print a large value or a long enum: a few of these are enough.
        length += len(violation.message)
        if length > _MOST_CHARACTERS or len(found) == MOST_VIOLATIONS:
            break
    return tuple(found)


@bounded("the value")
def value_violations(value: JSON, structural: JSONObject) -> tuple[Violation, ...]:
    """Return what the structure of a schema refuses in a value, without its rules.

    It is how a default is judged. Raises DepthError.
    """
    node = SchemaNode(structural)
    # Go: ValidateDefaults; what is there twice is refused in an object alone.
    found = [*find_embedded_violations(value, node)]
    found = found or structural_violations(value, ABSENT, node)
    return tuple(found[:MOST_VIOLATIONS])
