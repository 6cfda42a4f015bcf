"""The codes of what lint finds, each with what it says and its source.

What an API server answers to a text with each of them is recorded:
tests/data/lint/answers.jsonl.
"""

from __future__ import annotations

from typing import Final

from smp._values.findings import Input, Meaning
from smp.hazards import Hazard, make_hazard
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
LINT: Final[dict[str, Meaning]] = {
    # Of every form.
    "unknown-field": Meaning('unknown field "{field}"', "{remedy}", _STRICT),
    "wrong-type": Meaning(
        "{misfit}",
        "write a value of the type {expected}",
        "Go: encoding/json, UnmarshalTypeError",
    ),
    "unsupported-value": Meaning(
        "{message}", "use one of the supported values", "Go: field.NotSupported"
    ),
    "unknown-kind": Meaning(
        'no matches for kind "{kind}" in version "{api_version}"',
        "{remedy}",
        "Go: meta.NoKindMatchError",
    ),
    "invalid-quantity": Meaning(
        "the value is no quantity",
        "write a number with a unit such as m, Ki, Mi, Gi, k, M or G",
        "Go: resource.ParseQuantity",
    ),
    "invalid-base64": Meaning(
        "the value is not base64",
        "encode it, or move it to {section}, which takes it as it is",
        "Go: encoding/json, []byte is base64",
    ),
    # Of a manifest.
    "denied-by-policy": Meaning(
        "{message}",
        "change what the policy refuses",
        "Go: k8s.io/apiserver, pkg/admission/plugin/policy",
    ),
    "warned-by-policy": Meaning(
        "{message}",
        "change what the policy warns of",
        "Go: k8s.io/apiserver, pkg/admission/plugin/policy",
        "warning",
    ),
    "unknown-to-policy": Meaning(
        "{message}",
        "ask a server, or give --policies the namespace and the parameters as well",
        "Go: k8s.io/apiserver, pkg/admission/plugin/policy",
        "warning",
    ),
    "union-members": Meaning(
        "{message}",
        "set one member, and the discriminator to its name",
        "KEP-1027, union types",
    ),
    "invalid-value": Meaning(
        "an API server refuses it: {message}",
        "",
        "Go: k8s.io/kubernetes, pkg/apis/*/validation",
    ),
    "ignored-status": Meaning(
        "an API server drops the status of a manifest",
        "remove it; only the subresource status writes it",
        "Go: PrepareForCreate of the strategy of the kind",
        "warning",
    ),
    "unchecked-rule": Meaning(
        "{message}",
        "ask a server: it evaluates the rule, or refuses it by its cost",
        "Go: apiextensions-apiserver, schema/cel, validateExpressions",
        "warning",
    ),
    "repeated-name": Meaning(
        "{problem}",
        "leave out one of them; kubectl and other readers take the last one",
        "YAML 1.2, section 3.2.1.1: keys are unique",
    ),
    "repeated-object": Meaning(
        "the same object is also in {place}; what is applied last counts",
        "keep one of them, or give them different names",
        "Go: k8s.io/kubectl, pkg/cmd/apply: one object after the other",
        "warning",
    ),
    "partial-object": Meaning(
        "read as a patch, because it has no name, and a manifest would need {fields}",
        "add what is missing if it is a manifest, or say --as patch",
        "Go: field.Required",
        "warning",
    ),
    # Of a strategic merge patch.
    "unknown-directive": Meaning(
        "{name} is no directive of a strategic merge patch", "{remedy}", _MERGE_MAP
    ),
    "unknown-directive-value": Meaning(
        "$patch: {value} is unknown, the server refuses the patch",
        "{remedy}",
        _MARKED_MAP,
    ),
    "invalid-directive": Meaning(
        "{name} takes a list{of}, not {actual}", "write it as a list", _MERGE_MAP
    ),
    "ignored-beside-directive": Meaning(
        "$patch: {marker} {effect}, so {names} beside it has no effect",
        "{remedy}",
        _MARKED_LIST,
        "warning",
    ),
    "directive-not-merged": Meaning(
        "{name} has no effect in a value that is not merged: it would become a "
        "field of the object",
        "remove the directive, and write the value as it is to be",
        "Go: strategicpatch.mergeSliceHandler",
    ),
    "directive-at-root": Meaning(
        "$patch: {marker} of the whole object is for kustomize; an API server refuses "
        "it",
        "delete the object with kubectl delete where no kustomization does",
        _MARKED_MAP,
        "note",
    ),
    "empties-object": Meaning(
        "$patch: delete leaves an empty object at an API server; kustomize removes the "
        "field",
        "set the field to null to remove it everywhere",
        _MARKED_MAP,
        "note",
    ),
    "no-list-to-order": Meaning(
        "{name}: {reason}, so the patch cannot order it", "{remedy}", _ORDERS
    ),
    "no-list-to-delete-from": Meaning(
        "{name}: {reason}, so the directive deletes nothing",
        "{remedy}",
        "Go: strategicpatch.mergeSlice, isDeleteList",
        "warning",
    ),
    "element-order-mismatch": Meaning(
        "{name} does not list this element here, the server refuses the patch",
        "list all elements of the patch in the directive, in the same relative order",
        "Go: strategicpatch.validatePatchWithSetOrderList",
    ),
    "retain-keys-mismatch": Meaning(
        "the patch sets {field}, but $retainKeys does not list it",
        "add {field} to $retainKeys, or leave the field out of the patch",
        _RETAIN_KEYS,
    ),
    "retain-keys-unknown-field": Meaning(
        "$retainKeys lists {field}, which is no field here; all fields that it does "
        "not list are cleared",
        "{remedy}",
        _RETAIN_KEYS,
        "warning",
    ),
    "retain-keys-without-strategy": Meaning(
        "$retainKeys clears all other fields of an object that has no patch strategy "
        "retainKeys",
        "remove the directive, and set to null the fields that are to go",
        _RETAIN_KEYS,
        "warning",
    ),
    "missing-merge-key": Meaning(
        "the element {lacks} its patch merge key {merge_key}, so the server cannot "
        "merge it",
        "set {merge_key} to the value that identifies the element",
        "Go: strategicpatch.mergeSliceWithoutSpecialElements",
    ),
    "repeated-merge-key": Meaning(
        "an earlier element of the patch has the same patch merge key {merge_key}: "
        "both are merged into one",
        "write one element with all of its fields",
        "Go: strategicpatch.mergeSliceWithoutSpecialElements",
        "warning",
    ),
    # Of a JSON merge patch.
    "directive-in-merge-patch": Meaning(
        "{name} means nothing in a JSON merge patch{why}: it would become a field",
        "{remedy}",
        "RFC 7396, section 2",
    ),
    # Of a JSON Patch.
    "invalid-operation": Meaning(
        "{problem}",
        "write an operation with op, path and what else it needs",
        _JSON_PATCH,
    ),
    "invalid-pointer": Meaning(
        "{pointer} is no JSON Pointer: {problem}",
        "begin it with /, and write ~1 for / and ~0 for ~ in a name",
        _POINTER,
    ),
    "unescaped-slash": Meaning(
        "{pointer} goes on below a value of type {type}, which has no members",
        "write ~1 for / in a name: {remedy}",
        _POINTER,
    ),
    "index-without-test": Meaning(
        "{op} goes by the index {index}, which may be another element by then",
        "put a test of the element before it, such as {test}",
        "RFC 6902, section 4.6",
        "warning",
    ),
}


def finding(code: str, path: Path, source: Input, **blanks: str) -> Hazard:
    """Return what was found under a code, with the blanks of its texts filled in."""
    return make_hazard(code, LINT[code], path, source, blanks)
