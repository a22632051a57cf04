"""Help that a newcomer reads first."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import typer.main

from ioassay.cli import app


def groups(command: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words that lead to each command that has commands."""
    commands: dict[str, object] = getattr(command, "commands", {})
    if commands:
        yield path
    for name, inner in commands.items():
        yield from groups(inner, (*path, name))


GROUPS = [*groups(typer.main.get_command(app))]


def test_there_are_commands_at_several_levels() -> None:
    assert {(), ("lab",), ("mpi",), ("api",)} <= {*GROUPS}


@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_every_command_has_a_line_that_is_whole_at_80_columns(group: tuple[str, ...]) -> None:
    # As a process: in a test's own, click takes two columns more.
    command = [sys.executable, "-m", "ioassay", *group, "--help"]
    shown = subprocess.run(command, env=os.environ | {"COLUMNS": "80"}, capture_output=True, text=True, check=True)
    lines = shown.stdout[shown.stdout.index("Commands:") :].splitlines()[1:]
    assert len(lines) > 1
    for line in lines:
        assert line.endswith("."), line
        assert not line.endswith("..."), line
        assert "…" not in line, line
