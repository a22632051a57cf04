"""What a lab needs of the machine, and which of it is missing. Not: installing it (`lab.install`)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

_ALSO = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin"


def search_path() -> str:
    """The PATH followed by directories that are often not on it, such as sbin."""
    return f"{os.environ.get('PATH', '')}:{_ALSO}"


@dataclass(frozen=True)
class Command:
    """A command of the system."""

    name: str
    package: str
    """The Debian package that has it."""

    @property
    def missing(self) -> bool:
        return shutil.which(self.name, path=search_path()) is None

    def __str__(self) -> str:
        return f"{self.name} (Debian package {self.package})"


@dataclass(frozen=True)
class File:
    """A file of a package that brings no command of its own: a plug-in, a library."""

    patterns: tuple[str, ...]
    """Glob patterns below `/usr/lib`, one of which must match."""
    package: str

    @property
    def missing(self) -> bool:
        return not any(True for pattern in self.patterns for _ in Path("/usr/lib").glob(pattern))

    def __str__(self) -> str:
        return f"{self.patterns[0]} (Debian package {self.package})"


@dataclass(frozen=True)
class Built:
    """A tool without a Debian package, which is fetched and built once."""

    name: str
    ready: Path
    """A path that exists once it is built."""
    how: str
    """How it is built, in a line."""
    build: Callable[[], None]
    """Builds it, with progress on standard error. Raises `CannotRun`."""
    needs: tuple[Command, ...] = ()
    """Commands that are needed only to build it."""

    @property
    def missing(self) -> bool:
        return not self.ready.exists()

    def __str__(self) -> str:
        return f"{self.name} ({self.how})"


Requirement = Command | File | Built

BASE = (
    Command("unshare", "util-linux"),
    Command("nsenter", "util-linux"),
    Command("ip", "iproute2"),
    Command("tc", "iproute2"),
    Command("ss", "iproute2"),
    Command("mkfs.xfs", "xfsprogs"),
)
"""What every lab needs."""


def missing(requirements: Iterable[Requirement]) -> list[Requirement]:
    """The missing requirements without duplicates; the needs of a build precede it."""
    lacking: list[Requirement] = []
    for requirement in requirements:
        if requirement.missing:
            needs = requirement.needs if isinstance(requirement, Built) else ()
            lacking += [*(need for need in needs if need.missing), requirement]
    return list(dict.fromkeys(lacking))
