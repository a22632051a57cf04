"""Makes a new directory once every host has answered with its name, processors, iperf3 and the speed of its
network interface.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from ioassay.errors import CannotRun
from ioassay.lab.requirements import search_path
from ioassay.net.measure import Ends
from ioassay.remote.hosts import Host
from ioassay.remote.process import PATH, SPARE_S
from ioassay.store.moments import now
from ioassay.store.net_directory import NetDirectory
from ioassay.store.net_document import NetDocument, NetHost, NetSettings
from ioassay.store.new_directory import refuse_occupied
from ioassay.version import __version__

# The interface with the address, or on the route to it.
_ASK = (
    f"{PATH}uname -n; getconf _NPROCESSORS_ONLN; cat /proc/sys/kernel/random/boot_id; "
    "iperf3 --version 2>/dev/null | sed -n '1s/^iperf \\([0-9.]*\\).*/\\1/p' | grep . || echo -; "
    "interface=$(ip -oneline address show to $1 2>/dev/null | sed -n '1s/^[0-9]*: \\([^ ]*\\).*/\\1/p'); "
    'test -n "$interface" || '
    "interface=$(ip -oneline route get $1 2>/dev/null | sed -n '1s/.* dev \\([^ ]*\\).*/\\1/p'); "
    "cat /sys/class/net/$interface/speed 2>/dev/null || echo -"
)
_MBIT = 1_000_000


def prepare(ends: Ends, settings: NetSettings, out: Path | None, command: Sequence[str]) -> NetDirectory:
    """The directory to measure into: `out`, or a new one below `runs/`.

    Raises `UsageError` for an existing directory, `CannotRun` for a host that does not respond or has no iperf3.
    """
    name = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-net"
    path = Path(os.path.abspath(out or Path("runs") / name))
    refuse_occupied(path)
    # The interface is looked up on the route to the first server: all servers are in one network.
    answered = _ask([*ends.clients, *ends.servers], towards=ends.servers[0].address or "")
    return NetDirectory(
        path,
        NetDocument(
            net=name,
            command=list(command),
            ioassay_version=__version__,
            started=now(),
            lab=next((host.lab for host in ends.servers if host.lab), None),
            clients=answered[: len(ends.clients)],
            servers=answered[len(ends.clients) :],
            settings=settings,
        ),
    )


def _ask(hosts: Sequence[Host], towards: str) -> list[NetHost]:
    """Asks all hosts at once. `towards` is the address that clients will connect to.

    Raises `CannotRun` for a host that cannot be reached, or has no iperf3.
    """
    processes = [(host, _start(host, host.address or towards)) for host in hosts]
    try:
        return [_answer(host, process) for host, process in processes]
    finally:
        for _, process in processes:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.communicate()


def _start(host: Host, address: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        host.command("sh", "-c", _ASK, "sh", address),
        env={**os.environ, "PATH": search_path()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )


def _answer(host: Host, process: subprocess.Popen[str]) -> NetHost:
    by_hand = f"Try by hand: {host.by_hand('uname', '-n')}"
    try:
        out, err = process.communicate(timeout=SPARE_S)
    except subprocess.TimeoutExpired:
        raise CannotRun(f"{host.name} did not respond within {SPARE_S} s.", by_hand) from None
    lines = out.splitlines()
    if len(lines) != 5:
        error = " ".join(err.strip().splitlines()[-3:]) or f"exit status {process.returncode}"
        raise CannotRun(f"{host.name} cannot be reached: {error}.", by_hand)
    hostname, processors, machine, version, speed = lines
    if version == "-":
        install = "dnf install iperf3 or apt-get install iperf3"
        raise CannotRun(f"{host.name} has no iperf3.", f"Install it there: {install}.")
    return NetHost(
        name=host.name,
        hostname=hostname,
        address=host.address,
        iperf3_version=version,
        processors=int(processors),
        machine=machine,
        stated_bits_per_s=_stated(host, speed),
    )


def _stated(host: Host, speed: str) -> int | None:
    """A lab's links have the configured speed; their virtual interfaces report a made-up one."""
    if host.lab is not None:
        return host.link_bits_per_s
    return int(speed) * _MBIT if speed.isdigit() and int(speed) > 0 else None
