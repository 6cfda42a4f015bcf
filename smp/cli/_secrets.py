"""Masking the values of a Secret.

An operation treats the masked versions of a Secret as it would the real ones: in one
place equal values have equal masks, and different values have different masks. So its
patch, its report and its error messages are masked without further care, and where the
values are asked for, its result is unmasked afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias, overload

from smp._values.api_objects import SHOWN_OF_SECRET, annotations_of, set_metadata
from smp._values.last_applied import LAST_APPLIED
from smp._values.values import JSON, JSONObject, as_object, as_text, same

# A section of a Secret and the name of a value in it.
SecretEntry: TypeAlias = tuple[str, str]
# Returns another value for the one at a place.
Replacement: TypeAlias = Callable[[SecretEntry, JSON], JSON]

_MASK: Final = "***"

# The annotation holds the values of the section as text.
_ANNOTATION: Final[SecretEntry] = ("metadata.annotations", LAST_APPLIED)


class Masks:
    """The masks for the values of one object, made of its versions by role.

    A value of a Secret is masked as ``***`` where all versions have the same value, and
    otherwise as ``*** (live)``, after the role of the first version that has it. Other
    objects have no masks, and with ``show_secrets`` none has. With ``mask_env`` the
    values of environment variables of containers are masked in all objects.
    """

    def __init__(
        self,
        versions: Mapping[str, JSONObject | None],
        *,
        show_secrets: bool,
        mask_env: bool = False,
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
        self._is_secret = is_secret and not show_secrets
        self._mask_env = mask_env
        # The masks of a place, each named after the first version that has the value.
        for role, version in present.items():
            for place, value in self._confidential(version):
                masks = self._masks.setdefault(place, [])
                if not any(same(value, other) for other, _ in masks):
                    # Of one version, containers can differ in a variable.
                    names = [mask for _, mask in masks if mask.startswith(_mask(role))]
                    number = f" {len(names) + 1}" if names else ""
                    masks.append((value, f"{_mask(role)}{number}"))

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

        return self._replace(version, masked)

    def unmask(self, masked: JSON) -> JSON:
        """Return a masked object, or a patch of one, with the values."""
        if not self._masks or not isinstance(masked, dict):
            return masked

        def unmasked(place: SecretEntry, text: JSON) -> JSON:
            for value, mask in self._masks.get(place, []):
                if text == mask:
                    return value
            return text  # A null, or a directive of a patch.

        return self._replace(masked, unmasked)

    def _confidential(self, version: JSONObject) -> Iterator[tuple[SecretEntry, JSON]]:
        """Yield every value that is to be masked, with its place."""
        values: list[tuple[SecretEntry, JSON]] = []

        def record(place: SecretEntry, value: JSON) -> JSON:
            values.append((place, value))
            return value

        if self._is_secret or self._mask_env:
            self._replace(version, record)
        return ((place, value) for place, value in values if value is not None)

    def _replace(self, version: JSONObject, replacement: Replacement) -> JSONObject:
        """Return a version with another value in every confidential place."""
        if self._is_secret:
            version = _replace_sections(version, replacement)
        if self._mask_env:
            version = as_object(_replace_variables(version, replacement))
        annotations = annotations_of(version)
        if LAST_APPLIED not in annotations:
            return version
        text = replacement(_ANNOTATION, annotations[LAST_APPLIED])
        return set_metadata(version, annotations={**annotations, LAST_APPLIED: text})


def _mask(role: str) -> str:
    return f"{_MASK} ({role})"


def _replace_sections(secret: JSONObject, replacement: Replacement) -> JSONObject:
    replaced = dict(secret)
    for section, values in secret.items():
        if section in SHOWN_OF_SECRET:
            continue
        if isinstance(values, dict):
            replaced[section] = {
                name: replacement((section, name), value)
                for name, value in values.items()
            }
        else:
            # It should be an object; a server would reject it, but it is confidential.
            replaced[section] = replacement((section, ""), values)
    return replaced


def _replace_variables(value: JSON, replacement: Replacement) -> JSON:
    """Return an object with other values of environment variables.

    A variable is an element with a name and a value, of a list ``env`` at any depth: of
    the containers of a Pod, of a template, or of a custom resource. Parts that have
    none are shared.
    """
    if isinstance(value, list):
        elements = [_replace_variables(element, replacement) for element in value]
        if all(new is old for new, old in zip(elements, value, strict=True)):
            return value
        return elements
    if not isinstance(value, dict):
        return value
    members: JSONObject = {}
    for name, member in value.items():
        new = _replace_variables(member, replacement)
        if name == "env" and isinstance(new, list):
            new = [_replace_variable(element, replacement) for element in new]
        members[name] = new
    if all(
        new is old for new, old in zip(members.values(), value.values(), strict=True)
    ):
        return value
    return members


def _replace_variable(variable: JSON, replacement: Replacement) -> JSON:
    if not isinstance(variable, dict) or not isinstance(variable.get("name"), str):
        return variable
    if variable.get("value") is None:
        return variable
    place = ("env", as_text(variable["name"]))
    return {**variable, "value": replacement(place, variable["value"])}
