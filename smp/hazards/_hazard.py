"""Hazards as data, and the table of their codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final, Literal, TypeAlias

import msgspec

from smp._values.findings import Finding, Input, Meaning, Origin, Severity
from smp.errors import Option, SmpError
from smp.paths import Path

# What an apply does about hazards.
Policy: TypeAlias = Literal["warn", "error", "repair", "ignore"]
POLICIES: Final[tuple[Policy, ...]] = ("warn", "error", "repair", "ignore")


class Hazard(Finding, frozen=True):
    """A place in an input of an apply at which something else may happen than expected.

    ``code`` is stable, see HAZARDS; ``path`` leads to the place in ``input``.
    ``severity`` is "error" where this apply does harm, "warning" where this one or a
    later one may, and "note" for what is good to know. ``sentence`` stands alone,
    ``remedy`` is an imperative sentence, empty where there is none, and ``rule`` names
    the source of the semantics.
    """

    origin: ClassVar[Origin] = "hazard"
    code: str
    path: Path
    input: Input
    severity: Severity
    sentence: str
    remedy: str
    rule: str

    @property
    def source(self) -> str:
        """Where the semantics are from."""
        return self.rule


class HazardError(SmpError):
    """An apply in whose inputs there are hazards, under the policy "error".

    ``hazards`` has all of them, also the notes, which alone are no error.
    """

    default_code = "hazards"
    status = 422

    def __init__(self, hazards: tuple[Hazard, ...]) -> None:
        serious = [hazard for hazard in hazards if hazard.severity != "note"]
        plural = "s" if len(serious) != 1 else ""
        listing = "".join(f"\n  {hazard} [{hazard.code}]" for hazard in serious)
        super().__init__(
            f"{len(serious)} hazard{plural}{listing}",
            path=serious[0].path,
            hint=serious[0].remedy,
            option=Option(name="hazards", value="warn", effect="applies all the same"),
        )
        self.hazards = hazards


_MERGE_LIST: Final = "Go: strategicpatch.mergeSliceWithoutSpecialElements"
_THREE_WAY: Final = "Go: strategicpatch.CreateThreeWayMergePatch"
_LISTS: Final = "Go: strategicpatch.diffListsOfMaps"
# The hazard itself names the function.
_CONVERSION: Final = "Go: the conversion functions of the type"
_GET_MODIFIED: Final = "Go: k8s.io/kubectl, util.GetModifiedConfiguration"

# The codes that say that several elements of a list have one key.
REPEATED_KEYS: Final = ("ambiguous-key", "duplicate-key")
# By code, with blanks in braces.
HAZARDS: Final[dict[str, Meaning]] = {
    # Keys of elements.
    "duplicate-key": Meaning(
        "{count} elements have the same key {key}: a patch for one of them changes "
        "another one, or deletes all",
        "give each element a key of its own",
        _MERGE_LIST,
        "warning",
    ),
    "duplicate-value": Meaning(
        "the value {key} is in the list {count} times: a patch removes all of them",
        "list each value once",
        "Go: strategicpatch.deleteFromSlice",
        "warning",
    ),
    "ambiguous-key": Meaning(
        "{count} elements have the same patch merge key {key} and differ in "
        "{other_keys}, which a patch does not look at",
        "apply with server-side apply, which identifies elements by all keys",
        _MERGE_LIST,
        "warning",
    ),
    "missing-key": Meaning(
        "the element does not have the patch merge key {key}: no patch can be computed",
        "set {key}",
        "Go: mergepatch.ErrNoMergeKey",
    ),
    "key-changed": Meaning(
        "the manifest has an element with the same {same} and another key, {new}: this "
        "one stays, as it is not in the last-applied configuration",
        "remove the element from the live object, or add it to the last-applied "
        "configuration",
        _LISTS,
        "warning",
    ),
    "deleted-with-duplicate": Meaning(
        "the manifest has this element, and the patch deletes it together with another "
        "one of the same patch merge key",
        "send the whole list",
        "Go: strategicpatch.deleteMatchingEntries",
    ),
    # What others put into live, and the apply takes away.
    "lost-with-list": Meaning(
        "the manifest no longer has the list, so the apply removes all of it, with "
        "what is not in the last-applied configuration: {lost}",
        "keep the list in the manifest, empty where it has no elements",
        _THREE_WAY,
        "warning",
    ),
    "lost-with-object": Meaning(
        "the manifest no longer has the object, so the apply removes all of it, with "
        "what is not in the last-applied configuration: {lost}",
        "keep the object in the manifest, empty where it has no fields",
        _THREE_WAY,
        "warning",
    ),
    "lost-with-element": Meaning(
        "the manifest no longer has the element, so the apply removes all of it, with "
        "what is not in the last-applied configuration: {lost}",
        "",
        _LISTS,
        "note",
    ),
    "lost-by-null": Meaning(
        "null removes all of the value, with what is not in the last-applied "
        "configuration: {lost}",
        "",
        "Go: strategicpatch.mergeMap",
        "note",
    ),
    "lost-in-list": Meaning(
        "the manifest replaces the list as a whole, with what is in neither "
        "configuration: {lost}",
        "put what has to stay into the manifest",
        "Go: strategicpatch.handleSliceDiff, replaceListPatch",
        "warning",
    ),
    "lost-by-replacement": Meaning(
        "the manifest replaces the value as a whole, with what is in neither "
        "configuration: {lost}",
        "put what has to stay into the manifest",
        "Go: strategicpatch.handleMapDiff",
        "warning",
    ),
    "lost-by-retain-keys": Meaning(
        "the apply clears the fields of the object that the manifest does not have, "
        "also those of others: {lost}",
        "put what has to stay into the manifest",
        "Go: strategicpatch.applyRetainKeysDirective",
        "warning",
    ),
    "lost-by-union": Meaning(
        "the manifest sets another member of the union, so this one is cleared, with "
        "what is in neither configuration: {lost}",
        "",
        "KEP-1027, Normalization",
        "warning",
    ),
    "lost-by-ambiguous-key": Meaning(
        "the patch merge key stands for several elements here, and a patch for one of "
        "them changes or deletes what is in neither configuration: {lost}",
        "send the whole list, or use server-side apply, which identifies elements by "
        "all keys",
        _MERGE_LIST,
    ),
    # Nulls and directives in a manifest.
    "null": Meaning(
        "null removes the field from the live object, also where others have set it",
        "leave the field out of the manifest where others may set it",
        "Go: strategicpatch.diffMaps",
        "note",
    ),
    "null-created-differently": Meaning(
        "null removes the field from a live object, and creates the object with "
        "{created}",
        "leave the field out of the manifest",
        "Go: encoding/json, which decodes null to the zero value",
        "warning",
    ),
    "directive-in-object": Meaning(
        "the object has the name of a patch directive: a patch with it is carried out "
        "as a directive, or refused",
        "take it out of the object",
        "Go: strategicpatch.mergeMap",
    ),
    # Fields that a server takes for one another.
    "pair-ignored": Meaning(
        "the manifest sets {other}, and {field} has another value: a server goes by "
        "that one, or refuses the object",
        "set both fields to the same value",
        _CONVERSION,
    ),
    "pair-restored": Meaning(
        "the apply removes {gone}, and a server restores it from {stays}, which stays",
        "set {stays} to null",
        _CONVERSION,
    ),
    "annotation-and-field": Meaning(
        "the object has both the annotation {annotation} and the field {field}: {why}",
        "set one of them",
        "Go: the helper and validation functions of the type",
        "warning",
    ),
    "write-only": Meaning(
        "the manifest no longer has {gone}, and a server stores it as {stays}, which "
        "stays",
        "set {stays} to null",
        "Go: core/v1, Convert_v1_Secret_To_core_Secret",
    ),
    # The last-applied configuration.
    "no-last-applied": Meaning(
        "nothing can be pruned without a last-applied configuration",
        "save it with kubectl apply set-last-applied",
        _THREE_WAY,
        "warning",
    ),
    "foreign-last-applied": Meaning(
        "the last-applied configuration is that of another object: {what}",
        "use the last-applied configuration of this object",
        _GET_MODIFIED,
    ),
    "invalid-last-applied": Meaning(
        "the annotation is not the JSON of an object: kubectl apply fails",
        "save it with kubectl apply set-last-applied",
        "Go: k8s.io/kubectl, util.GetOriginalConfiguration",
    ),
    "rewritten-last-applied": Meaning(
        "the annotation is not in the form in which kubectl writes it: {what}",
        "",
        _GET_MODIFIED,
        "note",
    ),
    "stale-last-applied": Meaning(
        "{what}",
        "use the last-applied configuration that the annotation of the live object has",
        "Go: k8s.io/kubectl, util.GetOriginalConfiguration",
        "warning",
    ),
    "superseded-last-applied": Meaning(
        "{manager} has applied server-side after the annotation was written, so "
        "pruning goes by an old configuration",
        "apply server-side, or save the configuration with kubectl apply "
        "set-last-applied",
        "KEP-555, server-side apply, Upgrading",
        "warning",
    ),
    "hot-loop": Meaning(
        "a server does not store the empty value, and takes it for a change in each "
        "apply: the object gets another resourceVersion and generation every time",
        "leave it out",
        "Go: PrepareForUpdate of the strategy of the kind, reflect.DeepEqual",
        "warning",
    ),
    "oversized-last-applied": Meaning(
        "with the last-applied configuration the annotations are more than {limit} "
        "bytes, and a server refuses that",
        "use server-side apply, or kubectl replace",
        "Go: apimachinery/api/validation, ValidateAnnotationsSize",
    ),
}


def hazard(
    code: str, path: Path, source: Input, *, rule: str = "", **blanks: str
) -> Hazard:
    """Return a hazard of the table, with its blanks filled in.

    A rule that is given counts instead of the one of the table.
    """
    found = make_hazard(code, HAZARDS[code], path, source, blanks)
    return msgspec.structs.replace(found, rule=rule) if rule else found


def make_hazard(
    code: str, meaning: Meaning, path: Path, source: Input, blanks: Mapping[str, str]
) -> Hazard:
    """Return a hazard with a meaning, with the blanks of its texts filled in."""
    return Hazard(
        code,
        path,
        source,
        meaning.severity,
        meaning.sentence.format(**blanks),
        meaning.remedy.format(**blanks),
        meaning.source,
    )


def is_serious(hazards: Iterable[Hazard]) -> bool:
    """Tell whether there are others than notes among hazards."""
    return any(each.severity != "note" for each in hazards)
