"""Record the defaults that kube-apiserver publishes in its OpenAPI schemas.

``python -m tests.record.defaults`` generates the schemas from the Go modules of each
bundled minor version (tests.record.enums), as an API server does, and asks a real
kube-apiserver (tests.support.apiserver) for the schemas of the other modules. It writes
those of values that Go always writes, empty structs and zero values, under
``published`` of smp/schema/bundled/defaults.json. What defaulting functions do is
written by hand under ``functions``, and stays; the other published defaults have to be
there.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import Any, Final

from smp._storage.defaults._table import default_table
from smp.schema.bundle import read_bundled_file
from smp.schema.sources.golang import generate
from tests.record.enums import BUNDLE, MODULES, VERSIONS, sources
from tests.support.apiserver import ApiServer, running, version

RECORD: Final = BUNDLE / "defaults.json"
# Strings and integers with omitempty whose +default marker states the zero value: Go
# leaves them out, so the default has no effect.
_WITHOUT_EFFECT: Final = frozenset(
    f"io.k8s.api.{field}"
    for field in (
        "apps.v1.StatefulSetOrdinals.start",
        "autoscaling.v1.ScaleSpec.replicas",
        "core.v1.ConfigMapEnvSource.name",
        "core.v1.ConfigMapKeySelector.name",
        "core.v1.ConfigMapProjection.name",
        "core.v1.ConfigMapVolumeSource.name",
        "core.v1.LocalObjectReference.name",
        "core.v1.ReplicationControllerSpec.minReadySeconds",
        "core.v1.SecretEnvSource.name",
        "core.v1.SecretKeySelector.name",
        "core.v1.SecretProjection.name",
    )
)


def bundled_types(minor: str) -> dict[str, Any]:
    """Return the type documents of a minor version by name."""
    lines = zlib.decompress(read_bundled_file(f"{minor}.types")).decode().splitlines()
    documents: dict[str, Any] = {}
    for line in lines[1:]:
        name, _, document = line.partition("\t")
        documents[name] = json.loads(document)
    return documents


def generated(minor: str) -> Iterator[tuple[str, Any]]:
    """Yield the schemas of the Go modules of a minor version, by the type's name."""
    for module, folder, prefix in MODULES:
        document: Any = generate(
            sources(module, VERSIONS[minor], folder), profile="off"
        )
        for label, schema in document["components"]["schemas"].items():
            name = label if label.startswith("io.k8s.") else f"{prefix}.{label}"
            yield name, schema


def served(server: ApiServer) -> Iterator[tuple[str, Any]]:
    """Yield the schemas that a running API server publishes."""
    index: Any = server.request("GET", "/openapi/v3").body["paths"]
    for path, about in index.items():
        if path.startswith("api"):
            document: Any = server.request("GET", about["serverRelativeURL"]).body
            yield from document.get("components", {}).get("schemas", {}).items()


def defaults_of(
    schemas: Iterator[tuple[str, Any]], types: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the defaults of the fields of types, by type and field."""
    found: dict[str, dict[str, Any]] = {}
    for name, schema in schemas:
        known = types.get(name, {})
        if not isinstance(known, dict):
            continue
        for field, property_ in schema.get("properties", {}).items():
            declared = field in known.get("fields", {})
            effective = f"{name}.{field}" not in _WITHOUT_EFFECT
            if "default" in property_ and declared and effective:
                found.setdefault(name, {})[field] = property_["default"]
    return found


def written_by_functions() -> set[tuple[str, str, str]]:
    """Return the defaults that defaulting functions have: type, field and value."""
    return {
        (name, field, json.dumps(value))
        for row in default_table().functions
        for name in row.types
        for field, value in {**row.absent, **row.zero}.items()
    }


def recorded(server: ApiServer) -> str:
    """Make the text of the record: a type a line."""
    published: dict[str, dict[str, Any]] = {}
    for minor in VERSIONS:
        types = bundled_types(minor)
        for name, fields in defaults_of(generated(minor), types).items():
            published.setdefault(name, {}).update(fields)
    newest = bundled_types([*VERSIONS][-1])
    for name, fields in defaults_of(served(server), newest).items():
        assert fields.items() <= published.setdefault(name, fields).items(), name
    known = written_by_functions()
    lines = []
    for name, fields in sorted(published.items()):
        always: dict[str, Any] = {}
        for field, value in sorted(fields.items()):
            if (name, field, json.dumps(value)) in known:
                continue
            assert not value, f"{name}.{field} is not among the functions"
            always[field] = value
        if always:
            lines.append(f"  {json.dumps(name)}: {json.dumps(always)}")
    functions = json.loads(RECORD.read_text())["functions"]
    types_, rows = (
        ",\n".join(lines),
        ",\n".join(f"  {json.dumps(r)}" for r in functions),
    )
    modules = [f"{module} {VERSIONS['1.36']}" for module, _, _ in MODULES]
    source = f"kube-apiserver {version()}; {', '.join(modules)}"
    return (
        f'{{\n"source": {json.dumps(source)},\n'
        f'"published": {{\n{types_}\n}},\n"functions": [\n{rows}\n]\n}}\n'
    )


def record() -> None:
    """Write the record anew."""
    with running() as server:
        text = recorded(server)
    RECORD.write_text(text)


if __name__ == "__main__":
    record()
