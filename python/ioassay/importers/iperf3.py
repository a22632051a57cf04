"""iperf3 3.0 to 3.21: its JSON (`--json`, `--json-stream`) of clients and of servers.

A direction is a phase: data from iperf3's client to its server is a write, as a storage client sees the network,
and data in the other direction a read. Amounts are received amounts; samples are those of the end that wrote the file.
Formats: esnet/iperf (`src/iperf_api.c`) at 3.0.1 to 3.21, and what 3.7, 3.12, 3.20 and 3.21 print. Not: the figures of
processors, of TCP's windows and of single datagrams; running iperf3 (`ioassay.net`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ioassay.importers import doubts, model
from ioassay.importers.json_text import Parsed, Repeated, documents, lines_of
from ioassay.importers.model import Case, Doubt, Measurement, OpenSibling, Rank, Samples, Setting
from ioassay.importers.numbers import NS_PER_S
from ioassay.importers.source import Refused, Source
from ioassay.store.document import Operation
from ioassay.text.units import format_bytes, format_count, format_link_rate

_REVERSE = "_bidir_reverse"
"""Suffix of the sums from server to client, if both directions are measured at once."""

_CONGESTION = "sender_tcp_congestion"

_IN_FLIGHT = 0.01
"""The share of the sent bytes that may still be in flight when a test ends."""

_LEAST_INTERVAL_S = 0.1
"""iperf3's shortest interval; every interval is a multiple of it."""


def read(source: Source, _: OpenSibling) -> list[Case]:
    """A case for each test in a file. Raises `Refused`, with iperf3's own error if every test failed."""
    cases: list[Case] = []
    failed: list[Refused] = []
    for test in _tests(source):
        if test.has("error"):
            failed.append(Refused(f"reports an error: {test.values['error']}", test.line))
        else:
            cases.append(_case(source, test))
    if failed and not cases:
        raise failed[0]
    if not cases:
        raise Refused("is not iperf3's JSON: it has no `start` (iperf3 --json)")
    if failed:
        cases[0] = _with_doubt(cases[0], _failed_beside(failed))
    return cases


def _tests(source: Source) -> Iterator[Parsed]:
    """The tests; those of a stream of events are assembled. Raises `Refused`.

    With --json-stream-full-output, the document of a test follows its events: it is skipped.
    """
    stream: dict[str, object] | None = None
    line = 1
    streamed: list[object] = []
    """The starts of the tests that were streamed as events."""
    for document in documents(source):
        if not document.has("event"):
            is_repeated = any(document.values.get("start") == start for start in streamed)
            if not is_repeated and ("start" in document.values or "error" in document.values):
                yield Parsed(document.values, document.line, "the test")
            continue
        event = document.text("event")
        if event == "start":
            if stream is not None:
                yield Parsed(stream, line, "the test")
            streamed.append(document.values.get("data"))
            stream, line = {"start": document.values.get("data"), "intervals": []}, document.line
        elif stream is None:
            raise Refused(f"has the event {event!r} before the start of a test", document.line)
        elif event == "interval" and isinstance(stream["intervals"], list):
            stream["intervals"].append(document.values.get("data"))
        else:
            stream[event] = document.values.get("data")
    if stream is not None:
        yield Parsed(stream, line, "the test")


@dataclass(frozen=True)
class _Direction:
    phase: str
    operation: Operation
    ending: str
    """Suffix of the names of its sums."""
    sent: bool
    """True if the end that wrote the file sent it."""


def _case(source: Source, test: Parsed) -> Case:
    start = test.part("start")
    settings = start.part("test_start")
    if start.has("connecting_to") == start.has("accepted_connection"):
        raise Refused("does not say whether a client or a server wrote it", test.line)
    is_client = start.has("connecting_to")
    test = replace(test, values={**test.values, "end": _with_names_of_directions(test.part("end"), is_client).values})
    end = test.part("end")
    streams = settings.integer("num_streams")
    version = start.text("version").removeprefix("iperf ")
    return Case(
        tool_version=version,
        settings=_settings(start, settings, version),
        amount=_amount(settings),
        clients=1,
        ranks=streams,
        measured=[_measured(source, test, direction, streams) for direction in _ways(test, settings, end, is_client)],
        target=start.part("connecting_to").text("host") if is_client else None,
        facts=model.nonempty_settings(
            {
                "machine": start.text("system_info") if start.has("system_info") else None,
                "congestion control": end.text(_CONGESTION) if end.has(_CONGESTION) else None,
            }
        ),
        started_unix_ns=start.part("timestamp").integer("timesecs") * NS_PER_S if start.has("timestamp") else None,
    )


