"""``smp completion``: the script with which a shell completes command lines."""

from __future__ import annotations

from typing import Final

from click.shell_completion import get_completion_class

from smp.cli._click import cli
from smp.cli._commands import COMPLETION, DONE, Argument, Command
from smp.cli._errors import UsageError
from smp.cli._outputs import write

_SHELLS: Final = ("bash", "zsh", "fish")


def run_completion(*, shell: str) -> int:
    """Print the script that completes command lines in bash, zsh or fish.

    Options, commands, kinds and fields are completed. For bash this line in ~/.bashrc
    loads it, for zsh the same in ~/.zshrc: eval "$(smp completion bash)". For fish:
    smp completion fish > ~/.config/fish/completions/smp.fish
    """
    script = get_completion_class(shell) if shell in _SHELLS else None
    if script is None:
        raise UsageError(f"no completion for {shell}: there is {', '.join(_SHELLS)}")
    write(script(cli, {}, "smp", COMPLETION).source())
    return DONE


COMMAND: Final = Command(
    run_completion,
    example="completion bash",
    exit_codes="0 done, 2 an error",
    arguments=(Argument("shell", kind="text", metavar="SHELL"),),
)
