"""The rules for a CustomResourceDefinition: names, versions, subresources.

Those for columns are in _printer_columns.py and those for schemas in _schema_rules.py.
Go: ValidateCustomResourceDefinition and the functions named below, in
k8s.io/apiextensions-apiserver, pkg/apis/apiextensions/validation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from smp import names
from smp.paths import Path
from smp.server.errors import invalid, required
from smp.server.objects.crds._conversion_rules import conversion_problems
from smp.server.objects.crds._printer_columns import column_problems
from smp.server.objects.crds._schema_rules import schema_problems
from smp.server.objects.crds._spec import Crd, Names, Scale, Spec, Version
from smp.server.objects.crds.json_path import JSONPathError, member_names
from smp.values import JSON
from smp.violations import Violation, unsupported

_SPEC: Final = Path(("spec",))
_SCOPES: Final = ("Cluster", "Namespaced")
_PROTECTED_DOMAINS: Final = (".k8s.io", ".kubernetes.io")
# A root such as "spec", and a member below it.
_SHORTEST_SCALE_PATH: Final = 2
_APPROVED: Final = "api-approved.kubernetes.io"


def problems(crd: Crd) -> Iterator[Violation]:
    """Yield what is wrong with a definition."""
    spec = crd.spec
    name = crd.metadata.name
    path = Path(("metadata", "name"))
    # The name makes sure that there is one definition for each group and plural name.
    if not name:
        yield required(path, "name or generateName is required")
    elif name != f"{spec.names.plural}.{spec.group}":
        yield invalid(path, name, 'must be spec.names.plural+"."+spec.group')
    elif problem := names.subdomain(name):
        yield invalid(path, name, problem)

    yield from _group_problems(crd)
    yield from _name_problems(spec.names)
    yield from _spec_problems(spec)


def _group_problems(crd: Crd) -> Iterator[Violation]:
    group = crd.spec.group
    path = _SPEC / "group"
    if not group:
        yield required(path)
    elif problem := names.subdomain(group):
        yield invalid(path, group, problem)
    elif "." not in group:
        yield invalid(path, group, "must be a domain with at least one dot")
    # The groups of Kubernetes need an approval, as a URL in an annotation (KEP-2337,
    # Go: validateAPIApproval).
    elif f".{group}".endswith(_PROTECTED_DOMAINS) and not crd.metadata.annotations.get(
        _APPROVED
    ):
        yield required(
            Path(("metadata", "annotations")) / _APPROVED,
            "protected groups must have an approval annotation, see "
            "https://github.com/kubernetes/enhancements/pull/1111",
        )


def _name_problems(defined: Names) -> Iterator[Violation]:
    """Yield what is wrong with names (Go: ValidateCustomResourceDefinitionNames)."""
    path = _SPEC / "names"
    # A kind is like a name but for its case.
    for field, name in (
        ("plural", defined.plural),
        ("singular", defined.singular),
        ("kind", defined.kind.lower()),
        ("listKind", defined.list_kind.lower()),
    ):
        if not name:
            yield required(path / field)
        elif problem := names.rfc1035_label(name):
            yield invalid(path / field, name, problem)
    for field, listed in (
        ("shortNames", defined.short_names),
        ("categories", defined.categories),
    ):
        for index, name in enumerate(listed):
            if problem := names.rfc1035_label(name):
                yield invalid(path / field / index, name, problem)
    # Clients distinguish objects from lists of objects by their kinds.
    if defined.kind and defined.kind == defined.list_kind:
        yield invalid(
            path / "listKind",
            defined.list_kind,
            "kind and listKind may not be the same",
        )


def _spec_problems(spec: Spec) -> Iterator[Violation]:
    if not spec.scope:
        yield required(_SPEC / "scope")
    elif spec.scope not in _SCOPES:
        yield unsupported(_SPEC / "scope", spec.scope, _SCOPES)

    # A version is part of the path of a URL, and in one of them objects are stored.
    path = _SPEC / "versions"
    for name, count in Counter(version.name for version in spec.versions).items():
        if count > 1:
            yield invalid(path, name, "must contain unique version names")
    stored: list[JSON] = [version.name for version in spec.versions if version.storage]
    if len(stored) != 1:
        yield invalid(
            path, stored, "must have exactly one version marked as storage version"
        )
    # Kubernetes accepts such a definition; here it has no use.
    if not any(version.served for version in spec.versions):
        yield invalid(path, [], "must have at least one version that is served")
    for index, version in enumerate(spec.versions):
        yield from _version_problems(version, path / index)

    # Version 1 of the API requires structural schemas, which prune unknown fields.
    if spec.preserve_unknown_fields:
        yield invalid(
            _SPEC / "preserveUnknownFields",
            spec.preserve_unknown_fields,
            "must be false",
        )
    yield from conversion_problems(spec.conversion)


def _version_problems(version: Version, path: Path) -> Iterator[Violation]:
    # A version is not bound to the form "v1beta1", but that form sorts best.
    if problem := names.rfc1035_label(version.name):
        yield invalid(path / "name", version.name, problem)
    schema_path = path / "schema" / "openAPIV3Schema"
    if version.schema.openapi is None:
        yield required(schema_path, "schemas are required")
    else:
        yield from schema_problems(version.schema.openapi, schema_path)
    if version.subresources.scale:
        yield from _scale_problems(
            version.subresources.scale, path / "subresources" / "scale"
        )
    for index, column in enumerate(version.additional_printer_columns):
        yield from column_problems(column, path / "additionalPrinterColumns" / index)


def _scale_problems(scale: Scale, path: Path) -> Iterator[Violation]:
    """Yield what is wrong with the paths of a scale.

    Go: ValidateCustomResourceDefinitionSubresources.
    """
    for field, text, roots in (
        ("specReplicasPath", scale.spec_replicas_path, ("spec",)),
        ("statusReplicasPath", scale.status_replicas_path, ("status",)),
        ("labelSelectorPath", scale.label_selector_path, ("spec", "status")),
    ):
        if not text:
            # Only autoscalers need the selector.
            if field != "labelSelectorPath":
                yield required(path / field)
            continue
        # "Only JSON paths without the array notation are allowed. Must be a JSON Path
        # under `.spec`" (CustomResourceSubresourceScale).
        try:
            members = member_names(text)
        except JSONPathError:
            members = ()
        if len(members) < _SHORTEST_SCALE_PATH or members[0] not in roots:
            listed = " or .".join(roots)
            yield invalid(
                path / field, text, f"must be a path of members below .{listed}"
            )