def _with_names_of_directions(end: Parsed, is_client: bool) -> Parsed:
    """The end of a test, in which the sums of each direction have a name of their own.

    With --bidir, 3.7 gives both the same name; their `sender` distinguishes them. Raises `Refused` if it does not.
    """
    sums_by_name = dict(end.values)
    for name in [
        name for name, value in sums_by_name.items() if name.startswith("sum") and isinstance(value, Repeated)
    ]:
        sums = sums_by_name.pop(name)
        of_sender = {
            direction_sums["sender"]: direction_sums
            for direction_sums in sums
            if isinstance(direction_sums, dict) and isinstance(direction_sums.get("sender"), bool)
        }
        if len(of_sender) != len(sums):
            raise Refused(
                f"has {name!r} {len(sums)} times, as iperf3 3.7 prints both directions of --bidir, but their `sender` "
                "does not say which is which: measure again with 3.9 or later",
                end.line,
            )
        sums_by_name |= {name: of_sender[is_client], f"{name}{_REVERSE}": of_sender[not is_client]}
    return replace(end, values=sums_by_name)


def _ways(test: Parsed, settings: Parsed, end: Parsed, is_client: bool) -> list[_Direction]:
    """The directions. Raises `Refused` if the file does not say which it is."""
    up = _Direction("client-to-server", "write", "", is_client)
    down = _Direction("server-to-client", "read", "", not is_client)
    if any(name.endswith(_REVERSE) for name in end.values):
        return [up, replace(down, ending=_REVERSE)]
    if settings.values.get("bidir"):
        raise Refused("is of both directions (--bidir), but has the sums of one only", test.line)
    sends = _sends(test)
    if settings.has("reverse"):
        direction = down if settings.integer("reverse") else up
    elif sends is not None:  # up to 3.0.10
        direction = up if sends == is_client else down
    else:
        raise Refused("does not say in which direction the data went", test.line)
    if sends is not None and sends != direction.sent:
        raise Refused("has one direction in its settings and another in its intervals", test.line)
    return [direction]


def _sends(test: Parsed) -> bool | None:
    """True if the end that wrote the file sent; `None` if unknown. 3.7 and later say so; before, some values are known
    to one end only.
    """
    for interval in test.parts("intervals"):
        for stream in interval.parts("streams"):
            if stream.has("sender"):
                return bool(stream.values["sender"])
            if stream.has("packets"):
                return not stream.has("jitter_ms")
            if stream.has("snd_cwnd") or stream.has("retransmits"):
                return True
    return None


def _measured(source: Source, test: Parsed, direction: _Direction, streams: int) -> Measurement:
    end = test.part("end")
    total, is_of_receiver = _total(end, direction)
    moved, seconds = total.integer("bytes"), total.number("seconds")
    if not seconds:
        raise Refused("has a test that took no time", test.line)
    ranks = list(_each(end, direction, is_of_receiver))
    found_doubts = list(doubts.short_phase(seconds))
    if not is_of_receiver:
        found_doubts.append(_counted_by_sender())
    if (lost := _lost(end, direction)) is not None:
        found_doubts.append(lost)
    return Measurement(
        file=source.path,
        line=_line_of(source, test, total.what),
        phase=direction.phase,
        operation=direction.operation,
        transfer_bytes=test.part("start").part("test_start").integer("blksize") or None,
        ranks=streams,
        bytes=moved,
        duration_ns=round(seconds * NS_PER_S),
        each=model.ranks(ranks) if len(ranks) == streams else None,
        samples=_samples(test, direction),
        doubts=found_doubts,
    )


def _total(end: Parsed, direction: _Direction) -> tuple[Parsed, bool]:
    """The received sum, and true; or the sent one, and false, if the file does not know the other."""
    for name in (f"sum_received{direction.ending}", f"sum{direction.ending}"):
        if end.has(name) and (total := replace(end.part(name), what=name)).integer("bytes"):
            return total, name.startswith("sum_received") or not _counts_lost(total, direction)
    sent = replace(end.part(f"sum_sent{direction.ending}"), what=f"sum_sent{direction.ending}")
    if not sent.integer("bytes"):
        raise Refused("reports neither sent nor received bytes", end.line)
    return sent, False


def _counts_lost(datagrams: Parsed, direction: _Direction) -> bool:
    """True if a sum of datagrams counts the sent ones, even at the receiver (3.7)."""
    if not datagrams.has("lost_packets"):
        return False
    lost, packets = datagrams.integer("lost_packets"), datagrams.integer("packets")
    return lost > 0 and (direction.sent or (packets > 0 and datagrams.integer("bytes") % packets == 0))


def _line_of(source: Source, test: Parsed, name: str) -> int:
    return next(iter(lines_of(source, test, f'"{name}"\\s*:')), test.line)


def _each(end: Parsed, direction: _Direction, is_of_receiver: bool) -> Iterator[Rank]:
    """The amount of each stream."""
    rank = 0
    for stream in end.parts("streams") if end.has("streams") else ():
        sums = stream.part("udp" if stream.has("udp") else "receiver" if is_of_receiver else "sender")
        if _is_of(sums, direction):
            yield Rank(rank=rank, end_ns=round(sums.number("seconds") * NS_PER_S), bytes=sums.integer("bytes"))
            rank += 1


