"""Patches for custom resources, for which no server takes a strategic merge patch.

A server answers such a patch with 415 (Unsupported Media Type). So the configuration is
merged into the live object here, and the patch leads from the one to the other:

1. With the schema of a CustomResourceDefinition, ``smp.managed_fields.local_merge``
   merges by the list types and map types that the definition states. Without one, the
   object is what kubectl's own patch makes of it (RFC 7396): ``_kubectl``.
2. ``form_of`` (``_forms``) writes the difference in a form that a server takes, and
   guards what goes as a whole against writes of others.
"""

from __future__ import annotations

from smp.custom_resources._forms import (
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Guard,
    Patch,
    PatchForm,
    form_of,
)
from smp.custom_resources._kubectl import three_way_json_merge_patch

__all__ = [
    "JSON_PATCH",
    "MERGE_PATCH",
    "STRATEGIC_MERGE_PATCH",
    "Guard",
    "Patch",
    "PatchForm",
    "form_of",
    "three_way_json_merge_patch",
]
