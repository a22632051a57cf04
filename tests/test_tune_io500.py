"""`ioassay tune io500` on a directory: the complete procedure, and interruptions of it."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ioassay.processes.engine import find_engine
from ioassay.store.experiment_document import RUNS
from ioassay.store.run_directory import load
from ioassay.store.tune_io500_directory import TuneIo500Directory
from ioassay.store.tune_io500_document import TuneIo500Document
from ioassay.testing.snapshots import snapshot
from ioassay.testing.tuned_machine import lustre_programs
from ioassay.tuning.io500.answer import answer
from ioassay.tuning.snapshot import Snapshot

from .support import Command, ioassay, until

_SMALL = {"easy_size": "8MiB", "hard_size": "470080B", "easy_items": "40", "hard_items": "40"}
"""A run takes a fraction of a second."""


def _asked(target: Path | str, out: Path, *more: str, **settings: str) -> list[str | Path]:
    sets = [word for key, value in (_SMALL | settings).items() for word in ("--set", f"{key}={value}")]
    limits = ["--scale", "quick", "--stonewall", "20s", "--turns", "4", "--most-ranks", "2"]
    return ["tune", "io500", "--target", target, "--out", out, *limits, *sets, *more]


def _document(out: Path) -> TuneIo500Document:
    return TuneIo500Directory.read(out)


def _measured(out: Path) -> int:
    return len(_document(out).measurements) if (out / "tune-io500.json").exists() else 0


@pytest.fixture
def target(tmp_path: Path) -> Path:
    directory = tmp_path / "target"
    directory.mkdir()
    return directory


def test_the_procedure_recommends_ranks_and_prints_the_benchmark_command(tmp_path: Path, target: Path) -> None:
    out = tmp_path / "tuned"
    code, printed, errors = ioassay(*_asked(target, out, "--storage-targets", "4"))
    assert code == 0, errors
    for line in ("Step 1, system and theory", "Step 2, striping: not applicable", "Step 3, nodes: 1 of 1 available"):
        assert line in errors
    assert "ior-easy with more ranks per node" in printed
    assert "ioassay run io500 --target" in " ".join(printed.split())
    document = _document(out)
    assert document.state == "complete"
    assert document.nodes.storage_targets == 4
    assert {path.name for path in (out / RUNS).iterdir()} == {measurement.run for measurement in document.measurements}
    assert all(measurement.write_bytes_per_s and measurement.read_bytes_per_s for measurement in document.measurements)
    scored = [measurement for measurement in document.measurements if measurement.stage == "balance"]
    assert {measurement.ranks for measurement in scored} == {1, 2}
    for measurement in scored:
        assert measurement.score == pytest.approx(((measurement.bandwidth or 0) * (measurement.metadata or 0)) ** 0.5)
        assert len(measurement.phases) == 12
    run = load(out / RUNS / scored[-1].run)
    assert {case.ranks_per_client for case in run.document.cases} == {scored[-1].ranks}
    assert (out / "report.html").stat().st_size > 10_000
    assert not list(target.iterdir())


def test_an_interrupted_tuning_resumes_where_it_was(tmp_path: Path, target: Path) -> None:
    out = tmp_path / "tuned"
    begun = Command(_asked(target, out, easy_size="256MiB"))
    until(lambda: _measured(out) >= 3, "three measurements")
    begun.process.send_signal(signal.SIGINT)
    code, _, errors = begun.end()
    assert code == 3
    assert f"Resume with: ioassay tune io500 --resume {out}" in errors
    before = _document(out)
    assert (before.state, before.reason) == ("interrupted", "interrupted by SIGINT")
    assert not list(target.iterdir())
    assert (out / "report.html").exists()
    code, printed, errors = ioassay("tune", "io500", "--resume", out, "--json")
    assert code == 0, errors
    answer = json.loads(printed)
    assert answer["decided"]
    assert answer["tuning"]["state"] == "complete"
    assert _document(out).measurements[: len(before.measurements)] == before.measurements


def test_a_killed_tuning_resumes_where_it_was(tmp_path: Path, target: Path) -> None:
    out = tmp_path / "tuned"
    begun = Command(_asked(target, out))
    until(lambda: _measured(out) >= 3, "three measurements")
    begun.process.kill()
    begun.end()
    before = _document(out)
    assert before.state == "running"
    code, _, errors = ioassay("tune", "io500", "--resume", out)
    assert code == 0, errors
    after = _document(out)
    assert after.state == "complete"
    assert after.measurements[: len(before.measurements)] == before.measurements
    until(lambda: not list(target.iterdir()), "an empty target")


def test_a_second_process_in_one_directory_is_refused(tmp_path: Path, target: Path) -> None:
    out = tmp_path / "tuned"
    begun = Command(_asked(target, out, easy_size="256MiB"))
    until(lambda: _measured(out) >= 1, "a measurement")
    code, _, errors = ioassay("tune", "io500", "--resume", out)
    begun.process.send_signal(signal.SIGTERM)
    assert begun.end()[0] == 3
    assert code == 2
    assert "at work" in errors or "in use" in errors or "another process" in errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "nowhere"], "nowhere"),
        (["--target", "s3://bucket/prefix"], "the target is no directory"),
        ([], "--target is missing"),
        (["--target", ".", "--set", "ranks=4"], "the procedure decides it"),
        (["--target", ".", "--set", "eazy_size=1GiB"], "eazy_size"),
        (["--target", ".", "--scale", "slow"], "slow"),
        (["--target", ".", "--theory", "fast"], "fast"),
        (["--target", ".", "--stonewall", "soon"], "soon"),
        (["--target", ".", "--launcher", "sbatch"], "--launcher srun"),
        (["--target", ".", "--ceilings", "nothing-here"], "nothing-here"),
        (["--resume", ".", "--target", "."], "--resume keeps"),
        (["--resume", "."], "holds no tuning of the IO500"),
    ],
)
def test_invalid_arguments_are_refused_before_anything_is_written(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    code, _, error = ioassay("tune", "io500", *arguments, directory=tmp_path)
    assert code == 2, error
    assert message.lower() in error.lower()
    assert not list(tmp_path.iterdir())


def _archive(snapshot: Snapshot) -> bytes:
    """The archive that the engine makes of a node."""
    members = {
        "snapshot.json": json.dumps(snapshot.document).encode(),
        **{f"root/{name}": content for name, content in snapshot.files.items()},
        **snapshot.outputs,
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


@pytest.fixture
def lustre(tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The target as if it were on Lustre with 3 storage targets: by the snapshot, and for `lfs`. Its `lfs` tree."""
    rows = "".join(f"fs-OST000{number}_UUID 100 1 99 1% {target}[OST:{number}]\n" for number in range(3))
    node_snapshot = snapshot(
        {"proc/self/mountinfo": f"31 30 0:41 / {target} rw - lustre srv@tcp:/fs rw\n"},
        printed={f"lfs df {target}": rows},
        target=str(target),
    )
    archive, engine = tmp_path / "snapshot.tar.gz", tmp_path / "engine"
    archive.write_bytes(_archive(node_snapshot))
    engine.write_text(f'#!/bin/sh\n[ "$1" = capture ] && exec cat {archive}\nexec {find_engine()} "$@"\n')
    engine.chmod(0o755)
    tree = tmp_path / "lustre"
    tree.mkdir()
    monkeypatch.setenv("IOASSAY_ENGINE", str(engine))
    monkeypatch.setenv("LUSTRE_TREE", str(tree))
    monkeypatch.setenv("PATH", f"{lustre_programs(tmp_path / 'bin')}:{os.environ['PATH']}")
    return tree


