"""Quantities of resources: read, printed, compared, rounded and added as Go does.

A quantity is a decimal number with a suffix or an exponent, ``100m``, ``1.5Gi``,
``1e3`` (Go: k8s.io/apimachinery, pkg/api/resource). Here its amount is a text of digits
and a power of ten. So a text takes time and memory by its length, of which there is no
limit, and an exponent takes none, however large it is. Go computes the power: it does
not come to an end with the largest ones.

The number of a JSON document does not keep its digits, so that one with an exponent may
have another spelling here than in Go.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

import re
from typing import Final

from smp._values.text_cache import TextCache
from smp._values.values import JSON, JSONObject, as_list, as_object, printed

# Go: resource.parseQuantityString. Possessive: no part is tried with fewer characters.
_SYNTAX: Final = re.compile(
    r"([+-]?)(0*+)([0-9]*+)(?:\.([0-9]*+))?+([eEinumkKMGTP]*+[+-]?+[0-9]*+)"
)
_EXPONENT: Final = re.compile(r"[eE]([+-]?)0*+([0-9]+|(?<=0))")
# Go: ErrFormatWrong, ErrNumeric, ErrSuffix.
_WRONG_FORMAT: Final = (
    "quantities must match the regular expression"
    " '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_NO_NUMBER: Final = "unable to parse numeric part of quantity"
_WRONG_SUFFIX: Final = "unable to parse quantity's suffix"
# Go: strings.TrimSpace, of bytes in which JSON has escaped what is below the space.
_SPACES: Final = (
    " \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)

# How an amount is written (Go: resource.Format).
DECIMAL: Final = "DecimalSI"
BINARY: Final = "BinarySI"
EXPONENT: Final = "DecimalExponent"

# Powers of ten and of two that the suffixes stand for (Go: resource.newSuffixer).
_POWERS_OF_TEN: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_POWERS_OF_TWO: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIXES: Final = {power: suffix for suffix, power in _POWERS_OF_TEN.items()}
_BINARY_SUFFIXES: Final = {power: suffix for suffix, power in _POWERS_OF_TWO.items()}
_NANO: Final = -9
_MILLI: Final = -3
_KIBI: Final = 1024
_THOUSANDS: Final = 3
# Go: resource.maxInt64Factors. A number of so many digits is an int64.
_INT64_DIGITS: Final = 18
_MAX: Final = 2**63 - 1
# A sum of more digits is not computed; Python prints at most 4,300.
_LONGEST_SUM: Final = 4000
# Of a number that is multiplied by a power of two, later digits of the fraction cannot
# change what it is rounded up to: 2**60 times as little is still less than a billionth.
_FRACTION_DIGITS: Final = 80


class Quantity:
    """An amount: ``sign``, ``digits`` and the power of ten ``exponent``; immutable.

    The digits have no zero at either end, and zero has none. ``form`` is DECIMAL,
    BINARY or EXPONENT. ``text`` is what Go prints: its canonical form, or where Go
    takes what was written for canonical, ``written``.
    """

    def __init__(
        self, sign: int, digits: str, exponent: int, form: str, written: str = ""
    ) -> None:
        significant = digits.rstrip("0")
        self.exponent: int = (
            exponent + len(digits) - len(significant) if significant else 0
        )
        self.digits: str = significant.lstrip("0")
        self.sign: int = sign if significant else 0
        self.form = form
        self.text: str = written or self._canonical()

    def compare(self, other: Quantity) -> int:
        """Return -1, 0 or 1: less, equal or greater (Go: Quantity.Cmp)."""
        if self.sign != other.sign:
            return -1 if self.sign < other.sign else 1
        # By the place of the first digit, then digit by digit.
        mine = (len(self.digits) + self.exponent, self.digits)
        others = (len(other.digits) + other.exponent, other.digits)
        if mine == others:
            return 0
        return self.sign if mine > others else -self.sign

    def equals(self, other: Quantity) -> bool:
        """Tell whether two amounts are equal (Go: Quantity.Equal)."""
        return self.compare(other) == 0

    def whole(self) -> int | None:
        """Return the number, rounded up away from zero (Go: Quantity.Value).

        None where it has more digits than each int64 has room for.
        """
        if len(self.digits) + self.exponent > _INT64_DIGITS:
            return None
        digits, exponent = _round_up(self.digits, self.exponent, 0)
        return self.sign * int(f"0{digits}{'0' * exponent}")

    def round_up_to_milli(self) -> Quantity:
        """Round up to thousandths, away from zero (Go: RoundUp(resource.Milli))."""
        if self.exponent >= _MILLI:
            return self
        digits, exponent = _round_up(self.digits, self.exponent, _MILLI)
        return Quantity(self.sign, digits, exponent, self.form)

    def add(self, other: Quantity) -> Quantity:
        """Return the sum (Go: Quantity.Add).

        Where it would have thousands of digits it is the greater of both amounts.
        """
        # Go: zero has no format of its own.
        form = self.form if self.digits else other.form
        least = min(self.exponent, other.exponent)
        longest = max(
            len(self.digits) + self.exponent, len(other.digits) + other.exponent
        )
        if longest - least > _LONGEST_SUM:
            greater = self if self.compare(other) > 0 else other
            return Quantity(greater.sign, greater.digits, greater.exponent, form)
        total = self._count(least) + other._count(least)
        return Quantity(-1 if total < 0 else 1, str(abs(total)), least, form)

    def _count(self, exponent: int) -> int:
        """Return how often the amount has a power of ten that is not above its own."""
        zeros = "0" * (self.exponent - exponent)
        return self.sign * int(f"0{self.digits}{zeros}")

    def _canonical(self) -> str:
        """Go: Quantity.CanonicalizeBytes."""
        if not self.digits:
            return "0"
        minus = "-" if self.sign < 0 else ""
        if self.form == BINARY and self.exponent >= 0:
            amount = abs(self._count(0))
            # Go: what is smaller, or has a fraction, is printed as a decimal.
            if amount >= _KIBI:
                power = 0
                while amount % _KIBI == 0:
                    amount //= _KIBI
                    power += 10
                # Go has no suffix above Ei, and prints none.
                return f"{minus}{amount}{_BINARY_SUFFIXES.get(power, '')}"
        # Go: AsCanonicalBytes. The exponent is an int32, and a multiple of 3.
        exponent = _wrap_to_int32(self.exponent)
        zeros = exponent % _THOUSANDS
        exponent = _wrap_to_int32(exponent - zeros)
        number = f"{minus}{self.digits}{'0' * zeros}"
        if self.form == EXPONENT:
            return f"{number}e{exponent}" if exponent else number
        # Nor is there one above E.
        return f"{number}{_DECIMAL_SUFFIXES.get(exponent, '')}"


def read_quantity(value: JSON) -> Quantity | None:
    """Return the quantity that a text or a number is; None for what is none.

    Go: Quantity.UnmarshalJSON, which ignores spaces around a text.
    """
    if isinstance(value, str):
        found = _PARSED[value.strip(_SPACES)]
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        found = _PARSED[printed(value)]
    else:
        return None
    return found if isinstance(found, Quantity) else None


def quantity_problem(value: JSON) -> str:
    """Return why a value cannot be read, in Go's words; "" where it can, or is null."""
    if value is None or type(value) is int or type(value) is float:
        return ""
    if not isinstance(value, str):
        return _WRONG_FORMAT
    found = _PARSED[value.strip(_SPACES)]
    return found if isinstance(found, str) else ""


