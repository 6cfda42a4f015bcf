"""The listing of an enum's values at the end of a description (KEP-2887)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# Go: kube-openapi's enumTypeDescriptionHeader.
HEADER: Final = "Possible enum values:"


def listing(meanings: Mapping[str, str]) -> list[str]:
    """List values, each with what it means, as lines (Go: DescriptionLines)."""
    lines = []
    for value, meaning in meanings.items():
        lines.append(f" - `{quote(value)}` {meaning}".rstrip())
    return [HEADER, *sorted(lines)]


def quote(value: str) -> str:
    """Write a value as a literal in Go source and in JSON."""
    import json  # noqa: PLC0415  # most commands list no enum

    return json.dumps(value, ensure_ascii=False)
