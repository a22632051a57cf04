"""`ioassay tune io500` on a directory: the whole procedure, and what ends it before its time."""

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


def test_the_procedure_recommends_ranks_and_says_how_to_run_the_benchmark(tmp_path: Path, target: Path) -> None:
    out = tmp_path / "tuned"
    code, printed, said = ioassay(*_asked(target, out, "--storage-targets", "4"))
    assert code == 0, said
    for line in ("Step 1, system and theory", "Step 2, striping: not applicable", "Step 3, nodes: 1 of 1 available"):
        assert line in said
    assert "ior-easy with more ranks per node" in printed
    assert "ioassay run io500 --target" in " ".join(printed.split())
    document = _document(out)
    assert document.state == "complete"
    assert document.nodes.storage_targets == 4
    assert {path.name for path in (out / RUNS).iterdir()} == {one.run for one in document.measurements}
    assert all(one.write_bytes_per_s and one.read_bytes_per_s for one in document.measurements)
    scored = [one for one in document.measurements if one.stage == "balance"]
    assert {one.ranks for one in scored} == {1, 2}
    for one in scored:
        assert one.score == pytest.approx(((one.bandwidth or 0) * (one.metadata or 0)) ** 0.5)
        assert len(one.phases) == 12
    run = load(out / RUNS / scored[-1].run)
    assert {case.ranks_per_client for case in run.document.cases} == {scored[-1].ranks}
    assert (out / "report.html").stat().st_size > 10_000
    assert not list(target.iterdir())


def test_what_is_interrupted_goes_on_where_it_was(tmp_path: Path, target: Path) -> None:
    out = tmp_path / "tuned"
    begun = Command(_asked(target, out, easy_size="256MiB"))
    until(lambda: _measured(out) >= 3, "three measurements")
    begun.process.send_signal(signal.SIGINT)
    code, _, said = begun.end()
    assert code == 3
    assert f"Resume with: ioassay tune io500 --resume {out}" in said
    before = _document(out)
    assert (before.state, before.reason) == ("interrupted", "interrupted by SIGINT")
    assert not list(target.iterdir())
    assert (out / "report.html").exists()
    code, printed, said = ioassay("tune", "io500", "--resume", out, "--json")
    assert code == 0, said
    answer = json.loads(printed)
    assert answer["decided"]
    assert answer["tuning"]["state"] == "complete"
    assert _document(out).measurements[: len(before.measurements)] == before.measurements


def test_what_is_killed_goes_on_where_it_was(tmp_path: Path, target: Path) -> None:
    out = tmp_path / "tuned"
    begun = Command(_asked(target, out))
    until(lambda: _measured(out) >= 3, "three measurements")
    begun.process.kill()
    begun.end()
    before = _document(out)
    assert before.state == "running"
    code, _, said = ioassay("tune", "io500", "--resume", out)
    assert code == 0, said
    after = _document(out)
    assert after.state == "complete"
    assert after.measurements[: len(before.measurements)] == before.measurements
    until(lambda: not list(target.iterdir()), "an empty target")


def test_two_cannot_work_on_one_directory(tmp_path: Path, target: Path) -> None:
    out = tmp_path / "tuned"
    begun = Command(_asked(target, out, easy_size="256MiB"))
    until(lambda: _measured(out) >= 1, "a measurement")
    code, _, said = ioassay("tune", "io500", "--resume", out)
    begun.process.send_signal(signal.SIGTERM)
    assert begun.end()[0] == 3
    assert code == 2
    assert "at work" in said or "in use" in said or "another process" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
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
def test_what_cannot_be_meant_is_refused_before_anything_is_written(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    code, _, error = ioassay("tune", "io500", *arguments, directory=tmp_path)
    assert code == 2, error
    assert said.lower() in error.lower()
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
    rows = "".join(f"fs-OST000{at}_UUID 100 1 99 1% {target}[OST:{at}]\n" for at in range(3))
    made = snapshot(
        {"proc/self/mountinfo": f"31 30 0:41 / {target} rw - lustre srv@tcp:/fs rw\n"},
        printed={f"lfs df {target}": rows},
        target=str(target),
    )
    archive, engine = tmp_path / "snapshot.tar.gz", tmp_path / "engine"
    archive.write_bytes(_archive(made))
    engine.write_text(f'#!/bin/sh\n[ "$1" = capture ] && exec cat {archive}\nexec {find_engine()} "$@"\n')
    engine.chmod(0o755)
    tree = tmp_path / "lustre"
    tree.mkdir()
    monkeypatch.setenv("IOASSAY_ENGINE", str(engine))
    monkeypatch.setenv("LUSTRE_TREE", str(tree))
    monkeypatch.setenv("PATH", f"{lustre_programs(tmp_path / 'bin')}:{os.environ['PATH']}")
    return tree


def _striping(target: Path, what: str) -> str:
    done = subprocess.run(
        ["lfs", "getstripe", "-d", "--raw", what, str(target)], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.mark.machine  # nobody else may apply settings meanwhile
def test_on_lustre_the_target_is_striped_over_all_storage_targets(tmp_path: Path, target: Path, lustre: Path) -> None:
    out, journal = tmp_path / "tuned", tmp_path / "journal"
    code, printed, said = ioassay(
        *_asked(target, out, "--yes", "--journal", str(journal), "--most-ranks", "1", "--json")
    )
    assert code == 0, said
    assert "over all 3 storage targets (lfs df)" in said
    assert _striping(target, "-c") == "3"
    striping = json.loads(printed)["tuning"]["striping"]
    assert striping["journal"] is not None
    code, _, said = ioassay("tune", "rollback", striping["journal"], "--journal", str(journal))
    assert code == 0, said
    assert _striping(target, "-c") != "3"


def test_on_lustre_nothing_is_striped_unasked(tmp_path: Path, target: Path, lustre: Path) -> None:
    before = _striping(target, "-c")
    code, printed, said = ioassay(*_asked(target, tmp_path / "tuned", "--most-ranks", "1"))
    assert code == 0, said
    assert "The striping was not changed; add --yes to set it." in said
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
    code, _, said = ioassay(*_asked(small, out, easy_size="14MiB"))
    # What lies in memory is read from there, so that nothing is recommended.
    assert code == 1, said
    assert "No space left on device" in said
    found = answer(_document(out))
    assert (found.ramp.end, found.ramp.ranks) == ("failed", 1)
    assert found.best is not None
    assert found.best.ranks == 1
    assert not list(small.iterdir())
