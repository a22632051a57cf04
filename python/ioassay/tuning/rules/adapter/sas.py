"""SAS adapters of the mpt2sas and mpt3sas drivers, whose module options the rules know."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from ioassay.tuning.rule import Judgement, each
from ioassay.tuning.system import System
from ioassay.tuning.system.block import Adapter

DRIVERS = ("mpt3sas", "mpt2sas")


def adapters(system: System) -> Mapping[str, Adapter]:
    """The adapters of the devices that the system is judged for, by name."""
    found = (device.adapter for device in system.concerned())
    return {adapter.name: adapter for adapter in found if adapter is not None}


def each_adapter(system: System, judge: Callable[[Adapter], Iterable[Judgement]]) -> Iterator[Judgement]:
    """What `judge` says of each adapter of these drivers; where there is none, why the rule does not apply."""
    known = adapters(system)
    ours = [adapter for adapter in known.values() if adapter.driver in DRIVERS]
    return each(ours, judge, otherwise=_of_other_drivers(known.values()))


def _of_other_drivers(known: Iterable[Adapter]) -> str:
    """That no adapter has these options, and what drives those that there are."""
    drivers = sorted({adapter.driver for adapter in known if adapter.driver})
    if not drivers:
        return "no disk hangs on a SCSI adapter"
    return f"the driver {' and '.join(drivers)} has no such option; it is one of mpt2sas and mpt3sas"


def module(system: System, adapter: Adapter) -> str:
    """The module that takes the options: since Linux 4.4 mpt3sas drives the adapters of mpt2sas too."""
    return "mpt3sas" if system.snapshot.exists("sys/module/mpt3sas/parameters") else adapter.driver


def reload_command(option: str, value: int, driver: str) -> str:
    """How an option is set that a module takes only when it is loaded."""
    return (
        f"echo options {driver} {option}={value} > /etc/modprobe.d/{driver}-{option}.conf; dracut -f (rebuilds the "
        "initramfs); then reboot"
    )
