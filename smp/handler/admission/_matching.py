"""Whether a request is one that a webhook, a policy or a binding is about.

Go: k8s.io/apiserver, pkg/admission/plugin: webhook/generic/webhook.go (ShouldCallHook),
webhook/predicates and policy/matching/matching.go.
"""

from __future__ import annotations

from typing import Final

import msgspec

from smp._storage.typed_storage import convert
from smp._values.label_selectors import EXPRESSION_OPERATORS, LabelSelector, Requirement
from smp._values.values import JSON, JSONObject, as_list, as_object, as_text, objects_in
from smp.errors import SmpError

# Go: rules.IsExemptAdmissionConfigurationResource.
_EXEMPT: Final = frozenset(
    {
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
    }
)


class UnknownInputError(SmpError):
    """Something that a decision needs, and that is not known here."""

    default_code = "unknown-input"


class ReviewedResource(msgspec.Struct, frozen=True):
    """A resource in one of its versions, and the kind of what is sent to it.

    ``kind`` and ``api_version`` are those of the objects, or of a Scale or the like.
    """

    group: str
    version: str
    plural: str
    kind: str
    api_version: str

    @property
    def as_kind(self) -> JSONObject:
        """The GroupVersionKind of what is sent, as a review has it."""
        group, _, version = self.api_version.rpartition("/")
        return {"group": group, "version": version, "kind": self.kind}

    @property
    def as_resource(self) -> JSONObject:
        """Its GroupVersionResource, as a review has it."""
        return {"group": self.group, "version": self.version, "resource": self.plural}


class ReviewRequest(msgspec.Struct, frozen=True):
    """A request to admit (Go: admission.Attributes).

    ``object`` is None for a deletion, ``old`` for a creation. ``namespace`` is that of
    the path, which for a namespace is its own name. ``namespace_object`` is that
    namespace; None where there is none, and where it is not known. ``user`` is None
    where it is not known. ``equivalents`` are the other versions of the resource.
    """

    operation: str
    resource: ReviewedResource
    subresource: str = ""
    name: str = ""
    namespace: str = ""
    object: JSONObject | None = None
    old: JSONObject | None = None
    namespace_object: JSONObject | None = None
    user: JSONObject | None = None
    dry_run: bool = False
    options: JSONObject | None = None
    equivalents: tuple[ReviewedResource, ...] = ()

    @property
    def is_exempt(self) -> bool:
        """Whether no webhook and no policy is asked, as it is about these."""
        resource = self.resource
        return (
            resource.group == "admissionregistration.k8s.io"
            and resource.kind in _EXEMPT
        )

    @property
    def is_of_namespace(self) -> bool:
        """Whether it is about a namespace itself."""
        return self.resource.plural == "namespaces" and not self.resource.group

    def describe(self, matched: ReviewedResource) -> JSONObject:
        """Return the AdmissionRequest, without the objects (Go: CreateV1...)."""
        described: JSONObject = {
            "kind": matched.as_kind,
            "resource": matched.as_resource,
            "subResource": self.subresource,
            "requestKind": self.resource.as_kind,
            "requestResource": self.resource.as_resource,
            "requestSubResource": self.subresource,
            "name": self.name,
            "namespace": self.namespace,
            "operation": self.operation,
            "userInfo": self.user,
        }
        # Go leaves out what is empty (omitempty).
        shown = {name: value for name, value in described.items() if value != ""}
        return {**shown, "dryRun": self.dry_run, "options": self.options}

    def convert(
        self, obj: JSONObject | None, to: ReviewedResource
    ) -> JSONObject | None:
        """Return an object of the request in a version of its resource."""
        if obj is None or to == self.resource:
            return obj
        return convert(obj, to.kind, to.api_version)


