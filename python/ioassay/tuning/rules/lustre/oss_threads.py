"""How many threads of an object storage server do I/O."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.text import units
from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule
from ioassay.tuning.rules.lustre import parameters
from ioassay.tuning.rules.sources import LUSTRE_SERVER, LUSTRE_TUNING, LUSTRE_WIKI, lustre_source
from ioassay.tuning.system import System

_SERVICE = "ost.OSS.ost_io"
_WANTED = 512
_ROUNDED = 32
"""The kernel divides the number among CPU partitions and shows what is left after rounding down."""
_BESIDE_BYTES = 512 << 10
"""What a thread takes besides its buffer for an RPC."""
_MOST_OF_MEMORY = 8
"""Buffers may take this part of memory."""


def _judge(system: System) -> Iterator[Judgement]:
    if not parameters.names(system, f"{_SERVICE}.threads_m*"):
        yield NotApplicable(parameters.NO_SERVER)
        return
    least = parameters.number(system, f"{_SERVICE}.threads_min")
    most = parameters.number(system, f"{_SERVICE}.threads_max")
    each_bytes = _rpc_bytes(system) + _BESIDE_BYTES
    wanted = min(_WANTED, max(2, system.memory_bytes // _MOST_OF_MEMORY // each_bytes))
    shown = f"{least} to {most}" if least < most else f"{most}, all started at once"
    if least >= wanted - _ROUNDED and most >= wanted - _ROUNDED:
        yield Fine("ost_io", shown)
        return
    upper = max(most, wanted)
    yield Change(
        "ost_io",
        shown,
        f"{wanted}, all started at once",
        ""
        if wanted == _WANTED
        else f"{_WANTED} threads of {units.format_bytes(each_bytes)} each would take more than an eighth of memory",
        # Not the other way round: a minimum above the maximum is refused.
        (
            Assignment(f"lctl:{_SERVICE}.threads_max", str(upper)),
            Assignment(f"lctl:{_SERVICE}.threads_min", str(wanted)),
        ),
    )


def _rpc_bytes(system: System) -> int:
    sizes = [parameters.number(system, name) for name in parameters.names(system, "obdfilter.*.brw_size")]
    return max(sizes, default=1) * parameters.MIB


RULE = Rule(
    name="lustre-oss-threads",
    title="Start as many I/O threads as the arrays keep busy",
    area="Lustre",
    reason="Each thread has one request at the disks. The study's arrays were fastest with the maximum of 512, and "
    "starting all at once spares the first seconds of a job the wait for them.",
    risk="Where the storage is slower, more threads only add seeks and memory: each holds a buffer of an RPC. The "
    "Lustre Wiki starts with 32 threads per OST on disks; find the number by obdfilter-survey. Older versions do not "
    "stop running threads when the number is lowered (LU-947).",
    sources=(LUSTRE_SERVER, LUSTRE_TUNING, LUSTRE_WIKI, lustre_source("lustre/ofd/ofd_oss.c", "oss_max_threads")),
    judge=_judge,
    parameters=("threads_max", "threads_min", "oss_num_threads"),
)
