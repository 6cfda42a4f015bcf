"""The hazards of a custom resource, for which no server takes a strategic patch.

It is merged here (smp.custom_resources): by the list types of its definition, or by RFC
7396 where there is none. The rules are those of built-in kinds, with list types for
patch strategies (smp.schema.list_types); elements have all their keys, so that no key
is ambiguous.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from smp._values.last_applied import ApplyInputs
from smp._values.values import JSONObject, as_object
from smp.hazards._find import change_hazards, input_hazards
from smp.hazards._hazard import Hazard
from smp.paths import Path
from smp.schema.list_types import add_map_keys, by_list_types
from smp.schema.model import Schema

# Rules of patches that no server takes for these kinds.
_STRATEGIC: Final = ("Go: strategicpatch.", "Go: mergepatch.")
_LIST_TYPES: Final = (
    "CustomResourceDefinition: x-kubernetes-list-type, -list-map-keys and -map-type"
)
_RFC_7396: Final = (
    "RFC 7396; Go: k8s.io/apimachinery, jsonmergepatch.CreateThreeWayJSONMergePatch"
)
# What such keys do here, by code. A server refuses them, unless they were stored before
# the list type was stated (Go: k8s.io/apiextensions-apiserver, schema/listtype).
_SENTENCES: Final = {
    "duplicate-key": (
        "{step} stands for several elements, so the list is set as a whole, and a "
        "server refuses it"
    ),
    "duplicate-value": (
        "the value is in the set several times, so the list is set as a whole, and a "
        "server refuses it"
    ),
    "missing-key": "the element has no list-map key, and a server refuses it",
}


def custom_resource_hazards(
    inputs: ApplyInputs, result: JSONObject, schema: Schema, cleared: Iterable[Path]
) -> list[Hazard]:
    """Return the hazards of an apply of a custom resource.

    The arguments are those of change_hazards. Raises SchemaError and DepthError.
    """
    base, manifest, live = inputs.last_applied, inputs.manifest, inputs.live
    if not schema.is_custom:
        # RFC 7396 merges objects, and replaces all else.
        found = input_hazards(base, manifest, live, schema)
        found += change_hazards(inputs, result, schema, cleared)
        return [_reword(each, _RFC_7396) for each in found]
    seen = by_list_types(schema)
    wanted, before, after = (
        as_object(add_map_keys(obj, seen.type)) for obj in (manifest, live, result)
    )
    applied = None if base is None else as_object(add_map_keys(base, seen.type))
    found = [
        each
        for each in input_hazards(applied, wanted, before, seen)
        # Elements are told from one another by all keys.
        if each.code != "ambiguous-key"
    ]
    found += change_hazards(ApplyInputs(applied, wanted, before), after, seen, cleared)
    return [_reword(each, _LIST_TYPES) for each in found]


def _reword(each: Hazard, rule: str) -> Hazard:
    if not each.rule.startswith(_STRATEGIC):
        return each
    sentence = _SENTENCES.get(each.code, "").format(step=Path(each.path.steps[-1:]))
    return msgspec.structs.replace(each, rule=rule, sentence=sentence or each.sentence)
