"""Record the numbers of fields in protobuf, and what Go reads of bytes.

``python -m tests.record.protobuf`` asks the Go program in tests/typed_storage/oracle,
built with each of two versions of Kubernetes, for the fields of all messages, and
writes smp/schema/bundled/protobuf.json. Its format is described in
smp/_storage/protobuf/__init__.py. Then it writes tests/data/protobuf/decoded.jsonl.xz:
random objects of all kinds in protobuf, some of them with changed bytes, each with what
the program printed of it, or its error. They are of the newer version.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any, Final

from tests.record.typed_storage import MOD_FILES, go_source, line, write
from tests.support.paths import DATA, ROOT
from tests.support.typed_objects import GO_MODULE

TABLE: Final = ROOT / "smp" / "schema" / "bundled" / "protobuf.json"
DECODED: Final = DATA / "protobuf" / "decoded.jsonl.xz"
SEED: Final = 10**6
# Of each kind.
_SAMPLES: Final = 4
_CHANGED: Final = 3
# The number of a field, its mark, and the rest.
_FIELD: Final = re.compile(r"(\d+)\W(.*)")
_META: Final = "meta.k8s.io/v1"
_META_PACKAGE: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."


def answers(*question: str, mod_file: str = MOD_FILES[-1]) -> Iterator[Any]:
    """Ask the program, and yield its answers."""
    answer = subprocess.run(
        ["go", "run", f"-modfile={mod_file}", ".", *question],  # noqa: S607
        cwd=GO_MODULE,
        check=True,
        capture_output=True,
    )
    for text in answer.stdout.splitlines():
        yield json.loads(text)


def _merged(old: str, new: str) -> str:
    """Return the fields of a message of two versions; the newer one counts.

    Fields that only the older one has are printed where they are there.
    """
    numbers = {_FIELD.sub(r"\1", field) for field in new.split()}
    dropped = [
        _FIELD.sub(r"\1:\2", field)
        for field in old.split()
        if _FIELD.sub(r"\1", field) not in numbers
    ]
    return " ".join([new, *dropped])


def compiled() -> str:
    """Return the text of the table, one message a line."""
    kinds: dict[str, dict[str, str]] = {}
    messages: dict[str, str] = {}
    for mod_file in MOD_FILES:
        (found,) = answers("messages", mod_file=mod_file)
        for api_version, names in found["kinds"].items():
            kinds.setdefault(api_version, {}).update(names)
        for name, fields in found["messages"].items():
            messages[name] = _merged(messages.get(name, ""), fields)
    # The options of requests are in every version of every group.
    everywhere: dict[str, str] = {}
    for names in kinds.values():
        everywhere |= {
            kind: name for kind, name in names.items() if name.startswith(_META_PACKAGE)
        }
    kinds[_META] = everywhere
    lines = []
    for api_version in sorted(kinds):
        by_package: dict[str, list[str]] = {}
        for kind, name in sorted(kinds[api_version].items()):
            package, _, short_name = name.rpartition(".")
            assert short_name == kind, name
            if api_version == _META or kind not in everywhere:
                by_package.setdefault(package, []).append(kind)
        packages = {package: " ".join(by_package[package]) for package in by_package}
        lines.append(f"{json.dumps(api_version)}:{_compact(packages)}")
    parts = []
    packages_of_messages: dict[str, list[str]] = {}
    for name in sorted(messages):
        package, _, short_name = name.rpartition(".")
        text = f"{json.dumps(short_name)}:{json.dumps(messages[name])}"
        packages_of_messages.setdefault(package, []).append(text)
    for package, texts in packages_of_messages.items():
        parts.append(f"{json.dumps(package)}:{{\n" + ",\n".join(texts) + "\n}")
    return (
        f'{{\n"source":{json.dumps(go_source())},\n"kinds":{{\n'
        + ",\n".join(lines)
        + '\n},\n"messages":{\n'
        + ",\n".join(parts)
        + "\n}\n}\n"
    )


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _record_decoded() -> None:
    lines = []
    for question, count in (("samples", _SAMPLES), ("changed", _CHANGED)):
        found = answers(question, str(SEED), str(count))
        lines += [line(answer) for answer in found]
    write(DECODED, lines)


if __name__ == "__main__":
    TABLE.write_text(compiled())
    _record_decoded()
