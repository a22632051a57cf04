from __future__ import annotations

import dataclasses

import pytest

from ioassay.testing.rule_judgements import judged, only
from ioassay.testing.snapshots import disk
from ioassay.testing.tuned_systems import MD3460, MD3460_TUNED, MD3460_UNTUNED
from ioassay.tuning.rule import Change, Fine, NotApplicable, NotReadable, Rule
from ioassay.tuning.rules import raid
from ioassay.tuning.rules.raid import (
    RAID_CACHE_BLOCK,
    RAID_CACHE_FLUSH,
    RAID_READ_CACHE,
    RAID_SEGMENT_SIZE,
    RAID_WRITE_CACHE,
)
from ioassay.tuning.system import Array

_CACHE = (RAID_CACHE_BLOCK, RAID_CACHE_FLUSH, RAID_WRITE_CACHE, RAID_READ_CACHE)
_LUN = disk("sda", vendor="DELL", model="MD34xx")


@pytest.mark.parametrize("rule", raid.RULES, ids=lambda rule: rule.name)
def test_settings_of_a_controller_are_unknown_without_an_array(rule: Rule) -> None:
    unknown = only(judged(rule, _LUN), NotReadable)
    assert "sda" in unknown.what
    assert "--raid" in unknown.reason
    assert "--raid" in only(judged(rule, disk("sda")), NotApplicable).why


@pytest.mark.parametrize("rule", _CACHE, ids=lambda rule: rule.name)
def test_settings_the_user_did_not_give_are_asked_for(rule: Rule) -> None:
    assert "--raid" in only(judged(rule, _LUN, MD3460), NotReadable).reason


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        (RAID_CACHE_BLOCK, "set storageArray cacheBlockSize=32;"),
        (RAID_CACHE_FLUSH, "set storageArray cacheFlushStart=98 cacheFlushStop=98;"),
        (RAID_WRITE_CACHE, 'set virtualDisk ["NAME"] mirrorCacheEnabled=TRUE;'),
        (RAID_READ_CACHE, 'set virtualDisk ["NAME"] readCacheEnabled=FALSE;'),
    ],
)
def test_a_bad_cache_setting_comes_with_the_command_for_the_controller(rule: Rule, command: str) -> None:
    change = only(judged(rule, _LUN, MD3460_UNTUNED), Change)
    assert command in change.command
    assert not change.assignments
    only(judged(rule, _LUN, MD3460_TUNED), Fine)


def test_a_write_cache_that_is_off_is_switched_on_with_its_mirror() -> None:
    change = only(judged(RAID_WRITE_CACHE, _LUN, dataclasses.replace(MD3460, write_cache=False)), Change)
    assert "writeCacheEnabled=TRUE mirrorCacheEnabled=TRUE" in change.command


def test_an_unmirrored_write_cache_is_a_danger_to_data() -> None:
    change = only(
        judged(RAID_WRITE_CACHE, _LUN, dataclasses.replace(MD3460, write_cache=True, mirroring=False)), Change
    )
    assert "lost" in change.because


@pytest.mark.parametrize(
    ("array", "wanted"),
    [
        (Array(8, 64 << 10, 2), ""),  # two whole stripes
        (Array(8, 128 << 10, 2), ""),
        (Array(9, 128 << 10, 0), ""),  # without parity nothing is read back
        (Array(8, 512 << 10, 2), "8 data disks × 128 KiB = 1 MiB"),
        (Array(4, 512 << 10, 1), "4 data disks × 256 KiB = 1 MiB"),
        (Array(9, 128 << 10, 1), "a power of two of data disks: 4, 8 or 16"),
    ],
)
def test_a_stripe_divides_a_request_of_1_mib(array: Array, wanted: str) -> None:
    judgement = only(judged(RAID_SEGMENT_SIZE, _LUN, array), Change if wanted else Fine)
    if isinstance(judgement, Change):
        assert judgement.wanted == wanted
