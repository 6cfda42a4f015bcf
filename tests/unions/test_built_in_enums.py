"""The enums of Kubernetes' built-in kinds, beside the answers of a real API server.

tests/data/enums/answers.jsonl has them for kube-apiserver 1.36.3: for each place that
has an enum, what it says of an object with a wrong value there.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import smp
from smp import handler
from smp._values.values import JSONObject
from smp.schema.catalog import read_published_enums
from tests.record.enum_answers import accepted, answers
from tests.record.enums import MODULES, VERSIONS, enums_of
from tests.support.handler_objects import causes
from tests.support.rows import each_row

SERVER = smp.kubernetes("1.36")


def written(path: list[str]) -> str:
    """Write the path of a record as a server does."""
    text = ".".join(path).replace(".[]", "[0]")
    return text.replace(".{}", ".storage")


@each_row("answer", answers(), ids=lambda answer: answer["place"])
def test_what_a_server_refuses_is_reported_and_nothing_else(
    answer: dict[str, Any],
) -> None:
    found = smp.validate_enums(answer["object"], SERVER.schema_of(answer["object"]))
    wrong = [(str(each.path.by_index), each.value) for each in found]
    if answer["place"] in accepted():
        assert wrong == []
    else:
        assert wrong == [(written(answer["path"]), "Bogus")]


def container(protocol: str) -> JSONObject:
    port: JSONObject = {"containerPort": 80, "protocol": protocol}
    return {"name": "web", "image": "web", "ports": [port]}


def pod(protocol: str) -> JSONObject:
    metadata: JSONObject = {"name": "web", "namespace": "default"}
    spec: JSONObject = {"containers": [container(protocol)]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


MESSAGE = 'Unsupported value: "FOO": supported values: "SCTP", "TCP", "UDP"'
CAUSE = {
    "reason": "FieldValueNotSupported",
    "message": MESSAGE,
    "field": "spec.containers[0].ports[0].protocol",
}


def test_an_apply_says_what_a_server_would_refuse() -> None:
    schema = SERVER.schema("v1", "Pod")
    result = smp.three_way_apply(pod("TCP"), pod("FOO"), pod("TCP"), schema)
    # Ports of a Pod cannot be changed at all, which a server reports as well.
    enum, immutable = result.violations
    assert enum.cause == CAUSE
    assert immutable.code == "field-immutable"
    # It was there before, and the apply does not touch it.
    unchanged = smp.three_way_apply(pod("FOO"), pod("FOO"), pod("FOO"), schema)
    assert unchanged.violations == ()


def test_a_handler_refuses_it_in_the_words_of_a_server() -> None:
    schema = SERVER.schema("v1", "Pod")
    patch: JSONObject = {"spec": {"containers": [container("FOO")]}}
    body = json.dumps(patch).encode()
    refused = handler.patch(pod("TCP"), body, handler.STRATEGIC, schema)
    created = handler.create(json.dumps(pod("FOO")).encode(), schema)
    cause = (CAUSE["reason"], CAUSE["field"], CAUSE["message"])
    assert causes(created) == [cause]
    # Ports of a Pod cannot be changed at all, which a server reports as well.
    enum, (reason, field, _) = causes(refused)
    assert enum == cause
    assert (reason, field) == ("FieldValueForbidden", "spec")


def test_values_that_a_server_accepts_are_those_of_statuses() -> None:
    """But for one: the API server drops a stopSignal while its feature gate is off."""
    spec = {place for place in accepted() if "Status." not in place}
    assert spec == {"io.k8s.api.core.v1.Lifecycle.stopSignal"}
    assert len(accepted()) == 10
    assert len(answers()) == 122


def supported(message: str) -> list[str]:
    return re.findall(r'"[^"]*"', message.partition("supported values: ")[2])


def test_the_messages_are_those_of_a_server() -> None:
    """Where a server's differ, its own validation lists values in another order, knows
    fewer than it publishes (NoneOnDryRun), names the parent, or has words of its own.
    """
    kinds: Counter[str] = Counter()
    for answer in answers():
        found = smp.validate_enums(answer["object"], SERVER.schema_of(answer["object"]))
        for violation in found:
            kinds[difference(violation, answer["causes"])] += 1
    assert kinds == {
        "none": 76,
        "order": 11,
        "fewer values": 5,
        "field": 17,
        "words": 3,
    }


def difference(violation: smp.Violation, causes: list[JSONObject]) -> str:
    """Name how the causes of a server differ from ours."""
    cause = violation.cause
    if cause in causes:
        return "none"
    texts = [str(each["message"]) for each in causes if each["field"] == cause["field"]]
    ours = supported(violation.message)
    for text in texts:
        if text.startswith('Unsupported value: "Bogus"'):
            if sorted(supported(text)) == ours:
                return "order"
            if {*supported(text)} < {*ours}:
                return "fewer values"
    return "words" if texts else "field"


@cache
def module_cache() -> Path:
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is not installed")
    command = [go, "env", "GOMODCACHE"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True)
    return Path(listed.stdout.strip())


@pytest.mark.slow
def test_the_record_is_what_the_go_types_of_the_newest_version_declare() -> None:
    minor = smp.versions()[-1]
    for module, _, _ in MODULES:
        directory = module_cache() / f"{module}@{VERSIONS[minor]}"
        if not directory.is_dir():
            pytest.skip(f"{directory.name} is not in the Go module cache")
    declared = {place: dict(enum) for place, enum in enums_of(minor)}
    assert declared == read_published_enums(minor)
    assert len(declared) > 60


def test_the_record_has_every_bundled_version() -> None:
    assert tuple(VERSIONS) == smp.versions()
    assert read_published_enums("1.24") == {}
