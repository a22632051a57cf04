from __future__ import annotations

import gzip
import io
import json
import random
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.testing.snapshots import snapshot
from ioassay.tuning import snapshot as snapshot_module
from ioassay.tuning.snapshot import Snapshot, Unreadable, parse, read, read_all


def _archive(files: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    return gzip.compress(packed.getvalue(), compresslevel=1)


def _document(**changed: object) -> bytes:
    return json.dumps({**snapshot({}, target="/scratch").document, **changed}).encode()


def _whole() -> bytes:
    files = {"snapshot.json": _document(), "root/proc/sys/vm/swappiness": b"60\n", "commands/lctl-dl.txt": b"0 UP"}
    return _archive(files, {"root/sys/block/sda": "../devices/pci0/block/sda"})


def test_an_archive_is_read_into_files_links_and_what_commands_printed() -> None:
    parsed = parse(_whole(), "s.tar.gz")
    assert (parsed.host, parsed.target) == ("oss1", "/scratch")
    assert parsed.number("proc/sys/vm/swappiness") == 60
    assert parsed.outputs == {"commands/lctl-dl.txt": b"0 UP"}
    assert parsed.links == {"sys/block/sda": "../devices/pci0/block/sda"}


def test_a_path_is_followed_through_links_as_the_kernel_does() -> None:
    captured = snapshot(
        {"sys/devices/pci0/host0/block/sda/queue/nr_requests": "64", "sys/devices/pci0/host0/x": "1"},
        links={"sys/block/sda": "../devices/pci0/host0/block/sda", "sys/devices/pci0/host0/block/sda/device": "../.."},
    )
    assert captured.number("/sys/block/sda/queue/nr_requests") == 64
    assert captured.names("sys/block/sda") == ["device", "queue"]
    assert captured.text("sys/block/sda/device/x") == "1"


def test_links_in_a_circle_lead_nowhere() -> None:
    captured = snapshot({}, links={"a": "b", "b": "a", "c": "c/c"})
    assert captured.text("a") is None
    assert captured.text("c/d") is None


def test_absent_and_unreadable_are_distinguished() -> None:
    captured = snapshot({"proc/a": "x"}, unreadable={"proc/b": "Permission denied"})
    assert captured.text("proc/none") is None
    with pytest.raises(Unreadable, match="Permission denied"):
        captured.text("proc/b")
    with pytest.raises(Unreadable, match="no integer"):
        captured.number("proc/a")
    assert captured.names("proc") == ["a", "b"]


def test_a_command_that_printed_nothing_is_not_taken_for_one_that_was_not_run() -> None:
    captured = snapshot({}, printed={"exportfs -v": ""})
    assert captured.document["commands"] == [{"argv": ["exportfs", "-v"], "exit_code": 0, "file": None}]
    assert captured.printed("exportfs", "-v") == ""


def test_a_command_that_failed_is_unreadable_with_its_error_and_one_that_was_not_run_is_absent() -> None:
    captured = snapshot({}, printed={"lctl dl": "0 UP"}, failed={"dmsetup table": "need to be root", "lfs df /s": ""})
    assert captured.printed("lctl") == "0 UP"
    assert captured.printed("multipath", "-ll") is None
    with pytest.raises(Unreadable, match=r"^dmsetup table: exit status 1: need to be root$"):
        captured.printed("dmsetup")
    with pytest.raises(Unreadable, match=r"^lfs df /s: exit status 1$"):
        captured.printed("lfs", "df")
    captured.document["commands"] = [
        {"argv": ["lfs", "df"], "exit_code": None, "error": "killed: not finished after 10 s"}
    ]
    with pytest.raises(Unreadable, match=r"^lfs df: killed: not finished after 10 s$"):
        captured.printed("lfs", "df")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no snapshot"),
        (b"PK\x03\x04 something else", "is no snapshot"),
        (gzip.compress(b"text", mtime=0), "is no snapshot"),
        (_archive({"root/proc/version": b"Linux"}), "it has no snapshot.json"),
        (_archive({"snapshot.json": b"{"}), "is no snapshot"),
        (_archive({"snapshot.json": b'{"kind": "snapshot", "version": 1}'}), "is damaged"),
        (_archive({"snapshot.json": _document(version=7)}), "of version 7; this ioassay reads version 1"),
        (_archive({"snapshot.json": _document(unreadable=[{"path": 3}])}), "is damaged"),
    ],
    ids=("empty", "zip", "gzip", "no document", "cut", "no keys", "version", "wrong type"),
)
def test_a_file_that_is_no_snapshot_is_refused_with_a_remedy(content: bytes, message: str) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        parse(content, "s.tar.gz")
    assert "apture" in refused.value.remedy or "tune capture" in refused.value.remedy


