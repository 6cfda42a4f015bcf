"""What the keywords of a schema refuse in a value.

A value is judged by its schema and by those that ``allOf``, ``anyOf``, ``oneOf`` and
``not`` apply to it, in the order and in the words of k8s.io/kube-openapi,
pkg/validation/validate and pkg/validation/errors. Where an alternative is chosen, that
depends on how many checks each has passed, so these are counted as there.

Errors at a place that an update does not change are left out: ratcheting, KEP-4008 (Go:
apiextensions-apiserver, pkg/apiserver/validation/ratcheting.go).
"""

from __future__ import annotations

from math import inf, isinf
from typing import Final, TypeAlias

from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONArray,
    JSONObject,
    NotPlainError,
    printed,
    same,
)
from smp.custom_resources._formats import FORMATS
from smp.custom_resources._patterns import is_matched
from smp.custom_resources._schema_node import SchemaNode
from smp.paths import DottedName, Path
from smp.schema.walk import Key, key_of
from smp.violations import (
    Violation,
    invalid,
    quote_json,
    require,
    too_long,
    too_many,
    unsupported,
)

MOST_VIOLATIONS: Final = 1000
_ROOT: Final = Path()
_INT64: Final = 2**63
# Compiled, a parameter that is a float makes one of an integer.
Number: TypeAlias = int | float
# The lowest integer is one further from zero; of floats, that does not matter.
_LARGEST: Final[dict[tuple[str, str], Number]] = {
    ("integer", "int32"): 2**31 - 1,
    ("number", "float"): 3.4028235677973366e38,
}
_KINDS: Final[dict[type, str]] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}
# Go: typeValidator.schemaInfoForType, the formats of values.
_FORMATS_OF_KINDS: Final = {"integer": "int64", "number": "float64"}


class Judgement:
    """The violations of a value, and how many checks it has passed."""

    __slots__ = ("_known", "passed", "violations")

    def __init__(self) -> None:
        self.violations: list[Violation] = []
        self._known: set[tuple[Path, str]] | None = None
        self.passed = 0

    @property
    def is_full(self) -> bool:
        """Whether there are as many violations as are told."""
        return len(self.violations) >= MOST_VIOLATIONS

    def add(self, violation: Violation | None) -> None:
        """Add a violation; one that is there already is not added again."""
        if violation is None or self.is_full:
            return
        if self._known is None:
            self._known = set()
        key = (violation.path, violation.message)
        if key not in self._known:
            self._known.add(key)
            self.violations.append(violation)

    def merge(self, other: Judgement) -> None:
        """Add all violations of another one, and the checks that it has passed."""
        if other.violations:
            for violation in other.violations:
                self.add(violation)
        self.passed += other.passed


def structural_violations(
    value: JSON, old: JSON | Absent, node: SchemaNode
) -> list[Violation]:
    """Return what a schema refuses in a value, beside what is as in an old one."""
    found = Judgement()
    _judge_update(value, old, node, _ROOT, found)
    return found.violations


def _judge_update(
    value: JSON, old: JSON | Absent, node: SchemaNode, path: Path, found: Judgement
) -> None:
    """Judge a value that may have an old one; what did not change is not refused."""
    if isinstance(old, Absent):
        _judge(value, old, node, path, found)
        return
    own = Judgement()
    _judge(value, old, node, path, own)
    if own.violations and is_unchanged(value, old, node):
        found.passed += own.passed
    else:
        found.merge(own)


def is_unchanged(value: JSON | Absent, old: JSON | Absent, node: SchemaNode) -> bool:
    """Tell whether a value is the old one, as far as a schema knows its parts.

    A member without a schema, and an element of a map without its keys, has no old
    value, so what it is in is never unchanged (Go: CorrelatedObject.CachedDeepEqual).
    """
    if isinstance(value, Absent) or isinstance(old, Absent):
        return False
    if isinstance(value, dict) and isinstance(old, dict):
        if value.keys() != old.keys():
            return False
        for name, member in value.items():
            inner = node.member(name)
            if inner is None or not is_unchanged(member, old[name], inner):
                return False
        return True
    if isinstance(value, list) and isinstance(old, list) and node.list_type == "map":
        if len(value) != len(old):
            return False
        pairs = zip(value, formers(value, old, node), strict=True)
        return node.items is not None and all(
            is_unchanged(element, was, node.items) for element, was in pairs
        )
    if isinstance(value, (int, float)) and isinstance(old, (int, float)):
        return same(go_number(value), go_number(old))
    return same(value, old)


