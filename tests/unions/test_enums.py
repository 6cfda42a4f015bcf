from __future__ import annotations

import copy
import json
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft4Validator

from smp._storage.enums import validate_enums, without_enums
from smp._values.values import JSON, JSONObject, same
from smp.errors import DepthError, SchemaError
from smp.paths import Element
from smp.paths import Path as At
from smp.schema.catalog import kubernetes
from smp.schema.conversion import to_v3
from smp.schema.model import Schema
from smp.schema.sources.openapi import compile_documents, inline
from smp.violations import Violation
from tests.support.errors import only_reported_errors
from tests.support.kube_openapi import needs_kube_openapi, published
from tests.support.paths import DATA

CASES = json.loads((DATA / "openapi" / "enums.json").read_bytes())
POD = Schema.inline(
    "#Pod", compile_documents({"definitions": CASES["definitions"]}).types
)


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["name"])
def test_values_outside_their_enum_are_found(case: dict[str, Any]) -> None:
    before = copy.deepcopy(case["object"])
    found = validate_enums(case["object"], POD)
    shown = [
        [str(violation.path), violation.path.pointer, violation.message]
        for violation in found
    ]
    assert shown == case["violations"]
    assert same(case["object"], before)


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["name"])
def test_in_responses_they_are_warnings(case: dict[str, Any]) -> None:
    strict, lenient = (
        validate_enums(case["object"], POD),
        validate_enums(case["object"], POD, lenient=True),
    )
    assert [str(violation) for violation in lenient] == [
        str(violation) for violation in strict
    ]
    assert all(violation.warning for violation in lenient)
    assert not any(violation.warning for violation in strict)


def test_a_violation_says_what_a_status_needs() -> None:
    (found,) = validate_enums(
        {"containers": [{"name": "a"}, {"name": "b", "pullPolicy": "Often"}]}, POD
    )
    path = At(("containers", Element(1, "name", "b"), "pullPolicy"))
    message = 'Unsupported value: "Often": supported values: "Always", "Never"'
    assert found == Violation(
        "unsupported-value", path, "FieldValueNotSupported", message, "Often"
    )
    assert str(found) == f"containers[name=b].pullPolicy: {message}"
    assert found.cause == {
        "reason": "FieldValueNotSupported",
        "message": message,
        "field": "containers[1].pullPolicy",
    }


def test_the_root_may_be_an_enum() -> None:
    (found,) = validate_enums("b", inline({"type": "string", "enum": ["a"]}))
    assert str(found) == 'Unsupported value: "b": supported values: "a"'


def test_a_dangling_type_matters_only_where_the_object_gets_there() -> None:
    schema = Schema.inline(
        {"fields": {"a": "#Nowhere", "b": {"type": "string", "enum": ["x"]}}}
    )
    assert len(validate_enums({"b": "y"}, schema)) == 1
    with pytest.raises(SchemaError) as caught:
        validate_enums({"a": {}}, schema)
    assert caught.value.code == "dangling-reference"


def test_depth_is_an_error() -> None:
    obj: JSONObject = {}
    for _ in range(5000):
        obj = {"next": obj}
    with pytest.raises(DepthError):
        validate_enums(obj, POD)
    schema: JSON = {}
    for _ in range(5000):
        schema = {"items": schema}
    with pytest.raises(DepthError):
        without_enums({"definitions": {"A": schema}})


NAMES = st.sampled_from(
    [
        *CASES["definitions"]["Pod"]["properties"],
        *CASES["definitions"]["Container"]["properties"],
    ]
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(0, 3),
    st.floats(),
    st.sampled_from(["TCP", "Memory", "", "x"]),
)
OBJECTS: st.SearchStrategy[JSON] = st.recursive(
    VALUES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4)
    ),
    max_leaves=30,
)


@given(OBJECTS)
def test_any_json_is_checked_and_left_alone(obj: JSON) -> None:
    before = copy.deepcopy(obj)
    for found in validate_enums(obj, POD):
        value = obj
        for step in found.path.steps:
            value = value[step.index if isinstance(step, Element) else step]  # type: ignore[index]  # the path exists
        assert same(value, found.value)
    assert same(obj, before)


