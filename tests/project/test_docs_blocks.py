"""Every block of code on a page runs, or a table has why not, or the test that runs it.

A block is known by its page and its first line.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import jinja2
import msgspec
import pyarrow.parquet as pq
import pytest

import smp
from smp import documents
from smp._values.values import JSON, JSONObject, as_list, as_object
from smp.documents import dump_yaml
from smp.schema.overlay import Overlay
from smp.testing import KubernetesApi
from tests.support.command import Ran, run, smp_command
from tests.support.examples import PAGES, python_examples, run_example
from tests.support.kubectl import kubectl_path, needs_kubectl
from tests.support.paths import DOCS, ROOT
from tests.support.rows import each_row


class Block(msgspec.Struct, frozen=True):
    """A block of code that is no Python."""

    page: str
    language: str
    text: str

    @property
    def name(self) -> tuple[str, str]:
        """What the tables below have."""
        return self.page, self.text.partition("\n")[0]


def blocks() -> dict[tuple[str, str], Block]:
    """Return the blocks of all pages but that of the command, which is generated."""
    found = {}
    for page, path in PAGES.items():
        if page == "cli.md":
            continue
        for language, text in re.findall(
            r"^ *```(\w*)[^\n]*\n(.*?)^ *```",
            path.read_text(),
            re.MULTILINE | re.DOTALL,
        ):
            if language not in ("python", "mermaid"):
                block = Block(page, language, text)
                found[block.name] = block
    return found


# The pages whose Python a test beside this one runs.
PYTHON_ELSEWHERE: Final = {
    "README.md": "project/test_readme.py",
    "architecture.md": "project/test_architecture.py",
    "extending.md": "project/test_architecture.py",
    "causes.md": "explain/test_explain_situations.py",
    "comparison.md": "comparison/test_comparison_docs.py",
    "fleet.md": "fleet/test_fleet_docs.py",
    "howto/ansible.md": "project/test_howto.py",
    "howto/clients.md": "project/test_howto.py",
    "howto/operator.md": "project/test_howto.py",
    "howto/pipeline.md": "project/test_howto.py",
    "howto/server.md": "project/test_howto.py",
    "howto/server_side_apply.md": "project/test_howto.py",
    "howto/tests.md": "project/test_howto.py",
    "reports.md": "project/test_readme.py",
    "server_side_apply.md": "managed_fields/test_docs.py",
    "server_side_apply_unions.md": "managed_fields/test_docs.py",
    "testing.md": "testing/test_testing_examples.py",
    "tutorial.md": "project/test_readme.py",
    "unions.md": "unions/test_overlay_docs.py",
}
# One after the other, in the same names.
PYTHON_HERE: Final = (
    "accepted.md",
    "cluster.md",
    "concepts.md",
    "custom_resources.md",
    "handler.md",
    "hazards.md",
    "lint.md",
    "server.md",
)

_SHOWN: Final = "project/test_readme.py"
ELSEWHERE: Final = {
    ("README.md", "$ smp apply -f docs/examples/new.yaml --live"): _SHOWN,
    ("README.md", "$ smp explain -f docs/examples/new.yaml"): _SHOWN,
    ("README.md", "pip install '.[server]'"): _SHOWN,
    ("README.md", "python3 -m venv .venv && .venv/bin/pip install -v ."): _SHOWN,
    ("README.md", "python3 -m venv .venv && .venv/bin/pip install -q -e"): _SHOWN,
    ("accepted.md", "smp lint --crd"): "cli/test_cli_lint.py",
    ("accepted.md", "smp: warning: example.com/v1"): "cli/test_cli_lint.py",
    ("command.md", "$ smp apply --server-side"): _SHOWN,
    ("command.md", "$ smp blame"): _SHOWN,
    ("command.md", 'kubernetes: "1.36"'): "cli/test_cli_options_file.py",
    ("howto/assistants.md", '{"mcpServers"'): "cli/test_cli_mcp.py",
    ("howto/gitops.md", "# rules.yaml"): "project/test_cluster_pages.py",
    ("howto/gitops.md", "$ "): "project/test_cluster_pages.py",
    ("howto/live_cluster.md", "$ "): "project/test_cluster_pages.py",
    ("howto/server_side_apply.md", "helm template"): "cluster/test_cluster_helm.py",
    ("howto/symptoms.md", "# "): "project/test_symptoms.py",
    ("howto/symptoms.md", "$ "): "project/test_symptoms.py",
    ("installation.md", "$ smp doctor"): "cli/test_cli_doctor.py",
    (
        "installation.md",
        "smp: error: the package smp that is imported",
    ): "project/test_command_names.py",
    ("lint.md", "$ smp lint"): "cli/test_cli_lint.py",
    ("reports.md", "$ smp apply"): _SHOWN,
    ("serve.md", "smp serve --host"): "server/test_server_cli.py",
    ("testing.md", "package operator"): "testing/test_testing_examples.py",
    ("testing.md", "smp serve --background"): "testing/test_testing_examples.py",
    ("tutorial.md", "$ smp apply"): _SHOWN,
    ("tutorial.md", "$ smp explain"): _SHOWN,
}
_INSTALLS: Final = "it installs; the jobs of CI do (nox -s wheel)"
_MEASURES: Final = "it takes minutes; test_benchmarks.py runs the programs on little"
NOT_RUN: Final = {
    (".github/CONTRIBUTING.md", "python3 -m venv"): _INSTALLS,
    ("command.md", "smp: 126 objects"): "the last line of a run over many objects",
    ("howto/assistants.md", "pip install"): _INSTALLS,
    ("howto/gitops.md", "argocd app"): "the programs of Argo CD, Flux and Helm",
    ("howto/tests.md", "pip install"): _INSTALLS,
    ("installation.md", "pip install"): _INSTALLS,
    ("performance.md", "SMP_KUBE_APISERVER=PATH python"): _MEASURES,
    ("performance.md", "SMP_COMPILE_LEVEL=3 pip install"): _MEASURES,
    ("server.md", "SMP_KUBE_APISERVER=PATH python"): _MEASURES,
    ("server.md", "python benchmarks/attacks.py"): _MEASURES,
    ("server.md", "python benchmarks/server.py"): _MEASURES,
    ("testing.md", "pip install"): _INSTALLS,
    ("performance.md", "python benchmarks/fixtures.py"): _MEASURES,
    ("tutorial.md", "python3 -m venv"): _INSTALLS,
}


def test_a_page_with_python_has_a_test_that_runs_it() -> None:
    pages = {page for page, path in PAGES.items() if python_examples(path)}
    assert pages == {*PYTHON_ELSEWHERE, *PYTHON_HERE}


@pytest.mark.parametrize("page", PYTHON_HERE)
# The clients leave connections to the garbage collector.
@pytest.mark.filterwarnings("default")
def test_the_examples_of_a_page_run(page: str) -> None:
    assert run_example("\n".join(python_examples(PAGES[page])), page)


def test_each_block_is_in_one_of_the_tables() -> None:
    rows = [*ELSEWHERE, *NOT_RUN, *RUN]
    unused = set(rows)
    for page, first in blocks():
        found = [row for row in rows if row[0] == page and first.startswith(row[1])]
        assert len(found) == 1, (page, first)
        unused -= {*found}
    assert not unused


@each_row(
    ("page", "test"),
    sorted({(page, test) for (page, _), test in ELSEWHERE.items()})
    + sorted(PYTHON_ELSEWHERE.items()),
)
def test_the_test_of_another_file_is_there(page: str, test: str) -> None:
    text = (ROOT / "tests" / test).read_text()
    folder, _, name = page.rpartition("/")
    by_hand = ("installation.md", "serve.md")
    assert name in text or (folder and folder in text) or page in by_hand


def commands_of(page: str) -> list[str]:
    """Return the command lines of a page, in its blocks and in its sentences."""
    text = PAGES[page].read_text()
    found = re.findall(r"(?<!`)`((?:[^`\n]*\| )?smp [^`\n]+)`", text)
    for block in blocks().values():
        if block.page == page and block.language in ("sh", "console"):
            found += [
                line
                for line in block.text.splitlines()
                if block.language == "sh" or line.startswith("$")
            ]
    return found


@each_row("page", [page for page in PAGES if page != "cli.md"])
def test_a_command_has_the_options_that_the_page_gives_it(page: str) -> None:
    """Also where nothing runs the line."""
    wrong = []
    for line in commands_of(page):
        called = re.search(r"\bsmp ([a-z]+(?: [a-z]+)?)\b(.*)", line)
        if called is None:
            continue
        names = called[1].split()
        name = names[0] if names[0] != "cluster" else " ".join(names)
        usage = documented(name)
        options = re.findall(r"(?<=\s)--[a-z][a-z-]*", called[2].partition("|")[0])
        wrong += [(line, option) for option in options if f" {option}" not in usage]
    assert wrong == []


def documented(command: str) -> str:
    """Return the section of a command on the page of the command."""
    page = (DOCS / "cli.md").read_text()
    _, found, rest = page.partition(f"Usage: smp {command} ")
    assert found, command
    return rest.partition("\nUsage: ")[0]


def run_script(
    script: str, folder: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run lines of a shell with the installed command and the real kubectl."""
    scripts = [Path(smp_command()).parent]
    kubectl = kubectl_path()
    if kubectl is not None:
        scripts.append(kubectl.parent)
    path = os.pathsep.join([*map(str, scripts), os.environ["PATH"]])
    environment = {**os.environ, "HOME": str(folder), "PATH": path, **variables}
    return subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def run_here(line: str, folder: Path, **variables: str) -> Ran:
    """Run a line in this process, with what is piped to it and its output redirected.

    That saves the start of a process.
    """
    line, _, target = line.removeprefix("$ ").partition(" > ")
    source, _, command = line.rpartition(" | ")
    stdin = run_script(source, folder, **variables).stdout if source else None
    name, *arguments = shlex.split(command)
    assert name == "smp"
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        for variable, value in variables.items():
            patched.setenv(variable, value)
        ran = run(*arguments, stdin=stdin)
    if target:
        (folder / target).write_bytes(ran.stdout_bytes)
    return ran


