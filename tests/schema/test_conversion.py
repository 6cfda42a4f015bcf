from __future__ import annotations

import copy
import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp._values.values import JSON, JSONObject, same
from smp.errors import DepthError, SchemaError
from smp.schema.conversion import Conversion, to_v2, to_v3
from smp.schema.sources.openapi import compile_documents
from tests.support.errors import only_reported_errors
from tests.support.kube_openapi import needs_kube_openapi, published
from tests.support.paths import DATA

CASES = json.loads((DATA / "openapi" / "conversion.json").read_bytes())
BOTH, TO_V3, TO_V2, ERRORS = (
    CASES[name] for name in ("both_ways", "to_v3", "to_v2", "errors")
)


def converted(to: str, document: JSON) -> Conversion:
    return to_v3(document) if to == "v3" else to_v2(document)


@pytest.mark.parametrize("case", BOTH, ids=lambda case: case["name"])
def test_a_pair_converts_both_ways_and_loses_nothing(case: dict[str, Any]) -> None:
    before = copy.deepcopy(case)
    assert to_v3(case["v2"]) == Conversion(case["v3"], ())
    assert to_v2(case["v3"]) == Conversion(case["v2"], ())
    assert same(case, before)


@pytest.mark.parametrize("case", TO_V3, ids=lambda case: case["name"])
def test_to_v3_lists_what_it_loses(case: dict[str, Any]) -> None:
    conversion = to_v3(case["v2"])
    assert (conversion.document, [path.pointer for path in conversion.lost]) == (
        case["v3"],
        sorted(case["lost"]),
    )


@pytest.mark.parametrize("case", TO_V2, ids=lambda case: case["name"])
def test_to_v2_lists_what_it_loses(case: dict[str, Any]) -> None:
    conversion = to_v2(case["v3"])
    assert (conversion.document, [path.pointer for path in conversion.lost]) == (
        case["v2"],
        sorted(case["lost"]),
    )


@pytest.mark.parametrize(
    "case", ERRORS, ids=lambda case: f"{case['to']} {case['code']} at {case['at']}"
)
def test_another_document_is_an_error(case: dict[str, str]) -> None:
    with pytest.raises(SchemaError) as caught:
        converted(case["to"], case["document"])
    assert (caught.value.code, caught.value.path.pointer) == (case["code"], case["at"])


def test_served_v2_has_no_defaults() -> None:
    properties: JSON = {
        "default": {"type": "string", "default": ""},
        "spec": {"allOf": [{"$ref": "#/components/schemas/Spec"}], "default": {}},
        "list": {"type": "array", "items": {"type": "string", "default": "x"}},
    }
    query: JSON = {
        "name": "q",
        "in": "query",
        "schema": {"type": "string", "default": "kept"},
    }
    schemas: JSON = {"A": {"properties": properties}}
    conversion = to_v2(
        {
            "openapi": "3.0.0",
            "components": {"schemas": schemas, "parameters": {"q": query}},
        },
        keep_defaults=False,
    )
    assert conversion == Conversion(
        {
            "swagger": "2.0",
            "definitions": {
                "A": {
                    "properties": {
                        "default": {"type": "string"},
                        "spec": {"$ref": "#/definitions/Spec"},
                        "list": {"type": "array", "items": {"type": "string"}},
                    }
                }
            },
            "parameters": {
                "q": {"name": "q", "in": "query", "type": "string", "default": "kept"}
            },
        },
        (),
    )


def test_deep_nesting_is_an_error_of_its_own() -> None:
    schema: JSON = {}
    for _ in range(5000):
        schema = {"items": schema}
    with pytest.raises(DepthError):
        to_v3({"swagger": "2.0", "definitions": {"A": schema}})
    with pytest.raises(DepthError):
        to_v2({"openapi": "3.0.0", "components": {"schemas": {"A": schema}}})


# Schemas as Kubernetes writes them in v2: a reference may have words beside it, but no
# structure.
NAMES = st.sampled_from(["A", "B", "C"])
BESIDE: st.SearchStrategy[JSONObject] = st.fixed_dictionaries(
    {},
    optional={
        "description": st.text(max_size=3),
        "default": st.sampled_from([{}, "", 0, None]),
        "x-kubernetes-patch-strategy": st.sampled_from(["merge", "replace"]),
        "x-kubernetes-patch-merge-key": st.just("name"),
    },
)
UNIONS: st.SearchStrategy[JSON] = st.just(
    [{"discriminator": "type", "fields-to-discriminateBy": {"a": "A"}}]
)
ON_DISCRIMINATOR: st.SearchStrategy[JSON] = st.just(
    {"fieldMembers": {"A": {"name": "a", "optional": True}, "N": None}}
)
REFERENCES = NAMES.map(lambda name: {"$ref": f"#/definitions/{name}"})
SCALARS = st.sampled_from(["string", "integer", "boolean"]).map(
    lambda word: {"type": word}
)
ENUMS = st.fixed_dictionaries(
    {
        "type": st.just("string"),
        "enum": st.lists(st.text(max_size=2), min_size=1, max_size=3),
    },
    optional={"x-kubernetes-unions": ON_DISCRIMINATOR},
)


