"""The rules that many types have: what is required, ranges, formats, duplicates.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

import re
from typing import Final

from smp._values.names import label_key_problems
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    as_list,
    as_object,
    as_text,
    value_key,
)
from smp.paths import Key, Path, Step
from smp.validation._formats import FORMATS, api_version, percent, port_name
from smp.validation._judged import Checks, Judged, at, elements, is_missing
from smp.validation._table import ValidationRow
from smp.violations import too_long, too_many, unsupported

_MOST_PORTS: Final = 65535
_LONGEST_PERCENT: Final = 18  # characters that count


def require(judged: Judged) -> None:
    """Require a value that is not empty; with ``key``, a key of a map.

    With ``each`` the elements of a list are required not to be empty, with ``zero``
    "judged" the value of the key.
    """
    key = judged.row.key
    if judged.row.each:
        for index, element in enumerate(as_list(judged.value)):
            if is_missing(element):
                judged.required(judged.row.message, index)
    elif not key and is_missing(judged.value):
        judged.required(judged.row.message)
    elif key:
        value = as_object(judged.value).get(key, ABSENT)
        if value is ABSENT or (value == "" and judged.row.zero == "judged"):
            judged.required(judged.row.message, Key(key))


def missing(judged: Judged) -> None:
    """Require another value than the one that ``when`` describes."""
    judged.required(judged.row.message)


def forbidden(judged: Judged) -> None:
    """Forbid a value, which is set even where it is zero: it is a pointer in Go.

    The empty text is set only where ``_judges_empty`` says so.
    """
    value = judged.value
    if value is ABSENT or value is None:
        return
    if value not in ([], "") or _judges_empty(judged):
        judged.add("FieldValueForbidden", judged.row.message)


def wrong(judged: Judged) -> None:
    """Refuse the value that ``when`` and ``unless`` describe, as not valid.

    Absent is null, with ``zero`` "judged" the empty text.
    """
    value = judged.value
    if value is ABSENT:
        value = "" if judged.row.zero == "judged" else None
    judged.invalid(value, judged.row.message)


def refused(judged: Judged) -> None:
    """Refuse a value that is set, and none of ``values``, as not valid."""
    row, value = judged.row, judged.value
    if value is ABSENT or value is None or value in ([], "") or value in row.values:
        return
    # A number that is zero is set, but where another value than zero is refused.
    if not (row.values and value == 0):
        judged.invalid(value, row.message)


def refuse_empty(judged: Judged) -> None:
    """Refuse an empty text, where it is none that is absent: a pointer in Go.

    With ``zero`` "pointer" another one is required.
    """
    if judged.value == "" and judged.row.zero == "pointer":
        judged.required(judged.row.message)
    elif judged.value == "":
        judged.invalid("", judged.row.message)


def check_range(judged: Judged) -> None:
    """Compare an integer with ``minimum`` and ``maximum``.

    With ``zero`` "unset" zero counts as absent, with "judged" absent counts as zero.
    With ``each`` the integers of a list are compared.
    """
    row, value = judged.row, judged.value
    if row.each:
        for index, number in enumerate(as_list(value)):
            if isinstance(number, int) and not _is_between(number, row):
                judged.invalid(number, row.message, index)
        return
    # A field that is no pointer in Go is zero where it is absent.
    if is_missing(value) and row.zero == "judged":
        value = 0
    if isinstance(value, bool) or not isinstance(value, int):
        return
    if value == 0 and row.zero == "unset":
        return
    if not _is_between(value, row):
        judged.invalid(value, row.message)


def _is_between(number: int, row: ValidationRow) -> bool:
    is_less = row.minimum is not None and number < row.minimum
    return not is_less and (row.maximum is None or number <= row.maximum)


def check_length(judged: Judged) -> None:
    """Refuse a list, a map or a text that is longer than ``maximum``.

    Without a message there are too many items (Go: field.TooMany), or a text is too
    long (Go: field.TooLong).
    """
    value, most = judged.value, judged.row.maximum or 0
    if not isinstance(value, list | str | dict) or len(value) <= most:
        return
    if judged.row.message:
        judged.invalid(value, judged.row.message)
    elif isinstance(value, str):
        judged.add("FieldValueTooLong", f"may not be more than {most} bytes")
    else:
        judged.found.append(too_many(Path(judged.steps), len(value), most))


def _is_text_of(judged: Judged, text: JSON, below: tuple[Step, ...]) -> None:
    if not isinstance(text, str):
        return
    row = judged.row
    if row.pattern:
        problems: tuple[str, ...] = (row.message,)
        if re.fullmatch(row.pattern, text):
            problems = ()
    elif row.format == "label-key":
        problems = label_key_problems(text)
    else:
        problems = (FORMATS[judged.row.format](text),)
    for problem in problems:
        if problem:
            judged.invalid(text, problem, *below)


def _judges_empty(judged: Judged) -> bool:
    """Tell whether an empty text counts: as what is absent, or as a pointer in Go."""
    zero = judged.row.zero
    return zero == "judged" or (zero == "pointer" and judged.value == "")


def text_format(judged: Judged) -> None:
    """Check the format of a text, or with ``each`` of the texts in a list.

    The empty text is absent, unless ``_judges_empty`` says otherwise. With ``key`` the
    texts are those that the elements have in that field, and the cause names the list;
    of a map, the text is that of the key.
    """
    row, value = judged.row, judged.value
    if row.key and isinstance(value, dict):
        _is_text_of(judged, value.get(row.key), (Key(row.key),))
    elif row.key:
        for element in elements(judged):
            _is_text_of(judged, as_text(at(element, (*row.key.split("."),))), ())
    elif row.each:
        for index, text in enumerate(as_list(value)):
            _is_text_of(judged, text, (index,))
    elif not is_missing(value):
        _is_text_of(judged, as_text(value), ())
    elif _judges_empty(judged):
        _is_text_of(judged, "", ())


def key_formats(judged: Judged) -> None:
    """Check the format of the keys of a map; a cause names the key, or ``reported``."""
    for key in as_object(judged.value):
        _is_text_of(judged, key, () if judged.row.reported else (Key(key),))


def supported(judged: Judged) -> None:
    """Support ``values`` only (Go: field.NotSupported).

    Of a list, with ``each``, the cause names the element, or else what is ``reported``;
    with ``key`` as well, it is about that field of the elements.
    The empty value is absent, unless ``_judges_empty`` says otherwise.
    """
    row, value = judged.row, judged.value
    values: list[JSON] = [*row.values]
    if row.each:
        for index, element in enumerate(as_list(value)):
            text = as_object(element).get(row.key) if row.key else element
            if text not in values:
                below = (index, row.key) if row.key else (index,)
                steps = judged.steps if row.reported else (*judged.steps, *below)
                judged.found.append(unsupported(Path(steps), text, values))
        return
    if is_missing(value) and not _judges_empty(judged):
        return
    if is_missing(value):
        value = ""
    if not isinstance(value, Absent) and value not in values:
        judged.found.append(unsupported(Path(judged.steps), value, values))


def one_of(judged: Judged) -> None:
    """Refuse other texts than ``values``, as not valid."""
    value = judged.value
    if not is_missing(value) and value not in judged.row.values:
        judged.invalid(value, judged.row.message)


def require_any(judged: Judged) -> None:
    """Require one of the keys ``values`` in a map; there is a cause for each."""
    keys = as_object(judged.value)
    for key in judged.row.values:
        if key in keys:
            return
    for key in judged.row.values:
        judged.required(judged.row.message, Key(key))


def api_group(judged: Judged) -> None:
    """Require an apiVersion with a group (Go: autoscaling ValidateAPIVersion)."""
    text = as_text(judged.value)
    problem = api_version(text)
    # The version alone is that of the core group.
    if not problem and not text.rpartition("/")[0]:
        problem = judged.row.message
    if problem:
        judged.invalid(text, problem)


def any_of(judged: Judged) -> None:
    """Require one of the fields ``values`` of the object in the field.

    With ``zero`` "pointer" an empty text is set, and zero.
    """
    value = judged.value
    if isinstance(value, dict):
        is_pointer = judged.row.zero == "pointer"
        for name in judged.row.values:
            found = value.get(name, ABSENT)
            if not is_missing(found) or (is_pointer and found in ("", 0)):
                return
        judged.required(judged.row.message)


def int_or_percent(judged: Judged) -> None:
    """Check a number or a percentage (Go: apps ValidatePositiveIntOrPercent).

    A percentage is at most ``maximum`` (Go: IsNotMoreThan100Percent).
    """
    value, most = judged.value, judged.row.maximum
    if isinstance(value, str):
        problem = percent(value)
        if problem:
            judged.invalid(value, problem)
        elif most is not None and int(value[:_LONGEST_PERCENT].rstrip("%")) > most:
            judged.invalid(value, f"must not be greater than {most}%")
    elif isinstance(value, int) and value < 0:
        judged.invalid(value, "must be greater than or equal to 0")


def port_or_name(judged: Judged) -> None:
    """Check a port, or the name of one (Go: core ValidatePortNumOrName)."""
    value = judged.value
    if isinstance(value, str):
        problem = port_name(value)
        if problem:
            judged.invalid(value, problem)
    elif isinstance(value, int) and not 1 <= value <= _MOST_PORTS:
        judged.invalid(value, "must be between 1 and 65535, inclusive")


def unique(judged: Judged) -> None:
    """Refuse elements that have the same text in ``key``; empty texts do not count.

    With ``each`` the cause names the element, and not its field.
    """
    row = judged.row
    seen: set[str] = set()
    for index, element in enumerate(elements(judged)):
        name = element.get(row.key)
        if not isinstance(name, str) or not name:
            continue
        if name in seen:
            below: tuple[Step, ...] = (index,) if row.each else (index, row.key)
            judged.add("FieldValueDuplicate", "", name, below)
        seen.add(name)


def greater(judged: Judged) -> None:
    """Require that the value is greater than that of the field ``key``."""
    value, other = judged.value, judged.obj.get(judged.row.key, 0)
    if isinstance(value, int) and isinstance(other, int) and value <= other:
        judged.invalid(value, judged.row.message)


def not_greater(judged: Judged) -> None:
    """Require that the value is not greater than that of the field ``key``.

    With ``zero`` "judged" that counts as zero where it is absent.
    """
    absent = 0 if judged.row.zero == "judged" else None
    value, other = judged.value, judged.obj.get(judged.row.key, absent)
    if isinstance(value, int) and isinstance(other, int) and value > other:
        judged.invalid(value, judged.row.message.replace("{other}", str(other)))


def not_less(judged: Judged) -> None:
    """Require that the value is not less than that of the field ``key``."""
    value, other = judged.value, judged.obj.get(judged.row.key, 0)
    if isinstance(value, int) and isinstance(other, int) and value < other:
        judged.invalid(value, judged.row.message)


def distinct(judged: Judged) -> None:
    """Refuse a text that is in the list before."""
    texts = as_list(judged.value)
    for index, text in enumerate(texts):
        if text in texts[:index]:
            judged.invalid(text, judged.row.message, index)


def includes(judged: Judged) -> None:
    """Refuse a list without any of the texts ``values``."""
    texts = as_list(judged.value)
    if texts and not any(text in texts for text in judged.row.values):
        judged.invalid(texts, judged.row.message)


def alone(judged: Judged) -> None:
    """Refuse a list that has one of the texts ``values`` and another element."""
    texts = as_list(judged.value)
    if len(texts) > 1 and any(text in texts for text in judged.row.values):
        judged.invalid(texts, judged.row.message)


def apart(judged: Judged) -> None:
    """Refuse a list that has all of the texts ``values``, or elements with these.

    With ``key`` these are what the elements have in that field.
    """
    key, texts = judged.row.key, as_list(judged.value)
    if key:
        texts = [element.get(key) for element in elements(judged)]
    if all(text in texts for text in judged.row.values):
        judged.invalid(texts, judged.row.message)


def all_of(judged: Judged) -> None:
    """Refuse a list with other texts than ``values``; there is a cause for each."""
    texts = as_list(judged.value)
    for text in texts:
        if text not in judged.row.values:
            judged.invalid(texts, judged.row.message)


def keys_apart(judged: Judged) -> None:
    """Refuse keys that the map in the field ``key`` has as well."""
    others = as_object(judged.obj.get(judged.row.key))
    for name in as_object(judged.value):
        if name in others:
            judged.invalid(name, judged.row.message, Key(name))


def check_joined_name(judged: Judged) -> None:
    """Require the name that the fields ``values`` make with a dot between them."""
    parts = [as_text(at(judged.obj, tuple(p.split(".")))) for p in judged.row.values]
    name = ".".join(parts)
    if not is_missing(judged.value) and judged.value != name:
        judged.invalid(judged.value, judged.row.message.replace("{name}", f'"{name}"'))


def repeated(judged: Judged) -> None:
    """Refuse what is in the list before, as a duplicate.

    With ``key`` it is that list of the elements, of which an empty one is refused, too.
    """
    seen: set[object] = set()
    name = judged.row.key
    for index, element in enumerate(as_list(judged.value)):
        value = as_object(element).get(name) if name else element
        key = value_key(value) if isinstance(value, (dict, list)) else value
        if key in seen or (name and not value):
            below: tuple[Step, ...] = (index, name) if name else (index,)
            judged.add("FieldValueDuplicate", "", "" if name else value, below)
        seen.add(key)


def repeated_in_update(judged: Judged) -> None:
    """Refuse what is in the list before in an update alone (Go: ValidateNodeUpdate)."""
    if judged.old:
        repeated(judged)


def unique_together(judged: Judged) -> None:
    """Refuse elements that have the same values in all of the fields ``values``.

    An absent field is empty, and counts.
    """
    seen: set[str] = set()
    for index, element in enumerate(elements(judged)):
        names = [as_text(element.get(name)) for name in judged.row.values]
        text = ", ".join(names)
        if text in seen:
            shown = f"{{{text}}}" if len(names) > 1 else text
            below: tuple[Step, ...] = (index,)
            if len(names) == 1:
                below = (index, judged.row.values[0])
            judged.add("FieldValueDuplicate", judged.row.message, shown, below)
        seen.add(text)


def distinct_in(judged: Judged) -> None:
    """Refuse elements that have the text of one before in a field of ``values``."""
    for name in judged.row.values:
        seen: set[str] = set()
        for index, element in enumerate(elements(judged)):
            text = as_text(element.get(name))
            if text and text in seen:
                judged.invalid(text, judged.row.message, index, name)
            seen.add(text)


def known_requests(judged: Judged) -> None:
    """Require names of requests, or of parts (Go: resource validateRequestNameRef)."""
    known: set[str] = set()
    for request in as_list(judged.obj.get("requests")):
        name = as_text(as_object(request).get("name"))
        parts = as_list(as_object(request).get("firstAvailable"))
        known |= {name, *[f"{name}/{as_object(each).get('name')}" for each in parts]}
    for index, element in enumerate(elements(judged)):
        for number, text in enumerate(as_list(element.get("requests"))):
            if as_text(text) not in known:
                judged.invalid(text, judged.row.message, index, "requests", number)


def check_device_nodes(judged: Judged) -> None:
    """Require one place of each device, or none (Go: resource validateDevice)."""
    is_asked = judged.obj.get("perDeviceNodeSelection") is True
    for index, device in enumerate(elements(judged)):
        names = [name for name in judged.row.values if device.get(name) is not None]
        given = [f"`{name}`" for name in names if device[name] not in ("", False)]
        if is_asked and not given:
            judged.required(judged.row.message, index)
        elif (names and not is_asked) or len(given) > 1:
            shown = f"{{{', '.join(given)}}}" if is_asked else None
            judged.invalid(shown, judged.row.message, index)


def repeated_claims(judged: Judged) -> None:
    """Refuse a claim that is named before (Go: validateResourceClaimNames)."""
    whole: set[str] = set()
    in_part: set[str] = set()
    requests: set[tuple[str, str]] = set()
    for index, claim in enumerate(elements(judged)):
        name, request = as_text(claim.get("name")), as_text(claim.get("request"))
        if name in whole or (not request and name in in_part):
            judged.add("FieldValueDuplicate", "", name, (index,))
        elif request and (name, request) in requests:
            judged.add("FieldValueDuplicate", "", f"{name}/{request}", (index,))
        if request:
            in_part.add(name)
            requests.add((name, request))
        else:
            whole.add(name)


def own_namespace(judged: Judged) -> None:
    """Require the namespace of the object (Go: ValidateLocalSubjectAccessReview)."""
    if not isinstance(judged.value, dict):
        return
    namespace = as_text(judged.value.get("namespace"))
    metadata = as_object(judged.obj.get("metadata"))
    # A client fills in that of the request.
    if metadata.get("namespace", namespace) != namespace:
        judged.invalid(namespace, judged.row.message, "namespace")


def review_selector(judged: Judged) -> None:
    """Require a text or requirements (Go: validateFieldSelectorAttributes)."""
    value = judged.value
    if not isinstance(value, dict):
        return
    if not (value.get("rawSelector") or value.get("requirements")):
        place = f"spec.resourceAttributes.{judged.row.field}"
        message = f"when {place} is specified, requirements or rawSelector is required"
        judged.required(message, "requirements")


def disjoint(judged: Judged) -> None:
    """Refuse a text that is in the list of the field ``key`` as well."""
    others = as_list(judged.obj.get(judged.row.key))
    for index, text in enumerate(as_list(judged.value)):
        if text in others:
            judged.invalid(text, judged.row.message, index)


def require_one_node_field_value(judged: Judged) -> None:
    """Require one value, of one field of nodes (Go: ValidateNodeFieldSelector...)."""
    for index, element in enumerate(elements(judged)):
        operator, values = element.get("operator"), as_list(element.get("values"))
        if operator in ("In", "NotIn") and len(values) != 1:
            judged.required(
                "must be only one value when `operator` is 'In' or 'NotIn' for node"
                " field selector",
                index,
                "values",
            )
        elif operator not in ("In", "NotIn"):
            message = "not a valid selector operator"
            judged.invalid(operator, message, index, "operator")
        if element.get("key") not in judged.row.values:
            message = "not a valid field selector key"
            judged.invalid(element.get("key"), message, index, "key")


def refuse_beside_star(judged: Judged) -> None:
    """Refuse what a "*" beside it has already (Go: validateResources)."""
    texts = [as_text(text) for text in as_list(judged.value)]
    whole = [text for text in texts if "/" not in text]
    # Those with all subresources, and those of all resources.
    all_below: set[str] = set()
    below_all: set[str] = set()
    for index, text in enumerate(texts):
        name, slash, below = text.partition("/")
        if slash and (name in all_below or below in below_all):
            star = f"{name}/*" if name in all_below else f"*/{below}"
            message = f"if '{star}' is present, must not specify {text}"
            judged.invalid(text, message, index)
        if below == "*":
            all_below.add(name)
        if slash and name == "*":
            below_all.add(below)
    # Go keeps what it finds of the last one.
    if "*" in whole and whole[-1] != "*":
        judged.invalid([*texts], judged.row.message)


def require_each(judged: Judged) -> None:
    """Require the fields ``values`` of each element of a list."""
    for index, element in enumerate(elements(judged)):
        for name in judged.row.values:
            if is_missing(element.get(name, ABSENT)):
                judged.required("", index, name)


def longest(judged: Judged) -> None:
    """Refuse a text of more bytes than ``maximum``, which the cause does not show.

    Without a message it is too long (Go: field.TooLong).
    """
    most = judged.row.maximum or 0
    if len(as_text(judged.value).encode("utf-8", "surrogatepass")) <= most:
        return
    if judged.row.message:
        judged.invalid("", judged.row.message)
    else:
        judged.found.append(too_long(Path(judged.steps), most))


CHECKS: Final[Checks] = {
    "all-of": all_of,
    "alone": alone,
    "any-of": any_of,
    "apart": apart,
    "api-group": api_group,
    "device-nodes": check_device_nodes,
    "disjoint": disjoint,
    "distinct": distinct,
    "distinct-in": distinct_in,
    "forbidden": forbidden,
    "format": text_format,
    "greater": greater,
    "includes": includes,
    "int-or-percent": int_or_percent,
    "joined-name": check_joined_name,
    "keys": key_formats,
    "keys-apart": keys_apart,
    "known-requests": known_requests,
    "longest": longest,
    "missing": missing,
    "most": check_length,
    "node-fields": require_one_node_field_value,
    "not-empty": refuse_empty,
    "not-greater": not_greater,
    "not-less": not_less,
    "one-of": one_of,
    "own-namespace": own_namespace,
    "port-or-name": port_or_name,
    "range": check_range,
    "refused": refused,
    "repeated": repeated,
    "repeated-in-update": repeated_in_update,
    "repeated-claims": repeated_claims,
    "required": require,
    "required-any": require_any,
    "required-each": require_each,
    "review-selector": review_selector,
    "star-apart": refuse_beside_star,
    "supported": supported,
    "unique": unique,
    "unique-together": unique_together,
    "wrong": wrong,
}
