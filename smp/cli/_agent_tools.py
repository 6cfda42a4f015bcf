"""The tools and resources of ``smp mcp``, each one command.

Theory of operation. A tool writes the command line that a person would write, runs it
in a process of its own, and returns what it printed for programs, so that an assistant
is told exactly what a person is told. The process also keeps the standard output of
this one, which belongs to the protocol, free of anything else, and one that the
assistant gives up on is ended. What a tool is told stands in options of its own:
nothing that an assistant writes can become another option.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Final, Literal

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.mcpserver.resources import FunctionResource
from mcp.server.mcpserver.tools import Tool
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

from smp import __version__
from smp.explain import CAUSES
from smp.hazards import HAZARDS
from smp.lint import LINT
from smp.violations import VIOLATIONS

_INSTRUCTIONS: Final = """\
Ask before you apply: preview says what `kubectl apply` would make of a live object and
what it would lose, explain why a field changes or does not, lint what a server would
refuse. Live objects are files of `kubectl get -o yaml --show-managed-fields`, or
`cluster` and `cluster:CONTEXT`. What a code means is in the resources."""

_READS: Final = ToolAnnotations(read_only_hint=True, destructive_hint=False)
_WRITES: Final = ToolAnnotations(read_only_hint=False, destructive_hint=True)

# What a report says of an object, beside the objects that the assistant has given.
_IDENTITY: Final = ("apiVersion", "kind", "namespace", "name", "file", "line")
_PREVIEW: Final = (
    *(*_IDENTITY, "verdict", "error", "patch", "result"),
    *("findings", "notes"),
)
_EXPLAINED: Final = (*_IDENTITY, "verdict", "error", "findings", "causes", "notes")

# What has codes, as pages of the documentation are called.
_CODES: Final[dict[str, Mapping[str, Any]]] = {
    "causes": CAUSES,
    "hazards": HAZARDS,
    "lint": LINT,
    "violations": VIOLATIONS,
}

Manifests = Annotated[
    list[str], Field(description="Manifests: files, directories, or - for `text`.")
]
Live = Annotated[
    list[str],
    Field(description="Live objects: files, directories, cluster, cluster:CONTEXT."),
]
Text = Annotated[
    str, Field(description="YAML that is not saved yet, where a path is a dash.")
]
FieldPath = Annotated[
    str, Field(description="A path: spec.replicas, spec.containers[name=app].image.")
]
ServerSide = Annotated[
    bool, Field(description="A server-side apply, by field managers.")
]
Definitions = Annotated[
    list[str], Field(description="Files of CustomResourceDefinitions.")
]


class CommandAnswer(BaseModel):
    """What a command said: its documents, its messages, and its exit code."""

    exit_code: int
    documents: list[Any]
    messages: list[str]


async def explain(
    manifests: Manifests,
    live: Live,
    *,
    path: FieldPath = "",
    text: Text = "",
    server_side: ServerSide = False,
    crd: Definitions | None = None,
) -> CommandAnswer:
    """Say why an apply changes each field or not, and what would change it."""
    options = [*_name("--filename", manifests), *_name("--live", live)]
    options += [*_name("--crd", crd), *["--server-side"] * server_side]
    answer = await _run(
        "explain", *options, "--format", "json", paths=[path], text=text
    )
    return _select(answer, _EXPLAINED)


async def preview(
    manifests: Manifests,
    live: Live,
    *,
    text: Text = "",
    server_side: ServerSide = False,
    crd: Definitions | None = None,
) -> CommandAnswer:
    """Say what an apply makes of live objects: patch, result, hazards, refusals."""
    options = [*_name("--filename", manifests), *_name("--live", live)]
    options += [*_name("--crd", crd), *["--server-side"] * server_side]
    answer = await _run("apply", *options, "--format", "json", text=text)
    return _select(answer, _PREVIEW)


async def lint(
    paths: Manifests,
    *,
    text: Text = "",
    severity: Literal["note", "warning", "error"] = "warning",
    crd: Definitions | None = None,
) -> CommandAnswer:
    """Find what is wrong with manifests, patches and live objects, before a server."""
    options = [*_name("--crd", crd), "--severity", severity, "--format", "json"]
    return await _run("lint", *options, paths=paths, text=text)


async def diff(
    original: Annotated[str, Field(description="File or directory of one state.")],
    modified: Annotated[str, Field(description="File or directory of the other.")],
    *,
    text: Text = "",
    crd: Definitions | None = None,
) -> CommandAnswer:
    """Compute the strategic merge patch from each object of one state to the other."""
    options = [*_name("--crd", crd), "--format", "json"]
    return await _run("diff", *options, paths=[original, modified], text=text)


async def blame(
    objects: Live, *, path: FieldPath = "", manager: str = "", text: Text = ""
) -> CommandAnswer:
    """Say which field manager owns each field, from metadata.managedFields."""
    options = [*_name("--path", [path]), *_name("--manager", [manager])]
    options += ["--format", "json"]
    return await _run("blame", *options, paths=objects, text=text)


async def drift(
    desired: Annotated[str, Field(description="File or directory of manifests.")],
    live: Annotated[str, Field(description="Live objects: a file, cluster.")],
    *,
    crd: Definitions | None = None,
) -> CommandAnswer:
    """Find the live objects that are not what their manifests ask for."""
    options = [*_name("--filename", [desired]), *_name("--live", [live])]
    return await _run("drift", *options, *_name("--crd", crd), "--format", "ndjson")


async def apply(
    manifests: Manifests,
    *,
    text: Text = "",
    context: Annotated[str, Field(description="A context of the kubeconfig.")] = "",
    server_side: ServerSide = False,
    dry_run: Literal["none", "client", "server"] = "none",
) -> CommandAnswer:
    """Apply manifests to the cluster, as `kubectl apply` does."""
    options = [*_name("--filename", manifests), *_name("--context", [context])]
    options += ["--server-side"] * server_side
    options += ["--dry-run", dry_run, "-o", "json"]
    return await _run("cluster", "apply", *options, text=text)


_READING: Final = (explain, preview, lint, diff, blame, drift)


def make_server(*, allow_apply: bool) -> MCPServer:
    """Return the server with its tools and resources, ready to run."""
    tools = [_make_tool(tool, _READS) for tool in _READING]
    tools += [_make_tool(apply, _WRITES)] * allow_apply
    server: MCPServer = MCPServer(
        "smp",
        title="Strategic merge patch",
        instructions=_INSTRUCTIONS,
        version=__version__,
        tools=tools,
        log_level="WARNING",
    )
    for kind in _CODES:
        uri = f"smp://{kind}"
        title = f"What the codes of {kind} mean"
        page = partial(_describe_codes, kind)
        server.add_resource(FunctionResource(uri=uri, name=kind, title=title, fn=page))
    server.resource("smp://{kind}/{code}", title="What a code means")(_describe_code)
    return server


def _make_tool(function: Callable[..., Any], annotations: ToolAnnotations) -> Tool:
    """Return the tool of a function, which refuses arguments that it does not have."""
    tool = Tool.from_function(function, annotations=annotations)
    # The SDK's model leaves out what it does not know, and would run without it.
    model = tool.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"
    model.model_rebuild(force=True)
    return tool.model_copy(update={"parameters": model.model_json_schema()})


def _name(option: str, values: list[str] | None) -> list[str]:
    """Give each value the option's name, as one word that can be nothing else."""
    return [f"{option}={value}" for value in values or () if value]


