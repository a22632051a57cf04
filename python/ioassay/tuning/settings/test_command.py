"""Settings that the user's own commands read and set."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.tuning.settings import CannotRead, CannotSet, parse
from ioassay.tuning.settings.command import Command, load_commands
from ioassay.yaml_models.source import SourceError


@pytest.fixture
def commands(tmp_path: Path) -> dict[str, Command]:
    value = tmp_path / "value"
    value.write_text("4\n")
    file = tmp_path / "commands.yaml"
    file.write_text(
        f"""commands:
  raid:
    get: cat {value}
    set: printf '%s\\n' {{value}} > {value}
  broken:
    get: echo wrong >&2; exit 4
    set: "false {{value}}"
  slow:
    get: sleep 60 & wait
    set: sleep 60 {{value}}
    timeout: 200ms
"""
    )
    return load_commands(file)


def test_a_value_reaches_the_command_as_it_is(commands: dict[str, Command]) -> None:
    (instance,) = parse("command:raid", commands).instances()
    assert instance.read() == "4"
    for value in ("8", "a b", "$(id)", "it's; rm x"):
        instance.write(instance.check(value, "4"))
        assert instance.read() == value


def test_a_command_that_fails_says_what_it_printed(commands: dict[str, Command]) -> None:
    (instance,) = parse("command:broken", commands).instances()
    with pytest.raises(CannotRead, match="failed with exit code 4: wrong"):
        instance.read()
    with pytest.raises(CannotSet, match="failed with exit code 1"):
        instance.write("1")


def test_a_command_that_hangs_is_ended_with_its_children(commands: dict[str, Command]) -> None:
    (instance,) = parse("command:slow", commands).instances()
    begin = time.monotonic()
    with pytest.raises(CannotRead, match=r"took longer than 0\.2 s and was ended"):
        instance.read()
    assert time.monotonic() - begin < 30


def test_an_unknown_command_is_refused_with_the_nearest_one(commands: dict[str, Command]) -> None:
    with pytest.raises(UsageError, match="did you mean `raid`"):
        parse("command:raidd", commands)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("commands: {a: {get: cat x, set: echo}}", "sets no value"),
        ("commands: {a: {get: cat x, set: 'echo \"{value}\" > x'}}", "stands in quotes"),
        ("commands: {a: {get: '', set: 'echo {value}'}}", "is empty"),
        ("commands: {a: {get: cat x}}", "set: is missing"),
        ("commands: {a: {get: cat x, set: 'e {value}', timeout: soon}}", "timeout"),
        ("comands: {}", "did you mean `commands`"),
    ],
)
def test_a_definition_that_cannot_be_meant_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "commands.yaml"
    file.write_text(text)
    with pytest.raises(SourceError) as refused:
        load_commands(file)
    assert message in refused.value.message
    assert "commands.yaml:1" in refused.value.message
