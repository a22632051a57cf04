from __future__ import annotations

from ioassay.systems.claims import check
from ioassay.systems.formulas import recomputed, says
from ioassay.systems.library import builtin_systems


def test_a_recomputed_claim_is_shown_with_a_digit_more_than_was_said() -> None:
    known = builtin_systems()
    claims = {checked_claim.claim.id: checked_claim for checked_claim in check(known["isilon-f800"], known)}
    ratio, better = claims["random-read-times-lustre"], claims["sequential-write-better-than-h600"]
    assert recomputed(ratio) == "140K IOPS ÷ 20K IOPS = 7x (6.8 to 7.2)"
    assert says(better.claim) == "up to 20%"
    assert recomputed(better) == "~8GB/sec ÷ ~7.4GB/sec − 1 = 8.1% (-8.9 to 27.8)"