def console(block: Block, folder: Path, **variables: str) -> None:
    """Run each command of a session, and compare what it prints with the page.

    Three dots stand for more lines, and an age for any. A page may leave out what a
    command prints.
    """
    exported = ""
    for command, shown in re.findall(
        r"^\$ (.*)\n((?:[^$].*\n|\n)*)", block.text, re.MULTILINE
    ):
        if command.startswith("export "):
            exported += f"{command}; "
            continue
        ran = run_script(exported + command, folder, **variables)
        if not shown:
            assert ran.returncode == 0, (command, ran.stderr)
            continue
        pattern = re.escape(shown)
        pattern = pattern.replace(re.escape("...\n"), "(?s:.*)")
        pattern = re.sub(r"(?<=\\ )\d+s", r"\\d+s *", pattern)
        output = f"{ran.stdout}{ran.stderr}"
        if not output.endswith("\n"):
            output += "\n"
        assert re.fullmatch(pattern, output), (command, output)


def examples(folder: Path) -> None:
    """Put the example objects where a page has them."""
    for name in ("new.yaml", "live.yaml"):
        shutil.copy(DOCS / "examples" / name, folder / name)


def explained(block: Block, folder: Path) -> None:
    examples(folder)
    ran = run_here(block.text, folder)
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert "[allocated]" in ran.stdout


