"""A group of commands of which one is meant where none is named: `ioassay watch DIR` is `ioassay watch view DIR`."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


def defaulting_to(name: str, *, also_alone: bool) -> type[TyperGroup]:
    """Such a group; `also_alone` says whether the command is meant without any argument, too."""

    class Group(TyperGroup):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            """Adds the command where none is named."""
            if also_alone if not args else args[0] not in self.commands and args[0] not in ctx.help_option_names:
                args = [name, *args]
            return super().parse_args(ctx, args)

    return Group
