import re
from dataclasses import fields, replace
from datetime import UTC, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.errors import UsageError
from ioassay.monitoring.mistral.alerts import Alert, alert_of, entry_of
from ioassay.monitoring.mistral.log import LogEntry, read_entry
from ioassay.monitoring.mistral.terms import CallType
from ioassay.testing import mistral

KINDS = Path(__file__).parents[4] / "crates" / "protocol" / "src" / "watch" / "kinds.rs"
RECORDED: list[CallType] = ["access", "create", "delete", "fschange", "mmap", "open", "read", "seek", "write"]
ENTRY = read_entry(
    "global#throttle#2025-11-26T08:00:05.000007,slow,/scratch,lustre,,,create+open,all,mean-latency,12ms/5s,10ms/5s,"
    "n1,4242,3,cat x,/scratch/x,7,4711,2,9"
)


def test_an_alert_has_the_fields_of_the_document() -> None:
    text = KINDS.read_text(encoding="utf-8")
    declared = re.search(r"pub struct Alert = alert \{(.*?)\n    \}", text, re.DOTALL)
    assert declared
    names = re.findall(r"^ +(\w+): ", declared[1], re.MULTILINE)
    assert [field.name for field in fields(Alert)] == ["second", "part", *names]


def test_an_entry_becomes_an_alert() -> None:
    assert alert_of(ENTRY, timezone(timedelta(hours=1))) == Alert(
        second=1764140405,
        part=7,
        node="n1",
        job="",
        label="slow",
        action="throttle",
        user="",
        scope="node",
        path="/scratch",
        classes="open,create",
        sizes="all",
        measure="mean-latency",
        measured=12_000_000,
        allowed=10_000_000,
        window_s=5,
        waits=0,
        waited_ns=0,
        pid="4242",
        command="cat x",
        file="/scratch/x",
        mount_point="",
        file_system="lustre",
        mount_source="",
        rank="2",
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"measurement": "cpu-time"}, r"Entry 9: cpu-time is not a measure of ioassay\."),
        ({"timeframe_us": 50_000}, r"Entry 9: its time frame is not a whole number of seconds\."),
        ({"measured": 2**62}, r"Entry 9: a time is longer than 584 years\."),
        ({"call_types": ("mpi_seek",)}, r"Entry 9: calls of the type mpi_seek are not recorded\."),
    ],
)
def test_an_entry_that_ioassay_does_not_measure_is_no_alert(change: dict[str, object], reason: str) -> None:
    with pytest.raises(UsageError) as refused:
        alert_of(replace(ENTRY, **change), UTC)  # type: ignore[arg-type]
    assert re.fullmatch(reason, refused.value.message)


@given(
    entry=mistral.entries.filter(lambda entry: entry.time.year < 9999 and entry.measurement != "cpu-time"),
    call_types=st.sets(st.sampled_from(RECORDED)).map(lambda names: tuple(sorted(names))),
    amounts=st.tuples(st.integers(0, 2**63 // 1000), st.integers(0, 2**63 // 1000)),
    window_s=st.integers(1, 2**32 - 1),
    zone=st.integers(-14, 14).map(lambda hours: timezone(timedelta(hours=hours))),
)
def test_an_alert_of_an_entry_makes_an_entry_of_the_same_alert(
    entry: LogEntry, call_types: tuple[CallType, ...], amounts: tuple[int, int], window_s: int, zone: timezone
) -> None:
    usable = replace(
        entry, call_types=call_types, measured=amounts[0], threshold=amounts[1], timeframe_us=window_s * 10**6
    )
    alert = alert_of(usable, zone)
    again = entry_of(alert, entry.sequence, zone)
    assert (again.time, again.label, again.measured) == (usable.time, usable.label, usable.measured)
    assert alert_of(again, zone) == alert
