"""Causes and remedies, as data."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Literal, TypeAlias

import msgspec

from smp._values.findings import Finding, Origin, Severity
from smp.paths import Path
from smp.schema.model import AnyType, Schema

Input: TypeAlias = Literal["manifest", "last-applied"]
# kubectl apply, with --server-side, with --server-side --force-conflicts; and kubectl
# replace.
Way: TypeAlias = Literal["apply", "server-side", "forced server-side", "replace"]


class Evidence(msgspec.Struct, frozen=True):
    """A fact that a cause rests on: what it is about, and the value there."""

    about: str
    value: Any


class Edit(msgspec.Struct, frozen=True):
    """An edit of an input of the apply: the value at a path, or ABSENT to leave it out.

    An element of a list in the path is found by its key, and added where it is missing.
    """

    input: Input
    path: Path
    value: Any


class Remedy(msgspec.Struct, frozen=True):
    """How to make the field another value, by the smallest edit that was found.

    ``edits`` are those of the inputs, ``way`` is the way to apply them; where that is
    not "apply", the inputs stay as they are. ``wanted`` is the value that the field has
    after it. The engine was run with the edits, in that way: they lead to that.
    """

    sentence: str
    edits: tuple[Edit, ...]
    wanted: Any
    way: Way = "apply"

    def __str__(self) -> str:
        return self.sentence


class Cause(Finding, frozen=True):
    """Why a path is in the result what it is.

    ``code`` is stable, see CAUSES; ``sentence`` stands alone. ``before`` and ``after``
    are the values in the live object and in the result. ``rule`` names the source of
    the semantics. ``evidence`` are the values of the other inputs at the path, and what
    else is known of it; ``remedy`` is None where none is proved. ``hazard`` is the
    code of the hazard by which a value is lost, see smp.find_hazards, or empty.
    """

    origin: ClassVar[Origin] = "cause"
    path: Path
    code: str
    sentence: str
    before: Any
    after: Any
    rule: str
    evidence: tuple[Evidence, ...]
    remedy: Remedy | None = None
    hazard: str = ""
    severity: Severity = "none"

    @property
    def source(self) -> str:
        """Where the semantics are from."""
        return self.rule


class Reason(msgspec.Struct, frozen=True):
    """What a cause says, with blanks in braces, and the source of the semantics."""

    sentence: str
    source: str
    severity: Severity = "none"


_DIFF: Final = "Go: strategicpatch.diffMaps"
_THREE_WAY: Final = "Go: strategicpatch.CreateThreeWayMergePatch"
_TYPED: Final = "Go: encoding/json and the conversion of k8s.io/apimachinery"

# By code. The engine has sentences of its own for unions.
CAUSES: Final[dict[str, Reason]] = {
    "set": Reason("the manifest sets it", _DIFF),
    "overwritten": Reason(
        "the manifest sets it, and it was changed in the live object since the last "
        "apply{by}: that change is lost",
        _DIFF,
        "warning",
    ),
    "overwrites-controller": Reason(
        "the manifest sets it, and {controller} has changed it in the live object{by}: "
        "they overwrite each other",
        _DIFF,
        "warning",
    ),
    "deleted-by-null": Reason("the manifest has null here", _DIFF),
    "pruned": Reason(
        "it is in the last-applied configuration and no longer in the manifest",
        _THREE_WAY,
    ),
    "equal": Reason("the live object has this value already, so it is not sent", _DIFF),
    "already-gone": Reason(
        "it is no longer in the manifest, and no longer in the live object", _THREE_WAY
    ),
    "live-only": Reason(
        "it is neither in the manifest nor in the last-applied configuration, so it "
        "stays",
        _THREE_WAY,
    ),
    "never-applied": Reason(
        "it is not in the manifest, and it cannot be pruned: {unknown}", _THREE_WAY
    ),
    "owned-by-others": Reason(
        "it belongs to {owners}; it is neither in the manifest nor in the "
        "last-applied configuration, so it stays",
        _THREE_WAY,
    ),
    "server-set": Reason(
        "a server sets it", "Go: rest.BeforeCreate and rest.BeforeUpdate"
    ),
    "server-default": Reason(
        "it is the default that a server fills in where the manifest has nothing",
        "Go: the defaulting functions of the type",
    ),
    "allocated": Reason("{controller} sets it", "Go: the strategy of the resource"),
    "last-applied-annotation": Reason(
        "kubectl apply keeps the last-applied configuration in it",
        "Go: k8s.io/kubectl, util.GetModifiedConfiguration",
    ),
    "retain-keys": Reason(
        "the manifest sets other fields of this object, and $retainKeys clears all "
        "that are not in the manifest",
        "Go: strategicpatch.applyRetainKeysDirective",
        "note",
    ),
    "union": Reason("{why}", "{rule}", "note"),
    "lost-with-parent": Reason(
        "what it is in was removed as a whole: it is in the last-applied "
        "configuration and no longer in the manifest",
        _THREE_WAY,
        "warning",
    ),
    "lost-in-list": Reason(
        "the manifest replaces the list as a whole: the schema has no patch merge key "
        "for it",
        "Go: strategicpatch.handleSliceDiff, replaceListPatch",
        "warning",
    ),
    "lost-by-ambiguous-key": Reason(
        "the patch merge key stands for several elements here",
        "Go: strategicpatch.mergeSliceWithoutSpecialElements",
        "warning",
    ),
    "removed-by-repair": Reason(
        "the manifest has it under another key, and a server does not take both: the "
        "repair removes it",
        "Go: core/validation, validateContainerPorts and ValidateService",
        "warning",
    ),
    "matched-by-key": Reason(
        "this element of the manifest is merged into the live element of the same "
        "patch merge key {key}",
        "Go: strategicpatch.diffListsOfMaps",
    ),
    "element-order": Reason(
        "the elements of the manifest are in its order, the others where they were "
        "among them",
        "Go: strategicpatch.normalizeElementOrder",
    ),
    "unknown-field": Reason(
        "the schema does not know this field, and a server drops it",
        "KEP-2885, server-side field validation",
        "error",
    ),
    "nulls": Reason(
        "the manifest has null inside, and a patch does not store null",
        "Go: strategicpatch.mergeMap",
    ),
    "zero-value": Reason(
        "it is a zero value, which a server does not store in this field",
        _TYPED,
        "note",
    ),
    "canonical": Reason("a server stores the value in this form", _TYPED),
    "filled-in": Reason(
        "a server fills it in", "Go: the defaulting functions of the type"
    ),
    "repeated-key": Reason(
        "several elements have this patch merge key, and a patch merges elements of "
        "one key into one",
        "Go: strategicpatch.mergeSliceWithoutSpecialElements",
        "error",
    ),
    "deleted-by-repeated-key": Reason(
        "several elements have this patch merge key, and to remove one of them removes "
        "all",
        "Go: strategicpatch.deleteMatchingEntries",
        "error",
    ),
    "not-as-asked": Reason(
        "the patch does not lead to what the manifest asks for", _THREE_WAY, "error"
    ),
    "not-pruned": Reason(
        "the patch does not remove it, although it is no longer in the manifest",
        _THREE_WAY,
        "error",
    ),
    "nothing-to-delete": Reason(
        "the manifest has null here, and the live object has nothing", _DIFF
    ),
    "conflict": Reason(
        "it belongs to {owners}, and the manifest has another value: a server-side "
        "apply is refused",
        "Go: structured-merge-diff, merge.Updater.Apply",
    ),
    "changed-by-ambiguous-key": Reason(
        "the patch merge key stands for several elements here: what the manifest sets "
        "in one of them is set in this one",
        "Go: strategicpatch.mergeSliceWithoutSpecialElements",
        "warning",
    ),
}


_LIST_TYPES: Final = (
    "CustomResourceDefinition: x-kubernetes-list-type, x-kubernetes-list-map-keys and "
    "x-kubernetes-map-type"
)
_RFC_7396: Final = "RFC 7396; Go: jsonmergepatch.CreateThreeWayJSONMergePatch"
# Where lists are merged by the list types of a CustomResourceDefinition.
_BY_LIST_TYPES: Final[dict[str, str]] = {
    "lost-in-list": (
        "the manifest replaces the list as a whole: its list type is atomic, or the "
        "definition states none"
    ),
    "matched-by-key": (
        "this element of the manifest is merged into the live element of the same "
        "list-map keys {key}"
    ),
}
# Where no definition says how lists merge.
_WITHOUT_DEFINITION: Final[dict[str, str]] = {
    "lost-in-list": (
        "the manifest replaces the list as a whole: the kind has no schema, so a list "
        "is one value"
    )
}
_STRATEGIC: Final = "Go: strategicpatch."
# The causes of how a list is merged: what changes in its elements has causes below.
ABOUT_LISTS: Final = frozenset({"element-order", "matched-by-key"})


def reason_for(code: str, schema: Schema) -> Reason:
    """Return what a cause says of a kind; custom resources have rules of their own."""
    reason = CAUSES[code]
    # Only what the strategic merge patch decides for built-in kinds is another rule.
    if not reason.source.startswith(_STRATEGIC):
        return reason
    if schema.is_custom:
        sentence = _BY_LIST_TYPES.get(code, reason.sentence)
        return Reason(sentence, _LIST_TYPES, reason.severity)
    if isinstance(schema.type, AnyType):
        sentence = _WITHOUT_DEFINITION.get(code, reason.sentence)
        return Reason(sentence, _RFC_7396, reason.severity)
    return reason
