"""The recorder counts what programs call: each program is recorded and traced with strace in one run.

What is compared, and how: `tests/recorder_truth`.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from .recorder_truth import trace
from .recorder_truth.compare import compare
from .recorder_truth.page import COLUMNS, page
from .recorder_truth.processes import Caller, Count, Counts, Image, images, who_called
from .recorder_truth.programs import PROGRAMS, Program
from .recorder_truth.runs import Outcome, run
from .recorder_truth.tables import Escaped, Recorded, read_record
from .recorder_truth.trace import Frame, SystemCall

PAGE = Path(__file__).parents[1] / "docs/reference/recorder-coverage.md"
KEPT = Path(__file__).parents[1] / "target/recorder-truth"
"""Traces and records of programs that were not counted as they should."""


ATTEMPTS = 3
"""Runs of a program whose signal handlers came just when the recorder counted: what is lost then cannot be compared."""


def outcome_of(program: Program, directory: Path) -> Outcome:
    if missing := program.missing():
        pytest.skip(f"{program.name} lacks {', '.join(missing)}")
    for attempt in range(ATTEMPTS):
        outcome = run(program, directory / str(attempt))
        if not outcome.comparison.stated_losses:
            break
    return outcome


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_record_has_the_calls_of_the_program(program: Program, tmp_path: Path) -> None:
    outcome = outcome_of(program, tmp_path)
    complaints = outcome.comparison.complaints()
    if complaints:
        failure_directory = KEPT / program.directory
        shutil.rmtree(failure_directory, ignore_errors=True)
        shutil.copytree(tmp_path, failure_directory, symlinks=True, ignore=shutil.ignore_patterns("work"))
        pytest.fail("\n".join([f"{len(complaints)} complaints, see {failure_directory}:", *complaints[:20]]))
    assert set(outcome.comparison.escaped) == set(program.escapes)
    assert outcome.comparison.checked or program.escapes


def test_calls_that_reach_no_kernel_are_counted_too(tmp_path: Path) -> None:
    outcome = outcome_of(next(program for program in PROGRAMS if program.name == "calls of C"), tmp_path)
    work = str(outcome.record.parent / "work")
    tables, _ = read_record(outcome.record)
    counts = next(table.counts for table in tables if table.executable == f"{work}/calls")
    of_stream = {operation: count for (file, operation), count in counts.items() if file == f"{work}/stream"}
    assert of_stream["stream write"] == Count(2002, bytes=80_002)
    assert of_stream["stream read"] == Count(6, bytes=729)
    assert (of_stream["stream seek"].calls, of_stream["stream flush"].calls) == (2, 1)
    # The entries, the end, one entry; opened and closed twice; once more by `scandir`.
    assert counts[work, "list"].calls == len({*os.listdir(work), ".", ".."}) + 1 + 1 + 4 + 1
    assert counts[f"{work}/nothing", "list"] == Count(1, failed=1)


def test_streams_have_the_bytes_that_are_in_their_files(tmp_path: Path) -> None:
    """strace is recorded, too, and writes its traces through streams: character by character, by format, in lines."""
    outcome = outcome_of(next(program for program in PROGRAMS if program.name == "cp"), tmp_path)
    tables, _ = read_record(outcome.record)
    counts = next(table.counts for table in tables if table.executable.endswith("/strace"))
    files = list(outcome.trace.iterdir())
    assert files
    for file in files:
        assert counts[str(file), "stream write"].bytes == file.stat().st_size


def test_the_page_has_all_programs_and_columns() -> None:
    empty = page((program, None) for program in PROGRAMS).splitlines()
    written = PAGE.read_text().splitlines()

    def names(lines: list[str]) -> list[str]:
        return [line.split("|")[1].strip() for line in lines if line.startswith("|")]

    remedy = f"write it anew: python -m tests.recorder_truth > {PAGE}"
    assert names(written) == names(empty), remedy
    assert [line for line in written if not line.startswith("|")] == [
        line for line in empty if not line.startswith("|")
    ], remedy
    assert all(line.count("|") == len(COLUMNS) + 1 for line in written if line.startswith("|"))


def test_the_page_is_as_it_is_written() -> None:
    """What the page says of a program that was compared, and of one that is not installed."""
    first, second, *_ = PROGRAMS
    counts = {("/file", "read"): Count(3, bytes=30)}
    image = Image(1, 0.0, "program", counts=counts, callers=Counter({Caller.C_LIBRARY: 1}))
    compared = compare([image], [_table(counts)], [])
    rows = page([(first, compared), (second, None)]).splitlines()[-2:]
    assert rows[0] == f"| {first.name} | 3 | 25 % | 0 | 0 | 0 | none | 0 | none |"
    assert rows[1].startswith(f"| {second.name} | not installed |")


TRACE = """\
1.000001 execve("./a \\"b\\"", [...], 0x7ffd /* 5 vars */) = 0 <0.000100>
 > /usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2(_dl_catch_error+0x26f0) [0x1ab70]
1.000002 openat(AT_FDCWD</work>, "a, b\\n\\303\\244", O_RDONLY) = 3</work/a, b\\n\\303\\244> <0.000200>
 > /usr/lib/x86_64-linux-gnu/libc.so.6(__open64+0xd0) [0xf8090]
 > /tmp/libioassay-recorder.so(open+0x306) [0x4a2e6]
1.000003 read(3</work/a, b>, ""..., 10) = ? ERESTARTSYS (To be restarted if SA_RESTART is set) <0.000006>
1.000004 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=2292} ---
 > /usr/lib/x86_64-linux-gnu/libc.so.6(wait4+0x57) [0xd3c17]
