"""Requests in io_uring rings are counted, for a program with known amounts and for fio."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

from ioassay.analysis.profile.coverage import coverage
from ioassay.processes.engine import find_engine
from ioassay.profiles.model import Profile
from ioassay.profiles.records.profile import load_profile

SOURCE = Path(__file__).parent / "recorder_truth/sources/rings.c"

SQPOLL, SINGLE_ISSUER, DEFER_TASKRUN = 1 << 1, 1 << 12, 1 << 13
"""Flags of `io_uring_setup` that change who takes requests, and when completions come."""

SQE128, CQE32, NO_MMAP, REGISTERED_FD_ONLY, NO_SQARRAY, CQE_MIXED = (1 << bit for bit in (10, 11, 14, 15, 16, 18))
"""Flags that change what a ring's memory looks like, and where it is."""

DEFERRED = SINGLE_ISSUER | DEFER_TASKRUN

LACKING = 77
"""The program's exit code where the kernel lacks something."""

AMOUNTS = [
    ("many", "submit read", 20, 0, 20 * 512),
    ("written", "submit read", 4, 1, 4096 + 3000 + 100),
    ("written", "submit write", 1, 0, 65536),
]
"""File, operation, calls, failed and bytes of the program, as it says itself."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, compiled. Skips where there is no compiler, or no io_uring."""
    built = tmp_path_factory.mktemp("rings") / "rings"
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed")
    subprocess.run(["cc", "-O1", "-pthread", "-o", built, SOURCE], check=True)
    if subprocess.run([built, built.parent, "0"], check=False).returncode != 0:
        pytest.skip("io_uring is not available here")
    return built


def recorded(directory: Path, *command: str | Path, via: str | None = None) -> tuple[Profile, str]:
    """The profile of a command, and what it printed."""
    ways = ["--via", via] if via else []
    record = directory / "record"
    result = subprocess.run(
        [find_engine(), "record", *ways, "--out", record, "--", *command], check=True, capture_output=True, text=True
    )
    return load_profile([record]), result.stdout


def of_program(program: Path, directory: Path, flags: int, how: str = "", via: str | None = None) -> Profile:
    """The profile of the program. Skips where the kernel lacks what it needs, and says what."""
    unrecorded = directory / "unrecorded"
    unrecorded.mkdir()
    arguments = [str(flags), *([how] if how else [])]
    tried = subprocess.run([program, unrecorded, *arguments], check=False, capture_output=True, text=True)
    if tried.returncode == LACKING:
        pytest.skip(tried.stdout.strip())
    assert (tried.returncode, tried.stderr) == (0, "")
    return recorded(directory, program, directory, *arguments, via=via)[0]


def skip_in_memory(directory: Path) -> None:
    """Skips where the kernel counts no traffic with storage."""
    kind = subprocess.run(["stat", "-f", "-c", "%T", directory], check=True, capture_output=True, text=True).stdout
    if kind.strip() in ("tmpfs", "ramfs"):
        pytest.skip(f"{directory} is in memory ({kind.strip()})")


def calls(profile: Profile, operation: str, path: str) -> int:
    """Calls of an operation on a file."""
    rows = profile.file_operations.filter(operation=operation).join(profile.files, on="file")
    return int(rows.filter(pl.col("path").str.ends_with(f"/{path}"))["calls"].sum())


def transfers(profile: Profile) -> list[tuple[str, str, int, int, int]]:
    """File, operation, calls, failed and bytes of what went through rings."""
    rows = profile.file_operations.filter(pl.col("operation").str.starts_with("submit"))
    named = rows.join(profile.files.select("file", pl.col("path").str.split("/").list.last()), on="file")
    return sorted(named.select("path", "operation", "calls", "failed", "bytes").rows())


@pytest.mark.parametrize("via", [None, "ptrace"])
@pytest.mark.parametrize(
    ("flags", "how"),
    [
        (0, ""),
        (SQE128, ""),
        (CQE32, ""),
        (NO_SQARRAY, ""),
        (SQE128 | CQE32 | NO_SQARRAY, ""),
        (CQE_MIXED, ""),
        (SQPOLL, ""),
        (DEFERRED, ""),
        (NO_MMAP, ""),
        (NO_MMAP | REGISTERED_FD_ONLY | NO_SQARRAY | CQE_MIXED, ""),
        (NO_MMAP, "thread"),
        (0, "clone"),
        (DEFERRED, "resize"),
        (DEFERRED | NO_MMAP, "resize"),
        (DEFERRED | NO_SQARRAY | CQE32, "resize"),
    ],
)
def test_requests_are_counted_by_file_with_what_their_completions_say(
    program: Path, tmp_path: Path, flags: int, how: str, via: str | None
) -> None:
    profile = of_program(program, tmp_path, flags, how, via)
    assert transfers(profile) == AMOUNTS
    assert profile.losses == ()
    errors = profile.errors.filter(pl.col("operation") == "submit read")
    assert errors.select("errno", "calls").rows() == [(14, 1)]
    syncs = profile.file_operations.filter(pl.col("operation") == "sync")
    assert syncs["calls"].to_list() == [1]


@pytest.mark.parametrize("via", [None, "ptrace"])
@pytest.mark.parametrize("flags", [0, DEFERRED])
def test_each_completion_of_a_multishot_read_is_a_read(
    program: Path, tmp_path: Path, flags: int, via: str | None
) -> None:
    profile = of_program(program, tmp_path, flags, "multishot", via)
    assert transfers(profile) == [("pipe", "submit read", 5, 0, 5000)]
    assert profile.losses == ()


