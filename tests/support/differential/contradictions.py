"""Patches that no server takes, which the reference makes for repeated merge keys."""

from __future__ import annotations

from smp._values.values import JSON, JSONArray, as_list, as_object


def contradicts_itself(patch: JSON) -> bool:
    """Tell whether the fields of a patch contradict its directives.

    A list is not in the order of its directive, or an object sets what ``$retainKeys``
    does not list. Go: validatePatchWithSetOrderList, applyRetainKeysDirective.
    """
    if isinstance(patch, list):
        return any(contradicts_itself(element) for element in patch)
    if not isinstance(patch, dict):
        return False
    retained = patch.get("$retainKeys")
    for name, value in patch.items():
        if name.startswith("$setElementOrder/"):
            elements = as_list(patch.get(name.partition("/")[2]))
            if not _is_in_order(elements, as_list(value)):
                return True
        elif isinstance(retained, list) and not name.startswith("$"):
            listed = value is None or name in retained
            if not listed:
                return True
    return any(contradicts_itself(value) for value in patch.values())


def _is_in_order(elements: JSONArray, order: JSONArray) -> bool:
    kept = [
        element for element in elements if as_object(element).get("$patch") != "delete"
    ]
    remaining = iter(order)
    for element in kept:
        for wanted in remaining:
            if _matches(element, wanted):
                break
        else:
            return False
    return True


def _matches(element: JSON, wanted: JSON) -> bool:
    if not isinstance(wanted, dict):
        return element == wanted
    found = as_object(element)
    return all(found.get(key) == value for key, value in wanted.items())
