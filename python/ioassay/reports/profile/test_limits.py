"""What the report of a profile says of limits that runs measured."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ioassay import reports
from ioassay.analysis.profile.measured_limits import MeasuredLimits, StorageNeed
from ioassay.analysis.profile.thresholds import Threshold, Thresholds
from ioassay.profiles.model import Profile
from ioassay.profiles.records.profile import load_profile
from ioassay.reports.profile import ProfileReport
from ioassay.reports.profile.content import Content, assemble
from ioassay.testing.faulty_application import KIB, MS, S, faulty
from ioassay.testing.record_tables import store_record

SOURCE = "nfs: sizes, write, 1 rank"


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return load_profile([store_record(tmp_path_factory.mktemp("faulty") / "record", *faulty())])


@pytest.fixture(scope="module")
def content(profile: Profile) -> Content:
    small = Threshold("small_request_bytes", 64 * KIB, "measured", SOURCE)
    limits = MeasuredLimits(
        thresholds=Thresholds(of_operation={("small_request_bytes", "write"): small}),
        measured=(("write", small),),
        unused=("random order",),
        needs=(StorageNeed("stat", 64_000, MS, 128 * S),),
        elsewhere=("nfs",),
    )
    return assemble(profile, limits)


def test_the_report_names_each_measured_limit_with_its_run_and_what_was_not_measured(content: Content) -> None:
    text = reports.build(ProfileReport(content), "md").decode()
    for part in (
        f"- small_request_bytes of writes: 64 KiB (measured, {SOURCE})",
        "100 % of these requests are smaller than 64 KiB.",
        "100 % of these requests are smaller than 1 MiB.",  # reads: the rule's
        f"- small_request_bytes: 64 KiB (measured, {SOURCE})",
        "- small_request_bytes: 1 MiB (rule, Drishti)",
        "No file of this profile is on the file system that was measured by nfs",
        "Not measured: no random requests beside sequential ones of the same size, so random_share is the rule's.",
        "| stat | 64,000 | 1.00 ms | 64.0 s | 128 s |",
    ):
        assert part in text, part


def test_json_says_of_every_limit_where_it_comes_from(content: Content, profile: Profile) -> None:
    data = json.loads(reports.build(ProfileReport(content), "json"))
    assert {(limit["origin"], limit["about"]) for limit in data["limits"]} == {("rule", None), ("measured", "write")}
    assert data["storage_needs"] == [
        {"operation": "stat", "calls": 64_000, "median_ns": MS, "needed_ns": 64 * S, "spent_ns": 128 * S}
    ]
    assert (data["limits_not_measured"], data["limits_of_other_storage"]) == (["random order"], ["nfs"])
    ruled = json.loads(reports.build(ProfileReport(assemble(profile)), "json"))
    assert len(ruled["limits"]) == len(Thresholds()) - 1
    assert "storage_needs" not in ruled


def test_a_report_without_runs_has_no_measured_limits(profile: Profile) -> None:
    assert "Measured limits" not in reports.build(ProfileReport(assemble(profile)), "md").decode()


def test_a_call_whose_time_is_unknown_has_its_need_beside_nothing(content: Content) -> None:
    assert content.limits is not None
    unknown = replace(content.limits, needs=(StorageNeed("stat", 10, MS, None),))
    text = reports.build(ProfileReport(replace(content, limits=unknown)), "md").decode()
    assert "| stat | 10 | 1.00 ms | 10.0 ms | – |" in text
