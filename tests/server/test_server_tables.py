"""Tables, compared with those of Kubernetes' own printers, and printed by kubectl."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp._values.json_path import JSONPathError, value_finder
from smp._values.values import ABSENT, JSON, JSONObject, same
from smp.schema.catalog import kubernetes
from smp.schema.resources import Resources
from smp.server.errors import StatusError
from smp.server.objects.crds import Definition
from smp.server.objects.tables import columns_of, parse_include, table
from smp.server.objects.tables.columns import human_duration, time_since
from tests.record.answered_tables import FILE as ANSWERED
from tests.record.applies import read
from tests.record.facts import facts
from tests.record.tables import NOW, printed
from tests.support.kubectl import needs_kubectl
from tests.support.loopback import Answer, Loopback, encoded, published
from tests.support.rows import each_row
from tests.support.server_definitions import CRON_TABS, cron_tab
from tests.support.strategies import json_values

BUILTIN: Final = Resources.builtin()
# Columns whose cells are times.
TIMES: Final = ("Age", "Last Seen", "First Seen", "Duration", "Last Schedule")
CRON_TAB_DEFINITION: Final = Definition.read(CRON_TABS)


def table_of(obj: JSONObject, api_version: str, kind: str) -> Any:
    """Return the table of one object of a built-in kind."""
    return table([obj], columns_of(BUILTIN.of_kind(api_version, kind)), now=NOW)


def name_of(obj: JSONObject) -> str:
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    return f"{obj['kind']} {metadata['name']}"


@each_row(
    ("obj", "columns", "cells"),
    [pytest.param(*row, id=name_of(row[0])) for row in printed()],
)
def test_cells_are_as_kubernetes_prints_them(
    obj: JSONObject, columns: JSON, cells: JSON
) -> None:
    printed_table = table_of(obj, str(obj["apiVersion"]), str(obj["kind"]))
    definitions = [
        [column["name"], column["type"], column["format"], column["priority"]]
        for column in printed_table["columnDefinitions"]
    ]
    assert definitions == columns
    assert same(printed_table["rows"][0]["cells"], cells)


def answered() -> list[dict[str, Any]]:
    _, lines = read(ANSWERED)
    return lines


@pytest.mark.parametrize("line", answered(), ids=lambda line: name_of(line["object"]))
def test_tables_are_as_a_kube_apiserver_answers_them(line: dict[str, Any]) -> None:
    obj = line["object"]
    printed_table = table_of(obj, obj["apiVersion"], obj["kind"])
    definitions = [
        [column["name"], column["type"], column["format"], column["priority"]]
        for column in printed_table["columnDefinitions"]
    ]
    assert definitions == line["columns"]
    for column, cell, expected in zip(
        line["columns"],
        printed_table["rows"][0]["cells"],
        # An IPAddress has a cell without a column.
        line["cells"][: len(definitions)],
        strict=True,
    ):
        # Ages are those of the recording.
        if column[0] not in TIMES:
            assert same(cell, expected), column[0]


def test_the_recorded_tables_cover_each_kind_with_columns_of_its_own() -> None:
    """All other kinds have the two columns of kinds without a printer."""
    recorded = {(obj["apiVersion"], obj["kind"]) for obj, _, _ in printed()}
    recorded |= {
        (line["object"]["apiVersion"], line["object"]["kind"]) for line in answered()
    }
    for resource in Resources.builtin(kubernetes("1.36")):
        # A second version has the columns of the one that is stored.
        kind = (resource.storage_api_version, resource.kind)
        if resource.is_stored and kind not in recorded:
            assert len(columns_of(resource)) == 2


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("v1", "LimitRange"),
        ("rbac.authorization.k8s.io/v1", "Role"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ],
)
def test_kinds_without_columns_show_their_creation_time(
    api_version: str, kind: str
) -> None:
    """Go: k8s.io/apiserver, rest.NewDefaultTableConvertor."""
    created = "2026-01-01T00:00:00Z"
    obj: JSONObject = {"metadata": {"name": "a", "creationTimestamp": created}}
    printed_table = table_of(obj, api_version, kind)
    columns = [
        (column["name"], column["type"])
        for column in printed_table["columnDefinitions"]
    ]
    assert columns == [("Name", "string"), ("Created At", "date")]
    assert printed_table["rows"][0]["cells"] == ["a", created]


def test_fields_that_a_server_would_default_are_shown_as_documented() -> None:
    def cells(api_version: str, kind: str) -> Any:
        printed_table = table_of({"metadata": {}}, api_version, kind)
        names = [column["name"] for column in printed_table["columnDefinitions"]]
        return dict(zip(names, printed_table["rows"][0]["cells"], strict=True))

    assert cells("apps/v1", "Deployment")["Ready"] == "0/1"
    assert cells("v1", "Service")["Type"] == "ClusterIP"
    assert cells("v1", "Secret")["Type"] == "Opaque"
    assert cells("batch/v1", "Job")["Completions"] == "0/1"


@given(json_values(), json_values())
def test_any_object_has_a_row(spec: JSON, metadata: JSON) -> None:
    """Its cells can be printed, with parts of the object of any type."""
    obj: JSONObject = {
        "metadata": metadata if isinstance(metadata, dict) else {},
        "spec": spec,
        "status": spec,
    }
    for resource in BUILTIN:
        printed_table: Any = table([obj], columns_of(resource), now=NOW)
        cells = printed_table["rows"][0]["cells"]
        assert len(cells) == len(printed_table["columnDefinitions"])
        assert all(isinstance(cell, str | int | None) for cell in cells)


@given(json_values(), st.sampled_from([*printed()]), st.randoms(use_true_random=False))
def test_an_object_with_unexpected_values_has_a_row(
    odd: JSON, row: Any, chance: Any
) -> None:
    """Its cells can be printed although a part of it has another type than usual."""
    usual = row[0]
    obj = json.loads(json.dumps(usual))
    replace_below(obj, odd, chance)
    printed_table = table_of(obj, usual["apiVersion"], usual["kind"])
    cells = printed_table["rows"][0]["cells"]
    assert all(isinstance(cell, str | int | None) for cell in cells)


def replace_below(parent: Any, odd: JSON, chance: Any) -> None:
    """Replace a random value anywhere below an object or a list.

    The metadata itself stays an object, as it always is in a store.
    """
    keys = [*parent] if isinstance(parent, dict) else [*range(len(parent))]
    key = chance.choice([key for key in keys if key != "metadata"])
    value = parent[key]
    if isinstance(value, dict | list) and value and chance.random() < 0.8:
        replace_below(value, odd, chance)
    else:
        parent[key] = odd


@each_row(("asked", "answer"), facts("duration"), ids=str)
def test_a_duration_is_printed_as_kubernetes_does(asked: Any, answer: str) -> None:
    assert human_duration(asked["seconds"]) == answer


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (None, "<unknown>"),
        ("2026-11-20T23:55:00Z", "5m"),
        ("2026-11-21T01:55:00.000000+02:00", "5m"),
        ("2026-11-21T00:00:01Z", "0s"),
        ("2026-11-21T00:00:05Z", "<invalid>"),
        ("yesterday", "<invalid>"),
        (5, "<invalid>"),
    ],
)
def test_an_age_is_the_time_since_then(time: JSON, text: str) -> None:
    assert time_since(time, NOW) == text


@pytest.mark.parametrize(
    ("include", "included"),
    [
        (
            "Metadata",
            {
                "object": {
                    "kind": "PartialObjectMetadata",
                    "apiVersion": "meta.k8s.io/v1",
                    "metadata": {"name": "a"},
                }
            },
        ),
        ("Object", {"object": {"metadata": {"name": "a"}, "data": {}}}),
        ("None", {}),
    ],
)
def test_rows_include_the_requested_object(include: str, included: JSONObject) -> None:
    obj: JSONObject = {"metadata": {"name": "a"}, "data": {}}
    columns = columns_of(BUILTIN.of_kind("v1", "ConfigMap"))
    printed_table: Any = table([obj], columns, now=NOW, include=parse_include(include))
    (row,) = printed_table["rows"]
    assert row == {"cells": row["cells"], **included}


def test_rows_include_metadata_by_default() -> None:
    assert parse_include("") == "Metadata"
    with pytest.raises(StatusError) as caught:
        parse_include("Everything")
    assert caught.type is StatusError


def printed_by_get(
    obj: JSONObject, path: str, *options: str, definition: Definition | None = None
) -> str:
    """Return what ``kubectl get`` prints of a table of an object."""
    _, _, plural = path.rpartition("/")
    if definition is not None:
        columns = definition.version("v1").columns
    else:
        resources = [resource for resource in BUILTIN if resource.plural == plural]
        columns = columns_of(resources[0])
    answer = table(
        [obj], columns, now=datetime.now(UTC), metadata={"resourceVersion": "1"}
    )
    definitions = () if definition is None else (definition,)
    answers = {**published(BUILTIN, definitions), path: Answer(encoded(answer))}
    with Loopback(answers) as server:
        return server.printed("get", plural, "-n", "shop", *options)


def ago(**time: float) -> str:
    return (datetime.now(UTC) - timedelta(**time)).strftime("%Y-%m-%dT%H:%M:%SZ")


@needs_kubectl
def test_kubectl_prints_a_table() -> None:
    obj: JSONObject = {
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "labels": {"app": "web"},
            "creationTimestamp": ago(hours=73.5),
        },
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"spec": {"containers": [{"name": "app", "image": "a:1"}]}},
        },
        "status": {"readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1},
    }
    path = "/apis/apps/v1/namespaces/shop/deployments"
    assert printed_by_get(obj, path).split("\n") == [
        "NAME   READY   UP-TO-DATE   AVAILABLE   AGE",
        "web    1/3     2            1           3d1h",
        "",
    ]
    head, row, _ = printed_by_get(obj, path, "-o", "wide").split("\n")
    narrow = ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert head.split() == [*narrow, "CONTAINERS", "IMAGES", "SELECTOR"]
    assert row.split() == ["web", "1/3", "2", "1", "3d1h", "app", "a:1", "app=web"]
    _, row, _ = printed_by_get(obj, path, "--show-labels").split("\n")
    assert row.endswith("app=web")


@needs_kubectl
@pytest.mark.parametrize(
    "time",
    [{"seconds": 90}, {"minutes": 200}, {"hours": 30}, {"days": 5.1}, {"days": 500}],
)
def test_ages_are_those_that_kubectl_computes(time: dict[str, float]) -> None:
    """Where the response is not a table, kubectl computes ages, some seconds later."""
    obj: JSONObject = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "creationTimestamp": ago(**time)},
    }
    listed: JSONObject = {
        "apiVersion": "v1",
        "kind": "ConfigMapList",
        "metadata": {},
        "items": [obj],
    }
    path = "/api/v1/namespaces/shop/configmaps"
    answers = {**published(BUILTIN), path: Answer(encoded(listed))}
    with Loopback(answers) as server:
        *_, theirs = server.printed("get", "configmaps", "-n", "shop").split()
    metadata: Any = obj["metadata"]
    ours: set[str] = set()
    for seconds in range(15):
        now = datetime.now(UTC) - timedelta(seconds=seconds)
        ours.add(time_since(metadata["creationTimestamp"], now))
    assert theirs in ours


@needs_kubectl
def test_kubectl_prints_the_columns_of_a_definition() -> None:
    """The table of the documentation's CronTab ("Additional printer columns")."""
    obj = cron_tab(
        {"cronSpec": "* * * * */5", "replicas": 1}, creationTimestamp=ago(hours=4.4)
    )
    path = "/apis/stable.example.com/v1/namespaces/shop/crontabs"
    printed_text = printed_by_get(obj, path, definition=CRON_TAB_DEFINITION)
    assert printed_text.split("\n") == [
        "NAME                 SPEC          REPLICAS   AGE",
        "my-new-cron-object   * * * * */5   1          4h24m",
        "",
    ]


