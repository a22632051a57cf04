"""The labs that are up, found by their processes: no other state exists."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from operator import itemgetter

import psutil
from pydantic import ValidationError

from ioassay.errors import CannotRun, UsageError
from ioassay.lab import record
from ioassay.lab.disk import attachment
from ioassay.lab.namespaces import HOST, LAB, Space, recognized, spaces
from ioassay.lab.waiting import until


@dataclass(frozen=True)
class Running:
    """A lab that is up, or being started."""

    name: str
    space: Space

    def look(self) -> record.Lab | None:
        """Its record; `None` until it is ready. Raises `CannotRun`."""
        file = self.space.first.memory_file(record.MEMORY_FILE)
        if file is None:
            raise CannotRun(f"The lab {self.name} has lost its record.", f"End it: ioassay lab down {self.name}")
        try:
            text = record.published(file)
        finally:
            os.close(file)
        if text is None:
            return None
        try:
            return record.Lab.model_validate_json(text)
        except ValidationError:
            raise CannotRun(
                f"The lab {self.name} was started by another version of ioassay.",
                f"End it: ioassay lab down {self.name}",
            ) from None

    def ready(self) -> record.Lab:
        """Its record. Raises `CannotRun` if it is not ready yet."""
        if lab := self.look():
            return lab
        raise CannotRun(f"The lab {self.name} is still starting.", "Try again when it is up.")

    def host(self, name: str) -> Space:
        """The namespaces of one of its hosts. Raises `UsageError` that lists them."""
        hosts = self.hosts()
        if name not in hosts:
            raise UsageError(f"The lab {self.name} has no host `{name}`.", f"Use one of {', '.join(hosts)}.")
        return hosts[name]

    def hosts(self) -> dict[str, Space]:
        """Its hosts by name, in the order in which they were started."""
        return dict(spaces(HOST, self.space.first.process.children()))

    def users(self) -> list[psutil.Process]:
        """Processes that entered it from outside, such as runs and shells."""
        inside = [process for process in psutil.process_iter() if _pid_space(process.pid) == _pid_space(self.space.pid)]
        lab_pids = {self.space.pid, *(child.pid for child in self.space.first.process.children(recursive=True))}
        return [process for process in inside if process.pid not in lab_pids]

    def refuse_used(self) -> None:
        """Raises `CannotRun` if a process from outside runs in it."""
        if users := self.users():
            names = ", ".join(f"{user.name()} (process {user.pid})" for user in users)
            raise CannotRun(f"The lab {self.name} is in use by {names}.", "Wait for it to end, or use --force.")

    def end(self) -> None:
        """Ends it, and returns when it has left nothing behind. Raises `CannotRun` if something remains."""
        disks = {disk: attachment(disk) for disk in self._disks()}
        self.space.first.kill()
        until(lambda: not self.space.first.exists, f"the processes of the lab {self.name} to end")

        def free() -> bool:
            return all(attached is None or attachment(disk) != attached for disk, attached in disks.items())

        until(free, f"the disks of the lab {self.name} to be free")

    def _disks(self) -> list[str]:
        with contextlib.suppress(CannotRun):  # a lab of another version must end too
            if lab := self.look():
                return [*lab.disks]
        return []


def running() -> dict[str, Running]:
    """Our labs that are up, by name."""
    labs = (recognized(LAB, pid) for pid in psutil.pids())
    return {name: Running(name, space) for name, space in sorted(filter(None, labs), key=itemgetter(0))}


def find(name: str) -> Running:
    """The running lab `name`. Raises `CannotRun` that lists the running labs."""
    labs = running()
    if name in labs:
        return labs[name]
    hint = f"Running labs: {', '.join(labs)}." if labs else "No lab is up."
    if os.geteuid() != 0:
        hint = "Only root can use labs."
    raise CannotRun(f"The lab {name} is not up.", f"{hint} Start it with: ioassay lab up {name}")


def _pid_space(pid: int) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None
