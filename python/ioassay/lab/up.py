"""Starts a lab: all of it, or nothing.

If this process ends before the lab is ready, the lab ends with it (`namespaces.Nursery`).
"""

from __future__ import annotations

import fcntl
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from ioassay.errors import CannotRun, UsageError
from ioassay.lab import network, record, slurm, ssh
from ioassay.lab.model import Lab
from ioassay.lab.namespaces import Nursery, Space
from ioassay.lab.running import running
from ioassay.lab.site import Host, Site
from ioassay.text.units import format_count

LOCKS = Path("/run/ioassay-labs.lock")
"""An empty file; a lab's name selects the byte of it that is locked while the lab starts."""

Say = Callable[[str], None]
"""Called with the current step."""


def refuse_ordinary_users() -> None:
    if os.geteuid() != 0:
        raise CannotRun("A lab needs root, for namespaces, mounts and loop devices.", "Use sudo.")


def up(lab: Lab, text: str, disk_place: Path, say: Say) -> Nursery:
    """Starts a lab with its disks in the directory `disk_place`; returns it ready and not yet released.

    Raises `UsageError` if a lab with that name is up, `CannotRun` if the machine refuses something.
    """
    with _alone(lab.name):
        if lab.name in running():
            raise UsageError(
                f"The lab {lab.name} is already up.",
                f"See `ioassay lab status`, or end it: ioassay lab down {lab.name}",
            )
        nursery = Nursery(lab.name)
        try:
            nursery.publish(_build(lab, text, nursery.space, disk_place, say))
        except BaseException:
            nursery.end()
            raise
        return nursery


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """Prevents other processes from starting a lab of this name at the same time.

    Any user who can open a file can lock it, and any user can bind an abstract socket. So the lock is on a file that
    only our user can open, in a directory that only root writes to. The file stays; the lock ends with this process.
    """
    lock = os.open(LOCKS, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(lock).st_uid != os.geteuid():
            raise UsageError(f"{LOCKS} belongs to another user.", "Remove it.")
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, zlib.crc32(name.encode()))
        except (BlockingIOError, PermissionError):  # POSIX allows both
            raise UsageError(f"The lab {name} is being started by another process.", "Wait until it is up.") from None
        yield
    finally:
        os.close(lock)


def _build(lab: Lab, text: str, space: Space, disk_place: Path, say: Say) -> record.Lab:
    say(f"{format_count(lab.hosts + lab.servers, 'host')} on a network")
    _prepare(space)
    site = _site(lab, space, disk_place)
    for kind, storage in lab.storage.wanted.items():
        say(kind)
        site.targets.append(storage.start(site))
    if lab.ssh:
        say("ssh")
        ssh.start(site)
    if lab.slurm:
        say("slurm")
        slurm.start(site)
    site.write(record.HOSTS_FILE, "".join(f"{host.name}\n" for host in site.clients))
    return record.Lab(
        name=lab.name,
        title=lab.title,
        yaml=text,
        started=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        hosts=[host.member for host in site.hosts],
        link_bits_per_s=lab.link,
        ssh=lab.ssh,
        slurm=lab.slurm,
        targets=site.targets,
        disks=site.disks,
        disk_servers=site.disk_servers,
        disk_bytes=site.disks_bytes,
        disk_place=str(disk_place),
    )


def _prepare(space: Space) -> None:
    """Mounts tmpfs where daemons write: nothing remains, and the machine's files are hidden."""
    # Later mounts must propagate to the hosts.
    space.run("mount", "--make-rshared", "/")
    for directory in ("/run", "/var/log"):
        space.cover_with_memory(directory)
    space.run("mkdir", "-p", record.ROOT, record.LOGS, "/run/lock")


def _site(lab: Lab, space: Space, disk_place: Path) -> Site:
    names = [(f"client{n}", "client") for n in range(1, lab.hosts + 1)]
    names += [(f"server{n}", "server") for n in range(1, lab.servers + 1)]
    members = [
        record.Member.model_validate({"name": name, "role": role, "address": network.address(number)})
        for number, (name, role) in enumerate(names, start=1)
    ]
    site = Site(space, [], [], disk_place, lab.disk)
    site.cover("/etc/hosts", "127.0.0.1 localhost\n" + "".join(f"{host.address} {host.name}\n" for host in members))
    site.cover("/etc/resolv.conf", "")  # no name server is reachable inside, and timeouts take long
    network.make_switch(space)
    for member in members:
        space_of_host = space.child(member.name)
        host = Host(member, space_of_host, space)
        host.run("hostname", member.name)
        host.private("/dev/shm")
        network.connect(space, space_of_host, member.name, member.address, lab.link)
        (site.clients if member.role == "client" else site.servers).append(host)
    return site
