"""Masking what a Secret holds, so that equal values stay equal and different ones stay
different.

Operations run on masked objects just as on the real ones; so their patches, reports and
error messages are masked without knowing it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from smp.three_way import LAST_APPLIED
from smp.values import JSON, JSONObject, same

Place: TypeAlias = tuple[str, str]
Versions: TypeAlias = dict[str, JSONObject | None]

_MASK: Final = "***"
_SECTIONS: Final = ("data", "stringData")


def masked(versions: Versions) -> Versions:
    """Mask the values of a Secret, given in versions by role: ``*** (live)`` where
    versions differ, else ``***``.

    What is no Secret is returned as it is.
    """
    present = {
        role: version for role, version in versions.items() if version is not None
    }
    if not any(map(_is_secret, present.values())):
        return versions
    names = _names(present)
    hidden = {role: _hidden(version, names) for role, version in present.items()}
    return {role: hidden.get(role) for role in versions}


_Names: TypeAlias = dict[Place, list[tuple[JSON, str]]]


def _names(versions: Mapping[str, JSONObject]) -> _Names:
    """Name each different value at a place after the first version that has it."""
    names: _Names = {}
    for role, version in versions.items():
        for place, value in _confidential(version):
            known = names.setdefault(place, [])
            if not any(same(value, other) for other, _ in known):
                known.append((value, f"{_MASK} ({role})"))
    return names


def _confidential(secret: JSONObject) -> Iterator[tuple[Place, JSON]]:
    for section in _SECTIONS:
        values = secret.get(section)
        for name, value in (
            values.items() if isinstance(values, dict) else [("", values)]
        ):
            if value is not None:
                yield (section, name), value
    annotations = _annotations(secret)
    if LAST_APPLIED in annotations:
        yield ("", LAST_APPLIED), annotations[LAST_APPLIED]


def _hidden(secret: JSONObject, names: _Names) -> JSONObject:
    shown = dict(secret)
    for section in _SECTIONS:
        if section in secret:
            shown[section] = _section(secret[section], section, names)
    annotations, metadata = _annotations(secret), secret.get("metadata")
    if LAST_APPLIED in annotations and isinstance(metadata, dict):
        mask = _mask(annotations[LAST_APPLIED], ("", LAST_APPLIED), names)
        shown["metadata"] = {
            **metadata,
            "annotations": {**annotations, LAST_APPLIED: mask},
        }
    return shown


def _section(values: JSON, section: str, names: _Names) -> JSON:
    if isinstance(values, dict):
        return {
            name: _mask(value, (section, name), names) for name, value in values.items()
        }
    return _mask(values, (section, ""), names)


def _mask(value: JSON, place: Place, names: _Names) -> JSON:
    if value is None:
        return None
    known = names[place]
    return (
        _MASK
        if len(known) == 1
        else next(name for other, name in known if same(value, other))
    )


def _is_secret(value: JSONObject) -> bool:
    return value.get("apiVersion") == "v1" and value.get("kind") == "Secret"


def _annotations(secret: JSONObject) -> JSONObject:
    metadata = secret.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return annotations if isinstance(annotations, dict) else {}
