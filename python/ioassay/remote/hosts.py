"""The hosts that were typed after --clients and --servers, and how a command gets onto each host.

lab:NAME       all clients, or all servers, of a lab
lab:NAME/HOST  one of its hosts
NAME           a host that is reached by ssh, or by what --via says
NAME=ADDRESS   the same, and the address of it that is measured: storage often has a network of its own
@FILE          a hostfile as mpirun takes it: one of the above in a line
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
"""How the name of a lab begins where it stands for hosts."""

Role = Literal["client", "server"]


@dataclass(frozen=True)
class Host:
    """A host, of this machine's labs or reached from here."""

    name: str
    entrance: Space | tuple[str, ...]
    """How to get onto it: the namespaces of a lab's host, or the words before a command, such as `ssh node01`."""
    address: str | None = None
    """Where a server listens; `None` of a client."""
    has_shell: bool = True
    """Words before a command lead to a shell, which takes the command as one word."""
    link_bits_per_s: int | None = None
    """Rate of its link, of a lab's host where that is limited."""
    lab: str | None = None

    def command(self, *words: str) -> list[str]:
        """`words` as they are started from here."""
        if isinstance(self.entrance, Space):
            return self.entrance.command(*words)
        return [*self.entrance, *([shlex.join(words)] if self.has_shell else words)]

    def by_hand(self, *words: str) -> str:
        """What to type to run `words` there."""
        if self.lab:
            return shlex.join(["ioassay", "lab", "exec", f"{self.lab.removeprefix(LAB)}/{self.name}", *words])
        return shlex.join(self.command(*words))


def hosts(typed: Sequence[str], role: Role, via: str, *, listening: bool = True) -> list[Host]:
    """The hosts that were typed. Servers have an address, but where nothing shall be `listening` on them.

    Raises `UsageError` for what cannot be meant, `CannotRun` for a lab that is not up.
    """
    entrance = tuple(shlex.split(via))
    if not entrance:
        raise UsageError("--via is empty.", "Write a remote shell, such as --via ssh.")
    found: list[Host] = []
    for word in _words(typed):
        found += _of_lab(word, role) if word.startswith(LAB) else [_by_name(word, entrance, listening and role)]
    if not found:
        raise UsageError(f"--{role}s {' '.join(typed)} lists no hosts.", f"Write hosts, for example --{role}s node01.")
    return list({host.name: host for host in found}.values())


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
        # What mpirun wants to know besides, such as `slots=4`, stands after the name.
        yield from line.partition("#")[0].split()[:1]


def _of_lab(word: str, role: Role) -> list[Host]:
    from ioassay.lab.running import find  # noqa: PLC0415  (psutil is for labs only)

    name, _, wanted = word.removeprefix(LAB).partition("/")
    if not name:
        raise UsageError(
            "`lab:` needs the name of a lab.", "Write lab:NAME; `ioassay lab status` shows those that are up."
        )
    lab = find(name)
    written, spaces = lab.ready(), lab.hosts()
    members = [host for host in written.hosts if (host.name == wanted if wanted else host.role == role)]
    if not members:
        raise UsageError(
            f"The lab {name} has no host `{wanted}`.", f"Use one of {', '.join(host.name for host in written.hosts)}."
        )
    if gone := [member.name for member in members if member.name not in spaces]:
        raise CannotRun(f"The lab {name} has lost {', '.join(gone)}.", f"End it: ioassay lab down {name}")
    return [
        Host(
            name=member.name,
            entrance=spaces[member.name],
            address=member.address if role == "server" else None,
            link_bits_per_s=written.link_bits_per_s,
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
    """The address of a server that clients are to meet."""
    advice = f"Write its address on the network to measure: --servers {name}=ADDRESS"
    try:
        if typed:
            return str(ip_address(typed))
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except ValueError:
        raise UsageError(
            f"`{typed}` is not an address.", "Write an address, for example --servers oss1=10.0.0.5"
        ) from None
    except OSError as error:
        raise UsageError(f"{name} cannot be resolved: {error.strerror}.", advice) from None
    address = str(found[0][4][0])
    if ip_address(address).is_loopback:
        raise UsageError(f"{name} resolves to {address}, which other hosts cannot reach.", advice)
    return address
