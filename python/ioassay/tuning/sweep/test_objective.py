from __future__ import annotations

import polars as pl

from ioassay.testing.builder import RunBuilder
from ioassay.tuning.sweep.objective import remedies, why_not_complete


def test_the_failure_of_a_run_is_a_clause_that_can_end_a_sentence() -> None:
    run = (
        RunBuilder()
        .workload("w")
        .clients(1, 2)
        .stop_after(0, "failed", "No space left on device (ENOSPC); measure with less data.")
        .build()
    )
    assert why_not_complete(run) == "No space left on device (ENOSPC); measure with less data"


def test_a_doubt_that_voids_a_comparison_says_what_it_found_beside_its_remedy() -> None:
    doubts = pl.DataFrame(
        {
            "kind": ["cache-unknown", "disturbed", "cache-unknown"],
            "message": ["the device is backed by the file a.img", "by other processes", "by the file b.img"],
            "remedy": ["empty each with a hook", "keep other work off the nodes", "empty each with a hook"],
        }
    )
    assert remedies(doubts) == {
        "cache-unknown": "empty each with a hook; the device is backed by the file a.img",
        "disturbed": "keep other work off the nodes",
    }
