"""The jobs of CI, as sessions: ``nox -l`` lists them, ``nox -s tests-3.13`` runs one.

.github/workflows/ci.yml runs the same sessions, so what fails there can be run here.
They install with uv where it is there, and with pip where it is not. .ci/run runs those
that need no environment of their own in its own one, where all is installed already.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Final

import nox

nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["lint", "types", "tests"]

PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
# The tests that most changes need; the others are for .ci/run.
QUICK: Final = ("-m", "not slow", "-n", "auto", "--dist", "worksteal")
# What pytest leaves out unless it is asked for, and the laws with more examples.
EXHAUSTIVE: Final = (
    *("-m", "exhaustive or hypothesis", "--hypothesis-profile=thorough"),
    *("-n", "auto", "--dist", "worksteal"),
)
INTERPRETED: Final = {"SMP_COMPILE": "0"}
ACTIONLINT: Final = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
OLDEST: Final = Path(".github/oldest.txt")
# Those for users. The tools of the tests are always the newest.
# Not mcp: it needs newer versions of starlette and uvicorn than the server does.
EXTRAS: Final = ("cel", "cluster", "fleet", "go", "report", "server", "uvloop")


@nox.session
def lint(session: nox.Session) -> None:
    """Check the form of the code, and that no layer imports a higher one."""
    session.install("-e", ".[dev]", env=INTERPRETED)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types, and those of a program that uses the public API."""
    session.install("-e", ".[dev]", env=INTERPRETED)
    session.run("mypy")
    session.run("pyright", "tests/typing")
    session.run("pytest", "-m", "", "tests/typing")


@nox.session(python=[*PYTHONS, "3.14t"])
def tests(session: nox.Session) -> None:
    """Run the quick lane with the newest dependencies, interpreted."""
    session.install("-e", ".[test]", env=INTERPRETED)
    session.run("pytest", *QUICK, *session.posargs)


@nox.session
def exhaustive(session: nox.Session) -> None:
    """Run the exhaustive tests, and the laws of Hypothesis with more examples."""
    session.install("-e", ".[test]", env=INTERPRETED)
    session.run("pytest", *EXHAUSTIVE, *session.posargs)


@nox.session
def oldest(session: nox.Session) -> None:
    """Run the quick lane with the oldest dependencies that are allowed."""
    session.install("-e", ".[test]", "-c", str(OLDEST), env=INTERPRETED)
    session.run("pytest", *QUICK, *session.posargs)


@nox.session
def constraints(session: nox.Session) -> None:
    """Write .github/oldest.txt anew, after a change of the dependencies."""
    session.install("uv")
    session.run(
        "uv",
        "pip",
        "compile",
        "--quiet",
        # Without it, versions in the file that are still allowed would stay.
        "--upgrade",
        "--resolution=lowest-direct",
        "--python-version=3.11",
        "--universal",
        *(f"--extra={extra}" for extra in EXTRAS),
        "--no-annotate",
        "--custom-compile-command=nox -s constraints",
        f"--output-file={OLDEST}",
        "pyproject.toml",
    )


@nox.session(python=PYTHONS)
def compiled(session: nox.Session) -> None:
    """Build a wheel with the compiled engine, and run the tests of the engine on it."""
    wheel = built(session, "1")
    session.install(f"{wheel}[test]")
    # Away from the sources, so that the wheel is what is imported.
    folder = Path(session.create_tmp())
    for name in READ_BY_TESTS:
        copy(Path(name), folder / name)
    with session.chdir(folder):
        session.run("python", "-c", COMPILED_CHECK)
        parts = [f"tests/{part}" for part in ("engine", "unions", "schema", "cases")]
        options = ("-o", "pythonpath=.", "-p", "no:cacheprovider")
        session.run("pytest", *QUICK, *options, *parts, *session.posargs)


