"""``smp serve``: a small Kubernetes API server."""

from __future__ import annotations

import os
import secrets
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any, Final

from msgspec.structs import replace

from smp.cli._commands import (
    DONE,
    Command,
    CommandOption,
    import_extra,
    repeatable,
    switch,
    text_option,
)
from smp.cli._errors import UsageError, say
from smp.cli._inputs import Inputs
from smp.cli._options import KUBERNETES_OPTION, profile_option
from smp.cli._outputs import write
from smp.errors import SmpError
from smp.schema.catalog import kubernetes

_import_server: Final = partial(import_extra, what="serving needs", extra="server")
# Seconds for the end of a server in the background, which gives requests 30.
_GRACE: Final = 40.0
_POLL: Final = 0.05


def run_serve(**options: Any) -> int:
    """Serve the Kubernetes API for kubectl and other clients, without a cluster.

    Objects are stored, patched, validated and watched; no controller acts on them. The
    URL is printed once requests are answered. SIGTERM or an interrupt ends the server
    after the requests in flight.
    """
    if not options["background"] and not options["stop"]:
        pid_file: Path | None = options["pid_file"]
        with process_file(pid_file) if pid_file else nullcontext():
            _serve(options, _print_line)
        return DONE

    path = _place_managed_file(options)
    if options["stop"]:
        _print_line(f"smp: stopped process {stop(path)}")
        return DONE

    # The file is locked by the process that serves.
    def serve(ready: Callable[[str], None]) -> None:
        with process_file(path):
            _serve(options, ready)

    code, text = in_background(serve, path.with_suffix(".log"))
    if not text:
        return code
    _print_line(text)
    name = f"--pid-file {quote(str(path))}"
    if options["pid_file"] is None:
        name = f"--kubeconfig {quote(str(options['kubeconfig']))}"
    _print_line(f"smp: to stop it: smp serve --stop {name}")
    return DONE


def _print_line(text: str) -> None:
    write(f"{text}\n")


def _place_managed_file(options: dict[str, Any]) -> Path:
    """Return the file that has the process id of a server in the background."""
    if os.name != "posix":
        raise SmpError("--background and --stop need a POSIX system")
    pid_file: Path | None = options["pid_file"]
    if pid_file is not None:
        return pid_file
    if options["kubeconfig"] is None:
        raise UsageError(
            "--background and --stop need --kubeconfig or --pid-file, which name the"
            " server"
        )
    return Path(f"{options['kubeconfig']}.pid")


def _warn_of_token(options: dict[str, Any]) -> None:
    if not options["tls_cert"]:
        say("note: kubectl sends a token over HTTPS only (--tls-cert, --tls-key)")
    if os.name == "posix" and options["token_file"].stat().st_mode & 0o077:
        say(
            f"note: {options['token_file']} has the token, and is not only for its"
            " owner (chmod 600)"
        )