@pytest.mark.parametrize("api", [("v1", "ConfigMap"), ("v1", "ServiceAccount")])
def test_a_schema_without_enums_asks_nothing_of_an_object(api: tuple[str, str]) -> None:
    class Untouchable(dict[str, JSON]):
        def items(self) -> Any:
            raise AssertionError("the object was walked")

    assert validate_enums(Untouchable({"spec": {}}), kubernetes().schema(*api)) == ()


@pytest.mark.parametrize("case", CASES["pruning"], ids=lambda case: case["name"])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda a: {"definitions": {"A": a}},
        lambda a: {"components": {"schemas": {"A": a}}},
    ],
)
def test_pruning_restores_the_schema_before_enums(
    case: dict[str, Any], wrap: Any
) -> None:
    before = copy.deepcopy(case["with"])
    assert same(without_enums(wrap(case["with"])), wrap(case["without"]))
    assert same(case["with"], before)


def test_pruning_shares_what_it_leaves_alone() -> None:
    plain: JSON = {"properties": {"a": {"type": "string", "description": "d"}}}
    document: JSONObject = {
        "swagger": "2.0",
        "paths": {},
        "definitions": {"Plain": plain},
    }
    assert without_enums(document) is document
    definitions: JSONObject = {"Plain": plain, "Enum": {"enum": ["a"]}}
    pruned = without_enums({"definitions": definitions})["definitions"]
    assert isinstance(pruned, dict)
    assert pruned["Plain"] is plain


def test_pruning_commutes_with_conversion() -> None:
    document: JSONObject = {"swagger": "2.0", "definitions": CASES["definitions"]}
    assert same(
        without_enums(to_v3(document).document), to_v3(without_enums(document)).document
    )


def test_a_pruned_schema_finds_no_violations() -> None:
    pruned = without_enums({"definitions": CASES["definitions"]})
    schema = Schema.inline("#Pod", compile_documents(pruned).types)
    assert not any(validate_enums(case["object"], schema) for case in CASES["cases"])


REWORDED_SINCE = {
    ("io.k8s.api.core.v1.PodSpec", "restartPolicy"),
    ("io.k8s.api.core.v1.PodStatus", "qosClass"),
    ("io.k8s.api.core.v1.ServiceSpec", "externalTrafficPolicy"),
}


@needs_kube_openapi
def test_pruning_gives_what_an_api_server_publishes_without_the_feature() -> None:
    definitions = (
        files("kubernetes_validate")
        / "kubernetes-json-schema"
        / "v1.27.0-local"
        / "_definitions.json"
    )
    without = descriptions(json.loads(definitions.read_text())["$defs"])
    document = published("v3", "api.v1")
    components, pruned = document["components"], without_enums(document)["components"]
    assert isinstance(components, dict)
    assert isinstance(pruned, dict)
    have_enums = {at for at, node in fields(components["schemas"]) if "enum" in node}
    ours = descriptions(pruned["schemas"])
    assert len(have_enums) == 29
    assert {at for at in have_enums if ours[at] != without[at]} == REWORDED_SINCE


def fields(schemas: Any) -> list[tuple[tuple[str, str], Any]]:
    return [
        ((name, field), node)
        for name in schemas
        for field, node in schemas[name].get("properties", {}).items()
    ]


def descriptions(schemas: Any) -> dict[tuple[str, str], str | None]:
    return {at: node.get("description") for at, node in fields(schemas)}


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        ([], ""),
        ({"definitions": []}, "/definitions"),
        ({"components": {"schemas": {"A": 1}}}, "/components/schemas/A"),
        (
            {"$defs": {"A": {"properties": {"b": {"items": ["c"]}}}}},
            "/$defs/A/properties/b/items/0",
        ),
    ],
)
def test_a_value_that_is_not_a_schema_is_refused(document: JSON, pointer: str) -> None:
    with pytest.raises(SchemaError) as caught:
        without_enums(document)
    assert caught.value.path.pointer == pointer


WORDS = st.sampled_from(
    [
        "definitions",
        "components",
        "schemas",
        "properties",
        "items",
        "allOf",
        "enum",
        "description",
    ]
)
enum_documents: st.SearchStrategy[JSON] = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.just("d Possible enum values: x")
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4)
    ),
    max_leaves=20,
)