def _judge(
    value: JSON, old: JSON | Absent, node: SchemaNode, path: Path, found: Judgement
) -> None:
    """Judge a value (Go: SchemaValidator.Validate)."""
    kind = _kind_of(value)
    if value is None:
        if node.types and not node.is_nullable:
            found.add(_wrong_type(path, node.types, "null"))
        else:
            found.passed += 1
        found.add(_enum_violation(value, node, path))
        return

    if node.types or node.format:
        problem = None
        if node.format or kind not in node.types:
            problem = _type_violation(value, kind, node, path)
            found.add(problem)
        found.passed += 1 if problem else 2
    if node.has_branches:
        _judge_branches(value, node, path, found)
    found.passed += 2
    if isinstance(value, str):
        if node.limits_strings:
            _judge_string(value, node, path, found)
        found.passed += 1 + (node.format in FORMATS)
    elif kind in {"integer", "number"} and isinstance(value, (int, float)):
        _judge_number(go_number(value), node, path, found)
        found.passed += 2
    elif isinstance(value, list):
        _judge_elements(value, old, node, path, found)
        found.passed += 2
    if node.enum:
        found.add(_enum_violation(value, node, path))
    found.passed += 1
    if isinstance(value, dict):
        _judge_members(value, old, node, path, found)
        found.passed += 1
    found.passed += 1


def _kind_of(value: JSON) -> str:
    # Go decodes an integer that is none of 64 bits as a float.
    if type(value) is int and not -_INT64 <= value < _INT64:
        return "number"
    kind = _KINDS.get(type(value))
    if kind is None:
        raise NotPlainError
    return kind


def go_number(value: Number) -> Number:
    """Return a number as Go decodes it: an integer beyond 64 bits is a float."""
    if not isinstance(value, int) or -_INT64 <= value < _INT64:
        return value
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def _is_integral(value: Number) -> bool:
    """Tell whether a number has no fraction (Go: swag.IsFloat64AJSONInteger)."""
    return isinstance(value, int) or value.is_integer()


def _type_violation(
    value: JSON, kind: str, node: SchemaNode, path: Path
) -> Violation | None:
    """Go: typeValidator.Validate."""
    types, format_ = node.types, node.format
    fits = kind in types or (kind == "integer" and "number" in types)
    if kind == "number" and "integer" in types and isinstance(value, (int, float)):
        fits = fits or _is_integral(go_number(value))
    is_text = kind in {"string", "array"}
    shown = _FORMATS_OF_KINDS.get(kind, "")
    if format_ and not is_text and not fits and shown != format_:
        return wrong_type(path, shown, format_)
    is_of_numbers = "number" in types or "integer" in types
    if format_ and is_text and not is_of_numbers:
        return None
    return None if fits else _wrong_type(path, types, kind)


def _wrong_type(path: Path, types: tuple[str, ...], kind: str) -> Violation:
    return wrong_type(path, kind, ",".join(types))


def wrong_type(path: Path, value: JSON, expected: str) -> Violation:
    """Make the violation of a value of another type or format (Go: field.TypeInvalid).

    ``value`` is the name of its type where the type is wrong.
    """
    shown = quote_json(value)
    message = (
        f"Invalid value: {shown}: {path} in body must be of type {expected}: {shown}"
    )
    return Violation("wrong-type", path, "FieldValueTypeInvalid", message, value)


def _enum_violation(value: JSON, node: SchemaNode, path: Path) -> Violation | None:
    """Go: basicCommonValidator.Validate, which compares numbers by their value."""
    if not node.enum or node.allows(value):
        return None
    return unsupported(path, value, node.enum)


