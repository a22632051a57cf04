"""iperf3 3.0 to 3.21: its JSON (`--json`, `--json-stream`) of clients and of servers.

A direction is a phase: what goes from iperf3's client to its server is a write, as a storage client sees the network,
and what comes back is a read. Amounts are those that arrived; samples are those of the end that wrote the file.
Formats: esnet/iperf (`src/iperf_api.c`) at 3.0.1 to 3.21, and what 3.7, 3.12, 3.20 and 3.21 print. Not: the figures of
processors, of TCP's windows and of single datagrams; running iperf3 (`ioassay.net`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ioassay.importers import doubts, model
from ioassay.importers.json_text import Parsed, Repeated, documents, lines_of
from ioassay.importers.model import Beside, Case, Doubt, Measured, Rank, Samples, Setting
from ioassay.importers.numbers import NS_PER_S
from ioassay.importers.source import Refused, Source
from ioassay.store.document import Operation
from ioassay.text.units import format_bytes, format_count, format_link_rate

_REVERSE = "_bidir_reverse"
"""Ends the names of the sums from server to client, where both directions are measured at once."""

_CONGESTION = "sender_tcp_congestion"

_IN_FLIGHT = 0.01
"""The share of what was sent that may still be under way when a test ends."""

_LEAST_INTERVAL_S = 0.1
"""What iperf3 allows; every interval is a multiple of it."""


def read(source: Source, _: Beside) -> list[Case]:
    """A case for each test in a file. Raises `Refused`, with iperf3's own words where every test failed."""
    found: list[Case] = []
    failed: list[Refused] = []
    for told in _tests(source):
        if told.has("error"):
            failed.append(Refused(f"reports an error: {told.values['error']}", told.line))
        else:
            found.append(_case(source, told))
    if failed and not found:
        raise failed[0]
    if not found:
        raise Refused("is not iperf3's JSON: it has no `start` (iperf3 --json)")
    if failed:
        found[0] = _with_doubt(found[0], _failed_beside(failed))
    return found


def _tests(source: Source) -> Iterator[Parsed]:
    """The tests, of a stream of events put together. Raises `Refused`.

    With --json-stream-full-output the whole document of a test follows its events: it is the same test.
    """
    stream: dict[str, object] | None = None
    line = 1
    streamed: list[object] = []
    """The starts of the tests that were told as events."""
    for told in documents(source):
        if not told.has("event"):
            is_told = any(told.values.get("start") == start for start in streamed)
            if not is_told and ("start" in told.values or "error" in told.values):
                yield Parsed(told.values, told.line, "the test")
            continue
        event = told.text("event")
        if event == "start":
            if stream is not None:
                yield Parsed(stream, line, "the test")
            streamed.append(told.values.get("data"))
            stream, line = {"start": told.values.get("data"), "intervals": []}, told.line
        elif stream is None:
            raise Refused(f"has the event {event!r} before the start of a test", told.line)
        elif event == "interval" and isinstance(stream["intervals"], list):
            stream["intervals"].append(told.values.get("data"))
        else:
            stream[event] = told.values.get("data")
    if stream is not None:
        yield Parsed(stream, line, "the test")


@dataclass(frozen=True)
class _Way:
    """A direction of a test."""

    phase: str
    operation: Operation
    ending: str
    """Of the names of its sums."""
    sent: bool
    """True if the end that wrote the file sent it."""


def _case(source: Source, told: Parsed) -> Case:
    start = told.part("start")
    settings = start.part("test_start")
    if start.has("connecting_to") == start.has("accepted_connection"):
        raise Refused("does not say whether a client or a server wrote it", told.line)
    is_client = start.has("connecting_to")
    told = replace(told, values={**told.values, "end": _with_names_of_directions(told.part("end"), is_client).values})
    end = told.part("end")
    streams = settings.whole("num_streams")
    version = start.text("version").removeprefix("iperf ")
    return Case(
        tool_version=version,
        settings=_settings(start, settings, version),
        amount=_amount(settings),
        clients=1,
        ranks=streams,
        measured=[_measured(source, told, way, streams) for way in _ways(told, settings, end, is_client)],
        target=start.part("connecting_to").text("host") if is_client else None,
        facts=model.told(
            {
                "machine": start.text("system_info") if start.has("system_info") else None,
                "congestion control": end.text(_CONGESTION) if end.has(_CONGESTION) else None,
            }
        ),
        started_unix_ns=start.part("timestamp").whole("timesecs") * NS_PER_S if start.has("timestamp") else None,
    )


