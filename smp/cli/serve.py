"""``smp serve``: a small Kubernetes API server."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from shlex import quote
from typing import Any

import click

from smp.cli._background import in_background, process_file, stop
from smp.cli._click import option_decorator
from smp.cli._inputs import Inputs
from smp.cli._options import profile_option
from smp.errors import SmpError
from smp.extras import extra_hint
from smp.schema.catalog import kubernetes

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(
    epilog="\b\nExample:\n"
    "  smp serve --store sqlite:objects.db --kubeconfig kubeconfig.yaml --background"
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; others need a token.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8001,
    show_default=True,
    help="0: any free port.",
)
@click.option(
    "--store",
    metavar="URL",
    default="memory:",
    show_default=True,
    help="Where objects are kept: sqlite:PATH, etcd://HOST:PORT or memory:.",
)
@click.option(
    "--processes",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Serve with so many processes on one port, so that more than one processor"
    " works.",
)
@click.option(
    "--kubeconfig", type=_FILE, help="Write a kubeconfig for this server to this file."
)
@click.option(
    "--background",
    is_flag=True,
    help="Return once requests are answered; the server goes on, and logs to"
    " KUBECONFIG.log. Needs --kubeconfig or --pid-file.",
)
@click.option(
    "--stop",
    is_flag=True,
    help="End the server that has the same --kubeconfig or --pid-file.",
)
@click.option(
    "--pid-file",
    type=_FILE,
    help="Have the id of the process in this file while it runs. [default with"
    " --background: KUBECONFIG.pid]",
)
@click.option("--token-file", type=_FILE, help="Ask for the bearer token in this file.")
@click.option("--tls-cert", type=_FILE, help="Serve HTTPS with this certificate (PEM).")
@click.option("--tls-key", type=_FILE, help="The key of the certificate (PEM).")
@click.option(
    "--tls-ca",
    type=_FILE,
    help="Who signed it (PEM), for the kubeconfig. [default: the certificate itself]",
)
@click.option(
    "--kubernetes",
    metavar="VERSION",
    help="Kubernetes version to serve. [default: the newest]",
)
@click.option(
    "--overlay",
    type=_FILE,
    help="Overlay of unions and corrections of built-in kinds and custom resources, on "
    "top of the bundled one.",
)
@option_decorator(profile_option())
@click.option(
    "--on-conflict",
    type=click.Choice(["clear", "error"]),
    default="clear",
    show_default=True,
    help="What to do with a union member that a strategic merge patch sets beside"
    " another choice: clear it with a warning, or refuse the patch.",
)
@click.option(
    "--ratchet/--no-ratchet",
    default=True,
    show_default=True,
    help="Tolerate values that were invalid before and did not change.",
)
@click.option(
    "--feature-gates",
    metavar="NAME=BOOL,...",
    default="",
    help="Switch off APIUnions (unions are not normalized and validated) or "
    "OpenAPIEnums (built-in kinds have no enums). [default: all are on]",
)
@click.option(
    "--seed",
    type=int,
    help="Make uids and other random values the same in each run.",
)
@click.option(
    "--runtime-config",
    metavar="NAME[=BOOL],...",
    default="",
    help="Switch versions of built-in groups on or off: api/beta, api/alpha, api/all,"
    " or GROUP/VERSION. [default: those that are stable are on]",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="warning",
    show_default=True,
    help="What to log, as lines of JSON on standard error; info has every request.",
)
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Serve the Kubernetes API for kubectl and other clients, without a cluster.

    Objects are stored, patched, validated and watched; no controller acts on them. The
    URL is printed once requests are answered. SIGTERM or an interrupt ends the server
    after the requests in flight.
    """
    if not options["background"] and not options["stop"]:
        pid_file: Path | None = options["pid_file"]
        with process_file(pid_file) if pid_file else nullcontext():
            _serve(options, click.echo)
        return

    path = _managed_file(options)
    if options["stop"]:
        click.echo(f"smp: stopped process {stop(path)}")
        return

    # The file is locked by the process that serves.
    def serve(ready: Callable[[str], None]) -> None:
        with process_file(path):
            _serve(options, ready)

    code, text = in_background(serve, path.with_suffix(".log"))
    if not text:
        ctx.exit(code)
    click.echo(text)
    name = f"--pid-file {quote(str(path))}"
    if options["pid_file"] is None:
        name = f"--kubeconfig {quote(str(options['kubeconfig']))}"
    click.echo(f"smp: to stop it: smp serve --stop {name}")


def _managed_file(options: dict[str, Any]) -> Path:
    """Return the file that has the process id of a server in the background."""
    if os.name != "posix":
        raise SmpError("--background and --stop need a POSIX system")
    pid_file: Path | None = options["pid_file"]
    kubeconfig: Path | None = options["kubeconfig"]
    if pid_file is None and kubeconfig is None:
        raise click.UsageError(
            "--background and --stop need --kubeconfig or --pid-file, which name the"
            " server"
        )
    if pid_file is not None:
        return pid_file
    return Path(f"{kubeconfig}.pid")


def _serve(options: dict[str, Any], report: Callable[[str], None]) -> None:
    """Serve until SIGTERM; ``report`` gets a text with the URL when it is ready."""
    server = _import_server("run")
    settings = _import_server("settings")
    _import_server("logs").configure(options["log_level"])

    catalog = kubernetes(options["kubernetes"])
    overlay: dict[str, Any] = {}
    if options["overlay"]:
        overlay = Inputs().document(str(options["overlay"])).value
        # Raises for what is not an overlay.
        catalog.with_overlay(overlay)
    gates = settings.FeatureGates.parse(options["feature_gates"])
    runtime_config = settings.RuntimeConfig.parse(options["runtime_config"])
    token = _read_token(options["token_file"]) if options["token_file"] else ""
    if token and not options["tls_cert"]:
        click.echo(
            "smp: note: kubectl sends a token over HTTPS only (--tls-cert, --tls-key)",
            err=True,
        )
    if token and os.name == "posix" and options["token_file"].stat().st_mode & 0o077:
        click.echo(
            f"smp: note: {options['token_file']} has the token, and is not only for its"
            " owner (chmod 600)",
            err=True,
        )

    def report_url(url: str) -> None:
        report(f"smp: serving Kubernetes {catalog.version} at {url}")

    server.serve(
        settings.Settings(
            token=token,
            catalog=catalog,
            overlay=overlay,
            feature_gates=gates,
            runtime_config=runtime_config,
            profile=options["profile"],
            on_conflict=options["on_conflict"],
            ratchet=options["ratchet"],
            seed=options["seed"],
        ),
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
        processes=options["processes"],
    )


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


def _import_server(module: str) -> Any:
    # Only this command needs the web framework, which is an extra.
    try:
        return import_module(f"smp.server.{module}")
    except ModuleNotFoundError as error:
        raise SmpError(
            f"serving needs the package {error.name!r}",
            code="missing-extra",
            hint=extra_hint("server"),
        ) from None
