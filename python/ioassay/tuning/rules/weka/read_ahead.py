"""How far a client of WEKA reads ahead."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, Rule, each, missing
from ioassay.tuning.rules.weka.sources import NO_WEKA, WEKA_MODES, WEKA_MOUNTING, weka_mounts
from ioassay.tuning.system import System
from ioassay.tuning.system.mounts import Mount
from ioassay.tuning.system.numbers import is_whole

_DEFAULT_KB = 32768


def _judge(system: System) -> Iterator[Judgement]:
    return each(weka_mounts(system), _mount, otherwise=NO_WEKA)


def _mount(mount: Mount) -> Iterator[Judgement]:
    now = mount.options.get("readahead_kb", "")
    if not is_whole(now):
        yield missing(f"readahead_kb of {mount.point}")
    elif int(now) < _DEFAULT_KB:
        because = "sequential readers of large files wait for the network more often than by default"
        command = f"mount -o remount,readahead_kb={_DEFAULT_KB} {mount.point}"
        yield Change(mount.point, f"{now} KiB", f"{_DEFAULT_KB} KiB", because, command=command)
    else:
        yield Fine(mount.point, f"{now} KiB")


RULE = Rule(
    name="weka-read-ahead",
    title="Read at least 32 MiB ahead on WEKA",
    area="WEKA",
    reason="More read-ahead is better for sequential reads of large files; 32768 KiB is the default.",
    risk="Random reads of small blocks fetch data that nobody uses: lower it for them.",
    sources=(WEKA_MOUNTING, WEKA_MODES),
    judge=_judge,
    parameters=("readahead_kb",),
)
