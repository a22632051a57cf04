"""Whether a server answers before data is stored."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule
from ioassay.tuning.rules.nfs.sources import EXPORTS_MANUAL
from ioassay.tuning.system import System
from ioassay.tuning.system.nfs import exports


def _judge(system: System) -> Iterator[Judgement]:
    known = exports(system.snapshot)
    if not known:
        yield NotApplicable("this node exports nothing over NFS")
    for export in known:
        subject = f"{export.path} for {export.client}"
        if "async" in export.options and "ro" not in export.options:
            because = "rates measured on it include data that no disk has yet"
            command = f"replace async by sync for {export.path} in /etc/exports, then: exportfs -ra"
            yield Change(subject, "async", "sync", because, command=command)
        else:
            yield Fine(subject, "read-only" if "ro" in export.options else "sync")


RULE = Rule(
    name="nfs-export-sync",
    title="Export NFS file systems with sync",
    area="NFS",
    reason="With async the server confirms stable writes and commits while data is still in its memory, which NFS "
    "forbids; clients then drop their copies.",
    risk="Writes and metadata become slower, many times on disks without a protected write cache; that is the honest "
    "rate. With async a crash of the server loses or corrupts what clients believe is stored.",
    sources=(EXPORTS_MANUAL,),
    judge=_judge,
    parameters=("async", "sync"),
)
