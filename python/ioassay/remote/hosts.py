"""The hosts typed after --clients and --servers, and how a command is started on each.

lab:NAME       all clients, or all servers, of a lab
lab:NAME/HOST  one of its hosts
NAME           a host reached by ssh, or by the command of --via
NAME=ADDRESS   the same, with the address to measure: storage often has its own network
@FILE          a hostfile of mpirun: one of the above per line
"""

from __future__ import annotations

import shlex
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Literal

from ioassay.errors import CannotRun, UsageError
from ioassay.lab.namespaces import Space

LAB = "lab:"
"""Prefix of a lab's name among hosts."""

Role = Literal["client", "server"]


@dataclass(frozen=True)
class Host:
    """A host in a lab of this machine, or reachable from here."""

    name: str
    entrance: Space | tuple[str, ...]
    """Its namespaces if it is a lab's host, or the words before a command, such as `ssh node01`."""
    address: str | None = None
    """Where a server listens; `None` for a client."""
    has_shell: bool = True
    """The entrance starts a shell, which takes the command as one word."""
    link_bits_per_s: int | None = None
    """Rate of its link, if it is a lab's host with a limited one."""
    lab: str | None = None

    def command(self, *words: str) -> list[str]:
        """The command line that starts `words` on the host."""
        if isinstance(self.entrance, Space):
            return self.entrance.command(*words)
        return [*self.entrance, *([shlex.join(words)] if self.has_shell else words)]

    def by_hand(self, *words: str) -> str:
        """The command line for a user to run `words` there."""
        if self.lab:
            return shlex.join(["ioassay", "lab", "exec", f"{self.lab.removeprefix(LAB)}/{self.name}", *words])
        return shlex.join(self.command(*words))


def hosts(typed: Sequence[str], role: Role, via: str, *, listening: bool = True) -> list[Host]:
    """The typed hosts. Servers get an address if something is to be `listening` on them.

    Raises `UsageError` for an invalid host, `CannotRun` for a lab that is down.
    """
    entrance = tuple(shlex.split(via))
    if not entrance:
        raise UsageError("--via is empty.", "Write a remote shell, such as --via ssh.")
    all_hosts: list[Host] = []
    for word in _words(typed):
        all_hosts += _of_lab(word, role) if word.startswith(LAB) else [_by_name(word, entrance, listening and role)]
    if not all_hosts:
        raise UsageError(f"--{role}s {' '.join(typed)} lists no hosts.", f"Write hosts, for example --{role}s node01.")
    return list({host.name: host for host in all_hosts}.values())


def _words(typed: Sequence[str]) -> Iterator[str]:
    for word in (part.strip() for text in typed for part in text.split(",")):
        if word.startswith("@"):
            yield from _hostfile(Path(word[1:]))
        elif word:
            yield word


def _hostfile(file: Path) -> Iterator[str]:
    try:
        lines = file.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The hostfile {file} cannot be read: {error}.", "Write one host per line.") from error
    for line in lines:
        # Further words are for mpirun, such as `slots=4`.
        yield from line.partition("#")[0].split()[:1]


def _of_lab(word: str, role: Role) -> list[Host]:
    from ioassay.lab.running import find  # noqa: PLC0415  (psutil is for labs only)

    name, _, host_name = word.removeprefix(LAB).partition("/")
    if not name:
        raise UsageError(
            "`lab:` needs the name of a lab.", "Write lab:NAME; `ioassay lab status` shows those that are up."
        )
    lab = find(name)
    lab_record, spaces = lab.ready(), lab.hosts()
    members = [host for host in lab_record.hosts if (host.name == host_name if host_name else host.role == role)]
    if not members:
        raise UsageError(
            f"The lab {name} has no host `{host_name}`.",
            f"Use one of {', '.join(host.name for host in lab_record.hosts)}.",
        )
    if lost_hosts := [member.name for member in members if member.name not in spaces]:
        raise CannotRun(f"The lab {name} has lost {', '.join(lost_hosts)}.", f"End it: ioassay lab down {name}")
    return [
        Host(
            name=member.name,
            entrance=spaces[member.name],
            address=member.address if role == "server" else None,
            link_bits_per_s=lab_record.link_bits_per_s,
            lab=f"{LAB}{name}",
        )
        for member in members
    ]


def _by_name(word: str, entrance: tuple[str, ...], role: Role | Literal[False]) -> Host:
    name, _, address = word.partition("=")
    if not name or name.startswith("-"):  # ssh would take it for an option
        raise UsageError(f"`{word}` is not a host.", "Write NAME, NAME=ADDRESS, lab:NAME or @FILE.")
    return Host(name, (*entrance, name), _address(name, address) if role == "server" else None)


def _address(name: str, typed: str) -> str:
    """The address of a server that clients connect to."""
    advice = f"Write its address on the network to measure: --servers {name}=ADDRESS"
    try:
        if typed:
            return str(ip_address(typed))
        resolved = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except ValueError:
        raise UsageError(
            f"`{typed}` is not an address.", "Write an address, for example --servers oss1=10.0.0.5"
        ) from None
    except OSError as error:
        raise UsageError(f"{name} cannot be resolved: {error.strerror}.", advice) from None
    address = str(resolved[0][4][0])
    if ip_address(address).is_loopback:
        raise UsageError(f"{name} resolves to {address}, which other hosts cannot reach.", advice)
    return address
