"""The two ends of each flow: started, waited for together, and the first failure reported."""

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
    """Where a flow is to run."""

    client: Host
    server: Host
    port: int
    folder: Path
    """Where the files of what both ends say go."""

    @property
    def files(self) -> Path:
        """How the names of those files begin."""
        return self.folder / re.sub(r"[^A-Za-z0-9.-]+", "-", f"{self.port}-{self.client.name}-{self.server.name}")


@dataclass(frozen=True)
class Pair:
    """A client at work with its server."""

    place: Place
    client: Process
    server: Process

    @property
    def ends(self) -> tuple[Process, Process]:
        """Both."""
        return self.server, self.client


def start(stack: ExitStack, place: Place, direction: Direction, settings: NetSettings) -> Pair:
    """Starts both ends, which end with `stack`. The client waits for a signal. Raises `CannotRun`."""
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
    every = [end for pair in pairs for end in pair.ends]

    def over() -> bool:
        states = [done(end) for end in every]  # each is looked at, so that the moment of its end is known
        return all(states) or any(_has_failed(end) for end in every)

    def late() -> str:
        names = "; ".join(f"{end.host.name}: `{end.command}`" for end in every if not done(end))
        return f"Timed out after {limit_s:g} s waiting for {names}."

    until(over, limit_s, interrupted, late)
    if interrupted():
        return False
    failed = [(end.ended_s or 0.0, pair.place.port, end) for pair in pairs for end in pair.ends if _has_failed(end)]
    if failed:
        _, port, end = min(failed, key=lambda one: one[0])  # the others fail of that
        raise failure(end, port)
    return True


def _has_failed(end: Process) -> bool:
    if not end.has_ended:
        return False
    ended = end.result()
    return ended.code != 0 or iperf3.ERROR in ended.out


def failure(end: Process, port: int) -> CannotRun:
    """Why an end failed, in its own words."""
    ended = end.result()
    said = " ".join(ended.err.splitlines()[-3:]) or f"exit status {ended.code}"
    if ended.out.strip():
        try:
            iperf3.read(ended.out)
        except ValueError as error:
            said = str(error)
    return CannotRun(f"{end.host.name}: `{end.command}` failed: {said}.", iperf3.advice(said, port))
