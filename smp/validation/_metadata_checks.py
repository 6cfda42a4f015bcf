"""The rules about metadata: labels, annotations, finalizers and owner references.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final

from smp._values.names import MAX_ANNOTATIONS, annotations_size, label_key_problems
from smp._values.values import ABSENT, JSON, as_list, as_object, as_text
from smp.validation._formats import FORMATS
from smp.validation._judged import Checks, Judged, elements, is_missing


def valid_labels(judged: Judged) -> None:
    """Check the keys and the values of labels (Go: ValidateLabels)."""
    # Go walks a map at random; here the order is that of the object.
    for key, value in as_object(judged.value).items():
        for key_problem in label_key_problems(key):
            judged.invalid(key, key_problem)
        problem = FORMATS["label-value"](as_text(value))
        if problem:
            judged.invalid(value, problem)


def valid_annotations(judged: Judged) -> None:
    """Check the keys of annotations, and their size (Go: ValidateAnnotations)."""
    annotations = as_object(judged.value)
    for key in annotations:
        # Go: the case of a key does not matter.
        for problem in label_key_problems(key.lower()):
            judged.invalid(key, problem)
    if annotations_size(annotations) > MAX_ANNOTATIONS:
        judged.add("FieldValueTooLong", f"may not be more than {MAX_ANNOTATIONS} bytes")


def valid_finalizers(judged: Judged) -> None:
    """Check the names of finalizers (Go: ValidateFinalizers, and that of core)."""
    finalizers = [as_text(name) for name in as_list(judged.value)]
    for name in finalizers:
        for problem in label_key_problems(name):
            judged.invalid(name, problem)
    # Go: metav1.FinalizerOrphanDependents and FinalizerDeleteDependents.
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        listed: list[JSON] = [*finalizers]
        judged.invalid(
            listed, "finalizer orphan and foregroundDeletion cannot be both set"
        )


def owner_references(judged: Judged) -> None:
    """Check what owner references name (Go: ValidateOwnerReferences)."""
    controller = ""
    for reference in elements(judged):
        api_version = as_text(reference.get("apiVersion"))
        # Go: schema.FromAPIVersionAndKind reads what is malformed as empty.
        if not api_version or api_version.count("/") > 1:
            judged.invalid(api_version, "version must not be empty", "apiVersion")
        for name in ("kind", "name", "uid"):
            if is_missing(reference.get(name, ABSENT)):
                judged.invalid("", "must not be empty", name)
        # Go: BannedOwners.
        if api_version == "v1" and reference.get("kind") == "Event":
            judged.add(
                "FieldValueInvalid",
                "/v1, Kind=Event is disallowed from being an owner",
                reference,
            )
        if reference.get("controller") is True:
            kind = as_text(reference.get("kind"))
            named = f"{kind}/{as_text(reference.get('name'))}"
            if controller:
                judged.invalid(
                    judged.value,
                    'Only one reference can have Controller set to true. Found "true"'
                    f" in references for {controller} and {named}",
                )
            controller = controller or named


CHECKS: Final[Checks] = {
    "annotations": valid_annotations,
    "finalizers": valid_finalizers,
    "labels": valid_labels,
    "owner-references": owner_references,
}
