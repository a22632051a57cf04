"""Help that a newcomer reads first."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ioassay.cli.command_tree import every_command
from ioassay.cli.commands import COMMANDS

COMMAND_OF = dict(every_command())
GROUPS = [words for words, command in COMMAND_OF.items() if hasattr(command, "commands")]


def test_there_are_commands_at_several_levels() -> None:
    assert {(), ("lab",), ("mpi",), ("api",)} <= {*GROUPS}


@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_every_command_has_a_line_that_is_whole_at_80_columns(group: tuple[str, ...]) -> None:
    # As a process: in a test's own, click takes two columns more.
    command = [sys.executable, "-m", "ioassay", *group, "-h"]
    shown = subprocess.run(command, env=os.environ | {"COLUMNS": "80"}, capture_output=True, text=True, check=True)
    lines = shown.stdout[shown.stdout.index("Commands:") :].splitlines()[1:]
    assert len(lines) > 1
    for line in lines:
        assert line.endswith("."), line
        assert not line.endswith("..."), line
        assert "…" not in line, line


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_has_the_first_sentence_of_a_commands_own_help(name: str) -> None:
    whole = " ".join(COMMAND_OF[(name,)].help.split())
    assert f"{whole} ".startswith(f"{COMMANDS[name].help_line} ")


def test_the_help_imports_no_command() -> None:
    code = "import sys; sys.argv = ['ioassay', '--help']\nfrom ioassay.cli import app\n" + (
        "try: app()\nfinally: print(*sorted(set(sys.modules) & {'ioassay.cli.run', 'ioassay.cli.lab', 'rich'}))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "run " in shown
    assert shown.splitlines()[-1] == ""
