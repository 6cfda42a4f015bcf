"""``smp mcp``: the commands as tools of the Model Context Protocol."""

from __future__ import annotations

from typing import Final

from smp.cli._commands import DONE, Command, import_extra, switch


def run_mcp(*, allow_apply: bool) -> int:
    """Serve the commands as tools for an assistant that edits manifests.

    It speaks the Model Context Protocol over standard input and output, and ends with
    its input: an assistant starts it. The tools explain, preview, lint, diff, blame and
    drift read files, and the cluster where a call names it, and write nothing. With
    --allow-apply there is one more, apply, which changes the cluster.
    """
    needs = "the Model Context Protocol needs"
    tools = import_extra("smp.cli._agent_tools", needs, "mcp")
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