def records(block: Block, folder: Path) -> None:
    """What ``smp diff --format json`` prints of one ConfigMap."""
    obj: JSONObject = {"apiVersion": "v1", "kind": "ConfigMap"}
    metadata: JSONObject = {"name": "a", "namespace": "shop"}
    for name, value in (("old.yaml", "1"), ("new.yaml", "2")):
        whole: JSONObject = {**obj, "metadata": metadata, "data": {"x": value}}
        (folder / name).write_text(dump_yaml([whole]))
    ran = run_here("smp diff old.yaml new.yaml --format json", folder)
    assert ran.exit_code == 1
    [found] = json.loads(ran.stdout)
    [shown] = json.loads(block.text)
    # The page leaves out both versions.
    assert found.keys() - shown.keys() == {"live", "result"}
    assert {name: found[name] for name in shown} == shown


def rules(block: Block, folder: Path) -> None:
    examples(folder)
    (folder / "rules.yaml").write_text(block.text)
    ran = run_here("smp diff --rules rules.yaml new.yaml new.yaml", folder)
    assert (ran.exit_code, ran.stderr) == (0, "")


def cluster_of(api: KubernetesApi, folder: Path) -> str:
    """Write a configuration of kubectl whose context is ``prod``."""
    text = Path(api.kubeconfig).read_text()
    value = as_object(documents.read_one(text).value)
    (context,) = as_list(value["contexts"])
    contexts: list[JSON] = [{**as_object(context), "name": "prod"}]
    path = folder / "kubeconfig.yaml"
    changed: JSONObject = {**value, "contexts": contexts, "current-context": "prod"}
    path.write_text(dump_yaml([changed]))
    return str(path)


