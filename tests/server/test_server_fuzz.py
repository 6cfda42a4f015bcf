"""Any requests to the server: no 5xx, a Status for each refusal, and bounded memory.

SMP_FUZZ=20 makes twenty times as many requests.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.specs.openapi.checks import response_schema_conformance
from schemathesis.specs.openapi.schemas import OpenApiSchema

import smp
from smp._values.values import JSON, JSONObject
from smp.schema.model import Schema
from smp.schema.resources import Resources
from smp.server.objects.crds import Definition
from smp.server.openapi import OpenAPI
from tests.support.handler_objects import dump
from tests.support.makers import Maker
from tests.support.server_app import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    config_map,
    deployment,
)
from tests.support.server_definitions import CRON_TABS, cron_tab, with_schema
from tests.support.server_process import ServerProcess, memory, serving
from tests.support.strategies import json_values, makers
from tests.support.waiting import TIMEOUT

pytestmark = pytest.mark.exhaustive

SCALE: Final = int(os.environ.get("SMP_FUZZ", "1"))
MEDIA_TYPES: Final = (JSON_PATCH, MERGE, STRATEGIC)
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
STATEFUL_SETS: Final = "/apis/apps/v1/namespaces/default/statefulsets"
CRON_TAB: Final = "/apis/stable.example.com/v1/namespaces/default/crontabs"
THINGS: Final = "/apis/example.com/v1/things"


def stateful_set() -> JSONObject:
    return {**deployment(), "kind": "StatefulSet"}


OBJECTS: Final[dict[str, JSONObject]] = {
    CONFIG_MAPS: config_map("web", k="v"),
    DEPLOYMENTS: deployment(),
    STATEFUL_SETS: stateful_set(),
    CRON_TAB: cron_tab({"image": "x"}, name="web"),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that must never write a line to its log, where unexpected errors go."""
    with serving(tmp_path_factory.mktemp("server")) as running:
        running.post(DEFINITIONS, CRON_TABS)
        yield running
        assert running.process.poll() is None
        assert running.logged() == []


@pytest.fixture(scope="module")
def client(server: ServerProcess) -> Iterator[httpx.Client]:
    # The server uses HTTP; without verify=False the client would load certificates.
    with httpx.Client(
        base_url=server.url,
        timeout=TIMEOUT,
        trust_env=False,
        verify=False,  # noqa: S501 - see above
    ) as opened:
        yield opened


def limited(examples: int) -> Callable[[Any], Any]:
    """Make so many examples, without replaying or shrinking: a server keeps state."""
    return settings(
        max_examples=examples * SCALE,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.function_scoped_fixture,
            HealthCheck.filter_too_much,
        ],
    )


_OF_BINDING = b'"message":"Internal error occurred: target.'


def checked(answer: httpx.Response) -> httpx.Response:
    """Check what is true of every answer of the application, and return it."""
    check(answer.status_code, answer.headers["content-type"], answer.content)
    return answer


def check(code: int, content_type: str, content: bytes) -> None:
    # A Binding that names no node is an internal error to a kube-apiserver, too.
    assert code < 500 or _OF_BINDING in content, content[:1000]
    if code < 400:
        return
    assert content_type.startswith("application/json")
    status = json.loads(content)
    assert (status["apiVersion"], status["kind"]) == ("v1", "Status")
    assert (status["status"], status["code"]) == ("Failure", code)
    assert status["reason"]
    assert status["message"]


def create_objects(client: httpx.Client) -> None:
    """Create the objects that are absent."""
    for path, obj in OBJECTS.items():
        assert checked(client.post(path, json=obj)).status_code in {201, 409}


# Values of parameters that a random one would hardly be.
_USEFUL: Final[dict[str, list[JSON]]] = {
    "dryRun": ["All"],
    "fieldValidation": ["Ignore", "Warn", "Strict"],
    "name": ["web", "db"],
    "namespace": ["default"],
    "timeoutSeconds": [1],
}


@cache
def documented(name: str) -> OpenApiSchema:
    """Return the document of a group and version, with useful values of parameters."""
    definition = Definition.read(CRON_TABS)
    resources = Resources.builtin().with_resources(definition.resources)
    api = OpenAPI(resources, smp.kubernetes(), [definition])
    document = json.loads(api.document(name).body)
    for item in document["paths"].values():
        operations = [part for part in item.values() if isinstance(part, dict)]
        for with_parameters in (item, *operations):
            for parameter in with_parameters.get("parameters", ()):
                if parameter["name"] in _USEFUL:
                    parameter["schema"]["enum"] = _USEFUL[parameter["name"]]
    schema = schemathesis.openapi.from_dict(document)
    assert isinstance(schema, OpenApiSchema)
    return schema


GROUP_VERSIONS: Final = ("api/v1", "apis/apps/v1", "apis/stable.example.com/v1")


