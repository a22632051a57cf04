"""Made-up snapshots of nodes: files as a dictionary, and the systems that studies describe."""

from __future__ import annotations

from collections.abc import Mapping

from ioassay.protocol.snapshot import CommandOutput, Environment
from ioassay.protocol.snapshot import Snapshot as Document
from ioassay.tuning.snapshot import VERSION, Snapshot

_ENVIRONMENT: Environment = {
    "host": "oss1",
    "kernel": "Linux 6.1.0",
    "processors": 16,
    "memory_bytes": 64 << 30,
    "clock": {"source": "clock_monotonic", "resolution_ns": 1},
}


def snapshot(
    files: Mapping[str, str],
    *,
    links: Mapping[str, str] | None = None,
    unreadable: Mapping[str, str] | None = None,
    printed: Mapping[str, str] | None = None,
    failed: Mapping[str, str] | None = None,
    target: str | None = None,
    host: str = "oss1",
    taken_s: int = 1_770_000_000,
) -> Snapshot:
    """A node with these files. `printed`: by command line, what it printed. `failed`: what it wrote to standard error
    and failed. `unreadable`: by path, why.

    `taken_s`: when, in seconds since 1970.
    """
    commands = {f"commands/{number}.txt": (line, text) for number, (line, text) in enumerate((printed or {}).items())}
    document: Document = {
        "kind": "snapshot",
        "version": VERSION,
        "host": host,
        "boot_id": "b0",
        "taken_unix_ns": taken_s * 1_000_000_000,
        "engine_version": "0.1.0",
        "target": target,
        "environment": _ENVIRONMENT | {"host": host},
        "unreadable": [{"path": path, "reason": reason} for path, reason in (unreadable or {}).items()],
        "commands": [
            *[
                CommandOutput(argv=line.split(), exit_code=0, file=name if text else None)
                for name, (line, text) in commands.items()
            ],
            *[CommandOutput(argv=line.split(), exit_code=1, error=error) for line, error in (failed or {}).items()],
        ],
    }
    return Snapshot(
        document,
        {path: text.encode() for path, text in files.items()},
        links or {},
        {name: text.encode() for name, (_, text) in commands.items() if text},
    )


def below(directory: str, files: Mapping[str, object]) -> dict[str, str]:
    """The files of a directory: `below("sys/block/sda/queue", {"nr_requests": 64})`."""
    return {f"{directory}/{name}": str(value) for name, value in files.items()}


def disk(name: str, *, queue: Mapping[str, object] | None = None, **attributes: object) -> dict[str, str]:
    """A SCSI disk with the kernel's usual queue, changed by `queue`; `attributes` of the device: model="ST4000"."""
    usual: dict[str, object] = {
        "scheduler": "[mq-deadline] kyber bfq none",
        "nr_requests": 64,
        "max_sectors_kb": 512,
        "max_hw_sectors_kb": 32767,
        "max_segments": 128,
        "max_segment_size": 65536,
        "read_ahead_kb": 128,
        "rq_affinity": 1,
        "nomerges": 0,
        "rotational": 1,
        "logical_block_size": 512,
        "physical_block_size": 4096,
        "minimum_io_size": 4096,
        "optimal_io_size": 0,
        "write_cache": "write back",
        "wbt_lat_usec": 75000,
    }
    return {
        **below(f"sys/block/{name}", {"size": 7814037168, "dev": _number(name), "removable": 0, "ro": 0}),
        **below(f"sys/block/{name}/queue", usual | dict(queue or {})),
        **below(f"sys/block/{name}/device", attributes),
    }


def _number(name: str) -> str:
    return f"8:{16 * (ord(name[-1]) - ord('a'))}" if name.startswith("sd") else f"259:{name[-1]}"
