"""``smp completion``: the script that makes a shell complete the command."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from smp.cli._outputs import write

_VARIABLE = "_SMP_COMPLETE"


_WHERE = """\b
bash  eval "$(smp completion bash)" in ~/.bashrc
zsh   smp completion zsh > _smp, in a directory of $fpath
fish  smp completion fish > ~/.config/fish/completions/smp.fish
"""


@click.command(epilog=f"{_WHERE}\n\b\nExample:\n  smp completion bash")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell.

    It completes commands, options, files, and for explain API versions, kinds and
    fields.
    """
    script = get_completion_class(shell)
    if script is not None:
        write(script(ctx.find_root().command, {}, "smp", _VARIABLE).source())
