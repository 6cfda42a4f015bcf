"""Feature gates, and overlays on custom resources: what a server does with a schema."""

from __future__ import annotations

import logging
import pickle
from typing import Any, Final

import pytest

from smp import kubernetes, validate_enums
from smp._values.values import JSONObject
from smp.errors import SchemaError, SmpError
from smp.server.settings import FeatureGates, Settings, SettingsError
from tests.record.enum_answers import answers
from tests.server.test_server_crd_unions import FINAL, spec_with, thing
from tests.support.server_app import MERGE, Served, deployment, serving
from tests.support.server_definitions import with_schema

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS: Final = "/apis/example.com/v1/things"
THING: Final = f"{THINGS}/t"
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"
BOTH: Final[JSONObject] = {"type": "A", "a": {"x": 1}, "b": {"x": 2}}
THING_TYPE: Final = "com.example.v1.Thing"
UNION: Final[JSONObject] = {
    "discriminator": "type",
    "members": {"a": "A", "b": "B"},
    "empty": ["C"],
}


@pytest.mark.parametrize(
    ("text", "gates"),
    [
        ("", FeatureGates()),
        ("APIUnions=false", FeatureGates(APIUnions=False)),
        (
            "OpenAPIEnums=F, APIUnions=0,",
            FeatureGates(APIUnions=False, OpenAPIEnums=False),
        ),
        ("APIUnions=false,APIUnions=True", FeatureGates()),
    ],
)
def test_feature_gates_are_a_list_of_names_and_booleans(
    text: str, gates: FeatureGates
) -> None:
    assert FeatureGates.parse(text) == gates


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("APIUnions", "missing bool value for APIUnions"),
        ("Unions=false", "unrecognized feature gate: Unions"),
        ("APIUnions=off", "invalid value of APIUnions=off"),
    ],
)
def test_other_feature_gates_are_refused(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        FeatureGates.parse(text)
    assert caught.value.hint


def test_an_unknown_feature_gate_is_answered_with_the_known_ones() -> None:
    with pytest.raises(SettingsError) as caught:
        FeatureGates.parse("Unions=false")
    assert caught.value.hint == "known are APIUnions, OpenAPIEnums"


@pytest.mark.parametrize("gates", [FeatureGates(), FeatureGates(APIUnions=False)])
def test_the_gate_of_unions_decides_on_custom_resources(gates: FeatureGates) -> None:
    with serving(Settings(feature_gates=gates)) as server:
        created = server.post(CRDS, with_schema(spec_with(FINAL)))
        (version,) = created["spec"]["versions"]
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        # The markers are stored and published with either.
        assert spec == spec_with(FINAL)
        assert spec_of(server) == spec
        answer = server.call("POST", THINGS, thing(BOTH))
        assert answer.status_code == (422 if gates.APIUnions else 201)


def spec_of(server: Served) -> Any:
    published = server.get("/openapi/v3/apis/example.com/v1")["components"]["schemas"]
    return published[THING_TYPE]["properties"]["spec"]


def test_without_the_gate_of_unions_malformed_ones_are_only_markers() -> None:
    off = Settings(feature_gates=FeatureGates(APIUnions=False))
    with serving(off) as server:
        malformed = with_schema(spec_with({"fieldMembers": {"A": "a"}}))
        server.post(CRDS, malformed)
        assert server.post(THINGS, thing(BOTH))["spec"] == BOTH
        assert spec_of(server) == spec_with({"fieldMembers": {"A": "a"}})
        built_in = deployment(strategy={"type": "Recreate", "rollingUpdate": {}})
        server.post(DEPLOYMENTS, built_in)


def test_the_gate_of_enums_takes_them_from_built_in_kinds_only() -> None:
    schema: JSONObject = {
        "type": "object",
        "properties": {"mode": {"type": "string", "enum": ["A", "B"]}},
    }
    with_enum = kubernetes().with_overlay(
        {
            "types": {
                "io.k8s.api.apps.v1.DeploymentStrategy": {
                    "fields": {
                        "type": {
                            "type": "string",
                            "enum": ["Recreate", "RollingUpdate"],
                        }
                    },
                    "unions": None,
                }
            }
        }
    )
    odd = deployment(strategy={"type": "Odd"})
    for enabled in (True, False):
        gates = FeatureGates(OpenAPIEnums=enabled)
        with serving(Settings(catalog=with_enum, feature_gates=gates)) as server:
            published = server.get("/openapi/v3/apis/apps/v1")["components"]["schemas"]
            strategy = published["io.k8s.api.apps.v1.DeploymentStrategy"]
            assert ("enum" in strategy["properties"]["type"]) is enabled
            answer = server.call("POST", DEPLOYMENTS, odd)
            assert answer.status_code == (422 if enabled else 201)
            if enabled:
                (cause,) = answer.json()["details"]["causes"]
                assert cause == {
                    "reason": "FieldValueNotSupported",
                    "field": "spec.strategy.type",
                    "message": 'Unsupported value: "Odd": supported values: "Recreate",'
                    ' "RollingUpdate"',
                }
            # The enum of a custom resource is part of its structural schema.
            server.post(CRDS, with_schema(schema))
            odd_thing = server.call("POST", THINGS, thing({"mode": "C"}))
            assert odd_thing.status_code == 422
            assert spec_of(server) == schema


@pytest.mark.parametrize("enabled", [True, False])
def test_the_enums_of_built_in_kinds_are_published_with_their_meanings(
    *, enabled: bool
) -> None:
    """As a kube-apiserver publishes them, status.phase too, which it does not check."""
    gates = FeatureGates(OpenAPIEnums=enabled)
    settings = Settings(catalog=kubernetes("1.36"), feature_gates=gates)
    with serving(settings) as server:
        schemas = server.get("/openapi/v3/api/v1")["components"]["schemas"]
    listed = 0
    for answer in answers():
        type_name, _, field = answer["place"].rpartition(".")
        if type_name not in schemas or field.endswith(("[]", "{}")):
            continue
        schema = schemas[type_name]["properties"][field]
        listed += 1
        if enabled:
            assert schema["enum"] == answer["values"]
            # After the description of the field.
            assert schema["description"].endswith(answer["listing"])
        else:
            # The default of a map key is published beside the type.
            assert schema.pop("default", "TCP") == "TCP"
            assert "Possible enum values" not in schema.pop("description")
            assert schema == {"type": "string"}
    assert listed == 48


def test_a_catalog_without_enums_has_no_enum_and_everything_else() -> None:
    crd = with_schema(spec_with(properties={"x": {"type": "string", "enum": ["A"]}}))
    catalog = type(kubernetes()).from_crd(crd)
    without = catalog.without_enums()
    odd = thing({"x": "B"})
    assert validate_enums(odd, catalog.schema("example.com/v1", "Thing"))
    schema = without.schema("example.com/v1", "Thing")
    assert validate_enums(odd, schema) == ()
    assert schema.descend("spec", "a", "x").name == "x"
    assert without.kinds() == catalog.kinds()
    assert pickle.loads(pickle.dumps(without)).load(THING_TYPE) == without.load(  # noqa: S301  # our own bytes
        THING_TYPE
    )


OVERLAYS: Final[dict[str, Any]] = {
    "types": {"types": {THING_TYPE: {"fields": {"spec": {"unions": [UNION]}}}}},
    "a type of the overlay": {
        "types": {
            THING_TYPE: {"fields": {"spec": "#io.example.Spec"}},
            "io.example.Spec": {
                "fields": {
                    "type": "string",
                    "a": "any",
                    "b": "any",
                },
                "unions": [UNION],
            },
        }
    },
    "a row after others that do not fit": {
        "types": {
            THING_TYPE: {"fields": {"spec": {"unions": [UNION]}}},
            "com.example.v1.Nothing": {"unions": [{}]},
        },
        "unions": [
            {**UNION, "types": {"com.example.v2.Thing": ""}},
            {
                "members": ["kind"],
                "types": {THING_TYPE: "1.0-1.1"},
                "discriminator": "",
            },
        ],
    },
}


@pytest.mark.parametrize("overlay", OVERLAYS.values(), ids=OVERLAYS)
def test_an_overlay_adds_unions_to_custom_resources(overlay: JSONObject) -> None:
    with serving(Settings(overlay=overlay)) as server:
        answer = server.call("POST", CRDS, with_schema(spec_with()))
        assert (answer.status_code, answer.headers.get("warning")) == (201, None)
        assert server.call("POST", THINGS, thing(BOTH)).status_code == 422
        server.post(THINGS, thing({"type": "A", "a": {}}))
        switched = server.patch(THING, {"spec": {"type": "B", "b": {}}})
        assert switched["spec"] == {"type": "B", "b": {}}


def test_an_overlay_replaces_the_unions_that_a_definition_declares() -> None:
    lenient: Any = {
        **UNION,
        "members": {"a": "A", "b": {"value": "B", "optional": True}},
    }
    correction: JSONObject = {"fields": {"spec": {"unions": [lenient]}}}
    with serving(Settings(overlay={"types": {THING_TYPE: correction}})) as server:
        server.post(
            CRDS, with_schema(spec_with({"fieldMembers": {"B": {"name": "b"}}}))
        )
        server.post(THINGS, thing({"type": "B"}))


def test_a_row_that_does_not_fit_a_custom_resource_is_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    misfit: JSONObject = {**UNION, "types": {THING_TYPE: ""}}
    fitting: JSONObject = {"fields": {"spec": {"unions": [UNION]}}}
    overlay: JSONObject = {"types": {THING_TYPE: fitting}, "unions": [misfit]}
    with serving(Settings(overlay=overlay)) as server:
        with caplog.at_level(logging.WARNING):
            answer = server.call("POST", CRDS, with_schema(spec_with()))
        assert answer.status_code == 201
        assert answer.headers["warning"] == (
            '299 - "the overlay does not fit and is ignored: '
            f"unions[0].types[{THING_TYPE}].discriminator: field 'type' not found\""
        )
        logged = [each for each in caplog.records if each.name == "smp.server"]
        assert [each.message for each in logged] == ["parts of a schema are ignored"]
        # Requests go on, with the row that fits.
        server.post(THINGS, thing({"type": "A", "a": {}}))
        merge = {"content_type": MERGE}
        refused = server.call("PATCH", THING, {"spec": {"b": {}}}, **merge)
        assert refused.status_code == 422


def test_a_key_of_a_list_is_no_member_of_a_union_that_an_overlay_adds() -> None:
    container = "io.k8s.api.core.v1.Container"
    row: JSONObject = {"types": {container: ""}, "members": ["name", "image"]}
    overlay: JSONObject = {"unions": [row]}
    with (
        pytest.raises(SchemaError, match="the key 'name' of this list"),
        serving(Settings(overlay=overlay)),
    ):
        pass


def test_an_overlay_that_does_not_fit_a_built_in_type_is_refused_at_the_start() -> None:
    row: JSONObject = {
        "types": {"io.k8s.api.apps.v1.DeploymentStrategy": ""},
        "discriminator": "typ",
        "members": {"rollingUpdate": "RollingUpdate"},
    }
    overlay: JSONObject = {"unions": [row]}
    with (
        pytest.raises(SchemaError, match="field 'typ' not found"),
        serving(Settings(overlay=overlay)),
    ):
        pass


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("profile", "kep1028"),
        ("on_conflict", "refuse"),
        ("seed", "1"),
        ("token", None),
        ("ratchet", "no"),
        ("max_watches", True),
        ("request_timeout", "60"),
        ("catalog", "1.37"),
    ],
)
def test_another_value_of_a_setting_is_an_error(name: str, value: object) -> None:
    settings: dict[str, Any] = {name: value}
    with pytest.raises(SmpError, match=f"^the option {name} is ") as caught:
        Settings(**settings)
    assert caught.value.code == "invalid-option"
