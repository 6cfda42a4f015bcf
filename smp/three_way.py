"""Three-way apply: compute the patch, apply it, and say what it did not achieve.

This is what ``kubectl apply`` and an API server do together, on three objects and
without either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from smp import codec, strategic, unions
from smp.enums import validate_enums
from smp.errors import ApplyWarning, DocumentError, SmpError, UnionError
from smp.paths import Element, Path
from smp.schema.model import Field, Schema, Type, UnknownFields
from smp.strategic import KUBECTL_PRECONDITIONS
from smp.unions import Change
from smp.values import ABSENT, JSON, Absent, JSONObject
from smp.violations import Violation

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_ANNOTATION: Final = Path(("metadata", "annotations", LAST_APPLIED))


class ApplyResult(msgspec.Struct, frozen=True):
    """What a three-way apply led to.

    ``object`` is what a server would store, ``patch`` what a client would send;
    ``changes`` is what the normalization of unions did to the patched object,
    ``violations`` what a server would reject in it; ``unmet`` are the paths of the
    modified configuration that do not hold, ``converged`` whether there is none.
    """

    object: JSONObject
    patch: JSONObject
    changes: tuple[Change, ...]
    warnings: tuple[ApplyWarning, ...]
    violations: tuple[Violation, ...]
    unmet: tuple[Path, ...]

    @property
    def converged(self) -> bool:
        """Whether the object has all that the modified configuration asks for."""
        return not self.unmet


def three_way_apply(
    last_applied: JSONObject | None,
    modified: JSONObject,
    live: JSONObject,
    schema: Schema,
    *,
    profile: str = "kep1027",
    overwrite: bool = True,
    unknown_fields: UnknownFields = "error",
) -> ApplyResult:
    """Bring the live object to the modified configuration, as kubectl and a server
    would together.

    The patch is computed and applied, unions are normalized by a profile, unions and
    enums validated. ``last_applied=None`` says that there is no last-applied
    configuration; a warning reports it, for then nothing can be pruned. Raises what
    three_way_patch, apply_patch and normalize_unions raise, PreconditionError where
    apiVersion, kind or metadata.name would change, and UnionError for a configuration
    that sets two members of a union.
    """
    lenient = schema.with_unknown_fields(unknown_fields)
    if profile != unions.OFF.name:
        _refuse(unions.contradictions(modified, lenient))
    patch = strategic.three_way_patch(
        last_applied,
        modified,
        live,
        lenient,
        overwrite=overwrite,
        preconditions=KUBECTL_PRECONDITIONS,
    )
    patched = strategic.apply_patch(live, patch, lenient)
    normalized = unions.normalize_unions(
        live, patched, lenient, profile=profile, patch=patch
    )
    result = normalized.object
    violations = unions.validate_unions(
        live, result, lenient, profile=profile
    ) + validate_enums(result, lenient)
    warnings = (
        *_known_warnings(last_applied, patch, schema, unknown_fields),
        *normalized.warnings,
    )
    unmet = tuple(
        _unmet(strategic.missing(modified, result, lenient), lenient.type, Path())
    )
    return ApplyResult(result, patch, normalized.changes, warnings, violations, unmet)


def _refuse(contradictions: tuple[Violation, ...]) -> None:
    if contradictions:
        text = "; ".join(map(str, contradictions))
        raise UnionError(
            f"the configuration contradicts itself: {text}",
            code="union-contradiction",
            path=contradictions[0].path,
            hint="set one member of a union, and the discriminator to its value",
        )


def _known_warnings(
    last_applied: JSONObject | None,
    patch: JSONObject,
    schema: Schema,
    unknown_fields: UnknownFields,
) -> Iterator[ApplyWarning]:
    if last_applied is None:
        yield _NOTHING_PRUNED
    if unknown_fields == "merge":
        yield from unknown_field_warnings(patch, schema)


_MERGED: Final = "unknown to the schema; merged by RFC 7396"
_NOTHING_PRUNED: Final = ApplyWarning(
    "no-last-applied",
    Path(),
    "there is no last-applied configuration, so nothing can be pruned",
)


def last_applied_configuration(live: JSONObject) -> JSONObject | None:
    """Return the last-applied configuration that kubectl left in the object's
    annotation, or None.

    Raises DocumentError where the annotation is there and is not the JSON of an object.
    """
    text: JSON | Absent = live
    for name in ("metadata", "annotations", LAST_APPLIED):
        text = text.get(name, ABSENT) if isinstance(text, dict) else ABSENT
    if text is ABSENT:
        return None
    try:
        value = codec.decode(text) if isinstance(text, str) else None
    except SmpError as error:
        raise error.at(_ANNOTATION) from None
    if not isinstance(value, dict):
        raise DocumentError(
            "the annotation holds no object",
            code="invalid-last-applied",
            path=_ANNOTATION,
        )
    return value


def with_last_applied(modified: JSONObject) -> JSONObject:
    """Return the configuration with itself in the last-applied annotation, byte for
    byte as kubectl writes it.
    """
    metadata = modified.get("metadata")
    members: JSONObject = metadata if isinstance(metadata, dict) else {}
    annotations = members.get("annotations")
    others = (
        {k: v for k, v in annotations.items() if k != LAST_APPLIED}
        if isinstance(annotations, dict)
        else {}
    )
    bare: JSONObject = {**modified, "metadata": {**members, "annotations": others}}
    text = msgspec.json.encode(bare, order="sorted").decode()
    # as Go's encoder does; these characters only occur inside strings
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return {
        **modified,
        "metadata": {**members, "annotations": {**others, LAST_APPLIED: text + "\n"}},
    }


def unknown_field_warnings(patch: JSONObject, schema: Schema) -> Iterator[ApplyWarning]:
    """Yield a warning for each place at which a patch is merged by RFC 7396, for want
    of a schema.
    """
    return (
        ApplyWarning("unknown-field", path, _MERGED)
        for path in unknown_paths(patch, schema)
    )


def unknown_paths(patch: JSONObject, schema: Schema) -> Iterator[Path]:
    """Yield each place of a patch at which an object or a list stands in a field that
    the schema does not know.
    """
    return _unknown(patch, schema.type, Path())


def _unknown(value: JSON, known: Type, path: Path) -> Iterator[Path]:
    if isinstance(value, list):
        for index, element in enumerate(value):
            yield from _unknown(element, known.items, path / index)
    elif isinstance(value, dict):
        for name, member in value.items():
            if not isinstance(member, dict | list) or strategic.is_directive(name):
                continue
            field = known.field(name)
            if field is None:
                yield path / name
            else:
                yield from _unknown(member, field.type, path / name)


def _unmet(missing: JSONObject, known: Type, path: Path) -> Iterator[Path]:
    """Yield the leaves of what is still missing; a null is no demand, for it only asks
    for absence.
    """
    for name, value in missing.items():
        if value is None or strategic.is_directive(name):
            continue
        field = known.field(name)
        below = _unmet_below(value, field, path / name) if field else iter(())
        yield from _or_itself(below, path / name)


def _unmet_below(value: JSON, field: Field, path: Path) -> Iterator[Path]:
    if isinstance(value, dict) and not field.replaces:
        yield from _unmet(value, field.type, path)
    elif isinstance(value, list) and field.merges and field.merge_key:
        for index, element in enumerate(e for e in value if isinstance(e, dict)):
            key = element.get(field.merge_key)
            rest = {
                name: member
                for name, member in element.items()
                if name != field.merge_key
            }
            step = path / Element(index, field.merge_key, key)
            yield from _or_itself(_unmet(rest, field.type.items, step), step)


def _or_itself(paths: Iterator[Path], path: Path) -> Iterator[Path]:
    first = next(paths, None)
    yield path if first is None else first
    yield from paths
