"""What a wait is for: the conditions of ``kubectl wait --for``.

Go: k8s.io/kubectl/pkg/cmd/wait, conditionFuncsFor, and the files beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from smp._values.json_path import value_finder
from smp._values.values import Absent, JSONObject, as_list, as_object, as_text, printed
from smp.errors import SmpError

_Check: TypeAlias = Callable[[JSONObject], bool]


class WaitConditionError(SmpError):
    """A condition of a wait that is not understood."""

    default_code = "invalid-condition"


class WaitCondition(msgspec.Struct, frozen=True):
    """One condition: of an object, or that it exists or that it does not.

    ``is_met`` looks at a live object; an object that does not exist is another matter.
    """

    text: str
    is_met: _Check
    is_for_creation: bool = False
    is_for_deletion: bool = False


def read_wait_condition(text: str) -> WaitCondition:
    """Read a condition in the form of kubectl. Raises WaitConditionError.

    ``create``, ``delete``, ``condition=Ready``, ``condition=Ready=False``,
    ``jsonpath={.status.phase}=Running``, ``jsonpath={.status.ingress}`` (any value).
    """
    if text.lower() == "create":
        return WaitCondition(text, lambda _live: True, is_for_creation=True)
    if text.lower() == "delete":
        return WaitCondition(text, lambda _live: False, is_for_deletion=True)
    kind, equals, rest = text.partition("=")
    if kind == "condition" and equals:
        name, has_status, status = rest.partition("=")
        # Go: ConditionalWait; true is what is meant where nothing is said.
        return WaitCondition(text, _has_status(name, status if has_status else "true"))
    if kind == "jsonpath" and equals:
        return WaitCondition(text, _has_value(rest))
    raise WaitConditionError(
        f"unrecognized condition: {text!r}",
        hint="create, delete, condition=NAME[=STATUS], or jsonpath={.PATH}[=VALUE]",
    )


def _has_status(name: str, status: str) -> _Check:
    def check(live: JSONObject) -> bool:
        conditions = as_object(live.get("status")).get("conditions")
        for condition in map(as_object, as_list(conditions)):
            # Go: strings.EqualFold.
            if as_text(condition.get("type")).casefold() != name.casefold():
                continue
            if isinstance(condition.get("status"), str):
                return _is_observed(live, condition) and (
                    as_text(condition["status"]).casefold() == status.casefold()
                )
        return False

    return check


def _is_observed(live: JSONObject, condition: JSONObject) -> bool:
    """Tell whether a condition is about the object as it is now.

    Go: getObservedGeneration; what has no such number is.
    """
    generation = as_object(live.get("metadata")).get("generation")
    observed = condition.get("observedGeneration")
    if type(observed) is not int:
        observed = as_object(live.get("status")).get("observedGeneration")
    if type(generation) is not int or type(observed) is not int:
        return True
    return observed >= generation


_FORM: Final = "jsonpath={.status.readyReplicas}=3, or without a value"


def _has_value(text: str) -> _Check:
    """Return the check of a JSONPath, and of the value there if one is given."""
    # Go: splitJSONPathInput, which keeps the == of a filter.
    parts = text.replace("==", "\0").split("=")
    path, *rest = [part.replace("\0", "==") for part in parts]
    wanted = rest[0].strip("'\"") if rest else ""
    if len(rest) > 1 or (rest and not wanted):
        raise WaitConditionError(f"not the form of a JSONPath: {text!r}", hint=_FORM)
    # Go: RelaxedJSONPathExpression: braces and the first dot may be left out.
    path = path.strip().removeprefix("{").removesuffix("}").strip()
    if not path:
        raise WaitConditionError("jsonpath expression cannot be empty", hint=_FORM)
    find = value_finder(path if path[0] in ".[" else f".{path}")

    def check(live: JSONObject) -> bool:
        found = find(live)
        if isinstance(found, Absent):
            return False
        # Go: compareResults.
        if rest and isinstance(found, dict | list):
            raise WaitConditionError(
                "jsonpath leads to a nested object or list which is not supported",
                hint="without a value, any value is what is waited for",
            )
        return not rest or printed(found).strip() == wanted.strip()

    return check
