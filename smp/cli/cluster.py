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
)
from smp.cli._cluster_options import (
    CONNECTION,
    DELETION,
    DRY_RUN,
    FILES,
    MERGE,
    SHOWN,
    TOOLING,
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
    settings_of,
    show_failures,
    show_requests,
    show_warnings,
)
from smp.cli._commands import Argument, Command, CommandGroup, CommandOption, switch
from smp.cli._errors import CommandFailure, UsageError, printable, report
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
from smp.cli._selection import select_by
from smp.cluster import Cluster, Waited
from smp.errors import DocumentError

# kubectl has 1 for all errors, but for those of diff, where 1 says that there are
# differences.
_ERROR: Final = 1
# The options of an apply that are keywords of the library.
_WRITING: Final = (
    *("dry_run", "strict", "force", "validate", "order", "grace_period", "timeout"),
)


def apply_manifests(**options: Any) -> int:
    """Apply manifests to the cluster, as kubectl apply does.

    The requests are those of kubectl. Before the first write all objects are read, and
    what becomes of each is computed: its patch, its result and its hazards.
    """
    manifests = read_manifests(options)
    keywords = merge_keywords(options, manifests)
    # Go: ApplyOptions.Run.
    if not manifests.objects and not manifests.inputs.problems:
        raise DocumentError("no objects passed to apply", code="no-objects")
    # Lines are printed as the objects are done: a run that is cut has said what it
    # did. kubectl prints objects at the end (Go: PrintAndPrunePostProcessor).
    output = options["output"]
    line_of = None
    if output in (None, "name"):
        suffix = SUFFIXES[options["dry_run"]]
        line_of = partial(apply_line, suffix=suffix, only_name=output == "name")
    line = ProgressLine(line_of)
    with InterruptNotice(line.interrupted):
        keywords |= {name: options[name] for name in _WRITING}
        done = connected(options, line).apply(
            manifests.objects,
            **keywords,
            cascade=options["cascade"].capitalize(),
            wait=options["timeout"] if options["wait"] else None,
        )
    line.clear()
    # Reports have the warnings and the errors.
    results: list[Any] = [*done.results]
    if options["report_format"] or output in READER_OUTPUTS:
        settings = settings_of(options)
        print_report(manifests, results, settings, "smp cluster apply")
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


def print_live(**options: Any) -> int:
    """Print live objects: those of manifests, or of a RESOURCE with NAMES.

    RESOURCE is a name such as deploy or deployments.apps, several ones with commas
    between them, or deploy/web with the name of an object.
    """
    resource = options["resource"]
    has_files = bool(options["paths"] or options["kustomizations"])
    if has_files == (resource is not None):
        raise UsageError("give either a RESOURCE, or manifests: -f FILE, -k DIR")
    cluster = connected(options)
    missing: list[str] = []
    failed = False
    found: list[JSONObject] = []
    if resource is None:
        manifests = read_manifests(options)
        lives = cluster.get_all(manifests.objects)
        for live, entry in zip(lives, manifests.entries, strict=True):
            if live is None:
                missing.append(entry.label)
            else:
                found.append(live)
        failed = show_failures(manifests, [])
    else:
        found, missing = _list_named(cluster, resource, options)
    for label in missing:
        report(printable(f"smp: error: {label}: not found"))
    # kubectl get leaves them out as well (Go: printers.OmitManagedFieldsPrinter).
    if not options["show_managed_fields"]:
        found = [drop_managed_fields(obj) for obj in found]
    if options["output"] == "name":
        for obj in found:
            # Go: printers.NamePrinter.
            identity = identity_of(obj)
            group, kind = identity.group_kind
            write(f"{f'{kind}.{group}'.lower().rstrip('.')}/{identity.name}\n")
    elif found or not missing:
        print_objects(found, options["output"])
    return _ERROR if failed or missing else 0


def _list_named(
    cluster: Cluster, resource: str, options: dict[str, Any]
) -> tuple[list[JSONObject], list[str]]:
    """Return the objects of a resource that are asked for, and those not found."""
    found: list[JSONObject] = []
    missing: list[str] = []
    select_by(options["selector"])
    for named, names in _named([resource, *options["names"]]):
        listed = cluster.list_objects(
            named,
            namespace="" if options["all_namespaces"] else None,
            selector=options["selector"],
        )
        # One list is one request, for any number of names.
        by_name = {identity_of(obj).name: obj for obj in listed}
        missing += [f"{named} {name}" for name in names if name not in by_name]
        found += [by_name[name] for name in names if name in by_name]
        if not names:
            found += listed
    return found, missing


