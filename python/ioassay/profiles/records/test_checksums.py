"""Damage that checksums find: each changed byte is a loss, and what it does not touch is read."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from ioassay.errors import UsageError
from ioassay.profiles.model import Profile
from ioassay.profiles.records.profile import load_profile
from ioassay.testing.record_tables import TableBuilder, checksums

FILES = 60


def table(pid: int) -> bytes:
    """A process with as many files that it has written to: more than ten chunks."""
    builder = TableBuilder(pid)
    builder.second("write", 0, FILES, moved=FILES * 1000)
    for number in range(FILES):
        file = builder.file(f"/data/{pid}/{number}", {"open": 1}, inode=100 * pid + number)
        builder.transfers(file, "write", {1000: 1})
    return builder.build()


def store(path: Path, tables: Sequence[bytes]) -> bytearray:
    """Makes a record of these tables, with checksums. Returns the file of tables, to be damaged."""
    (path / "node.checksums").write_bytes(checksums(tables))
    return bytearray(b"".join(tables))


def load(path: Path, content: bytes | bytearray) -> Profile:
    (path / "node.tables").write_bytes(content)
    return load_profile([path])


def written(profile: Profile) -> dict[str, int]:
    operations = profile.file_operations.filter(pl.col("operation") == "write")
    return dict(operations.join(profile.files, on="file").select("path", "bytes").iter_rows())


def test_an_intact_record_loses_nothing(tmp_path: Path) -> None:
    profile = load(tmp_path, store(tmp_path, [table(1), table(2)]))
    assert profile.losses == ()
    assert len(written(profile)) == 2 * FILES


@pytest.mark.parametrize("seed", range(25))
def test_any_changed_bytes_are_a_loss_and_no_other_numbers(tmp_path: Path, seed: int) -> None:
    intact = store(tmp_path, [table(pid) for pid in range(1, 4)])
    draw, content = random.Random(seed), bytearray(intact)
    for place in draw.sample(range(len(content)), draw.randint(1, 8)):
        content[place] ^= draw.randint(1, 255)
    profile = load(tmp_path, content)
    assert [loss for loss in profile.losses if loss.kind == "damaged-bytes" and loss.amount > 0]
    assert set(written(profile).items()) <= set(written(load(tmp_path, intact)).items())


def test_what_lies_behind_a_damaged_chunk_is_read(tmp_path: Path) -> None:
    content = store(tmp_path, [table(1), table(2)])
    whole = len(content)
    # The lengths of blocks in it are wrong: without the checksums nobody would know where the next begins.
    content[5 * 4096 : 6 * 4096] = b"\x11" * 4096
    profile = load(tmp_path, content)
    (loss,) = profile.losses
    assert 4096 <= loss.amount < 8192
    assert "process 1" in loss.where
    lost = 2 * FILES - len(written(profile))
    assert 0 < lost <= 2 * FILES * 8192 / whole


def test_a_damaged_header_is_the_loss_of_its_table(tmp_path: Path) -> None:
    first, second, third = table(1), table(2), table(3)
    content = store(tmp_path, [first, second, third])
    content[len(first) + 16] ^= 1
    profile = load(tmp_path, content)
    assert profile.processes["pid"].to_list() == [1, 3]
    assert any(loss.amount == len(second) and str(len(first)) in loss.where for loss in profile.losses)


@pytest.mark.parametrize("cut", [1, 5000])
def test_a_missing_end_is_a_loss(tmp_path: Path, cut: int) -> None:
    content = store(tmp_path, [table(1), table(2)])
    profile = load(tmp_path, content[:-cut])
    assert [loss.amount for loss in profile.losses if loss.reason == "the end is missing"] == [cut]


def test_a_lost_table_at_the_end_is_a_loss(tmp_path: Path) -> None:
    first = table(1)
    store(tmp_path, [first, table(2)])
    assert load(tmp_path, first).losses


@pytest.mark.parametrize("damage", ["changed", "cut", "empty"])
def test_damaged_checksums_are_a_loss_and_the_tables_are_read(tmp_path: Path, damage: str) -> None:
    content = store(tmp_path, [table(1)])
    path = tmp_path / "node.checksums"
    intact = path.read_bytes()
    changed = intact[:30] + bytes([intact[30] ^ 1]) + intact[31:]
    path.write_bytes({"changed": changed, "cut": intact[:-7], "empty": b""}[damage])
    profile = load(tmp_path, content)
    (loss,) = profile.losses
    assert loss.where == str(path)
    assert "not verified" in loss.reason
    assert len(written(profile)) == FILES


def test_a_record_without_any_intact_table_is_one_clear_error(tmp_path: Path) -> None:
    content = store(tmp_path, [table(1)])
    content[0] ^= 1
    with pytest.raises(UsageError, match="are damaged: none can be read"):
        load(tmp_path, content)


def test_older_records_without_checksums_are_read(tmp_path: Path) -> None:
    assert load(tmp_path, table(1)).losses == ()
