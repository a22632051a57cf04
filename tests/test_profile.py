"""`ioassay record` and `ioassay profile`: from a command to its use of storage."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ioassay.analysis.profile.startup import startup_files
from ioassay.processes.engine import find_engine
from ioassay.profiles.records.profile import load_profile
from ioassay.testing.record_tables import TableBuilder, store_record

from .support import ioassay, until

PROGRAM = """\
import os, sys
data = os.open("data", os.O_CREAT | os.O_RDWR)
for at in range(2000):
    os.write(data, b"x" * 1000)
for at in range(150):
    os.pwrite(data, b"y", at)
    os.fsync(data)
os.lseek(data, 0, os.SEEK_SET)
while os.read(data, 65536):
    pass
for at in range(200):
    try:
        os.open(f"absent/{at}", os.O_RDONLY)
    except OSError:
        pass
"""


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """A record of a shell that runs `PROGRAM`."""
    (tmp_path / "program.py").write_text(PROGRAM)
    command = ["sh", "-c", f"{sys.executable} program.py; true"]
    out = tmp_path / "record"
    subprocess.run(
        [find_engine(), "record", "--out", out, "--", *command], cwd=tmp_path, check=True, capture_output=True
    )
    return out


def profiled(*arguments: str | Path) -> dict[str, Any]:
    code, out, err = ioassay("profile", *arguments, "--json")
    assert (code, err) == (0, "")
    profile: dict[str, Any] = json.loads(out)
    return profile


def test_a_recorded_program_has_its_operations_bytes_and_findings(record: Path) -> None:
    profile = profiled(record)
    (data,) = (file for file in profile["files"] if file["path"] == str(record.parent / "data"))
    assert (data["read_bytes"], data["written_bytes"], data["processes"]) == (2_000_000, 2_000_150, 1)
    operations = {row["operation"]: row for row in profile["operations"]}
    assert operations["sync"]["calls"] == 150
    assert operations["write"]["calls"] >= 2150
    assert {"operation": "open", "errno": 2} in [
        {"operation": row["operation"], "errno": row["errno"]} for row in profile["errors"]
    ]
    assert {"small-requests", "sync-storm", "failed-lookups"} <= {finding["kind"] for finding in profile["findings"]}
    python = next(row for row in profile["processes"] if "program.py" in row["command"] and row["write_ns"])
    assert (python["state"], python["written_bytes"]) == ("ended", 2_000_150)


@pytest.mark.parametrize("via", ["preload", "ptrace"])
def test_a_run_of_half_a_second_has_its_bursts_on_the_time_line(tmp_path: Path, via: str) -> None:
    program = (
        "import os, time; f = os.open('data', os.O_CREAT | os.O_RDWR); os.write(f, bytes(10_000)); time.sleep(0.3); "
    )
    program += "[os.write(f, bytes(700)) for _ in range(100)]; time.sleep(0.1); os.write(f, b'x')"
    out, command = tmp_path / "record", [sys.executable, "-c", program]
    recording = [find_engine(), "record", "--via", via, "--out", out, "--", *command]
    subprocess.run(recording, cwd=tmp_path, check=True, capture_output=True)
    profile = load_profile([out])
    writes = profile.timeline.filter(pl.col("operation") == "write")
    assert writes["bytes"].sum() == 80_001
    assert profile.timeline_step_s <= max(1 / 128, profile.duration_s / 100)
    amounts, begins = writes["bytes"].to_list(), writes["start_s"].to_list()
    assert (amounts[0], amounts[-1], sum(amounts[1:-1])) == (10_000, 1, 70_000)
    assert begins[1] - begins[0] >= 0.3 - 2 * profile.timeline_step_s
    assert begins[-1] - begins[-2] >= 0.1 - 2 * profile.timeline_step_s


def test_files_beyond_the_greatest_table_are_counted_by_directory(tmp_path: Path) -> None:
    """A process of 256 MiB of addresses has a table of 4 MiB."""
    program = "import os\nfor at in range(9000):\n name = f'{at % 3}/file-{at}'\n"
    program += " f = os.open(name, os.O_CREAT | os.O_WRONLY); os.write(f, bytes(10)); os.close(f); os.unlink(name)"
    for directory in range(3):
        (tmp_path / str(directory)).mkdir()
    out = tmp_path / "record"
    command = ["sh", "-c", f'ulimit -v 262144; exec {sys.executable} -c "$0"', program]
    subprocess.run(
        [find_engine(), "record", "--out", out, "--", *command], cwd=tmp_path, check=True, capture_output=True
    )
    profile = load_profile([out])
    moved = profile.process_operations.filter(pl.col("operation").is_in(["write", "remove"]))
    assert sorted(moved.select("operation", "calls", "bytes").rows()) == [("remove", 9000, 0), ("write", 9000, 90_000)]
    own_files = profile.files.filter(pl.col("path").str.contains("/file-"))
    others = profile.files.filter(pl.col("kind") == "others", pl.col("path").str.starts_with(str(tmp_path)))
    assert sorted(others["path"]) == [str(tmp_path / str(number) / "(other files)") for number in range(3)]
    removed = profile.file_operations.filter(pl.col("operation") == "remove").join(others, on="file", how="semi")
    assert int(removed["calls"].sum()) == 9000 - own_files.height
    (loss,) = [loss_entry for loss_entry in profile.losses if loss_entry.kind == "folded-calls"]
    about = int(loss.where.rpartition(": about ")[2].removesuffix(" files").replace(",", ""))
    assert abs(about - (9000 - own_files.height)) <= 0.15 * (9000 - own_files.height)


def recorded(directory: Path, program: str) -> dict[str, Any]:
    """The profile of a Python program that runs in a directory."""
    (directory / "program.py").write_text(program)
    out = directory / "record"
    subprocess.run(
        [find_engine(), "record", "--out", out, "--", sys.executable, "program.py"],
        cwd=directory,
        check=True,
        capture_output=True,
    )
    return profiled(out)


def warnings(profile: dict[str, Any]) -> list[str]:
    return [finding["kind"] for finding in profile["findings"] if finding["severity"] == "warning"]


def test_an_empty_script_has_no_warning_and_is_all_start_up(tmp_path: Path) -> None:
    profile = recorded(tmp_path, "")
    assert warnings(profile) == []
    startup = profile["totals"]["startup"]
    calls = sum(profile["totals"][direction]["calls"] for direction in ("read", "write", "metadata"))
    assert startup["calls"] > calls / 2
    assert "Python" in startup["runtimes"]


LARGE_FILE = """\
import argparse, asyncio, csv, decimal, email, http.client, json, logging, os, sqlite3, unittest, xml.dom.minidom
data = os.open("data", os.O_CREAT | os.O_RDWR)
os.truncate(data, 64 << 20)
for at in range({steps}):
    {request}
