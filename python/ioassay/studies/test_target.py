"""Where the I/O goes, as typed; a device only where it is named twice."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.studies.library import find_study
from ioassay.studies.resolve import resolve
from ioassay.studies.suitable_targets import refuse_unsuitable
from ioassay.studies.target import Target, no_directory, parse_target


def test_a_path_is_a_directory_and_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    target = parse_target("scratch", None)
    assert target == Target("directory", str(tmp_path / "scratch"))
    assert target.plan() == {"directory": str(tmp_path / "scratch")}
    assert target.workspace("R") == str(tmp_path / "scratch" / "ioassay-R")
    assert Target("directory", "/").workspace("R") == "/ioassay-R"


def test_a_url_keeps_its_query_behind_its_path() -> None:
    target = parse_target("s3://bucket/prefix/?endpoint=http://host:9000", None)
    assert target.plan() == {"url": "s3://bucket/prefix/?endpoint=http://host:9000"}
    assert target.workspace("R") == "s3://bucket/prefix/ioassay-R?endpoint=http://host:9000"


class _BlockDevice:
    st_mode = stat.S_IFBLK | 0o660


def test_a_block_device_is_taken_only_where_it_is_named_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.stat
    monkeypatch.setattr(os, "stat", lambda path, **more: _BlockDevice() if path == "/dev/x" else real(path, **more))
    with pytest.raises(UsageError, match="destroys all data on it") as refused:
        parse_target("/dev/x", None)
    assert "--target /dev/x --destroy-data /dev/x" in refused.value.remedy
    with pytest.raises(UsageError, match="--destroy-data names /dev/y, but the target is /dev/x"):
        parse_target("/dev/x", "/dev/y")
    target = parse_target("/dev/x", "/dev/x")
    assert target.plan() == {"device": {"path": "/dev/x", "destroy_data": "/dev/x"}}


def test_destroying_is_refused_for_what_is_no_block_device(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a block device"):
        parse_target(str(tmp_path), str(tmp_path))
    with pytest.raises(UsageError, match="the target is a URL"):
        parse_target("s3://bucket", "s3://bucket")


def test_a_missing_target_or_one_that_is_no_directory_is_wrong_usage() -> None:
    messages = {code: no_directory("/s", code, "node1") for code in (errno.ENOENT, errno.ENOTDIR, errno.EACCES, None)}
    assert {code: refused and refused.message for code, refused in messages.items()} == {
        errno.ENOENT: "/s does not exist on node1.",
        errno.ENOTDIR: "/s is not a directory on node1.",
        errno.EACCES: None,
        None: None,
    }


def test_an_unprintable_name_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot be written in UTF-8 or printed"):
        parse_target("a\udcffb", None)


def test_a_study_for_directories_points_to_the_study_for_the_kind_of_target_that_was_named() -> None:
    quick = resolve(find_study("quick"), None, []).study
    refuse_unsuitable(quick, Target("directory", "/mnt"))
    with pytest.raises(UsageError, match="quick is for directories, but s3://bucket is a URL") as refused:
        refuse_unsuitable(quick, Target("url", "s3://bucket"))
    assert refused.value.remedy == "Use the study objects: ioassay run objects --target s3://bucket"
    with pytest.raises(UsageError, match="but /dev/x is a block device") as refused:
        refuse_unsuitable(quick, Target("device", "/dev/x"))
    assert refused.value.remedy.endswith("--target /dev/x --destroy-data /dev/x")
