from __future__ import annotations

import json
from importlib import resources
from typing import Any

import pytest

from ioassay.analysis.doubts import grouped
from ioassay.reports.run import caveats
from ioassay.store.doubt_kinds import DOUBT_KINDS
from ioassay.store.measurement import Measurement
from ioassay.testing.builder import RunBuilder


def test_every_kind_of_doubt_has_words_of_its_own() -> None:
    texts = [caveats.words(kind) for kind in DOUBT_KINDS]
    assert not set(texts) & {kind.replace("-", " ") for kind in DOUBT_KINDS}
    assert len(set(texts)) == len(texts)


def _evidence_of_the_protocol() -> dict[str, dict[str, Any]]:
    """Plausible evidence for each kind of the engine, from the schema of its events."""
    schema = json.loads(resources.files("ioassay").joinpath("schemas", "event.json").read_bytes())
    values = {"integer": 2_000_000_000, "number": 2.0, "string": "tmpfs"}
    listed = {"hosts": ["n1"], "by": [{"what": "steal", "host": "n1", "amount": 1, "of": 2}]}
    return {
        kind["properties"]["kind"]["const"]: {
            name: listed.get(name) or values[field["type"]]
            for name, field in kind["properties"].get("evidence", {}).get("properties", {}).items()
        }
        for kind in schema["$defs"]["Doubt"]["oneOf"]
    }


@pytest.mark.parametrize("kind", caveats._WITH_EVIDENCE)
def test_evidence_says_more_than_the_kind_alone(kind: str) -> None:
    evidence = json.dumps(_evidence_of_the_protocol()[kind])
    assert caveats.words(kind, evidence) != caveats.words(kind)


def test_evidence_in_another_form_is_left_out_of_the_words() -> None:
    assert caveats.words("short-phase", '{"seconds": 1}') == "phase too short"
    assert caveats.words("imbalance", '{"least_operations": 0, "most_operations": 9}') == "ranks did unequal work"
    assert caveats.words("cosmic-rays", '{"count": 1}') == "cosmic rays"


def test_a_decisive_doubt_stands_beside_the_number_with_how_many_of_its_measurements_it_concerns() -> None:
    builder = RunBuilder().workload("w").clients(1).repetitions(3)
    builder.doubt("w-c1-r2", "read", "short-phase").doubt("w-c1-r2", "read", "start-spread")
    builder.doubt("w-c1-r3", "read", "short-phase")
    run = builder.build()
    doubts = grouped(run.doubts, run.measurements)
    reads = [Measurement(f"w-c1-r{number}", "read", "read", "read") for number in (1, 2, 3)]
    assert caveats.beside_number(doubts, reads) == ("phase too short (2 of 3 measurements)",)
    assert caveats.beside_number(doubts, reads[1:2]) == ("phase too short",)
    assert caveats.beside_number(doubts, reads[:1]) == ()


def test_a_doubt_about_a_minority_of_repetitions_does_not_stand_beside_their_median_unless_they_are_invalid() -> None:
    builder = RunBuilder().workload("w").clients(1).repetitions(3).doubt("w-c1-r2", "read", "short-phase")
    builder.doubt("w-c1-r3", "read", "failed", invalidates=True)
    run = builder.build()
    doubts = grouped(run.doubts, run.measurements)
    reads = [Measurement(f"w-c1-r{number}", "read", "read", "read") for number in (1, 2, 3)]
    assert caveats.beside_number(doubts, reads) == ("the phase failed (1 of 3 measurements)",)


@pytest.mark.parametrize(
    ("spread_ns", "words"),
    [(107_000, ()), (128_000_000, ("ranks finished 128 ms apart, 25 % of the phase",))],
)
def test_ranks_that_finished_apart_by_no_more_than_a_time_slice_say_nothing_of_storage(
    spread_ns: int, words: tuple[str, ...]
) -> None:
    evidence = {"spread_ns": spread_ns, "duration_ns": 4 * spread_ns, "slowest_rank": 1}
    run = RunBuilder().workload("w").clients(1).doubt("w-c1-r1", "read", "finish-spread", evidence=evidence).build()
    doubts = grouped(run.doubts, run.measurements)
    assert caveats.beside_number(doubts, [Measurement("w-c1-r1", "read", "read", "read")]) == words
    assert doubts.groups[0].weight == ("decisive" if words else "minor")


def test_doubts_about_all_numbers_are_reported_once_and_beside_none() -> None:
    builder = RunBuilder().workload("v").workload("w").clients(1, 2)
    for workload in "vw":
        for clients in (1, 2):
            builder.doubt(f"{workload}-c{clients}-r1", "read", "cache-unknown", remedy="know it")
        builder.doubt(f"{workload}-c2-r1", "write", "shared-node", remedy="")
    run = builder.build()
    doubts = grouped(run.doubts, run.measurements)
    assert caveats.common(doubts) == (
        ("4 of 8 measurements, every read: what caches held is unknown", "know it"),
        ("2 of 8 measurements: several clients on one node", ""),
    )
    assert caveats.beside_number(doubts, [Measurement("v-c1-r1", "read", "read", "read")]) == ()
