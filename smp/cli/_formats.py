"""The layouts that outcomes are printed in, one object after the other."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from smp._values.values import ABSENT, JSON, JSONObject
from smp.cli._changes import ValueChange
from smp.cli._exit_codes import describe
from smp.cli._inputs import Inputs
from smp.cli._object_outcomes import ObjectOutcome, differences
from smp.cli._options import CommandSettings
from smp.cli._outputs import YAML_SEPARATORS, yaml_text
from smp.documents import dump_json
from smp.reports import Layout

if TYPE_CHECKING:
    from smp.managed_fields import PatchRequest


def layout_of(
    settings: CommandSettings, inputs: Inputs, title: str
) -> Layout[ObjectOutcome] | None:
    """Return the layout that is the same for patches and for objects; None for others.

    It is for a reader, or a report with causes.
    """
    if settings.quiet:
        return Layout(lambda _outcome: "")
    if settings.explains:
        from smp.cli import _reports  # noqa: PLC0415  # 20 ms of what smp patch needs not

        return _reports.layout_of_causes(settings, inputs, title)
    if settings.is_for_a_reader:
        from smp.cli import _report  # noqa: PLC0415  # 7 ms, of difflib

        return _report.reader_layout(settings)
    return None


def patch_layout(
    settings: CommandSettings, inputs: Inputs, title: str
) -> Layout[ObjectOutcome]:
    """Return the layout for a command whose result are patches."""
    layout = layout_of(settings, inputs, title)
    if layout is not None:
        return layout
    if settings.output in YAML_SEPARATORS:
        return _patches(settings.output)
    return _RECORDS if settings.output == "json" else _OPERATIONS


def object_layout(
    settings: CommandSettings, inputs: Inputs, title: str, *, has_records: bool = False
) -> Layout[ObjectOutcome]:
    """Return the layout for a command whose result are objects.

    With ``has_records`` JSON is all that is known of each, and not the object alone.
    """
    layout = layout_of(settings, inputs, title)
    if layout is not None:
        return layout
    match settings.output:
        case "yaml" | "kyaml" as output:
            return Layout(
                lambda outcome: yaml_text("", outcome.after, output),
                separator=YAML_SEPARATORS[output],
            )
        case "json" if has_records:
            return _RECORDS
        case "json":
            return Layout(lambda outcome: dump_json(outcome.after) + "\n")
        case "patch":
            return _patches("yaml")
        case "requests":
            return _REQUESTS
        case _:
            return _OPERATIONS


_OPERATIONS: Final[Layout[ObjectOutcome]] = Layout(
    lambda outcome: dump_json(outcome.operations) + "\n"
)


def _patches(output: str) -> Layout[ObjectOutcome]:
    """Return the layout of patches in one of the formats that are YAML."""
    return Layout(partial(_yaml_patch, output), separator=YAML_SEPARATORS[output])


def _yaml_patch(output: str, outcome: ObjectOutcome) -> str:
    # The text of an empty patch would be {}, with a comment that names the object.
    if not outcome.is_patched:
        return ""
    suffix = ""
    if outcome.creates:
        suffix = " (to be created)"
    elif outcome.removes:
        suffix = " (removed)"
    elif outcome.has_other_form:
        suffix = f" ({outcome.media_type}: {outcome.reason})"
    return yaml_text(f"{outcome.label}{suffix}", outcome.patch, output)


def _record(outcome: ObjectOutcome) -> str:
    """Return what is known of an outcome as an object of a JSON list."""
    identity = outcome.identity
    record: JSONObject = {
        "apiVersion": identity.api_version,
        "kind": identity.kind,
        "namespace": identity.namespace,
        "name": identity.name,
        "file": outcome.place,
        "action": outcome.action,
        "patch": outcome.patch,
        "changes": [_change(change) for change in differences(outcome)],
        "warnings": [describe(message) for message in outcome.messages],
    }
    if outcome.has_other_form:
        record["mediaType"] = outcome.media_type
        record["reason"] = outcome.reason
        if outcome.kubectl_patch is not None:
            record["kubectlPatch"] = outcome.kubectl_patch
    if outcome.set_aside:
        record["setAside"] = [
            {"path": str(entry.path), "by": entry.by, "reason": entry.reason}
            for entry in outcome.set_aside
        ]
    if outcome.is_applied:
        record["object"] = outcome.after
    ownership = outcome.ownership
    if ownership is not None:
        conflicts = ownership.conflict_records(outcome.before, outcome.patch)
        record |= {"conflicts": conflicts, "managers": ownership.manager_records()}
    if outcome.requests:
        record["requests"] = [_request(request) for request in outcome.requests]
    return dump_json(record)


def _request(request: PatchRequest) -> JSON:
    return {
        "method": request.method,
        "path": request.path,
        "query": dict(request.query),
        "mediaType": request.media_type,
        "body": request.body,
    }


def _change(change: ValueChange) -> JSON:
    shown: JSONObject = {"path": str(change.path)}
    if change.old is not ABSENT:
        shown["old"] = change.old
    if change.new is not ABSENT:
        shown["new"] = change.new
    if change.is_order:
        shown["order"] = True
    if change.is_rename:
        shown["renamed"] = True
    return shown


_REQUESTS: Final[Layout[ObjectOutcome]] = Layout(
    lambda outcome: ",\n".join(dump_json(_request(each)) for each in outcome.requests),
    "[\n",
    ",\n",
    "\n]\n",
    empty="[]\n",
)
_RECORDS: Final = Layout(
    _record,
    "[\n",
    ",\n",
    "\n]\n",
    empty="[]\n",
    has_warnings=True,
    has_failures=True,
)
