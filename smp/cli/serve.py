"""``smp serve``: a small Kubernetes API server."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import click

from smp.cli._inputs import Inputs
from smp.cli._options import profile_option
from smp.errors import SmpError
from smp.schema.catalog import kubernetes
from smp.values import JSON

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(
    epilog="\b\nExample:\n"
    "  smp serve --store sqlite:objects.db --kubeconfig kubeconfig.yaml"
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
    "--kubeconfig", type=_FILE, help="Write a kubeconfig for this server to this file."
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
@profile_option
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
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="warning",
    show_default=True,
    help="What to log, as lines of JSON on standard error; info has every request.",
)
def command(**options: Any) -> None:
    """Serve the Kubernetes API for kubectl and other clients, without a cluster.

    Objects are stored, patched, validated and watched; no controller acts on them. The
    URL is printed once requests are answered. SIGTERM or an interrupt ends the server
    after the requests in flight.
    """
    server = _import_server("run")
    settings = _import_server("settings")
    _import_server("logs").configure(options["log_level"])

    catalog = kubernetes(options["kubernetes"])
    overlay: JSON = {}
    if options["overlay"]:
        overlay = Inputs().document(str(options["overlay"])).value
        # Raises for what is not an overlay.
        catalog.with_overlay(overlay)
    gates = settings.FeatureGates.parse(options["feature_gates"])
    token = _read_token(options["token_file"]) if options["token_file"] else ""
    if token and not options["tls_cert"]:
        click.echo(
            "smp: note: kubectl sends a token over HTTPS only (--tls-cert, --tls-key)",
            err=True,
        )

    def report_url(url: str) -> None:
        click.echo(f"smp: serving Kubernetes {catalog.version} at {url}")

    server.serve(
        settings.Settings(
            token=token,
            catalog=catalog,
            overlay=overlay,
            feature_gates=gates,
            profile=options["profile"],
            on_conflict=options["on_conflict"],
            ratchet=options["ratchet"],
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
            hint="pip install 'strategic-merge-patch[server]'",
        ) from None
