"""Record what Kubernetes' Go structs make of JSON.

``python -m tests.record.typed_storage`` asks the Go program in
tests/typed_storage/oracle, built with each of two versions of Kubernetes, for what
happens to the fields of all types, and writes smp/schema/bundled/typed_storage.json.
Its format is described in smp/_storage/typed_storage/__init__.py. Then it writes
tests/data/typed_storage/printed.jsonl.xz: random objects, each with what the program
prints of it, and tests/data/typed_storage/created.jsonl.xz: manifests with zero values,
each with what a real kube-apiserver stored of it (tests.support.apiserver).
"""

from __future__ import annotations

import json
import lzma
import re
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

import httpx

from smp._values.values import JSON, JSONObject, as_object
from smp.schema.bundle import read_bundled_file
from smp.schema.catalog import kubernetes, versions
from tests.support.apiserver import running
from tests.support.makers.manifests import KINDS, ManifestMaker
from tests.support.paths import DATA, ROOT
from tests.support.typed_objects import (
    GO_MODULE,
    VERSION,
    objects,
    oracle,
    with_zero_values,
)

TABLE: Final = ROOT / "smp" / "schema" / "bundled" / "typed_storage.json"
# The newer one last: what it says of a field counts.
MOD_FILES: Final = ("go.mod", "newest.mod")
_PLAIN: Final = "plain"
PRINTED: Final = DATA / "typed_storage" / "printed.jsonl.xz"
# Of the recorded objects; the random test has other seeds.
SEED: Final = 10**6
COUNT: Final = 2000
CREATED: Final = DATA / "typed_storage" / "created.jsonl.xz"
# Of each kind.
_MANIFESTS: Final = 40


def _types(mod_file: str) -> dict[str, dict[str, list[str]]]:
    """Ask for the names of the fields of all types by what happens to them."""
    answer = subprocess.run(
        ["go", "run", f"-modfile={mod_file}", ".", "types"],  # noqa: S607
        cwd=GO_MODULE,
        check=True,
        capture_output=True,
    )
    found: dict[str, dict[str, list[str]]] = json.loads(answer.stdout)
    return found


def _bundled_types() -> set[str]:
    """Return the names of the types of all bundled versions of Kubernetes."""
    names: set[str] = set()
    for version in versions():
        text = zlib.decompress(read_bundled_file(f"{version}.types")).decode()
        names.update(line.partition("\t")[0] for line in text.split("\n")[1:])
    return names


def compiled() -> str:
    """Return the text of the table, one type a line."""
    bundled = _bundled_types()
    happens: dict[str, dict[str, set[str]]] = {}
    for mod_file in MOD_FILES:
        for type_, facts in _types(mod_file).items():
            by_field: dict[str, set[str]] = {}
            for fact, fields in facts.items():
                for field in fields:
                    by_field.setdefault(field, set()).add(fact)
            happens.setdefault(type_, {}).update(by_field)
    packages: dict[str, dict[str, dict[str, str]]] = {}
    for type_ in sorted(happens.keys() & bundled):
        found: dict[str, list[str]] = {}
        for field in sorted(happens[type_]):
            for fact in sorted(happens[type_][field] - {_PLAIN}):
                found.setdefault(fact, []).append(field)
        package, _, name = type_.rpartition(".")
        packages.setdefault(package, {})[name] = {
            fact: " ".join(found[fact]) for fact in sorted(found)
        }
    parts = []
    for package, types in packages.items():
        lines = ",\n".join(
            f"{json.dumps(name)}:{json.dumps(facts, separators=(',', ':'))}"
            for name, facts in types.items()
        )
        parts.append(f"{json.dumps(package)}:{{\n{lines}\n}}")
    return (
        f'{{\n"source":{json.dumps(go_source())},\n"types":{{\n'
        + ",\n".join(parts)
        + "\n}\n}\n"
    )


def go_source() -> str:
    pinned = [
        re.findall(r"k8s\.io/api (v\S+)", (GO_MODULE / mod_file).read_text())[0]
        for mod_file in MOD_FILES
    ]
    return f"k8s.io/api and its siblings {' and '.join(pinned)}"


def _printed(answer: JSONObject) -> JSONObject:
    """Return what the program printed, and what it read at rest where that differs."""
    found: JSONObject = {"printed": answer["object"]}
    if answer["atRest"] != answer["object"]:
        found["atRest"] = answer["atRest"]
    return found


def _record_printed() -> None:
    program = oracle()
    assert program is not None
    asked = objects(SEED, COUNT)
    answers = program.run([{"object": obj} for obj in asked])
    lines = []
    for obj, answer in zip(asked, answers, strict=True):
        # What a server cannot decode, it refuses.
        if "object" in answer:
            lines.append(line({"object": obj, **_printed(answer)}))
    write(PRINTED, lines)


def _manifests() -> Iterator[tuple[str, JSONObject]]:
    """Yield the path of a collection, and an object to create there."""
    random = Random(SEED)
    catalog = kubernetes(VERSION)
    for kind, about in KINDS.items():
        schema = catalog.schema(about.api_version, kind)
        root = "apis" if "/" in about.api_version else "api"
        namespace = "namespaces/default/" if about.namespaced else ""
        path = f"/{root}/{about.api_version}/{namespace}{about.resource}"
        for number in range(_MANIFESTS):
            name = f"created-{number}"
            maker = ManifestMaker(f"typed storage {number}", kind, name)
            yield path, with_zero_values(random, maker.manifest(), schema)


def _record_created() -> None:
    lines = []
    with running() as server:
        for path, obj in _manifests():
            answer = server.request("POST", path, obj)
            if answer.code != httpx.codes.CREATED:
                continue
            name = as_object(obj["metadata"])["name"]
            found = server.request("GET", f"{path}/{name}").body
            as_object(found["metadata"]).pop("managedFields", None)
            lines.append(line({"object": obj, "stored": found}))
            server.request("DELETE", f"{path}/{name}?gracePeriodSeconds=0")
    write(CREATED, lines)


def line(value: JSON) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"


def write(file: Path, lines: list[str]) -> None:
    file.parent.mkdir(exist_ok=True)
    text = "".join(lines).encode()
    file.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    TABLE.write_text(compiled())
    _record_printed()
    _record_created()
