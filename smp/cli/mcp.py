"""``smp mcp``: the commands as tools of the Model Context Protocol."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from smp._values.extras import extra_hint
from smp.cli._commands import DONE, Command, switch
from smp.errors import SmpError


def run_mcp(*, allow_apply: bool) -> int:
    """Serve the commands as tools for an assistant that edits manifests.

    It speaks the Model Context Protocol over standard input and output, and ends with
    its input: an assistant starts it. The tools explain, preview, lint, diff, blame and
    drift read files, and the cluster where a call names it, and write nothing. With
    --allow-apply there is one more, apply, which changes the cluster.
    """
    # Only this command needs the SDK, which is an extra.
    try:
        tools = import_module("smp.cli._agent_tools")
    except ModuleNotFoundError as error:
        raise SmpError(
            f"the Model Context Protocol needs the package {error.name!r}",
            code="missing-extra",
            hint=extra_hint("mcp"),
        ) from None
    tools.make_server(allow_apply=allow_apply).run("stdio")
    return DONE


COMMAND: Final = Command(
    run_mcp,
    example="mcp",
    exit_codes="0 the input has ended, 2 an error",
    options=(
        switch("--allow-apply", "Let the assistant apply manifests to the cluster."),
    ),
)
