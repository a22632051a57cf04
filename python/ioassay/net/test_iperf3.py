from __future__ import annotations

from pathlib import Path

import pytest

from ioassay import testing
from ioassay.net import iperf3
from ioassay.store.net_document import NetSettings

SAMPLE = Path(testing.__file__).with_name("iperf3-3.12.json").read_text()
"""Output of iperf3 3.12 for two streams over loopback in 2 s."""

SETTINGS = NetSettings(duration_s=30, window_bytes=2 << 20, length_bytes=1 << 20, streams=2)


def test_the_intervals_of_all_streams_are_read() -> None:
    parsed = iperf3.read(SAMPLE)
    assert [round(interval.start_s) for interval in parsed.intervals] == [0, 1]
    assert parsed.intervals[-1].end_s == pytest.approx(2.000751)
    assert sum(interval.received_bytes for interval in parsed.intervals) == 6396313600
    assert parsed.retransmits == 14
    assert parsed.processor_percent == pytest.approx(50.7, abs=0.1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"error": "unable to connect to server: Connection refused"}', "unable to connect"),
        ("", "Expecting value"),
        ("[]", "lacks"),
        ('{"intervals": [{}]}', "lacks 'sum'"),
    ],
)
def test_failures_and_foreign_json_are_refused_with_the_error(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        iperf3.read(text)


def test_the_server_listens_only_on_its_address_for_one_test() -> None:
    words = iperf3.server_command("10.0.0.5", 5207, SETTINGS)
    assert " ".join(words) == "iperf3 --server --one-off --bind 10.0.0.5 --port 5207 --json --interval 1"


def test_the_client_command_has_the_settings() -> None:
    words = " ".join(iperf3.client_command("10.0.0.5", 5207, "to-servers", SETTINGS))
    assert "--window 2097152 --length 1048576" in words
    assert "--time 30" in words
    assert "--reverse" not in words
    assert iperf3.client_command("10.0.0.5", 5207, "to-clients", SETTINGS)[-1] == "--reverse"


def test_streams_have_their_own_processor_since_3_16() -> None:
    assert [iperf3.threads(version, 4) for version in ("3.9", "3.12", "3.16", "4.0")] == [1, 1, 4, 4]


def test_every_known_failure_has_advice() -> None:
    for error, words in {
        "unable to connect to server: Connection timed out": "port 5207",
        "unable to start listener for connections: Address already in use": "--port",
        "socket buffer size not set correctly": "net.core.rmem_max",
        "something else": "by hand",
    }.items():
        assert words in iperf3.advice(error, 5207)
