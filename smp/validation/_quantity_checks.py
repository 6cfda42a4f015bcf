"""The rules about quantities, and about the sizes of values.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final

from smp._values.quantities import DECIMAL, Quantity, parse_quantity, read_quantity
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    as_list,
    as_object,
    as_text,
    printed,
)
from smp.paths import Key, Path
from smp.validation._formats import is_extended_resource
from smp.validation._judged import Checks, Judged, elements
from smp.violations import Violation, quote_json

# Go: pkg/apis/core/helper/helpers.go, podComputeQuotaResources and
# standardQuotaResources.
_OF_PODS: Final = frozenset(
    {
        *("cpu", "memory", "limits.cpu", "limits.memory", "pods"),
        *("requests.cpu", "requests.memory"),
    }
)
_OF_QUOTAS: Final = _OF_PODS | {
    *("configmaps", "ephemeral-storage", "limits.ephemeral-storage"),
    *("persistentvolumeclaims", "replicationcontrollers", "requests.ephemeral-storage"),
    *("requests.storage", "resourcequotas", "secrets", "services"),
    *("services.loadbalancers", "services.nodeports"),
}
_SCOPED: Final = {
    **dict.fromkeys(("Terminating", "NotTerminating", "NotBestEffort"), _OF_PODS),
    **dict.fromkeys(("PriorityClass", "CrossNamespacePodAffinity"), _OF_PODS),
    "BestEffort": frozenset({"pods"}),
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
_WITHOUT_VALUES: Final = frozenset(_SCOPED) - {"PriorityClass", "VolumeAttributesClass"}
_MUST_EXIST: Final = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating,"
    " ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort,"
    " ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)
_ONE: Final = Quantity(1, "1", 0, DECIMAL)
_HUGE_PAGES: Final = "hugepages-"
_NEGATIVE: Final = "must be greater than or equal to 0"


def require_quantity(judged: Judged) -> None:
    """Require a quantity above zero under ``key``.

    Go: core ValidatePersistentVolumeClaimSpec.
    """
    key = judged.row.key
    value = as_object(judged.value).get(key, ABSENT)
    if isinstance(value, Absent):
        judged.required("", Key(key))
    else:
        _require_above_zero(judged, key, value)


def _require_above_zero(judged: Judged, name: str, value: JSON) -> None:
    quantity = read_quantity(value)
    if quantity is not None and quantity.sign <= 0:
        judged.invalid(printed(value), "must be greater than zero", Key(name))


def not_negative(judged: Judged) -> None:
    """Refuse quantities below zero (Go: ValidateResourceQuantityValue)."""
    for name, value in as_object(judged.value).items():
        quantity = read_quantity(value)
        if quantity is not None and quantity.sign < 0:
            judged.invalid(printed(value), _NEGATIVE, Key(name))


def _is_applied_wrongly(scope: str, hard: JSON) -> bool:
    """Go: IsResourceQuotaScopeValidForResource, of resources of Kubernetes."""
    allowed = _SCOPED.get(scope, _OF_QUOTAS)
    for name in as_object(hard):
        is_of_pages = name.removeprefix("requests.").startswith(_HUGE_PAGES)
        if (is_of_pages or name in _OF_QUOTAS) and name not in allowed:
            return True
    return False


def quota_scopes(judged: Judged) -> None:
    """Refuse a scope that a resource of the quota does not have."""
    scopes = as_list(judged.value)
    for scope in scopes:
        if _is_applied_wrongly(as_text(scope), judged.obj.get("hard")):
            judged.invalid(scopes, judged.row.message)


def quota_scope_selector(judged: Judged) -> None:
    """Check the selector of a quota (Go: validateScopedResourceSelectorRequirement).

    A server names the list, and not its elements.
    """
    for requirement in elements(judged):
        scope = as_text(requirement.get("scopeName"))
        operator = requirement.get("operator")
        values = as_list(requirement.get("values"))
        if scope not in _SCOPED:
            judged.invalid(scope, "unsupported scope", "scopeName")
        if _is_applied_wrongly(scope, judged.obj.get("hard")):
            judged.invalid([*elements(judged)], "unsupported scope applied to resource")
        if scope in _WITHOUT_VALUES and operator != "Exists":
            judged.invalid(operator or "", _MUST_EXIST, "operator")
        if operator in ("In", "NotIn"):
            if not values:
                message = (
                    "must be at least one value when `operator` is 'In' or 'NotIn'"
                )
                judged.required(f"{message} for scope selector", "values")
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                message = (
                    "must be no value when `operator` is 'Exist' or 'DoesNotExist'"
                )
                judged.invalid(values, f"{message} for scope selector", "values")
        else:
            message = "not a valid selector operator"
            judged.invalid(operator or "", message, "operator")


def amounts(judged: Judged) -> None:
    """Refuse quantities above those of the map in the field ``key``.

    The message has both as {value} and {other}.
    """
    _compare_amounts(judged, 1)


def amounts_below(judged: Judged) -> None:
    """Refuse quantities below those of the map in the field ``key``, as ``amounts``."""
    _compare_amounts(judged, -1)


def _compare_amounts(judged: Judged, refused: int) -> None:
    others = as_object(judged.obj.get(judged.row.key))
    for name, value in as_object(judged.value).items():
        quantity, other = read_quantity(value), read_quantity(others.get(name))
        if quantity is None or other is None or quantity.compare(other) != refused:
            continue
        texts = {"value": printed(value), "other": printed(others[name])}
        judged.invalid(printed(value), judged.row.message.format(**texts), Key(name))


def ratios(judged: Judged) -> None:
    """Refuse ratios below one (Go: core ValidateLimitRange)."""
    for name, value in as_object(judged.value).items():
        quantity = read_quantity(value)
        if quantity is not None and quantity.compare(_ONE) < 0:
            text = printed(value)
            judged.invalid(text, f"ratio {text} is less than 1", Key(name))


def _sign_of(judged: Judged) -> int:
    """Return the sign of the value; 1 for what is no quantity."""
    value = judged.value
    quantity = None if isinstance(value, Absent) else read_quantity(value)
    return 1 if quantity is None else quantity.sign


def forbid_negative(judged: Judged) -> None:
    """Forbid a quantity below zero (Go: validateEmptyDirVolumeSource)."""
    if _sign_of(judged) < 0:
        judged.add("FieldValueForbidden", judged.row.message)


def positive(judged: Judged) -> None:
    """Refuse a quantity that is not above zero."""
    if _sign_of(judged) <= 0:
        judged.invalid(printed(judged.value), judged.row.message)


def quantity_not_negative(judged: Judged) -> None:
    """Refuse a quantity below zero (Go: ValidateNonnegativeQuantity)."""
    if _sign_of(judged) < 0:
        judged.invalid(printed(judged.value), _NEGATIVE)


def whole_amounts(judged: Judged) -> None:
    """Require whole numbers of resources that are counted.

    These are the names ``values``, and the extended resources; without ``values`` huge
    pages are multiples of their size. Go: core ValidateResourceQuantityValue,
    validateResourceQuantity.
    """
    for name, value in as_object(judged.value).items():
        quantity, text = read_quantity(value), printed(value)
        if quantity is None:
            continue
        is_counted = name in judged.row.values or is_extended_resource(name)
        if is_counted and quantity.exponent < 0:
            judged.invalid(text, "must be an integer", Key(name))
        is_of_pages = name.startswith(_HUGE_PAGES) and not judged.row.values
        if is_of_pages and not _is_of_pages(quantity, name):
            message = f"{text} is not positive integer multiple of {name}"
            judged.invalid(text, message, Key(name))


def _is_of_pages(quantity: Quantity, name: str) -> bool:
    """Tell whether an amount is that of some huge pages, or of none.

    Go: IsHugePageResourceValueDivisible.
    """
    size = parse_quantity(name.removeprefix(_HUGE_PAGES))
    if size is None or size.sign <= 0 or size.exponent < 0:
        return False
    amount, page = quantity.whole(), size.whole()
    # Go computes modulo 2**64; amounts so large are not judged.
    return amount is None or page is None or amount % page == 0


def huge_pages(judged: Judged) -> None:
    """Forbid huge pages without cpu or memory (Go: validateResourceRequirements)."""
    resources = as_object(judged.value)
    names = {*as_object(resources.get("limits")), *as_object(resources.get("requests"))}
    has_pages = any(name.startswith(_HUGE_PAGES) for name in names)
    if has_pages and not names & {"cpu", "memory"}:
        judged.add("FieldValueForbidden", judged.row.message)


def check_size(judged: Judged) -> None:
    """Compare the bytes of all values with ``maximum``.

    Those of the maps ``values`` are texts, and those of the map ``key`` are base64. Go:
    core ValidateConfigMap, ValidateSecret.
    """
    row = judged.row
    size = 0
    for name in row.values:
        for text in as_object(judged.obj.get(name)).values():
            # No server gets half a surrogate pair, but a caller may have one.
            size += len(as_text(text).encode(errors="surrogatepass"))
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
        order = quantity.compare(limit)
        if order > 0 or (is_exact and order < 0):
            bound = "equal to" if is_exact else "less than or equal to"
            message = f"must be {bound} {name} limit of {printed(limits[name])}"
            judged.invalid(printed(value), message)


def require_capacity(judged: Judged) -> None:
    """Require a storage capacity (Go: core ValidatePersistentVolumeSpec)."""
    capacity = as_object(judged.value)
    # Go reports an empty capacity twice.
    if not capacity:
        judged.required("")
    if set(capacity) != {"storage"}:
        text = quote_json(capacity or None)
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
        _require_above_zero(judged, name, value)


CHECKS: Final[Checks] = {
    "amounts": amounts,
    "amounts-below": amounts_below,
    "huge-pages": huge_pages,
    "negative": forbid_negative,
    "not-negative": quantity_not_negative,
    "positive": positive,
    "quantities": not_negative,
    "quota-scope-selector": quota_scope_selector,
    "quota-scopes": quota_scopes,
    "ratios": ratios,
    "requests": check_limits,
    "required-capacity": require_capacity,
    "required-quantity": require_quantity,
    "size": check_size,
    "whole": whole_amounts,
}
