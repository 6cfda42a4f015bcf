"""Record the enums of Kubernetes' built-in kinds, and compile the bundled types.

``python -m tests.record.enums`` generates schemas from the Go modules k8s.io/api and
k8s.io/apiextensions-apiserver of each bundled minor version, which ``go mod download``
fetches. It writes each enum with the fields that have it to
smp/schema/bundled/enums.json, and compiles the bundled types from the definitions of
kubernetes-validate, which have no enums, and these.

In the record, ``sources`` has the Go modules by minor version. Each of the ``enums``
has its ``values``, with what the comments of the Go constants say of them, and by minor
versions the ``places`` that have it: TYPE.FIELD, or TYPE.FIELD[] and TYPE.FIELD{} where
the elements of a list or the values of a map have the enum.

A place where a real API server accepts any value (tests.record.enum_answers) has no
enum in the bundled types.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from smp.schema.catalog import compile_openapi, read_published_enums
from smp.schema.enum_listing import HEADER
from smp.schema.sources.golang import generate, read_sources
from tests.record.enum_answers import accepted
from tests.support.paths import ROOT

BUNDLE: Final = ROOT / "smp" / "schema" / "bundled"
RECORD: Final = BUNDLE / "enums.json"
# The patch version of the modules, by minor version.
VERSIONS: Final = {
    "1.25": "v0.25.9",
    "1.26": "v0.26.9",
    "1.27": "v0.27.4",
    "1.28": "v0.28.3",
    "1.29": "v0.29.15",
    "1.30": "v0.30.14",
    "1.31": "v0.31.14",
    "1.32": "v0.32.13",
    "1.33": "v0.33.13",
    "1.34": "v0.34.13",
    "1.35": "v0.35.10",
    "1.36": "v0.36.3",
    "1.37": "v0.37.2",
}
# The modules, the folder in them whose packages have published types, and how the names
# of these types begin.
MODULES: Final = (
    ("k8s.io/api", "", "io.k8s.api"),
    (
        "k8s.io/apiextensions-apiserver",
        "pkg/apis/apiextensions/v1",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
    ),
)

# An enum: its values, and what is said of each.
Meanings = tuple[tuple[str, str], ...]


def published(minor: str) -> dict[str, Any]:
    """Read the definitions of a minor version that kubernetes-validate has."""
    path = (
        files("kubernetes_validate")
        / "kubernetes-json-schema"
        / f"v{minor}.0-local"
        / "_definitions.json"
    )
    document: dict[str, Any] = json.loads(path.read_text())
    return document


def with_enums(document: dict[str, Any], minor: str) -> dict[str, Any]:
    """Return the definitions of a minor version with the enums of the record."""
    definitions = {**document["$defs"]}
    for place, values in read_published_enums(minor).items():
        if place in accepted():
            continue
        path = place.rstrip("[]{}")
        type_name, _, field = path.rpartition(".")
        definition = definitions[type_name]
        schema = definition["properties"][field]
        changed = _with_enum(schema, place[len(path) :], [*values])
        properties = {**definition["properties"], field: changed}
        definitions[type_name] = {**definition, "properties": properties}
    return {**document, "$defs": definitions}


def _with_enum(schema: dict[str, Any], suffix: str, values: list[str]) -> Any:
    """Add an enum to a schema, or to that of its elements or values."""
    if not suffix:
        assert schema["type"] in ("string", ["string", "null"]), schema
        return {**schema, "enum": values}
    inner = "items" if suffix.startswith("[]") else "additionalProperties"
    return {**schema, inner: _with_enum(schema[inner], suffix[2:], values)}


# --- reading Go modules ---


def sources(module: str, version: str, folder: str) -> dict[str, str]:
    """Download a Go module, and read its sources below a folder."""
    command = ["go", "mod", "download", "-json", f"{module}@{version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return read_sources([Path(json.loads(done.stdout)["Dir"]) / folder])


def enums_of(minor: str) -> Iterator[tuple[str, Meanings]]:
    """Yield the places of a minor version that have an enum, each with its enum.

    Places that are not published are left out: kube-openapi leaves out types that no
    published type refers to.
    """
    definitions = published(minor)["$defs"]
    for module, folder, prefix in MODULES:
        document: Any = generate(
            sources(module, VERSIONS[minor], folder), profile="off"
        )
        for label, schema in document["components"]["schemas"].items():
            name = label if label.startswith("io.k8s.") else f"{prefix}.{label}"
            if name not in definitions:
                continue
            for field, node in schema.get("properties", {}).items():
                for suffix, values in _enums_in(node):
                    meanings = _meanings(node.get("description", ""))
                    enum = tuple((value, meanings.get(value, "")) for value in values)
                    yield f"{name}.{field}{suffix}", enum


def _enums_in(schema: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield the enums of a schema, of its elements and of its values."""
    if "enum" in schema:
        yield "", schema["enum"]
    for word, step in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(word), dict):
            for suffix, values in _enums_in(schema[word]):
                yield step + suffix, values


def _meanings(description: str) -> dict[str, str]:
    """Read the listing of values at the end of a description."""
    found = {}
    for line in description.partition(HEADER)[2].splitlines():
        value, _, meaning = line.removeprefix(" - `").partition("`")
        if value:
            found[json.loads(value)] = meaning.strip()
    return found


def _ranges(minors: list[str]) -> Iterator[str]:
    """Yield minor versions, oldest first, as ranges without gaps."""
    known = [*VERSIONS]
    first = last = minors[0]
    for minor in [*minors[1:], ""]:
        if minor and known.index(minor) == known.index(last) + 1:
            last = minor
        else:
            yield first if first == last else f"{first}-{last}"
            first = last = minor


def recorded() -> str:
    """Make the text of the record: an enum a line."""
    minors: dict[Meanings, dict[str, list[str]]] = {}
    for minor in VERSIONS:
        for place, enum in enums_of(minor):
            minors.setdefault(enum, {}).setdefault(place, []).append(minor)
    lines = []
    for enum, places in minors.items():
        by_versions: dict[str, list[str]] = {}
        for place in sorted(places):
            for versions in _ranges(places[place]):
                by_versions.setdefault(versions, []).append(place)
        line = {"places": dict(sorted(by_versions.items())), "values": dict(enum)}
        lines.append(json.dumps(line, ensure_ascii=False))
    modules = [module for module, _, _ in MODULES]
    sources_ = {
        minor: [f"{module} {version}" for module in modules]
        for minor, version in VERSIONS.items()
    }
    listed = ",\n".join(sorted(lines))
    return f'{{"sources": {json.dumps(sources_)},\n"enums": [\n{listed}\n]}}\n'


def record() -> None:
    """Write the record and the bundled types anew."""
    RECORD.write_text(recorded())
    read_published_enums.cache_clear()
    for minor in VERSIONS:
        document = with_enums(published(minor), minor)
        compiled = compile_openapi(document, source=f"Kubernetes {minor}")
        (BUNDLE / f"{minor}.types").write_bytes(compiled)


if __name__ == "__main__":
    record()
