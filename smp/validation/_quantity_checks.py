"""The rules about quantities, and about the sizes of values.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final

from smp._values.quantities import DECIMAL, Quantity, read_quantity
from smp._values.values import (
    ABSENT,
    Absent,
    as_object,
    as_text,
    printed,
)
from smp.paths import Key, Path
from smp.validation._judged import (
    Judged,
    show,
    sort_members,
)
from smp.violations import Violation

_ONE: Final = Quantity(1, "1", 0, DECIMAL)


def require_quantity(judged: Judged) -> None:
    """Require a quantity above zero under ``key``.

    Go: core ValidatePersistentVolumeClaimSpec.
    """
    row = judged.row
    value = as_object(judged.value).get(row.key, ABSENT)
    if isinstance(value, Absent):
        judged.required("", Key(row.key))
        return
    quantity = read_quantity(value)
    if quantity is not None and quantity.sign <= 0:
        judged.invalid(printed(value), "must be greater than zero", Key(row.key))


def not_negative(judged: Judged) -> None:
    """Refuse quantities below zero (Go: ValidateResourceQuantityValue)."""
    for name, value in as_object(judged.value).items():
        quantity = read_quantity(value)
        if quantity is not None and quantity.sign < 0:
            judged.invalid(
                printed(value), "must be greater than or equal to 0", Key(name)
            )


def amounts(judged: Judged) -> None:
    """Refuse quantities above those of the map in the field ``key``.

    The message has both as {value} and {other}.
    """
    others = as_object(judged.obj.get(judged.row.key))
    for name, value in as_object(judged.value).items():
        quantity, other = read_quantity(value), read_quantity(others.get(name))
        if quantity is not None and other is not None and quantity.compare(other) > 0:
            texts = {"value": printed(value), "other": printed(others[name])}
            message = judged.row.message.format(**texts)
            judged.invalid(printed(value), message, Key(name))


def amounts_below(judged: Judged) -> None:
    """Refuse quantities below those of the map in the field ``key``, as ``amounts``."""
    others = as_object(judged.obj.get(judged.row.key))
    for name, value in as_object(judged.value).items():
        quantity, other = read_quantity(value), read_quantity(others.get(name))
        if quantity is not None and other is not None and quantity.compare(other) < 0:
            texts = {"value": printed(value), "other": printed(others[name])}
            message = judged.row.message.format(**texts)
            judged.invalid(printed(value), message, Key(name))


def ratios(judged: Judged) -> None:
    """Refuse ratios below one (Go: core ValidateLimitRange)."""
    for name, value in as_object(judged.value).items():
        quantity = read_quantity(value)
        if quantity is not None and quantity.compare(_ONE) < 0:
            text = printed(value)
            judged.invalid(text, f"ratio {text} is less than 1", Key(name))


def forbid_negative(judged: Judged) -> None:
    """Forbid a quantity below zero (Go: validateEmptyDirVolumeSource)."""
    value = judged.value
    quantity = None if isinstance(value, Absent) else read_quantity(value)
    if quantity is not None and quantity.sign < 0:
        judged.add("FieldValueForbidden", judged.row.message)


def whole_amounts(judged: Judged) -> None:
    """Require whole numbers of resources that are counted.

    These are the names ``values``, and the extended resources; huge pages are multiples
    of their size. Go: core ValidateResourceQuantityValue, validateResourceQuantity.
    """
    for name, value in as_object(judged.value).items():
        quantity, text = read_quantity(value), printed(value)
        if quantity is None:
            continue
        _, slash, _ = name.partition("/")
        is_native = "kubernetes.io/" in name
        is_counted = name in judged.row.values or (slash and not is_native)
        if is_counted and quantity.exponent < 0:
            judged.invalid(text, "must be an integer", Key(name))
        size = read_quantity(name.removeprefix("hugepages-"))
        if name.startswith("hugepages-") and size is not None and size.sign > 0:
            amount = int(quantity.digits or "0") * 10 ** max(quantity.exponent, 0)
            page = int(size.digits) * 10 ** max(size.exponent, 0)
            if quantity.exponent < 0 or amount % page or quantity.sign <= 0:
                message = f"{text} is not positive integer multiple of {name}"
                judged.invalid(text, message, Key(name))


def huge_pages(judged: Judged) -> None:
    """Forbid huge pages without cpu or memory (Go: validateResourceRequirements)."""
    resources = as_object(judged.value)
    names = {*as_object(resources.get("limits")), *as_object(resources.get("requests"))}
    has_pages = any(name.startswith("hugepages-") for name in names)
    if has_pages and not names & {"cpu", "memory"}:
        judged.add("FieldValueForbidden", judged.row.message)


def positive(judged: Judged) -> None:
    """Refuse a quantity that is not above zero."""
    value = judged.value
    if isinstance(value, Absent):
        return
    quantity = read_quantity(value)
    if quantity is not None and quantity.sign <= 0:
        judged.invalid(printed(value), judged.row.message)


def quantity_not_negative(judged: Judged) -> None:
    """Refuse a quantity below zero (Go: ValidateNonnegativeQuantity)."""
    value = judged.value
    if isinstance(value, Absent):
        return
    quantity = read_quantity(value)
    if quantity is not None and quantity.sign < 0:
        judged.invalid(printed(value), "must be greater than or equal to 0")


def check_size(judged: Judged) -> None:
    """Compare the bytes of all values with ``maximum``.

    Those of the maps ``values`` are texts, and those of the map ``key`` are base64. Go:
    core ValidateConfigMap, ValidateSecret.
    """
    row = judged.row
    size = 0
    for name in row.values:
        for text in as_object(judged.obj.get(name)).values():
            size += len(as_text(text).encode())
    for text in as_object(judged.obj.get(row.key)).values():
        encoded = as_text(text)
        size += len(encoded) * 3 // 4 - encoded.count("=")
    if row.maximum is not None and size > row.maximum:
        # Go names the whole of a ConfigMap by a path of one empty name.
        below = () if row.field else (Key(""),)
        message = f"may not be more than {row.maximum} bytes"
        judged.add("FieldValueTooLong", message, ABSENT, below)


def check_limits(judged: Judged) -> None:
    """Compare requests with limits (Go: validateResourceRequirements)."""
    limits = as_object(judged.obj.get("limits"))
    for name, value in as_object(judged.value).items():
        quantity, limit = read_quantity(value), read_quantity(limits.get(name))
        # Go: helper.IsOvercommitAllowed: huge pages and extended resources are not.
        is_exact = name.startswith("hugepages-") or "/" in name
        if is_exact and name not in limits:
            judged.required("Limit must be set for non overcommitable resources")
        if quantity is None or limit is None:
            continue
        text = printed(limits[name])
        if is_exact:
            if not quantity.equals(limit):
                judged.invalid(
                    printed(value), f"must be equal to {name} limit of {text}"
                )
        elif quantity.compare(limit) > 0:
            judged.invalid(
                printed(value),
                f"must be less than or equal to {name} limit of {text}",
            )


def require_capacity(judged: Judged) -> None:
    """Require a storage capacity (Go: core ValidatePersistentVolumeSpec)."""
    capacity = as_object(judged.value)
    # Go reports an empty capacity twice.
    if not capacity:
        judged.required("")
    if set(capacity) != {"storage"}:
        text = show(sort_members(capacity) or None)
        judged.found.append(
            Violation(
                "unsupported-value",
                Path(judged.steps),
                "FieldValueNotSupported",
                f'Unsupported value: {text}: supported values: "storage"',
                judged.value,
            )
        )
    for name, value in capacity.items():
        quantity = read_quantity(value)
        if quantity is not None and quantity.sign <= 0:
            judged.invalid(printed(value), "must be greater than zero", Key(name))
