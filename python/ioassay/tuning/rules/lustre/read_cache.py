"""What an object storage server keeps in its memory of what it read."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.text import units
from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, Rule, each
from ioassay.tuning.rules.lustre import parameters
from ioassay.tuning.rules.sources import LUSTRE_PARAMETERS, lustre_source
from ioassay.tuning.system import System

_KINDS = ("osd-ldiskfs", "osd-zfs", "obdfilter")
_WANTED_BYTES = 32 << 20
_OF_MEMORY = 64
"""Newer versions keep files up to this part of memory."""


def _judge(system: System) -> Iterator[Judgement]:
    of_kinds = (parameters.groups(system, kind, "readcache_max_filesize") for kind in _KINDS)
    return each(next(filter(None, of_kinds), []), _group, otherwise=parameters.NO_SERVER)


def _group(group: parameters.Group) -> Iterator[Judgement]:
    enabled = group.sibling("read_cache_enable").numbers()
    if enabled and not any(enabled):
        yield Fine(group.file_system, "no read cache")
        return
    now = max(group.numbers())
    if now <= max(_WANTED_BYTES, group.system.memory_bytes // _OF_MEMORY):
        yield Fine(group.file_system, f"files up to {units.format_about_bytes(now)}")
    else:
        shown = units.format_about_bytes(now) if now < 1 << 50 else "any size"
        assignment: Assignment = group.assign(_WANTED_BYTES)
        yield Change(
            group.file_system,
            f"files of {shown}",
            f"files up to {units.format_bytes(_WANTED_BYTES)}",
            "",
            (assignment,),
        )


RULE = Rule(
    name="lustre-read-cache",
    title="Keep small files in the servers' memory, not large ones",
    area="Lustre",
    reason="A file larger than the server's memory pushes out everything else before it is read again. With a limit, "
    "small files and metadata stay.",
    risk="Large files that many clients read one after the other, such as input data and programs, then come from disk "
    "each time; raise the limit above their size.",
    sources=(LUSTRE_PARAMETERS, lustre_source("lustre/osd-ldiskfs/osd_handler.c", "od_readcache_max_filesize")),
    judge=_judge,
    parameters=("readcache_max_filesize", "read_cache_enable"),
)