def _striping(target: Path, what: str) -> str:
    result = subprocess.run(
        ["lfs", "getstripe", "-d", "--raw", what, str(target)], check=True, capture_output=True, text=True
    )
    return result.stdout.strip()


@pytest.mark.machine  # nobody else may apply settings meanwhile
def test_a_lustre_target_is_striped_over_all_storage_targets(tmp_path: Path, target: Path, lustre: Path) -> None:
    out, journal = tmp_path / "tuned", tmp_path / "journal"
    code, printed, errors = ioassay(
        *_asked(target, out, "--yes", "--journal", str(journal), "--most-ranks", "1", "--json")
    )
    assert code == 0, errors
    assert "over all 3 storage targets (lfs df)" in errors
    assert _striping(target, "-c") == "3"
    striping = json.loads(printed)["tuning"]["striping"]
    assert striping["journal"] is not None
    code, _, errors = ioassay("tune", "rollback", striping["journal"], "--journal", str(journal))
    assert code == 0, errors
    assert _striping(target, "-c") != "3"


def test_a_lustre_target_is_not_striped_without_consent(tmp_path: Path, target: Path, lustre: Path) -> None:
    before = _striping(target, "-c")
    code, printed, errors = ioassay(*_asked(target, tmp_path / "tuned", "--most-ranks", "1"))
    assert code == 0, errors
    assert "The striping was not changed; add --yes to set it." in errors
    assert "did not change the striping of the target" in " ".join(printed.split())
    assert _striping(target, "-c") == before


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system that holds less than two ranks write."""
    if os.geteuid():
        pytest.skip("mounting needs root")
    directory = tmp_path / "small"
    directory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,nr_inodes=100000", "tmpfs", directory], check=True)
    yield directory
    subprocess.run(["umount", "-l", directory], check=True)


@pytest.mark.machine
def test_a_rank_count_for_which_the_target_is_too_small_ends_the_ramp(tmp_path: Path, small: Path) -> None:
    out = tmp_path / "tuned"
    code, _, errors = ioassay(*_asked(small, out, easy_size="14MiB"))
    # What lies in memory is read from there, so that nothing is recommended.
    assert code == 1, errors
    assert "No space left on device" in errors
    tuning_answer = answer(_document(out))
    assert (tuning_answer.ramp.end, tuning_answer.ramp.ranks) == ("failed", 1)
    assert tuning_answer.best is not None
    assert tuning_answer.best.ranks == 1
    assert not list(small.iterdir())
