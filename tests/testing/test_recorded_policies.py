"""Admission policies on the server and in lint, beside a kube-apiserver 1.36.3.

tests.record.policies asked it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from smp.testing import KubernetesApi
from tests.record.policies import ask, objects_of, policies, set_up
from tests.support.command import run

# There is no authorizer, which is said in a warning; words of an error of null, and of
# a kind that is not there; an index in place of a name.
_OTHER_WORDS: Final = {"auth", "authno", "m-atomic", "paramkindnope", "paramnoref2"}
# Its answer depends on whether the request is a dry run.
_OF_REQUESTS: Final = {"dry"}
# A server does not store them.
_REFUSED: Final = {"auditannerr", "msgexprerror", "msgexpronly", "reason-unauthorized"}
_NAMESPACE: Final = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {
        "name": "default",
        "labels": {"kubernetes.io/metadata.name": "default"},
    },
}


@pytest.mark.filterwarnings("ignore::smp.testing.KubernetesApiWarning")
def test_the_server_answers_by_policies_as_a_server() -> None:
    wrong = []
    with KubernetesApi() as api:
        client = api.client("httpx")
        set_up(client)
        for policy in policies():
            for request, expected in zip(
                policy["requests"], policy["answers"], strict=True
            ):
                answer = ask(client, request)
                if answer != expected and policy["name"] not in _OTHER_WORDS:
                    wrong.append((policy["name"], answer, expected))
    assert not wrong


def written(path: Path, objects: list[Any]) -> str:
    path.write_text("\n---\n".join(json.dumps(obj) for obj in objects))
    return str(path)


def test_lint_finds_what_a_server_refuses_or_says_that_it_is_not_known(
    tmp_path: Path,
) -> None:
    wrong, unknown = [], set()
    for policy in policies():
        if policy["name"] in _REFUSED | _OF_REQUESTS:
            continue
        given = [*objects_of(policy), _NAMESPACE, *policy["objects"]]
        rules = written(tmp_path / "policies.json", given)
        for request, expected in zip(
            policy["requests"], policy["answers"], strict=True
        ):
            if request["method"] != "POST":
                continue
            new = written(tmp_path / "new.json", [request["object"]])
            ran = run("lint", new, "--policies", rules, "--as", "manifest")
            if "unknown-to-policy" in ran.stdout:
                unknown.add(policy["name"])
            elif ("denied-by-policy" in ran.stdout) != (expected["code"] != 201):
                wrong.append((policy["name"], ran.stdout, expected))
    assert not wrong
    # The user, parameters that are not given, and the authorizer.
    assert unknown == {
        *("auth", "authno", "condrequest", "m-parammiss", "paramkindnope"),
        *("parammissallow", "parammissdeny", "paramselnone", "request"),
    }
