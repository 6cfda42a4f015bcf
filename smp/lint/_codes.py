"""The codes of what lint finds, each with what it says and its source.

What an API server answers to a text with each of them is recorded:
tests/data/lint/answers.jsonl.
"""

from __future__ import annotations

from typing import Final

from smp.hazards import Description, Hazard, Input
from smp.paths import Path

_MERGE_MAP: Final = "Go: strategicpatch.mergeMap"
_MARKED_MAP: Final = "Go: strategicpatch.handleDirectiveInMergeMap"
_MARKED_LIST: Final = "Go: strategicpatch.mergeSliceWithSpecialElements"
_RETAIN_KEYS: Final = "Go: strategicpatch.applyRetainKeysDirective"
_ORDERS: Final = "Go: strategicpatch.mergePatchIntoOriginal"
_STRICT: Final = "KEP-2885, server-side field validation"
_JSON_PATCH: Final = "RFC 6902, section 4"
_POINTER: Final = "RFC 6901, section 3"

# By code.
LINT: Final[dict[str, Description]] = {
    # Of every form.
    "unknown-field": Description(
        "error",
        'unknown field "{field}"',
        "{remedy}",
        _STRICT,
    ),
    "wrong-type": Description(
        "error",
        "{misfit}",
        "write a value of the type {expected}",
        "Go: encoding/json, UnmarshalTypeError",
    ),
    "unsupported-value": Description(
        "error",
        "{message}",
        "use one of the supported values",
        "Go: field.NotSupported",
    ),
    "unknown-kind": Description(
        "error",
        'no matches for kind "{kind}" in version "{api_version}"',
        "{remedy}",
        "Go: meta.NoKindMatchError",
    ),
    "invalid-quantity": Description(
        "error",
        "the value is no quantity",
        "write a number with a unit such as m, Ki, Mi, Gi, k, M or G",
        "Go: resource.ParseQuantity",
    ),
    "invalid-base64": Description(
        "error",
        "the value is not base64",
        "encode it, or move it to {section}, which takes it as it is",
        "Go: encoding/json, []byte is base64",
    ),
    # Of a manifest.
    "union-members": Description(
        "error",
        "{message}",
        "set one member, and the discriminator to its name",
        "KEP-1027, union types",
    ),
    "invalid-value": Description(
        "error",
        "an API server refuses it: {message}",
        "",
        "Go: k8s.io/kubernetes, pkg/apis/*/validation",
    ),
    "repeated-name": Description(
        "error",
        "{problem}",
        "leave out one of them; kubectl refuses the document, other readers take the "
        "last one",
        "YAML 1.2, section 3.2.1.1: keys are unique",
    ),
    "repeated-object": Description(
        "warning",
        "the same object is also in {place}; what is applied last counts",
        "keep one of them, or give them different names",
        "Go: k8s.io/kubectl, pkg/cmd/apply: one object after the other",
    ),
    "partial-object": Description(
        "note",
        "read as a patch, because a manifest would need {fields}",
        "add what is missing if it is a manifest",
        "Go: field.Required",
    ),
    # Of a strategic merge patch.
    "unknown-directive": Description(
        "error",
        "{name} is no directive of a strategic merge patch",
        "{remedy}",
        _MERGE_MAP,
    ),
    "unknown-directive-value": Description(
        "error",
        "$patch: {value} is unknown, the server refuses the patch",
        "{remedy}",
        _MARKED_MAP,
    ),
    "invalid-directive": Description(
        "error",
        "{name} takes a list{of}, not {actual}",
        "write it as a list",
        _MERGE_MAP,
    ),
    "ignored-beside-directive": Description(
        "warning",
        "$patch: {marker} {effect}, so {names} beside it has no effect",
        "{remedy}",
        _MARKED_LIST,
    ),
    "directive-not-merged": Description(
        "error",
        "{name} has no effect in a value that is not merged: it would become a "
        "field of the object",
        "remove the directive, and write the value as it is to be",
        "Go: strategicpatch.mergeSliceHandler",
    ),
    "directive-at-root": Description(
        "note",
        "$patch: {marker} of the whole object is for kustomize; an API server refuses "
        "it",
        "delete the object with kubectl delete where no kustomization does",
        _MARKED_MAP,
    ),
    "empties-object": Description(
        "note",
        "$patch: delete leaves an empty object at an API server; kustomize removes the "
        "field",
        "set the field to null to remove it everywhere",
        _MARKED_MAP,
    ),
    "no-list-to-order": Description(
        "error",
        "{name}: {reason}, so the patch cannot order it",
        "{remedy}",
        _ORDERS,
    ),
    "no-list-to-delete-from": Description(
        "warning",
        "{name}: {reason}, so the directive deletes nothing",
        "{remedy}",
        "Go: strategicpatch.mergeSlice, isDeleteList",
    ),
    "element-order-mismatch": Description(
        "error",
        "{name} does not list this element here, the server refuses the patch",
        "list all elements of the patch in the directive, in the same relative order",
        "Go: strategicpatch.validatePatchWithSetOrderList",
    ),
    "retain-keys-mismatch": Description(
        "error",
        "the patch sets {field}, but $retainKeys does not list it",
        "add {field} to $retainKeys, or leave the field out of the patch",
        _RETAIN_KEYS,
    ),
    "retain-keys-unknown-field": Description(
        "warning",
        "$retainKeys lists {field}, which is no field here; all fields that it does "
        "not list are cleared",
        "{remedy}",
        _RETAIN_KEYS,
    ),
    "retain-keys-without-strategy": Description(
        "warning",
        "$retainKeys clears all other fields of an object that has no patch strategy "
        "retainKeys",
        "remove the directive, and set to null the fields that are to go",
        _RETAIN_KEYS,
    ),
    "missing-merge-key": Description(
        "error",
        "the element {lacks} its patch merge key {merge_key}, so the server cannot "
        "merge it",
        "set {merge_key} to the value that identifies the element",
        "Go: strategicpatch.mergeSliceWithoutSpecialElements",
    ),
    "repeated-merge-key": Description(
        "warning",
        "an earlier element of the patch has the same patch merge key {merge_key}: "
        "both are merged into one",
        "write one element with all of its fields",
        "Go: strategicpatch.mergeSliceWithoutSpecialElements",
    ),
    # Of a JSON merge patch.
    "directive-in-merge-patch": Description(
        "error",
        "{name} means nothing in a JSON merge patch{why}: it would become a field",
        "{remedy}",
        "RFC 7396, section 2",
    ),
    # Of a JSON Patch.
    "invalid-operation": Description(
        "error",
        "{problem}",
        "write an operation with op, path and what else it needs",
        _JSON_PATCH,
    ),
    "invalid-pointer": Description(
        "error",
        "{pointer} is no JSON Pointer: {problem}",
        "begin it with /, and write ~1 for / and ~0 for ~ in a name",
        _POINTER,
    ),
    "unescaped-slash": Description(
        "error",
        "{pointer} goes on below a value of type {type}, which has no members",
        "write ~1 for / in a name: {remedy}",
        _POINTER,
    ),
    "index-without-test": Description(
        "warning",
        "{op} goes by the index {index}, which may be another element by then",
        "put a test of the element before it, such as {test}",
        "RFC 6902, section 4.6",
    ),
}


def finding(code: str, path: Path, source: Input, **blanks: str) -> Hazard:
    """Return what was found under a code, with the blanks of its texts filled in."""
    described = LINT[code]
    return Hazard(
        code,
        path,
        source,
        described.severity,
        described.sentence.format(**blanks),
        described.remedy.format(**blanks),
        described.rule,
    )
