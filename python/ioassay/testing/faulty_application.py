"""An application that does everything to storage that a finding knows, and one that does none of that.

Tables of eight ranks on two nodes, from which tests and the pictures of the docs are made.
"""

from __future__ import annotations

from collections.abc import Callable

from ioassay.protocol.record_layout import State
from ioassay.testing.record_tables import BEGIN_NS, TableBuilder

RANKS, DURATION_S, PERIOD_S = 8, 600, 100

S, MS, US = 10**9, 10**6, 10**3
KIB, MIB = 1 << 10, 1 << 20

CHECKPOINT_S, CHECKPOINT_BYTES = 12, 64 * MIB
"""The duration of each checkpoint, and the bytes that each rank writes in each of its seconds."""


def faulty() -> list[TableBuilder]:
    """The tables of the application that does it all."""
    return [_rank(rank, _everything) for rank in range(RANKS)]


def calm() -> list[TableBuilder]:
    """The tables of one that writes large checkpoints to a file of each rank, and nothing else."""
    return [_rank(rank, _checkpoints) for rank in range(RANKS)]


def _rank(rank: int, act: Callable[[TableBuilder, int], None]) -> TableBuilder:
    table = TableBuilder(
        1000 + rank,
        node=f"node{1 + rank // (RANKS // 2)}",
        command=["climate", "--config", "run.nml"],
        end_ns=BEGIN_NS + DURATION_S * S,
        job={"SLURM_PROCID": str(rank)},
        directory="/scratch/climate",
    )
    act(table, rank)
    return table


def _checkpoints(table: TableBuilder, rank: int) -> None:
    count = DURATION_S // PERIOD_S
    for checkpoint in range(count):
        for second in range(CHECKPOINT_S):
            moment = checkpoint * PERIOD_S + 60 + second
            table.second("write", moment, 16, moved=CHECKPOINT_BYTES, ns=900 * MS, slowest_ns=70 * MS)
    file = table.file(f"checkpoint.{rank:04}", {"open": count, "close": count}, inode=100 + rank, ns=count * MS)
    calls = count * CHECKPOINT_S * 16
    ns = count * CHECKPOINT_S * 900 * MS
    table.transfers(file, "write", {4 * MIB: calls}, ns=ns, slowest_ns=70 * MS, consecutive=calls - 1)
    table.latencies("write", {55 * MS: calls})
    moved = calls * 4 * MIB
    table.thread(table.pid, kernel=(0, moved, 0, calls))


def _everything(table: TableBuilder, rank: int) -> None:
    _checkpoints(table, rank)
    # The grid is read by every rank, whole, and the forcing again and again.
    for second in range(10):
        table.second("read", second, 4100, moved=60 * MIB, ns=400 * MS, slowest_ns=9 * MS)
    grid = table.file("/data/grid.nc", {"open": 1, "close": 1}, inode=7, size=300 * MIB)
    table.transfers(grid, "read", {MIB: 300}, ns=2 * S, slowest_ns=9 * MS, consecutive=299)
    forcing = table.file("/data/forcing.nc", {"open": 200, "close": 200}, inode=8, size=20 * MIB)
    table.transfers(forcing, "read", {64 * KIB: 3200}, ns=3 * S, consecutive=500, end=20 * MIB, misaligned=3000)
    # Small, unaligned records of all ranks in one file, synced one by one; rank 3 has more of them.
    records = 6000 if rank == 3 else 2000
    shared = table.file("diagnostics.bin", {"open": 1, "close": 1, "sync": records // 2}, inode=9, ns=4 * S)
    table.transfers(
        shared,
        "write",
        {1000: records},
        ns=records * 8 * MS,
        slowest_ns=12 * S,
        forward=records // 2,
        misaligned=records,
    )
    table.transfers(shared, "MPI write", {1000: records}, ns=records * 8 * MS)
    for second in range(100, 500):
        table.second(
            "write", second, records // 400, moved=1000 * records // 400, ns=records // 400 * 8 * MS, slowest_ns=9 * MS
        )
        table.second("sync", second, records // 800, ns=5 * MS, slowest_ns=2 * MS)
        table.second("stat", second, 20, ns=40 * MS, slowest_ns=MS)
        table.second("open", second, 5, ns=60 * MS, slowest_ns=MS)
    table.second("write", 250 + rank, 1, moved=1000, ns=S, slowest_ns=12 * S)
    table.latencies("write", {8 * MS: records, 12 * S: 1})
    table.latencies("stat", {2 * MS: 8000})
    table.latencies("open", {12 * MS: 2000})
    # It waits for a file, and looks for modules along a path.
    table.file("stop.now", {"stat": 8000}, {"stat": 100}, ns=16 * S, errno=2)
    for directory in ("/opt/a", "/opt/b", "/home/user/lib"):
        for module in ("numpy", "netCDF4"):
            table.file(f"{directory}/{module}.so", {"open": 250}, {"open": 250}, ns=S, errno=2)
    table.errors({("open", 2): 1500, ("stat", 2): 100})
    log = table.file(f"/scratch/climate/log.{rank}", {"open": 1}, inode=200 + rank)
    table.transfers(log, "stream write", {100: 10_000_000}, ns=S, end=10**9)
    if rank == RANKS - 1:
        table.thread(2000, in_flight=("write", shared, BEGIN_NS + 540 * S))
        table.set_state(State.RUNNING)