@pytest.mark.parametrize("via", [None, "ptrace"])
@pytest.mark.parametrize("flags", [0, DEFERRED])
def test_requests_of_a_broken_chain_have_failed(program: Path, tmp_path: Path, flags: int, via: str | None) -> None:
    profile = of_program(program, tmp_path, flags, "links", via)
    assert transfers(profile) == [("written", "submit read", 3, 2, 4096), ("written", "submit write", 2, 1, 4096)]
    errors = profile.errors.filter(pl.col("operation").str.starts_with("submit"))
    failed = errors.select("operation", pl.col("errno").replace_strict({9: "EBADF", 125: "ECANCELED"}), "calls")
    assert sorted(failed.rows()) == [
        ("submit read", "EBADF", 1),
        ("submit read", "ECANCELED", 1),
        ("submit write", "ECANCELED", 1),
    ]
    assert (calls(profile, "sync", "written"), profile.losses) == (1, ())


@pytest.mark.parametrize("via", [None, "ptrace"])
def test_a_file_that_only_the_ring_has_open_is_known_where_the_kernel_chooses_its_place(
    program: Path, tmp_path: Path, via: str | None
) -> None:
    profile = of_program(program, tmp_path, 0, "direct", via)
    assert transfers(profile) == [("written", "submit write", 1, 0, 8192)]
    assert [calls(profile, operation, "written") for operation in ("open", "close")] == [1, 1]
    assert profile.losses == ()


@pytest.mark.parametrize("via", [None, "ptrace"])
def test_requests_that_the_thread_of_the_kernel_takes_without_a_call_are_a_loss_by_number(
    program: Path, tmp_path: Path, via: str | None
) -> None:
    profile = of_program(program, tmp_path, SQPOLL, "silent", via)
    (loss,) = profile.losses
    counted = transfers(profile)
    assert (loss.kind, loss.amount + sum(calls for _, _, calls, _, _ in counted)) == ("unread-rings", 40)
    assert loss.amount > 0
    assert "(SQPOLL)" in loss.reason
    assert "; the kernel counted " in loss.reason
    assert all(read == 512 * calls for _, _, calls, _, read in counted)


def test_requests_that_no_call_shows_are_a_loss_by_number_and_by_ptrace_are_none(program: Path, tmp_path: Path) -> None:
    profile, _ = recorded(tmp_path, program, tmp_path, "0", "raw")
    (loss,) = profile.losses
    requests = 1 + 3 + 1 + 1 + 20
    counted = profile.file_operations.filter(pl.col("operation").is_in(["submit read", "submit write", "sync"]))
    assert (loss.kind, loss.amount + counted["calls"].sum()) == ("unread-rings", requests)
    assert loss.amount > 0
    assert "; the kernel counted " in loss.reason
    shutil.rmtree(tmp_path / "record")
    profile, _ = recorded(tmp_path, program, tmp_path, "0", "raw", via="ptrace")
    assert (transfers(profile), profile.losses) == (AMOUNTS, ())


def test_a_ring_that_is_set_up_past_the_c_library_shows_in_what_storage_moved(program: Path, tmp_path: Path) -> None:
    skip_in_memory(tmp_path)
    profile = of_program(program, tmp_path, 0, "hidden")
    assert (transfers(profile), profile.losses) == ([], ())
    (loss,) = [loss for loss in coverage(profile).losses if loss.kind == "unexplained-storage-bytes"]
    assert 6 << 20 < loss.amount <= 8 << 20
    assert loss.reason.startswith("written through io_uring without the C library")
    shutil.rmtree(tmp_path / "record")
    shutil.rmtree(tmp_path / "unrecorded")
    by_ptrace = of_program(program, tmp_path, 0, "hidden", via="ptrace")
    assert transfers(by_ptrace) == [("written", "submit write", 8, 0, 8 << 20)]
    assert not [loss for loss in coverage(by_ptrace).losses if loss.kind == "unexplained-storage-bytes"]


@pytest.mark.parametrize("via", [None, "ptrace"])
def test_bytes_that_a_thread_of_the_kernel_moves_for_a_ring_are_among_those_that_it_counted(
    program: Path, tmp_path: Path, via: str | None
) -> None:
    skip_in_memory(tmp_path)
    (written,) = of_program(program, tmp_path, SQPOLL, via=via).processes["storage_written_bytes"]
    assert 65536 <= written < 1 << 20


@pytest.mark.parametrize(
    "how",
    [
        ["--rw=randread"],
        ["--rw=write", "--direct=1"],
        ["--rw=randrw", "--registerfiles=1", "--fixedbufs=1"],
        ["--rw=randrw", "--nonvectored=0", "--iodepth_batch_submit=8"],
        ["--rw=randrw", "--numjobs=2", "--thread"],
    ],
    ids=" ".join,
)
def test_the_bytes_of_each_file_are_those_of_fio(program: Path, tmp_path: Path, how: list[str]) -> None:
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    command = ["fio", "--ioengine=io_uring", "--size=2m", "--bs=4k", "--iodepth=16", f"--directory={tmp_path}", *how]
    profile, printed = recorded(tmp_path, *command, "--name=job", "--output-format=json", via="ptrace")
    jobs = json.loads(printed[printed.index("{") :])["jobs"]
    expected = {
        (f"{job['jobname']}.{number}.0", f"submit {direction}"): job[direction]["io_bytes"]
        for number, job in enumerate(jobs)
        for direction in ("read", "write")
        if job[direction]["io_bytes"]
    }
    assert {(path, operation): moved for path, operation, _, _, moved in transfers(profile)} == expected
    assert profile.losses == ()
