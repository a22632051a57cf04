"""Whether all paths to a device are up."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, Rule, Source, each, missing
from ioassay.tuning.system import System
from ioassay.tuning.system.block import BlockDevice

_PATH = re.compile(r"\d+:\d+:\d+:\d+\s+(?P<name>\S+)\s+\d+:\d+\s+(?P<states>.+)$")
"""`|- 1:0:0:1 sdb 8:16 active ready running`: what the device mapper, the checker and the kernel say of it."""
_GOOD = ({"active", "undef"}, {"ready", "ghost", "undef"}, {"running", "unknown"})


def _judge(system: System) -> Iterator[Judgement]:
    return each(
        [device for device in system.concerned() if device.kind == "multipath"],
        lambda device: _device(device, system),
        otherwise="there is no multipath device",
    )


def _device(device: BlockDevice, system: System) -> Iterator[Judgement]:
    states = _states(system.snapshot.printed("multipath", "-ll") or "", device.name)
    if not states:
        yield missing(f"the paths of {device.name} in multipath -ll")
        return
    bad = [
        f"{name}: {' '.join(words)}"
        for name, words in states.items()
        if any(word not in good for word, good in zip(words, _GOOD, strict=False))
    ]
    if bad:
        because = "the other paths carry its requests, and what is measured is not what all paths can do"
        command = "multipathd show paths; look at cable, switch and dmesg"
        yield Change(device.name, ", ".join(bad), f"{len(states)} paths up", because, command=command)
    else:
        yield Fine(device.name, f"{len(states)} paths up")


def _states(printed: str, name: str) -> dict[str, list[str]]:
    """The paths of a device, `dm-3`, with the three states of each."""
    found: dict[str, list[str]] = {}
    is_own = False
    for line in printed.splitlines():
        if re.match(r"\S", line) and (header := re.search(r"(?<!\S)(dm-\d+)(?!\S)", line)):
            is_own = header[1] == name
        elif is_own and (path := _PATH.search(line)):
            found[path["name"]] = path["states"].split()[:3]
    return found


RULE = Rule(
    name="multipath-paths",
    title="Measure multipath devices with all their paths",
    area="adapter",
    reason="A failed path takes its bandwidth with it, and requests that were on it were repeated after a timeout.",
    risk="None: repair the path.",
    sources=(
        Source(
            "multipath-tools 0.14, multipath(8)",
            "https://github.com/opensvc/multipath-tools/blob/0.14.3/multipath/multipath.8.in",
        ),
    ),
    judge=_judge,
    parameters=("paths",),
)
