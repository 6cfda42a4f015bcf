"""The GitHub Action: its script with the variables of GitHub, and a loopback API."""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final

import pytest

from smp._values.values import as_object
from smp.documents import read
from tests.support.paths import ROOT
from tools.action import pull_request

MARK: Final = "<!-- smp: smp -->"
DEPLOYMENT: Final = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: app, image: "web:1"}
"""
# A field that there is not.
FAULTY: Final = DEPLOYMENT.replace(
    "spec:\n  selector", "spec:\n  replica: 2\n  selector"
)


class FakeGitHub(ThreadingHTTPServer):
    """Keeps comments and uploads; ``status`` is what it answers to every write."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.comments: list[dict[str, Any]] = []
        self.uploads: list[dict[str, Any]] = []
        self.status = 200

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: FakeGitHub

    def log_message(self, *_arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        page = int(self.path.rpartition("=")[2]) - 1
        self._answer(self.server.comments[100 * page : 100 * (page + 1)])

    def do_POST(self) -> None:
        body = self._body()
        if self.server.status == 200:
            if self.path == "/repos/shop/web/code-scanning/sarifs":
                self.server.uploads.append(body)
            else:
                assert self.path == "/repos/shop/web/issues/7/comments"
                number = len(self.server.comments)
                self.server.comments.append({"id": number, **body})
        self._answer({})

    def do_PATCH(self) -> None:
        assert self.path.startswith("/repos/shop/web/issues/comments/")
        number = int(self.path.rpartition("/")[2])
        self.server.comments[number].update(self._body())
        self._answer({})

    def _body(self) -> dict[str, Any]:
        assert self.headers["Authorization"] == "Bearer secret"
        length = int(self.headers["Content-Length"])
        body: dict[str, Any] = json.loads(self.rfile.read(length))
        return body

    def _answer(self, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def repository(
    tmp_path: Path, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Return a clone with one commit, and the variables of a pull request."""
    folder = tmp_path / "clone"
    (folder / "deploy").mkdir(parents=True)
    (folder / "deploy" / "web.yaml").write_text(DEPLOYMENT)
    author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for command in (("init", "-q"), ("add", "-A"), (*author, "commit", "-qm", "a")):
        subprocess.run(["git", "-C", folder, *command], check=True)  # noqa: S607
    event = tmp_path / "event.json"
    event.write_text('{"pull_request": {"number": 7}}')
    variables = {
        "GITHUB_API_URL": github.url,
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_REF": "refs/pull/7/merge",
        "GITHUB_REPOSITORY": "shop/web",
        "GITHUB_SHA": "0" * 40,
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "PYTHONPATH": str(ROOT),
        "RUNNER_TEMP": str(tmp_path),
        "SMP_BASE": "HEAD",
        "SMP_COMMENT": "true",
        "SMP_COMMENT_NAME": "smp",
        "SMP_FAIL": "true",
        "SMP_PATHS": "deploy",
        "SMP_SARIF": str(tmp_path / "smp.sarif"),
        "SMP_SEVERITY": "warning",
        "SMP_TOKEN": "secret",
        "SMP_UPLOAD": "true",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)
    return folder


def test_a_pull_request_gets_one_comment_that_is_updated(
    repository: Path, github: FakeGitHub, tmp_path: Path
) -> None:
    github.comments += [{"id": number, "body": None} for number in range(120)]
    manifest = repository / "deploy" / "web.yaml"
    manifest.write_text(FAULTY.replace("web:1", "web:2"))
    assert pull_request.main() == 1
    (comment,) = github.comments[120:]
    assert comment["body"].startswith(f"{MARK}\n### smp lint\n")
    assert "unknown-field" in comment["body"]
    assert "image: web:2" in comment["body"]
    assert "findings=true\n" in (tmp_path / "output").read_text()
    assert "image: web:2" in (tmp_path / "summary.md").read_text()

    (upload,) = github.uploads
    sarif = json.loads(gzip.decompress(base64.b64decode(upload["sarif"])))
    assert sarif == json.loads((tmp_path / "smp.sarif").read_text())
    (result,) = sarif["runs"][0]["results"]
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "deploy/web.yaml"
    assert (upload["ref"], upload["commit_sha"]) == ("refs/pull/7/merge", "0" * 40)

    # The findings are corrected, and there is a new object in a new file.
    manifest.write_text(DEPLOYMENT)
    (repository / "deploy" / "other.yaml").write_text(
        DEPLOYMENT.replace("name: web", "name: other")
    )
    assert pull_request.main() == 0
    (comment,) = github.comments[120:]
    assert "unknown-field" not in comment["body"]
    assert "other</code>: new" in comment["body"]


def test_what_the_token_may_not_do_is_a_warning(
    repository: Path,
    github: FakeGitHub,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    github.status = 403
    (repository / "new.yaml").write_text(DEPLOYMENT)
    monkeypatch.setenv("SMP_PATHS", "new.yaml")
    assert pull_request.main() == 0
    assert capsys.readouterr().out.startswith("::warning title=smp::GitHub answers 403")


@pytest.mark.usefixtures("repository")
def test_what_cannot_be_done_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SMP_PATHS", "no-such-folder")
    assert pull_request.main() == 1
    assert "no-such-folder" in capsys.readouterr().out
    monkeypatch.setenv("SMP_PATHS", "deploy")
    monkeypatch.setenv("SMP_BASE", "no-such-commit")
    monkeypatch.setattr(pull_request, "lint", lambda _paths, _severity: ("", "", 0))
    assert pull_request.main() == 1
    assert "::error title=smp::git" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("findings", "differences", "shown"),
    [
        ("found", "differ", "found\ndiffer"),
        ("found", "d" * 70_000, "found\n### smp diff\n\nThey do not fit here"),
        ("f" * 40_000, "\U0001f600" * 20_000, "### smp diff\n\nThey do not fit here"),
        ("f" * 70_000, "differ", "### smp lint, smp diff\n\nThey do not fit here"),
    ],
)
def test_a_comment_is_no_longer_than_github_takes_it(
    findings: str, differences: str, shown: str
) -> None:
    body = pull_request.comment_of(MARK, findings, differences)
    assert body.startswith(MARK)
    assert shown in body
    assert len(body.encode("utf-16-le")) // 2 <= 65_536


def test_the_action_hands_its_script_what_it_reads() -> None:
    """An input is a variable of the environment, and never a part of a script."""
    (document,) = read((ROOT / "action.yml").read_bytes())
    action: Any = as_object(document.value)
    (step,) = action["runs"]["steps"]
    assert "${{" not in step["run"]
    text = (ROOT / "tools" / "action" / "pull_request.py").read_text()
    script = (ROOT / "tools" / "action" / "run.sh").read_text()
    for name, value in step["env"].items():
        assert name in text or name in script
        if value.startswith("${{ inputs."):
            words = value.removeprefix("${{ inputs.").split()
            assert words[0] in action["inputs"]