def drift(block: Block, folder: Path) -> None:
    """Each line finds the one object that is not as it should be."""
    manifests = folder / "manifests"
    for target in (manifests, folder / "clusters" / "eu"):
        target.mkdir(parents=True)
        shutil.copy(DOCS / "examples" / "new.yaml", target / "new.yaml")
    (folder / "dumps" / "eu").mkdir(parents=True)
    shutil.copy(DOCS / "examples" / "live.yaml", folder / "dumps" / "eu")
    live = documents.read_one((DOCS / "examples" / "live.yaml").read_bytes()).value
    (folder / "live.ndjson").write_text(json.dumps(live) + "\n")
    git(folder, "init", "-q")
    git(folder, "add", "manifests")
    git(folder, "commit", "-q", "-m", "manifests")
    with KubernetesApi() as api:
        namespace = (DOCS / "examples" / "namespace.yaml").read_text()
        wanted = (DOCS / "examples" / "new.yaml").read_text()
        api.apply(namespace)
        api.apply(wanted.replace("nginx:1.27", "nginx:1.26"))
        configuration = cluster_of(api, folder)
        for line in block.text.splitlines():
            ran = run_here(line, folder, KUBECONFIG=configuration)
            assert ran.exit_code == 1, (line, ran.stderr)
            assert "read 1 desired, " in ran.stderr, line
    (row,) = pq.read_table(folder / "drift.parquet").to_pylist()
    assert row["verdict"] == "drift"


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    command = ("git", *identity, *arguments)
    return subprocess.check_output(command, cwd=folder, text=True).strip()


def pull_request(folder: Path, old: str, new: str) -> str:
    """Make a clone whose change is not committed yet, and return the commit before."""
    git(folder, "init", "-q")
    (folder / "deploy").mkdir()
    target = folder / "deploy" / "web.yaml"
    text = (DOCS / "examples" / "new.yaml").read_text()
    target.write_text(text)
    git(folder, "add", "deploy")
    git(folder, "commit", "-q", "-m", "before")
    assert old in text
    target.write_text(text.replace(old, new))
    return git(folder, "rev-parse", "HEAD")


def compared_in_pipeline(block: Block, folder: Path) -> None:
    base = pull_request(folder, "nginx:1.27", "nginx:1.28")
    install, *lines = block.text.splitlines()
    assert " pip install " in install
    ran = run_script("\n".join(["set -e", *lines]), folder, BASE=base)
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr
    assert "nginx:1.28" in (folder / "changes.md").read_text()
    assert "<testsuites" in (folder / "lint.xml").read_text()


def differences_as_success(block: Block, folder: Path) -> None:
    """Nothing differs, something does, and one state cannot be read."""
    for name in ("before/deploy", "deploy"):
        (folder / name).mkdir(parents=True)
        (folder / name / "a.yaml").write_text(SETTINGS)
    assert run_script(block.text, folder).returncode == 0
    changed = SETTINGS.replace("production", "test")
    (folder / "deploy" / "a.yaml").write_text(changed)
    assert run_script(block.text, folder).returncode == 0
    (folder / "deploy" / "a.yaml").write_text("a: [")
    assert run_script(block.text, folder).returncode == 1


def applied_in_pipeline(block: Block, folder: Path) -> None:
    """A step of a pipeline, where nothing is live, and where one object is."""
    (folder / "deploy").mkdir()
    shutil.copy(DOCS / "examples" / "new.yaml", folder / "deploy")
    (folder / "deploy" / "settings.yaml").write_text(SETTINGS)
    wanted = (DOCS / "examples" / "new.yaml").read_text()
    with KubernetesApi() as api:
        for summary in ("2 objects: 2 new", "2 objects: 1 changed, 1 new"):
            script = f"set -eu\n{block.text}"
            ran = run_script(script, folder, KUBECONFIG=str(api.kubeconfig))
            assert (ran.returncode, ran.stderr) == (0, f"smp: {summary}\n")
            assert "nginx:1.27" in (folder / "report.html").read_text()
            api.apply((DOCS / "examples" / "namespace.yaml").read_text())
            api.apply(wanted.replace("nginx:1.27", "nginx:1.26"))