THING: Final[JSONObject] = {
    "metadata": {"name": "a", "annotations": {"example.com/a": "x", "plain": "y"}},
    "spec": {
        "replicas": 3,
        "ratio": 1.5,
        "on": True,
        "nothing": None,
        "list": [{"a": 1}, {"a": 2}],
        "map": {"k": "v"},
    },
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True"},
            {"type": "Old", "status": "False", "rank": 2},
        ]
    },
}


# The forms of paths are those of "JSONPath Support" in the Kubernetes documentation.
@pytest.mark.parametrize(
    ("path", "value"),
    [
        (".spec.replicas", 3),
        (".spec['replicas']", 3),
        ("['spec']['replicas']", 3),
        (".spec.absent", ABSENT),
        (".spec.replicas.below", ABSENT),
        (".spec.nothing", None),
        (".spec.list[0].a", 1),
        (".spec.list[-1].a", 2),
        (".spec.list[2].a", ABSENT),
        (".spec.list[*].a", 1),
        (".spec.map.*", "v"),
        (r".metadata.annotations.example\.com/a", "x"),
        (".metadata.annotations['example.com/a']", "x"),
        ('.status.conditions[?(@.type=="Old")].status', "False"),
        (".status.conditions[?(@.type=='Old')].status", "False"),
        (".status.conditions[?( @.rank == 2 )].type", "Old"),
        ('.status.conditions[?(@.rank=="2")].type', ABSENT),
        (".spec", THING["spec"]),
        ("", THING),
    ],
)
def test_a_path_finds_the_first_value(path: str, value: JSON) -> None:
    assert same(value_finder(path)(THING), value)


