"""Quantities of resources: rounded up to thousandths, and added."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import msgspec

from smp.values import (
    JSON,
    LONGEST_NUMBER,
    JSONObject,
    as_list,
    as_object,
    printed,
)

# A sign, digits, a fraction, and a suffix or an exponent (Go:
# resource.parseQuantityString).
_QUANTITY: Final = re.compile(
    r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]{1,3}))?",
    re.ASCII,
)
_DECIMAL: Final = "num kMGTPE"
_BINARY: Final = " KMGTPE"
_KIBI: Final = 1024
_NANO: Final = -9
_MILLI: Final = -3
_MAX: Final = 2**63 - 1


class _Quantity(msgspec.Struct, frozen=True):
    """An amount in billionths, rounded up, and the notation in which it was written.

    ``written`` is its text, unless the amount was computed.
    """

    nano: int
    notation: str
    written: str = ""

    def text(self) -> str:
        """Return the text, or the canonical one (Go: Quantity.CanonicalizeBytes)."""
        if self.written:
            return self.written
        amount, rest = divmod(self.nano, 10**-_NANO)
        if self.notation == "binary" and not rest and abs(amount) >= _KIBI:
            power = 0
            while amount % _KIBI == 0:
                amount //= _KIBI
                power += 1
            return f"{amount}{_BINARY[power]}i" if power else str(amount)
        amount = self.nano
        steps = 0
        while amount % 1000 == 0 and amount and steps < len(_DECIMAL) - 1:
            amount //= 1000
            steps += 1
        if self.notation == "exponent":
            return f"{amount}e{_NANO + 3 * steps}"
        return f"{amount}{_DECIMAL[steps].strip()}" if amount else "0"


def _parsed(value: JSON) -> _Quantity | None:
    """Read a quantity; None for what is none."""
    written = value if isinstance(value, str) else ""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        written = printed(value)
    return _read(written) if len(written) <= LONGEST_NUMBER else None


# The same few amounts are in all Pods.
@lru_cache(maxsize=8192)
def _read(written: str) -> _Quantity | None:
    match = _QUANTITY.fullmatch(written.strip())
    if match is None:
        return None
    sign, number, fraction, suffix, exponent = match.groups(default="")
    digits = int(f"0{number}{fraction}")
    power = -len(fraction)
    notation = "decimal"
    if suffix.endswith("i"):
        notation = "binary"
        digits *= _KIBI ** _BINARY.index(suffix[0])
    elif suffix:
        power += _NANO + 3 * _DECIMAL.index(suffix)
    elif exponent:
        notation = "exponent"
        power += int(exponent)
    nano = _divided_up(digits, 10 ** max(_NANO - power, 0))
    nano *= 10 ** max(power - _NANO, 0)
    if notation == "binary":
        # Go: a larger one is cut off.
        nano = min(nano, _MAX * 10**-_NANO)
    return _Quantity(-nano if sign == "-" else nano, notation, written)


def amount_of(value: JSON) -> int | None:
    """Return the amount of a quantity in billionths; None for what is none."""
    quantity = _parsed(value) if value not in (None, "") else None
    return None if quantity is None else quantity.nano


def _divided_up(amount: int, by: int) -> int:
    return -(-amount // by)


def rounded_to_milli(obj: JSONObject, name: str) -> JSONObject:
    """Round the quantities in a field up to thousandths, away from zero.

    Go: SetDefaults_ResourceList. The text of a quantity that is exact stays.
    """
    resources = as_object(obj.get(name))
    rounded: JSONObject = {}
    for resource, value in resources.items():
        quantity = _parsed(value)
        milli = 10 ** (_MILLI - _NANO)
        if quantity is not None and quantity.nano % milli:
            nano = _divided_up(abs(quantity.nano), milli) * milli
            sign = -1 if quantity.nano < 0 else 1
            notation = quantity.notation
            rounded[resource] = _Quantity(sign * nano, notation).text()
    return {**obj, name: {**resources, **rounded}} if rounded else obj


def of_all_containers(spec: JSONObject, name: str) -> JSONObject:
    """Return what the containers of a Pod have together as limits or requests.

    Init containers run one after the other, beside those that were started before and
    restart always (Go: AggregateContainerRequests, AggregateContainerLimits).
    """
    total: dict[str, _Quantity] = {}
    for container in as_list(spec.get("containers")):
        _add(total, _resources(container, name))
    always: dict[str, _Quantity] = {}
    most: dict[str, _Quantity] = {}
    for container in as_list(spec.get("initContainers")):
        needed = _resources(container, name)
        if as_object(container).get("restartPolicy") == "Always":
            _add(total, needed)
            _add(always, needed)
            _raise(most, always)
        else:
            _add(needed, always)
            _raise(most, needed)
    _raise(total, most)
    return {resource: amount.text() for resource, amount in total.items()}


def _resources(container: JSON, name: str) -> dict[str, _Quantity]:
    resources = as_object(as_object(container).get("resources"))
    found: dict[str, _Quantity] = {}
    for resource, value in as_object(resources.get(name)).items():
        quantity = _parsed(value)
        if quantity is not None:
            found[resource] = quantity
    return found


def _add(total: dict[str, _Quantity], more: dict[str, _Quantity]) -> None:
    """Add amounts in place (Go: addResourceList, Quantity.Add)."""
    for resource, quantity in more.items():
        before = total.get(resource)
        if before is None:
            total[resource] = quantity
        else:
            notation = before.notation if before.nano else quantity.notation
            total[resource] = _Quantity(before.nano + quantity.nano, notation)


def _raise(total: dict[str, _Quantity], least: dict[str, _Quantity]) -> None:
    """Raise amounts in place to at least others (Go: maxResourceList)."""
    for resource, quantity in least.items():
        before = total.get(resource)
        if before is None or before.nano < quantity.nano:
            total[resource] = quantity