def _is_of(stream: Parsed, direction: _Direction) -> bool:
    """True if a stream goes in this direction; with only one direction, versions before 3.7 do not say."""
    return bool(stream.values.get("sender", direction.sent) == direction.sent)


def _samples(test: Parsed, direction: _Direction) -> Samples | None:
    """Amounts of each stream in each interval, as counted by the end that wrote the file; without the omitted beginning
    (`--omit`). `None` if the intervals have no common length.
    """
    intervals = [interval.parts("streams") for interval in test.parts("intervals")]
    measured_intervals = [[stream for stream in streams if _is_of(stream, direction)] for streams in intervals]
    measured_intervals = [streams for streams in measured_intervals if streams and not streams[0].values.get("omitted")]
    if not measured_intervals:
        return None
    tenths = round(measured_intervals[0][0].number("seconds") / _LEAST_INTERVAL_S)
    length_s = tenths * _LEAST_INTERVAL_S
    late = [abs(streams[0].number("seconds") - length_s) > length_s / 10 for streams in measured_intervals[:-1]]
    if not tenths or any(late):
        return None
    rows = [
        (rank, sample_number, stream.integer("bytes"), stream.integer("packets") if stream.has("packets") else 0)
        for sample_number, streams in enumerate(measured_intervals)
        for rank, stream in enumerate(streams)
    ]
    rank, sample, moved, packets = zip(*rows, strict=True)
    return Samples(interval_ns=tenths * NS_PER_S // 10, rank=rank, sample=sample, bytes=moved, operations=packets)


def _settings(start: Parsed, settings: Parsed, version: str) -> list[Setting]:
    rate = settings.values.get("target_bitrate") or start.values.get("target_bitrate") or 0
    window = start.values.get("sock_bufsize") or 0
    omitted = settings.integer("omit") if settings.has("omit") else 0
    values = {
        "protocol": settings.text("protocol"),
        "block": f"blocks of {format_bytes(settings.integer('blksize'))}",
        "rate": f"at most {format_link_rate(rate)} each" if isinstance(rate, int) and rate else "",
        "window": f"windows of {format_bytes(window)}" if isinstance(window, int) and window else "",
        "omit": f"after {omitted} s" if omitted else "",
        "version": f"iperf3 {version}",
    }
    return model.nonempty_settings(values)


def _amount(settings: Parsed) -> str:
    """The duration or the amount, in words."""
    if settings.has("bytes") and settings.integer("bytes"):
        return format_bytes(settings.integer("bytes"))
    if settings.has("blocks") and settings.integer("blocks"):
        return f"{settings.integer('blocks')} blocks"
    return f"{settings.integer('duration')} s"


def _lost(end: Parsed, direction: _Direction) -> Doubt | None:
    """Doubts datagrams that did not arrive."""
    name = f"sum{direction.ending}"
    if not end.has(name):
        return None
    datagrams = end.part(name)
    sent, lost = datagrams.integer("packets"), datagrams.integer("lost_packets")
    if lost:
        message = f"{lost} of {sent} datagrams were lost"
    elif (missing := _missing_bytes(end, direction)) is not None:
        message = f"iperf3 counts 0 lost datagrams, but {format_bytes(missing)} of what was sent did not arrive"
    else:
        return None
    return Doubt(
        kind="datagrams-lost",
        message=message,
        remedy="measure again with a lower --bitrate, or with TCP",
        evidence={"lost": lost, "sent": sent},
    )


def _missing_bytes(end: Parsed, direction: _Direction) -> int | None:
    """Bytes sent that did not arrive, beyond what may have been in flight at the end."""
    names = (f"sum_sent{direction.ending}", f"sum_received{direction.ending}")
    if not all(end.has(name) for name in names):
        return None
    sent, received = (end.part(name).integer("bytes") for name in names)
    return sent - received if received < sent * (1 - _IN_FLIGHT) else None


def _counted_by_sender() -> Doubt:
    return Doubt(
        kind="counted-by-sender",
        message="the file does not say what was received; this is what was sent, part of which may still have "
        "been in flight",
        remedy="import the file of the other end, or measure longer",
    )


def _failed_beside(failed: Sequence[Refused]) -> Doubt:
    return Doubt(
        kind="not-imported",
        message=f"the same file has {format_count(len(failed), 'test')} that failed; the first {failed[0].reason}",
        remedy="see the file",
        evidence={"lines": [error.line for error in failed]},
    )


def _with_doubt(case: Case, doubt: Doubt) -> Case:
    first, *rest = case.measured
    return replace(case, measured=[replace(first, doubts=[*first.doubts, doubt]), *rest])
