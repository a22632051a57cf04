"""From a recorded program to a study that makes the same I/O, and to how faithful its run was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ioassay.processes.engine import find_engine
from ioassay.profiles.model import Profile
from ioassay.profiles.sources import load_profile

from .support import ioassay, report_json

PROGRAM = """\
import os, time
for at in range(3):
    with open(f"out.{at}", "wb", buffering=0) as file:
        for _ in range(16):
            file.write(bytes(1 << 18))
        os.fsync(file.fileno())
time.sleep(2.5)
for at in range(3):
    with open(f"out.{at}", "rb", buffering=0) as file:
        while file.read(1 << 16):
            pass
    os.stat(f"out.{at}")
    os.path.exists(f"absent.{at}")
os.mkdir("made")
os.rename("out.0", "out.3")
os.remove("out.1")
"""


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    scratch = tmp_path_factory.mktemp("recorded")
    (scratch / "program.py").write_text(PROGRAM)
    # Without the modules of its installation: those are others on each machine.
    command = [find_engine(), "record", "--out", scratch / "record", "--", sys.executable, "-S", "-E", "program.py"]
    subprocess.run(command, cwd=scratch, check=True, capture_output=True)
    return scratch / "record"


def replayed(record: Path, tmp_path: Path, *options: str) -> dict[str, Any]:
    code, out, err = ioassay("profile", record, "--as-study", "-o", tmp_path / "app.yaml")
    assert (code, out) == (0, ""), err
    target = tmp_path / "target"
    target.mkdir()
    code, _, err = ioassay("run", tmp_path / "app.yaml", "--target", target, "--out", tmp_path / "run", *options)
    assert code == 0, err
    assert list(target.iterdir()) == []
    (replay,) = report_json(tmp_path / "run")["replays"]
    assert replay["complete"]
    return {
        "duration": replay["duration_ratio"],
        **{replayed_class["direction"]: replayed_class for replayed_class in replay["classes"]},
    }


def test_a_recorded_program_is_replayed_call_for_call_at_its_pace(record: Path, tmp_path: Path) -> None:
    replay = replayed(record, tmp_path)
    write = replay["write"]
    assert (write["operations"], write["bytes"]) == (48, 12 << 20)
    assert (write["operations_ratio"], write["bytes_ratio"], write["size_distance"]) == (1, 1, 0)
    assert replay["read"]["bytes_ratio"] == pytest.approx(1, abs=0.05)
    assert replay["read"]["operations_ratio"] == pytest.approx(1, abs=0.05)
    assert replay["metadata"]["operations_ratio"] == pytest.approx(1, abs=0.1)
    # A replay is never faster than the application; how much slower depends on the machine.
    assert replay["duration"] > 0.95


ORDERS = """\
import os, random, sys
blocks, drawn = 512, random.Random(7)
offsets = {
    "random": drawn.sample(range(blocks), blocks),
    "strided": [block for first in range(8) for block in range(first, blocks, 8)],
    "mixed": [block + at for block in drawn.choices(range(blocks - 3), k=blocks // 4) for at in range(4)],
    "consecutive": range(blocks),
    "backward": range(blocks - 1, -1, -1),
    "blocks backward": [block + at for block in range(blocks - 16, -1, -16) for at in range(16)],
}[sys.argv[1]]
file = os.open(sys.argv[2], os.O_RDONLY)
for block in offsets:
    os.pread(file, 4096, block * 4096)
"""


def shares(profile: Profile, below: Path) -> tuple[float, float, float]:
    """The shares of consecutive, forward and backward reads of files below a directory."""
    files = profile.files.filter(pl.col("path").str.starts_with(f"{below}/"))
    reads = profile.file_operations.filter(operation="read").join(files, on="file", how="semi")
    calls, consecutive, forward = (int(reads[name].sum()) for name in ("calls", "consecutive", "forward"))
    return consecutive / calls, forward / calls, (calls - consecutive - forward) / calls


@pytest.mark.parametrize("order", ["random", "strided", "mixed", "consecutive", "backward", "blocks backward"])
def test_a_replay_reads_in_the_order_of_the_application(tmp_path: Path, order: str) -> None:
    (tmp_path / "program.py").write_text(ORDERS)
    data = tmp_path / "data"
    data.mkdir()
    (data / "file").write_bytes(bytes(512 * 4096))
    program = [sys.executable, "-S", "-E", "program.py", order, str(data / "file")]
    command = [str(find_engine()), "record", "--out", "record", "--", *program]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    code, _, err = ioassay("profile", tmp_path / "record", "--as-study", "--below", data, "-o", tmp_path / "app.yaml")
    assert code == 0, err
    target, run = tmp_path / "target", tmp_path / "run"
    target.mkdir()
    options = ("--out", run, "--record", "--scale", "unlimited")
    code, _, err = ioassay("run", tmp_path / "app.yaml", "--target", target, *options)
    assert code == 0, err
    recorded, replayed = shares(load_profile([tmp_path / "record"]), data), shares(load_profile([run]), target)
    # 512 transfers at random: forward or backward as 512 throws of a coin, of which 4 deviations are 9 %.
    assert replayed == pytest.approx(recorded, abs=0.1)
    (read,) = [
        replayed_class
        for replayed_class in report_json(run)["replays"][0]["classes"]
        if replayed_class["direction"] == "read"
    ]
    assert read["order_distance"] < 0.1
    if order == "backward":
        assert (read["operations_ratio"], read["bytes_ratio"], read["order"]["backward"]) == (1, 1, 511 / 512)


def test_a_replay_without_the_pace_runs_at_full_speed(record: Path, tmp_path: Path) -> None:
    replay = replayed(record, tmp_path, "--scale", "unlimited")
    assert (replay["write"]["operations_ratio"], replay["write"]["bytes_ratio"]) == (1, 1)
    assert replay["duration"] < 0.9


def test_the_study_of_a_record_goes_to_standard_output_and_takes_no_format(record: Path) -> None:
    code, text, err = ioassay("profile", record, "--as-study")
    assert (code, err) == (0, "")
    assert text.startswith("# The I/O of `")
    code, _, err = ioassay("profile", record, "--as-study", "--format", "html")
    assert code == 2
    assert "--as-study writes YAML." in err


def test_files_outside_a_named_directory_are_left_out(record: Path, tmp_path: Path) -> None:
    code, text, err = ioassay("profile", record, "--as-study", "--below", record.parent)
    assert (code, err) == (0, "")
    assert "calls on files outside of the directory" in text
    code, _, err = ioassay("profile", record, "--as-study", "--below", tmp_path)
    assert code == 2
    assert "has no I/O on storage below" in err
    code, _, err = ioassay("profile", record, "--below", tmp_path)
    assert code == 2
    assert "--below belongs to --as-study." in err


def test_a_record_without_io_on_storage_is_refused(tmp_path: Path) -> None:
    subprocess.run([find_engine(), "record", "--out", "record", "--", "true"], cwd=tmp_path, check=True)
    code, out, err = ioassay("profile", "record", "--as-study", directory=tmp_path)
    assert (code, out) == (2, "")
    assert "has no I/O on storage to replay" in err