def _judge_string(value: str, node: SchemaNode, path: Path, found: Judgement) -> None:
    """Go: stringValidator.Validate, of which the first error counts."""
    schema = node.schema
    most, least = schema.get("maxLength"), schema.get("minLength")
    pattern = schema.get("pattern")
    if isinstance(most, (int, float)) and len(value) > most:
        found.add(too_long(path, int(most)))
    elif isinstance(least, (int, float)) and len(value) < least:
        detail = f"{path} in body should be at least {int(least)} chars long"
        found.add(invalid(path, value, detail))
    elif isinstance(pattern, str) and pattern and not is_matched(pattern, value):
        detail = f"{path} in body should match '{pattern}'"
        found.add(invalid(path, value, detail))
    is_valid = FORMATS.get(node.format)
    if is_valid is not None and not is_valid(value):
        found.add(wrong_type(path, value, node.format))


def _judge_number(
    value: Number, node: SchemaNode, path: Path, found: Judgement
) -> None:
    """Go: numberValidator.Validate."""
    schema = node.schema
    is_float = not isinstance(value, int)
    type_ = node.types[0] if len(node.types) == 1 else ""
    found.add(_range_violation("Checked", value, type_, node.format, path))
    if not node.limits_numbers:
        return
    factor = schema.get("multipleOf")
    if isinstance(factor, (int, float)) and not isinstance(factor, bool):
        misfit = _range_violation("MultipleOf", factor, type_, node.format, path)
        found.add(misfit)
        # Go: MultipleOfNativeType, which makes an integer of it for an integer.
        divisor = factor if is_float or misfit else int(factor)
        if divisor <= 0:
            detail = (
                f"factor MultipleOf declared for {path} must be positive: {divisor}"
            )
            found.add(invalid(path, divisor, detail))
        elif not _is_multiple(value, divisor):
            detail = f"{path} in body should be a multiple of {printed(divisor)}"
            found.add(invalid(path, value, detail))
    for keyword, exclusive, sign, words in (
        ("maximum", "exclusiveMaximum", 1, "less than"),
        ("minimum", "exclusiveMinimum", -1, "greater than"),
    ):
        limit = schema.get(keyword)
        if isinstance(limit, bool) or not isinstance(limit, (int, float)):
            continue
        name = f"{keyword.capitalize()} boundary"
        misfit = _range_violation(name, limit, type_, node.format, path)
        found.add(misfit)
        # Go: MaximumNativeType compares an integer with the integer of the limit.
        bound = limit if is_float or misfit else int(limit)
        is_exclusive = schema.get(exclusive) is True
        above = sign * (value - bound)
        if above > 0 or (is_exclusive and above == 0):
            more = words if is_exclusive else f"{words} or equal to"
            shown = int(bound) if _is_integral(bound) else bound
            detail = f"{path} in body should be {more} {printed(shown)}"
            found.add(invalid(path, value, detail))


def _range_violation(
    name: str, value: Number, type_: str, format_: str, path: Path
) -> Violation | None:
    """Go: IsValueValidAgainstRange; the error has no field."""
    most = _LARGEST.get((type_, format_))
    if type_ == "integer":
        most = most or _INT64 - 1
        fits = _is_integral(value) and -most - 1 <= value <= most
    else:
        fits = most is None or -most - 1 <= value <= most
    if fits:
        return None
    of_format = f"with format {format_}" if format_ else "(default format)"
    detail = f"{name} value must be of type {type_} {of_format} in {path}"
    return invalid(_ROOT, "", detail)


def _is_multiple(value: Number, factor: Number) -> bool:
    """Go: MultipleOfInt, MultipleOf."""
    if isinstance(value, int) and isinstance(factor, int):
        return value % factor == 0
    multiple = 1 / factor * value if factor < 1 else value / factor
    if isinf(multiple):
        return False
    # Go: swag.IsFloat64AJSONInteger takes what is next to an integer for one.
    nearest = round(multiple)
    return abs(multiple - nearest) <= 1e-9 * max(1.0, abs(multiple))


def _judge_elements(
    value: JSONArray,
    old: JSON | Absent,
    node: SchemaNode,
    path: Path,
    found: Judgement,
) -> None:
    """Go: schemaSliceValidator.Validate."""
    if node.items is not None:
        former = formers(value, old, node)
        for index, element in enumerate(value):
            if found.is_full:
                break
            _judge_update(element, former[index], node.items, path / index, found)
    if node.limits_size:
        _judge_size(len(value), node, path, "Items", found)
    found.passed += 1


