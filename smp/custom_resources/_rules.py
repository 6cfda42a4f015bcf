"""The rules of a definition (``x-kubernetes-validations``), evaluated.

Go: k8s.io/apiextensions-apiserver, pkg/apiserver/schema/cel/validation.go. A rule is
evaluated at each value of its schema. One that names the old value is evaluated where
there is one: of members, and of elements of a list of type map. What an update did not
change is not refused by a rule that looks at the new value alone (KEP-4008).

Mostly all rules hold, and an evaluation costs the same few microseconds for one rule
and for a hundred. So the rules of a value, and of all that is in it, are evaluated as
one expression first; where it is not true, each is evaluated by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONArray,
    JSONObject,
    as_text,
    printed,
)
from smp.custom_resources import _expressions as expressions
from smp.custom_resources._cel_values import (
    align,
    convert_for_cel,
    escape_name,
)
from smp.custom_resources._field_paths import read_field_path
from smp.custom_resources._schema_node import SchemaNode
from smp.custom_resources._structure import formers, is_unchanged
from smp.paths import Key, Path
from smp.violations import (
    Reason,
    Violation,
    duplicate,
    forbidden,
    invalid,
    quote_json,
    require,
    warn_of_unchecked_rules,
)

# Go: celconfig.MaxEvaluatedMessageExpressionSizeBytes.
_LONGEST_MESSAGE: Final = 5 * 1024
_ROOT: Final = Path()
# A step takes some 20 ns. A server has a budget for each rule, and one for all of an
# object (Go: celconfig.PerCallLimit, RuntimeCELCostBudget).
_MOST_STEPS_OF_RULE: Final = 120_000_000
_MOST_STEPS: Final = 600_000_000
# Their number need not be exact.
_FEW_STEPS: Final = 2_000
_TOO_MANY_STEPS: Final = "the rules of the object may take too many steps"
_LONG_RULE: Final = "it may take too many steps"
_NAMED: Final = frozenset({"object", "array"})
# Characters of rules that are evaluated together: each schema has the text of those in
# it. It takes some 0.1 s to compile so many.
_LONGEST_CONDITION: Final = 50_000
_UNDECIDED: Final = (expressions.BudgetError, expressions.ExpressionError)


class CompiledRule(msgspec.Struct, frozen=True):
    """A rule of a schema; ``problem`` says why it cannot be evaluated here."""

    rule: JSONObject
    text: str
    expression: expressions.Expression | None
    message: expressions.Expression | None
    uses_old: bool
    is_optional: bool
    path: tuple[str, ...]
    problem: str = ""

    @property
    def looks_back(self) -> bool:
        """Whether it looks at the old value, or may."""
        return self.uses_old or self.is_optional

    @property
    def name(self) -> str:
        """What an error of the rule calls it (Go: ruleErrorString)."""
        return as_text(self.rule.get("message")).strip() or self.text.strip()


class RuleNode:
    """The rules of a schema, and where there are others in it."""

    def __init__(self, node: SchemaNode, source: SchemaNode) -> None:
        """Read the rules of ``source``; values are seen by the schema ``node``.

        Of all the rules here and below, ``alone`` are those that look at the new value
        alone, and ``condition`` is an expression that is true where these hold.
        """
        self.node = node
        self.rules: list[CompiledRule] = [
            _compile_rule(rule) for rule in source.validations if rule.get("rule")
        ]
        self.members: dict[str, RuleNode] = {}
        for name in source.properties:
            below = _rules_in(node.visible_member(name), source.declared(name))
            if below is not None:
                self.members[name] = below
        self.others = _rules_in(node.others, source.others)
        self.items = _rules_in(node.items, source.items)
        self.of_update = [rule for rule in self.rules if rule.looks_back]
        # One that does not compile has no say.
        self.alone: list[expressions.Expression] = [
            rule.expression
            for rule in self.rules
            if rule.expression is not None and not rule.looks_back
        ]
        # A line of its own: a rule may end in a comment.
        texts = [f"({expression.written}\n)" for expression in self.alone]
        self.looks_back: bool = bool(self.of_update)
        self.is_joinable: bool = True
        for place, inner in self._inner():
            self.looks_back |= inner.looks_back
            if inner.alone:
                self.alone += inner.alone
                self.is_joinable &= inner.is_joinable and place != ""
                texts.append(place.format(inner.condition))
        self.condition: str = f"({' && '.join(texts)})"
        if len(self.condition) > _LONGEST_CONDITION:
            self.condition, self.is_joinable = "", False
        self._all_hold: expressions.Expression | None = None
        self._is_joined = False

    def _inner(self) -> Iterator[tuple[str, RuleNode]]:
        """Yield the rules below, and how a condition of them is put at their places.

        That is empty for a member whose name no expression can say.
        """
        for name, inner in self.members.items():
            field = f"self.{escape_name(name)}"
            place = f"(!has({field}) || cel.bind(self, {field}, {{}}))"
            yield place if escape_name(name) else "", inner
        if self.others is not None:
            yield "self.all(key, cel.bind(self, self[key], {}))", self.others
        if self.items is not None:
            yield "self.all(self, {})", self.items

    @property
    def all_hold(self) -> expressions.Expression | None:
        """What is true where all rules hold that look at the new value alone.

        Here and below. None where each is to be evaluated by itself.
        """
        if not self._is_joined:
            self._is_joined = True
            if self.is_joinable and len(self.alone) > 1:
                self._all_hold = expressions.join_expressions(
                    self.condition, self.alone
                )
        return self._all_hold

    @property
    def is_empty(self) -> bool:
        """Whether there is no rule here, nor in the schemas in it."""
        return not (self.rules or self.members or self.others or self.items)

    def within(self) -> Iterator[CompiledRule]:
        """Yield all rules, at any depth."""
        yield from self.rules
        for node in (self.others, self.items, *self.members.values()):
            if node is not None:
                yield from node.within()


def _rules_in(node: SchemaNode | None, source: SchemaNode | None) -> RuleNode | None:
    if node is None or source is None or not node.is_seen:
        return None
    inner = RuleNode(node, source)
    return None if inner.is_empty else inner


def _compile_rule(rule: JSONObject) -> CompiledRule:
    text = as_text(rule.get("rule"))
    is_optional = rule.get("optionalOldSelf") is True
    expression, message, problem = None, None, ""
    try:
        expression = expressions.compile_expression(text, optional_old_self=is_optional)
        if worded := as_text(rule.get("messageExpression")):
            # Go: evalMessageExpression has no optional for any rule.
            message = expressions.compile_expression(worded, optional_old_self=False)
    except expressions.ExpressionError as error:
        problem = str(error)
    uses_old = expressions.uses_old_self(text)
    path = read_field_path(as_text(rule.get("fieldPath")))
    return CompiledRule(
        rule, text, expression, message, uses_old, is_optional, path, problem
    )


class Correlation(msgspec.Struct, frozen=True):
    """Whether what an update did not change is left out at a place.

    ``new`` and ``old`` are those of the place, or of the nearest above that has an old
    value (Go: ratchetingOptions).
    """

    new: JSON | Absent = ABSENT
    old: JSON | Absent = ABSENT
    node: SchemaNode | None = None
    is_own: bool = False

    @property
    def is_unchanged(self) -> bool:
        """Whether the value is the old one (Go: shouldRatchetError)."""
        return self.node is not None and is_unchanged(self.new, self.old, self.node)

    def below(
        self,
        new: JSON,
        old: JSON | Absent,
        node: SchemaNode | None,
        *,
        is_name_of_root: bool = False,
    ) -> Correlation:
        """Return the correlation of a member or an element."""
        if not self.is_own:
            return self
        if is_name_of_root:
            return Correlation()
        if isinstance(old, Absent) or node is None:
            return Correlation(self.new, self.old, self.node)
        return Correlation(new, old, node, is_own=True)


class RulePlace(msgspec.Struct, frozen=True):
    """A value beside its old one, and the rules that judge it.

    ``seen`` is the value as rules see it, where one above it was converted. ``holds``:
    all rules hold that look at the new value alone, here and below.
    """

    value: JSON
    old: JSON | Absent
    rules: RuleNode
    correlation: Correlation
    path: Path = _ROOT
    seen: Any = ABSENT
    holds: bool = False

    def below(self) -> Iterator[RulePlace]:
        """Yield the places in it."""
        if isinstance(self.value, dict):
            yield from self._members(self.value)
        elif isinstance(self.value, list):
            yield from self._elements(self.value)

    def _find_rules(self, rules: RuleNode | None) -> RuleNode | None:
        """Return rules below if there is anything to ask of them."""
        if self.holds and rules is not None and not rules.looks_back:
            return None
        return rules

    def _members(self, value: JSONObject) -> Iterator[RulePlace]:
        """Go: Validator.validateMap."""
        rules, others = self.rules, self._find_rules(self.rules.others)
        olds = self.old if isinstance(self.old, dict) else {}
        seen = self.seen if isinstance(self.seen, dict) else {}
        for name, member in value.items():
            inner = self._find_rules(rules.members.get(name))
            if inner is None and others is None:
                continue
            was: JSON | Absent = olds.get(name, ABSENT)
            is_name_of_root = not self.path.steps and name in {"apiVersion", "kind"}
            below = self.correlation.below(
                member, was, rules.node.member(name), is_name_of_root=is_name_of_root
            )
            if others is not None:
                here, part = self.path / Key(name), seen.get(name, ABSENT)
                yield RulePlace(member, was, others, below, here, part, self.holds)
            if inner is not None:
                here, part = self.path / name, seen.get(escape_name(name), ABSENT)
                yield RulePlace(member, was, inner, below, here, part, self.holds)

    def _elements(self, value: JSONArray) -> Iterator[RulePlace]:
        rules = self._find_rules(self.rules.items)
        if rules is None:
            return
        former = formers(value, self.old, self.rules.node)
        for index, element in enumerate(value):
            was = former[index]
            below = self.correlation.below(element, was, self.rules.node.items)
            here = self.path / index
            part = self.seen[index] if isinstance(self.seen, list) else ABSENT
            yield RulePlace(element, was, rules, below, here, part, self.holds)


class _Evaluation:
    """What rules need to know of a place, once they need it.

    ``whole`` are the sizes of the object: those of the value are measured where more
    than a few steps may be taken.
    """

    def __init__(self, place: RulePlace, whole: tuple[int, int]) -> None:
        self.place = place
        self.value = place.value
        self.old = None if isinstance(place.old, Absent) else place.old
        self._seen = place.seen
        self._node = place.rules.node
        self._bindings: dict[bool, Any] = {}
        self._whole = whole
        self._size: tuple[int, int] | None = None

    def count_steps(self, expression: expressions.Expression) -> int:
        """Return how many steps an evaluation of the values takes at most."""
        if expression.is_quick:
            return 1
        steps = expression.count_steps(*self._whole)
        return steps if steps <= _FEW_STEPS else expression.count_steps(*self._sizes)

    @property
    def has_old_for_messages(self) -> bool:
        """Whether messages may name the old value: where a rule of the place does.

        Go: validator, celActivationFactory.
        """
        rules = self.place.rules.rules
        return self.old is not None and any(rule.uses_old for rule in rules)

    @property
    def _sizes(self) -> tuple[int, int]:
        if self._size is None:
            self._size = _measure([self.value, self.old])
        return self._size

    @property
    def seen(self) -> Any:
        """The value as rules see it."""
        if self._seen is ABSENT:
            self._seen = convert_for_cel(self.value, self._node)
        return self._seen

    def bindings(self, *, with_old: bool) -> Any:
        """Return what expressions are evaluated with."""
        if with_old not in self._bindings:
            old_seen = None
            if with_old:
                old = align(self.old, self.value, self._node)
                old_seen = convert_for_cel(old, self._node)
            has_old = with_old and self.old is not None
            self._bindings[with_old] = expressions.bind(
                self.seen, old_seen, has_old=has_old
            )
        return self._bindings[with_old]


def _measure(values: list[JSON]) -> tuple[int, int]:
    """Return the lengths of the longest list, or map, and of the longest text."""
    elements, characters = 0, 0
    left = [*values]
    while left:
        value = left.pop()
        if isinstance(value, str):
            characters = max(characters, len(value))
        elif isinstance(value, (dict, list)):
            elements = max(elements, len(value))
            left += value.values() if isinstance(value, dict) else value
    return elements, characters


class RuleJudge:
    """Judges one object by rules, in not more than some steps.

    ``is_spent``: some rules were not evaluated, as they may take more. A server has a
    budget for all rules of an object as well (Go: celconfig.RuntimeCELCostBudget).
    """

    def __init__(self) -> None:
        self._left = _MOST_STEPS
        # It takes none from rules by themselves to try them together.
        self._left_together = _MOST_STEPS_OF_RULE
        self._whole: tuple[int, int] | None = None
        self.is_spent = False

    def violations(self, place: RulePlace) -> Iterator[Violation]:
        """Yield what the rules refuse in a value (Go: Validator.validate)."""
        if place.value is None or self.is_spent:
            # Rules of a schema look at values, and at null from the schema above.
            return
        if self._whole is None:
            old = None if isinstance(place.old, Absent) else place.old
            self._whole = _measure([place.value, old])
        if place.rules.rules:
            evaluation = _Evaluation(place, self._whole)
            holds = place.holds or self._all_hold(evaluation)
            place = msgspec.structs.replace(place, seen=evaluation.seen, holds=holds)
            for rule in place.rules.of_update if holds else place.rules.rules:
                yield from self._violations_of_rule(rule, evaluation)
        for below in place.below():
            yield from self.violations(below)

    def _all_hold(self, evaluation: _Evaluation) -> bool:
        """Tell whether all rules hold that look at the new value, and at what is in it.

        False is also where that is not known.
        """
        together = evaluation.place.rules.all_hold
        if together is None:
            return False
        steps = evaluation.count_steps(together)
        if steps > self._left_together:
            return False
        self._left_together -= steps
        try:
            # Go absorbs an error where another operand is false, not by true ones.
            return together.evaluate(evaluation.bindings(with_old=False)) is True
        except _UNDECIDED:
            return False

    def _spend(
        self, expression: expressions.Expression, evaluation: _Evaluation
    ) -> str:
        """Take the steps of an evaluation; say why it may not be, if so."""
        steps = evaluation.count_steps(expression)
        # It ends no other rule.
        if steps > _MOST_STEPS_OF_RULE:
            return _LONG_RULE
        self.is_spent = self.is_spent or steps > self._left
        self._left -= steps
        return _TOO_MANY_STEPS if self.is_spent else ""

    def _violations_of_rule(
        self, rule: CompiledRule, evaluation: _Evaluation
    ) -> Iterator[Violation]:
        """Yield what one rule refuses (Go: Validator.validateExpressions)."""
        if rule.expression is None:
            return
        # Transition rules are evaluated only if there is an old value.
        if rule.uses_old and evaluation.old is None and not rule.is_optional:
            return
        place = evaluation.place
        path, type_ = place.path, place.rules.node.type
        if problem := self._spend(rule.expression, evaluation):
            yield warn_of_unchecked_rule(rule.name, path, problem)
            return
        try:
            bindings = evaluation.bindings(with_old=rule.looks_back)
            if rule.expression.evaluate(bindings) is True:
                return
        except expressions.BudgetError as error:
            yield warn_of_unchecked_rule(rule.name, path, str(error))
            return
        except expressions.ExpressionError as error:
            if expressions.is_without_overload(error):
                detail = (
                    f"'{error}': call arguments did not match a supported operator,"
                    f" function or macro signature for rule: {rule.name}"
                )
            else:
                detail = f"{error} evaluating rule: {rule.name}"
            # An error is not left out where nothing changed.
            yield invalid(path, type_, detail)
            return
        if rule.uses_old or not place.correlation.is_unchanged:
            detail = self._word_refusal(rule, evaluation)
            here = Path((*path.steps, *rule.path))
            shown = None if type_ in _NAMED else evaluation.value
            yield _refusal(rule, here, type_, shown, detail)

    def _word_refusal(self, rule: CompiledRule, evaluation: _Evaluation) -> str:
        """Word a refusal (Go: evalMessageExpression, ruleMessageOrDefault)."""
        stated = as_text(rule.rule.get("message")).strip()
        stated = stated or f"failed rule: {rule.text.strip()}"
        message = rule.message
        # An expression of too many steps is no message, as on a server.
        if message is None or self._spend(message, evaluation):
            return stated
        names_old = expressions.uses_old_self(message.text)
        if names_old and not evaluation.has_old_for_messages:
            return stated
        try:
            worded = message.evaluate(evaluation.bindings(with_old=names_old))
        except _UNDECIDED:
            return stated
        text = worded.strip() if isinstance(worded, str) else ""
        is_one_line = text and "\n" not in text
        fits = is_one_line and len(text.encode()) <= _LONGEST_MESSAGE
        return text if fits else stated


def warn_of_unchecked_rule(name: str, path: Path, problem: str) -> Violation:
    """Make the warning of a rule of which it is not known what a server says."""
    message = f"was not checked: rule {name}: {problem}"
    return warn_of_unchecked_rules(message).below(path)


def _refusal(
    rule: CompiledRule, path: Path, type_: str, value: JSON, detail: str
) -> Violation:
    """Go: fieldErrorForReason. The value of an object or a list is left out."""
    match rule.rule.get("reason"):
        case "FieldValueForbidden":
            return forbidden(path, detail)
        case "FieldValueRequired":
            return require(path, detail)
        case "FieldValueDuplicate" if type_ in _NAMED:
            return _drop_value(path, "FieldValueDuplicate", "Duplicate value")
        case "FieldValueDuplicate":
            return duplicate(path, value)
    if type_ in _NAMED:
        return _drop_value(path, "FieldValueInvalid", f"Invalid value: {detail}")
    shown = quote_json(value) if isinstance(value, str) else printed(value)
    message = f"Invalid value: {shown}: {detail}"
    return Violation("invalid-value", path, "FieldValueInvalid", message, value)


def _drop_value(path: Path, reason: Reason, message: str) -> Violation:
    code = "duplicate-value" if reason == "FieldValueDuplicate" else "invalid-value"
    return Violation(code, path, reason, message)
