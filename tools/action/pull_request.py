"""What ``action.yml`` runs: lint, diff, and say it where a pull request is read.

The settings come as variables of the environment, those of GitHub and those of the
inputs of the action (SMP_*), so that no input is ever a part of a program. The findings
go to code scanning as SARIF, and with the diff to the summary of the job and to one
comment, which later runs update. It needs Python and git, and nothing else.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

# A comment of this action is known by it.
_MARK: Final = "<!-- smp: {name} -->"
# GitHub refuses longer comments.
_LONGEST: Final = 65_536
_SMP: Final = (sys.executable, "-m", "strategic_merge_patch")
_FOUND: Final = 1
_NOT_FOUND: Final = 404


class ActionError(Exception):
    """The action cannot do what it is asked for."""


class GitHub:
    """The REST API of GitHub."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._url = environment.get("GITHUB_API_URL", "https://api.github.com")
        self._repository = environment["GITHUB_REPOSITORY"]
        self._token = environment["SMP_TOKEN"]

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Send a request about the repository, and return what the answer holds."""
        request = Request(  # noqa: S310  # the URL is that of GitHub
            f"{self._url}/repos/{self._repository}/{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Accept": "application/vnd.github+json",
                "Authorization": f"Bearer {self._token}",
                "X-GitHub-Api-Version": "2022-11-28",
            },
            method=method,
        )
        with urlopen(request, timeout=60) as answer:  # noqa: S310  # see above
            return json.loads(answer.read() or b"null")

    def comments(self, number: int) -> Iterator[Any]:
        """Yield the comments on a pull request."""
        for page in range(1, 1_000):
            query = f"per_page=100&page={page}"
            found = self.call("GET", f"issues/{number}/comments?{query}")
            yield from found
            if not found:
                return

    def comment(self, number: int, mark: str, body: str) -> None:
        """Write the comment with a mark: update the one that there is, or add one."""
        for comment in self.comments(number):
            if (comment.get("body") or "").startswith(mark):
                path = f"issues/comments/{comment['id']}"
                self.call("PATCH", path, {"body": body})
                return
        self.call("POST", f"issues/{number}/comments", {"body": body})


def main() -> int:
    """Run the action, and return its exit code."""
    environment = dict(os.environ)
    paths = environment["SMP_PATHS"].split()
    try:
        sarif, findings, lint_code = lint(paths, environment["SMP_SEVERITY"])
        differences = ""
        if environment["SMP_BASE"]:
            differences = diff(paths, environment["SMP_BASE"], temporary(environment))
        Path(environment["SMP_SARIF"]).write_text(sarif, encoding="utf-8")
    except ActionError as error:
        sys.stdout.write(f"::error title=smp::{escaped(str(error))}\n")
        return 1
    mark = _MARK.format(name=environment["SMP_COMMENT_NAME"])
    body = comment_of(mark, findings, differences)
    append(environment, "GITHUB_STEP_SUMMARY", f"{findings}\n\n{differences}\n")
    append(environment, "GITHUB_OUTPUT", f"sarif={environment['SMP_SARIF']}\n")
    found = "true" if lint_code else "false"
    append(environment, "GITHUB_OUTPUT", f"findings={found}\n")
    tell(environment, mark, body, sarif)
    fails = environment["SMP_FAIL"] == "true"
    return lint_code if fails else 0


def temporary(environment: dict[str, str]) -> Path:
    """Return a folder for files of this run, which GitHub removes."""
    folder = Path(environment["RUNNER_TEMP"]) / "smp-base"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def append(environment: dict[str, str], variable: str, text: str) -> None:
    """Add to one of the files by which a step talks to GitHub."""
    if path := environment.get(variable):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)


def escaped(text: str) -> str:
    """Write a text as the value of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def run(*command: str, codes: tuple[int, ...]) -> tuple[int, bytes]:
    """Run a program, and return its exit code and its output.

    Raises ActionError where the exit code is another one than ``codes``.
    """
    ran = subprocess.run(command, capture_output=True, check=False)  # noqa: S603  # ours
    if ran.returncode not in codes:
        reason = ran.stderr.decode(errors="replace").strip()
        raise ActionError(f"{' '.join(command)}: {reason}")
    return ran.returncode, ran.stdout