def test_the_server_publishes_these_documents(server: ServerProcess) -> None:
    for name in GROUP_VERSIONS:
        schema = documented(name)
        published = server.get(f"/openapi/v3/{name}")
        assert set(published["paths"]) == set(schema.raw_schema["paths"])


@pytest.mark.parametrize(
    "mode",
    [GenerationMode.POSITIVE, GenerationMode.NEGATIVE],
    ids=lambda mode: mode.value,
)
@pytest.mark.parametrize("name", GROUP_VERSIONS)
def test_requests_by_the_openapi_documents_get_documented_answers(
    server: ServerProcess, client: httpx.Client, name: str, mode: GenerationMode
) -> None:
    with requests.Session() as session:
        session.trust_env = False

        @limited(25)
        @given(case=documented(name).as_strategy(generation_mode=mode))
        def request(case: Case[Any]) -> None:
            create_objects(client)
            sent = case.as_transport_kwargs(base_url=server.url)
            with session.request(**sent, stream=True, timeout=TIMEOUT) as answer:
                if answer.status_code == 200 and "watch=" in str(answer.url):
                    return  # a watch does not end by itself
                check(
                    answer.status_code, answer.headers["content-type"], answer.content
                )
                if mode == GenerationMode.POSITIVE and case.method != "DELETE":
                    case.validate_response(answer, checks=[response_schema_conformance])

        request()


PATHS: Final = st.sampled_from(
    [
        *OBJECTS,
        *(f"{path}/web" for path in OBJECTS),
        *(f"{path}/web/status" for path in OBJECTS),
        *(f"{path}/web/scale" for path in OBJECTS),
        "/",
        "/apis",
        "/api/v1",
    ]
) | st.text(max_size=20).map(lambda text: "/" + text)
TYPES: Final = st.sampled_from(
    [
        "application/json",
        "application/yaml",
        *MEDIA_TYPES,
        "application/apply-patch+yaml",
    ]
)
ACCEPTED: Final = st.sampled_from(
    [
        "*/*",
        "application/yaml",
        "text/html",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/json;q=nan,,;",
    ]
)
QUERIES: Final = st.dictionaries(
    st.sampled_from(
        [
            "continue",
            "dryRun",
            "fieldSelector",
            "fieldValidation",
            "gracePeriodSeconds",
            "includeObject",
            "labelSelector",
            "limit",
            "propagationPolicy",
            "resourceVersion",
            "resourceVersionMatch",
        ]
    ),
    st.sampled_from(
        [
            "",
            "0",
            "1",
            "-1",
            "9" * 30,
            "All",
            "Strict",
            "Exact",
            "a=b",
            "a in (b,",
            "metadata.name=web",
        ]
    )
    | st.text(max_size=10),
    max_size=3,
)


def test_any_request_gets_an_answer_below_500(client: httpx.Client) -> None:
    @limited(250)
    @given(
        method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"]),
        path=PATHS,
        query=QUERIES,
        body=st.binary(max_size=200) | json_values().map(dump),
        media_type=TYPES,
        accept=ACCEPTED,
    )
    def request(
        method: str,
        path: str,
        query: dict[str, str],
        body: bytes,
        media_type: str,
        accept: str,
    ) -> None:
        headers = {"content-type": media_type, "accept": accept}
        answer = client.request(
            method, quote(path), params=query, content=body, headers=headers
        )
        checked(answer)

    request()


SCHEMAS: Final[dict[str, Schema]] = {
    DEPLOYMENTS: smp.kubernetes().schema("apps/v1", "Deployment"),
    STATEFUL_SETS: smp.kubernetes().schema("apps/v1", "StatefulSet"),
    CRON_TAB: Definition.read(CRON_TABS).catalog.schema(
        "stable.example.com/v1", "CronTab"
    ),
}


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.rpartition("/")[2])
def test_patches_of_real_objects(client: httpx.Client, path: str) -> None:
    schema = SCHEMAS[path]
    wanted = {"apiVersion": schema.api_version, "kind": schema.kind}

    @limited(60)
    @given(
        maker=makers(),
        media_type=st.sampled_from([STRATEGIC, MERGE]),
        part=st.sampled_from(["", "", "/status"]),
    )
    def patch(maker: Maker, media_type: str, part: str) -> None:
        create_objects(client)
        stored = client.get(f"{path}/web").json()
        body = dump(maker.spoiled(maker.patch(stored, schema), schema, patch=True))
        answer = checked(
            client.patch(
                f"{path}/web{part}", content=body, headers={"content-type": media_type}
            )
        )
        live = client.get(f"{path}/web")
        # A patch may remove the last finalizer, and with it a deleted object.
        if answer.status_code == 200 and live.status_code == 200:
            assert answer.json() == live.json()
        if answer.status_code >= 400:
            assert live.json() == stored, "a refused patch changed the object"
        else:
            assert {name: answer.json()[name] for name in wanted} == wanted

    patch()