class Criteria(msgspec.Struct, frozen=True):
    """What a webhook, a policy or a binding is about; None is everything."""

    rules: list[JSONObject] | None
    excluded: list[JSONObject] = []
    namespaces: LabelSelector = LabelSelector()
    objects: LabelSelector = LabelSelector()
    is_exact: bool = False

    @classmethod
    def of_webhook(cls, webhook: JSONObject) -> Criteria:
        """Read those of a webhook. Without rules it is called for nothing."""
        return cls._read(webhook, [*objects_in(webhook.get("rules"))], [])

    @classmethod
    def of_policy(cls, constraints: JSONObject) -> Criteria:
        """Read the MatchResources of a policy or of a binding."""
        rules = [*objects_in(constraints.get("resourceRules"))]
        excluded = [*objects_in(constraints.get("excludeResourceRules"))]
        return cls._read(constraints, rules or None, excluded)

    @classmethod
    def _read(
        cls,
        fields: JSONObject,
        rules: list[JSONObject] | None,
        excluded: list[JSONObject],
    ) -> Criteria:
        return cls(
            rules,
            excluded,
            read_selector(fields.get("namespaceSelector")),
            read_selector(fields.get("objectSelector")),
            fields.get("matchPolicy") == "Exact",
        )


def find_match(criteria: Criteria, request: ReviewRequest) -> ReviewedResource | None:
    """Return the version of the resource in which a request is matched, else None.

    Raises UnknownInputError where that depends on a namespace that is not known.
    """
    # What does not depend on the namespace may say no without it.
    objects = [obj for obj in (request.object, request.old) if obj is not None]
    selector = criteria.objects
    if selector.requirements and not any(map(selector.matches, objects)):
        return None
    if _find_rule(criteria.excluded, request, is_exact=criteria.is_exact):
        return None
    found: ReviewedResource | None = request.resource
    if criteria.rules is not None:
        found = _find_rule(criteria.rules, request, is_exact=criteria.is_exact)
    if found is None or not _is_in_namespace(criteria.namespaces, request):
        return None
    return found


def _is_in_namespace(selector: LabelSelector, request: ReviewRequest) -> bool:
    """Go: namespace.Matcher.MatchNamespaceSelector, GetNamespaceLabels."""
    if not selector.requirements:
        return True
    # What is in no namespace is never exempt.
    if not request.namespace and not request.is_of_namespace:
        return True
    namespace = request.namespace_object
    if request.is_of_namespace and not request.subresource and request.object:
        namespace = request.object
    if namespace is None:
        raise UnknownInputError(f"the labels of namespace {request.namespace}")
    return selector.matches(namespace)


def _find_rule(
    rules: list[JSONObject], request: ReviewRequest, *, is_exact: bool
) -> ReviewedResource | None:
    """Return the resource of the first rule that matches; Go: matchesResourceRules."""
    for resource in (request.resource, *(() if is_exact else request.equivalents)):
        for rule in rules:
            names = as_list(rule.get("resourceNames"))
            if _rule_matches(rule, resource, request) and (
                not names or request.name in names
            ):
                return resource
    return None


def _rule_matches(
    rule: JSONObject, resource: ReviewedResource, request: ReviewRequest
) -> bool:
    """Go: rules.Matcher.Matches."""
    is_cluster = request.is_of_namespace or not request.namespace
    scope = rule.get("scope") or "*"
    if scope not in {"*", "Cluster" if is_cluster else "Namespaced"}:
        return False
    for field, value in (
        ("operations", request.operation),
        ("apiGroups", resource.group),
        ("apiVersions", resource.version),
    ):
        listed = as_list(rule.get(field))
        if "*" not in listed and value not in listed:
            return False
    for entry in as_list(rule.get("resources")):
        plural, _, subresource = as_text(entry).partition("/")
        if plural in {"*", resource.plural} and subresource in {
            "*",
            request.subresource,
        }:
            return True
    return False


def read_selector(selector: JSON) -> LabelSelector:
    """Read a LabelSelector; one that is empty or absent selects everything."""
    fields = as_object(selector)
    requirements = [
        Requirement(key, "in", (as_text(value),))
        for key, value in as_object(fields.get("matchLabels")).items()
    ]
    for expression in objects_in(fields.get("matchExpressions")):
        values = [as_text(value) for value in as_list(expression.get("values"))]
        operator = EXPRESSION_OPERATORS[as_text(expression.get("operator"))]
        key = as_text(expression.get("key"))
        requirements.append(Requirement(key, operator, tuple(values)))
    return LabelSelector(tuple(requirements))
