from __future__ import annotations

import json

import pytest
from rich.console import Console

from ioassay.reports.document import Document, html, markdown, terminal
from ioassay.reports.tuning import path_text
from ioassay.reports.tuning.path import data, sections
from ioassay.testing.io_path_nodes import laptop, lustre_client, md_server, oss
from ioassay.testing.snapshots import disk, snapshot
from ioassay.tuning.path import Transfer, io_paths
from ioassay.tuning.path.measured import MeasuredHost, between
from ioassay.tuning.path.rows import rows
from ioassay.tuning.system import System

MIB = 1 << 20


def _text(*systems: System, transfer: Transfer | None = None, columns: int = path_text.COLUMNS) -> str:
    (path,) = io_paths(systems, transfer)
    return path_text.text(rows(path), columns)


def test_the_untuned_server_as_text() -> None:
    lines = _text(oss()).splitlines()
    ceiling = next(number for number, line in enumerate(lines) if line.startswith("Block queue"))
    assert lines[ceiling : ceiling + 4] == [
        "Block queue sdb       │███████ 512 KiB ███████│███████ 512 KiB ███████│  ← split: max_sectors_kb 512",
        " " * 73 + "and sg_tablesize",
        " " * 73 + "128 × 4 KiB",
        "Adapter mpt3sas       │███████ 512 KiB ███████│███████ 512 KiB ███████│",
    ]
    assert lines[ceiling + 4] == (
        "RAID 8+2 × 128 KiB    │█████│█████│█████│█████│░░░░░│░░░░░│░░░░░│░░░░░│  + P Q  reads 4, writes 6"
    )
    assert lines[-1] == "RAID segments: █ written   ░ read first"


@pytest.mark.parametrize(
    ("systems", "size"),
    [([laptop()], MIB), ([lustre_client(), oss()], 4096), ([md_server()], 3 * MIB), ([oss()], 16 * MIB), ([oss()], 1)],
)
@pytest.mark.parametrize("is_direct", [True, False])
def test_text_stays_within_its_columns(systems: list[System], size: int, *, is_direct: bool) -> None:
    for columns in (1, 60, 61, 73, 80, 99, 100, 300):
        lines = _text(*systems, transfer=Transfer(size, is_direct=is_direct), columns=columns).splitlines()
        assert max(map(len, lines)) <= min(max(columns, path_text.FEWEST), path_text.COLUMNS)


def test_a_narrow_terminal_shortens_bars_and_keeps_the_notes() -> None:
    lines = _text(oss(), columns=80).splitlines()
    ceiling = next(number for number, line in enumerate(lines) if line.startswith("Block queue"))
    assert lines[ceiling : ceiling + 6] == [
        "Block queue sdb       │███ 512 KiB ████│███ 512 KiB ████│  ← split:",
        " " * 59 + "max_sectors_kb 512",
        " " * 59 + "and sg_tablesize",
        " " * 59 + "128 × 4 KiB",
        "Adapter mpt3sas       │███ 512 KiB ████│███ 512 KiB ████│",
        "RAID 8+2 × 128 KiB    │███│███│████│███│░░░│░░░░│░░░│░░░│  + P Q  reads 4,",
    ]


def _measured() -> MeasuredHost:
    files = disk("sdb")
    before = snapshot(files | {"sys/block/sdb/stat": "0 0 0 0 0 0 0 0 0 0 0"}, target="/dev/sdb")
    after = snapshot(
        files | {"sys/block/sdb/stat": "0 0 0 0 1000 500 352000 9000 0 5000 9000"},
        target="/dev/sdb",
        taken_s=1_770_000_010,
    )
    return between(before, after)


def test_a_page_has_the_figure_and_text_has_the_lines() -> None:
    paths = io_paths([oss()])
    page = html.rendered(Document("Path", sections(paths, with_figures=True)))
    assert '<figure id="figure-io-path-sdb-sdc-sdg-6-alike-on-oss1"' in page
    assert "███" not in page
    text = markdown.rendered(Document("Path", sections(paths, with_figures=False)))
    assert "## I/O path to sdb, sdc, … sdg (6 alike) on oss1" in text
    assert "│███████ 512 KiB ███████│" in text
    assert "| sdb | **2 × 512 KiB** | **max_sectors_kb 512 (512 KiB)**, /sys/block/sdb/queue/max_sectors_kb |" in text
    assert "**A request of 1 MiB leaves the adapter (mpt3sas) as 2 × 512 KiB" in text


def _on_terminal(columns: int, *systems: System) -> list[str]:
    console = Console(width=columns)
    with console.capture() as capture:
        console.print(terminal.rendered(sections(io_paths(systems), with_figures=False, columns=columns)), crop=False)
    return capture.get().splitlines()


@pytest.mark.parametrize("columns", [80, 100, 139])
def test_no_name_in_a_narrow_table_of_layers_is_broken(columns: int) -> None:
    lines = _on_terminal(columns, lustre_client(), oss())
    assert max(map(len, lines)) <= columns
    table = lines[next(index for index, line in enumerate(lines) if line.startswith(" Layer ")) :]
    words = [word for line in table for word in line.split()]
    for parameter, source in (("max_pages_per_rpc", "scratch-OST0000"), ("sg_tablesize", "host0")):
        assert words.count(parameter) == 2
        assert source in words
    for parameter in ("brw_size", "max_sectors_kb"):
        assert words.count(parameter) == 1  # of the device in the same row
    assert "given by --raid" in "\n".join(table)
    assert "/sys" not in "".join(table)


def test_a_wide_table_of_layers_has_the_path_of_each_limit() -> None:
    text = "\n".join(_on_terminal(140, lustre_client(), oss()))
    assert "/sys/class/scsi_host/host0/sg_tablesize" in text
    assert "lctl get_param osc.scratch-OST0000-osc-ffff9c1a8b7d2800.max_pages_per_rpc" in text


def test_measured_sizes_stand_beside_computed_ones() -> None:
    system = System(snapshot(disk("sdb"), target="/dev/sdb"))
    blocks = sections(io_paths([system]), [_measured()], with_figures=False)
    console = Console(width=120)
    with console.capture() as capture:
        console.print(terminal.rendered(blocks))
    text = capture.get()
    assert "measured: 176 KiB" in text
    assert "write requests of sdb averaged 176 KiB, although the settings allow 512 KiB" in " ".join(text.split())
    assert "Counted over 10.0 s on oss1." in text
    assert "33 %" in text  # merged


def test_the_data_are_json_in_bytes() -> None:
    (known,) = json.loads(json.dumps(data(io_paths([oss()]))))
    queue = next(layer for layer in known["layers"] if layer["kind"] == "queue")
    assert (queue["request_bytes"], queue["split_into"], queue["is_split"]) == (512 << 10, 2, True)
    assert (known["raid"]["disk_ios"], known["raid"]["least_disk_ios"]) == (20, 10)


def test_paths_of_one_device_are_distinguished_by_their_disks() -> None:
    system = md_server()
    files = dict(system.snapshot.files)
    files[next(name for name in files if name.endswith("sdd/queue/max_sectors_kb"))] = b"128"
    changed = System(type(system.snapshot)(system.snapshot.document, files, system.snapshot.links))
    titles = [section.title for section in sections(io_paths([changed]), with_figures=False)]
    assert titles == ["I/O path to md0 on server through sdb, sdc, sde, sdf", "I/O path to md0 on server through sdd"]