def parse_quantity(text: str) -> Quantity | None:
    """Return the quantity that a text is; None for none (Go: ParseQuantity)."""
    found = _PARSED[text]
    return found if isinstance(found, Quantity) else None


def canonical_quantity(value: JSON) -> JSON:
    """Return the text that Go prints of a quantity; what is none stays as it is."""
    found = read_quantity(value)
    if found is None:
        return value
    # The same text is the same object, so that the value counts as unchanged.
    return value if isinstance(value, str) and value == found.text else found.text


def _parse(text: str) -> Quantity | str:
    """Return a quantity, or why there is none (Go: resource.ParseQuantity)."""
    match = _SYNTAX.fullmatch(text)
    if match is None or not text:
        return _WRONG_FORMAT
    number: str = match[3]
    fraction: str = match[4] or ""
    suffix: str = match[5]
    sign = -1 if match[1] == "-" else 1
    # Go: parseQuantityString, which has a zero for a number without digits.
    has_digits = bool(match[2] or number or fraction)
    number = number or "0"
    if suffix in _POWERS_OF_TWO:
        return _parse_binary(text, sign, number, fraction, has_digits=has_digits)
    form = DECIMAL
    power = _POWERS_OF_TEN.get(suffix)
    if power is None:
        form = EXPONENT
        power = _read_exponent(suffix)
        if power is None:
            return _WRONG_SUFFIX
    digits = number + fraction
    exponent = _wrap_to_int32(power - len(fraction))
    if len(digits) <= _INT64_DIGITS and exponent >= _NANO:
        # Go keeps the text of a quantity that it takes for canonical.
        is_kept = exponent % _THOUSANDS == 0 and not digits.endswith("000")
        kept = text if is_kept and digits[0] != "0" else ""
        return Quantity(sign, digits, exponent, form, kept)
    if not has_digits:
        return _NO_NUMBER
    digits, exponent = _round_up(digits.lstrip("0"), exponent, _NANO)
    return Quantity(sign, digits, exponent, form)