def structures(inner: st.SearchStrategy[JSONObject]) -> st.SearchStrategy[JSONObject]:
    lists = st.fixed_dictionaries({"type": st.just("array"), "items": inner})
    maps = st.fixed_dictionaries(
        {"type": st.just("object"), "additionalProperties": inner}
    )
    properties = st.dictionaries(
        st.sampled_from(["a", "type", "enum", "$ref", "allOf", "default"]),
        inner,
        max_size=3,
    )
    objects = st.fixed_dictionaries(
        {"type": st.just("object"), "properties": properties},
        optional={"x-kubernetes-unions": UNIONS},
    )
    return st.builds(
        lambda node, beside: {**beside, **node}, st.one_of(lists, maps, objects), BESIDE
    )


LEAVES = st.builds(
    lambda node, beside: {**beside, **node},
    st.one_of(REFERENCES, SCALARS, ENUMS),
    BESIDE,
)
SCHEMAS = st.recursive(LEAVES, structures, max_leaves=12)
V2 = st.builds(
    lambda schemas: {
        "swagger": "2.0",
        "info": {"title": "t", "version": "v"},
        "definitions": schemas,
    },
    st.fixed_dictionaries({name: structures(SCHEMAS) for name in "ABC"}),
)


@pytest.mark.slow
@given(V2)
def test_there_and_back_is_the_same_document(document: JSONObject) -> None:
    before = copy.deepcopy(document)
    there = to_v3(document)
    back = to_v2(there.document)
    assert (there.lost, back.lost) == ((), ())
    assert same(back.document, before)
    assert same(document, before)
    assert same(to_v3(back.document).document, there.document)


@pytest.mark.slow
@given(V2)
def test_both_versions_compile_to_the_same_types(document: JSONObject) -> None:
    assert compile_documents(to_v3(document).document) == compile_documents(document)


# Words of both versions, so that random documents pass the first checks.
WORDS: Final = """
paths /a get parameters responses 200 schema in body name requestBody content a/b
consumes produces headers definitions components schemas $ref #/definitions/a
#/components/schemas/a #/parameters/a #/responses/a a items allOf properties type enum
discriminator propertyName requestBodies securitySchemes x-a
""".split()  # noqa: SIM905  # a list literal would take forty lines


@given(st.data())
def test_any_json_is_converted_or_an_error(data: st.DataObject) -> None:
    words = st.sampled_from(WORDS)
    leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), words)
    random: st.SearchStrategy[JSON] = st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4)
        ),
        max_leaves=30,
    )
    version = data.draw(st.sampled_from([{"swagger": "2.0"}, {"openapi": "3.0.0"}, {}]))
    document = data.draw(random)
    if isinstance(document, dict):
        document = {**document, **version}
    before = copy.deepcopy(document)
    for convert in (to_v3, to_v2):
        with only_reported_errors():
            assert isinstance(convert(document).document, dict)
    assert same(document, before)


def without(document: JSONObject, conversion: Conversion) -> JSON:
    """Return a document without what a conversion of it lost."""
    rest: JSONObject = copy.deepcopy(document)
    for path in conversion.lost:
        node: JSON = rest
        for step in path.steps[:-1]:
            node = node[step]  # type: ignore[index]  # the path exists in the document
        del node[path.steps[-1]]  # type: ignore[arg-type,union-attr]  # and it ends in an object
    return rest


GROUP_VERSIONS = pytest.mark.parametrize(
    "group_version", ["api.v1", "batch.v1", "apiextensions.k8s.io.v1"]
)


@needs_kube_openapi
@GROUP_VERSIONS
def test_v3_is_what_kube_openapi_makes_of_v2(group_version: str) -> None:
    expected = published("v3", group_version)
    ours = copy.deepcopy(to_v3(published("v2", group_version)).document)
    # Two things that kube-openapi drops though v3 has them.
    ours.pop("security")
    for operation in operations(ours):
        body = operation.get("requestBody")
        if isinstance(body, dict):
            body.pop("required", None)
    assert same(ours, expected)


def operations(document: JSONObject) -> list[JSONObject]:
    paths = document["paths"]
    assert isinstance(paths, dict)
    items = [item for item in paths.values() if isinstance(item, dict)]
    return [
        operation
        for item in items
        for operation in item.values()
        if isinstance(operation, dict)
    ]


@needs_kube_openapi
@GROUP_VERSIONS
def test_a_round_trip_lacks_only_what_is_listed_as_lost(group_version: str) -> None:
    document = published("v2", group_version)
    there = to_v3(document)
    back = to_v2(there.document)
    assert back.lost == ()
    assert {path.steps[-1] for path in there.lost} == {"schemes", "consumes"}
    assert same(back.document, without(document, there))
    assert compile_documents(there.document) == compile_documents(document)


@needs_kube_openapi
@GROUP_VERSIONS
def test_v2_of_a_published_v3_has_its_definitions(group_version: str) -> None:
    v2, v3 = published("v2", group_version), published("v3", group_version)
    assert same(to_v2(v3).document["definitions"], v2["definitions"])
    served = json.dumps(to_v2(v3, keep_defaults=False).document)
    assert not [
        default
        for default in ('"default": {}', '"default": ""', '"default": 0')
        if default in served
    ]
