"""iperf3's JSON of all versions becomes what arrived in each direction, or is refused with iperf3's own words."""

import json
import re

import pytest
from hypothesis import given

from ioassay.importers.iperf3 import read
from ioassay.testing.importer_samples import FILES, assert_same_or_refused, cases, damages, measured, refused, sample

OLD = json.dumps(
    {
        "start": {
            "version": "iperf 3.0.1",
            "connecting_to": {"host": "node002", "port": 5201},
            "test_start": {"protocol": "TCP", "num_streams": 1, "blksize": 131072, "omit": 0, "duration": 10},
        },
        "intervals": [{"streams": [{"socket": 4, "seconds": 1.0, "bytes": 100, "retransmits": 0, "omitted": False}]}],
        "end": {
            "streams": [{"sender": {"seconds": 10.0, "bytes": 110}, "receiver": {"seconds": 10.0, "bytes": 90}}],
            "sum_sent": {"seconds": 10.0, "bytes": 110},
            "sum_received": {"seconds": 10.0, "bytes": 90},
        },
    }
)
"""What 3.0.1 prints of a client that sends: it does not say so."""

OLD_DATAGRAMS = json.dumps(
    {
        "start": {
            "version": "iperf 3.1.3",
            "connecting_to": {"host": "node002", "port": 5201},
            "test_start": {"protocol": "UDP", "num_streams": 1, "blksize": 1448, "duration": 10, "reverse": 0},
        },
        "intervals": [{"streams": [{"socket": 4, "seconds": 1.0, "bytes": 1448, "packets": 1, "omitted": False}]}],
        "end": {
            "streams": [{"udp": {"seconds": 10.0, "bytes": 14480, "lost_packets": 3, "packets": 10}}],
            "sum": {"seconds": 10.0, "bytes": 14480, "lost_packets": 3, "packets": 10},
        },
    }
)
"""What 3.1 prints of datagrams: one sum, of those that were sent."""


def shape(name: str) -> str:
    """A sample of 3.12."""
    return sample(f"iperf3/iperf3-3.12-{name}.json")


def streamed(text: str) -> str:
    """The sample as `--json-stream` prints it."""
    document = json.loads(text)
    events = [
        {"event": "start", "data": document["start"]},
        *({"event": "interval", "data": interval} for interval in document["intervals"]),
        {"event": "end", "data": document["end"]},
    ]
    return "".join(json.dumps(event) + "\n" for event in events)


@pytest.mark.parametrize(
    ("name", "phases"),
    [
        ("four-streams", ["client-to-server"]),
        ("rev", ["server-to-client"]),
        ("bidir", ["client-to-server", "server-to-client"]),
        ("server", ["client-to-server"]),
        ("serverrev", ["server-to-client"]),
        ("udp", ["client-to-server"]),
        ("udprev", ["server-to-client"]),
        ("udpbi", ["client-to-server", "server-to-client"]),
    ],
)
def test_the_direction_is_from_the_client_for_files_of_both_ends(name: str, phases: list[str]) -> None:
    measurements = measured(read, shape(name))
    assert [m.phase for m in measurements] == phases
    assert {(m.phase, m.operation) for m in measurements} <= {
        ("client-to-server", "write"),
        ("server-to-client", "read"),
    }


def test_amounts_are_received_amounts() -> None:
    text = shape("rev")
    end = json.loads(text)["end"]
    (measurement,) = measured(read, text)
    assert end["sum_sent"]["bytes"] != end["sum_received"]["bytes"] == measurement.bytes
    assert measurement.doubts == []


def test_streams_are_ranks_that_add_up() -> None:
    for name in ("four-streams", "bidir", "rev"):
        for m in measured(read, shape(name)):
            assert m.each is not None
            assert len(m.each) == m.ranks
            assert m.each["bytes"].sum() == m.bytes


def test_intervals_are_samples_of_each_stream() -> None:
    (measurement,) = measured(read, shape("four-streams"))
    intervals = json.loads(shape("four-streams"))["intervals"]
    assert measurement.samples is not None
    assert measurement.samples.interval_ns == 500_000_000
    assert list(measurement.samples.bytes) == [
        stream["bytes"] for interval in intervals for stream in interval["streams"]
    ]
    assert list(measurement.samples.rank) == [0, 1, 2, 3] * len(intervals)


def test_omitted_intervals_are_left_out() -> None:
    (measurement,) = measured(read, shape("omit"))
    expected = [
        interval["sum"]["bytes"]
        for interval in json.loads(shape("omit"))["intervals"]
        if not interval["sum"]["omitted"]
    ]
    assert measurement.samples is not None
    assert (list(measurement.samples.sample), list(measurement.samples.bytes)) == ([0, 1], expected)


def test_intervals_of_different_lengths_are_not_samples() -> None:
    text = re.sub(r'"seconds":\t0\.[45]\d+', '"seconds":\t0.77', shape("four-streams"), count=2)
    assert measured(read, text)[0].samples is None


