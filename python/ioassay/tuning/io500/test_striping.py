"""The striping for the hard tests."""

from __future__ import annotations

import pytest

from ioassay.tuning.io500.facts import SourcedNumber
from ioassay.tuning.io500.striping import LEAST_BYTES, assignments, not_applicable, stripe_bytes, striping

_MIB = 1 << 20
_OF_THE_RULES = 47008 * 10_000_000
"""Bytes of a rank of ior-hard."""


@pytest.mark.parametrize(
    ("file_bytes", "targets", "rpc_bytes", "wanted"),
    [
        (64 * _OF_THE_RULES, 40, None, 4 * _MIB),
        (64 * _OF_THE_RULES, 40, _MIB, _MIB),
        (64 * _OF_THE_RULES, 40, 16 * _MIB, 16 * _MIB),
        (100 * _MIB, 40, None, _MIB // 2),  # 5 stripes on each storage target
        (1, 40, None, LEAST_BYTES),
    ],
)
def test_a_stripe_is_as_large_as_an_rpc_where_the_file_is(
    file_bytes: int, targets: int, rpc_bytes: int | None, wanted: int
) -> None:
    assert stripe_bytes(file_bytes, targets, rpc_bytes) == wanted


def test_the_hard_tests_get_all_storage_targets() -> None:
    entry = striping("/scratch/my dir", SourcedNumber(40, "lfs df"), _OF_THE_RULES, None)
    assert entry.applies
    assert list(map(str, assignments(entry))) == [
        "stripe:/scratch/my dir/count=40",
        "stripe:/scratch/my dir/size=4194304",
    ]
    assert entry.command == "lfs setstripe -c 40 -S 4096k '/scratch/my dir'"
    assert entry.progressive_command == "lfs setstripe -E 1M -c 1 -E -1 -c 40 -S 4096k '/scratch/my dir'"


@pytest.mark.parametrize(("file_system", "reason"), [("xfs", "the target is xfs"), ("", "not known to be Lustre")])
def test_other_file_systems_have_no_striping_to_set(file_system: str, reason: str) -> None:
    entry = not_applicable(file_system)
    assert not entry.applies
    assert reason in entry.why
    assert not assignments(entry)