def value_of(block: Block) -> Any:
    return documents.read_one(block.text).value


def hooks(block: Block, _folder: Path) -> None:
    (repository,) = value_of(block)["repos"]
    offered = documents.read_one((ROOT / ".pre-commit-hooks.yaml").read_bytes()).value
    ids = {str(as_object(hook)["id"]) for hook in as_list(offered)}
    assert {hook["id"] for hook in repository["hooks"]} == ids


def check_schema(name: str, path: Path) -> None:
    """Check a file against what the product publishes of its format."""
    command = ("-m", "check_jsonschema", "--builtin-schema", f"vendor.{name}")
    ran = subprocess.run(
        [sys.executable, *command, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout


def workflow(block: Block, folder: Path) -> None:
    (folder / "manifests.yml").write_text(block.text)
    check_schema("github-workflows", folder / "manifests.yml")
    action = as_object(documents.read_one((ROOT / "action.yml").read_bytes()).value)
    step = value_of(block)["jobs"]["manifests"]["steps"][-1]
    assert step["with"].keys() <= as_object(action["inputs"]).keys()


def gitlab(block: Block, folder: Path) -> None:
    (folder / ".gitlab-ci.yml").write_text(block.text)
    check_schema("gitlab-ci", folder / ".gitlab-ci.yml")
    base = pull_request(folder, "  template", "  templat")
    job = value_of(block)["manifests"]
    install, *lines = job["script"]
    assert install.startswith("pip install ")
    # A runner of GitLab ends a job at the first command that fails.
    script = "\n".join(["set -e", *lines])
    ran = run_script(script, folder, CI_MERGE_REQUEST_DIFF_BASE_SHA=base)
    assert ran.returncode == 1, ran.stderr
    assert "spec.templat" in (folder / job["artifacts"]["paths"][0]).read_text()
    report = folder / job["artifacts"]["reports"]["codequality"]
    paths = {issue["location"]["path"] for issue in json.loads(report.read_text())}
    assert paths == {"deploy/web.yaml"}


def task(block: Block, _folder: Path) -> None:
    """The condition, as Ansible evaluates it: with Jinja and its test ``match``."""
    (code,) = python_examples(PAGES["howto/ansible.md"])
    names = run_example(code, "howto/ansible.md")
    filters: Any = names["FilterModule"]
    environment = jinja2.Environment(autoescape=True)
    environment.filters.update(filters().filters())
    environment.tests["match"] = lambda text, pattern: bool(re.match(pattern, text))
    condition = value_of(block)[1]["ansible.builtin.assert"]["that"]
    holds = environment.compile_expression(condition)
    manifest: Any = names["manifest"]
    for spec, expected in (({}, True), ({"selector": {"app": "web"}}, False)):
        wanted = {**manifest, "kind": "Service", "data": None, "spec": spec}
        live = {**wanted, "spec": {}}
        found = {"resources": [live]}
        assert holds(manifest=wanted, found=found) is expected


def ignored(block: Block, folder: Path) -> None:
    """The comment takes back what is found without it."""
    head = "apiVersion: v1\nkind: Service\nmetadata: {name: dns}\nspec:\n"
    fields = "".join(f"  {line}\n" for line in block.text.splitlines())
    (folder / "service.yaml").write_text(head + fields)
    assert run_here("smp lint service.yaml", folder).exit_code == 0
    without = re.sub(r"#.*\n", "\n", head + fields)
    (folder / "service.yaml").write_text(without)
    ran = run_here("smp lint service.yaml", folder)
    assert ran.exit_code == 1
    assert ran.stdout.count("\n") == ran.stdout.count(" ambiguous-key: ") == 1


def union_of_definition(block: Block, _folder: Path) -> None:
    validation = {
        "type": "object",
        "properties": {"spec": {"type": "object", **value_of(block)}},
    }
    version = {"name": "v1", "served": True, "storage": True}
    spec = {
        "group": "example.com",
        "names": {"kind": "Widget", "plural": "widgets"},
        "scope": "Namespaced",
        "versions": [{**version, "schema": {"openAPIV3Schema": validation}}],
    }
    crd: Any = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "spec": spec,
    }
    schema = smp.Catalog.from_crd(crd).schema("example.com/v1", "Widget")
    obj: JSONObject = {"spec": {"type": "A", "a": {}, "b": {}}}
    found = smp.validate_unions(None, obj, schema)
    assert [str(violation.path) for violation in found] == ["spec.b"]


def union_of_overlay(block: Block, _folder: Path) -> None:
    fields: JSONObject = {"type": "string", "a": {"fields": {}}, "b": {"fields": {}}}
    type_: JSONObject = {"fields": {"spec": {"fields": fields}}}
    overlay = Overlay.read(value_of(block))
    corrected = overlay.load(lambda _name: type_, "com.example.v1.Widget")
    assert corrected is not None
    obj: JSONObject = {"spec": {"type": "A", "a": {}, "b": {}}}
    found = smp.validate_unions(None, obj, smp.Schema.inline(corrected))
    assert [str(violation.path) for violation in found] == ["spec.b"]


SETTINGS: Final = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {mode: production}
"""
STATEFUL_SET: Final = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 1
  serviceName: db
  selector: {matchLabels: {app: db}}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: "db:1"}]}
"""


def session(block: Block, folder: Path) -> None:
    """A session with kubectl on the page of the server."""
    text = STATEFUL_SET
    if "has replicas: 3" in block.text:
        text = text.replace("replicas: 1", "replicas: 3")
    (folder / "db.yaml").write_text(text)
    with KubernetesApi() as api:
        shutil.copy(api.kubeconfig, folder / "kubeconfig.yaml")
        console(block, folder, KUBECONFIG="kubeconfig.yaml")


def served(block: Block, folder: Path) -> None:
    """Start the server as the page does, in its own port, and stop it."""
    install, start = block.text.splitlines()
    assert install.startswith("pip install '.[server]'")
    stop = "smp serve --stop --kubeconfig kubeconfig.yaml"
    ran = run_script(f"{start} --port 0 && {stop}", folder)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (folder / "objects.db").exists()


def applied_to_cluster(block: Block, folder: Path) -> None:
    """The lines of the page of the cluster, one after the other."""
    (folder / "manifests").mkdir()
    # No controller makes other kinds ready.
    (folder / "manifests" / "settings.yaml").write_text(SETTINGS)
    with KubernetesApi() as api:
        api.apply((DOCS / "examples" / "namespace.yaml").read_text())
        for line in block.text.splitlines():
            ran = run_here(line, folder, KUBECONFIG=str(api.kubeconfig))
            # Nothing was applied where the lines begin with a diff.
            differs = line.startswith("smp diff")
            assert (line, ran.exit_code) == (line, 1 if differs else 0)


RUN: Final[dict[tuple[str, str], Callable[[Block, Path], None]]] = {
    ("causes.md", "$ smp explain"): explained,
    ("cluster.md", "smp cluster apply"): applied_to_cluster,
    ("cluster.md", "smp diff m"): applied_to_cluster,
    ("command.md", "["): records,
    ("comparison.md", "# yaml-language-server"): rules,
    ("exit_codes.md", "smp diff"): differences_as_success,
    ("fleet.md", "$ smp drift"): drift,
    ("fleet.md", "version: 1"): rules,
    ("howto/ansible.md", "- kubernetes.core.k8s_info"): task,
    ("howto/pipeline.md", "# .github/workflows/manifests.yml"): workflow,
    ("howto/pipeline.md", "# .gitlab-ci.yml"): gitlab,
    ("howto/pipeline.md", "# .pre-commit-config.yaml"): hooks,
    ("howto/pipeline.md", "SMP_COMPILE=0 pip install"): compared_in_pipeline,
    ("howto/pipeline.md", "kubectl get"): applied_in_pipeline,
    ("lint.md", "ports:"): ignored,
    ("serve.md", "$ export KUBECONFIG"): session,
    ("serve.md", "$ kubectl apply --server-side"): session,
    ("serve.md", "pip install '.[server]'"): served,
    ("server.md", "properties:"): union_of_definition,
    ("server.md", "types:"): union_of_overlay,
}


@pytest.mark.parametrize("row", RUN, ids=str)
@needs_kubectl
@pytest.mark.filterwarnings("default")  # as above
@pytest.mark.skipif(sys.platform == "win32", reason="the pages show a POSIX shell")
def test_a_block_runs(row: tuple[str, str], tmp_path: Path) -> None:
    (block,) = [
        block
        for (page, first), block in blocks().items()
        if page == row[0] and first.startswith(row[1])
    ]
    RUN[row](block, tmp_path)
