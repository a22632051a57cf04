"""The shape of the built-in study `isilon-2018`, as a builder: four workloads, seven client counts."""

from __future__ import annotations

from ioassay.store.document import FigureEntry, Operation
from ioassay.store.loaded import LoadedRun
from ioassay.testing.builder import RunBuilder
from ioassay.text.units import RateUnit

MIB = 1 << 20


def isilon(repetitions: int = 1) -> RunBuilder:
    """The four workloads with rates such as a fast local disk gives: most phases take 0.3 to 2 s."""
    return (
        RunBuilder()
        .title("Dell EMC Isilon F800 and H600 I/O performance, the method of January 2018")
        .clients(1, 2, 4, 8, 16, 32, 64)
        .repetitions(repetitions)
        .workload("sequential-n-n", "Sequential, N clients to N files")
        .workload("sequential-n-1", "Sequential, N clients to one file", layout="N-1", write=1.05e9, read=1.9e9)
        .workload(
            "random-small",
            "Random 4 KiB, small files",
            order="random",
            transfer_bytes=4096,
            unit="kIOPS",
            file_set_bytes=128 * MIB,
            write=2.1e8,
            read=3.0e8,
        )
        .workload(
            "random-large",
            "Random 4 KiB, large files",
            order="random",
            transfer_bytes=4096,
            unit="kIOPS",
            file_set_bytes=256 * MIB,
            write=1.6e8,
            read=2.4e8,
        )
    )


def doubted(builder: RunBuilder) -> RunBuilder:
    """Adds the doubts that such a study earns on a laptop."""
    for case in builder.build().document.cases:
        for phase in ("write", "read"):
            if case.clients > 1:
                builder.doubt(
                    case.id,
                    phase,
                    "shared-node",
                    f"{case.clients} clients were processes on 1 node: they shared cache, memory and network link",
                    "read the clients as processes of one node, or run on as many nodes as there are clients",
                )
            if case.clients > 2:
                builder.doubt(
                    case.id,
                    phase,
                    "oversubscribed",
                    f"{case.clients} ranks shared 2 processors",
                    "use at most as many ranks per node as processors",
                )
        if case.clients == 64:
            builder.doubt(
                case.id,
                "read",
                "cache-resident",
                "12 % of the file set (123 MiB of 1 GiB) was in this node's page cache before the read",
                "drop the caches before the read (a cold-cache step does, as root)",
            )
    return builder


def paper_figures(run: LoadedRun) -> LoadedRun:
    """The paper's six figures: the random ones with both file sizes in one."""
    random = ["random-small", "random-large"]
    figures: list[tuple[str, list[str], Operation, RateUnit]] = [
        ("Sequential write performance (N-N)", ["sequential-n-n"], "write", "GB/s"),
        ("Sequential read performance (N-N)", ["sequential-n-n"], "read", "GB/s"),
        ("Sequential write performance (N-1)", ["sequential-n-1"], "write", "GB/s"),
        ("Sequential read performance (N-1)", ["sequential-n-1"], "read", "GB/s"),
        ("Random write performance (N-N)", random, "write", "kIOPS"),
        ("Random read performance (N-N)", random, "read", "kIOPS"),
    ]
    run.document.study.figures = [
        FigureEntry(title=title, workloads=workloads, operation=operation, unit=unit)
        for title, workloads, operation, unit in figures
    ]
    return run
