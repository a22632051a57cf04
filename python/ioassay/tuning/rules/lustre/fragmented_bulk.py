"""Whether RPCs reach the disks in one piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ioassay.text import units
from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule, each
from ioassay.tuning.rules.lustre import parameters
from ioassay.tuning.rules.sources import LARGE_IO_TEXT, LUSTRE_PARAMETERS
from ioassay.tuning.system import System, lustre
from ioassay.tuning.system.lustre import Bucket

_MOST_SPLIT = 0.1
_FEWEST = 100
"""RPCs, below which a share says little."""


def _judge(system: System) -> Iterator[Judgement]:
    found = parameters.names(system, "osd-*.*-OST*.brw_stats") or parameters.names(system, "obdfilter.*.brw_stats")
    return each(found, lambda name: _target(name, system), otherwise=parameters.NO_SERVER)


def _target(name: str, system: System) -> Iterator[Judgement]:
    text, target = parameters.text(system, name), name.split(".")[1]
    parts = lustre.histogram(text, "disk fragmented I/Os")
    reads, writes = sum(row.reads for row in parts), sum(row.writes for row in parts)
    if reads + writes < _FEWEST:
        yield NotApplicable(f"{target} has counted {reads + writes} RPCs, too few to judge by")
        return
    split = [
        f"{share * 100:.0f} % of {what}"
        for what, share in (
            ("reads", sum(row.reads for row in parts if row.value > 1) / max(1, reads)),
            ("writes", sum(row.writes for row in parts if row.value > 1) / max(1, writes)),
        )
        if share > _MOST_SPLIT
    ]
    usual = _usual_bytes(lustre.histogram(text, "disk I/O size"))
    shown = f", mostly in pieces of {units.format_bytes(usual)}" if usual else ""
    if not split:
        yield Fine(target, f"at most {_MOST_SPLIT * 100:.0f} % of RPCs reach the disks in pieces")
    else:
        yield Change(
            target,
            f"{' and '.join(split)} reach the disks in pieces{shown}",
            "one disk request for each RPC",
            command="Set what the rules max-sgl-entries and max-sectors-kb say, clear the counters (lctl set_param "
            f"{name}=0), run the workload again. If it stays, the file system's free space is fragmented.",
        )


def _usual_bytes(sizes: Sequence[Bucket]) -> int:
    """The size that carries the most data."""
    return max(sizes, key=lambda row: row.value * (row.reads + row.writes)).value if sizes else 0


RULE = Rule(
    name="lustre-fragmented-bulk",
    title="See that RPCs reach the disks in one piece",
    area="Lustre",
    reason="The server counts how many disk requests each RPC became. Before its tuning the study's servers sent every "
    "RPC of 1 MiB as two halves to arrays with stripes of 1 MiB.",
    risk="None: it only measures. The counters hold everything since they were cleared, also what was before the last "
    "change of settings; small files and full OSTs are fragmented whatever the settings are.",
    sources=(LARGE_IO_TEXT, LUSTRE_PARAMETERS),
    judge=_judge,
    parameters=("brw_stats",),
)
