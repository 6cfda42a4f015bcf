"""Field selectors: parsing and matching.

Sources: "Field Selectors" in the Kubernetes documentation; Go: k8s.io/apimachinery,
pkg/fields.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from smp._values.label_selectors import SelectorError
from smp._values.values import JSONObject, printed, value_at

# A comma separates terms of a field selector, unless a backslash precedes it.
_FIELD_TERMS: Final = re.compile(r"(?:[^\\,]|\\.?)+")
_FIELD_TERM: Final = re.compile(
    r"(?P<path>[^=!]+)(?P<operator>!=|==|=)(?P<value>(?:[^\\=,]|\\[\\=,])*)"
)


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
