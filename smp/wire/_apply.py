"""Three-way apply over bytes: the whole job of a client and a server, in one call."""

from __future__ import annotations

import msgspec

from smp import three_way
from smp._values.codec import Text, decode_object, encode
from smp.custom_resources import Guard
from smp.errors import ApplyWarning
from smp.hazards import Hazard, Policy
from smp.paths import Path
from smp.schema.model import Schema, UnknownFields
from smp.unions import Change
from smp.violations import Violation


class ApplyResult(msgspec.Struct, frozen=True):
    """What a three-way apply led to; the object and the patches are JSON.

    The other attributes are those of smp.ApplyResult.
    """

    object: bytes
    patch: bytes
    kubectl_patch: bytes
    changes: tuple[Change, ...]
    warnings: tuple[ApplyWarning, ...]
    violations: tuple[Violation, ...]
    unmet: tuple[Path, ...]
    media_type: str
    reason: str
    guard: Guard
    hazards: tuple[Hazard, ...] = ()

    @property
    def converged(self) -> bool:
        """Whether the object is all that the manifest asks for."""
        return not self.unmet


def three_way_apply(  # noqa: PLR0913  # keyword arguments are options
    last_applied: Text | None,
    modified: Text,
    live: Text,
    schema: Schema,
    *,
    profile: str = "kep1027",
    overwrite: bool = True,
    ratchet: bool = True,
    unknown_fields: UnknownFields = "error",
    defaults: bool = False,
    hazards: Policy = "warn",
) -> ApplyResult:
    """Bring a live object to the manifest; see smp.three_way_apply.

    Raises what that raises, DocumentError for what is not JSON, and DepthError.
    """
    result = three_way.three_way_apply(
        None if last_applied is None else decode_object(last_applied),
        decode_object(modified),
        decode_object(live),
        schema,
        profile=profile,
        overwrite=overwrite,
        ratchet=ratchet,
        unknown_fields=unknown_fields,
        defaults=defaults,
        hazards=hazards,
    )
    patch = encode(result.patch)
    kubectl_patch = patch
    if result.kubectl_patch is not result.patch:
        kubectl_patch = encode(result.kubectl_patch)
    return ApplyResult(
        encode(result.object),
        patch,
        kubectl_patch,
        result.changes,
        result.warnings,
        result.violations,
        result.unmet,
        result.media_type,
        result.reason,
        result.guard,
        result.hazards,
    )
