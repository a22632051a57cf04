"""Groups of commands, as all of ours are: no completions of typer's (`complete`), help as plain text."""

from __future__ import annotations

from typing import Any

import typer


def group(**attributes: Any) -> typer.Typer:
    """A group with these attributes of `typer.Typer`, for example `name` and `help`."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, **attributes)
