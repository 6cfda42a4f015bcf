"""The status of a CustomResourceDefinition: are its names accepted, is it established.

Go: NamingConditionController.calculateNamesAndConditions in
k8s.io/apiextensions-apiserver, pkg/controller/status, and pkg/controller/establish.
There two controllers set the status some time after the definition is stored; here it
is stored with its status.
"""

from __future__ import annotations

from datetime import datetime

from smp._values.times import timestamp
from smp._values.values import (
    JSON,
    JSONObject,
    as_list,
    as_object,
    as_text,
    objects_in,
    strings_in,
    value_at,
)
from smp.schema.resources import Resources


def set_status(
    document: JSONObject, resources: Resources, *, now: datetime
) -> JSONObject:
    """Return a CustomResourceDefinition as a server stores it.

    Its names are completed and its status is set. Names that another one of the
    resources has are not accepted; then a new definition is not established.
    """
    spec = as_object(document.get("spec"))
    old = as_object(document.get("status"))
    names = complete_names(spec)
    conflict = _find_conflict(names, as_text(spec.get("group")), resources)

    # Names that were accepted before stay accepted while the new ones are not.
    accepted: JSON = as_object(old.get("acceptedNames")) if conflict else names

    # Objects may still be stored in versions that were storage versions before: a
    # version stays in the list until the administrator removes it.
    stored: list[JSON] = [*dict.fromkeys(map(str, as_list(old.get("storedVersions"))))]
    for version in objects_in(spec.get("versions")):
        if version.get("storage") is True and version.get("name") not in stored:
            stored.append(version.get("name"))

    status: JSONObject = {
        "acceptedNames": accepted,
        "conditions": [*_conditions(conflict, document, timestamp(now))],
        "storedVersions": stored,
    }
    # An API server stores the default of the conversion, too.
    spec = {"conversion": {"strategy": "None"}, **spec, "names": names}
    return {**document, "spec": spec, "status": status}


def complete_names(spec: JSONObject) -> JSONObject:
    """Return the names of a definition with those that it leaves out.

    Go: SetDefaults_CustomResourceDefinitionSpec in pkg/apis/apiextensions/v1.
    """
    names = as_object(spec.get("names"))
    kind = as_text(names.get("kind"))
    completed: JSONObject = {
        "plural": names.get("plural"),
        "singular": names.get("singular") or kind.lower(),
        "kind": kind,
        "listKind": names.get("listKind") or f"{kind}List",
    }
    for name in ("shortNames", "categories"):
        if names.get(name):
            completed[name] = names[name]
    return completed


def is_established(document: JSONObject) -> bool:
    """Tell whether a CustomResourceDefinition is in force.

    It is as soon as its names were accepted once, and then for good.
    """
    return _condition(document, "Established").get("status") == "True"


def _find_conflict(
    defined: JSONObject, group: str, resources: Resources
) -> tuple[str, str] | None:
    """Return the first name that another resource of the group has, or None.

    A conflict is the reason and the message of a condition.
    """
    taken_names: set[str] = set()
    taken_kinds: set[str] = set()
    for other in resources:
        # A resource with the same plural name is the one that is defined here.
        if other.group == group and other.plural != defined["plural"]:
            taken_names |= {other.plural, other.singular, *other.short_names}
            taken_kinds |= {other.kind, other.list_kind}
    # Names and kinds are looked up in the whole group, in every version.
    for reason, field, taken in (
        ("SingularConflict", "singular", taken_names),
        ("ShortNamesConflict", "shortNames", taken_names),
        ("KindConflict", "kind", taken_kinds),
        ("ListKindConflict", "listKind", taken_kinds),
        ("PluralConflict", "plural", taken_names),
    ):
        names = defined.get(field)
        for name in [names] if isinstance(names, str) else strings_in(names):
            if name in taken:
                return reason, f'"{name}" is already in use'
    return None


def _conditions(
    conflict: tuple[str, str] | None, document: JSONObject, now: str
) -> list[JSONObject]:
    names_reason = conflict or ("NoConflicts", "no conflicts found")
    # An established definition stays so, even if its names are no longer accepted.
    established = is_established(document) or not conflict
    established_reason = ("NotAccepted", "not all names are accepted")
    if established:
        established_reason = (
            "InitialNamesAccepted",
            "the initial names have been accepted",
        )
    conditions: list[JSONObject] = []
    for condition_type, is_true, (reason, message) in (
        ("NamesAccepted", not conflict, names_reason),
        ("Established", established, established_reason),
    ):
        status = "True" if is_true else "False"
        # "lastTransitionTime: last time the condition transitioned from one status to
        # another" (CustomResourceDefinitionCondition).
        before = _condition(document, condition_type)
        since: JSON = now
        if before.get("status") == status:
            since = before.get("lastTransitionTime", now)
        conditions.append(
            {
                "type": condition_type,
                "status": status,
                "lastTransitionTime": since,
                "reason": reason,
                "message": message,
            }
        )
    return conditions


def _condition(document: JSONObject, condition_type: str) -> JSONObject:
    for condition in objects_in(value_at(document, ("status", "conditions"))):
        if condition.get("type") == condition_type:
            return condition
    return {}
