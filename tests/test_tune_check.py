"""`ioassay tune check` and `capture` on this node: real devices and file systems, their snapshots, wrong input."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ioassay.testing.tuned_machine import loop_device, set_queue

from .support import ioassay, run_or_skip

_NEEDS_DISKS = pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/dev/loop-control").exists(), reason="needs root and loop devices"
)


def _checked(*words: str | Path) -> dict[str, Any]:
    code, out, err = ioassay("tune", "check", "--json", *words)
    assert code == 0, err
    document: dict[str, Any] = json.loads(out)
    return document


def _judged(document: dict[str, Any], rule: str) -> list[dict[str, Any]]:
    return [judgement for judgement in document["judgements"] if judgement["rule"] == rule]


@contextmanager
def _mounted(device: str, file_system: str, place: Path) -> Iterator[Path]:
    """A new file system on the device, mounted. It is whole: ext4 would write its inode tables after the mount."""
    options = ["-E", "lazy_itable_init=0,lazy_journal_init=0"] if file_system == "ext4" else []
    run_or_skip([f"mkfs.{file_system}", "-q", *options, f"/dev/{device}"], f"has no mkfs.{file_system}")
    point = place / "mount"
    point.mkdir()
    subprocess.run(["mount", f"/dev/{device}", point], check=True)
    try:
        yield point
    finally:
        subprocess.run(["umount", point], check=True)


def test_every_rule_judges_this_node(target: Path) -> None:
    document = _checked(target)
    assert [host["target"] for host in document["hosts"]] == [str(target)]
    assert {rule["name"] for rule in document["rules"]} == {judgement["rule"] for judgement in document["judgements"]}
    assert all(
        judgement["because"] for judgement in document["judgements"] if judgement["judgement"] == "not applicable"
    )
    assert all(rule["sources"] and rule["reason"] and rule["risk"] for rule in document["rules"])


def test_a_snapshot_is_judged_like_its_node(target: Path, tmp_path: Path) -> None:
    archive = tmp_path / "node.tar.gz"
    code, _, err = ioassay("tune", "capture", target, "-o", archive)
    assert code == 0, err
    with tarfile.open(archive) as packed:
        assert packed.getnames()[0] == "snapshot.json"
    here, there = _checked(target), _checked("--snapshot", archive)
    assert {(judgement["rule"], judgement["judgement"]) for judgement in here["judgements"]} == {
        (judgement["rule"], judgement["judgement"]) for judgement in there["judgements"]
    }


@pytest.mark.machine
@_NEEDS_DISKS
@pytest.mark.parametrize("file_system", ["ext4", "xfs"])
def test_the_split_of_a_workload_is_computed_and_measured(tmp_path: Path, file_system: str) -> None:
    with loop_device(tmp_path, 400 << 20) as device, _mounted(device, file_system, tmp_path) as point:
        set_queue(device, "max_sectors_kb", "64")
        workload = ["dd", "if=/dev/zero", f"of={point}/file", "bs=1M", "count=64", "oflag=direct"]
        document = _checked(point, "--transfer", "1MiB", "--", *workload)
    (path,) = document["paths"]
    layers = {layer["kind"]: layer for layer in path["layers"]}
    assert layers["queue"]["limits"][0]["parameter"] == "max_sectors_kb"
    assert layers["queue"]["request_bytes"] == 64 << 10
    measured = layers["adapter"]["measured"]
    assert measured["mean_bytes"] == pytest.approx(64 << 10, rel=0.1)
    assert measured["agreement"] == "as computed"
    assert any(f"max_sectors_kb of {device} is 64" in conclusion["text"] for conclusion in path["conclusions"])


@pytest.mark.machine
@_NEEDS_DISKS
def test_the_geometry_of_a_live_xfs_is_read_and_its_options_are_applied_and_put_back(tmp_path: Path) -> None:
    journal = ("--journal", tmp_path / "journal")
    with loop_device(tmp_path, 400 << 20) as device, _mounted(device, "xfs", tmp_path) as point:
        (times,) = _judged(_checked(point), "access-times")
        assert times["judgement"] in ("as recommended", "change")
        assert not [
            judgement
            for judgement in _judged(_checked(point), "xfs-stripe")
            if judgement["judgement"] == "not readable"
        ]
        before = _options(point)
        code, _, err = ioassay("tune", "apply", f"mount:{point}/noatime=on", "--yes", "--settle", "0", *journal)
        assert code == 0, err
        assert "noatime" in _options(point)
        assert ioassay("tune", "rollback", *journal)[0] == 0
        assert _options(point) == before


@pytest.mark.machine
@_NEEDS_DISKS
def test_a_live_btrfs_is_judged_and_its_compression_is_applied_and_put_back(tmp_path: Path) -> None:
    journal = ("--journal", tmp_path / "journal")
    places = [tmp_path / "one", tmp_path / "other"]
    for place in places:
        place.mkdir()
    with loop_device(places[0], 400 << 20) as first_device, loop_device(places[1], 400 << 20) as second_device:
        devices = [f"/dev/{first_device}", f"/dev/{second_device}"]
        run_or_skip(["mkfs.btrfs", "-q", "-d", "raid1", "-m", "single", *devices], "has no mkfs.btrfs")
        point = tmp_path / "mount"
        point.mkdir()
        subprocess.run(["mount", "-o", "compress=zlib:3,nobarrier", devices[0], point], check=True)
        try:
            judgements = {
                first_device["rule"]: first_device
                for first_device in _checked(point)["judgements"]
                if first_device["rule"].startswith("btrfs-")
            }
            assert {rule for rule, first_device in judgements.items() if first_device["judgement"] == "change"} == {
                "btrfs-raid-profile",
                "btrfs-write-barriers",
                "btrfs-compression",
            }
            assert judgements["btrfs-raid-profile"]["value"] == "single"
            assert judgements["btrfs-completeness"]["judgement"] == "as recommended"
            setting = f"mount:{point}/compress=zstd:1"
            code, _, err = ioassay("tune", "apply", setting, "--yes", "--settle", "0", *journal)
            assert code == 0, err
            assert "compress=zstd:1" in _options(point)
            assert ioassay("tune", "rollback", *journal)[0] == 0
            assert "compress=zlib:3" in _options(point)
        finally:
            subprocess.run(["umount", point], check=True)


def _options(point: Path) -> set[str]:
    lines = Path("/proc/self/mounts").read_text().splitlines()
    return next(set(line.split()[3].split(",")) for line in lines if line.split()[1] == str(point))


def test_client_and_server_make_one_path_in_every_format(tmp_path: Path, target: Path) -> None:
    archive = tmp_path / "node.tar.gz"
    assert ioassay("tune", "capture", target, "-o", archive)[0] == 0
    for form, begins in (("html", "<!"), ("md", "# "), ("csv", "host,"), ("json", "{")):
        page = tmp_path / f"check.{form}"
        code, _, err = ioassay("tune", "check", "--snapshot", archive, "--format", form, "-o", page)
        assert code == 0, err
        assert page.read_text().lower().startswith(begins)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["/no/such/directory"], "/no/such/directory does not exist."),
        (["/etc/passwd"], "/etc/passwd is neither a directory nor a block device."),
        (["--snapshot", "/no/such/file"], "/no/such/file"),
        (["--rule", "max-sector-kb"], "did you mean `max-sectors-kb`?"),
        (["--raid", "segment=128k"], "data missing"),
        (["--raid", "segment=128x,data=8"], "segment"),
        (["--transfer", "1.5x"], "--transfer"),
        (["--workload", "shared"], "Use one of: shared-file, file-per-process, small-files."),
        (["--format", "html"], "is written to a file"),
        (["--snapshot", "a.tar.gz", "/tmp"], "contradict each other"),
    ],
)
def test_wrong_input_is_refused_with_a_remedy(words: list[str], message: str) -> None:
    code, out, err = ioassay("tune", "check", *words)
    assert code in (2, 3)
    assert message in err
    assert "Traceback" not in err
    assert not out


def test_the_exit_code_shows_that_nothing_could_be_judged(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    code, out, _ = ioassay("tune", "check", target, "--rule", "onefs-coalescer")
    assert code == 3
    assert "no setting was judged" in out
    code, out, _ = ioassay("tune", "check", target, "--rule", "onefs-coalescer", "--json")
    assert (code, json.loads(out)["verdict"]) == (3, "nothing judged")


def test_a_workload_that_cannot_be_started_is_named(target: Path) -> None:
    code, _, err = ioassay("tune", "check", target, "--", "no-such-program")
    assert code == 2
    assert "no-such-program could not be started" in err
