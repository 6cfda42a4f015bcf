"""Definitions and objects that are wrong, deep, large, or take long to judge.

Each is an error, or a warning, with its place, in bounded time and memory.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import pytest

from smp.testing import KubernetesApi
from tests.support.command import run
from tests.support.server_definitions import definition_of

_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ORDERS: Final = "/apis/example.com/v1/namespaces/default/orders"
_SECONDS: Final = 60
_BYTES: Final = 1_500_000_000
_LOOPS: Final = [
    "self.a.all(x, self.a.all(y, self.a.all(z, self.a.sum() > -1)))",
    "self.a.map(x, self.t + self.t).map(y, y + y).size() > 0",
    "self.a.map(x, self.a + self.a).map(y, y + y).map(z, z + z).size() > 0",
    "self.t.replace('a', self.t).size() > 0",
    f"[self.t]{'.map(x, x + x)' * 16}.size() > 0",
]


def definition(spec: Any) -> dict[str, Any]:
    return definition_of("Order", {"v1": spec})


def order(spec: Any) -> dict[str, Any]:
    metadata = {"name": "one", "namespace": "default"}
    return {
        "apiVersion": "example.com/v1",
        "kind": "Order",
        "metadata": metadata,
        "spec": spec,
    }


def written(of_definition: Any, obj: Any) -> tuple[str, str]:
    Path("crd.json").write_text(json.dumps(of_definition))
    Path("order.json").write_text(json.dumps(obj))
    return "crd.json", "order.json"


def commands(crd: str, path: str) -> list[list[str]]:
    return [
        ["lint", crd, path],
        ["apply", "--crd", crd, "-f", path],
        ["diff", "--crd", crd, "-f", path, "--live", "live.json"],
        ["explain", "--crd", crd, "-f", path],
    ]


_OBJECT: Final = {"type": "object"}


@pytest.mark.parametrize(
    ("of_definition", "told"),
    [
        (
            definition(
                {
                    **_OBJECT,
                    "properties": {"a": {"type": "integer"}},
                    "x-kubernetes-validations": [{"rule": "self.nope =="}],
                }
            ),
            ("x-kubernetes-validations[0].rule", "1 rule was not checked"),
        ),
        (definition({"type": "list"}), ("list",)),
        (definition({**_OBJECT, "properties": ["a"]}), ("properties", "not array")),
        (definition({**_OBJECT, "properties": {"a": None}}), ("a",)),
        ({**definition({}), "spec": None}, ("group",)),
    ],
)
def test_a_definition_that_cannot_be_compiled_is_told_with_its_place(
    of_definition: Any, told: tuple[str, ...]
) -> None:
    paths = written(of_definition, order({"a": 1}))
    Path("live.json").write_text(json.dumps(order({"a": 2})))
    for command in commands(*paths):
        ran = run(*command)
        said = ran.stdout + ran.stderr
        assert any(text in said for text in told), (command, said)
        assert "Traceback" not in said
    with KubernetesApi() as api:
        client = api.client("httpx")
        answer = client.post(_DEFINITIONS, content=json.dumps(of_definition))
        assert answer.status_code in (400, 422)
        assert answer.json()["message"]


def test_schemas_and_objects_a_hundred_levels_deep_are_judged() -> None:
    schema: Any = {"type": "string", "maxLength": 3}
    value: Any = "long"
    for _ in range(100):
        rules = [{"rule": "has(self.a)"}]
        schema = {**_OBJECT, "properties": {"a": schema}}
        schema["x-kubernetes-validations"] = rules
        value = {"a": value}
    paths = written(definition(schema), order(value))
    Path("live.json").write_text(json.dumps(order({})))
    for command in commands(*paths):
        ran = run(*command)
        # It is too long, and nothing is said of the depth.
        assert "a.a.a" in ran.stdout + ran.stderr, command
        assert "deep" not in ran.stderr
    with KubernetesApi() as api:
        client = api.client("httpx")
        # The server reads no document of more than 100 levels, and says so.
        answer = client.post(_DEFINITIONS, content=json.dumps(definition(schema)))
        assert answer.status_code == 400
        assert "100 levels deep" in answer.json()["message"]


def test_what_is_nested_deeper_than_can_be_read_is_an_error() -> None:
    nested = '{"type":"object","properties":{"a":' * 1500 + "{}" + "}}" * 1500
    text = json.dumps(definition("@")).replace('"@"', nested)
    _, path = written({}, order({"a": 1}))
    Path("crd.json").write_text(text)
    Path("live.json").write_text(json.dumps(order({})))
    for command in commands("crd.json", path):
        ran = run(*command)
        assert ran.exit_code in (2, 3)
        assert "crd.json" in ran.stderr
        assert "nested too deeply" in ran.stderr
    with KubernetesApi() as api:
        answer = api.client("httpx").post(_DEFINITIONS, content=text)
        assert answer.status_code == 400


def limited(*command: str) -> tuple[str, float]:
    """Return what a command says, and the seconds of processor that it takes."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))

    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    ran = subprocess.run(
        [sys.executable, "-m", "smp", *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS * 10,
        preexec_fn=limit,
    )
    taken = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return ran.stdout + ran.stderr, taken


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are of Linux")
def test_rules_that_explode_and_large_objects_end_in_bounded_time_and_memory() -> None:
    numbers = {"type": "array", "items": {"type": "integer"}}
    rules = [{"rule": rule} for rule in _LOOPS]
    spec = {**_OBJECT, "properties": {"a": numbers, "t": {"type": "string"}}}
    exploding = definition({**spec, "x-kubernetes-validations": rules})
    obj = order({"a": [*range(9000)], "t": "a" * 20_000})
    element = {
        **_OBJECT,
        "properties": {"n": {"type": "string", "pattern": "^[a-z0-9]*$"}},
        "x-kubernetes-validations": [{"rule": "self.n != 'x'"}],
    }
    plain = definition(
        {**_OBJECT, "properties": {"l": {"type": "array", "items": element}}}
    )
    large = order({"l": [{"n": "a" * 50 + str(n)} for n in range(80_000)]})
    wrong = order({"l": [{"n": "A" * 50 + str(n)} for n in range(80_000)]})
    Path("live.json").write_text(json.dumps(order({})))
    for of_definition, judged, told in (
        (exploding, obj, "may take too many steps"),
        (plain, large, ""),
        (plain, wrong, "should match"),
    ):
        paths = written(of_definition, judged)
        for command in commands(*paths):
            said, taken = limited(*command)
            assert told in said, command
            assert "Traceback" not in said, said[-2000:]
            assert taken < _SECONDS, command


@pytest.mark.exhaustive
def test_the_server_ends_rules_that_explode_and_refuses_large_objects() -> None:
    numbers = {"type": "array", "items": {"type": "integer"}}
    rules = [{"rule": rule} for rule in _LOOPS]
    spec = {**_OBJECT, "properties": {"a": numbers, "t": {"type": "string"}}}
    exploding = definition({**spec, "x-kubernetes-validations": rules})
    with KubernetesApi() as api:
        client = api.client("httpx")
        assert client.post(_DEFINITIONS, json=exploding).status_code == 201
        started = time.process_time()
        obj = order({"a": [*range(9000)], "t": "a" * 20_000})
        assert client.post(_ORDERS, json=obj, timeout=600).status_code == 201
        assert time.process_time() - started < _SECONDS
        large = order({"a": [], "t": "a" * 5_000_000})
        assert client.post(_ORDERS, json=large).status_code == 413
