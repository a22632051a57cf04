from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from ioassay.store import schema
from ioassay.store.document import CaseEntry
from ioassay.store.ingest import case_tables, empty_tables, joined_tables

Events = Callable[..., list[Any]]
MIB = 1 << 20


def test_tables_have_exactly_the_columns_of_the_schema(case: CaseEntry, events: Events) -> None:
    for tables in (empty_tables(), case_tables(case, events(case.id)), joined_tables([])):
        assert {name: table.schema for name, table in tables.items()} == schema.TABLES


def test_ranks_and_samples_add_up_to_the_measurement(case: CaseEntry, events: Events) -> None:
    tables = case_tables(case, events(case.id))
    for name in ("measurements", "ranks", "samples"):
        assert tables[name]["bytes"].sum() == 6 * MIB, name
        assert tables[name]["operations"].sum() == 6, name
    assert tables["latencies"]["count"].sum() == 6


def test_first_bytes_are_kept_where_the_engine_tells_them(case: CaseEntry, events: Events) -> None:
    case_events = events(case.id)
    assert case_tables(case, case_events)["first_bytes"]["count"].to_list() == [6]
    del case_events[1]["first_byte"]
    assert case_tables(case, case_events)["first_bytes"].is_empty()


def test_rates_are_amounts_over_the_time_that_belongs_to_them(case: CaseEntry, events: Events) -> None:
    row = case_tables(case, events(case.id))["measurements"].row(0, named=True)
    assert row["rate_bytes_per_s"] == 3 * MIB
    assert row["rate_operations_per_s"] == 3
    assert row["first_finished_rate_bytes_per_s"] == 4 * MIB
    assert row["short_transfers"] == 1
    assert (row["stonewall_rate_bytes_per_s"], row["stonewall_rate_operations_per_s"]) == (4 * MIB, 4)
    assert row["first_finished_rate_operations_per_s"] == 4


def test_a_phase_without_a_stonewall_has_none(case: CaseEntry, events: Events) -> None:
    case_events = events(case.id)
    case_events[1]["stonewall"] = None
    for rank in case_events[1]["ranks"]:
        rank["at_stonewall"] = None
    tables = case_tables(case, case_events)
    row = tables["measurements"].row(0, named=True)
    assert [value for name, value in row.items() if name.startswith("stonewall")] == [None] * 7
    assert tables["ranks"]["stonewall_bytes"].to_list() == [None, None]


def test_optional_fields_of_an_event_become_null(case: CaseEntry, events: Events) -> None:
    case_events = events(case.id)
    for key in ("stonewall", "matched", "resident_bytes_before"):
        case_events[1].pop(key, None)
    for rank in case_events[1]["ranks"]:
        rank.pop("at_stonewall")
        rank["usage"] = {key: value for key, value in rank["usage"].items() if not key.startswith("device_")}
    tables = case_tables(case, case_events)
    row = tables["measurements"].row(0, named=True)
    null = ("stonewall_bytes", "matched", "resident_bytes_before", "settled_ns")
    assert [row[name] for name in null] == [None] * len(null)
    assert tables["ranks"]["waited_ns"].to_list() == [None] * 2
    assert tables["ranks"]["stonewall_bytes"].to_list() == tables["ranks"]["device_write_bytes"].to_list() == [None] * 2


def test_kernel_time_is_kept_for_each_rank(case: CaseEntry, events: Events) -> None:
    rows = case_tables(case, events(case.id))["ranks"]
    assert rows.select("user_ns", "system_ns", "voluntary_switches", "device_read_bytes").row(0) == (5, 7, 3, None)


def test_the_wait_of_a_phase_for_earlier_writes_is_kept(case: CaseEntry, events: Events) -> None:
    case_events = events(case.id)
    case_events[1]["settled"] = {"waited_ns": 7, "dirty_bytes": None}
    assert case_tables(case, case_events)["measurements"]["settled_ns"].to_list()[0] == 7


def test_a_phase_that_took_no_time_has_no_rate(case: CaseEntry, events: Events) -> None:
    cut = events(case.id)
    cut[1] |= {"duration_ns": 0, "first_finished_ns": 0}
    row = case_tables(case, cut)["measurements"].row(0, named=True)
    assert row["rate_bytes_per_s"] is None
    assert row["first_finished_rate_bytes_per_s"] is None


@pytest.mark.parametrize(
    ("complete", "invalidates", "valid"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_a_measurement_is_valid_if_it_is_complete_and_no_doubt_invalidates_it(
    case: CaseEntry, events: Events, complete: bool, invalidates: bool, valid: bool
) -> None:
    case_events = events(case.id)
    case_events[1]["complete"] = complete
    case_events[1]["doubts"][0]["invalidates"] = invalidates
    assert case_tables(case, case_events)["measurements"]["valid"].to_list() == [valid]


def test_evidence_is_compact_json_with_sorted_keys(case: CaseEntry, events: Events) -> None:
    doubts = case_tables(case, events(case.id))["doubts"]
    assert doubts["evidence"].to_list() == ['{"duration_ns":2,"wanted_ns":9}']


def test_a_rank_carries_the_name_of_its_node_and_a_sample_its_number(case: CaseEntry, events: Events) -> None:
    tables = case_tables(case, events(case.id))
    assert tables["ranks"]["node"].to_list() == ["n1", "n1"]
    assert tables["samples"].filter(pl.col("rank") == 1)["sample"].to_list() == [0, 1, 2]


def test_a_sample_says_how_much_of_it_its_rank_was_suspended(case: CaseEntry, events: Events) -> None:
    case_events = events(case.id)
    interval = case_events[1]["sample_interval_ns"]
    case_events[1]["ranks"][1]["suspended"] = [
        {"begin_ns": interval // 2, "end_ns": interval + 7},
        {"begin_ns": interval + 8, "end_ns": interval + 10},
    ]
    samples = case_tables(case, case_events)["samples"]
    by_rank = {rank: samples.filter(rank=rank)["suspended_ns"].to_list() for rank in (0, 1)}
    assert by_rank == {0: [0, 0], 1: [interval - interval // 2, 9, 0]}


def test_a_phase_that_stopped_before_its_first_sample_has_a_row_but_no_samples(case: CaseEntry, events: Events) -> None:
    case_events = events(case.id)
    case_events[1]["latencies"] = {"lowest_ns": [], "highest_ns": [], "count": []}
    for rank in case_events[1]["ranks"]:
        rank |= {"sample_bytes": [], "sample_operations": []}
    tables = case_tables(case, case_events)
    assert tables["measurements"].height == 1
    assert tables["samples"].height == tables["latencies"].height == 0


def test_cases_follow_one_another_in_the_order_given(case: CaseEntry, events: Events) -> None:
    other = case.model_copy(update={"id": "a-later-one"})
    joined = joined_tables([case_tables(case, events(case.id)), case_tables(other, events(other.id))])
    assert joined["measurements"]["case"].to_list() == ["seq-1", "a-later-one"]


def test_numbers_beyond_what_a_column_holds_damage_no_run(case: CaseEntry, events: Events) -> None:
    case_events = events(case.id)
    most = 2**64 - 1
    case_events[1]["resident_bytes_before"] = most
    case_events[1]["ranks"][0]["usage"]["device_read_bytes"] = most
    case_events[1]["latencies"]["highest_ns"][-1] = most
    tables = case_tables(case, case_events)
    held = 2**63 - 1
    assert tables["measurements"]["resident_bytes_before"].to_list() == [held]
    assert tables["ranks"]["device_read_bytes"][0] == held
    assert tables["latencies"]["highest_ns"][-1] == held
