"""Reset fields, beside the strategies of Kubernetes and a real kube-apiserver.

tests/record/reset_fields.py recorded what managers own that write everything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path as FilePath

import pytest

import smp
from smp._values.values import JSONObject, as_list, as_object
from smp.errors import UnknownKindError
from smp.managed_fields import FieldSet, fieldset_of, reset_fields
from smp.managed_fields._ownership import NEVER_OWNED
from smp.paths import Path
from smp.schema.catalog import compile_definitions, read_compiled
from smp.schema.model import Schema
from tests.record.reset_fields import DEFINITIONS, RECORD, WITH_STATUS, WITHOUT_STATUS
from tests.record.resources import module, needs_kubernetes

RECORDS = [json.loads(line) for line in RECORD.read_text().splitlines()]


def _schema(configuration: JSONObject) -> Schema:
    catalog = smp.kubernetes("1.36") | smp.Catalog.from_crd([*DEFINITIONS])
    return catalog.schema_of(configuration)


@pytest.mark.parametrize(
    "record",
    RECORDS,
    ids=lambda record: f"{record['configuration']['kind']}/{record['subresource']}",
)
def test_a_manager_owns_what_a_server_says_that_it_owns(record: JSONObject) -> None:
    configuration = as_object(record["configuration"])
    schema = _schema(configuration)
    reset = reset_fields(schema, str(record["subresource"]))
    fields = fieldset_of(configuration, schema).recursive_difference(reset)
    assert fields.difference(NEVER_OWNED).to_v1() == record["fieldsV1"]


def test_the_record_has_all_kinds_of_rules() -> None:
    kinds = {record["configuration"]["kind"] for record in RECORDS}
    assert len(kinds) >= 28
    assert {record["subresource"] for record in RECORDS} == {"", "status", "approval"}


_KINDS = {
    "certificates": "CertificateSigningRequest",
    "storagemigration": "StorageVersionMigration",
}
_STRATEGY = re.compile(
    r"func \((?:\w+ )?\*?(\w+)\) GetResetFields\(\) map.*?\n(.*?)\n}", re.DOTALL
)
_ENTRY = re.compile(r'"((?:[a-z0-9.]+/)?v\d\w*)"|MakePathOrDie\(([^)]*)\)')
_SUBRESOURCES = ("approval", "finalize", "status")


def _strategies(sources: FilePath) -> Iterator[tuple[str, str, str, FieldSet]]:
    """Yield apiVersion, kind, subresource and reset fields of each strategy."""
    kinds = {kind.lower(): kind for _, kind in smp.kubernetes().kinds()}
    for file in sorted((sources / "pkg" / "registry").glob("*/*/strategy.go")):
        folder = file.parent.name
        kind = _KINDS.get(folder) or kinds.get(folder, "")
        for receiver, body in _STRATEGY.findall(file.read_text()):
            rest = receiver.lower().replace(kind.lower(), "")
            names = [name for name in _SUBRESOURCES if name in rest]
            found: dict[str, FieldSet] = {}
            version = ""
            for entry in _ENTRY.finditer(body):
                version = entry[1] or version
                found.setdefault(version, FieldSet())
                if entry[2]:
                    path = Path(tuple(json.loads(f"[{entry[2]}]")))
                    found[version] = found[version].union(FieldSet.of(path))
            for api_version, fields in found.items():
                yield api_version, kind, "".join(names), fields


@needs_kubernetes
def test_every_strategy_of_kubernetes_has_these_reset_fields() -> None:
    sources = module()
    assert sources is not None
    catalog = smp.kubernetes("1.37")
    compared = 0
    for api_version, kind, subresource, fields in _strategies(sources):
        try:
            schema = catalog.schema(api_version, kind)
        except UnknownKindError:
            # A version that is no longer served.
            continue
        assert reset_fields(schema, subresource) == fields, (kind, subresource)
        compared += 1
    assert compared > 70


def test_a_custom_resource_without_the_subresource_status_has_none() -> None:
    catalog = smp.Catalog.from_crd([*DEFINITIONS])
    without = catalog.schema("example.com/v1", WITHOUT_STATUS)
    assert reset_fields(without) == FieldSet()
    with_status = catalog.schema("example.com/v1", WITH_STATUS)
    assert reset_fields(with_status) == FieldSet.of(Path(("status",)))
    assert reset_fields(with_status, "scale") == FieldSet()
    assert reset_fields(with_status, has_status=False) == FieldSet()
    compiled = read_compiled(compile_definitions([*DEFINITIONS]))
    assert reset_fields(compiled.schema("example.com/v1", WITHOUT_STATUS)) == FieldSet()


def test_one_version_of_a_definition_may_lack_the_subresource() -> None:
    definition = deepcopy(DEFINITIONS[0])
    (version,) = as_list(as_object(definition["spec"])["versions"])
    newer = {**as_object(version), "name": "v2", "subresources": None}
    as_object(definition["spec"])["versions"] = [version, newer]
    catalog = smp.Catalog.from_crd(definition)
    assert reset_fields(catalog.schema("example.com/v1", WITH_STATUS))
    assert not reset_fields(catalog.schema("example.com/v2", WITH_STATUS))


def test_all_versions_of_an_old_definition_may_share_the_subresource() -> None:
    definition = deepcopy(DEFINITIONS[1])
    definition["apiVersion"] = "apiextensions.k8s.io/v1beta1"
    as_object(definition["spec"])["subresources"] = {"status": {}}
    catalog = smp.Catalog.from_crd(definition)
    assert reset_fields(catalog.schema("example.com/v1", WITHOUT_STATUS))
