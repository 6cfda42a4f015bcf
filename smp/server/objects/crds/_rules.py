"""What a CustomResourceDefinition has to be: names, versions, subresources, columns,
and structural schemas.

Source: "Extend the Kubernetes API with CustomResourceDefinitions" in the Kubernetes
documentation ("Specifying a structural schema"), and the API of
CustomResourceDefinition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from smp.paths import Path
from smp.server.errors import invalid, required
from smp.server.objects import names
from smp.server.objects.crds._printer_columns import TYPES
from smp.server.objects.crds._schema_rules import schema_problems
from smp.server.objects.crds._spec import (
    Crd,
    Names,
    PrinterColumn,
    Scale,
    Spec,
    Version,
)
from smp.server.objects.crds.json_path import JSONPathError, member_names
from smp.values import JSON
from smp.violations import Violation, unsupported

_SPEC: Final = Path(("spec",))
_SCOPES: Final = ("Cluster", "Namespaced")
_PROTECTED: Final = (".k8s.io", ".kubernetes.io")
_APPROVED: Final = "api-approved.kubernetes.io"


def problems(crd: Crd) -> Iterator[Violation]:
    """Yield what is wrong with a definition."""
    spec = crd.spec
    yield from _identity_problems(crd)
    yield from _group_problems(crd)
    yield from _name_problems(spec.names)
    if spec.scope not in _SCOPES:
        yield (
            unsupported(_SPEC / "scope", spec.scope, _SCOPES)
            if spec.scope
            else required(_SPEC / "scope")
        )
    yield from _version_list_problems(spec)
    for index, version in enumerate(spec.versions):
        yield from _version_problems(version, _SPEC / "versions" / index)
    if spec.preserve_unknown_fields:
        yield invalid(
            _SPEC / "preserveUnknownFields",
            spec.preserve_unknown_fields,
            "must be false",
        )
    if spec.conversion.strategy != "None":
        yield unsupported(
            _SPEC / "conversion" / "strategy", spec.conversion.strategy, ["None"]
        )


def _identity_problems(crd: Crd) -> Iterator[Violation]:
    path, name = Path(("metadata", "name")), crd.metadata.name
    if not name:
        yield required(path, "name or generateName is required")
    elif name != f"{crd.spec.names.plural}.{crd.spec.group}":
        yield invalid(path, name, 'must be spec.names.plural+"."+spec.group')
    elif problem := names.subdomain(name):
        yield invalid(path, name, problem)


def _group_problems(crd: Crd) -> Iterator[Violation]:
    group = crd.spec.group
    if not group:
        yield required(_SPEC / "group")
    elif problem := names.subdomain(group) or (
        "" if "." in group else "must be a domain with at least one dot"
    ):
        yield invalid(_SPEC / "group", group, problem)
    elif f".{group}".endswith(_PROTECTED) and not crd.metadata.annotations.get(
        _APPROVED
    ):
        detail = "groups of Kubernetes are protected, see https://github.com/kubernetes/enhancements/pull/1111"
        yield required(Path(("metadata", "annotations")) / _APPROVED, detail)


def _name_problems(own: Names) -> Iterator[Violation]:
    path = _SPEC / "names"
    words = {
        "plural": own.plural,
        "singular": own.singular,
        "kind": own.kind.lower(),
        "listKind": own.list_kind.lower(),
    }
    for word, name in words.items():
        if not name:
            yield required(path / word)
        elif problem := names.rfc1035_label(name):
            yield invalid(path / word, name, problem)
    for word, listed in {
        "shortNames": own.short_names,
        "categories": own.categories,
    }.items():
        for index, name in enumerate(listed):
            if problem := names.rfc1035_label(name):
                yield invalid(path / word / index, name, problem)
    if own.kind and own.kind == own.list_kind:
        yield invalid(
            path / "listKind", own.list_kind, "kind and listKind may not be the same"
        )


def _version_list_problems(spec: Spec) -> Iterator[Violation]:
    path = _SPEC / "versions"
    for name, count in Counter(version.name for version in spec.versions).items():
        if count > 1:
            yield invalid(path, name, "must contain unique version names")
    stored: list[JSON] = [version.name for version in spec.versions if version.storage]
    if len(stored) != 1:
        yield invalid(
            path, stored, "must have exactly one version marked as storage version"
        )
    if not any(version.served for version in spec.versions):
        yield invalid(path, [], "must have at least one version that is served")


def _version_problems(version: Version, path: Path) -> Iterator[Violation]:
    if problem := names.rfc1035_label(version.name):
        yield invalid(path / "name", version.name, problem)
    schema = path / "schema" / "openAPIV3Schema"
    if version.schema.openapi is None:
        yield required(schema, "schemas are required")
    else:
        yield from schema_problems(version.schema.openapi, schema)
    if version.subresources.scale:
        yield from _scale_problems(
            version.subresources.scale, path / "subresources" / "scale"
        )
    for index, column in enumerate(version.additional_printer_columns):
        yield from _column_problems(column, path / "additionalPrinterColumns" / index)


def _scale_problems(scale: Scale, path: Path) -> Iterator[Violation]:
    rows = (
        ("specReplicasPath", scale.spec_replicas_path, ("spec",)),
        ("statusReplicasPath", scale.status_replicas_path, ("status",)),
        ("labelSelectorPath", scale.label_selector_path, ("spec", "status")),
    )
    for word, text, roots in rows:
        if not text and word != "labelSelectorPath":
            yield required(path / word)
        elif text and not _is_below(text, roots):
            yield invalid(
                path / word,
                text,
                "must be a path of members below ." + " or .".join(roots),
            )


def _is_below(path: str, roots: tuple[str, ...]) -> bool:
    try:
        root, *below = member_names(path)
    except JSONPathError:
        return False
    return root in roots and bool(below)


def _column_problems(column: PrinterColumn, path: Path) -> Iterator[Violation]:
    for word, text in {
        "name": column.name,
        "jsonPath": column.json_path,
        "type": column.type,
    }.items():
        if not text:
            yield required(path / word)
    if column.type not in {"", *TYPES}:
        yield invalid(path / "type", column.type, f"must be one of {', '.join(TYPES)}")
    if column.json_path and not column.json_path.startswith("."):
        yield invalid(
            path / "jsonPath",
            column.json_path,
            "must be a simple JSONPath that begins with .",
        )
