import re
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ioassay.monitoring.mistral.log import (
    MOST_COMMAND,
    Log,
    LogEntry,
    Source,
    read_entry,
    read_log,
    write_entry,
    write_log,
)
from ioassay.monitoring.mistral.terms import SizeRange, Unreadable
from ioassay.testing import mistral
from ioassay.yaml_models.source import SourceError

MONITOR = Source("local", "monitor")
LINE = (
    r"2020-07-30T14:30:05.108355,High reads,/usr,ext4,/dev/nvme0n1p5,,read+write,4kB-1MB,bandwidth,2MB/1s,1MB/1s,"
    r"foo.bar.com,15392,7,sh -c 'a\,b' # \\x\ny,/usr/a\,b,3,6,,41"
)
ENTRY = LogEntry(
    source=MONITOR,
    time=datetime(2020, 7, 30, 14, 30, 5, 108355),
    label="High reads",
    path="/usr",
    file_system_type="ext4",
    file_system_name="/dev/nvme0n1p5",
    file_system_host="",
    call_types=("read", "write"),
    sizes=SizeRange(4000, 1_000_000),
    measurement="bandwidth",
    measured=2_000_000,
    measured_us=1_000_000,
    threshold=1_000_000,
    timeframe_us=1_000_000,
    host="foo.bar.com",
    pid=15392,
    processor=7,
    command="sh -c 'a,b' # \\x\ny",
    file="/usr/a,b",
    job_group="3",
    job="6",
    rank=None,
    sequence=41,
)


def test_a_line_of_a_log_has_all_fields() -> None:
    assert read_entry(LINE, MONITOR) == ENTRY
    assert write_entry(ENTRY) == LINE


def test_lines_for_plug_ins_name_the_kind_of_their_contract() -> None:
    marked = f"global#throttle#{LINE}"
    entry = read_entry(marked, MONITOR)
    assert entry.source == Source("global", "throttle")
    assert write_entry(entry, marked=True) == marked


def test_version_5_has_no_file_system() -> None:
    line = LINE.replace("ext4,/dev/nvme0n1p5,,", "")
    entry = read_entry(line, MONITOR)
    assert (entry.file_system_type, entry.file_system_name, entry.label, entry.sequence) == ("", "", "High reads", 41)
    assert write_entry(ENTRY, 5) == line


@pytest.mark.parametrize(("text", "rank"), [("", None), ("-1", None), ("0", 0)])
def test_a_process_may_have_no_rank(text: str, rank: int | None) -> None:
    assert read_entry(LINE.replace(",6,,", f",6,{text},"), MONITOR).rank == rank


def test_a_time_may_have_no_fraction() -> None:
    assert read_entry(LINE.replace(".108355", ""), MONITOR).time == datetime(2020, 7, 30, 14, 30, 5)


@pytest.mark.parametrize(
    ("text", "value"),
    [(r"\\", "\\"), (r"\n", "\n"), (r"\\n", r"\n"), (r"\x", "x"), (r"\,\,", ",,"), ('"a"', '"a"')],
)
def test_a_backslash_escapes_and_quotes_do_not(text: str, value: str) -> None:
    assert read_entry(LINE.replace(",3,6,", f",{text},6,"), MONITOR).job_group == value


OLD = (
    "2018-07-30T14:30:05.108355,High reads,/usr,read+write,4kB-1MB,bandwidth,2MB/1s,1MB/1s,foo.bar.com,15392,7,"
    '"sh -c ""a,b"" \\n",/usr/a,3,6,,41'
)
"""A line of version 4: as in CSV, fields are quoted, and a backslash means itself."""


@pytest.mark.parametrize(
    ("written", "command"),
    [
        ('"sh -c ""a,b"" \\n"', 'sh -c "a,b" \\n'),
        ('"a,b"', "a,b"),
        ('"a""b"', 'a"b'),
        ('",,,"', ",,,"),
        ('"a"', '"a"'),
        ('a"b"', 'a"b"'),
    ],
)
def test_fields_of_version_4_are_quoted_as_in_csv(written: str, command: str) -> None:
    entry = read_entry(OLD.replace('"sh -c ""a,b"" \\n"', written), MONITOR)
    assert (entry.command, entry.file, entry.sequence, entry.label) == (command, "/usr/a", 41, "High reads")


@pytest.mark.parametrize(
    "changed",
    [
        {"path": '"', "file_system_host": '"'},
        {"path": '/"', "label": '"', "file_system_name": '"'},
        {"path": '/a"', "label": '"', "file_system_type": '"', "file_system_name": "b", "file_system_host": '"'},
        {"host": '"', "command": '"'},
        {"command": '"', "job": '"'},
    ],
)
def test_quotation_marks_in_fields_of_version_6_join_no_fields(changed: dict[str, Any]) -> None:
    entry = replace(ENTRY, **changed)
    assert read_entry(write_entry(entry), MONITOR) == entry


