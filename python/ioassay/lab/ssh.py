"""ssh between the hosts of a lab, with keys that exist only in it: plain `ssh HOST`, and so mpirun, works on each."""

from __future__ import annotations

from functools import partial

from ioassay.lab.record import ROOT
from ioassay.lab.requirements import Command, Requirement
from ioassay.lab.site import Host, Site
from ioassay.lab.waiting import until

_KEY, _HOST_KEY = f"{ROOT}/ssh/key", f"{ROOT}/ssh/host-key"

_DAEMON = f"""\
ListenAddress {{address}}
HostKey {_HOST_KEY}
AuthorizedKeysFile {_KEY}.pub
PermitRootLogin prohibit-password
PasswordAuthentication no
StrictModes no
UsePAM no
UseDNS no
PidFile none
"""

_CLIENT = f"""\
Host *
    IdentityFile {_KEY}
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
    ConnectTimeout 5
"""


def requirements() -> list[Requirement]:
    return [
        Command("sshd", "openssh-server"),
        Command("ssh", "openssh-client"),
        Command("ssh-keygen", "openssh-client"),
    ]


def start(site: Site) -> None:
    """Starts a server on each host, and returns when the first client can log in to all of them. Raises `CannotRun`."""
    site.directory("ssh")
    site.lab.run("mkdir", "-p", "/run/sshd")
    for key in (_KEY, _HOST_KEY):
        site.lab.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
    site.cover("/etc/ssh/ssh_config", _CLIENT)
    for host in site.hosts:
        _start_on(site, host)
    for host in site.hosts:
        until(partial(_lets_in, site.clients[0], host), f"ssh from {site.clients[0].name} to {host.name}")


def _lets_in(client: Host, host: Host) -> bool:
    return client.space.attempt("ssh", host.name, "true").returncode == 0


def _start_on(site: Site, host: Host) -> None:
    configuration = site.write(f"{ROOT}/ssh/{host.name}.conf", _DAEMON.format(address=host.address))
    # sshd needs its full path, because it executes itself for every connection.
    host.start("sshd", "/usr/sbin/sshd", "-D", "-e", "-f", configuration)