def _named(arguments: list[str]) -> list[tuple[str, list[str]]]:
    """Return the resources of the arguments, each with names. Raises UsageError."""
    # Go: resource.Builder.ResourceTypeOrNameArgs, splitResourceTypeName.
    if any("/" in argument for argument in arguments):
        pairs = [argument.split("/") for argument in arguments]
        if any(len(pair) != 2 or "" in pair for pair in pairs):  # noqa: PLR2004  # a pair
            raise UsageError("with RESOURCE/NAME, all arguments are of that form")
        return [(resource, [name]) for resource, name in pairs]
    resources = [name for name in arguments[0].split(",") if name]
    return [(resource, arguments[1:]) for resource in resources]


def wait_until_ready(**options: Any) -> int:
    """Wait until objects are ready: what kstatus calls current.

    Their generation is observed, their conditions are met, and the rule of their kind:
    a Deployment has all its replicas, a Job is complete.
    """
    manifests = read_manifests(options)
    line = ProgressLine(ready_line)
    waited = connected(options, line).wait(
        manifests.objects, timeout=options["timeout"]
    )
    line.clear()
    failed = show_failures(manifests, [])
    return 0 if _show_waited(waited) and not failed else _ERROR


def _show_waited(waited: Iterable[Waited]) -> bool:
    """Show what did not become ready; tell whether all did."""
    errors = [each.error for each in waited if each.error is not None]
    for error in errors:
        CommandFailure(error).show()
    return not errors


def delete_objects(**options: Any) -> int:
    """Delete the objects of manifests, as kubectl delete does."""
    manifests = read_manifests(options)
    line = ProgressLine(
        partial(
            delete_line,
            suffix=SUFFIXES[options["dry_run"]],
            only_name=options["output"] == "name",
        )
    )
    with InterruptNotice(line.interrupted):
        done = connected(options, line).delete(
            manifests.objects,
            wait_until_gone=options["wait"],
            dry_run=options["dry_run"],
            cascade=options["cascade"].capitalize(),
            grace_period=options["grace_period"],
            timeout=options["timeout"],
        )
    line.clear()
    # Go: DeleteOptions.DeleteResult.
    if not manifests.objects and not options["output"]:
        write("No resources found\n")
    # Go: DeleteOptions.DeleteResult, which leaves out those with IgnoreNotFound.
    if options["ignore_not_found"]:
        done = [
            each
            for each in done
            if each.error is None or each.error.code != "not-found"
        ]
    return _ERROR if show_failures(manifests, [*done]) else 0


def list_applysets(**options: Any) -> int:
    """List ApplySets, or look whether the one with a NAME is whole.

    A set is whole where its parent object names all kinds and namespaces that have
    members. Members are looked for in all resources of the server.
    """
    is_json = options["output"] == "json"
    name = options["name"]
    cluster = connected(options)
    if name is None:
        if options["repair"]:
            raise UsageError("--repair needs the NAME of an ApplySet")
        namespace = "" if options["all_namespaces"] else None
        print_sets(cluster.applysets(namespace=namespace), is_json=is_json)
        return 0
    if options["repair"]:
        state = cluster.repair_applyset(name, tooling=options["tooling"])
    else:
        state = cluster.verify_applyset(name, tooling=options["tooling"])
    print_set(state, is_json=is_json)
    for problem in state.problems:
        report(printable(f"smp: error: {state.parent}: {problem}"))
    return _ERROR if state.problems else 0


_Declared: Final = partial(
    Command, error=_ERROR, exit_codes="0 done, 1 an error", takes_booleans=True
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
                    help="Unknown fields: an error, a warning, or nothing.",
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
                output_option("yaml", "kyaml", "json", "name", help="What is printed."),
                switch("--show-managed-fields", "Print metadata.managedFields, too."),
            ),
            arguments=(
                Argument("resource", kind="text", is_required=False),
                Argument("names", kind="text", is_required=False, is_repeatable=True),
            ),
        ),
        "wait": _Declared(
            wait_until_ready,
            arguments=(PATHS,),
            example="cluster wait -f new.yaml --timeout 5m",
            exit_codes="0 all are ready, 1 one is not",
            options=(
                *FILES,
                *CONNECTION,
                timeout_option("The longest time to wait.", "30s"),
            ),
        ),
        "delete": _Declared(
            delete_objects,
            arguments=(PATHS,),
            example="cluster delete -f new.yaml --ignore-not-found",
            options=(
                *FILES,
                *CONNECTION,
                DRY_RUN,
                *DELETION,
                switch("--ignore-not-found", "What does not exist is no error."),
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
