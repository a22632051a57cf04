"""Help that a newcomer reads first."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
import typer
import typer.main

from ioassay.cli import app, main
from ioassay.cli.command_tree import every_command
from ioassay.cli.commands import COMMANDS
from ioassay.errors import CannotRun, UsageError
from ioassay.processes import limits as process_limits

COMMAND_OF = dict(every_command())
GROUPS = [words for words, command in COMMAND_OF.items() if hasattr(command, "commands")]


def test_there_are_commands_at_several_levels() -> None:
    assert {(), ("lab",), ("mpi",), ("api",)} <= {*GROUPS}


@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_every_command_has_a_line_that_is_whole_at_80_columns(group: tuple[str, ...]) -> None:
    # As a process: in a test's own, click takes two columns more.
    command = [sys.executable, "-m", "ioassay", *group, "-h"]
    shown = subprocess.run(command, env=os.environ | {"COLUMNS": "80"}, capture_output=True, text=True, check=True)
    lines = shown.stdout.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert len(lines) > 1
    for line in lines:
        assert line.endswith("."), line
        assert not line.endswith("..."), line
        assert "…" not in line, line


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_has_the_first_sentence_of_a_commands_own_help(name: str) -> None:
    whole = " ".join(COMMAND_OF[(name,)].help.split())
    assert f"{whole} ".startswith(f"{COMMANDS[name].help_line} ")


@pytest.mark.parametrize("words", COMMAND_OF, ids=" ".join)
def test_no_line_of_a_help_is_longer_than_80_columns(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    command = COMMAND_OF[words]
    shown = command.get_help(typer.Context(command, info_name=" ".join(("ioassay", *words))))
    assert "Examples:" in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("words", COMMAND_OF, ids=" ".join)
def test_arguments_and_choices_are_named_without_types_and_braces(words: tuple[str, ...]) -> None:
    command = COMMAND_OF[words]
    shown = command.get_help(typer.Context(command, info_name="ioassay"))
    assert not re.search(r"\{|<[a-z]|\[\[", shown.partition("Examples:")[0]), shown


def test_help_of_a_command_is_its_help_option(capfd: pytest.CaptureFixture[str]) -> None:
    shown = []
    for typed in (["help", "lab", "up"], ["lab", "up", "--help"]):
        typer.main.get_command(app)(typed, prog_name="ioassay", standalone_mode=False)
        shown.append(capfd.readouterr().out)
    assert shown[0] == shown[1]
    assert shown[0].startswith("Usage: ioassay lab up ")


def test_help_of_an_unknown_command_names_it() -> None:
    with pytest.raises(UsageError, match="`ioassay lab` has no command upp"):
        typer.main.get_command(app)(["help", "lab", "upp"], prog_name="ioassay", standalone_mode=False)


def test_the_help_imports_no_command() -> None:
    code = (
        "import sys; sys.argv = ['ioassay', '--help']\nfrom ioassay.cli import app\n"
        "slow = {'ioassay.cli.run', 'ioassay.cli.lab', 'rich', 'pydantic'}\n"
        "try: app()\nfinally: print(*sorted(slow.intersection(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "run " in shown
    assert shown.splitlines()[-1] == ""


@pytest.mark.parametrize(
    "typed",
    [["run", "-h"], ["lab", "up", "--help"], ["help", "run"], ["record", "--", "ls", "-h"], ["studies"]],
    ids=str,
)
def test_only_help_is_shown_under_limits_that_are_too_small(typed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise CannotRun("too small")

    monkeypatch.setattr(process_limits, "refuse_small_limits", refuse)
    command = typer.main.get_command(app)
    if typed[0] in ("record", "studies"):
        with pytest.raises(CannotRun, match="too small"):
            command(typed, prog_name="ioassay", standalone_mode=False)
    else:
        assert command(typed, prog_name="ioassay", standalone_mode=False) == 0


@pytest.mark.parametrize(
    ("typed", "help_of"),
    [
        (["quik"], "ioassay"),
        (["quick"], "ioassay quick"),
        (["run", "quick", "--targt", "x"], "ioassay run"),
        (["tune", "swep"], "ioassay tune"),
        (["lab", "up", "--instal"], "ioassay lab up"),
    ],
)
def test_a_wrong_command_line_names_the_help_of_the_command_that_was_meant(
    typed: list[str], help_of: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["ioassay", *typed])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == UsageError.exit_code
    assert capsys.readouterr().err.endswith(f"\n  See `{help_of} --help`.\n")
