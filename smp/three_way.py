"""Three-way apply: compute the patch, apply it, and say what it did not achieve.

This is what ``kubectl apply`` and an API server do together, on three objects and
without either.
"""

from __future__ import annotations

from typing import Final

import msgspec

from smp import codec, strategic
from smp.errors import ApplyWarning, DocumentError, SmpError, bounded
from smp.paths import Path
from smp.schema.model import Schema, UnknownFields
from smp.strategic import KUBECTL_PRECONDITIONS
from smp.unions import Change
from smp.update import updated
from smp.values import ABSENT, JSON, Absent, JSONObject, as_object
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


@bounded("the object")
def three_way_apply(
    last_applied: JSONObject | None,
    modified: JSONObject,
    live: JSONObject,
    schema: Schema,
    *,
    profile: str = "kep1027",
    overwrite: bool = True,
    ratchet: bool = True,
    unknown_fields: UnknownFields = "error",
) -> ApplyResult:
    """Bring the live object to the modified configuration, as kubectl and a server do.

    The patch is computed and applied, unions are normalized by a profile, unions and
    enums validated. With ``ratchet`` only what the apply changes is judged, as a server
    has accepted what live holds; without it, all of the result is.
    ``last_applied=None`` says that there is no last-applied configuration; a warning
    reports it, as nothing can be pruned then. Raises what three_way_patch, apply_patch
    and normalize_unions raise, PreconditionError where apiVersion, kind or
    metadata.name would change, and UnionError for a configuration that sets two members
    of a union.
    """
    lenient = schema.with_unknown_fields(unknown_fields)
    patch = strategic.three_way_patch(
        last_applied,
        modified,
        live,
        lenient,
        overwrite=overwrite,
        preconditions=KUBECTL_PRECONDITIONS,
    )
    # What an API server does with it: apply, normalize, validate.
    patched = strategic.apply_patch(live, patch, lenient)
    update = updated(
        live,
        patched,
        lenient,
        profile=profile,
        ratchet=ratchet,
        patch=patch,
        configuration=modified,
    )
    result = update.object
    # What the result lacks is found by a second diff, for every kind of patch.
    unmet = strategic.leaf_paths(strategic.missing(modified, result, lenient), lenient)
    warnings = update.warnings
    if unknown_fields == "merge":
        warnings = (*unknown_field_warnings(patch, schema), *warnings)
    if last_applied is None:
        # Without it nothing is known to be removed from the configuration.
        warnings = (_NOTHING_PRUNED, *warnings)
    return ApplyResult(
        result, patch, update.changes, warnings, update.violations, tuple(unmet)
    )


_MERGED: Final = "unknown to the schema; merged by RFC 7396"
_NOTHING_PRUNED: Final = ApplyWarning(
    "no-last-applied",
    Path(),
    "the last-applied configuration is missing, so nothing can be pruned",
)


def last_applied_configuration(live: JSONObject) -> JSONObject | None:
    """Return the last-applied configuration from the annotation of kubectl, or None.

    Raises DocumentError for an annotation that is not the JSON of an object.
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
            "the annotation is not an object",
            code="invalid-last-applied",
            path=_ANNOTATION,
        )
    return value


def with_last_applied(modified: JSONObject) -> JSONObject:
    """Return the configuration with itself in the last-applied annotation.

    The annotation is byte for byte as kubectl writes it. Go:
    k8s.io/kubectl, pkg/util/apply.go, GetModifiedConfiguration.
    """
    metadata = as_object(modified.get("metadata"))
    annotations = dict(as_object(metadata.get("annotations")))
    # The configuration in the annotation has no such annotation itself.
    annotations.pop(LAST_APPLIED, None)
    bare: JSONObject = {
        **modified,
        "metadata": {**metadata, "annotations": annotations},
    }
    text = msgspec.json.encode(bare, order="sorted").decode()
    # Go's encoder escapes these (json.HTMLEscape); they occur only inside strings.
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    applied: JSONObject = {**annotations, LAST_APPLIED: text + "\n"}
    return {**modified, "metadata": {**metadata, "annotations": applied}}


@bounded("the patch")
def unknown_field_warnings(
    patch: JSONObject, schema: Schema
) -> tuple[ApplyWarning, ...]:
    """Return a warning for each place where a patch is merged without a schema."""
    paths = strategic.unknown_paths(patch, schema)
    return tuple(ApplyWarning("unknown-field", path, _MERGED) for path in paths)