def _serve(options: dict[str, Any], ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM; ``ready`` gets a text with the URL when it is ready."""
    server = _import_server("smp.server.run")
    settings = _import_server("smp.server.settings")
    _import_server("smp.server.logs").configure(options["log_level"])

    catalog = kubernetes(options["kubernetes"])
    overlay: dict[str, Any] = {}
    if options["overlay"]:
        overlay = Inputs().document(str(options["overlay"])).value
        # Raises for what is not an overlay.
        catalog.with_overlay(overlay)
    gates = settings.FeatureGates.parse(options["feature_gates"])
    runtime_config = settings.RuntimeConfig.parse(options["runtime_config"])
    token = _read_token(options["token_file"]) if options["token_file"] else ""
    if token:
        _warn_of_token(options)
    behaviour = settings.Settings(
        token=token,
        catalog=catalog,
        overlay=overlay,
        feature_gates=gates,
        runtime_config=runtime_config,
        profile=options["profile"],
        on_conflict=options["on_conflict"],
        ratchet=options["ratchet"],
        seed=options["seed"],
        webhooks=dict(options["webhooks"]),
    )
    with TemporaryDirectory(prefix="smp-") as folder:
        if options["background"] and options["kubeconfig"] and not token:
            behaviour = replace(behaviour, token=secrets.token_urlsafe())
            options = _add_certificate(options, Path(folder))

        def report_url(url: str) -> None:
            # The key was read: nobody else is to read it.
            for file in Path(folder).iterdir():
                file.unlink()
            ready(f"smp: serving Kubernetes {catalog.version} at {url}")

        server.serve(
            behaviour,
            settings.Listener(
                host=options["host"],
                port=options["port"],
                certificate=options["tls_cert"],
                key=options["tls_key"],
                authority=options["tls_ca"] or options["tls_cert"],
            ),
            options["store"],
            kubeconfig_path=options["kubeconfig"],
            ready=report_url,
        )


def _add_certificate(options: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return options with a certificate, as kubectl sends a token over HTTPS only."""
    if options["tls_cert"] or options["tls_key"]:
        return options
    write_certificate = _import_server("smp.server.certificate").write_certificate
    certificate, key = write_certificate(folder, options["host"])
    return {**options, "tls_cert": certificate, "tls_key": key}


def _read_webhook(text: str) -> tuple[str, str]:
    service, _, url = text.partition("=")
    if "/" not in service or "://" not in url:
        raise ValueError(f"{text!r} is not NAMESPACE/NAME=URL")
    return service, url


def _read_token(path: Path) -> str:
    # The token becomes part of an HTTP header, which takes printable ASCII.
    token = Inputs().data(str(path)).decode("ascii", "replace").strip()
    if not token or not token.isprintable() or not token.isascii():
        raise SmpError(
            f"no token found in {path}",
            code="invalid-token",
            hint="one line of printable ASCII",
        )
    return token


def _file_path(text: str) -> Path:
    """Return the path of a file. Raises ValueError for that of a directory."""
    path = Path(text)
    if path.is_dir():
        raise ValueError(f"File {text!r} is a directory.")
    return path


_FileOption: Final = partial(CommandOption, metavar="FILE", convert=_file_path)

COMMAND: Final = Command(
    run_serve,
    example="serve --store sqlite:objects.db --kubeconfig kube.yaml --background",
    options=(
        CommandOption(
            "--host", "Address to listen on; others need a token.", default="127.0.0.1"
        ),
        CommandOption(
            "--port",
            "0: any free port.",
            kind="integer",
            minimum=0,
            maximum=65535,
            default=8001,
        ),
        CommandOption(
            "--store",
            "Where objects are kept: sqlite:PATH, etcd://HOST:PORT or memory:.",
            metavar="URL",
            default="memory:",
        ),
        _FileOption("--kubeconfig", "Write a kubeconfig for this server to this file."),
        switch(
            "--background",
            "Return once requests are answered; the server goes on, and logs to "
            "KUBECONFIG.log. Needs --kubeconfig or --pid-file. With --kubeconfig it "
            "asks for a token, and serves HTTPS: both are made, and are in that file.",
        ),
        switch(
            "--stop", "End the server that has the same --kubeconfig or --pid-file."
        ),
        _FileOption(
            "--pid-file",
            "Have the id of the process in this file while it runs. [default with "
            "--background: KUBECONFIG.pid]",
        ),
        _FileOption("--token-file", "Ask for the bearer token in this file."),
        _FileOption("--tls-cert", "Serve HTTPS with this certificate (PEM)."),
        _FileOption("--tls-key", "The key of the certificate (PEM)."),
        _FileOption(
            "--tls-ca",
            "Who signed it (PEM), for the kubeconfig. [default: the certificate "
            "itself]",
        ),
        replace(
            KUBERNETES_OPTION, help="Kubernetes version to serve. [default: the newest]"
        ),
        _FileOption(
            "--overlay",
            "Overlay of unions and corrections of built-in kinds and custom resources, "
            "on top of the bundled one.",
        ),
        profile_option(),
        CommandOption(
            "--on-conflict",
            "What to do with a union member that a request sets beside another "
            "choice: clear it with a warning, or refuse the request.",
            choices=("clear", "error"),
            default="clear",
        ),
        switch(
            "--ratchet",
            "Tolerate values that were invalid before and did not change.",
            opposite="--no-ratchet",
            default=True,
        ),
        text_option(
            "--feature-gates",
            "Switch off APIUnions (unions are not normalized and validated) or "
            "OpenAPIEnums (built-in kinds have no enums). [default: all are on]",
            metavar="NAME=BOOL,...",
        ),
        CommandOption(
            "--seed",
            "Make uids and other random values the same in each run.",
            kind="integer",
        ),
        repeatable(
            "--webhook",
            "Where a service is served that configurations of webhooks name; it may go "
            "on with a path. Repeatable.",
            parameter="webhooks",
            metavar="NAMESPACE/NAME=URL",
            convert=_read_webhook,
        ),
        text_option(
            "--runtime-config",
            "Switch versions of built-in groups on or off: api/beta, api/alpha, "
            "api/all, or GROUP/VERSION. [default: those that are stable are on]",
            metavar="NAME[=BOOL],...",
        ),
        CommandOption(
            "--log-level",
            "What to log, as lines of JSON on standard error; info has every request.",
            choices=("debug", "info", "warning", "error"),
            default="warning",
        ),
    ),
)


@contextmanager
def process_file(path: Path) -> Iterator[None]:
    """Have the id of this process in a file, locked, until the end of the block.

    So a file that is not locked is one that a killed process left behind, and no other
    process that got the same id since is ever stopped. Raises SmpError where a process
    that runs has it, or it cannot be written.
    """
    descriptor = _opened(path, os.O_RDWR | os.O_CREAT)
    try:
        if not _lock(descriptor):
            raise SmpError(
                f"a server is running: process {_content(descriptor)}",
                code="already-running",
                hint=f"smp serve --stop --pid-file {path}",
            )
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def stop(path: Path) -> int:
    """End the process that has its id in a file, and return the id.

    Raises SmpError where no such process runs, or it does not end.
    """
    descriptor = _opened(path, os.O_RDWR)
    try:
        if _lock(descriptor):
            path.unlink(missing_ok=True)
            raise SmpError(
                f"no server is running: {path} was left by one that was killed",
                code="not-running",
            )
        process = int(_content(descriptor))
        os.kill(process, signal.SIGTERM)
        deadline = monotonic() + _GRACE
        while not _lock(descriptor):
            if monotonic() > deadline:
                raise SmpError(
                    f"process {process} does not end",
                    code="not-stopped",
                    hint=f"kill -9 {process}",
                )
            sleep(_POLL)
    finally:
        os.close(descriptor)
    return process


def in_background(
    run: Callable[[Callable[[str], None]], None], log: Path
) -> tuple[int, str]:
    """Run a function in a new process, and wait until it is ready.

    The function gets a callback that it calls with a text once it is ready. Return the
    exit code, which is 0, and the text. Where the function ends before it is ready, as
    it does with an error that it has printed, the text is empty. In the new process
    this function does not return before the other function does.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        with os.fdopen(reading) as stream:
            text = stream.read()
        if text:
            return 0, text
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status), ""

    os.close(reading)

    def ready(text: str) -> None:
        # From now on it belongs to no terminal, and an error is in the log.
        os.setsid()
        errors = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream, target in ((0, nowhere), (1, nowhere), (2, errors)):
            os.dup2(target, stream)
        os.write(writing, text.encode())
        os.close(writing)

    run(ready)
    sys.exit(0)


def _opened(path: Path, flags: int) -> int:
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        if flags & os.O_CREAT:
            raise SmpError(
                f"cannot write {path}: there is no directory {path.parent}",
                code="unwritable",
            ) from None
        raise SmpError(
            f"no server is running: there is no file {path}", code="not-running"
        ) from None
    except OSError as error:
        raise SmpError(
            f"cannot open {path}: {error.strerror}", code="unwritable"
        ) from None


def _content(descriptor: int) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.read(descriptor, 32).decode().strip()


def _lock(descriptor: int) -> bool:
    """Lock a file for this process; False where another process has it locked."""
    import fcntl  # noqa: PLC0415  # only POSIX has it, as only it has fork()

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