def test_amounts_counted_by_the_sender_are_doubted() -> None:
    (measurement,) = measured(read, shape("serverrev"))
    assert measurement.bytes == json.loads(shape("serverrev"))["end"]["sum_sent"]["bytes"]
    assert [doubt.kind for doubt in measurement.doubts] == ["counted-by-sender"]


def test_the_direction_before_3_0_11_follows_from_values_of_the_sender() -> None:
    assert [m.phase for m in measured(read, OLD)] == ["client-to-server"]
    assert "direction" in refused(read, OLD.replace("retransmits", "other")).reason


def test_lost_datagrams_are_doubted() -> None:
    (measurement,) = measured(read, OLD_DATAGRAMS)
    assert {doubt.kind for doubt in measurement.doubts} == {"counted-by-sender", "datagrams-lost"}


def test_a_stream_of_events_has_the_same_results_as_a_document() -> None:
    for name in ("bidir", "udp"):
        lines = [(m.phase, m.bytes, m.duration_ns, m.samples) for m in measured(read, streamed(shape(name)))]
        assert lines == [(m.phase, m.bytes, m.duration_ns, m.samples) for m in measured(read, shape(name))]


def test_a_document_after_its_own_events_is_not_counted_again() -> None:
    for name in ("3.21-streamfull", "3.20-json-stream-full"):
        (measurement,) = measured(read, sample(f"iperf3/iperf3-{name}.json"))
        assert measurement.line == 4
    text = sample("iperf3/iperf3-3.21-streamfull.json")
    another = re.sub(r'("timesecs":\s*)', r"\g<1>1", text)
    assert len(measured(read, text + another)) == 2


def test_both_directions_of_3_7_are_distinguished_by_sender() -> None:
    write, back = measured(read, sample("iperf3/iperf3-3.7-bidir.json"))
    assert (write.phase, write.bytes, back.phase, back.bytes) == (
        "client-to-server",
        2937323520,
        "server-to-client",
        2578710528,
    )
    assert {direction.duration_ns for direction in (write, back)} == {2_047_745_000}
    assert write.each is not None
    assert write.each["bytes"].to_list() == [1515192320, 1422131200]


def test_repeated_sums_of_one_sender_are_refused_by_name() -> None:
    error = refused(read, sample("iperf3/iperf3-3.7-bidir-repeated-keys.json"))
    assert "has 'sum_sent' 2 times, as iperf3 3.7 prints both directions of --bidir" in error.reason


def test_a_test_of_both_directions_with_the_sums_of_one_is_refused() -> None:
    text = re.sub(r"sum(_\w+)?_bidir_reverse", "other", shape("bidir")).replace('"reverse":', '"bidir": 1, "reverse":')
    assert "the sums of one only" in refused(read, text).reason


def test_datagrams_that_a_receiver_of_3_7_counts_as_received_may_be_lost() -> None:
    write, back = measured(read, sample("iperf3/iperf3-3.7-udpbidir.json"))
    assert back.bytes == 391 * 32768, "8 of 391 were lost"
    for direction in (write, back):
        assert {doubt.kind for doubt in direction.doubts} == {"counted-by-sender", "datagrams-lost"}


def test_datagrams_that_did_not_arrive_are_doubted_even_if_none_was_counted_as_lost() -> None:
    text = sample("iperf3/iperf3-3.21-udp.json").replace('"lost_packets":\t10', '"lost_packets":\t0')
    (measurement,) = measured(read, text)
    assert measurement.bytes == 753 * 32768
    assert ["counts 0 lost datagrams, but 320 KiB" in doubt.message for doubt in measurement.doubts] == [True]


def test_a_stream_of_events_without_its_end_is_refused() -> None:
    events = streamed(shape("udp")).splitlines(keepends=True)
    assert "'end'" in refused(read, "".join(events[:-1])).reason


def test_consecutive_tests_in_one_file_are_cases() -> None:
    assert len(cases(read, shape("udp") + shape("rev"))) == 2


def test_a_failed_test_is_refused_or_doubted_beside_others() -> None:
    failed = '{\n"start": {"connected": []},\n"intervals": [],\n"end": {},\n"error": "unable to connect to server"\n}\n'
    assert "unable to connect to server" in refused(read, failed).reason
    (case,) = cases(read, failed + shape("udp"))
    assert "unable to connect to server" in case.measured[0].doubts[-1].message


def test_a_measurement_names_the_line_of_its_sum() -> None:
    for m in measured(read, shape("bidir")):
        assert "sum_received" in shape("bidir").splitlines()[m.line - 1]


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "iperf3: error - unable to connect\n", '{"start": 1}', "[ ID] Interval"]
)
def test_foreign_files_are_refused(text: str) -> None:
    assert refused(read, text).reason


ACCEPTED = [path.read_text() for path in sorted((FILES / "iperf3").iterdir()) if "repeated-keys" not in path.name]


@given(damages([*ACCEPTED, OLD, OLD_DATAGRAMS, streamed(shape("bidir"))]))
def test_damage_changes_no_number(texts: tuple[str, str]) -> None:
    assert_same_or_refused(read, *texts)
