"""ApplySets: which objects belong together, kept by the server (KEP-3659).

A parent object (a Secret, a ConfigMap, or a custom resource whose definition says that
it may be one) names the kinds and namespaces of its members, and each member has a
label with the id of the parent. An apply first widens what the parent names to what
there was and what comes, then applies, deletes the members that were not applied, and
narrows it again. So a run that is cut leaves no member that the next run does not find.
Go: k8s.io/kubectl/pkg/cmd/apply/applyset.go and applyset_pruner.go.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Any, Final

import msgspec

import smp
from smp._values.api_objects import annotations_of, metadata_of, set_metadata
from smp._values.values import JSONObject, as_object, as_text
from smp.cluster.plan.client_side import ApplyTarget
from smp.cluster.plan.discovery import DiscoveredResource, Discovery
from smp.cluster.plan.exchange import Plan, PlannedRequest
from smp.cluster.plan.failures import ApiError, NoResourceTypeError
from smp.cluster.plan.listing import listed
from smp.cluster.plan.objects import Item
from smp.cluster.plan.options import ApplyOptions
from smp.cluster.plan.sending import (
    body_of,
    exists_after,
    get_request,
    send,
    send_for_object,
    write_request,
)
from smp.errors import SmpError

TOOLING: Final = "applyset.kubernetes.io/tooling"
NAMESPACES: Final = "applyset.kubernetes.io/additional-namespaces"
GROUP_KINDS: Final = "applyset.kubernetes.io/contains-group-kinds"
ID: Final = "applyset.kubernetes.io/id"
PART_OF: Final = "applyset.kubernetes.io/part-of"
PARENT_TYPE: Final = "applyset.kubernetes.io/is-parent-type"

# Go: builtinApplySetParentGVRs.
_BUILT_IN_PARENTS: Final = frozenset({("", "Secret"), ("", "ConfigMap")})
_APPLY: Final = "application/apply-patch+yaml"


class ApplySetError(SmpError):
    """An ApplySet that this tool must not, or cannot, work on."""

    default_code = "invalid-applyset"
    status = 409


class Parent(msgspec.Struct, frozen=True):
    """The parent object of an ApplySet.

    ``tooling`` is the name and version of the tool that manages it, as in
    ``kubectl/v1.37``. A tool refuses the sets of others.
    """

    resource: DiscoveredResource
    namespace: str
    name: str
    tooling: str

    @property
    def id(self) -> str:
        """The id, which is the value of the label of each member (Go: ApplySet.ID)."""
        kind = f"{self.resource.kind}.{self.resource.group}"
        text = f"{self.name}.{self.namespace}.{kind}"
        digest = urlsafe_b64encode(sha256(text.encode()).digest()).rstrip(b"=")
        return f"applyset-{digest.decode()}-v1"

    @property
    def selector(self) -> str:
        """The label selector of the members."""
        return f"{PART_OF}={self.id}"

    @property
    def tool(self) -> str:
        """The name of the tool, without its version (Go: toolingBaseName)."""
        return tool_of(self.tooling)

    @property
    def path(self) -> str:
        """The path of the parent object."""
        return self.resource.path(self.namespace, self.name)

    def __str__(self) -> str:
        return f"{self.resource.qualified}/{self.name}"


class Scope(msgspec.Struct, frozen=True):
    """Where members are: ``(group, kind)`` pairs, and names of namespaces."""

    kinds: frozenset[tuple[str, str]] = frozenset()
    namespaces: frozenset[str] = frozenset()

    def __or__(self, other: Scope) -> Scope:
        return Scope(self.kinds | other.kinds, self.namespaces | other.namespaces)


def tool_of(tooling: str) -> str:
    """Return the name in the annotation of the tool: ``kubectl`` of kubectl/v1.37."""
    name, slash, version = tooling.rpartition("/")
    return name if slash else version


def parent(
    discovery: Discovery, reference: str, namespace: str, tooling: str
) -> Plan[Parent]:
    """Return the parent that ``[RESOURCE[.GROUP]/]NAME`` names; a Secret by default.

    Without ``tooling`` the tool is this package. Raises ApplySetError for a kind that
    may not be one, NoKindMatchError, and what ``send`` raises (Go:
    ParseApplySetParentRef, ApplySet.Validate).
    """
    # Go: ParseApplySetParentRef.
    kind, slash, name = reference.rpartition("/")
    if not name:
        raise ApplySetError("the name of the ApplySet cannot be blank")
    resource = yield from resource_named(discovery, kind if slash else "secrets")
    # Custom resources may be parents where their definition says that.
    if (resource.group, resource.kind) not in _BUILT_IN_PARENTS:
        definitions = yield from discovery.resource_of_kind(
            "apiextensions.k8s.io", "CustomResourceDefinition"
        )
        permitted = yield from listed(definitions, "", PARENT_TYPE)
        names = {as_object(each.get("metadata")).get("name") for each in permitted}
        if f"{resource.plural}.{resource.group}" not in names:
            raise ApplySetError(
                f'resource "{resource.qualified}" is not permitted as an ApplySet'
                " parent",
                hint=f"its CustomResourceDefinition needs the label {PARENT_TYPE}",
            )
    within = namespace if resource.namespaced else ""
    return Parent(resource, within, name, tooling or f"smp/v{smp.__version__}")


def resource_named(discovery: Discovery, reference: str) -> Plan[DiscoveredResource]:
    """Return the resource that a name means: ``deploy``, ``widgets.acme.io``.

    Raises NoResourceTypeError, and what ``send`` raises.
    """
    # Go: schema.ParseResourceArg; a name has no dot, and a group may have several. The
    # version may be before it, as in deployments.v1.apps.
    name, dot, group = reference.partition(".")
    version, _, group_of_version = group.partition(".")
    resources = yield from discovery.all()
    for resource in resources:
        names = (resource.plural, resource.singular, *resource.short_names)
        # Without a group it is the first one that has the name, as for kubectl.
        if name.lower() not in names:
            continue
        is_of_version = (version, group_of_version) == (
            resource.version,
            resource.group,
        )
        if not dot or resource.group == group or is_of_version:
            return resource
    raise NoResourceTypeError(reference)


def labelled(item: Item, parent: Parent) -> Item:
    """Return an object with the label of a member.

    Raises ApplySetError where the label is there already (Go: ApplySet.AddLabels).
    """
    labels = as_object(metadata_of(item.object).get("labels"))
    if PART_OF in labels:
        raise ApplySetError(f'ApplySet label "{PART_OF}" already set in input data')
    obj = set_metadata(item.object, labels={**labels, PART_OF: parent.id})
    return Item(obj, item.source)


def scope_of(targets: list[ApplyTarget]) -> Scope:
    """Return the kinds and namespaces of objects (Go: ApplySet.addResource)."""
    return Scope(
        frozenset((each.resource.group, each.resource.kind) for each in targets),
        frozenset(each.namespace for each in targets if each.namespace),
    )


def current_scope(parent: Parent) -> Plan[Scope]:
    """Return what the parent object names; an empty scope where it does not exist.

    Raises ApplySetError for an object that is no parent, or that of another tool (Go:
    ApplySet.fetchParent).
    """
    live = yield from exists_after(get_request(parent.path))
    if live is None:
        if (parent.resource.group, parent.resource.kind) not in _BUILT_IN_PARENTS:
            raise ApplySetError(
                "custom resource ApplySet parents cannot be created automatically"
            )
        return Scope()
    metadata = as_object(live.get("metadata"))
    annotations = as_object(metadata.get("annotations"))
    # Go: ApplySetParentRef.String, with a dot also after a resource of no group.
    name = f"{parent.resource.plural}.{parent.resource.group}/{parent.name}"
    shown = f'ApplySet parent object "{name}"'
    # KEP-3659: a tool must not change the sets of another tool.
    tooling = as_text(annotations.get(TOOLING))
    if not tooling:
        raise ApplySetError(
            f'{shown} already exists and is missing required annotation "{TOOLING}"'
        )
    if tool_of(tooling) != parent.tool:
        raise ApplySetError(
            f'{shown} already exists and is managed by tooling "{tool_of(tooling)}"'
            f' instead of "{parent.tool}"',
            hint=f"tooling={tooling!r} (--tooling {tooling}) works on it as that tool,"
            " which may go on with it",
        )
    # The id is derived from the name of the parent: a copy of one is no parent.
    id_ = as_text(as_object(metadata.get("labels")).get(ID))
    if not id_:
        raise ApplySetError(f"{shown} exists and does not have required label {ID}")
    if id_ != parent.id:
        raise ApplySetError(
            f'{shown} exists and has incorrect value for label "{ID}" (got: {id_},'
            f" want: {parent.id})"
        )
    return read_scope(annotations, parent)


def read_scope(annotations: JSONObject, parent: Parent) -> Scope:
    """Read the annotations of a parent. Raises ApplySetError where they lack kinds."""
    # KEP-3659 lets it be absent, which means a search of all kinds; kubectl does not.
    text = annotations.get(GROUP_KINDS)
    if not isinstance(text, str):
        raise ApplySetError(
            f'the "{GROUP_KINDS}" annotation has to be set on all ApplySet parent'
            " objects"
        )
    kinds = frozenset(
        (group, kind)
        for kind, _, group in (name.partition(".") for name in _split(text))
    )
    namespaces = {*_split(as_text(annotations.get(NAMESPACES)))}
    if parent.namespace:
        namespaces.add(parent.namespace)
    return Scope(kinds, frozenset(namespaces))


def _split(text: str) -> list[str]:
    return text.split(",") if text else []


def update(parent: Parent, scope: Scope, options: ApplyOptions) -> Plan[None]:
    """Write a scope into the parent object, by server-side apply.

    The fields of a parent belong to its tool, so a conflict is forced (Go:
    ApplySet.updateParent). Raises what ``send`` raises.
    """
    if options.dry_run == "client":
        return
    # What is not in the apply is removed, so all annotations are there.
    names = sorted(f"{kind}.{group}" if group else kind for group, kind in scope.kinds)
    others = sorted(scope.namespaces - {parent.namespace})
    # Go: ApplySet.buildParentPatch.
    metadata: JSONObject = {"name": parent.name}
    if parent.namespace:
        metadata["namespace"] = parent.namespace
    metadata["labels"] = {ID: parent.id}
    metadata["annotations"] = {
        TOOLING: parent.tooling,
        GROUP_KINDS: ",".join(names),
        NAMESPACES: ",".join(others),
    }
    body: JSONObject = {
        "kind": parent.resource.kind,
        "apiVersion": parent.resource.api_version,
        "metadata": metadata,
    }
    try:
        yield from send(_update_request(parent, body, options, force=False))
    except ApiError as error:
        if error.reason != "Conflict":
            raise
        yield from send(_update_request(parent, body, options, force=True))


def _update_request(
    parent: Parent, body: JSONObject, options: ApplyOptions, *, force: bool
) -> PlannedRequest:
    query = options.query(manager=f"{parent.tool}-applyset")
    query = (*query, ("force", "true" if force else "false"))
    return write_request("PATCH", parent.path, query, body_of(body), _APPLY)


def places(
    discovery: Discovery, scope: Scope
) -> Plan[list[tuple[DiscoveredResource, str]]]:
    """Return where members may be: each resource, with each namespace.

    Raises NoKindMatchError for a kind that is no longer served.
    """
    found = []
    # Go: ApplySet.FindAllObjectsToPrune.
    for group, kind in sorted(scope.kinds):
        resource = yield from discovery.resource_of_kind(group, kind)
        within = sorted(scope.namespaces) if resource.namespaced else [""]
        found += [(resource, namespace) for namespace in within]
    return found


class ApplySetState(msgspec.Struct, frozen=True):
    """An ApplySet as it is: its parent object, what it names, and what is wrong.

    ``problems`` are sentences; ``members`` the objects with its label, in all kinds and
    namespaces where the parent says that there are some, or, with a full search, in all
    of the server.
    """

    parent: Parent
    scope: Scope
    members: tuple[dict[str, Any], ...]
    problems: tuple[str, ...]


def list_sets(discovery: Discovery, namespace: str) -> Plan[list[Parent]]:
    """Return the ApplySets whose parent is a Secret or a ConfigMap, or a custom one.

    ``namespace`` is empty for those of all namespaces.
    """
    resources = []
    for group, kind in sorted(_BUILT_IN_PARENTS):
        resources.append((yield from discovery.resource_of_kind(group, kind)))
    definitions = yield from discovery.resource_of_kind(
        "apiextensions.k8s.io", "CustomResourceDefinition"
    )
    for definition in (yield from listed(definitions, "", PARENT_TYPE)):
        spec = as_object(definition.get("spec"))
        kind = as_text(as_object(spec.get("names")).get("kind"))
        group = as_text(spec.get("group"))
        resources.append((yield from discovery.resource_of_kind(group, kind)))
    found = []
    for resource in resources:
        for obj in (yield from listed(resource, namespace, ID)):
            metadata = as_object(obj.get("metadata"))
            place = as_text(metadata.get("namespace")), as_text(metadata.get("name"))
            tooling = as_text(annotations_of(obj).get(TOOLING))
            found.append(Parent(resource, *place, tooling))
    return found


def verify(discovery: Discovery, parent: Parent, *, full: bool) -> Plan[ApplySetState]:
    """Look whether the parent names all kinds and namespaces that have members.

    With ``full`` members are looked for in every resource that can be listed.
    """
    live = yield from send_for_object(get_request(parent.path))
    metadata = as_object(live.get("metadata"))
    problems = []
    id_ = as_text(as_object(metadata.get("labels")).get(ID))
    if id_ != parent.id:
        problems.append(f'the label {ID} is "{id_}", and not "{parent.id}"')
    scope = Scope()
    try:
        scope = read_scope(as_object(metadata.get("annotations")), parent)
    except ApplySetError as error:
        problems.append(error.problem)
    # A member that the parent does not name is found only by a full search.
    if full:
        resources = yield from discovery.all()
        where = [(each, "") for each in resources if "list" in each.verbs]
    else:
        where = yield from places(discovery, scope)
    members: dict[str, JSONObject] = {}
    for resource, namespace in where:
        for obj in (yield from listed(resource, namespace, parent.selector)):
            # Some resources are listed whatever their labels are: ComponentStatuses.
            found_metadata = as_object(obj.get("metadata"))
            if as_object(found_metadata.get("labels")).get(PART_OF) != parent.id:
                continue
            # A kind may be served by several groups, as Events are.
            members[as_text(found_metadata.get("uid"))] = obj
    # What the parent names and no member has is harmless: it costs a list.
    found = _scope_of_members(list(members.values()))
    unnamed = [
        f"of the kind {kind}.{group}".rstrip(".")
        for group, kind in sorted(found.kinds - scope.kinds)
    ]
    unnamed += [
        f'in the namespace "{namespace}"'
        for namespace in sorted(found.namespaces - scope.namespaces)
    ]
    problems += [f"it does not name members {where_}" for where_ in unnamed]
    return ApplySetState(parent, scope, tuple(members.values()), tuple(problems))


def repair(
    discovery: Discovery, parent: Parent, options: ApplyOptions
) -> Plan[ApplySetState]:
    """Have the parent name exactly the kinds and namespaces that have members."""
    state = yield from verify(discovery, parent, full=True)
    scope = _scope_of_members(list(state.members))
    yield from update(parent, scope, options)
    return ApplySetState(parent, scope, state.members, ())


def _scope_of_members(members: list[JSONObject]) -> Scope:
    kinds = set()
    namespaces = set()
    for obj in members:
        group, _, _ = as_text(obj.get("apiVersion")).rpartition("/")
        kinds.add((group, as_text(obj.get("kind"))))
        namespaces.add(as_text(as_object(obj.get("metadata")).get("namespace")))
    return Scope(frozenset(kinds), frozenset(namespaces - {""}))
