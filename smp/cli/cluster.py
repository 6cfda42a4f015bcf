"""``smp cluster``: apply to a live cluster as kubectl does, and look at it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from smp._values.api_objects import drop_managed_fields
from smp._values.values import JSONObject
from smp.cli._cluster_inputs import (
    connected,
    merge_keywords,
    read_manifests,
    read_objects,
)
from smp.cli._cluster_options import (
    CONNECTION,
    DELETION,
    DRY_RUN,
    FILES,
    MERGE,
    SHOWN,
    TOOLING,
    ClusterSettings,
    print_option,
    timeout_option,
)
from smp.cli._cluster_printing import (
    SUFFIXES,
    ProgressLine,
    apply_line,
    delete_line,
    print_objects,
    print_report,
    print_set,
    print_sets,
    print_stored,
    ready_line,
    show_failures,
    show_requests,
    show_warnings,
)
from smp.cli._commands import (
    Argument,
    Command,
    CommandGroup,
    CommandOption,
    repeatable,
    switch,
)
from smp.cli._errors import CommandFailure, UsageError, report, say
from smp.cli._identity import identity_of
from smp.cli._interrupts import InterruptNotice
from smp.cli._options import (
    ALL_NAMESPACES,
    PATHS,
    READER_OUTPUTS,
    REPORT_FORMATS,
    VALIDATE_OPTION,
    format_option,
    output_option,
)
from smp.cli._outputs import YAML_SEPARATORS, write
from smp.cluster import Waited
from smp.errors import DocumentError

# kubectl has 1 for all errors, but for those of diff, where 1 says that there are
# differences.
_ERROR: Final = 1
# The options of an apply that are keywords of the library.
_WRITING: Final = (
    *("dry_run", "strict", "force", "validate", "order", "grace_period", "timeout"),
)


def apply_manifests(settings: ClusterSettings) -> int:
    """Apply manifests to the cluster, as kubectl apply does.

    The requests are those of kubectl. Before the first write all objects are read, and
    what becomes of each is computed: its patch, its result and its hazards.
    """
    manifests = read_manifests(settings)
    keywords = merge_keywords(settings, manifests)
    # Go: ApplyOptions.Run.
    if not manifests.objects and not manifests.inputs.problems:
        raise DocumentError("no objects passed to apply", code="no-objects")
    # Lines are printed as the objects are done: a run that is cut has said what it
    # did. kubectl prints objects at the end (Go: PrintAndPrunePostProcessor).
    output = settings.output
    line_of = None
    if output in ("", "name"):
        suffix = SUFFIXES[settings.dry_run]
        line_of = partial(apply_line, suffix=suffix, only_name=output == "name")
    line = ProgressLine(line_of)
    with InterruptNotice(line.interrupted):
        keywords |= {name: getattr(settings, name) for name in _WRITING}
        done = connected(settings, line).apply(
            manifests.objects,
            **keywords,
            cascade=settings.propagation,
            wait=settings.timeout if settings.wait else None,
        )
    line.clear()
    # Reports have the warnings and the errors.
    results: list[Any] = [*done.results]
    if settings.report_format or output in READER_OUTPUTS:
        # A warning is no failure of kubectl.
        lenient = replace(settings, strict=False)
        print_report(manifests, results, lenient, "smp cluster apply")
        failed = bool(done.errors) or bool(manifests.inputs.new_problems())
    else:
        show_warnings(done.results)
        if output in ("json", *YAML_SEPARATORS):
            print_stored(done.results, output)
        failed = show_failures(manifests, results)
    show_requests(done.results)
    if done.stopped:
        report("smp: nothing was written")
    # What does not become ready was applied all the same.
    is_ready = _show_waited(done.waited)
    return 0 if is_ready and not failed else _ERROR


def print_live(settings: ClusterSettings) -> int:
    """Print live objects: those of manifests, or of a RESOURCE with NAMES.

    RESOURCE is a name such as deploy or deployments.apps, several ones with commas
    between them, or deploy/web with the name of an object.
    """
    cluster = connected(settings)
    asked = read_objects(settings, cluster, is_live=True)
    found: list[JSONObject] = [*asked.objects]
    missing: list[str] = []
    if not asked.is_live:
        lives = cluster.get_all(asked.objects)
        pairs = [*zip(asked.objects, lives, strict=True)]
        found = [live for _, live in pairs if live is not None]
        missing = [identity_of(obj).label for obj, live in pairs if live is None]
    failed = show_failures(asked, [])
    if settings.ignore_not_found:
        missing = []
        # Go: GetOptions.printGeneric.
        if not found:
            return _ERROR if failed else 0
    for label in missing:
        say(f"error: {label}: not found")
    # kubectl get leaves them out as well (Go: printers.OmitManagedFieldsPrinter).
    if not settings.show_managed_fields:
        found = [drop_managed_fields(obj) for obj in found]
    if settings.output == "name":
        for obj in found:
            # Go: printers.NamePrinter.
            identity = identity_of(obj)
            group, kind = identity.group_kind
            write(f"{f'{kind}.{group}'.lower().rstrip('.')}/{identity.name}\n")
    elif found or not missing:
        print_objects(found, settings.output)
    return _ERROR if failed or missing else 0


def wait_until_ready(settings: ClusterSettings) -> int:
    """Wait until objects are ready, or meet the conditions of --for.

    Ready is what kstatus calls current: their generation is observed, their conditions
    are met, and the rule of their kind: a Deployment has all its replicas, a Job is
    complete. The objects are those of manifests, or of a RESOURCE with NAMES.
    """
    conditions = settings.conditions
    line = ProgressLine(ready_line)
    cluster = connected(settings, line)
    manifests = read_objects(settings, cluster)
    waited = cluster.wait(
        manifests.objects, timeout=settings.timeout, conditions=conditions
    )
    line.clear()
    failed = show_failures(manifests, [])
    # Go: WaitOptions.RunWaitContext.
    if not waited and "delete" not in conditions:
        raise DocumentError("no matching resources found", code="no-objects")
    return 0 if _show_waited(waited) and not failed else _ERROR


def _show_waited(waited: Iterable[Waited]) -> bool:
    """Show what did not become ready; tell whether all did."""
    errors = [each.error for each in waited if each.error is not None]
    for error in errors:
        CommandFailure(error).show()
    return not errors


def delete_objects(settings: ClusterSettings) -> int:
    """Delete objects of manifests, or a RESOURCE with NAMES, as kubectl does."""
    line = ProgressLine(
        partial(
            delete_line,
            done="force deleted" if settings.force else "deleted",
            suffix=SUFFIXES[settings.dry_run],
            only_name=settings.output == "name",
        )
    )
    cluster = connected(settings, line)
    manifests = read_objects(settings, cluster)
    grace_period = _grace_period_of(settings)
    with InterruptNotice(line.interrupted):
        done = cluster.delete(
            manifests.objects,
            wait_until_gone=settings.wait,
            dry_run=settings.dry_run,
            cascade=settings.propagation,
            grace_period=grace_period,
            timeout=settings.timeout,
        )
    line.clear()
    # Go: DeleteOptions.DeleteResult.
    if not manifests.objects and not settings.output:
        write("No resources found\n")
    # Go: DeleteOptions.Complete and DeleteResult, which leave out those that are not
    # found. What is listed may go before it is deleted.
    if settings.ignore_not_found or settings.all or settings.selector:
        done = [
            each
            for each in done
            if each.error is None or each.error.code != "not-found"
        ]
    return _ERROR if show_failures(manifests, [*done]) else 0


def _grace_period_of(settings: ClusterSettings) -> int | None:
    """Return the seconds to end in (Go: DeleteOptions.Complete and Validate)."""
    seconds: int | None = settings.grace_period
    if settings.now:
        if seconds is not None:
            raise UsageError("--now and --grace-period ask for different times")
        return 1
    if settings.force:
        if seconds:
            raise UsageError("--force is a --grace-period of 0")
        return 0
    # Go: "prevent accidental data loss": only --force ends an object without notice.
    return 1 if seconds == 0 else seconds


def list_applysets(settings: ClusterSettings) -> int:
    """List ApplySets, or look whether the one with a NAME is whole.

    A set is whole where its parent object names all kinds and namespaces that have
    members. Members are looked for in all resources of the server.
    """
    is_json = settings.output == "json"
    name = settings.name
    cluster = connected(settings)
    if name is None:
        if settings.repair:
            raise UsageError("--repair needs the NAME of an ApplySet")
        namespace = "" if settings.all_namespaces else None
        print_sets(cluster.applysets(namespace=namespace), is_json=is_json)
        return 0
    if settings.repair:
        state = cluster.repair_applyset(name, tooling=settings.tooling)
    else:
        state = cluster.verify_applyset(name, tooling=settings.tooling)
    print_set(state, is_json=is_json)
    for problem in state.problems:
        say(f"error: {state.parent}: {problem}")
    return _ERROR if state.problems else 0


_NAMES: Final = Argument(
    "names",
    kind="text",
    metavar="[RESOURCE] [NAMES]...",
    is_required=False,
    is_repeatable=True,
)
# Go: k8s.io/cli-runtime/pkg/genericclioptions, ResourceBuilderFlags.
_ALL: Final = switch("--all", "All objects of a RESOURCE without NAMES.")
_IGNORE_NOT_FOUND: Final = switch(
    "--ignore-not-found", "What does not exist is no error."
)
_Declared: Final = partial(
    Command,
    settings=ClusterSettings,
    error=_ERROR,
    exit_codes="0 done, 1 an error",
    takes_booleans=True,
)
COMMAND: Final = CommandGroup(
    """Apply to a live cluster as kubectl does, and look at what is there.

    The options are those of kubectl, where it has them. The cluster is that of the
    current context of the configuration of kubectl.
    """,
    example="cluster apply -f new.yaml --server-side",
    commands={
        "apply": _Declared(
            apply_manifests,
            arguments=(PATHS,),
            example="cluster apply -f new.yaml --hazards repair",
            options=(
                *FILES,
                *CONNECTION,
                *MERGE,
                DRY_RUN,
                switch(
                    "--strict",
                    "Write nothing where an object would not become what its manifest "
                    "asks for, would be refused, or has a hazard.",
                ),
                switch(
                    "--force", "Delete and create an object that cannot be changed."
                ),
                replace(
                    VALIDATE_OPTION,
                    help="Unknown fields, which a server drops: an error, a warning, "
                    "or nothing.",
                    choices=("strict", "warn", "ignore"),
                    # What a repository keeps in files, a server does not.
                    synonyms={**VALIDATE_OPTION.synonyms, "keep": "warn"},
                    default="strict",
                ),
                CommandOption(
                    "--order",
                    "Namespaces and CustomResourceDefinitions first, or as given, as "
                    "in kubectl.",
                    choices=("kind", "given"),
                    default="kind",
                ),
                *DELETION,
                switch("--wait", "Wait until the objects are ready."),
                timeout_option(
                    "The longest time for --wait, and for a deletion of --force.", "5m"
                ),
                print_option("name", "yaml", "kyaml", "json", *READER_OUTPUTS),
                format_option(*REPORT_FORMATS),
                *SHOWN,
            ),
        ),
        "get": _Declared(
            print_live,
            example="cluster get deploy -o json",
            options=(
                *FILES,
                *CONNECTION,
                ALL_NAMESPACES,
                _IGNORE_NOT_FOUND,
                output_option("yaml", "kyaml", "json", "name", help="What is printed."),
                switch("--show-managed-fields", "Print metadata.managedFields, too."),
            ),
            arguments=(_NAMES,),
        ),
        "wait": _Declared(
            wait_until_ready,
            arguments=(_NAMES,),
            example="cluster wait deploy/web --for condition=Available",
            exit_codes="0 all are ready, 1 one is not",
            options=(
                *FILES,
                *CONNECTION,
                _ALL,
                ALL_NAMESPACES,
                repeatable(
                    "--for",
                    "In place of ready: create, delete, condition=NAME[=STATUS], or "
                    "jsonpath={.PATH}[=VALUE]. Repeatable.",
                    parameter="conditions",
                    metavar="CONDITION",
                ),
                timeout_option("The longest time to wait; 0: look once.", "30s"),
            ),
        ),
        "delete": _Declared(
            delete_objects,
            arguments=(_NAMES,),
            example="cluster delete -f new.yaml --ignore-not-found",
            options=(
                *FILES,
                *CONNECTION,
                DRY_RUN,
                *DELETION,
                _ALL,
                ALL_NAMESPACES,
                _IGNORE_NOT_FOUND,
                switch("--now", "End at once: a grace period of one second."),
                switch("--force", "End at once, without a grace period."),
                switch(
                    "--wait",
                    "Wait until the objects are gone.",
                    opposite="--no-wait",
                    default=True,
                ),
                timeout_option("The longest time to wait for one object.", "5m"),
                print_option("name"),
            ),
        ),
        "applysets": _Declared(
            list_applysets,
            example="cluster applysets -A",
            exit_codes="0 the set is whole, 1 it is not, or an error",
            options=(
                *CONNECTION,
                ALL_NAMESPACES,
                switch(
                    "--repair",
                    "Have the parent object name exactly the kinds and namespaces of "
                    "the members.",
                ),
                TOOLING,
                output_option("text", "json", help="What is printed."),
            ),
            arguments=(Argument("name", kind="text", is_required=False),),
        ),
    },
)
