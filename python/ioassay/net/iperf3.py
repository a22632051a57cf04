"""Command lines and JSON of iperf3. Written against iperf3 3.12.

Not: starting it (`process`), adding up several (`overlap`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from ioassay.store.net_document import Direction, NetSettings

CONNECT_S = 10

ERROR = '"error":'
"""Part of the JSON of a failed test, whose exit status is 0 nevertheless."""

_LEAST_INTERVAL_S, _MOST_INTERVAL_S = 0.1, 1.0
"""iperf3's shortest interval; the longest that the raw files of a long test need."""

_THREADED_SINCE = (3, 16)
"""The first version in which each stream has its own thread."""


@dataclass(frozen=True)
class Interval:
    """Bytes received from `start_s` to `end_s`, since the start of the counting end."""

    start_s: float
    end_s: float
    received_bytes: int


@dataclass(frozen=True)
class Parsed:
    """The JSON of one end."""

    intervals: tuple[Interval, ...]
    retransmits: int | None
    """Known to the sending end only."""
    processor_percent: float
    """Processor use of this end's iperf3; the sum over its threads."""


def server_command(address: str, port: int, settings: NetSettings) -> list[str]:
    """A server for one test, which listens only on `address`."""
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
    """Parses the JSON of one end.

    Raises `ValueError` with iperf3's own error if the test failed, and for any other JSON.
    """
    try:
        content = json.loads(text)
        if "error" in content:
            raise ValueError(str(content["error"]))
        sums = [interval["sum"] for interval in content["intervals"]]
        sent = content["end"]["sum_sent"]
        return Parsed(
            intervals=tuple(
                Interval(float(interval_sum["start"]), float(interval_sum["end"]), int(interval_sum["bytes"]))
                for interval_sum in sums
                if not interval_sum["omitted"]
            ),
            retransmits=sent.get("retransmits"),
            processor_percent=float(content["end"]["cpu_utilization_percent"]["host_total"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"its JSON lacks {error}") from error


def threads(version: str, streams: int) -> int:
    """The most processors that an iperf3 of this version can use."""
    return streams if tuple(int(part) for part in version.split(".")[:2] if part) >= _THREADED_SINCE else 1


def advice(error: str, port: int) -> str:
    """What to try after this error of iperf3."""
    if "unable to connect" in error:
        return f"Allow TCP connections to port {port} of the server, or use other ports with --port."
    if "start listener" in error or "bind" in error:
        return "Use an address of the server, as NAME=ADDRESS, and free ports with --port."
    if "socket buffer" in error:
        return "Omit --window, or raise net.core.rmem_max and net.core.wmem_max on both ends (sysctl)."
    return "Run the command by hand on both hosts."
