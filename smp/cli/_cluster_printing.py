"""What became of the objects of a cluster: outcomes, lines, objects and reports."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from smp._values.api_objects import set_metadata
from smp._values.values import ABSENT, JSON, JSONObject, as_object
from smp.cli._cluster_inputs import Manifests, connected, merge_keywords, read_manifests
from smp.cli._cluster_options import MergeSettings
from smp.cli._comparing import Comparing
from smp.cli._errors import CommandFailure, inline, printable, report, say
from smp.cli._exit_codes import describe
from smp.cli._formats import patch_layout
from smp.cli._identity import identity_of
from smp.cli._object_outcomes import ObjectOutcome
from smp.cli._objects import Entry, ObjectRow
from smp.cli._options import WITHOUT_SCHEMA, CommandSettings
from smp.cli._outputs import write, write_document, write_json
from smp.cli._run import Work, run
from smp.cli._status_line import StatusLine
from smp.cluster import Applied, Difference, Waited
from smp.cluster.plan.applysets import ApplySetState, Parent
from smp.cluster.plan.exchange import Progress
from smp.cluster.plan.objects import apply_configurations
from smp.custom_resources import STRATEGIC_MERGE_PATCH
from smp.explain import Cause, explain_apply

# What a server counts and writes down for itself; nothing of it is asked for.
_OF_THE_SERVER: Final = (
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)


def show(obj: JSONObject | None) -> JSONObject | None:
    """Return an object without what a server keeps for itself in its metadata."""
    if obj is None:
        return None
    return set_metadata(obj, **dict.fromkeys(_OF_THE_SERVER, ABSENT))


def outcome_of(
    result: Applied | Difference, entry: Entry, settings: CommandSettings
) -> ObjectOutcome:
    """Return the outcome of an object that has no error, with its secrets masked."""
    if isinstance(result, Applied):
        # Of what was pruned there is only what it was.
        after = None if result.action == "pruned" else result.object
        return replace(
            _mask(result, result.before, after, entry, settings),
            warned=result.warnings,
            requests=result.requests,
        )
    return _mask(result, result.live, result.merged, entry, settings)


def _mask(
    result: Applied | Difference,
    before: JSONObject | None,
    after: JSONObject | None,
    entry: Entry,
    settings: CommandSettings,
) -> ObjectOutcome:
    """Return the outcome of an object with masks for what is confidential in it."""
    before, after = show(before), show(after)
    last_applied, configuration = None, result.item.object
    if before is not None:
        last_applied, configuration = apply_configurations(result.item, before)
    patch = result.patch
    # One set of masks for all versions: equal values have equal masks.
    masks = settings.masks(
        {
            "live": before,
            "last-applied": last_applied,
            "manifest": configuration,
            "result": after,
            "patch": patch if isinstance(patch, dict) else None,
        }
    )
    masked_before, masked_last = masks.mask(before), masks.mask(last_applied)
    masked_configuration = masks.mask(configuration)
    schema = result.schema or WITHOUT_SCHEMA
    # Causes are found in masked objects, so that no sentence shows a secret.
    causes: tuple[Cause, ...] = ()
    is_explained = settings.explains and result.schema is not None
    if is_explained and masked_before is not None and after is not None:
        sides = masked_last, masked_configuration, masked_before
        causes = explain_apply(*sides, schema, unknown_fields="merge")
    masked_patch: JSON = masks.mask(patch) if isinstance(patch, dict) else patch
    return ObjectOutcome(
        identity=identity_of(after or before or configuration),
        place=entry.place,
        before=masked_before,
        after=masks.mask(after),
        type_=schema.type,
        patch={} if masked_patch is None else masked_patch,
        media_type=result.media_type or STRATEGIC_MERGE_PATCH,
        last_applied=masked_last,
        configuration=masked_configuration,
        causes=causes,
        hazards=result.hazards,
        entries=(("manifest", entry),) if entry.part is not None else (),
    )


class ProgressLine(StatusLine):
    """What is done, on standard output as it is done, and how far it is.

    How far it is, is shown on a terminal only.
    """

    def __init__(self, line_of: Callable[[Any], str] | None) -> None:
        super().__init__()
        # Reports are printed at the end, and have no lines.
        self._line_of = line_of
        self._total = ""

    def __call__(self, progress: Progress) -> None:
        """Print a line for what is done, if there is one, and how far it is."""
        self.clear()
        if self._line_of is not None and progress.result is not None:
            line = self._line_of(progress.result)
            if line:
                write(f"{line}\n")
                sys.stdout.flush()
        self._total = f"{progress.done} of {progress.total} objects"
        if progress.done < progress.total:
            what = "" if progress.result is not None else f": {progress.what}"
            self.show(f"smp: {self._total}{what}")

    def interrupted(self) -> None:
        """Say what is known where an interrupt ends the run."""
        self.clear()
        # A request may be on its way.
        known = f"{self._total} are done" if self._total else "nothing is done"
        say(f"interrupted: {known}; what was sent last may be done as well")


def apply_line(applied: Applied, *, suffix: str, only_name: bool) -> str:
    """Word what became of an object as kubectl apply prints it; empty for an error."""
    if applied.error is not None:
        return ""
    # Go: printers.NamePrinter.
    if only_name:
        return str(applied).partition(" ")[0]
    return f"{applied}{suffix}"


SUFFIXES: Final = {"none": "", "client": " (dry run)", "server": " (server dry run)"}


def show_warnings(results: Sequence[Applied]) -> None:
    """Print the warnings of results as kubectl does, each one once."""
    texts: dict[str, None] = {}
    for result in results:
        name = str(result).partition(" ")[0]
        # A note is good to know, and no warning.
        for finding in (*result.warnings, *result.hazards):
            if finding.severity != "note":
                texts[f"{name}: {describe(finding)}"] = None
    # Go: rest.warningWriter, which prints each text once as well.
    for text in texts:
        report(printable(f"Warning: {text}"))


def show_requests(results: Sequence[Applied]) -> None:
    """Print the requests that were sent where one alone was refused."""
    for result in results:
        for request in result.requests:
            # The last one is the apply of the manifest.
            body = "" if request is result.requests[-1] else f": {inline(request.body)}"
            say(f"note: {str(result).partition(' ')[0]}: {request}{body}")


def show_failures(manifests: Manifests, results: list[Any]) -> bool:
    """Print the errors of objects with their places; return whether there are any.

    ``results`` are those of the manifests in their order, and then others.
    """
    problems = manifests.inputs.new_problems()
    for index, result in enumerate(results):
        if result.error is None:
            continue
        entry = manifests.entries[index] if index < len(manifests.entries) else None
        label = identity_of(result.item.object).label
        problems.append(CommandFailure(result.error, entry, label))
    for problem in problems:
        problem.show()
    return bool(problems)


def print_report(
    manifests: Manifests,
    results: list[Any],
    settings: CommandSettings,
    title: str,
    comparing: Comparing | None = None,
) -> int:
    """Print results in a format of reports, and return the exit code of a diff.

    What ``comparing`` sets aside is no difference.
    """
    rows = [ObjectRow(entry) for entry in manifests.entries]
    # What is pruned is in no manifest: it comes behind the objects of the manifests.
    for number, result in enumerate(results[len(rows) :], start=len(rows)):
        obj = result.item.object
        entry = Entry(identity_of(obj), "the cluster", 0, number=number)
        rows.append(ObjectRow(entry, is_removed=True))

    def compute(row: ObjectRow) -> ObjectOutcome:
        result = results[row.entry.number]
        if result.error is not None:
            raise CommandFailure(result.error, row.entry, row.entry.label)
        outcome = outcome_of(result, row.entry, settings).add_notes_of(row)
        before, after = outcome.before, outcome.after
        if comparing is None or not before or not after:
            return outcome
        sides, schema = (as_object(before), as_object(after)), result.schema
        found = comparing.verdict(*sides, schema or WITHOUT_SCHEMA, has_live=False)
        return replace(outcome, compared=found.aligned, set_aside=found.set_aside)

    # What is selected is known by now.
    settings = replace(
        settings,
        output=settings.output or "report",
        selector="",
        include_kind=(),
        jobs=1,
    )
    layout = patch_layout(settings, manifests.inputs, title)
    work = Work(compute, layout, is_comparison=True)
    return run(rows, work, manifests.inputs, settings)


def show_diff(cluster: str, settings: MergeSettings) -> int:
    """Ask a server in a dry run what an apply would change; return the exit code.

    It is that of ``smp diff``, as for kubectl diff. With --prune it has the objects
    that would be deleted, also those of an ApplySet.
    """
    context = cluster.partition(":")[2] or settings.context
    settings = replace(settings, context=context)
    manifests = read_manifests(settings)
    comparing = Comparing.of(settings, manifests.inputs)
    keywords = merge_keywords(settings, manifests)
    found = connected(settings).diff(manifests.objects, **keywords)
    return print_report(manifests, [*found], settings, "smp diff", comparing)


def print_objects(objects: list[JSONObject], output: str) -> None:
    """Print objects as kubectl does: several ones are the items of a List."""
    value: JSONObject
    # Go: printers.ListPrinter; one object is printed as it is.
    if len(objects) == 1:
        [value] = objects
    else:
        value = {"apiVersion": "v1", "items": [*objects], "kind": "List"}
    write_document(value, output)


def print_stored(results: Sequence[Applied], output: str) -> None:
    """Print objects as the server has them after an apply."""
    stored = [
        as_object(result.object)
        for result in results
        if result.object is not None and result.action != "pruned"
    ]
    print_objects(stored, output)


def ready_line(waited: Waited) -> str:
    """Word that an object is ready; empty for an error."""
    # Go: WaitOptions.RunWaitContext, which does not see what was never there.
    if waited.error is not None or waited.object is None:
        return ""
    return "\n".join([str(waited)] * max(1, len(waited.conditions)))


def delete_line(deleted: Applied, *, done: str, suffix: str, only_name: bool) -> str:
    """Word a deletion as kubectl delete prints it; empty for an error."""
    # Go: DeleteOptions.PrintObj.
    if deleted.error is not None:
        return ""
    resource = str(deleted).partition("/")[0]
    if only_name:
        return f"{resource}/{deleted.name}"
    # A kind without namespaces has none.
    where = f" from {deleted.namespace} namespace" if deleted.namespace else ""
    return f'{resource} "{deleted.name}" {done}{where}{suffix}'


def print_sets(parents: list[Parent], *, is_json: bool) -> None:
    """Print ApplySets, a line for each."""
    if is_json:
        write_json([[_set_record(each) for each in parents]])
        return
    for each in parents:
        where = f" in {each.namespace}" if each.namespace else ""
        write(f"{printable(f'{each}{where}: {each.tooling}')}\n")


def print_set(state: ApplySetState, *, is_json: bool) -> None:
    """Print an ApplySet with its members."""
    members = [identity_of(obj).label for obj in state.members]
    if is_json:
        kinds = sorted(
            f"{kind}.{group}".rstrip(".") for group, kind in state.scope.kinds
        )
        record: JSONObject = {
            **_set_record(state.parent),
            "kinds": [*kinds],
            "namespaces": [*sorted(state.scope.namespaces)],
            "members": [*members],
            "problems": [*state.problems],
        }
        write_json([record])
        return
    write(f"{printable(str(state.parent))}: {len(members)} members\n")
    for label in members:
        write(f"  {printable(label)}\n")


def _set_record(each: Parent) -> JSONObject:
    return {
        "resource": each.resource.qualified,
        "namespace": each.namespace,
        "name": each.name,
        "id": each.id,
        "tooling": each.tooling,
    }