def test_a_label_and_a_path_of_version_4_may_have_three_commas() -> None:
    entry = read_entry(OLD.replace("High reads,/usr", '"High,reads","/usr/a,b,c"'), MONITOR)
    assert (entry.label, entry.path, entry.file_system_name) == ("High,reads", "/usr/a,b,c", "")


def test_early_lines_of_version_4_have_no_sequence_number() -> None:
    assert read_entry(OLD.removesuffix(",41"), MONITOR).sequence == 0


def test_a_log_may_mix_quoted_and_unquoted_lines() -> None:
    log = read_log(f"{LINE}\n{OLD}\n{OLD.replace(',7,', ',x,')}\n", "l", MONITOR)
    assert [entry.command for entry in log.entries] == [ENTRY.command, 'sh -c "a,b" \\n']
    assert [str(problem).partition(" ")[0] for problem in log.unreadable] == ["l:3:"]


def test_a_long_command_is_cut() -> None:
    line = LINE.replace("sh -c", "x" * 2000)
    assert len(read_entry(write_entry(read_entry(line, MONITOR)), MONITOR).command) == MOST_COMMAND


@given(st.lists(mistral.entries, max_size=3))
def test_a_written_log_is_read_back_unchanged(entries: list[LogEntry]) -> None:
    assert read_log(write_log(entries, marked=True), "l") == Log(entries, [])


@given(mistral.entries)
def test_version_5_loses_the_file_system_alone(entry: LogEntry) -> None:
    without = replace(entry, file_system_type="", file_system_name="", file_system_host="")
    line = write_entry(entry, 5)
    assume('"' not in line)  # which early version 5 wrote otherwise
    assert read_entry(line, entry.source) == without


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (",41", "", r"19 fields where a log line has 17 or 20; .*"),
        ("2020-07-30T", "2020-07-32T", r'"2020-07-32T14:30:05.108355" is not a time; write it as .*'),
        ("14:30:05.108355", "14:30.108355", r'"2020-07-30T14:30.108355" is not a time; .*'),
        (".108355", ".1", r'"2020-07-30T14:30:05.1" is not a time; .*'),
        ("2020-", "local#2020-", r'"local#2020-07-30T14:30:05.108355" is not the beginning of a log line; .*'),
        ("2020-", "here#monitor#2020-", r'"here" is not a scope; use local, global'),
        ("2020-", "local#watch#2020-", r'"watch" is not a kind of contract; use monitor, throttle'),
        ("read+write", "reads", r'"reads" is not a type of calls; .*'),
        ("4kB-1MB", "some", r'"some" is not a size range; .*'),
        ("bandwidth", "speed", r'"speed" is not a measurement; .*'),
        ("bandwidth", "count", r'"2MB" is not a whole number with a unit; write a number with nothing k M'),
        ("2MB/1s", "2MB", r'"2MB" has no time frame; write it as 2MB/1s'),
        ("2MB/1s", "2MB/1MB", r'"1MB" is not a whole number with a unit; write a number with us ms s'),
        ("2MB/1s", "1.5MB/1s", r'"1.5MB" is not a whole number with a unit; .*'),
        ("15392", "", r'the process "" is not a number that plug-ins take; .*'),
        (",7,", ",x,", r'the processor "x" is not a number that plug-ins take; .*'),
        (",41", ",", r'the sequence number "" is not a number that plug-ins take; .*'),
    ],
)
def test_an_invalid_line_is_refused(old: str, new: str, problem: str) -> None:
    log = read_log(f"{LINE}\n{LINE.replace(old, new, 1)}\n{LINE}\n", "l", MONITOR)
    assert log.entries == [ENTRY, ENTRY], "one line costs no other"
    assert [bool(re.fullmatch(f"l:2: {problem}", str(unreadable))) for unreadable in log.unreadable] == [True]


def test_a_line_without_its_contract_needs_one() -> None:
    with pytest.raises(Unreadable, match="does not say what contract"):
        read_entry(LINE)


@given(st.text() | st.lists(st.sampled_from(LINE.split(","))).map(",".join) | st.text(LINE))
def test_any_text_is_a_log_or_refused_with_a_line(text: str) -> None:
    for line in refusal(text).splitlines():
        line.encode()
        assert re.match(r"l:\d+: .|… and \d+ more\.", line), line


def refusal(text: str) -> str:
    """Why it is no log; empty: it is one."""
    try:
        read_log(text, "l", MONITOR)
    except SourceError as error:
        return error.message
    return ""
