"""How multipath chooses a path for a request."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotReadable, Rule, Source, each
from ioassay.tuning.rules.sources import MULTIPATH_CONF
from ioassay.tuning.system import System
from ioassay.tuning.system.block import BlockDevice

_BY_LOAD = ("service-time", "queue-length", "historical-service-time", "io-affinity")


def _judge(system: System) -> Iterator[Judgement]:
    return each(
        [device for device in system.concerned() if device.kind == "multipath"],
        lambda device: _device(device, system),
        otherwise="there is no multipath device",
    )


def _device(device: BlockDevice, system: System) -> Iterator[Judgement]:
    if len(device.below) < 2:
        yield NotApplicable(f"{device.name} has one path")
    elif (table := _table(device, system)) is None:
        yield NotReadable(f"the path selector of {device.name}", "the snapshot has no output of `dmsetup table`")
    else:
        selectors = [one for one in (*_BY_LOAD, "round-robin") if re.search(rf"(?<![\w-]){one} ", table)]
        if selectors and "round-robin" not in selectors:
            yield Fine(device.name, selectors[0])
        elif not selectors:
            yield NotReadable(f"the path selector of {device.name}", "its table names none that is known")
        else:
            yield Change(
                device.name,
                "round-robin",
                "service-time",
                command='In /etc/multipath.conf: defaults { path_selector "service-time 0" }. Then: multipathd '
                "reconfigure",
            )


def _table(device: BlockDevice, system: System) -> str | None:
    """The device's line of `dmsetup table`."""
    printed = system.snapshot.printed("dmsetup", "table")
    name = device.text("dm/name")
    if printed is None or not name:
        return None
    return next((line for line in printed.splitlines() if line.startswith(f"{name}:")), None)


RULE = Rule(
    name="multipath-path-selector",
    title="Choose the path by its load and not in turn",
    area="adapter",
    reason="Paths in turn give a slow path as many requests as a fast one, so the slow one sets the pace; service-time "
    "sends each request where it is expected to finish first.",
    risk="With paths of equal speed nothing is gained. Follow the array's vendor where its guide names a selector.",
    sources=(
        MULTIPATH_CONF,
        Source("Linux, dm-service-time", "https://docs.kernel.org/admin-guide/device-mapper/dm-service-time.html"),
    ),
    judge=_judge,
    parameters=("path_selector",),
)
