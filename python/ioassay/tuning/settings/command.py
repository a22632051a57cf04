"""`command:NAME`: a pair of commands that the user defines, one that prints the value and one that sets it.

The file:

    commands:
      NAME:
        get: cat /etc/raid/stripe
        set: raidctl --stripe {value}
        timeout: 10s
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import yaml

from ioassay.errors import UsageError
from ioassay.text.units import parse_duration_ns
from ioassay.tuning.settings.errors import CannotRead, CannotSet
from ioassay.tuning.settings.model import Instance, Lifetime, Setting
from ioassay.tuning.settings.programs import ProgramFailed, run
from ioassay.yaml_models.model import AfterValidator, Field, Part
from ioassay.yaml_models.source import nearest, quoted, read_source
from ioassay.yaml_models.validate import validate
from ioassay.yaml_models.values import Identifier, Kind, parsed

KIND = "command"
VALUE = "{value}"


def _command(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty; write a command of the shell")
    return text


def _setting_command(text: str) -> str:
    if VALUE not in text:
        raise ValueError(f"{quoted(text)} sets no value; write {VALUE} where the value belongs")
    if any(sign in text for quote in "'\"" for sign in (quote + VALUE, VALUE + quote)):
        raise ValueError(f"{VALUE} stands in quotes; leave them out, the value is quoted already")
    return text


class Command(Part):
    """How a setting is read and changed."""

    get: Annotated[str, parsed(_command), Kind("command")] = Field(description="Prints the value.")
    set: Annotated[str, parsed(_command), AfterValidator(_setting_command), Kind("command")] = Field(
        description="Sets the value that stands for `{value}`, which is quoted for the shell."
    )
    timeout: Annotated[float, parsed(lambda text: parse_duration_ns(text) / 1e9), Kind("duration")] = Field(
        default=30.0, description="When a command is ended that has not exited."
    )


class Commands(Part):
    """A file of commands."""

    commands: dict[Identifier, Command] = Field(description="The pairs of commands, by name.")


def load_commands(path: Path) -> dict[str, Command]:
    """The commands that a file defines. Raises `SourceError`."""
    return dict(validate(Commands, read_source(path, "file of commands", "commands").tree).commands)


def commands_text(commands: Mapping[str, Command]) -> str:
    """The file that `load_commands` reads as these."""
    body = {
        name: {"get": command.get, "set": command.set, "timeout": f"{command.timeout:g}s"}
        for name, command in commands.items()
    }
    return yaml.safe_dump({"commands": body}, sort_keys=False)


class CommandInstance(Instance):
    """A setting that the user's commands read and set."""

    lifetime: Lifetime = "unknown"
    taken_by = "its command"

    def __init__(self, name: str, command: Command) -> None:
        super().__init__(f"{KIND}:{name}")
        self._command = command

    def read(self) -> str:
        try:
            return " ".join(run(["sh", "-c", self._command.get], self._command.timeout).split())
        except ProgramFailed as error:
            raise CannotRead(f"{self.name}: {error.message}", error.remedy) from None

    def write(self, value: str) -> None:
        try:
            run(["sh", "-c", self._command.set.replace(VALUE, shlex.quote(value))], self._command.timeout)
        except ProgramFailed as error:
            raise CannotSet(f"{self.name}={value}: {error.message}", error.remedy) from None


class CommandSetting(Setting):
    """One of the commands that the user defined."""

    def __init__(self, where: str, commands: dict[str, Command]) -> None:
        super().__init__(f"{KIND}:{where}")
        if not commands:
            raise UsageError(f"{self.name}: no commands are defined.", "Name their file: --commands FILE.")
        if where not in commands:
            raise UsageError(f"{self.name}: no such command; {nearest(where, commands)}")
        self._instance = CommandInstance(where, commands[where])

    def instances(self) -> list[Instance]:
        return [self._instance]

    def exact(self) -> Instance:
        return self._instance