def _parse_binary(
    text: str, sign: int, number: str, fraction: str, *, has_digits: bool
) -> Quantity | str:
    """Return a quantity with a suffix such as Ki, whose amount is an int64 at most."""
    power = _POWERS_OF_TWO[text[-2:]]
    # Go: the number of decimal digits that are left in an int64, about.
    precision = 15 - len(number) - power * 3 // 10 - 1
    if not fraction and precision >= 0:
        amount = int(number)
        # Go keeps the text of a quantity that it takes for canonical.
        kept = text if amount & 7 else ""
        return Quantity(sign, str(amount << power), 0, BINARY, kept)
    if not has_digits:
        return _NO_NUMBER
    if len(number) > _INT64_DIGITS:
        return Quantity(sign, str(_MAX), 0, BINARY)
    if fraction[_FRACTION_DIGITS:].strip("0"):
        fraction = f"{fraction[:_FRACTION_DIGITS]}1"
    fraction = fraction[: _FRACTION_DIGITS + 1]
    digits = str(int(number + fraction) << power)
    digits, exponent = _round_up(digits, -len(fraction), _NANO)
    # Go: what is below one is a decimal.
    form = BINARY if len(digits) + exponent > 0 else DECIMAL
    found = Quantity(sign, digits, exponent, form)
    largest = Quantity(sign, str(_MAX), 0, BINARY)
    return largest if found.compare(largest) == sign else found


def _read_exponent(suffix: str) -> int | None:
    """Return the exponent in a suffix, as an int32 (Go: suffixHandler.interpret)."""
    match = _EXPONENT.fullmatch(suffix)
    if match is None or len(match[2]) > len(str(_MAX)):
        return None
    exponent = int(f"{match[1]}0{match[2]}")
    # Go: strconv.ParseInt reads an int64, of which int32() drops the upper half.
    return _wrap_to_int32(exponent) if -_MAX - 1 <= exponent <= _MAX else None


def _wrap_to_int32(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def _round_up(digits: str, exponent: int, least: int) -> tuple[str, int]:
    """Round away from zero to a power of ten (Go: inf.RoundUp).

    Some of a resource was asked for, so that it does not get none.
    """
    dropped = least - exponent
    if dropped <= 0:
        return digits, exponent
    kept = digits[: max(len(digits) - dropped, 0)]
    if not digits[len(kept) :].strip("0"):
        return kept, least
    # Nines at the end become zeros, and the digit before them counts one more.
    head = kept.rstrip("9")
    least += len(kept) - len(head)
    return (f"{head[:-1]}{int(head[-1]) + 1}" if head else "1"), least


# The same few amounts are in all Pods.
_PARSED: Final[TextCache[Quantity | str]] = TextCache(_parse)


def sum_containers(spec: JSONObject, name: str) -> dict[str, Quantity]:
    """Return what the containers of a Pod have together as limits or requests.

    Init containers run one after the other, beside those that were started before and
    restart always (Go: AggregateContainerRequests, AggregateContainerLimits).
    """
    total: dict[str, Quantity] = {}
    for container in as_list(spec.get("containers")):
        _add(total, _resources(container, name))
    always: dict[str, Quantity] = {}
    most: dict[str, Quantity] = {}
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
    return total


def _resources(container: JSON, name: str) -> dict[str, Quantity]:
    resources = as_object(as_object(container).get("resources"))
    found: dict[str, Quantity] = {}
    for resource, value in as_object(resources.get(name)).items():
        quantity = read_quantity(value)
        if quantity is not None:
            found[resource] = quantity
    return found


def _add(total: dict[str, Quantity], more: dict[str, Quantity]) -> None:
    """Add amounts in place (Go: addResourceList)."""
    for resource, quantity in more.items():
        before = total.get(resource)
        total[resource] = quantity if before is None else before.add(quantity)


def _raise(total: dict[str, Quantity], least: dict[str, Quantity]) -> None:
    """Raise amounts in place to at least others (Go: maxResourceList)."""
    for resource, quantity in least.items():
        before = total.get(resource)
        if before is None or before.compare(quantity) < 0:
            total[resource] = quantity
