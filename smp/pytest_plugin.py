"""Runs spec cases as tests, and has fixtures of an API server.

A spec case is an item; they are in directories with case.schema.json.

Other directories count when the option ``smp_cases`` of the configuration or
``--smp-cases DIR`` names them. ``--smp-update`` rewrites what failing cases expect,
except where the variable CI is set.

The fixture ``kubernetes_api`` is a ``smp.testing.KubernetesApi``, one a session, and
``kubernetes_api_server`` the same one for other fixtures of the session. By the option
``kubernetes_api_isolation``, or ``isolation`` of the marker ``kubernetes_api``, each
test leaves the store as it was (``store``, the default), or has a new namespace
(``namespace``), or neither (``none``).

Every run of pytest imports this module, so it imports nothing but pytest and the
standard library until there is a case file or a fixture is used.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from smp._values.extras import extra_hint

if TYPE_CHECKING:
    from smp.cases.pytest_items import CaseFile

_DIRECTORIES: Final = pytest.StashKey[tuple[Path, ...]]()
_UPDATED: Final = pytest.StashKey[list[str]]()
_ISOLATION: Final = "kubernetes_api_isolation"
# By isolation, the context manager of the KubernetesApi around a test.
_CONTEXTS: Final = {"store": "unchanged", "namespace": "in_namespace", "none": "alone"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("smp", "strategic merge patch: spec cases")
    group.addoption(
        "--smp-cases",
        metavar="DIR",
        action="append",
        default=[],
        help="run the spec cases in DIR (repeatable)",
    )
    group.addoption(
        "--smp-update",
        action="store_true",
        help="make failing spec cases expect what happens",
    )
    parser.addini(
        "smp_cases",
        "directories of spec cases, in addition to those with a case.schema.json",
        type="paths",
    )
    parser.addini(
        _ISOLATION,
        "what the fixture kubernetes_api gives each test: store, namespace or none",
        default="store",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Note which directories hold spec cases; collect those of the command line."""
    config.addinivalue_line(
        "markers",
        "kubernetes_api(isolation): what the fixture kubernetes_api gives this test:"
        " store, namespace or none",
    )
    named = [_absolute(config, name) for name in config.getoption("--smp-cases")]
    for directory in named:
        if not directory.is_dir():
            raise pytest.UsageError(f"--smp-cases: {directory} is not a directory")
    # A directory below another argument is collected already.
    arguments = [_absolute(config, arg.partition("::")[0]) for arg in config.args]
    for directory in named:
        if not any(directory.is_relative_to(argument) for argument in arguments):
            config.args.append(str(directory))
    config.stash[_DIRECTORIES] = (*config.getini("smp_cases"), *named)
    config.stash[_UPDATED] = []

    if not config.getoption("--smp-update"):
        return
    # A CI job that changes what is expected would always pass.
    if os.environ.get("CI"):
        raise pytest.UsageError(
            "--smp-update changes what is expected, and the variable CI is set"
        )
    # Each process would overwrite what the others updated in the same file.
    if config.getoption("numprocesses", None):
        raise pytest.UsageError(
            "--smp-update rewrites files: it needs a single process (-n 0)"
        )


def _absolute(config: pytest.Config, name: str) -> Path:
    """Return the path that a name of the command line stands for, without ``..``."""
    path = config.invocation_params.dir / name
    return Path(os.path.abspath(path))  # noqa: PTH100  # resolve() follows links


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> CaseFile | None:
    """Collect a file of spec cases."""
    # These names are repeated from smp.cases, which is not imported here; a test
    # compares them.
    if (
        file_path.suffix not in (".yaml", ".json")
        or file_path.name == "case.schema.json"
    ):
        return None
    named = parent.config.stash[_DIRECTORIES]
    is_named = any(file_path.is_relative_to(directory) for directory in named)
    if not is_named and not _has_schema(file_path.parent):
        return None
    from smp.cases.pytest_items import CaseFile  # noqa: PLC0415  # see above

    updated = parent.config.stash[_UPDATED]
    return CaseFile.from_parent(parent, path=file_path, updated=updated)


@cache
def _has_schema(directory: Path) -> bool:
    """Tell whether a directory, or one above it, holds the schema of spec cases.

    The schema is recognized by its identifier: others may call a file so, too.
    """
    try:
        schema = json.loads((directory / "case.schema.json").read_bytes())
    except (OSError, ValueError):
        return directory.parent != directory and _has_schema(directory.parent)
    return (
        isinstance(schema, dict)
        and schema.get("$id") == "urn:strategic-merge-patch:spec-case:1"
    )


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """List the cases that were updated."""
    updated = config.stash[_UPDATED]
    if updated:
        terminalreporter.section("spec cases updated: read them before you commit them")
        terminalreporter.write("".join(f"{nodeid}\n" for nodeid in updated))


@pytest.fixture(scope="session")
def kubernetes_api_server() -> Iterator[Any]:
    """Start an API server for the session: a smp.testing.KubernetesApi."""
    # With pytest-xdist each worker has a session, so a server and a port of its own.
    try:
        testing = import_module("smp.testing")
    except ModuleNotFoundError as error:
        pytest.fail(
            f"the fixture kubernetes_api needs the package {error.name!r}: "
            f"{extra_hint('server')}",
            pytrace=False,
        )
    with testing.KubernetesApi() as api:
        yield api


@pytest.fixture
def kubernetes_api(
    request: pytest.FixtureRequest, kubernetes_api_server: Any
) -> Iterator[Any]:
    """Give a test the API server of the session, without what others left in it."""
    isolation = request.config.getini(_ISOLATION)
    marker = request.node.get_closest_marker("kubernetes_api")
    if marker:
        isolation = marker.kwargs.get("isolation", isolation)
    if isolation not in _CONTEXTS:
        raise pytest.UsageError(
            f"{_ISOLATION} is {isolation!r}; known are {', '.join(_CONTEXTS)}"
        )
    with getattr(kubernetes_api_server, _CONTEXTS[isolation])():
        yield kubernetes_api_server
