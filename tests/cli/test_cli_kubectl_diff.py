"""``smp-diff`` as the external diff of the real kubectl."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import run, smp_command
from tests.support.kubectl import needs_kubectl
from tests.support.server_process import Kubectl, manifest, serving

pytestmark = [needs_kubectl, pytest.mark.slow]


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    directory = tmp_path_factory.mktemp("server")
    with serving(directory) as server:
        client = Kubectl(server, directory / "home")
        client("apply", "-f", "-", stdin=manifest(config_map("a", "1")))
        yield client


def config_map(name: str, value: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"x": value},
    }


def diff(
    kubectl: Kubectl, options: str, *objects: object, **environment: str
) -> tuple[int, str, str]:
    ran = kubectl.run(
        "diff",
        "-f",
        "-",
        stdin=manifest(*objects),
        KUBECTL_EXTERNAL_DIFF=f"{smp_command()}-diff {options}",
        # Where the tests were started from a checkout.
        PYTHONPATH=os.environ.get("PYTHONPATH", ""),
        **environment,
    )
    return ran.returncode, ran.stdout, ran.stderr


def test_kubectl_diff_prints_the_report_of_smp_diff(kubectl: Kubectl) -> None:
    code, printed, errors = diff(kubectl, "-o report", config_map("a", "2"))
    assert code == 1
    place = r"\S+/v1\.ConfigMap\.default\.a:1"
    assert re.fullmatch(
        rf"v1 ConfigMap default/a: changed \({place} -> {place}\)\n"
        r'  ~ data\.x: "1" -> "2"\n\n'
        r"1 object: 1 changed\n",
        printed,
    )
    # kubectl takes any other exit code than 0 and 1 for a failure, and says it.
    assert errors == "exit status 1\n" or not errors


def test_kubectl_diff_takes_the_command_itself(kubectl: Kubectl) -> None:
    ran = kubectl.run(
        "diff",
        "-f",
        "-",
        stdin=manifest(config_map("a", "2")),
        KUBECTL_EXTERNAL_DIFF=f"{smp_command()} diff",
        PYTHONPATH=os.environ.get("PYTHONPATH", ""),
    )
    assert ran.returncode == 1
    assert '  ~ data.x: "1" -> "2"\n' in ran.stdout


def test_its_directories_come_before_the_name_of_the_command(directory: Path) -> None:
    for name, value in (("LIVE-1", "1"), ("MERGED-2", "2")):
        (directory / name).mkdir()
        (directory / name / "v1.ConfigMap.default.a").write_text(
            manifest(config_map("a", value)), encoding="utf-8"
        )
    ran = run("LIVE-1", "MERGED-2", "diff", "-q")
    assert (ran.exit_code, ran.output) == (1, "")


def test_kubectl_diff_with_a_new_object_alone(kubectl: Kubectl) -> None:
    code, printed, _errors = diff(kubectl, "-o report", config_map("new", "1"))
    assert code == 1
    assert printed.startswith("v1 ConfigMap default/new: to be created\n")


def test_kubectl_diff_with_a_new_secret_alone(kubectl: Kubectl) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "new"},
        "stringData": {"password": "a-word"},
    }
    code, printed, _errors = diff(kubectl, "-o report", secret)
    assert code == 1
    assert printed.startswith("v1 Secret default/new: to be created\n")
    assert "a-word" not in printed


def test_the_paths_to_ignore_come_from_a_file(
    kubectl: Kubectl, directory: Path
) -> None:
    ignored = directory / "ignored.txt"
    ignored.write_text("metadata.generation\ndata.*\n")
    # kubectl passes on no option with a dot or a slash (Go: k8s.io/kubectl,
    # pkg/cmd/diff, DiffProgram.getCommand).
    environment = {"SMP_IGNORE_FILE": str(ignored)}
    changed = config_map("a", "2")
    assert diff(kubectl, "--output=report", changed, **environment)[0] == 0
    assert diff(kubectl, "--ignore-file=ignored.txt", changed)[0] == 1


def test_kubectl_diff_of_what_is_there_finds_nothing(kubectl: Kubectl) -> None:
    assert diff(kubectl, "-o report", config_map("a", "1"))[0] == 0


def test_a_directory_of_manifests_needs_an_object(directory: Path) -> None:
    folder = directory / "empty"
    folder.mkdir()
    (folder / "a.yaml").touch()
    ran = run("diff", str(folder), "new.yaml")
    assert ran.exit_code == 2
    assert "no document found" in ran.stderr