def _judge_size(
    size: int, node: SchemaNode, path: Path, of: str, found: Judgement
) -> None:
    """Add that there is too little in a value, or too much."""
    least, most = node.schema.get(f"min{of}"), node.schema.get(f"max{of}")
    if isinstance(least, (int, float)) and size < least:
        detail = f"{path} in body should have at least {int(least)} {of.lower()}"
        found.add(invalid(path, size, detail))
    if isinstance(most, (int, float)) and size > most:
        found.add(too_many(path, size, int(most)))


def formers(
    value: JSONArray, old: JSON | Absent, node: SchemaNode
) -> list[JSON | Absent]:
    """Return for each element the one that it was, in a list of type map alone.

    Go: CorrelatedObject.Index. Of two old elements with the same keys it is the first.
    """
    if node.list_type != "map" or not isinstance(old, list):
        return [ABSENT] * len(value)
    known: dict[Key, JSON] = {}
    for element in old:
        known.setdefault(key_of(element, node.map_keys), element)
    known.pop((), None)
    return [known.get(key_of(element, node.map_keys), ABSENT) for element in value]


def _judge_members(
    value: JSONObject,
    old: JSON | Absent,
    node: SchemaNode,
    path: Path,
    found: Judgement,
) -> None:
    """Go: objectValidator.Validate."""
    if node.limits_size:
        _judge_size(len(value), node, path, "Properties", found)
    for name, member in value.items():
        inner = node.member(name)
        if inner is None:
            if not node.allows_others:
                detail = f"{path}.{name} in body is a forbidden property"
                found.add(invalid(path, name, detail))
            continue
        was = former_member(old, name, is_root=not path.steps)
        step = name if name in node.properties else DottedName(name)
        _judge_update(member, was, inner, path / step, found)
    for missing in node.required:
        if missing not in value:
            found.add(require(path / missing))


def former_member(old: JSON | Absent, name: str, *, is_root: bool) -> JSON | Absent:
    """Return the member of an old object; of its names at the root there is none.

    Go: SubPropertyValidator: apiVersion and kind are converted, so that a change of
    them is not seen.
    """
    if not isinstance(old, dict) or (is_root and name in {"apiVersion", "kind"}):
        return ABSENT
    return old.get(name, ABSENT)


def _judge_branches(
    value: JSON, node: SchemaNode, path: Path, found: Judgement
) -> None:
    """Go: schemaPropsValidator.Validate; its errors have no field.

    Within a condition nothing is left out, whatever did not change.
    """
    where = f'"{path}"'
    if node.any_of:
        tried = _judge_each(value, node.any_of, path)
        fits = [result for result in tried if not result.violations]
        if fits:
            found.merge(fits[0])
        else:
            detail = f"{where} must validate at least one schema (anyOf)"
            found.add(invalid(_ROOT, "", detail))
            found.merge(_best(tried))
    if node.one_of:
        tried = _judge_each(value, node.one_of, path)
        fits = [result for result in tried if not result.violations]
        if len(fits) == 1:
            found.merge(fits[0])
        else:
            count = f"{len(fits)} valid alternatives" if fits else "none valid"
            detail = (
                f"{where} must validate one and only one schema (oneOf). Found {count}"
            )
            found.add(invalid(_ROOT, "", detail))
            if not fits:
                found.merge(_best(tried))
    if node.all_of:
        tried = _judge_each(value, node.all_of, path)
        for result in tried:
            found.merge(result)
        failed = [result for result in tried if result.violations]
        if failed:
            none = ". None validated" if len(failed) == len(tried) else ""
            detail = f"{where} must validate all the schemas (allOf){none}"
            found.add(invalid(_ROOT, "", detail))
    if node.not_ is not None:
        (refused,) = _judge_each(value, [node.not_], path)
        if not refused.violations:
            found.add(invalid(_ROOT, "", f"{where} must not validate the schema (not)"))


def _judge_each(value: JSON, branches: list[SchemaNode], path: Path) -> list[Judgement]:
    tried: list[Judgement] = []
    for branch in branches:
        found = Judgement()
        _judge(value, ABSENT, branch, path, found)
        tried.append(found)
    return tried


def _best(tried: list[Judgement]) -> Judgement:
    """Return the alternative that has passed most checks; the first of several."""
    return max(tried, key=lambda result: result.passed)
