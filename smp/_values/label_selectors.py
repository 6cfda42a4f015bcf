"""Label selectors: parsing, matching and printing.

Sources: "Labels and Selectors" in the Kubernetes documentation, and
k8s.io/apimachinery, pkg/labels.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import Final, Literal, TypeAlias

import msgspec

from smp._values import names
from smp._values.values import JSON, JSONObject, as_list, as_object, objects_in
from smp.errors import SmpError

Operator: TypeAlias = Literal["in", "notin", "exists", "!", ">", "<"]

_WHITESPACE: Final = " \t\r\n"
_SPACE: Final = r"[ \t\r\n]"
_CHARACTER: Final = r"[^ \t\r\n=!<>(),]"
# One term of a label selector: "!key", "key", "key=value" or "key in (value, value)".
_LABEL_TERM: Final = re.compile(
    rf"{_SPACE}*(?:!{_SPACE}*(?P<absent>{_CHARACTER}+)|(?P<key>{_CHARACTER}+)"
    rf"(?:{_SPACE}*(?P<operator>==|=|!=|<|>){_SPACE}*(?P<value>{_CHARACTER}*)"
    rf"|{_SPACE}+(?P<set>in|notin){_SPACE}*\((?P<values>[^()]*)\))?)"
    rf"{_SPACE}*(?P<end>,|$)"
)
_OPERATORS: Final[dict[str, Operator]] = {
    "=": "in",
    "==": "in",
    "!=": "notin",
    "<": "<",
    ">": ">",
}
# The operators of the expressions of a LabelSelector.
EXPRESSION_OPERATORS: Final[dict[str, Operator]] = {
    "In": "in",
    "NotIn": "notin",
    "Exists": "exists",
    "DoesNotExist": "!",
}
# How the expressions of a LabelSelector are printed, by operator.
_EXPRESSIONS: Final = {
    "In": "{key} in ({values})",
    "NotIn": "{key} notin ({values})",
    "Exists": "{key}",
    "DoesNotExist": "!{key}",
}
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,63}")


class SelectorError(SmpError):
    """A selector that cannot be parsed."""

    default_code = "invalid-selector"


class Requirement(msgspec.Struct, frozen=True):
    """One term of a label selector: a condition on the label with a key."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: JSONObject) -> bool:
        """Tell whether labels meet the condition (Go: labels.Requirement.Matches).

        An absent label has none of the values, so "notin" matches it and "in" does
        not.
        """
        value = labels.get(self.key)
        is_present = isinstance(value, str)
        match self.operator:
            case "exists":
                return is_present
            case "!":
                return not is_present
            case "in":
                return is_present and value in self.values
            case "notin":
                return not is_present or value not in self.values
        # "<" and ">" compare integers, and match no label that is not an integer.
        number, limit = _integer(value), _integer(self.values[0])
        if number is None or limit is None:
            return False
        return number < limit if self.operator == "<" else number > limit

    def check(self) -> None:
        """Raise SelectorError for a key or a value that no label can have.

        Go: labels.NewRequirement.
        """
        problems = [names.label_key(self.key)]
        problems += [names.label_value(value) for value in self.values]
        if self.operator in {"<", ">"} and _integer(self.values[0]) is None:
            problems.append("must be an integer")
        for problem in problems:
            if problem:
                raise SelectorError(
                    f"invalid label selector for {self.key!r}: {problem}"
                )


class LabelSelector(msgspec.Struct, frozen=True):
    """A label selector; without requirements it selects everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, obj: JSONObject) -> bool:
        """Tell whether the labels of an object meet all requirements."""
        labels = as_object(as_object(obj.get("metadata")).get("labels"))
        return all(requirement.matches(labels) for requirement in self.requirements)


def parse_label_selector(text: str) -> LabelSelector:
    """Parse a label selector: ``a=b,c!=d,e in (f,g),h notin (i),j,!k``.

    Raises SelectorError.
    """
    requirements: list[Requirement] = []
    # An empty selector selects everything.
    if not text.strip(_WHITESPACE):
        return LabelSelector()
    position = 0
    while True:
        term = _LABEL_TERM.match(text, position)
        if term is None:
            raise SelectorError(
                f"unable to parse the label selector {text!r} at character {position}"
            )
        requirement = _requirement(term)
        requirement.check()
        requirements.append(requirement)
        # After a comma there must be another term.
        if not term["end"]:
            # Each once: a repeated one changes nothing but the time.
            return LabelSelector(tuple(dict.fromkeys(requirements)))
        position = term.end()


def selector_text(selector: JSON) -> str:
    """Print the selector of an object: a LabelSelector, or a map of labels.

    A string is printed as it is, and null as the empty string. Go:
    metav1.FormatLabelSelector and labels.FormatLabels.
    """
    if isinstance(selector, str):
        return selector
    fields = as_object(selector)
    # A map of labels has only strings, a LabelSelector has an object and a list.
    is_map = all(isinstance(value, str) for value in fields.values())
    labels = fields if is_map else as_object(fields.get("matchLabels"))

    # Each term with the key that it is sorted by.
    terms = [(key, f"{key}={value}") for key, value in labels.items()]
    for expression in objects_in(fields.get("matchExpressions")):
        key = str(expression.get("key"))
        # Go prints <error> for a selector with an operator that does not exist.
        template = _EXPRESSIONS.get(str(expression.get("operator")), "<error>")
        values = sorted(str(value) for value in as_list(expression.get("values")))
        terms.append((key, template.format(key=key, values=",".join(values))))
    return ",".join(text for _, text in sorted(terms, key=itemgetter(0)))


def _requirement(term: re.Match[str]) -> Requirement:
    if term["absent"]:
        return Requirement(term["absent"], "!")
    key = term["key"]
    # An empty element in the parentheses is the empty value: "in (a,)".
    if term["set"]:
        values = tuple(value.strip(_WHITESPACE) for value in term["values"].split(","))
        return Requirement(key, "in" if term["set"] == "in" else "notin", values)
    if term["operator"]:
        return Requirement(key, _OPERATORS[term["operator"]], (term["value"],))
    return Requirement(key, "exists")


def _integer(value: JSON) -> int | None:
    """Read a string as Go's strconv.ParseInt does: a 64-bit integer, or None."""
    if not isinstance(value, str) or not _INTEGER.fullmatch(value):
        return None
    number = int(value)
    return number if -(2**63) <= number < 2**63 else None
