"""What every tool here is: a program that does a piece of work and says at what rate."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from work import Work

DEADLINE_S = 600
"""Nothing here takes as long: what does, hangs."""


class Failed(Exception):
    """A tool failed, or did not print the expected results."""


class Missing(Failed):
    """A program is not where it was looked for."""


@dataclass
class Place:
    """The directories of a tool, and the commands that it ran there."""

    directory: Path
    """On the target. Empty, except for `Find`: see `find_tree`."""
    scratch: Path
    """For plans and output; never on the target."""
    search_path: str
    """Where programs are looked for."""
    commands: list[str] = field(default_factory=list)
    """Every command, as text that another machine understands."""

    def run(self, *tokens: str | Path | int, codes: tuple[int, ...] = (0,)) -> str:
        """Runs a command and returns its standard output. Raises `Failed`, where it ends with none of `codes`, or
        `Missing`.
        """
        command = [str(token) for token in tokens]
        self.commands.append(self._as_text(command))
        try:
            ran = subprocess.run(
                [locate(command[0], self.search_path), *command[1:]],
                capture_output=True,
                text=True,
                timeout=DEADLINE_S,
                cwd=self.scratch,
                env=_environment(self.search_path),
                check=False,
            )
        except subprocess.TimeoutExpired as expired:
            raise Failed(f"`{self.commands[-1]}` has not ended in {DEADLINE_S} s") from expired
        if ran.returncode not in codes:
            message = " ".join((ran.stderr or ran.stdout).split())[-1000:]
            raise Failed(f"`{self.commands[-1]}` ended with {ran.returncode}: {self._anywhere(message)}")
        return ran.stdout

    def _as_text(self, command: list[str]) -> str:
        return self._anywhere(shlex.join([Path(command[0]).name, *command[1:]]))

    def _anywhere(self, text: str) -> str:
        return text.replace(str(self.directory), "$DIR").replace(str(self.scratch), "$OUT")


@dataclass(frozen=True)
class Manner:
    """How a tool does what can be done in several ways. ioassay does it the same way beside it."""

    paths: Literal["full", "at"] = "full"
    """How files are named in system calls."""
    random_reads: Literal["random", "random-with-replacement"] = "random"
    """Whether random reads come to each offset once, or to one drawn afresh."""


class Tool(Protocol):
    """A program under comparison."""

    name: str
    """As in tables."""
    manner: Manner
    """How it works."""

    def does(self, work: Work) -> bool:
        """True if it can do this piece of work at all."""

    def version(self, search_path: str) -> str:
        """Its version. Raises `Missing` where it is not on the path."""

    def measure(self, work: Work, place: Place) -> dict[str, float]:
        """Does the work and returns each of its rates in operations per second. Raises `Failed`."""


def locate(program: str, search_path: str) -> str:
    """The program's path. Raises `Missing`."""
    if path := shutil.which(program, path=search_path):
        return path
    raise Missing(f"`{program}` is not on the path")


def version_in(pattern: str, search_path: str, program: str, *arguments: str | Path) -> str:
    """The first group of `pattern` in what a program says. Raises `Missing` or `Failed`."""
    command = [locate(program, search_path), *map(str, arguments)]
    environment = _environment(search_path)
    ran = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, env=environment, check=False)
    if match := re.search(pattern, ran.stdout):
        return match[1]
    raise Failed(f"`{program}` does not tell its version")


def _environment(search_path: str) -> dict[str, str]:
    # Open MPI refuses to run as root unless both variables are set; other launchers ignore them.
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {**os.environ, **allowed, "PATH": search_path, "LC_ALL": "C"}
