"""Profiles and overlays: what a server does with the schemas of custom resources."""

from __future__ import annotations

import logging
import pickle
from typing import Any, Final

import pytest

from smp import kubernetes, validate_enums
from smp._values.values import JSONObject
from smp.errors import SchemaError, SmpError
from smp.server.settings import Settings
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


@pytest.mark.parametrize("profile", ["kep1027", "off"])
def test_a_profile_decides_on_the_unions_of_custom_resources(profile: str) -> None:
    with serving(Settings(profile=profile)) as server:
        created = server.post(CRDS, with_schema(spec_with(FINAL)))
        (version,) = created["spec"]["versions"]
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        # The markers are stored and published with either.
        assert spec == spec_with(FINAL)
        assert spec_of(server) == spec
        answer = server.call("POST", THINGS, thing(BOTH))
        assert answer.status_code == (201 if profile == "off" else 422)


def spec_of(server: Served) -> Any:
    published = server.get("/openapi/v3/apis/example.com/v1")["components"]["schemas"]
    return published[THING_TYPE]["properties"]["spec"]


def test_without_a_profile_malformed_unions_are_only_markers() -> None:
    with serving(Settings(profile="off")) as server:
        malformed = with_schema(spec_with({"fieldMembers": {"A": "a"}}))
        server.post(CRDS, malformed)
        assert server.post(THINGS, thing(BOTH))["spec"] == BOTH
        assert spec_of(server) == spec_with({"fieldMembers": {"A": "a"}})
        built_in = deployment(strategy={"type": "Recreate", "rollingUpdate": {}})
        server.post(DEPLOYMENTS, built_in)


def test_the_enums_of_built_in_kinds_are_published_with_their_meanings() -> None:
    """As a kube-apiserver publishes them, status.phase too, which it does not check."""
    with serving(Settings(catalog=kubernetes("1.36"))) as server:
        schemas = server.get("/openapi/v3/api/v1")["components"]["schemas"]
    listed = 0
    for answer in answers():
        type_name, _, field = answer["place"].rpartition(".")
        if type_name not in schemas or field.endswith(("[]", "{}")):
            continue
        schema = schemas[type_name]["properties"][field]
        listed += 1
        assert schema["enum"] == answer["values"]
        # After the description of the field.
        assert schema["description"].endswith(answer["listing"])
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
