"""How many pieces of memory one SAS command may have."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotReadable, Rule, Source
from ioassay.tuning.rules.adapter import sas
from ioassay.tuning.rules.sources import LARGE_IO_TEXT, LINUX_LARGE_IO, MPT3SAS
from ioassay.tuning.system import System
from ioassay.tuning.system.block import Adapter

_LARGE_BYTES = 1 << 20
_MOST = 256
"""The most that the kernel's configuration offers."""


def _judge(system: System) -> Iterator[Judgement]:
    return sas.each_adapter(system, lambda adapter: _adapter(adapter, system))


def _adapter(adapter: Adapter, system: System) -> Iterator[Judgement]:
    now, page = adapter.sg_tablesize, system.page_bytes
    wanted = min(_MOST, _LARGE_BYTES // page)
    if now is None:
        yield NotReadable(f"sg_tablesize of {adapter.name}", "its driver does not say")
    elif now >= wanted:
        yield Fine(adapter.name, _shown(now, page))
    else:
        module = sas.module(system, adapter)
        old = module == "mpt2sas"
        yield Change(
            adapter.name,
            _shown(now, page),
            _shown(wanted, page),
            "mpt2sas takes no more than CONFIG_SCSI_MPT2SAS_MAX_SGE; where that is 128, rebuild the module"
            if old
            else "",
            (Assignment(f"module:{module}/max_sgl_entries", str(wanted)),),
            sas.reload_command("max_sgl_entries", wanted, module),
        )


def _shown(entries: int, page_bytes: int) -> str:
    return f"{entries} segments, {entries * page_bytes >> 10} KiB of scattered pages"


RULE = Rule(
    name="max-sgl-entries",
    title="Give SAS commands enough segments for 1 MiB of scattered pages",
    area="adapter",
    reason="Pages of the page cache and of RPCs are rarely contiguous, so a command of 128 segments carries 512 KiB: "
    "the driver halves every RPC of 1 MiB, and the array reads parity for each half. This was the main cause of the "
    "study's low throughput.",
    risk="Memory for each command of the adapter grows. It takes effect when the module is loaded, which for the "
    "adapter of the root file system means a reboot. Newer mpt3sas takes 256 with a warning in the log and needs no "
    "rebuilt module, unlike the study's.",
    sources=(
        LINUX_LARGE_IO,
        LARGE_IO_TEXT,
        MPT3SAS,
        Source(
            "Linux, drivers/scsi/mpt3sas/Kconfig: SCSI_MPT3SAS_MAX_SGE",
            "https://github.com/torvalds/linux/blob/master/drivers/scsi/mpt3sas/Kconfig",
        ),
    ),
    judge=_judge,
    weight="large",
    weight_reason="this was the main cause of the study's low throughput",
    parameters=("max_sgl_entries", "sg_tablesize", "SCSI_MPT2SAS_MAX_SGE"),
)