MIB: Final = 1 << 20
DEEP: Final = b'{"a":' * 400_000 + b"1" + b"}" * 400_000
HOSTILE: Final[dict[str, tuple[str, bytes]]] = {
    "deep objects": (MERGE, DEEP),
    "deep lists": (STRATEGIC, b'{"spec":' + b"[" * MIB + b"]" * MIB + b"}"),
    "more than the limit": (MERGE, b" " * (4 * MIB)),
    "many fields": (
        STRATEGIC,
        json.dumps({f"k{number}": 1 for number in range(100_000)}).encode(),
    ),
    "many annotations": (
        MERGE,
        json.dumps(
            {"metadata": {"annotations": dict.fromkeys(map(str, range(99_999)), "")}}
        ).encode(),
    ),
    "duplicate fields": (MERGE, b"{" + b",".join([b'"a":1'] * 300_000) + b"}"),
    "a huge integer": (MERGE, b'{"spec":{"replicas":' + b"9" * MIB + b"}}"),
    "a huge exponent": (MERGE, b'{"spec":{"replicas":1e999999999}}'),
    "operations": (JSON_PATCH, dump([{"op": "test", "path": "", "value": 0}] * 60_000)),
    "copies of copies": (
        JSON_PATCH,
        dump(
            [
                {
                    "op": "add",
                    "path": "/metadata/annotations",
                    "value": {"a": "x" * 1000},
                },
                *(
                    {
                        "op": "copy",
                        "from": "/metadata/annotations",
                        "path": f"/metadata/annotations/{number}",
                    }
                    for number in range(40)
                ),
            ]
        ),
    ),
    "a long pointer": (
        JSON_PATCH,
        dump([{"op": "add", "path": "/a" * 100_000, "value": 0}]),
    ),
    "a long index": (
        JSON_PATCH,
        dump(
            [
                {
                    "op": "add",
                    "path": "/spec/template/spec/containers/" + "9" * MIB,
                    "value": 0,
                }
            ]
        ),
    ),
    "YAML aliases": (
        "application/yaml",
        b"a0: &a0 [x]\n"
        + b"".join(
            b"a%d: &a%d [%s]\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 9))
            for n in range(1, 12)
        ),
    ),
    "deep YAML": ("application/yaml", b"[" * 100_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_body_is_refused_or_harmless(client: httpx.Client, name: str) -> None:
    media_type, body = HOSTILE[name]
    create_objects(client)
    method = "PUT" if media_type == "application/yaml" else "PATCH"
    for path in (DEPLOYMENTS, CRON_TAB):
        before = client.get(f"{path}/web").json()
        headers = {"content-type": media_type}
        answer = client.request(method, f"{path}/web", content=body, headers=headers)
        checked(answer)
        if answer.status_code < 400:
            assert answer.json()["kind"] == before["kind"]
        assert client.get("/livez").status_code == 200


def test_memory_is_bounded(server: ServerProcess, client: httpx.Client) -> None:
    create_objects(client)

    def memory_after_all_bodies() -> int:
        for media_type, body in HOSTILE.values():
            headers = {"content-type": media_type}
            client.patch(f"{DEPLOYMENTS}/web", content=body, headers=headers)
        return memory(server)

    first = memory_after_all_bodies()
    for _ in range(SCALE):
        last = memory_after_all_bodies()
    assert last - first < 100


TEXT: Final[JSONObject] = {"type": "string", "default": "x" * 1000}


@pytest.mark.parametrize(
    ("schema", "spec"),
    [
        pytest.param(
            {"type": "string", "pattern": "^(a+)+$"},
            "a" * 40 + "!",
            id="exponential pattern",
        ),
        pytest.param(
            {"type": "string", "pattern": "^a*a*a*a*a*a*a*b"},
            "a" * 3000,
            id="polynomial pattern",
        ),
        pytest.param(
            {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {f"p{n}": TEXT for n in range(1000)},
                },
            },
            [{}] * 2000,
            id="defaults",
        ),
    ],
)
def test_no_definition_blocks_the_server(
    tmp_path: Path, schema: JSONObject, spec: JSON
) -> None:
    with (
        serving(tmp_path) as server,
        httpx.Client(base_url=server.url, timeout=TIMEOUT, trust_env=False) as client,
    ):
        properties: JSONObject = {"x": schema}
        definition = with_schema({"type": "object", "properties": properties})
        server.post(DEFINITIONS, definition)
        thing = {"metadata": {"name": "t"}, "spec": {"x": spec}}
        checked(client.post(THINGS, json=thing))
        assert client.get("/livez").status_code == 200
        assert memory(server) < 300