def _with_names_of_directions(end: Parsed, is_client: bool) -> Parsed:
    """The end of a test, in which the sums of each direction have a name of their own.

    With --bidir 3.7 gives both the same name; which is which their `sender` says. Raises `Refused` where it does not.
    """
    found = dict(end.values)
    for name in [name for name, value in found.items() if name.startswith("sum") and isinstance(value, Repeated)]:
        sums = found.pop(name)
        of_sender = {
            one["sender"]: one for one in sums if isinstance(one, dict) and isinstance(one.get("sender"), bool)
        }
        if len(of_sender) != len(sums):
            raise Refused(
                f"has {name!r} {len(sums)} times, as iperf3 3.7 prints both directions of --bidir, but their `sender` "
                "does not say which is which: measure again with 3.9 or later",
                end.line,
            )
        found |= {name: of_sender[is_client], f"{name}{_REVERSE}": of_sender[not is_client]}
    return replace(end, values=found)


def _ways(told: Parsed, settings: Parsed, end: Parsed, is_client: bool) -> list[_Way]:
    """The directions. Raises `Refused` where the file does not say which it is."""
    up = _Way("client-to-server", "write", "", is_client)
    down = _Way("server-to-client", "read", "", not is_client)
    if any(name.endswith(_REVERSE) for name in end.values):
        return [up, replace(down, ending=_REVERSE)]
    if settings.values.get("bidir"):
        raise Refused("is of both directions (--bidir), but has the sums of one only", told.line)
    sends = _sends(told)
    if settings.has("reverse"):
        way = down if settings.whole("reverse") else up
    elif sends is not None:  # up to 3.0.10
        way = up if sends == is_client else down
    else:
        raise Refused("does not say in which direction the data went", told.line)
    if sends is not None and sends != way.sent:
        raise Refused("has one direction in its settings and another in its intervals", told.line)
    return [way]


def _sends(told: Parsed) -> bool | None:
    """True if the end that wrote the file sent, `None` where nothing tells: from 3.7 on it is said, before that some
    things are known to one end only.
    """
    for interval in told.parts("intervals"):
        for stream in interval.parts("streams"):
            if stream.has("sender"):
                return bool(stream.values["sender"])
            if stream.has("packets"):
                return not stream.has("jitter_ms")
            if stream.has("snd_cwnd") or stream.has("retransmits"):
                return True
    return None


def _measured(source: Source, told: Parsed, way: _Way, streams: int) -> Measured:
    end = told.part("end")
    total, is_of_receiver = _total(end, way)
    moved, seconds = total.whole("bytes"), total.number("seconds")
    if not seconds:
        raise Refused("has a test that took no time", told.line)
    each = list(_each(end, way, is_of_receiver))
    found = list(doubts.short_phase(seconds))
    if not is_of_receiver:
        found.append(_counted_by_sender())
    if (lost := _lost(end, way)) is not None:
        found.append(lost)
    return Measured(
        file=source.path,
        line=_line_of(source, told, total.what),
        phase=way.phase,
        operation=way.operation,
        transfer_bytes=told.part("start").part("test_start").whole("blksize") or None,
        ranks=streams,
        bytes=moved,
        duration_ns=round(seconds * NS_PER_S),
        each=model.ranks(each) if len(each) == streams else None,
        samples=_samples(told, way),
        doubts=found,
    )


def _total(end: Parsed, way: _Way) -> tuple[Parsed, bool]:
    """What arrived, and true; or what was sent, and false, where the file does not know the other."""
    for name in (f"sum_received{way.ending}", f"sum{way.ending}"):
        if end.has(name) and (found := replace(end.part(name), what=name)).whole("bytes"):
            return found, name.startswith("sum_received") or not _counts_lost(found, way)
    sent = replace(end.part(f"sum_sent{way.ending}"), what=f"sum_sent{way.ending}")
    if not sent.whole("bytes"):
        raise Refused("reports neither sent nor received bytes", end.line)
    return sent, False


def _counts_lost(datagrams: Parsed, way: _Way) -> bool:
    """True if a sum of datagrams counts those that were sent, also of a receiver (3.7)."""
    if not datagrams.has("lost_packets"):
        return False
    lost, packets = datagrams.whole("lost_packets"), datagrams.whole("packets")
    return lost > 0 and (way.sent or (packets > 0 and datagrams.whole("bytes") % packets == 0))