@given(enum_documents)
def test_any_json_is_pruned_once_or_an_error(document: JSON) -> None:
    before = copy.deepcopy(document)
    with only_reported_errors():
        pruned = without_enums(document)
        assert without_enums(pruned) is pruned
    assert same(document, before)


def test_pruning_passes_by_keywords_that_are_null() -> None:
    type_: JSONObject = {"type": "string", "properties": None, "items": None}
    document: JSONObject = {
        "definitions": {"A": {**type_, "enum": ["a"]}},
        "components": None,
    }
    assert without_enums(document) == {"definitions": {"A": type_}, "components": None}


ENUMS: st.SearchStrategy[JSON] = st.lists(
    st.sampled_from(["a", "b", "c", 1, 2, True]), min_size=1, max_size=4
)
LEAVES: st.SearchStrategy[JSONObject] = st.one_of(
    st.fixed_dictionaries({"enum": ENUMS}),
    st.fixed_dictionaries({"type": st.sampled_from(["string", "integer"])}),
    st.fixed_dictionaries({"type": st.just("string"), "enum": ENUMS}),
    st.fixed_dictionaries({"minimum": st.just(0)}),
)


def combined(*keywords: str) -> st.SearchStrategy[JSONObject]:
    """Make schemas of scalars that combine others by these keywords."""
    return st.recursive(
        LEAVES,
        lambda inner: st.fixed_dictionaries(
            {},
            optional={
                "enum": ENUMS,
                **{word: st.lists(inner, min_size=1, max_size=3) for word in keywords},
            },
        ),
        max_leaves=6,
    )


def reported(node: JSONObject, value: JSON) -> bool:
    """Tell whether the value of a map is not in the enum of a schema."""
    # As the value of a map, because an empty field is taken for an absent one.
    try:
        schema = inline({"additionalProperties": node})
    except SchemaError as error:
        # A type that no scalar of Kubernetes has, such as a string or a boolean.
        assume(error.code != "unresolvable-combination")
        raise
    return bool(validate_enums({"key": value}, schema))


@given(
    combined("allOf", "anyOf", "oneOf"), st.sampled_from(["a", "b", "c", "", 0, 1, 2])
)
def test_a_value_that_json_schema_allows_is_in_the_combined_enums(
    node: JSONObject, value: JSON
) -> None:
    """The keywords are those of JSON Schema draft 4, which jsonschema implements."""
    assume(Draft4Validator(node).is_valid(value))
    assert not reported(node, value)


@given(combined("allOf", "anyOf"), st.sampled_from(["a", "b", "", "other"]))
def test_a_string_is_in_the_combined_enums_if_json_schema_allows_it(
    node: JSONObject, value: str
) -> None:
    node = {**node, "type": "string"}
    assert reported(node, value) is not Draft4Validator(node).is_valid(value)


@pytest.mark.parametrize(
    ("node", "value", "message"),
    [
        # controller-gen: the enum of the type, and that of the field.
        (
            {"type": "string", "allOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]},
            "a",
            'Unsupported value: "a": supported values: "b"',
        ),
        (
            {"oneOf": [{"type": "integer"}, {"type": "string", "enum": ["auto"]}]},
            "full",
            'Unsupported value: "full": supported values: "auto", any integer',
        ),
        # JSON Schema: a value of oneOf is in exactly one of the branches.
        (
            {"oneOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}], "type": "string"},
            "b",
            'Unsupported value: "b": supported values: "a", "c"',
        ),
        (
            {"anyOf": [{"type": "string", "enum": ["a"]}, {"enum": [1, 2]}]},
            3,
            'Unsupported value: 3: supported values: "a", "1", "2"',
        ),
    ],
)
def test_combined_enums_are_one_enum(
    node: JSONObject, value: JSON, message: str
) -> None:
    # As any element, as any field, and as the whole value.
    (violation,) = validate_enums([value], inline({"items": node}))
    assert violation.message == message
    (violation,) = validate_enums({"f": value}, inline({"properties": {"f": node}}))
    assert violation.message == message
    (violation,) = validate_enums(value, inline(node))
    assert violation.message == message
