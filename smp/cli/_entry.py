"""The entry point: print the version at once, or load the commands and run one."""

# What loads in no time, until interrupts end the process without a traceback: the
# module signal would first load enum.
import _signal  # type: ignore[import-not-found]  # without stubs
import sys

from smp.cli._version import version_line

_OBJECTS_UNTIL_COLLECTION = 50_000


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code.

    2 is an error, 130 an interrupt, 141 a closed pipe; the help of a command says what
    else it returns.
    """
    if argv is None:
        # An interrupt ends the process as it ends other commands, also while modules
        # are imported. A server that has to stop in order has a handler of its own.
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    arguments = sys.argv[1:] if argv is None else argv
    # With KUBECTL_EXTERNAL_DIFF="smp diff", kubectl calls smp with its two directories
    # and then "diff" (Go: k8s.io/kubectl, pkg/cmd/diff, DiffProgram.getCommand).
    if arguments[2:3] == ["diff"] and "LIVE-" in arguments[0]:
        arguments = ["diff", *arguments[:2], *arguments[3:]]
        if argv is None:
            sys.argv[1:] = arguments
        else:
            argv = arguments
    # Loading more to print the version would take longer than all the rest.
    if arguments == ["--version"]:
        try:
            sys.stdout.write(f"{version_line()}\n")
            sys.stdout.flush()
        except (AttributeError, OSError):
            pass  # Standard output is closed, which the commands know how to handle.
        else:
            return 0

    import gc  # noqa: PLC0415  # only where a command runs
    from importlib import import_module  # noqa: PLC0415  # it loads after interrupts are handled

    if argv is None:
        # Collections look at all modules, which are never garbage, and values of JSON
        # have no cycles. At the usual 700 new objects they take a tenth of the time of
        # a small command, and more of a large one.
        gc.set_threshold(_OBJECTS_UNTIL_COLLECTION)
    code: int = import_module("smp.cli._endings").run(argv)
    # Without arguments of a caller the process ends now. A last garbage collection of
    # all that was imported would take 13 of the 160 ms of a small `smp apply`.
    if argv is None:
        gc.freeze()
    return code


def main_diff() -> int:
    """Run ``smp diff``, as a command of its own.

    kubectl starts its external diff with the two directories behind the name of the
    command, and the options of KUBECTL_EXTERNAL_DIFF behind these.
    """
    sys.argv.insert(1, "diff")
    return main()
