"""Command lines as scripts have them, run by the real kubectl or by ``smp``.

tests/data/kubectl/lines.txt is a console: each line after ``$`` is a command line, and
below it are the first lines that kubectl printed to standard output, and its exit code
where that is not 0. The lines are run one after the other, with one server.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from tests.support.paths import DATA

LINES: Final = DATA / "kubectl" / "lines.txt"
# So many lines of what is printed tell one answer from another.
_LINES_OF_OUTPUT: Final = 2
FILES: Final = {
    "web.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "web:1"}]}
""",
    "settings.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: web}}
data: {mode: fast}
""",
    "mistyped.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata: {name: mistyped}
dataa: {mode: fast}
""",
    "folder/inner/other.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
""",
    "overlay/kustomization.yaml": "resources: [other.yaml]\n",
    "overlay/other.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
""",
}


class Line(msgspec.Struct, frozen=True):
    """A command line without ``kubectl``, with what came of it."""

    text: str
    printed: tuple[str, ...] = ()
    code: int = 0


# Runs words with a text as standard input: the exit code, and standard output.
Runner: TypeAlias = Callable[[list[str], str], tuple[int, str]]


def read_lines() -> tuple[str, list[Line]]:
    """Return the version of kubectl that printed what is recorded, and the lines."""
    header, *rest = LINES.read_text().splitlines()
    lines: list[Line] = []
    for row in rest:
        if row.startswith("$ kubectl "):
            lines.append(Line(row.removeprefix("$ kubectl ")))
        elif row.startswith("[exit "):
            lines[-1] = msgspec.structs.replace(lines[-1], code=int(row[6:-1]))
        elif row:
            printed = (*lines[-1].printed, row)
            lines[-1] = msgspec.structs.replace(lines[-1], printed=printed)
    return header, lines


def write_lines(header: str, lines: Iterable[Line]) -> None:
    """Write the lines with what was printed."""
    rows = [header]
    for line in lines:
        rows += ["", f"$ kubectl {line.text}", *line.printed]
        rows += [f"[exit {line.code}]"] if line.code else []
    LINES.write_text("\n".join([*rows, ""]))


def write_files() -> None:
    """Write the files that the lines name into the current folder."""
    for name, text in FILES.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def play(lines: Iterable[Line], run: Runner, **variables: str) -> list[Line]:
    """Run lines, with the values of variables, and return what came of them."""
    ran: list[Line] = []
    for line in lines:
        words = shlex.split(line.text)
        for name, value in variables.items():
            words = [word.replace(name, value) for word in words]
        stdin = ""
        if "<" in words:
            stdin = Path(words.pop()).read_text()
            words.remove("<")
        code, printed = run(words, stdin)
        shown = tuple(printed.splitlines()[:_LINES_OF_OUTPUT])
        ran.append(Line(line.text, shown, code))
    return ran
