"""Any request gets an answer: an object of the right types, or a Status.

The right types are those of the JSON schemas that the kubernetes-validate package
contains.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Final

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from referencing import Registry, Resource

from smp import handler
from smp._storage.typed_storage import rewriting_paths
from smp._values.values import JSON, JSONObject, as_object
from smp.handler import APPLY, JSON_PATCH, MERGE, STRATEGIC, Options
from smp.schema.catalog import kubernetes
from smp.schema.model import Schema
from tests.support.handler_objects import WEB, accepted, dump, refused
from tests.support.makers import Maker, subjects
from tests.support.strategies import json_values, makers

pytestmark = pytest.mark.slow

MEDIA_TYPES: Final = st.sampled_from((STRATEGIC, MERGE, JSON_PATCH))
ALL_OPTIONS: Final = st.builds(
    # Hypothesis cannot evaluate the annotations of the class; it need not.
    lambda **options: Options(**options),  # noqa: PLW0108
    field_validation=st.sampled_from(("Ignore", "Warn", "Strict")),
    profile=st.sampled_from(
        ("kep1027", "kep1027-draft", "kep2019", "smd", "validate-only", "off")
    ),
    prune=st.booleans(),
    custom=st.booleans(),
    strategic=st.just(value=True),
    manager=st.sampled_from((None, "a")),
    typed=st.booleans(),
)
KINDS: Final = [subject for subject in subjects() if subject.schema.kind]
_TYPING: Final = {"type", "additionalProperties", "oneOf"}


@cache
def published_schemas() -> Registry:
    """Return the published schemas.

    In them an unknown field is an error, and null stands for an absent value.
    """
    path = (
        files("kubernetes_validate")
        / "kubernetes-json-schema"
        / "v1.37.0-local-strict"
        / "_definitions.json"
    )
    registry: Registry = Registry().with_resource(
        "k8s", Resource.from_contents(json.loads(path.read_bytes()))
    )
    return registry


@cache
def published_validator(api_version: str, kind: str) -> jsonschema.Draft202012Validator:
    """Return a validator for the published schema of a kind."""
    definitions = published_schemas()["k8s"].contents["$defs"]
    group, _, version = api_version.rpartition("/")
    named = {"group": group, "version": version, "kind": kind}
    name = next(
        name
        for name, node in definitions.items()
        if named in node.get("x-kubernetes-group-version-kind", [])
    )
    return jsonschema.Draft202012Validator(
        {"$ref": f"k8s#/$defs/{name}"}, registry=published_schemas()
    )


def type_errors(obj: JSONObject, schema: Schema) -> list[str]:
    """Return where an object has a value of a wrong type, or an unknown field.

    Null is an absent value.
    """
    errors = published_validator(schema.api_version, schema.kind).iter_errors(obj)
    return [
        f"{error.json_path}: {error.message:.100}"
        for error in errors
        if error.validator in _TYPING and error.instance is not None
    ]


def check_outcome(outcome: handler.Outcome, stored: JSONObject) -> None:
    """Check what is true of every outcome."""
    if isinstance(outcome, handler.Refused):
        refused(outcome)
    else:
        assert json.loads(outcome.body) == json.loads(dump(outcome.object))
        assert outcome.changed == (outcome.object is not stored)
    headers = list(handler.warning_headers(outcome.warnings))
    assert bool(headers) == bool(outcome.warnings)


@given(
    body=st.binary() | json_values().map(dump),
    media_type=MEDIA_TYPES,
    options=ALL_OPTIONS,
)
def test_any_bytes_are_answered(body: bytes, media_type: str, options: Options) -> None:
    schema = kubernetes().schema("apps/v1", "Deployment")
    check_outcome(handler.patch(WEB, body, media_type, schema, options), WEB)
    check_outcome(handler.patch(WEB, body, media_type, None, options), WEB)
    check_outcome(handler.patch(WEB, body, APPLY, schema, options), WEB)
    check_outcome(handler.patch(None, body, APPLY, None, options), WEB)
    check_outcome(handler.replace(WEB, body, schema, options), WEB)
    check_outcome(handler.create(body, schema, options), WEB)


OPERATIONS: Final = st.lists(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(
                ("add", "remove", "replace", "move", "copy", "test", "spam")
            )
        },
        optional={
            name: st.sampled_from(
                (
                    "",
                    "/",
                    "/spec",
                    "/spec/replicas",
                    "/metadata/name",
                    "/metadata/labels",
                    "/spec/template/spec/containers/0",
                    "/spec/template/spec/containers/-",
                    "/spec/template/spec/volumes/0/name",
                    "/a~1b/~2",
                    "x",
                )
            )
            for name in ("path", "from")
        }
        | {"value": json_values()},
    ),
    max_size=6,
)


@given(operations=OPERATIONS, options=ALL_OPTIONS)
def test_any_operations_are_answered(operations: JSON, options: Options) -> None:
    schema = kubernetes().schema("apps/v1", "Deployment")
    outcome = handler.patch(WEB, dump(operations), JSON_PATCH, schema, options)
    check_outcome(outcome, WEB)
    if isinstance(outcome, handler.Accepted) and options.prune:
        assert not type_errors(outcome.object, schema)


@given(
    maker=makers(), media_type=st.sampled_from((STRATEGIC, MERGE)), options=ALL_OPTIONS
)
def test_patches_with_faults_are_answered(
    maker: Maker, media_type: str, options: Options
) -> None:
    schema = maker.random.choice(KINDS).schema
    stored = maker.object(schema)
    body = dump(maker.spoiled(maker.patch(stored, schema), schema, patch=True))
    outcome = handler.patch(stored, body, media_type, schema, options)
    check_outcome(outcome, stored)
    if isinstance(outcome, handler.Accepted) and options.prune:
        assert not type_errors(outcome.object, schema)


@given(maker=makers(), options=ALL_OPTIONS, force=st.booleans())
def test_configurations_with_faults_are_answered(
    maker: Maker, options: Options, *, force: bool
) -> None:
    schema = maker.random.choice(KINDS).schema
    kind: JSONObject = {"apiVersion": schema.api_version, "kind": schema.kind}
    applying = structs.replace(options, manager="b", force=force)
    first = {**maker.object(schema), **kind}
    created = handler.patch(None, dump(first), APPLY, schema, applying)
    if isinstance(created, handler.Refused):
        refused(created)
        return
    stored = created.object
    second = {**maker.spoiled(maker.object(schema), schema, patch=False), **kind}
    other = structs.replace(applying, manager="c")
    outcome = handler.patch(stored, dump(second), APPLY, schema, other)
    check_outcome(outcome, stored)
    if isinstance(outcome, handler.Accepted) and options.prune:
        assert not type_errors(outcome.object, schema)
    if "managedFields" not in as_object(stored.get("metadata")):
        # A configuration that owns nothing leaves an object without owners. What the
        # server filled in then belongs to before-first-apply, from the next apply on.
        return
    # What was applied once is there already.
    again = handler.patch(stored, dump(first), APPLY, schema, applying)
    # What a strategy compares to the letter is written again (Go: reflect.DeepEqual).
    changed = accepted(again).changed
    assert not changed or rewriting_paths(first, schema)


@given(maker=makers())
def test_whole_objects_are_accepted_as_the_published_schemas_accept_them(
    maker: Maker,
) -> None:
    schema = maker.random.choice(KINDS).schema
    spoilt = maker.spoiled(maker.object(schema), schema, patch=False)
    obj: JSONObject = {**spoilt, "apiVersion": schema.api_version, "kind": schema.kind}
    if not readable_by_both(obj):
        return
    outcome = handler.create(
        dump(obj), schema, Options(field_validation="Strict", profile="off")
    )
    wrong = type_errors(obj, schema)
    if wrong:
        assert refused(outcome).code == 400, wrong
    else:
        accepted(outcome)


def readable_by_both(value: JSON) -> bool:
    """Return whether JSON Schema and Go agree on the types of a value.

    They disagree on 1.0, which JSON Schema takes for an integer, and on null in a list.
    """
    if isinstance(value, dict):
        return all(readable_by_both(member) for member in value.values())
    if isinstance(value, list):
        return None not in value and all(readable_by_both(item) for item in value)
    return not (isinstance(value, float) and value.is_integer())


@given(maker=makers(), options=ALL_OPTIONS)
def test_a_patch_changes_none_of_its_arguments(maker: Maker, options: Options) -> None:
    schema = maker.random.choice(KINDS).schema
    stored = maker.object(schema)
    before = dump(stored)
    body = dump(maker.patch(stored, schema))
    by_dict = handler.patch(stored, body, STRATEGIC, schema, options)
    by_bytes = handler.patch(before, body, STRATEGIC, schema, options)
    assert dump(stored) == before
    assert by_dict.body == by_bytes.body
