"""Field selectors: parsing, matching, and the fields that they may name for each kind.

Sources: "Field Selectors" in the Kubernetes documentation; Go: k8s.io/apimachinery,
pkg/fields; AddFieldLabelConversionFunc in k8s.io/kubernetes,
pkg/apis/*/v1/conversion.go, and for all other kinds
runtime.DefaultMetaV1FieldSelectorConversion; ``selectableFields`` of a
CustomResourceDefinition (KEP-4358).
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import Final

import msgspec

from smp._values.fields import objects_in, value_at
from smp._values.label_selectors import SelectorError
from smp._values.values import JSON, JSONObject, as_list, as_object, printed
from smp.handler import StatusError
from smp.schema.resources import Resource, Strategy

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


_USUAL: Final = Strategy().selectable
_REFERENCE: Final = (
    *("kind", "namespace", "name", "uid"),
    *("apiVersion", "resourceVersion", "fieldPath"),
)
# Names of fields that stand elsewhere in the object.
_PLACES: Final = {
    "spec.host": "spec.nodeName",
    "source": "source.component",
    # Of events as they are stored, in the core group.
    "reportingController": "reportingComponent",
    **{f"regarding.{name}": f"involvedObject.{name}" for name in _REFERENCE},
    "status.successful": "status.succeeded",
}
# What absent fields are compared as; all others are empty (Go: fmt.Sprint of the zero
# value).
_ABSENT: Final = {
    "spec.hostNetwork": "false",
    "spec.unschedulable": "false",
    "status.replicas": "0",
    "status.successful": "0",
}


def resolve(selector: FieldSelector, resource: Resource) -> FieldSelector:
    """Return a selector with the places of its fields in objects of a resource.

    Raises StatusError for a field that cannot be selected.
    """
    strategy = resource.strategy
    known = (*strategy.selectable, *resource.selectable_fields)
    terms = []
    for term in selector.terms:
        if term.path not in known:
            text = strategy.unselectable or "field label not supported: {path}"
            problem = text.format(path=term.path, version=resource.api_version)
            if known == _USUAL and not resource.custom:
                problem = (
                    f'"{term.path}" is not a known field selector: only'
                    ' "metadata.name", "metadata.namespace"'
                )
            raise StatusError(problem)
        place = _PLACES.get(term.path, term.path)
        absent = _ABSENT.get(term.path, "")
        terms.append(msgspec.structs.replace(term, path=place, absent=absent))
    return FieldSelector(tuple(terms))
