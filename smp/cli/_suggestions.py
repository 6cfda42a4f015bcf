"""Groups of commands that answer an unknown name with those that there are."""

from __future__ import annotations

import click

from smp.errors import did_you_mean, listing


class SuggestingGroup(click.Group):
    """A group of commands; an unknown one is an error that says which it has."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments begin with."""
        name = args[0]
        known = self.list_commands(ctx)
        # What looks like an option is one that click does not know.
        if name in known or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        hint = did_you_mean(name, known) or listing("the commands are", known)
        raise click.UsageError(f"there is no command {name!r}; {hint}", ctx)
