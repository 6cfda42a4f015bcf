"""The hazards of all inputs of an apply, and of what it changes.

A custom resource is merged by the list types of its definition, or by RFC 7396 where
there is none. The rules for it are those of built-in kinds, with list types for patch
strategies (smp.schema.list_types); elements have all their keys, so that no key is
ambiguous.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from smp._storage.defaults import with_defaults
from smp._storage.typed_storage import rewriting_paths, stored
from smp._strategic import Known
from smp._values.last_applied import ApplyInputs
from smp._values.values import ABSENT, JSONObject, as_object, show
from smp.errors import bounded
from smp.hazards._changes import ChangeSearch
from smp.hazards._hazard import Hazard, hazard
from smp.hazards._last_applied import last_applied_hazards
from smp.hazards._objects import (
    Look,
    Marks,
    annotation_hazards,
    directive_hazards,
    has_unique_keys,
    list_hazards,
)
from smp.hazards._pairs import ANNOTATION_PAIRS
from smp.paths import Path, sort_by_path, value_at
from smp.schema.list_types import add_map_keys, by_list_types
from smp.schema.model import Schema
from smp.schema.sides import BASE, LIVE, MANIFEST, RESULT, Roles, Sides

_NONE: Final[Known] = {}
# Hazards come in the order of live.
_ORDER: Final = (LIVE, MANIFEST, BASE, RESULT)
# To a server, elements that differ in any of their keys are others.
_ROLES: Final = Roles(_ORDER, by_map_keys=True)


@bounded("the object")
def input_hazards(
    last_applied: JSONObject | None,
    modified: JSONObject,
    live: JSONObject | None,
    schema: Schema,
    equal: Known = _NONE,
) -> list[Hazard]:
    """Return the hazards that the inputs of an apply have on their own.

    What several inputs have in common is reported once; ``equal`` has some of it by
    id (see strategic.ComputedPatch). Names of directives in others than the manifest
    are left to change_hazards, and to all_directive_hazards. Raises SchemaError and
    DepthError.
    """
    found: list[Hazard] = []
    if not has_unique_keys(modified, schema, _NONE):
        found += list_hazards(modified, schema, "manifest")
        # What others have in common with it may be in another place there.
        equal = _NONE
    look = Look(modified)
    if look.has_marks:
        marks = Marks("manifest")
        marks.value(modified, schema.type, Path())
        found += _add_created(marks.hazards, modified, schema)
    if schema.kind in ANNOTATION_PAIRS:
        found += annotation_hazards(modified, schema, "manifest")
    for path in rewriting_paths(modified, schema):
        found.append(hazard("hot-loop", path, "manifest"))
    found += last_applied_hazards(last_applied, modified, live, look)
    # Most of the others is as in the manifest.
    if last_applied and not has_unique_keys(last_applied, schema, equal):
        found += list_hazards(last_applied, schema, "last-applied")
    if live and not has_unique_keys(live, schema, equal):
        found += list_hazards(live, schema, "live")
    # A Service that was applied has the same ports in all three objects.
    if len(found) > 1:
        once = {(each.code, str(each.path)): each for each in reversed(found)}
        found = [*reversed(once.values())]
    return found


def _add_created(
    hazards: list[Hazard], modified: JSONObject, schema: Schema
) -> list[Hazard]:
    """Look at what a server creates from each null, such as an empty text in a map."""
    if all(each.code != "null" for each in hazards):
        return hazards
    # Go decodes null to a zero value, which typed storage drops from most fields.
    created = stored(modified, schema)
    found: list[Hazard] = []
    for each in hazards:
        value = value_at(created, each.path) if each.code == "null" else ABSENT
        if value is ABSENT or value is None:
            found.append(each)
        else:
            path, code = each.path, "null-created-differently"
            found.append(hazard(code, path, each.input, created=show(value)))
    return found


@bounded("the object")
def all_directive_hazards(
    last_applied: JSONObject | None, live: JSONObject | None, schema: Schema
) -> list[Hazard]:
    """Return the hazards of names of directives in others than the manifest.

    Raises DepthError.
    """
    return [
        *directive_hazards(last_applied or {}, "last-applied", schema),
        *directive_hazards(live or {}, "live", schema),
    ]


@bounded("the object")
def change_hazards(
    inputs: ApplyInputs,
    result: JSONObject,
    schema: Schema,
    cleared: Iterable[Path],
    *,
    has_unique_keys: bool = False,
) -> list[Hazard]:
    """Return the hazards of what an apply changes, in the order of live.

    ``cleared`` are the paths that the normalization of unions changed.
    ``has_unique_keys`` says that no merge list of the inputs has a key twice. Raises
    DepthError.
    """
    base = inputs.last_applied or {}
    # Defaults take longer than all else here, and most applies lose nothing.
    filled: list[JSONObject] = []

    def fill_in_defaults() -> JSONObject:
        if not filled:
            filled.append(as_object(with_defaults(stored(base, schema), schema)))
        return filled[0]

    search = ChangeSearch(
        {str(path) for path in cleared},
        fill_in_defaults,
        by_list_types=schema.is_custom,
        has_unique_keys=has_unique_keys,
    )
    search.search(
        Sides([inputs.live, inputs.manifest, base, result], schema.type, _ROLES)
    )
    return search.hazards


def patch_hazards(
    live: JSONObject, result: JSONObject, schema: Schema
) -> tuple[Hazard, ...]:
    """Return the hazards of keys in the lists of live that a patch has changed.

    Raises SchemaError and DepthError.
    """
    found: list[Hazard] = []
    for each in list_hazards(live, schema, "live"):
        path = Path(each.path.steps[:-1])
        if value_at(live, path) is not value_at(result, path):
            found.append(each)
    return sort_by_path(found)


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
