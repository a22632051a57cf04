"""Starts the two ends of each flow, waits for all of them, and reports the first failure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ioassay.errors import CannotRun
from ioassay.net import iperf3
from ioassay.remote import process
from ioassay.remote.hosts import Host
from ioassay.remote.process import SPARE_S, Process, until
from ioassay.store.net_document import Direction, NetSettings


@dataclass(frozen=True)
class Place:
    """The hosts, port and files of a flow."""

    client: Host
    server: Host
    port: int
    folder: Path
    """The directory for the output of both ends."""

    @property
    def files(self) -> Path:
        """The common prefix of its output files."""
        return self.folder / re.sub(r"[^A-Za-z0-9.-]+", "-", f"{self.port}-{self.client.name}-{self.server.name}")


@dataclass(frozen=True)
class Pair:
    """A running client with its server."""

    place: Place
    client: Process
    server: Process

    @property
    def ends(self) -> tuple[Process, Process]:
        return self.server, self.client


def start(stack: ExitStack, place: Place, direction: Direction, settings: NetSettings) -> Pair:
    """Starts both ends, which end with `stack`. The client waits for `tell`. Raises `CannotRun`."""
    address, port, files = place.server.address, place.port, place.files
    assert address is not None
    limit_s = settings.duration_s + 2 * SPARE_S  # each may have to wait until all others are ready
    listen = iperf3.server_command(address, port, settings)
    send = iperf3.client_command(address, port, direction, settings)
    server = process.server(place.server, port, listen, limit_s, files.with_name(f"{files.name}-server"))
    stack.enter_context(server)
    client = process.client(place.client, send, limit_s, files.with_name(f"{files.name}-client"))
    return Pair(place, stack.enter_context(client), server)


def wait(
    pairs: Sequence[Pair], done: Callable[[Process], bool], limit_s: float, interrupted: Callable[[], bool]
) -> bool:
    """Returns True once `done` holds for both ends of all pairs, False after a signal.

    Raises `CannotRun` for an end that failed, and after `limit_s`.
    """
    all_ends = [end for pair in pairs for end in pair.ends]

    def over() -> bool:
        states = [done(end) for end in all_ends]  # polls each end, so that its end time is recorded
        return all(states) or any(_has_failed(end) for end in all_ends)

    def late() -> str:
        names = "; ".join(f"{end.host.name}: `{end.command}`" for end in all_ends if not done(end))
        return f"Timed out after {limit_s:g} s waiting for {names}."

    until(over, limit_s, interrupted, late)
    if interrupted():
        return False
    failed = [(end.ended_s or 0.0, pair.place.port, end) for pair in pairs for end in pair.ends if _has_failed(end)]
    if failed:
        _, port, end = min(failed, key=lambda failure_: failure_[0])  # the others failed as a consequence
        raise failure(end, port)
    return True


def _has_failed(end: Process) -> bool:
    if not end.has_ended:
        return False
    result = end.result()
    return result.code != 0 or iperf3.ERROR in result.out


def failure(end: Process, port: int) -> CannotRun:
    """Why an end failed, in iperf3's words."""
    result = end.result()
    reason = " ".join(result.err.splitlines()[-3:]) or f"exit status {result.code}"
    if result.out.strip():
        try:
            iperf3.read(result.out)
        except ValueError as error:
            reason = str(error)
    return CannotRun(f"{end.host.name}: `{end.command}` failed: {reason}.", iperf3.advice(reason, port))
