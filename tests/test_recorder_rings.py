"""Requests in rings of io_uring are counted: of a program with known amounts, and of fio, which says its own."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

from ioassay.engine import find_engine
from ioassay.results.profile_model import Profile
from ioassay.results.records.profile import load_profile

SOURCE = Path(__file__).parent / "recorder_truth/sources/rings.c"

SQE128, CQE32, NO_SQARRAY = 1 << 10, 1 << 11, 1 << 16
"""Flags of `io_uring_setup` that change what a ring's memory looks like."""

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
    subprocess.run(["cc", "-O1", "-o", built, SOURCE], check=True)
    if subprocess.run([built, built.parent, "0"], check=False).returncode != 0:
        pytest.skip("io_uring is not available here")
    return built


def recorded(directory: Path, *command: str | Path, via: str | None = None) -> tuple[Profile, str]:
    """The profile of a command, and what it printed."""
    ways = ["--via", via] if via else []
    record = directory / "record"
    done = subprocess.run(
        [find_engine(), "record", *ways, "--out", record, "--", *command], check=True, capture_output=True, text=True
    )
    return load_profile([record]), done.stdout


def transfers(profile: Profile) -> list[tuple[str, str, int, int, int]]:
    """File, operation, calls, failed and bytes of what went through rings."""
    rows = profile.file_operations.filter(pl.col("operation").str.starts_with("submit"))
    named = rows.join(profile.files.select("file", pl.col("path").str.split("/").list.last()), on="file")
    return sorted(named.select("path", "operation", "calls", "failed", "bytes").rows())


@pytest.mark.parametrize("via", [None, "ptrace"])
@pytest.mark.parametrize("flags", [0, SQE128, CQE32, NO_SQARRAY, SQE128 | CQE32 | NO_SQARRAY])
def test_requests_are_counted_by_file_with_what_their_completions_say(
    program: Path, tmp_path: Path, flags: int, via: str | None
) -> None:
    if subprocess.run([program, tmp_path, str(flags)], check=False, capture_output=True).returncode != 0:
        pytest.skip(f"this kernel has no rings with flags {flags:#x}")
    profile, _ = recorded(tmp_path, program, tmp_path, str(flags), via=via)
    assert transfers(profile) == AMOUNTS
    assert profile.losses == ()
    errors = profile.errors.filter(pl.col("operation") == "submit read")
    assert errors.select("errno", "calls").rows() == [(14, 1)]
    syncs = profile.file_operations.filter(pl.col("operation") == "sync")
    assert syncs["calls"].to_list() == [1]


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
    said = {
        (f"{job['jobname']}.{number}.0", f"submit {direction}"): job[direction]["io_bytes"]
        for number, job in enumerate(jobs)
        for direction in ("read", "write")
        if job[direction]["io_bytes"]
    }
    assert {(path, operation): moved for path, operation, _, _, moved in transfers(profile)} == said
    assert profile.losses == ()
