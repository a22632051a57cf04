"""Whether all members of an array are set alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ioassay.tuning.choices import chosen
from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule, each
from ioassay.tuning.rules.md.sources import MD_MANUAL, NO_ARRAYS
from ioassay.tuning.rules.sources import LINUX_LARGE_IO
from ioassay.tuning.system import System
from ioassay.tuning.system.block import BlockDevice
from ioassay.tuning.system.md import MdArray, md_arrays

_SETTABLE = ("scheduler", "nr_requests", "max_sectors_kb", "read_ahead_kb")
"""The scheduler first, because it sets nr_requests."""
_FIXED = ("rotational", "write_cache", "logical_block_size")


def _judge(system: System) -> Iterator[Judgement]:
    return each(md_arrays(system.concerned()), _array, otherwise=NO_ARRAYS)


def _array(array: MdArray) -> Iterator[Judgement]:
    members = array.device.below
    if len(members) < 2:
        yield NotApplicable(f"the members of {array.name} are not known")
        return
    differs = False
    for attribute in (*_SETTABLE, *_FIXED):
        values = {member.name: _value(member, attribute) for member in members}
        usual = Counter(value for value in values.values() if value).most_common(1)
        odd = [name for name, value in values.items() if usual and value and value != usual[0][0]]
        if odd:
            differs = True
            text = ", ".join(f"{name}: {values[name]}" for name in odd)
            assignments = tuple(Assignment(f"block:{name}/{attribute}", usual[0][0]) for name in odd)
            yield Change(
                f"{array.name} {attribute}",
                text,
                usual[0][0],
                "as most members have it",
                assignments if attribute in _SETTABLE else (),
                "" if attribute in _SETTABLE else f"replace {', '.join(odd)} by a disk like the others",
            )
    if not differs:
        yield Fine(array.name, f"{len(members)} members alike")


def _value(member: BlockDevice, attribute: str) -> str:
    return chosen(member.text(f"queue/{attribute}") or "")


RULE = Rule(
    name="md-equal-members",
    title="Set all members of an array alike",
    area="MD RAID",
    reason="A stripe is complete when its slowest member is; one member with another queue, cache or kind of medium "
    "slows the whole array.",
    risk="None where most members are set as they should be: see the other rules about their queues. A member behind "
    "a different adapter may need its own value of max_sectors_kb.",
    sources=(LINUX_LARGE_IO, MD_MANUAL),
    judge=_judge,
    parameters=("scheduler", "nr_requests", "max_sectors_kb", "read_ahead_kb"),
)
