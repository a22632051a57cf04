"""Hosts during the phases of a run, from synthetic seconds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import polars as pl
import pytest

from ioassay.analysis.watch import devices, timeline
from ioassay.analysis.watch.phases import HOSTS, PHASES, Activity, activity
from ioassay.analysis.watch.seconds import counted
from ioassay.store.loaded import LoadedRun
from ioassay.store.watch_document import WatchDocument, WatchedHost
from ioassay.store.watched import Watch, WatchTables
from ioassay.testing.builder import RunBuilder
from ioassay.testing.watched import HostSecond, watched

T = 1_800_000_000
"""The second in which the first phase begins."""
OSS = WatchedHost(name="oss1", role="server", file="oss1.jsonl")
CLIENT = WatchedHost(name="client01", role="client", file="client01.jsonl")
GB = 10**9


def _run(*phases: tuple[str, float, float], clients: int = 1) -> LoadedRun:
    """A run with phases of (name, begin in seconds after `T`, length in seconds); each moves 1 GiB."""
    run = RunBuilder().workload("w").clients(clients).repetitions((len(phases) + 1) // 2).build()
    times = {name: (begin, length) for name, begin, length in phases}
    assert len(times) == len(phases)
    rows = []
    for row in run.measurements.iter_rows(named=True):
        name = f"{row['phase']}{row['repetition']}"
        if name in times:
            begin, length = times[name]
            rows.append(row | {"started_unix_ns": int((T + begin) * GB), "duration_ns": int(length * GB)})
    return replace(run, measurements=pl.DataFrame(rows, schema=run.measurements.schema))


def _activity(run: LoadedRun, seconds: Iterable[HostSecond], *hosts: WatchedHost) -> Activity:
    host_activity = activity(replace(run, watch=watched(hosts or (OSS,), seconds)))
    assert host_activity is not None
    return host_activity


def _seconds(host: str, first: int, writes: Iterable[int], **more: int) -> list[HostSecond]:
    return [HostSecond(host, T + first + index, write=write, **more) for index, write in enumerate(writes)]


def test_the_lowest_devices_count_and_no_byte_twice() -> None:
    seen = ["sda", "nvme0n1", "dm-0", "md127", "loop3", "zram0", "vdb", "sr0", "drbd1", "rbd0"]
    assert devices.disks(seen, None) == ["nvme0n1", "rbd0", "sda", "vdb"]
    assert devices.disks(["loop0", "loop1", "vda"], ["loop1", "loop7"]) == ["loop1"]
    assert devices.disks(["loop0"], []) == []


def test_bonds_count_by_their_interfaces_and_ip_over_infiniband_by_its_port() -> None:
    seen = ["eth0", "enp3s0f1", "bond0", "eth0.12", "br-lan", "veth12ab", "docker0", "ib0", "ibp5s0"]
    assert devices.interfaces(seen, has_infiniband=True) == ["enp3s0f1", "eth0"]
    assert devices.interfaces(seen, has_infiniband=False) == ["enp3s0f1", "eth0", "ib0", "ibp5s0"]


def test_hosts_that_only_start_a_run_are_not_counted() -> None:
    control = WatchedHost(name="login", role="control", file="login.jsonl")
    host_activity = _activity(
        _run(("write1", 0.1, 5)), _seconds("login", 0, [GB] * 5) + _seconds("oss1", 0, [7]), OSS, control
    )
    assert counted(host_activity.watch) == {"oss1": (["sda"], ["eth0"])}
    assert host_activity.seconds["host"].to_list() == ["oss1"]


def test_a_second_in_which_a_phase_ends_counts_for_it_as_a_whole() -> None:
    # fsync makes the disk write everything in the last half of a second.
    host_activity = _activity(_run(("write1", 0.1, 4.5)), _seconds("oss1", 0, [0, 0, 0, 0, 1 << 30, 0, 0]))
    (row,) = host_activity.phases.iter_rows(named=True)
    assert row["disk_write_ratio"] == pytest.approx(1.0)
    assert (row["disk_read_ratio"], row["late_write_bytes"], row["late_s"]) == (None, None, None)


def test_a_second_that_two_phases_share_is_divided_among_them() -> None:
    run = _run(("write1", 0.1, 2.75), ("read1", 2.85, 3.25))
    host_activity = _activity(run, _seconds("oss1", 0, [100, 100, 400, 0, 0, 0]))
    written = dict(host_activity.hosts.select("phase", "disk_write_bytes").iter_rows())
    assert written == {"write": pytest.approx(500), "read": pytest.approx(100)}


def test_short_phases_are_skipped() -> None:
    host_activity = _activity(_run(("write1", 0.1, 0.9)), _seconds("oss1", 0, [5, 5, 5]))
    assert host_activity.phases.is_empty()
    assert host_activity.hosts.is_empty()
    assert (host_activity.phases.schema, host_activity.hosts.schema) == (PHASES, HOSTS)


def test_a_silent_host_is_left_out_and_one_with_a_gap_is_extrapolated() -> None:
    seconds = _seconds("oss1", 0, [100] * 20)
    run = _run(("write1", 0.1, 20))
    del seconds[5:8]
    assert _activity(run, seconds).hosts.is_empty()
    with_gap = _activity(run, [*seconds, *_seconds("oss1", 5, [100] * 2)]).hosts
    assert with_gap["disk_write_bytes"].to_list() == [pytest.approx(2000)]
    assert with_gap.select("processor_busy", "memory_pressure").row(0) == (pytest.approx(0.5), pytest.approx(0.1))


def test_writes_after_a_phase_are_late_until_the_disks_are_almost_idle() -> None:
    half = 1 << 29
    seconds = _seconds("oss1", 0, [half // 5] * 5 + [0, half // 4, half // 4, 0, half // 2, 900_000, 0])
    (row,) = _activity(_run(("write1", 0.1, 4.9)), seconds).phases.iter_rows(named=True)
    assert row["disk_write_ratio"] == pytest.approx(0.5, rel=0.01)
    assert (row["late_write_bytes"], row["late_s"]) == (pytest.approx(half, abs=4), 5)


def test_writes_in_the_next_phase_are_not_late() -> None:
    run = _run(("write1", 0.1, 4.9), ("read1", 6.1, 5))
    (write, _) = _activity(run, _seconds("oss1", 0, [GB] * 12)).phases.iter_rows(named=True)
    assert (write["late_write_bytes"], write["late_s"]) == (GB, 1)


def test_without_servers_the_disks_are_those_of_the_clients() -> None:
    seconds = _seconds("client01", 0, [1 << 28] * 4)
    host_activity = _activity(_run(("write1", 0.1, 3.9)), seconds, CLIENT)
    assert host_activity.storage_role == "client"
    assert host_activity.phases["disk_write_ratio"].to_list() == [pytest.approx(1.0)]
    with_server = _activity(_run(("write1", 0.1, 3.9)), [*seconds, *_seconds("oss1", 0, [0] * 4)], CLIENT, OSS)
    assert with_server.phases["disk_write_ratio"].to_list() == [0]


def test_a_server_without_a_disk_of_its_own_does_not_hold_the_data() -> None:
    diskless = OSS.model_copy(update={"devices": []})
    seconds = [*_seconds("client01", 0, [1 << 28] * 4), *_seconds("oss1", 0, [0] * 4)]
    host_activity = _activity(_run(("write1", 0.1, 3.9)), seconds, CLIENT, diskless)
    assert host_activity.storage_role == "client"


def test_a_run_without_agents_or_their_documents_has_no_activity() -> None:
    run = _run(("write1", 0.1, 4))
    assert activity(run) is None
    assert activity(replace(run, watch=Watch(WatchDocument(hosts=[OSS]), lambda: WatchTables({})))) is None


def test_the_time_line_has_clients_and_servers_on_one_axis() -> None:
    run = _run(("write1", 0.1, 4), ("read1", 5.1, 4))
    line = timeline.timeline(_activity(run, _seconds("oss1", -2, range(100, 114), received=7)))
    assert line is not None
    assert (line.step_s, line.end_s) == (1, 12)
    assert line.phases.select("phase", "moves").rows() == [("write", "write"), ("read", "read")]
    assert line.hosts["disk_write_bytes"].to_list() == list(range(102, 114))
    samples = run.samples.filter(pl.col("phase") == "write").select(pl.col("bytes").sum()).collect().item()
    assert line.clients["write"].sum() == pytest.approx(samples)
    assert line.clients.filter(pl.col("start_s") < 5)["read"].sum() == 0


def test_a_long_run_is_drawn_in_longer_steps_whose_rates_are_means(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MOST_STEPS", 4)
    run = _run(("write1", 0.1, 7.9))
    line = timeline.timeline(_activity(run, _seconds("oss1", 0, [10, 30] * 4)))
    assert line is not None
    assert (line.step_s, line.hosts["disk_write_bytes"].to_list()) == (2, [20.0] * 4)
    written = run.samples.filter(pl.col("phase") == "write").select(pl.col("bytes").sum()).collect().item()
    assert line.clients["write"].sum() * 2 == pytest.approx(written)


def test_the_time_line_sums_many_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MOST_HOSTS", 1)
    other = OSS.model_copy(update={"name": "oss2"})
    seconds = [*_seconds("oss1", 0, [10] * 4), *_seconds("oss2", 0, [30] * 4)]
    line = timeline.timeline(_activity(_run(("write1", 0.1, 3.9)), seconds, OSS, other))
    assert line is not None
    assert line.hosts.select("host", "disk_write_bytes").unique().rows() == [("2 servers together", 40)]


def test_seconds_without_a_report_of_a_host_are_not_drawn_as_zero() -> None:
    seconds = _seconds("oss1", 0, [10, 10, 10, 10])
    del seconds[1]
    line = timeline.timeline(_activity(_run(("write1", 0.1, 3.9)), seconds))
    assert line is not None
    assert line.hosts["disk_write_bytes"].to_list() == [10, None, 10, 10]
