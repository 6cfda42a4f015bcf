"""What an API server stores of opaque JSON (RawExtension, JSON), as it was recorded.

tests/record/opaque.py recorded it.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, Final

import smp
from smp import SmpError, wire
from smp._values.values import same
from smp.schema.model import RAW, ListType, ObjectType, Type
from tests.record.opaque import read

VERSION, LINES = read()
CATALOG: Final = smp.kubernetes(VERSION)
_REFUSED: Final = 500
_OK: Final = 200


def _schema(line: dict[str, Any]) -> smp.Schema:
    return CATALOG.schema_of(line["live"])


def test_patches_store_opaque_json_as_a_server_does() -> None:
    differing = []
    for line in LINES:
        if line["code"] != _OK:
            continue
        live, patch, schema = line["live"], line["patch"], _schema(line)
        text = wire.apply_patch(json.dumps(live), json.dumps(patch), schema)
        results = (smp.apply_patch(live, patch, schema), json.loads(text))
        differing += [
            (patch, member, result)
            for result in results
            for member in ("spec", "data")
            if not same(result.get(member), line["stored"].get(member))
        ]
    assert not differing


def test_what_a_server_cannot_merge_is_an_error() -> None:
    merged = []
    for line in LINES:
        if line["code"] >= _REFUSED:
            with suppress(SmpError):
                result = smp.apply_patch(line["live"], line["patch"], _schema(line))
                merged.append(result)
    assert not merged


def test_an_apply_predicts_opaque_json() -> None:
    differing = []
    for line in LINES:
        live, schema = line["live"], _schema(line)
        if line["code"] != _OK or schema.kind == "CustomResourceDefinition":
            continue
        if "config" not in live.get("spec", {}) or "$patch" in line["patch"]["spec"]:
            continue
        manifest = {**live, "spec": line["patch"]["spec"]}
        applied = smp.three_way_apply(live, manifest, live, schema, defaults=True)
        is_stored = same(applied.object["spec"], line["stored"]["spec"])
        if not is_stored or not applied.converged or applied.hazards:
            differing.append(applied)
    assert not differing


def test_every_published_type_of_opaque_json_is_known() -> None:
    """Go: the types that encode themselves and keep what they decode."""
    names = {
        "io.k8s.apimachinery.pkg.runtime.RawExtension",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
    }
    unknown = []
    places = 0
    for version in smp.versions():
        catalog = smp.kubernetes(version)
        seen: set[str] = set()
        rest: list[Type] = [catalog.schema(*kind).type for kind in catalog.kinds()]
        while rest:
            type_ = rest.pop()
            if isinstance(type_, ListType):
                rest.append(type_.items)
            if not isinstance(type_, ObjectType) or type_.name in seen:
                continue
            seen.add(type_.name)
            rest += [field.type for field in type_]
            if type_.others is not None:
                rest.append(type_.others.type)
            if type_.name in names:
                places += 1
                if type_.stored is not RAW:
                    unknown.append((version, type_.name))
    assert not unknown
    assert places == 2 * len(smp.versions())
