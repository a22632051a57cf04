from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from ioassay.figures import io_path, render
from ioassay.testing.io_path_nodes import laptop, lustre_client, md_server, oss
from ioassay.tuning.path import Transfer, io_paths
from ioassay.tuning.path.rows import Row, rows
from ioassay.tuning.system import System

MIB = 1 << 20


def _rows(*systems: System, transfer: Transfer | None = None) -> list[Row]:
    (path,) = io_paths(systems, transfer)
    return rows(path)


def _texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_the_untuned_server_has_its_split_its_segments_and_its_parity() -> None:
    picture = io_path.picture(_rows(oss()), "io-path-sdb", "Path")
    texts = _texts(picture.svg)
    assert {"Block queue", "sdb", "512 KiB", "P", "Q", "8", "read first", "request 1 of 2"} <= set(texts)
    assert {"split: max_sectors_kb 512 and", "sg_tablesize 128 × 4 KiB", "reads 4, writes 6"} <= set(texts)
    assert "Offset in the file (KiB)" in texts
    assert "1024" in texts
    assert "A red line is a split. Hatched segments are read before the RAID can write." in picture.caption
    assert "Block queue sdb: 2 × 512 KiB, split by max_sectors_kb 512" in picture.description
    assert picture.data.filter(what="read first").height == 8


def test_the_tuned_server_has_no_red() -> None:
    svg = render.svg(io_path.chart(_rows(oss(256, 1024))), "f")
    assert "#D55E00" not in svg
    assert "full stripe, nothing is read" in _texts(svg)


@pytest.mark.parametrize(
    ("systems", "size"),
    [
        ([laptop()], MIB),
        ([lustre_client(), oss()], 64 << 10),
        ([lustre_client(4096, 4), oss(256, 1024)], 16 * MIB),
        ([md_server()], 100 << 10),
        ([oss()], 4096),
        ([oss()], 47008),
        ([oss()], 1),
    ],
)
def test_every_path_is_drawn_and_its_words_stay_short(systems: list[System], size: int) -> None:
    picture = io_path.picture(_rows(*systems, transfer=Transfer(size, is_direct=True)), "io-path", "Path")
    assert picture.svg
    assert float(ET.fromstring(picture.svg).attrib["width"]) < 760
    assert max(map(len, _texts(picture.svg))) <= 42


def test_hosts_are_named_where_there_are_several() -> None:
    assert {"client1", "oss1"} <= set(_texts(render.svg(io_path.chart(_rows(lustre_client(), oss())), "f")))
    assert "oss1" not in _texts(render.svg(io_path.chart(_rows(oss())), "f"))