READ_BY_TESTS: Final = (
    ".github",
    "README.md",
    "benchmarks",
    "docs",
    "pyproject.toml",
    "spec_cases",
    "tests",
    "tools",
)
COMPILED_CHECK: Final = (
    "from smp._values import values;"
    " assert not values.__file__.endswith('.py'), values.__file__"
)


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the sdist and the pure wheel, check both, and try the wheel alone."""
    wheel = built(session, "0")
    session.install("build", "twine")
    session.run("python", "-m", "build", "--sdist", "--outdir", str(wheel.parent))
    files = [str(file) for file in wheel.parent.iterdir()]
    session.run("twine", "check", "--strict", *files)
    session.install(str(wheel))
    session.run("smp", "doctor")
    apply = ("-f", "docs/examples/new.yaml", "--live", "docs/examples/live.yaml")
    session.run("smp", "apply", *apply, "-o", "report")


@nox.session
def hook(session: nox.Session) -> None:
    """Run a hook of this repository with pre-commit; nothing is compiled for it."""
    session.install("pre-commit")
    home = Path(session.create_tmp()) / "pre-commit"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    commit = session.run("git", "rev-parse", "HEAD", external=True, silent=True)
    repository = {"repo": str(Path.cwd()), "rev": str(commit).strip()}
    config = home / "config.yaml"
    config.write_text(
        json.dumps({"repos": [{**repository, "hooks": [{"id": "smp-lint"}]}]})
    )
    lint = ("run", "--config", str(config), "--files", "docs/examples/new.yaml")
    variables = {"PRE_COMMIT_HOME": str(home), "SMP_COMPILE": ""}
    session.run("pre-commit", *lint, env=variables)
    values = home.rglob("site-packages/smp/_values/values.*")
    installed = {path.suffix for path in values}
    if installed != {".py"}:
        session.error(f"the hook is compiled, or not there: {installed}")


@nox.session
def site(session: nox.Session) -> None:
    """Build the site; a link that leads nowhere is an error."""
    session.install("-e", ".[site]", env=INTERPRETED)
    session.run(
        *("mkdocs", "build", "--strict", "--config-file", "docs/site/mkdocs.yml"),
        *("--site-dir", session.create_tmp()),
        env={"NO_MKDOCS_2_WARNING": "1"},
    )


@nox.session
def workflows(session: nox.Session) -> None:
    """Check the workflows and the action."""
    session.install("-e", ".[dev]", env=INTERPRETED)
    session.run("zizmor", "--offline", "--strict-collection", ".github", "action.yml")
    files = [str(file) for file in Path(".github/workflows").iterdir()]
    schema = "--builtin-schema"
    session.run("check-jsonschema", schema, "vendor.github-workflows", *files)
    session.run("check-jsonschema", schema, "vendor.github-actions", "action.yml")
    dependabot = (schema, "vendor.dependabot", ".github/dependabot.yml")
    session.run("check-jsonschema", *dependabot)
    if shutil.which("go"):
        session.run("go", "run", ACTIONLINT, external=True)


@nox.session
def executable(session: nox.Session) -> None:
    """Make the archive of kubectl-smp that krew installs, without a need for Python."""
    session.install(".[go,report,server]", "pyinstaller>=6.10")
    session.run("python", "tools/release/executable.py", "dist", *session.posargs)


@nox.session(python=False)
def everything(session: nox.Session) -> None:
    """Run what has to hold before a change is taken."""
    session.run("bash", ".ci/run", external=True)


def built(session: nox.Session, compile_engine: str) -> Path:
    """Build a wheel, and return it; ``compile_engine`` is SMP_COMPILE."""
    session.install("build")
    folder = Path(session.create_tmp()) / f"wheel-{compile_engine}"
    shutil.rmtree(folder, ignore_errors=True)
    command = ("python", "-m", "build", "--wheel", "--outdir", str(folder))
    session.run(*command, env={"SMP_COMPILE": compile_engine})
    (wheel,) = folder.resolve().glob("*.whl")
    return wheel


def copy(source: Path, target: Path) -> None:
    """Copy a file or a folder."""
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copy(source, target)
