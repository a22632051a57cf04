"""iperf3: its command lines, and what its JSON says. Written against iperf3 3.12.

Not: starting it (`process`), adding up several (`overlap`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from ioassay.store.net_document import Direction, NetSettings

CONNECT_S = 10

ERROR = '"error":'
"""Stands in the JSON of a test that failed, whose exit status is 0 all the same."""

_LEAST_INTERVAL_S, _MOST_INTERVAL_S = 0.1, 1.0
"""What iperf3 allows at least; what the raw files of a long test need at most."""

_THREADED_SINCE = (3, 16)
"""From then on each stream has a thread of its own."""


@dataclass(frozen=True)
class Interval:
    """What arrived from `start_s` to `end_s`, counted from when the end that counted it began."""

    start_s: float
    end_s: float
    received_bytes: int


@dataclass(frozen=True)
class Parsed:
    """What one end said."""

    intervals: tuple[Interval, ...]
    retransmits: int | None
    """Only the sending end knows."""
    processor_percent: float
    """What this end's iperf3 took of a processor; of several threads the sum."""


def server_command(address: str, port: int, settings: NetSettings) -> list[str]:
    """A server for one test. It listens on `address` and nowhere else."""
    return ["iperf3", "--server", "--one-off", "--bind", address, *_common(port, settings)]


def client_command(address: str, port: int, direction: Direction, settings: NetSettings) -> list[str]:
    """A client that sends to the server, or receives from it."""
    words = ["iperf3", "--client", address, *_common(port, settings)]
    words += ["--connect-timeout", str(CONNECT_S * 1000), "--time", f"{settings.duration_s:g}"]
    words += ["--parallel", str(settings.streams)]
    if settings.window_bytes is not None:
        words += ["--window", str(settings.window_bytes)]
    if settings.length_bytes is not None:
        words += ["--length", str(settings.length_bytes)]
    return [*words, "--reverse"] if direction == "to-clients" else words


def _common(port: int, settings: NetSettings) -> list[str]:
    interval_s = min(max(settings.duration_s / 20, _LEAST_INTERVAL_S), _MOST_INTERVAL_S)
    return ["--port", str(port), "--json", "--interval", f"{interval_s:g}"]


def read(text: str) -> Parsed:
    """Reads the JSON of one end.

    Raises `ValueError` with iperf3's own words where the test failed, and for what is no such JSON.
    """
    try:
        content = json.loads(text)
        if "error" in content:
            raise ValueError(str(content["error"]))
        sums = [interval["sum"] for interval in content["intervals"]]
        sent = content["end"]["sum_sent"]
        return Parsed(
            intervals=tuple(
                Interval(float(one["start"]), float(one["end"]), int(one["bytes"]))
                for one in sums
                if not one["omitted"]
            ),
            retransmits=sent.get("retransmits"),
            processor_percent=float(content["end"]["cpu_utilization_percent"]["host_total"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"its JSON lacks {error}") from error


def threads(version: str, streams: int) -> int:
    """How many processors an iperf3 of this version can use at most."""
    return streams if tuple(int(part) for part in version.split(".")[:2] if part) >= _THREADED_SINCE else 1


def advice(said: str, port: int) -> str:
    """What to try when iperf3 failed with these words."""
    if "unable to connect" in said:
        return f"Allow TCP connections to port {port} of the server, or use other ports with --port."
    if "start listener" in said or "bind" in said:
        return "Use an address of the server, as NAME=ADDRESS, and free ports with --port."
    if "socket buffer" in said:
        return "Omit --window, or raise net.core.rmem_max and net.core.wmem_max on both ends (sysctl)."
    return "Run the command by hand on both hosts."
