"""The state of a CustomResourceDefinition: whether its names are accepted, and whether
it is established. Pure.

Source: the API of CustomResourceDefinitionStatus, and the controllers in
k8s.io/apiextensions-apiserver, pkg/controller/status and pkg/controller/establish.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from smp.server.objects.crds._spec import Crd, Names, read
from smp.server.objects.metadata import timestamp
from smp.server.objects.resources import Resources
from smp.values import JSON, JSONObject, as_list


def with_status(
    document: JSONObject, resources: Resources, *, now: datetime
) -> JSONObject:
    """Return a CustomResourceDefinition as a server stores it: its names completed, and
    its state as of now.

    Names that another of the resources has are not accepted, and then the definition is
    not established. Raises StatusError and DepthError.
    """
    crd, old = read(document), _members(document.get("status"))
    conflict = _conflict(crd, resources)
    accepted: JSON = _names(crd.spec.names)
    spec: JSONObject = {
        "conversion": {"strategy": "None"},
        **_members(document.get("spec")),
        "names": accepted,
    }
    stored: list[JSON] = [one.name for one in crd.spec.versions if one.storage]
    status: JSONObject = {
        "acceptedNames": _members(old.get("acceptedNames")) if conflict else accepted,
        "conditions": [
            *_conditions(conflict, as_list(old.get("conditions")), timestamp(now))
        ],
        "storedVersions": [
            *dict.fromkeys([*map(str, as_list(old.get("storedVersions"))), *stored])
        ],
    }
    return {**document, "spec": spec, "status": status}


def is_established(document: JSONObject) -> bool:
    """Tell whether a CustomResourceDefinition is in force: its names were accepted
    once.
    """
    found = _condition(
        as_list(_members(document.get("status")).get("conditions")), "Established"
    )
    return found.get("status") == "True"


def _conflict(crd: Crd, resources: Resources) -> tuple[str, str] | None:
    """Find the first name that another resource of the group has: the reason of a
    condition, and its message.
    """
    own, group = crd.spec.names, crd.spec.group
    others = [
        one for one in resources if one.group == group and one.plural != own.plural
    ]
    names = {
        name for one in others for name in (one.plural, one.singular, *one.short_names)
    }
    kinds = {name for one in others for name in (one.kind, one.list_kind)}
    wanted = (
        ("SingularConflict", names, (own.singular,)),
        ("ShortNamesConflict", names, own.short_names),
        ("KindConflict", kinds, (own.kind,)),
        ("ListKindConflict", kinds, (own.list_kind,)),
        ("PluralConflict", names, (own.plural,)),
    )
    found = (
        (reason, f'"{name}" is already in use')
        for reason, taken, asked in wanted
        for name in asked
        if name in taken
    )
    return next(found, None)


def _conditions(
    conflict: tuple[str, str] | None, old: list[JSON], now: str
) -> Iterator[JSONObject]:
    was_established = _condition(old, "Established").get("status") == "True"
    names = conflict or ("NoConflicts", "no conflicts found")
    established = ("InitialNamesAccepted", "the initial names have been accepted")
    if conflict and not was_established:
        established = ("NotAccepted", "not all names are accepted")
    for kind, is_true, (reason, message) in (
        ("NamesAccepted", not conflict, names),
        ("Established", was_established or not conflict, established),
    ):
        status = "True" if is_true else "False"
        before = _condition(old, kind)
        since = (
            before.get("lastTransitionTime", now)
            if before.get("status") == status
            else now
        )
        about: JSONObject = {
            "type": kind,
            "status": status,
            "lastTransitionTime": since,
        }
        yield {**about, "reason": reason, "message": message}


def _condition(conditions: list[JSON], kind: str) -> JSONObject:
    return next(
        (
            one
            for one in conditions
            if isinstance(one, dict) and one.get("type") == kind
        ),
        {},
    )


def _names(names: Names) -> JSONObject:
    lists = {"shortNames": names.short_names, "categories": names.categories}
    texts = {
        "plural": names.plural,
        "singular": names.singular,
        "kind": names.kind,
        "listKind": names.list_kind,
    }
    return {**texts, **{word: [*values] for word, values in lists.items() if values}}


def _members(value: JSON) -> JSONObject:
    return value if isinstance(value, dict) else {}
