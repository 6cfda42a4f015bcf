"""Random texts of quantities, times and durations, and texts that nearly are some."""

from __future__ import annotations

from random import Random
from typing import Final

_SUFFIXES: Final = (
    *("", "", "n", "u", "m", "m", "k", "M", "G", "T", "P", "E"),
    *("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"),
)
_QUANTITY_CHARACTERS: Final = "0123456789.+-eEkKMGmnuiTP \u00a0x"
# Go reads an int64 and keeps an int32 of it. It computes the power of a long number, of
# a small one and where it compares, and with these exponents would not come to an end.
_WILD: Final = (
    *("2147483647", "2147483646", "2147483640", "2147483648", "4294967296"),
    *("-4294967299", "4294967293", "9223372036854775807", "9223372036854775808"),
    *("-9223372036854775808", "1000000000", "00000000000000000000001", "99999"),
)
_TIME_CHARACTERS: Final = "0123456789-:.,+TZz "
_DURATION_UNITS: Final = ("ns", "us", "µs", "μs", "ms", "s", "m", "h")


def _digits(random: Random, most: int) -> str:
    """Return digits, often zeros or nines."""
    kind = random.randrange(6)
    count = random.randint(0, most)
    if kind == 0:
        return "0" * count
    if kind == 1:
        return "9" * count
    digits = "".join(random.choices("0123456789", k=count))
    if kind == 2:
        digits = digits.rstrip("123456789")[: count // 2] + "0" * (count // 2)
    return digits


def _number(random: Random, most: int) -> str:
    number = random.choice(("", "", "", "-", "+")) + _digits(random, most)
    if random.random() < 0.4:
        number += f".{_digits(random, most)}"
    return number


def _changed(random: Random, text: str, characters: str) -> str:
    """Insert, replace or remove a character."""
    at = random.randint(0, len(text))
    kept = text[at + random.randrange(2) :]
    return text[:at] + random.choice((random.choice(characters), "")) + kept


def quantity_text(random: Random) -> str:
    """Return a quantity, of any exponent where Go comes to an end."""
    kind = random.randrange(10)
    if kind == 0:
        length = random.randint(1, 6)
        return "".join(random.choices(_QUANTITY_CHARACTERS, k=length))
    if kind == 1:
        digits = str(random.randrange(1, 10**9))
        at = random.randrange(len(digits))
        return f"{digits[:at]}.{digits[at:]}{random.choice('eE')}{random.choice(_WILD)}"
    text = comparable_quantity_text(random)
    if kind == 2:
        text = _changed(random, text, _QUANTITY_CHARACTERS)
    return text if _is_bounded(text) else "1"


def _is_bounded(text: str) -> bool:
    """Tell whether an exponent is one whose power Go computes at once."""
    exponents = text.lower().split("e")[1:]
    return all(len(exponent.strip("+-")) <= len("1500") for exponent in exponents)


def comparable_quantity_text(random: Random) -> str:
    """Return a quantity that Go compares with others at once."""
    number = _number(random, random.choice((1, 2, 3, 6, 18, 19, 25)))
    if random.random() < 0.02:
        number = _number(random, random.choice((100, 2000)))
    if random.random() < 0.2:
        exponent = random.choice((3, 12, 20, 400, 1500))
        sign = random.choice(("", "-", "+", ""))
        return f"{number}{random.choice('eE')}{sign}{random.randrange(exponent)}"
    if random.random() < 0.1:
        # Near to the largest number of a binary quantity, and to the smallest ones.
        near = 2**63 + random.randint(-2, 2)
        power = random.randrange(7)
        suffix = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")[power]
        return random.choice(
            (
                f"{near // 1024**power}{suffix}",
                f"{near}000m",
                f"{near // 1024**power}.{_digits(random, 90)}{suffix}",
                f"0.{'0' * random.randrange(30)}{_digits(random, 30)}{suffix}",
            )
        )
    return f"{number}{random.choice(_SUFFIXES)}"


def quantity_pair(random: Random) -> tuple[str, str]:
    """Return two quantities, often of about the same amount."""
    left = comparable_quantity_text(random)
    if random.random() < 0.5:
        return left, comparable_quantity_text(random)
    amount = random.randrange(1, 5000)
    forms = (
        *(f"{amount}", f"{amount * 1000}m", f"{amount}e0", f"{amount}.0"),
        *(f"{amount}Ki", f"{amount * 1024}", f"{amount * 1024000}m", f"-{amount}"),
        *(f"{amount}001e-3", f"{amount}.0000000001", f"{amount}e1000", f"{amount}E"),
    )
    return random.choice(forms), random.choice(forms)


def time_text(random: Random) -> str:
    """Return a time, sometimes with a number out of range or another character."""
    year = random.choice(("2024", "1970", "2023", "2000", "1900", "0000", "0001"))
    if random.random() < 0.4:
        year = f"{random.randrange(10000):04}"
    is_wild = random.random() < 0.2
    month = random.randrange(14) if is_wild else random.randint(1, 12)
    day = random.randrange(33) if is_wild else random.randint(1, 31)
    hour = random.randrange(26) if is_wild else random.randrange(24)
    minute = random.randrange(62) if is_wild else random.randrange(60)
    second = random.randrange(62) if is_wild else random.randrange(60)
    if random.random() < 0.1:
        month, day, hour, minute, second = random.choice(
            ((1, 1, 0, 0, 0), (12, 31, 23, 59, 59), (2, 29, 0, 0, 0), (2, 28, 1, 0, 0))
        )
    hours = f"{hour}" if random.random() < 0.05 else f"{hour:02}"
    fraction = ""
    if random.random() < 0.5:
        digits = random.choice((6, 6, 6, 1, 3, 5, 7, 9, 12))
        fraction = random.choice("....,") + "".join(
            random.choices(random.choice(("0", "0123456789", "+-0123456789")), k=digits)
        )
        if random.random() < 0.05:
            fraction = f"{fraction[0]}{random.choice('+-')}{fraction[2:]}"
    zone = "Z"
    if random.random() < 0.4:
        zone = random.choice(("+01:00", "-05:30", "+00:00", "-00:00", "z", ""))
        if random.random() < 0.3:
            sign = random.choice("+-")
            zone = f"{sign}{random.randrange(27):02}:{random.randrange(63):02}"
    text = f"{year}-{month:02}-{day:02}T{hours}:{minute:02}:{second:02}{fraction}{zone}"
    if random.random() < 0.15:
        text = _changed(random, text, _TIME_CHARACTERS)
    return text


def duration_text(random: Random) -> str:
    """Return a duration, sometimes beyond an int64 or with another character."""
    parts = [random.choice(("", "", "-", "+"))]
    for _ in range(random.choice((1, 1, 2, 3))):
        number = _digits(random, random.choice((1, 2, 5, 19, 20)))
        if random.random() < 0.1:
            number = str(
                2**63 // random.choice((1, 1000, 10**9)) + random.randint(-1, 1)
            )
        if random.random() < 0.4:
            number += f".{_digits(random, random.choice((1, 3, 9, 19, 30, 400)))}"
        parts.append(number + random.choice(_DURATION_UNITS))
    text = "".join(parts)
    if random.random() < 0.15:
        text = _changed(random, text, "0123456789.+-nsmuhµd ")
    return text
