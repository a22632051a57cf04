"""A group with a default command: `ioassay watch DIR` is `ioassay watch view DIR`."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


def defaulting_to(name: str, *, also_alone: bool) -> type[TyperGroup]:
    """Such a group; `also_alone` says whether the command is meant without any argument, too."""

    class Group(TyperGroup):
        meant = name

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            """Adds the command where none is named."""
            options = {name for option in self.params for name in option.opts}
            first = next((word for word in args if word not in options), None)
            runs_alone = also_alone and not ctx.resilient_parsing  # what follows is being asked
            if runs_alone if first is None else first not in self.commands and first not in ctx.help_option_names:
                args = [name, *args]
            return super().parse_args(ctx, args)

    return Group
