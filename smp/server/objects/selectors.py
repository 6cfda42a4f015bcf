"""Label and field selectors: text to predicates.

Sources: "Labels and Selectors" and "Field Selectors" in the Kubernetes documentation.
Where an API server has a list of fields for each kind, any path to a scalar is a field
here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, Literal, TypeAlias

from smp.server.errors import StatusError
from smp.server.objects import names
from smp.server.objects.metadata import metadata_of
from smp.values import JSON, JSONObject, as_list, printed

Operator: TypeAlias = Literal["in", "notin", "exists", "!", ">", "<"]


class SelectorError(StatusError):
    """A selector that cannot be understood."""

    default_code = "invalid-selector"


@dataclass(frozen=True, slots=True)
class Requirement:
    """What one term of a label selector asks of the label of a key."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: JSONObject) -> bool:
        """Tell whether labels are as required; an absent one is in no set, and so not
        in any.
        """
        value = labels.get(self.key)
        match self.operator:
            case "in" | "exists":
                return isinstance(value, str) and (
                    self.operator == "exists" or value in self.values
                )
            case "notin" | "!":
                return not isinstance(value, str) or (
                    self.operator == "notin" and value not in self.values
                )
        return _compares(value, self.operator, self.values[0])


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A label selector; without requirements it selects everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, obj: JSONObject) -> bool:
        """Tell whether the labels of an object are as required."""
        labels = metadata_of(obj).get("labels")
        return all(
            one.matches(labels if isinstance(labels, dict) else {})
            for one in self.requirements
        )


def parse_label_selector(text: str) -> LabelSelector:
    """Read a label selector: ``a=b,c!=d,e in (f,g),h notin (i),j,!k``. Raises
    SelectorError.
    """
    return LabelSelector(tuple(_requirements(text)))


_SPACE: Final = r"[ \t\r\n]"
_CHARACTER: Final = r"[^ \t\r\n=!<>(),]"
_TERM: Final = re.compile(
    rf"{_SPACE}*(?:!{_SPACE}*(?P<absent>{_CHARACTER}+)|(?P<key>{_CHARACTER}+)"
    rf"(?:{_SPACE}*(?P<operator>==|=|!=|<|>){_SPACE}*(?P<value>{_CHARACTER}*)"
    rf"|{_SPACE}+(?P<set>in|notin){_SPACE}*\((?P<values>[^()]*)\))?)"
    rf"{_SPACE}*(?P<end>,|$)"
)


def _requirements(text: str) -> Iterator[Requirement]:
    position = 0
    while text.strip(" \t\r\n"):
        term = _TERM.match(text, position)
        if term is None:
            raise SelectorError(
                f"unable to parse the label selector {text!r} at character {position}"
            )
        yield _checked(_requirement(term))
        if not term["end"]:
            return
        position = term.end()


def _requirement(term: re.Match[str]) -> Requirement:
    if term["absent"]:
        return Requirement(term["absent"], "!")
    if term["set"]:
        values = tuple(value.strip(" \t\r\n") for value in term["values"].split(","))
        return Requirement(
            term["key"], "in" if term["set"] == "in" else "notin", values
        )
    return Requirement(
        term["key"],
        _OPERATORS[term["operator"]],
        (term["value"],) if term["operator"] else (),
    )


_OPERATORS: Final[dict[str | None, Operator]] = {
    None: "exists",
    "=": "in",
    "==": "in",
    "!=": "notin",
    "<": "<",
    ">": ">",
}


def _checked(requirement: Requirement) -> Requirement:
    problems = [
        names.label_key(requirement.key),
        *map(names.label_value, requirement.values),
    ]
    if requirement.operator in {"<", ">"} and _integer(requirement.values[0]) is None:
        problems.append("must be an integer")
    for problem in filter(None, problems):
        raise SelectorError(
            f"the label selector asks for {requirement.key!r}: {problem}"
        )
    return requirement


def _compares(value: JSON, operator: Operator, bound: str) -> bool:
    number, limit = _integer(value), _integer(bound)
    if number is None or limit is None:
        return False
    return number < limit if operator == "<" else number > limit


def _integer(value: JSON) -> int | None:
    if not isinstance(value, str) or not re.fullmatch(r"[+-]?[0-9]{1,63}", value):
        return None
    return number if -(2**63) <= (number := int(value)) < 2**63 else None


def selector_text(selector: JSON) -> str:
    """Print the selector of an object: a LabelSelector, or a map of labels; text stays,
    and null is empty.
    """
    if isinstance(selector, str):
        return selector
    terms = _terms(selector) if isinstance(selector, dict) else ()
    return ",".join(text for _, text in sorted(terms, key=itemgetter(0)))


def _terms(selector: JSONObject) -> Iterator[tuple[str, str]]:
    is_map = all(isinstance(value, str) for value in selector.values())
    labels = selector if is_map else selector.get("matchLabels")
    for key, value in labels.items() if isinstance(labels, dict) else ():
        yield key, f"{key}={value}"
    for expression in as_list(selector.get("matchExpressions")):
        if isinstance(expression, dict):
            key, operator = str(expression.get("key")), str(expression.get("operator"))
            values = ",".join(sorted(map(str, as_list(expression.get("values")))))
            yield (
                key,
                _EXPRESSIONS.get(operator, "<error>").format(key=key, values=values),
            )


_EXPRESSIONS: Final = {
    "In": "{key} in ({values})",
    "NotIn": "{key} notin ({values})",
    "Exists": "{key}",
    "DoesNotExist": "!{key}",
}


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """What one term of a field selector asks: that the scalar at a path is printed so,
    or is not.
    """

    path: str
    value: str
    equal: bool = True

    def matches(self, obj: JSONObject) -> bool:
        """Tell whether the field is as asked; an absent one is empty."""
        return (_scalar(obj, self.path) == self.value) == self.equal


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """A field selector; without terms it selects everything."""

    terms: tuple[FieldTerm, ...] = ()

    def matches(self, obj: JSONObject) -> bool:
        """Tell whether the fields of an object are as asked."""
        return all(term.matches(obj) for term in self.terms)

    def required_value(self, path: str) -> str | None:
        """Return the one value that the selector allows at a path such as
        ``metadata.name``, or None.
        """
        return next(
            (term.value for term in self.terms if term.equal and term.path == path),
            None,
        )


def parse_field_selector(text: str) -> FieldSelector:
    """Read a field selector: ``metadata.name=web,status.phase!=Running``. Raises
    SelectorError.

    A backslash takes the meaning from a comma, an equals sign or a backslash in a
    value.
    """
    return FieldSelector(
        tuple(_field_term(term) for term in _SEPARATE.findall(text) if term)
    )


_SEPARATE: Final = re.compile(r"(?:[^\\,]|\\.?)+")
_FIELD_TERM: Final = re.compile(
    r"(?P<path>[^=!]+)(?P<operator>!=|==|=)(?P<value>(?:[^\\=,]|\\[\\=,])*)"
)


def _field_term(text: str) -> FieldTerm:
    term = _FIELD_TERM.fullmatch(text)
    if term is None:
        raise SelectorError(
            f"unable to parse the field selector {text!r}",
            hint="PATH=VALUE or PATH!=VALUE",
        )
    return FieldTerm(
        term["path"], re.sub(r"\\(.)", r"\1", term["value"]), term["operator"] != "!="
    )


def _scalar(obj: JSON, path: str) -> str:
    for name in path.split("."):
        obj = obj.get(name) if isinstance(obj, dict) else None
    return "" if obj is None or isinstance(obj, dict | list) else printed(obj)