"""


@pytest.mark.parametrize(
    ("request_", "kind", "remedy"),
    [
        ("os.pread(data, 4096, (at * 7919) % 16000 * 4096)", "random-access", "Sort requests by offset"),
        ("os.pread(data, 4096, (16000 - at) * 4096)", "random-access", "Read in ascending order"),
        ("os.pread(data, 4096, 100 + at * 4096)", "misaligned", "Align records and headers"),
        ("os.pwrite(data, bytes(4096), (16000 - at) * 4096)", "random-access", "Write in ascending order"),
        ("os.pwrite(data, bytes(1000), at * 1000)", "small-requests", "Gather requests in a buffer"),
    ],
)
def test_a_wrong_access_to_one_large_file_has_the_fitting_remedy(
    tmp_path: Path, request_: str, kind: str, remedy: str
) -> None:
    profile = recorded(tmp_path, LARGE_FILE.format(steps=8000, request=request_))
    assert warnings(profile) == [kind]
    (finding,) = (candidate for candidate in profile["findings"] if candidate["kind"] == kind)
    assert finding["remedy"].startswith(remedy)
    assert finding["evidence"]["saves_ns"] <= sum(
        profile["totals"][part]["spent_ns"] for part in ("read", "write", "metadata")
    )


def test_writes_with_o_sync_are_a_finding(tmp_path: Path) -> None:
    flags = "os.O_CREAT | os.O_WRONLY | os.O_SYNC"
    program = f"import os\nlog = os.open('log', {flags})\nfor _ in range(300):\n    os.write(log, bytes(4096))\n"
    profile = recorded(tmp_path, program)
    (finding,) = (candidate for candidate in profile["findings"] if candidate["kind"] == "synchronous-writes")
    assert (finding["severity"], finding["evidence"]["writes"], finding["evidence"]["files"]) == ("warning", 300, 1)


def test_a_profile_is_written_in_every_format(record: Path, tmp_path: Path) -> None:
    code, out, _ = ioassay("profile", record, directory=tmp_path)
    assert code == 0
    assert "150 calls of fsync" in out
    code, table, _ = ioassay("profile", record, "--format", "csv")
    assert any(row["path"].endswith("/data") for row in csv.DictReader(io.StringIO(table)))
    code, out, err = ioassay("profile", record, "--format", "html", "-o", "profile.html", directory=tmp_path)
    assert (code, out, err) == (0, "", "profile.html\n")
    assert "</svg>" in (tmp_path / "profile.html").read_text()


def test_the_records_below_a_folder_are_one_profile(tmp_path: Path) -> None:
    for rank in range(3):
        table = TableBuilder(100 + rank, job={"SLURM_PROCID": str(rank)})
        store_record(tmp_path / "job" / str(rank), table)
    profile = profiled(tmp_path / "job")
    assert [row["rank"] for row in profile["processes"]] == [0, 1, 2]


def test_a_process_that_hangs_is_profiled_while_it_runs(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    subprocess.run(["mkfifo", fifo], check=True)
    out = tmp_path / "record"
    recording = subprocess.Popen(
        [find_engine(), "record", "--out", out, "--", "cat", fifo], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until((out / "record.json").exists, "the record")

        def in_flight() -> list[dict[str, Any]]:
            code, text, _ = ioassay("profile", out, "--json")
            return json.loads(text)["in_flight"] if code == 0 else []

        until(in_flight, "the call in flight")
        (call,) = in_flight()
        assert (call["operation"], call["path"], call["state"]) == ("open", str(fifo), "running")
        assert call["since_unix_ns"] <= time.time_ns()
    finally:
        recording.terminate()
        recording.wait()


def test_a_damaged_record_is_refused_with_what_is_wrong(record: Path) -> None:
    (tables,) = record.glob("*.tables")
    tables.write_bytes(b"\xff" * 5000)
    code, out, err = ioassay("profile", record)
    assert (code, out) == (2, "")
    assert "are damaged: none can be read." in err


def test_a_copy_of_many_small_files_has_a_remedy_for_the_tree(tmp_path: Path) -> None:
    for number in range(1500):
        directory = tmp_path / "tree" / str(number % 10)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / str(number)).write_bytes(bytes(4096))
    engine = find_engine()
    for out, command in (("copying", ["cp", "-r", "tree", "copy"]), ("listing", ["ls", "tree"])):
        subprocess.run([engine, "record", "--out", out, "--", *command], cwd=tmp_path, check=True, capture_output=True)
    findings = [finding for finding in profiled(tmp_path / "copying")["findings"] if finding["severity"] == "warning"]
    assert [(finding["kind"], finding["evidence"]["files"]) for finding in findings] == [("small-files", 1500)] * 2
    assert {finding["evidence"]["direction"] for finding in findings} == {"read", "write"}
    assert all(finding["remedy"].startswith("Pack the tree into one file and copy that") for finding in findings)
    assert profiled(tmp_path / "listing")["findings"] == []


@pytest.mark.parametrize("reader", ["python", "tar"])
@pytest.mark.parametrize("options", ["-B", ""], ids=["no-bytecode", "bytecode-written"])
def test_a_module_is_start_up_if_imported_and_data_if_read(tmp_path: Path, reader: str, options: str) -> None:
    package = tmp_path / "lib" / "python3.99" / "site-packages" / "package"
    package.mkdir(parents=True)
    for name in ("__init__.py", "imported.py", "checked.py"):
        (package / name).write_text("value = 1\n")
    (tmp_path / "program.py").write_text(
        f"import sys\nsys.path.insert(0, {str(package.parent)!r})\nimport package.imported\n"
        + (f"open({str(package / 'checked.py')!r}).read()\n" if reader == "python" else "")
    )
    archive = f"; tar cf archive.tar {package}/checked.py" if reader == "tar" else ""
    python = f"env --unset=PYTHONDONTWRITEBYTECODE {sys.executable} {options}"
    subprocess.run(
        [find_engine(), "record", "--out", "record", "--", "sh", "-c", f"{python} program.py{archive}; true"],
        cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    profile = load_profile([tmp_path / "record"])
    paths = profile.files.join(startup_files(profile), on="file", how="semi")["path"]
    package_modules = {Path(path).name for path in paths if path.startswith(f"{package}/") and path.endswith(".py")}
    assert package_modules == {"__init__.py", "imported.py"}
    assert str(package / "checked.py") in profile.files["path"]