def lint(paths: list[str], severity: str) -> tuple[str, str, int]:
    """Return the findings as SARIF and as Markdown, and the exit code."""
    command = (*_SMP, "lint", "--severity", severity)
    # 3: something could not be read, which is a finding as well.
    code, sarif = run(*command, "--format", "sarif", "--", *paths, codes=(0, _FOUND, 3))
    _, findings = run(*command, "--format", "markdown", "--", *paths, codes=(code,))
    return sarif.decode(), findings.decode(), code


def diff(paths: list[str], base: str, folder: Path) -> str:
    """Return what differs between a commit and the working directory, as Markdown."""
    texts = []
    # smp diff takes a folder like this for a state without objects, as kubectl diff
    # hands one over.
    nothing = folder / "nothing"
    nothing.mkdir(exist_ok=True)
    (nothing / "empty").touch()
    for number, path in enumerate(paths):
        before = folder / str(number)
        before.mkdir(exist_ok=True)
        run("git", "cat-file", "-e", f"{base}^{{commit}}", codes=(0,))
        # A path that the commit does not have is new.
        code, _ = run("git", "cat-file", "-e", f"{base}:./{path}", codes=(0, 128))
        if code == 0:
            words = ["git", "archive", "--format=zip", base, "--", path]
            _, archive = run(*words, codes=(0,))
            # Links are extracted as files, so that none leads out of the folder.
            with zipfile.ZipFile(BytesIO(archive)) as packed:
                packed.extractall(before)
        states = [before / path, Path(path)]
        words = [str(state if has_manifests(state) else nothing) for state in states]
        code, text = run(
            *_SMP, "diff", "--format", "markdown", "--", *words, codes=(0, 1, 3)
        )
        texts.append(text.decode())
    return "\n".join(texts)


def has_manifests(state: Path) -> bool:
    """Tell whether there is a file that smp reads."""
    if state.is_file():
        return True
    suffixes = (".json", ".yaml", ".yml")
    return any(path.suffix in suffixes for path in state.rglob("*"))


def comment_of(mark: str, findings: str, differences: str) -> str:
    """Put the comment together, no longer than GitHub takes it."""
    where = "They do not fit here, and are in the summary of the job."
    for body in (
        f"{mark}\n{findings}\n{differences}",
        f"{mark}\n{findings}\n### smp diff\n\n{where}\n",
        f"{mark}\n### smp lint, smp diff\n\n{where}\n",
    ):
        # GitHub counts UTF-16 code units.
        if len(body.encode("utf-16-le")) // 2 <= _LONGEST:
            break
    return body


def tell(environment: dict[str, str], mark: str, body: str, sarif: str) -> None:
    """Write the comment and upload the SARIF report, where that is wanted.

    What a token may not do, as that of a pull request from a fork, is a warning.
    """
    if not environment["SMP_TOKEN"]:
        return
    github = GitHub(environment)
    event = json.loads(Path(environment["GITHUB_EVENT_PATH"]).read_bytes())
    number = event.get("pull_request", {}).get("number")
    try:
        if environment["SMP_COMMENT"] == "true" and number is not None:
            github.comment(number, mark, body)
        if environment["SMP_UPLOAD"] == "true":
            encoded = base64.b64encode(gzip.compress(sarif.encode())).decode()
            upload = {
                "commit_sha": environment["GITHUB_SHA"],
                "ref": environment["GITHUB_REF"],
                "sarif": encoded,
                "tool_name": "smp",
            }
            github.call("POST", "code-scanning/sarifs", upload)
    except HTTPError as error:
        # It is an answer as well, and open.
        with error:
            reason = f"{error.code}: {error.read().decode(errors='replace')}"
        sys.stdout.write(f"::warning title=smp::GitHub answers {escaped(reason)}\n")
    except URLError as error:
        sys.stdout.write(f"::warning title=smp::{escaped(str(error.reason))}\n")


if __name__ == "__main__":
    sys.exit(main())