@pytest.mark.parametrize(
    "path",
    [
        "spec",
        "..replicas",
        ".spec[",
        ".spec[0:2]",
        ".a[?(@.b>1)]",
        ".a b",
        ".a[?(@.b==x)]",
        ".spec.list[a]",
    ],
)
def test_a_path_that_is_not_supported_is_refused(path: str) -> None:
    with pytest.raises(JSONPathError):
        value_finder(path)


@pytest.mark.parametrize(
    ("type_", "path", "cell"),
    [
        ("string", ".spec.replicas", "3"),
        ("string", ".spec.on", "true"),
        ("string", ".spec.map", '{"k":"v"}'),
        ("string", ".metadata.name", "a"),
        ("integer", ".spec.replicas", 3),
        ("integer", ".spec.ratio", 1),
        ("integer", ".metadata.name", None),
        ("integer", ".spec.on", None),
        ("number", ".spec.ratio", 1.5),
        ("number", ".spec.on", None),
        ("boolean", ".spec.on", True),
        ("boolean", ".spec.replicas", None),
        ("date", ".metadata.name", "<invalid>"),
        ("string", ".spec.absent", None),
        ("string", ".spec.nothing", None),
        ("string", "..deep", None),
    ],
)
def test_a_cell_is_of_the_type_of_its_column(type_: str, path: str, cell: JSON) -> None:
    """Go: k8s.io/apiextensions-apiserver, tableconvertor.cellForJSONValue."""
    columns = columns_defined_by([{"name": "X", "type": type_, "jsonPath": path}])
    printed_table: Any = table([THING], columns, now=NOW)
    assert same(printed_table["rows"][0]["cells"], ["a", cell])


def columns_defined_by(columns: JSON) -> Any:
    definition = json.loads(json.dumps(CRON_TABS))
    definition["spec"]["versions"][0]["additionalPrinterColumns"] = columns
    return Definition.read(definition).version("v1").columns


def test_a_definition_without_columns_shows_the_age() -> None:
    printed_table: Any = table([THING], columns_defined_by([]), now=NOW)
    columns = [
        (column["name"], column["type"])
        for column in printed_table["columnDefinitions"]
    ]
    assert columns == [("Name", "string"), ("Age", "date")]
    assert printed_table["rows"][0]["cells"] == ["a", None]


def test_a_column_is_declared_as_it_is_defined() -> None:
    column: JSONObject = {
        "name": "X",
        "type": "integer",
        "jsonPath": ".spec.x",
        "priority": 1,
        "format": "int64",
        "description": "D",
    }
    printed_table: Any = table([], columns_defined_by([column]), now=NOW)
    del column["jsonPath"]
    assert printed_table["columnDefinitions"][1] == column