def _line_of(source: Source, told: Parsed, name: str) -> int:
    return next(iter(lines_of(source, told, f'"{name}"\\s*:')), told.line)


def _each(end: Parsed, way: _Way, is_of_receiver: bool) -> Iterator[Rank]:
    """What each stream moved."""
    of_way = 0
    for stream in end.parts("streams") if end.has("streams") else ():
        told = stream.part("udp" if stream.has("udp") else "receiver" if is_of_receiver else "sender")
        if _is_of(told, way):
            yield Rank(rank=of_way, end_ns=round(told.number("seconds") * NS_PER_S), bytes=told.whole("bytes"))
            of_way += 1


def _is_of(stream: Parsed, way: _Way) -> bool:
    """True if a stream goes this way. Where there is only one, versions before 3.7 do not say."""
    return bool(stream.values.get("sender", way.sent) == way.sent)


def _samples(told: Parsed, way: _Way) -> Samples | None:
    """What each stream moved in each interval, as the end that wrote the file counted; not before the test's time began
    (`--omit`). `None` where the intervals have no common length.
    """
    intervals = [interval.parts("streams") for interval in told.parts("intervals")]
    kept = [[stream for stream in streams if _is_of(stream, way)] for streams in intervals]
    kept = [streams for streams in kept if streams and not streams[0].values.get("omitted")]
    if not kept:
        return None
    tenths = round(kept[0][0].number("seconds") / _LEAST_INTERVAL_S)
    length_s = tenths * _LEAST_INTERVAL_S
    late = [abs(streams[0].number("seconds") - length_s) > length_s / 10 for streams in kept[:-1]]
    if not tenths or any(late):
        return None
    rows = [
        (rank, at, stream.whole("bytes"), stream.whole("packets") if stream.has("packets") else 0)
        for at, streams in enumerate(kept)
        for rank, stream in enumerate(streams)
    ]
    rank, sample, moved, packets = zip(*rows, strict=True)
    return Samples(interval_ns=tenths * NS_PER_S // 10, rank=rank, sample=sample, bytes=moved, operations=packets)


def _settings(start: Parsed, settings: Parsed, version: str) -> list[Setting]:
    rate = settings.values.get("target_bitrate") or start.values.get("target_bitrate") or 0
    window = start.values.get("sock_bufsize") or 0
    omitted = settings.whole("omit") if settings.has("omit") else 0
    found = {
        "protocol": settings.text("protocol"),
        "block": f"blocks of {format_bytes(settings.whole('blksize'))}",
        "rate": f"at most {format_link_rate(rate)} each" if isinstance(rate, int) and rate else "",
        "window": f"windows of {format_bytes(window)}" if isinstance(window, int) and window else "",
        "omit": f"after {omitted} s" if omitted else "",
        "version": f"iperf3 {version}",
    }
    return model.told(found)


def _amount(settings: Parsed) -> str:
    """How long or how much, in words."""
    if settings.has("bytes") and settings.whole("bytes"):
        return format_bytes(settings.whole("bytes"))
    if settings.has("blocks") and settings.whole("blocks"):
        return f"{settings.whole('blocks')} blocks"
    return f"{settings.whole('duration')} s"


def _lost(end: Parsed, way: _Way) -> Doubt | None:
    """Of datagrams, those that did not arrive."""
    name = f"sum{way.ending}"
    if not end.has(name):
        return None
    datagrams = end.part(name)
    sent, lost = datagrams.whole("packets"), datagrams.whole("lost_packets")
    if lost:
        message = f"{lost} of {sent} datagrams were lost"
    elif (missing := _missing_bytes(end, way)) is not None:
        message = f"iperf3 counts 0 lost datagrams, but {format_bytes(missing)} of what was sent did not arrive"
    else:
        return None
    return Doubt(
        kind="datagrams-lost",
        message=message,
        remedy="measure again with a lower --bitrate, or with TCP",
        evidence={"lost": lost, "sent": sent},
    )


def _missing_bytes(end: Parsed, way: _Way) -> int | None:
    """What was sent and did not arrive, but for what may have been in flight at the end."""
    names = (f"sum_sent{way.ending}", f"sum_received{way.ending}")
    if not all(end.has(name) for name in names):
        return None
    sent, received = (end.part(name).whole("bytes") for name in names)
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
    first, *others = case.measured
    return replace(case, measured=[replace(first, doubts=[*first.doubts, doubt]), *others])