async def _run(
    *words: str, paths: list[str] | None = None, text: str = ""
) -> CommandAnswer:
    """Run a command line, and the paths behind it, in a process of its own.

    Raises ToolError with what the command said where that is nothing but an error.
    """
    command = [sys.executable, "-m", "smp", *words, "--"]
    command += [path for path in paths or () if path]
    if any("\0" in word for word in command):
        raise ToolError("an argument has a null character")
    done = await anyio.run_process(command, input=text.encode(), check=False)
    messages = done.stderr.decode(errors="replace").splitlines()
    printed = done.stdout.decode()
    # The objects of an array, or of one line each.
    if printed.startswith("["):
        documents = json.loads(printed)
    else:
        documents = [json.loads(line) for line in printed.splitlines()]
    if done.returncode and not documents:
        raise ToolError("\n".join(messages) or f"exit code {done.returncode}")
    return CommandAnswer(
        exit_code=done.returncode, documents=documents, messages=messages
    )


def _select(answer: CommandAnswer, names: tuple[str, ...]) -> CommandAnswer:
    """Leave out of each report the objects that the assistant has itself."""
    documents = [
        {name: report[name] for name in names if name in report}
        for report in answer.documents
    ]
    return answer.model_copy(update={"documents": documents})


def _describe_codes(kind: str) -> str:
    return "\n".join(_describe_code(kind, code) for code in _CODES[kind])


def _describe_code(kind: str, code: str) -> str:
    try:
        meaning = _CODES[kind][code]
    except KeyError:
        raise ResourceNotFoundError(f"{kind} has no code {code!r}") from None
    remedy = getattr(meaning, "remedy", "")
    source = getattr(meaning, "source", "") or getattr(meaning, "rule", "")
    lines = [f"## {code}", "", f"{meaning.sentence}."]
    lines += [f"Remedy: {remedy}."] * bool(remedy)
    lines += [f"Rule: {source}."] * bool(source)
    return "\n".join(lines) + "\n"