1.000005 read(3</work/a, b>(deleted),  <unfinished ...>
1.000006 <... read resumed>""..., 10) = 10 <0.000007>
 > /usr/lib/x86_64-linux-gnu/libc.so.6(read+0x4c) [0xf82ec]
 > unexpected_backtracing_error [0x560dc00d01b0]
1.000007 rename("a", "b") = -1 ENOENT (No such file or directory) <0.000001>
1.000008 +++ killed by SIGTERM +++
"""


def test_a_trace_is_read_as_strace_writes_it() -> None:
    execute, opened, read, renamed, end = trace.parse(7, TRACE.splitlines())
    assert isinstance(execute, SystemCall)
    assert trace.path(execute.arguments[0]) == './a "b"'
    assert isinstance(opened, SystemCall)
    assert (opened.result, opened.opened, trace.path(opened.arguments[1])) == (3, "/work/a, b\nä", "a, b\nä")
    assert opened.arguments[2] == "O_RDONLY"
    assert opened.stack == (Frame("libc.so.6", "__open64"), Frame("libioassay-recorder.so", "open"))
    assert isinstance(read, SystemCall)
    assert trace.descriptor(read.arguments[0]) == (3, "/work/a, b (deleted)")
    assert (read.began, read.result, read.stack[1]) == (1.000005, 10, Frame("?", "?"))
    assert isinstance(renamed, SystemCall)
    assert (renamed.result, renamed.error, renamed.stack) == (-1, "ENOENT", ())
    assert (end.thread, end.began) == (7, 1.000008)


@pytest.mark.parametrize(
    ("stack", "caller"),
    [
        ((("libioassay-recorder.so", "ioassay_recorder::files::learn"),), Caller.RECORDER),
        ((("libc.so.6", "read"), ("libioassay-recorder.so", "read"), ("cat", "main")), Caller.PROGRAM),
        ((("libc.so.6", "read"), ("cat", "main")), Caller.MISSED),
        ((("libc.so.6", "read"), ("?", "?")), Caller.MISSED),
        ((("libc.so.6", "__open64"), ("libc.so.6", "setlocale"), ("cat", "main")), Caller.C_LIBRARY),
        (
            (("libc.so.6", "read"), ("libc.so.6", "_IO_file_underflow"), ("libc.so.6", "fread"), ("a", "")),
            Caller.MISSED,
        ),
        (
            (("libc.so.6", "write"), ("libc.so.6", "exit"), ("libc.so.6", "__libc_start_main"), ("a", "")),
            Caller.C_LIBRARY,
        ),
        ((("ld-linux-x86-64.so.2", "_dl_catch_error"),), Caller.C_LIBRARY),
        ((("calls", "syscall.Syscall6"),), Caller.MISSED),
        ((), Caller.MISSED),
    ],
)
def test_the_stack_says_who_made_a_system_call(stack: Sequence[tuple[str, str]], caller: Caller) -> None:
    assert who_called(tuple(Frame(*frame) for frame in stack))[0] == caller


def test_each_system_call_counts_where_the_record_is_by_ptrace() -> None:
    image = images(trace.parse(7, TRACE.splitlines()), "/work", by_system_call=True)[-1]
    assert image.counts == {
        ("/work/a, b\nä", "open"): Count(1),
        ("/work/a, b\nä", "read"): Count(1, bytes=10),
        ("/work/a", "rename"): Count(1, 1),
    }


def test_a_function_that_passes_the_recorder_is_named() -> None:
    lines = TRACE.replace("libioassay-recorder.so(open+0x306)", "program(main+0x1)").splitlines()
    image = images(trace.parse(7, lines))[-1]
    complaints = compare([image], [], []).complaints()
    assert complaints[0] == "1 calls passed the recorder: __open64 (openat) ← program(main)"


def test_a_difference_is_reported_with_both_numbers() -> None:
    image = images(trace.parse(7, TRACE.replace("AT_FDCWD</work>", "AT_FDCWD").splitlines()))[-1]
    (complaint, *_) = compare([image], [_table({("/a, b\nä", "open"): Count(2, 1)}, process=7)], []).complaints()
    assert complaint == (
        'process 7 (./a "b"), open of /a, b\nä: '
        "strace has 1 calls (0 failed) and 0 bytes, the record 2 calls (1 failed) and 0 bytes"
    )


def test_calls_of_a_program_without_a_table_are_a_difference() -> None:
    image = images(trace.parse(7, TRACE.replace("killed by SIGTERM", "exited with 0").splitlines()))[-1]
    assert compare([image], [], []).differences
    assert not compare([image], [_table(image.counts, process=7)], []).differences


def test_a_program_that_is_wrongly_listed_as_escaped_is_a_complaint() -> None:
    image = images(trace.parse(7, TRACE.splitlines()))[-1]
    result = compare([image], [_table(image.counts, process=7)], [Escaped(7, "./other")])
    assert result.problems == ["./other (process 7) did not escape"]


def test_the_counts_of_the_kernel_must_match_the_calls() -> None:
    image = Image(1, 0.0, "program")
    image.reads[Caller.C_LIBRARY].bytes, image.reads[Caller.C_LIBRARY].calls = 100_000, 10
    enough = {"rchar": 100_000, "wchar": 0, "syscr": 10, "syscw": 0}
    assert not compare([image], [_table({}, kernel=enough)], []).problems
    assert compare([image], [_table({}, kernel={**enough, "rchar": 99_999})], []).problems


def _table(counts: Counts, process: int = 1, kernel: dict[str, int] | None = None) -> Recorded:
    return Recorded(process, 2.0, "/bin/program", counts, kernel or {}, 0)
