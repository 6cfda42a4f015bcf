"""Tables, beside what Kubernetes' own printers make of the same objects, and printed by
the real kubectl.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp.server.errors import StatusError
from smp.server.objects.crds import Definition
from smp.server.objects.crds.json_path import JSONPathError, member_names, value_finder
from smp.server.objects.resources import Resources
from smp.server.objects.tables import columns_of, parse_include, table
from smp.server.objects.tables.columns import human_duration, time_since
from smp.values import ABSENT, JSON, JSONObject, same
from tests.record.facts import facts
from tests.record.tables import NOW, printed
from tests.support.kubectl import needs_kubectl
from tests.support.loopback import Answer, Loopback, encoded, published
from tests.support.server_definitions import CRON_TABS, cron_tab
from tests.support.strategies import json_values

BUILTIN: Final = Resources.builtin()
CRON_TAB_DEFINITION: Final = Definition.read(CRON_TABS)


def name_of(obj: JSONObject) -> str:
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    return f"{obj['kind']} {metadata['name']}"


@pytest.mark.parametrize(
    ("obj", "columns", "cells"),
    [pytest.param(*row, id=name_of(row[0])) for row in printed()],
)
def test_cells_are_as_kubernetes_prints_them(
    obj: JSONObject, columns: JSON, cells: JSON
) -> None:
    made: Any = table(
        [obj],
        columns_of(BUILTIN.of_kind(str(obj["apiVersion"]), str(obj["kind"]))),
        now=NOW,
    )
    definitions = made["columnDefinitions"]
    assert [
        [one[word] for word in ("name", "type", "format", "priority")]
        for one in definitions
    ] == columns
    assert same(made["rows"][0]["cells"], cells)


def test_the_recorded_tables_cover_each_kind_with_columns_of_its_own() -> None:
    known = {(obj["apiVersion"], obj["kind"]) for obj, _, _ in printed()}
    plain = [one for one in BUILTIN if (one.api_version, one.kind) not in known]
    assert {len(columns_of(one)) for one in plain} == {2}


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
    """As rest.NewDefaultTableConvertor of k8s.io/apiserver does for kinds that have no
    columns of their own.
    """
    obj: JSONObject = {
        "metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}
    }
    made: Any = table([obj], columns_of(BUILTIN.of_kind(api_version, kind)), now=NOW)
    assert [(one["name"], one["type"]) for one in made["columnDefinitions"]] == [
        ("Name", "string"),
        ("Created At", "date"),
    ]
    assert made["rows"][0]["cells"] == ["a", "2026-01-01T00:00:00Z"]


def test_fields_that_a_server_would_default_are_shown_as_documented() -> None:
    def cells(api_version: str, kind: str) -> Any:
        made: Any = table(
            [{"metadata": {}}], columns_of(BUILTIN.of_kind(api_version, kind)), now=NOW
        )
        return dict(
            zip(
                (one["name"] for one in made["columnDefinitions"]),
                made["rows"][0]["cells"],
                strict=True,
            )
        )

    assert cells("apps/v1", "Deployment")["Ready"] == "0/1"
    assert cells("v1", "Service")["Type"] == "ClusterIP"
    assert cells("v1", "Secret")["Type"] == "Opaque"
    assert cells("batch/v1", "Job")["Completions"] == "0/1"


@given(json_values(), json_values())
def test_any_object_has_a_row(spec: JSON, metadata: JSON) -> None:
    """Whatever is in the parts of an object that have cells, a cell is something that
    can be printed.
    """
    obj: JSONObject = {
        "metadata": metadata if isinstance(metadata, dict) else {},
        "spec": spec,
        "status": spec,
    }
    for resource in BUILTIN:
        made: Any = table([obj], columns_of(resource), now=NOW)
        assert len(made["rows"][0]["cells"]) == len(made["columnDefinitions"])
        assert all(
            isinstance(cell, str | int | None) for cell in made["rows"][0]["cells"]
        )


@given(json_values(), st.sampled_from([*printed()]), st.randoms(use_true_random=False))
def test_an_object_with_unexpected_values_has_a_row(
    odd: JSON, row: Any, chance: Any
) -> None:
    """An object whose parts are of other types than they should be has cells all the
    same.
    """
    obj = json.loads(json.dumps(row[0]))
    _put(obj, odd, chance)
    made: Any = table(
        [obj],
        columns_of(BUILTIN.of_kind(row[0]["apiVersion"], row[0]["kind"])),
        now=NOW,
    )
    assert all(isinstance(cell, str | int | None) for cell in made["rows"][0]["cells"])


def _put(place: Any, odd: JSON, chance: Any) -> None:
    """Replace something below a place; the metadata is always an object, as the store
    has checked.
    """
    keys = [*place] if isinstance(place, dict) else [*range(len(place))]
    key = chance.choice([key for key in keys if key != "metadata"])
    if isinstance(place[key], dict | list) and place[key] and chance.random() < 0.8:
        _put(place[key], odd, chance)
    else:
        place[key] = odd


@pytest.mark.parametrize(("asked", "answer"), facts("duration"), ids=str)
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
    ("include", "carried"),
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
def test_rows_include_the_requested_object(include: str, carried: JSONObject) -> None:
    obj: JSONObject = {"metadata": {"name": "a"}, "data": {}}
    made: Any = table(
        [obj],
        columns_of(BUILTIN.of_kind("v1", "ConfigMap")),
        now=NOW,
        include=parse_include(include),
    )
    (row,) = made["rows"]
    assert row == {"cells": row["cells"], **carried}


def test_rows_include_metadata_by_default() -> None:
    assert parse_include("") == "Metadata"
    with pytest.raises(StatusError) as caught:
        parse_include("Everything")
    assert caught.type is StatusError


def got(
    objects: list[JSONObject],
    path: str,
    *arguments: str,
    definitions: tuple[Definition, ...] = (),
) -> str:
    """Return what ``kubectl get`` prints where the objects are answered as a table."""
    resources = BUILTIN.with_resources(
        resource for one in definitions for resource in one.resources
    )
    resource = next(one for one in resources if path.endswith(f"/{one.plural}"))
    columns = (
        CRON_TAB_DEFINITION.version("v1").columns
        if resource.custom
        else columns_of(resource)
    )
    made = table(
        objects, columns, now=datetime.now(UTC), metadata={"resourceVersion": "1"}
    )
    answers = {**published(BUILTIN, definitions), path: Answer(encoded(made))}
    with Loopback(answers) as server:
        return server.printed("get", resource.plural, "-n", "shop", *arguments)


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
    assert got([obj], path).split("\n") == [
        "NAME   READY   UP-TO-DATE   AVAILABLE   AGE",
        "web    1/3     2            1           3d1h",
        "",
    ]
    wide = got([obj], path, "-o", "wide").split("\n")
    assert wide[0].split() == [
        *[
            "NAME",
            "READY",
            "UP-TO-DATE",
            "AVAILABLE",
            "AGE",
            "CONTAINERS",
            "IMAGES",
            "SELECTOR",
        ]
    ]
    assert wide[1].split() == [
        *["web", "1/3", "2", "1", "3d1h", "app", "a:1", "app=web"]
    ]
    assert got([obj], path, "--show-labels").split("\n")[1].endswith("app=web")


@needs_kubectl
@pytest.mark.parametrize(
    "time",
    [{"seconds": 90}, {"minutes": 200}, {"hours": 30}, {"days": 5.1}, {"days": 500}],
)
def test_ages_are_those_that_kubectl_computes(time: dict[str, float]) -> None:
    """Without a table, kubectl prints names and ages by itself; a second may pass
    between the two.
    """
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
    with Loopback(
        {
            **published(BUILTIN),
            "/api/v1/namespaces/shop/configmaps": Answer(encoded(listed)),
        }
    ) as server:
        theirs = server.printed("get", "configmaps", "-n", "shop").split()[-1]
    moments = (datetime.now(UTC) - timedelta(seconds=second) for second in range(15))
    metadata: Any = obj["metadata"]
    assert theirs in {
        time_since(metadata["creationTimestamp"], parse_time) for parse_time in moments
    }


@needs_kubectl
def test_kubectl_prints_the_columns_of_a_definition() -> None:
    """The table of the documentation's CronTab ("Additional printer columns")."""
    obj = cron_tab(
        {"cronSpec": "* * * * */5", "replicas": 1}, creationTimestamp=ago(hours=4.4)
    )
    path = "/apis/stable.example.com/v1/namespaces/shop/crontabs"
    assert got([obj], path, definitions=(CRON_TAB_DEFINITION,)).split("\n") == [
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


# The paths are of the kinds that "JSONPath Support" in the Kubernetes documentation
# describes.
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


def test_a_path_of_members_is_a_list_of_names() -> None:
    assert member_names(r".spec.a\.b['c']") == ("spec", "a.b", "c")
    for path in ("", ".spec[0]", ".spec.*", '.a[?(@.b=="c")]'):
        with pytest.raises(JSONPathError):
            member_names(path)


@pytest.mark.parametrize(
    ("kind", "path", "cell"),
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
def test_a_cell_is_of_the_type_of_its_column(kind: str, path: str, cell: JSON) -> None:
    """Source: cellForJSONValue in k8s.io/apiextensions-apiserver,
    pkg/registry/customresource/tableconvertor.
    """
    made: Any = table(
        [THING], defined([{"name": "X", "type": kind, "jsonPath": path}]), now=NOW
    )
    assert same(made["rows"][0]["cells"], ["a", cell])


def defined(columns: JSON) -> Any:
    definition = json.loads(json.dumps(CRON_TABS))
    definition["spec"]["versions"][0]["additionalPrinterColumns"] = columns
    return Definition.read(definition).version("v1").columns


def test_a_definition_without_columns_shows_the_age() -> None:
    made: Any = table([THING], defined([]), now=NOW)
    assert [(one["name"], one["type"]) for one in made["columnDefinitions"]] == [
        ("Name", "string"),
        ("Age", "date"),
    ]
    assert made["rows"][0]["cells"] == ["a", None]


def test_a_column_is_declared_as_it_is_defined() -> None:
    column: JSONObject = {
        "name": "X",
        "type": "integer",
        "jsonPath": ".spec.x",
        "priority": 1,
        "format": "int64",
        "description": "D",
    }
    made: Any = table([], defined([column]), now=NOW)
    assert made["columnDefinitions"][1] == {
        name: value for name, value in column.items() if name != "jsonPath"
    }