def test_an_archive_that_grows_without_bound_is_refused() -> None:
    zeros = gzip.compress(bytes(1 << 20))
    member = tarfile.TarInfo("root/big")
    member.size = 1 << 40
    bomb = gzip.compress(member.tobuf()) + zeros * 8
    with pytest.raises(UsageError, match="holds more than 256 MiB"):
        parse(bomb, "bomb.tar.gz")


def test_paths_that_lead_out_of_the_archive_stay_names() -> None:
    parsed = parse(_archive({"snapshot.json": _document(), "root/../../etc/passwd": b"x"}, {"root/e": "/../.."}), "s")
    assert parsed.text("e/etc/passwd") is None


def test_a_damaged_archive_is_refused_or_read_but_never_breaks() -> None:
    whole, chance = _whole(), random.Random(24)
    inner = gzip.decompress(whole)
    for _ in range(300):
        content = bytearray(inner)
        for _ in range(chance.randint(1, 8)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        packed = gzip.compress(bytes(content[: chance.choice((len(content), chance.randrange(len(content))))]), 1)
        for damaged in (packed, whole[: chance.randrange(len(whole))]):
            try:
                parsed = parse(damaged, "s.tar.gz")
            except UsageError:
                continue
            assert isinstance(parsed, Snapshot)
            parsed.names("sys")


def test_the_quick_reader_and_tarfile_read_the_same_of_archives_of_either_format() -> None:
    long = "root/" + "/".join(["directory"] * 14) + "/file"
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz", format=form) as archive:
            for name, content in {"snapshot.json": b"{}", "root/empty": b"", long: b"x" * 513, "root/a": b"1"}.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
            link = tarfile.TarInfo("root/link")
            link.type, link.linkname = tarfile.SYMTYPE, "../a"
            archive.addfile(link)
        quick = snapshot_module._plain_members(snapshot_module._unpacked(out.getvalue()))
        assert quick == list(snapshot_module._members(out.getvalue()))
        assert [name for name, _, _ in quick] == ["snapshot.json", "root/empty", long, "root/a", "root/link"]


def test_snapshots_read_together_are_those_read_one_by_one(tmp_path: Path) -> None:
    paths = []
    for host, swappiness, link in (("a", b"60", "sda"), ("b", b"1", "sda"), ("c", b"1", "sdb")):
        files = {"snapshot.json": _document(host=host), "root/proc/sys/vm/swappiness": swappiness, "root/d/sda": b"1"}
        paths.append(tmp_path / f"{host}.tar.gz")
        paths[-1].write_bytes(_archive(files, {"root/disk": f"d/{link}"}))
    together = read_all(paths)
    assert together == [read(path) for path in paths]
    seen = [
        (captured.host, captured.number("proc/sys/vm/swappiness"), captured.text("disk"), captured.exists("disk"))
        for captured in together
    ]
    assert seen == [("a", 60, "1", True), ("b", 1, "1", True), ("c", 1, None, False)]
    assert read_all([]) == []


def test_the_first_invalid_of_several_snapshots_is_named(tmp_path: Path) -> None:
    contents = {"whole": _whole(), "text": b"text", "cut": _whole()[:-9]}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match="text is no snapshot"):
        read_all([tmp_path / name for name in contents])


def test_links_are_followed_from_the_directory_that_is_known() -> None:
    captured = Snapshot(
        snapshot({}).document, {"real/deep/file": b"1"}, {"short": "real/deep", "loop": "loop", "up": "short/.."}
    )
    for _ in range(2):
        assert captured.resolve("short/file") == "real/deep/file"
        assert captured.resolve("/short/../deep/file") == "real/deep/file"
        assert captured.resolve("up/deep/none") == "real/deep/none"
        assert captured.resolve("loop/x") == "loop/x"
