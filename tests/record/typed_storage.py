"""Record what Kubernetes' Go structs make of JSON.

``python -m tests.record.typed_storage`` asks the Go program in
tests/typed_storage/oracle, built with each of two versions of Kubernetes, for what
happens to the fields of all types, and writes smp/schema/bundled/typed_storage.json.
Its format is described in smp/typed_storage/__init__.py. Then it writes
tests/data/typed_storage/printed.jsonl.xz: random objects, each with what the program
prints of it.
"""

from __future__ import annotations

import json
import lzma
import re
import subprocess
import zlib
from typing import Final

from smp.schema.catalog import bundled_file, versions
from tests.support.paths import DATA, ROOT
from tests.support.typed_objects import GO_MODULE, objects, oracle

TABLE: Final = ROOT / "smp" / "schema" / "bundled" / "typed_storage.json"
# The newer one last: what it says of a field counts.
MOD_FILES: Final = ("go.mod", "newest.mod")
_PLAIN: Final = "plain"
PRINTED: Final = DATA / "typed_storage" / "printed.jsonl.xz"
# Of the recorded objects; the random test has other seeds.
SEED: Final = 10**6
COUNT: Final = 2000


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
        text = zlib.decompress(bundled_file(f"{version}.types")).decode()
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
        f'{{\n"source":{json.dumps(_source())},\n"types":{{\n'
        + ",\n".join(parts)
        + "\n}\n}\n"
    )


def _source() -> str:
    pinned = [
        re.findall(r"k8s\.io/api (v\S+)", (GO_MODULE / mod_file).read_text())[0]
        for mod_file in MOD_FILES
    ]
    return f"k8s.io/api and its siblings {' and '.join(pinned)}"


def _record_printed() -> None:
    program = oracle()
    assert program is not None
    asked = objects(SEED, COUNT)
    answers = program.run([{"object": obj} for obj in asked])
    lines = []
    for obj, answer in zip(asked, answers, strict=True):
        # What a server cannot decode, it refuses.
        if "object" in answer:
            line = {"object": obj, "printed": answer["object"]}
            lines.append(json.dumps(line, separators=(",", ":")) + "\n")
    PRINTED.parent.mkdir(exist_ok=True)
    text = "".join(lines).encode()
    PRINTED.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    TABLE.write_text(compiled())
    _record_printed()
