"""Field selectors: parsing and matching; and the text of label selectors.

Sources: "Field Selectors" in the Kubernetes documentation, and k8s.io/apimachinery,
pkg/fields.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import Final

import msgspec

from smp._values.label_selectors import SelectorError
from smp._values.values import JSON, JSONObject, as_list, as_object, printed
from smp.server.objects.fields import objects_in, value_at

# How the expressions of a LabelSelector are printed, by operator.
_EXPRESSIONS: Final = {
    "In": "{key} in ({values})",
    "NotIn": "{key} notin ({values})",
    "Exists": "{key}",
    "DoesNotExist": "!{key}",
}

# A comma separates terms of a field selector, unless a backslash precedes it.
_FIELD_TERMS: Final = re.compile(r"(?:[^\\,]|\\.?)+")
_FIELD_TERM: Final = re.compile(
    r"(?P<path>[^=!]+)(?P<operator>!=|==|=)(?P<value>(?:[^\\=,]|\\[\\=,])*)"
)


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


class FieldTerm(msgspec.Struct, frozen=True):
    """One term of a field selector: a scalar that is equal, or not, to a value.

    ``absent`` is what an absent field is compared as.
    """

    path: str
    value: str
    equal: bool = True
    absent: str = ""

    def matches(self, obj: JSONObject) -> bool:
        """Tell whether a field meets the condition."""
        field = value_at(obj, self.path.split("."))
        is_scalar = field is not None and not isinstance(field, dict | list)
        # Values are compared as text, as in Go's fields.Set.
        text = printed(field) if is_scalar else self.absent
        return (text == self.value) == self.equal


class FieldSelector(msgspec.Struct, frozen=True):
    """A field selector; without terms it selects everything."""

    terms: tuple[FieldTerm, ...] = ()

    def matches(self, obj: JSONObject) -> bool:
        """Tell whether the fields of an object meet all terms."""
        return all(term.matches(obj) for term in self.terms)

    def required_value(self, path: str) -> str | None:
        """Return the one value that a field such as ``metadata.name`` must have.

        None if the selector allows several (Go: fields.Selector.RequiresExactMatch).
        """
        for term in self.terms:
            if term.equal and term.path == path:
                return term.value
        return None


def parse_field_selector(text: str) -> FieldSelector:
    """Parse a field selector: ``metadata.name=web,status.phase!=Running``.

    In a value, a backslash escapes a comma, an equals sign or a backslash (Go:
    fields.EscapeValue). Raises SelectorError.
    """
    terms = []
    for part in _FIELD_TERMS.findall(text):
        match = _FIELD_TERM.fullmatch(part)
        if match is None:
            raise SelectorError(
                f"unable to parse the field selector {part!r}",
                hint="PATH=VALUE or PATH!=VALUE",
            )
        value = re.sub(r"\\(.)", r"\1", match["value"])
        terms.append(FieldTerm(match["path"], value, match["operator"] != "!="))
    # Each term once: a repeated one changes nothing but the time.
    return FieldSelector(tuple(dict.fromkeys(terms)))
