"""Masking the values of a Secret.

An operation treats the masked versions of a Secret as it would the real ones: in one
place equal values have equal masks, and different values have different masks. So its
patch, its report and its error messages are masked without further care, and where the
values are asked for, its result is unmasked afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias, overload

from smp.cli._objects import annotations_of
from smp.last_applied import LAST_APPLIED
from smp.values import JSON, JSONObject, as_object, same

# A section of a Secret and the name of a value in it.
SecretEntry: TypeAlias = tuple[str, str]

_MASK: Final = "***"
# All other fields of a Secret are masked, misspelled ones such as ``stringdata`` too.
_SHOWN: Final = frozenset({"apiVersion", "immutable", "kind", "metadata", "type"})

# The annotation holds the values of the section as text.
_ANNOTATION: Final[SecretEntry] = ("metadata.annotations", LAST_APPLIED)


class Masks:
    """The masks for the values of one object, made of its versions by role.

    A value of a Secret is masked as ``***`` where all versions have the same value, and
    otherwise as ``*** (live)``, after the role of the first version that has it. Other
    objects have no masks, and with ``show_secrets`` none has.
    """

    def __init__(
        self, versions: Mapping[str, JSONObject | None], *, show_secrets: bool
    ) -> None:
        self._masks: dict[SecretEntry, list[tuple[JSON, str]]] = {}
        present = {
            role: version for role, version in versions.items() if version is not None
        }
        # The type of a Secret is not looked at: the values of all types are secret.
        is_secret = any(
            version.get("apiVersion") == "v1" and version.get("kind") == "Secret"
            for version in present.values()
        )
        if not is_secret or show_secrets:
            return

        # The masks of a place, each named after the first version that has the value.
        for role, version in present.items():
            for place, value in _confidential(version):
                masks = self._masks.setdefault(place, [])
                if not any(same(value, other) for other, _ in masks):
                    masks.append((value, f"{_MASK} ({role})"))

        # A value that all versions share needs no name.
        for masks in self._masks.values():
            if len(masks) == 1:
                [(value, _)] = masks
                masks[:] = [(value, _MASK)]

    @overload
    def mask(self, version: JSONObject) -> JSONObject: ...

    @overload
    def mask(self, version: None) -> None: ...

    def mask(self, version: JSONObject | None) -> JSONObject | None:
        """Return one of the versions with masks in place of its values."""
        if version is None or not self._masks:
            return version

        def masked(place: SecretEntry, value: JSON) -> JSON:
            for other, mask in self._masks.get(place, []):
                if same(value, other):
                    return mask
            return value  # A null, which has nothing to hide.

        return _replace(version, masked)

    def unmask(self, masked: JSON) -> JSON:
        """Return a masked object, or a patch of one, with the values."""
        if not self._masks or not isinstance(masked, dict):
            return masked

        def unmasked(place: SecretEntry, text: JSON) -> JSON:
            for value, mask in self._masks.get(place, []):
                if text == mask:
                    return value
            return text  # A null, or a directive of a patch.

        return _replace(masked, unmasked)


def _confidential(secret: JSONObject) -> Iterator[tuple[SecretEntry, JSON]]:
    """Yield every value that is to be masked, with its place."""
    values: list[tuple[SecretEntry, JSON]] = [
        (_ANNOTATION, annotations_of(secret).get(LAST_APPLIED))
    ]
    for section, content in secret.items():
        if section in _SHOWN:
            continue
        if isinstance(content, dict):
            values += [((section, name), value) for name, value in content.items()]
        else:
            # It should be an object; a server would reject it, but it is confidential.
            values.append(((section, ""), content))
    return ((place, value) for place, value in values if value is not None)


def _replace(
    secret: JSONObject, replacement: Callable[[SecretEntry, JSON], JSON]
) -> JSONObject:
    """Return a Secret with another value in every confidential place."""
    replaced = dict(secret)
    for section, values in secret.items():
        if section in _SHOWN:
            continue
        if isinstance(values, dict):
            replaced[section] = {
                name: replacement((section, name), value)
                for name, value in values.items()
            }
        else:
            replaced[section] = replacement((section, ""), values)

    annotations = annotations_of(secret)
    if LAST_APPLIED in annotations:
        text = replacement(_ANNOTATION, annotations[LAST_APPLIED])
        replaced["metadata"] = {
            **as_object(secret["metadata"]),
            "annotations": {**annotations, LAST_APPLIED: text},
        }
    return replaced
