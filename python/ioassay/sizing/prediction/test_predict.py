from __future__ import annotations

from fractions import Fraction

import pytest

from ioassay.errors import UsageError
from ioassay.sizing.arithmetic import Origin, Value
from ioassay.sizing.prediction import curve
from ioassay.sizing.prediction.conftest import Predicts
from ioassay.sizing.prediction.model import Predicted, Prediction
from ioassay.systems.amounts import BYTES_PER_S, Interval
from ioassay.testing.predicted_study import CATALOGUE, CONFIGURATION, STUDY


def series(prediction: Prediction, title: str) -> tuple[Predicted, ...]:
    return next(points for name, points in prediction.series if name.title == title)


def known(prediction: Prediction, title: str) -> list[Value]:
    return [point.value for point in series(prediction, title) if point.value is not None]


def test_few_clients_are_limited_by_their_links_and_many_by_the_storage(predicts: Predicts) -> None:
    single, eight = series(predicts(), "Sequential, write")
    assert (single.limit, eight.limit) == ("link of 1 client", "RAID controllers")
    first, last = known(predicts(), "Sequential, write")
    assert float(first.interval.high) == 2e9
    assert float(last.interval.high) == pytest.approx(8e9, rel=1e-3)
    assert first.nominal < last.nominal


def test_the_least_is_the_balanced_job_bound(predicts: Predicts) -> None:
    """One rank: a byte takes 1/2 s/GB on the link and 1 s/GB in one of 8 groups, which do 8 GB/s together."""
    first, last = known(predicts(), "Sequential, write")
    assert float(first.interval.low) == pytest.approx(1e9 / (1 / 2 + 1), rel=1e-3)
    assert float(last.interval.low) == pytest.approx(8e9 / (1 / 2 + 1 + 7 / 8), rel=1e-3)


def test_small_random_reads_wait_for_one_disk_each(predicts: Predicts) -> None:
    """80 disks do 8000 IOPS: as many ranks without reading ahead do no more than 100 each."""
    single, eight = known(predicts(), "Random, read")
    assert float(single.interval.high) == pytest.approx(100, rel=0.01)
    assert float(eight.interval.high) == pytest.approx(800, rel=0.01)
    assert eight.dimension.unit == "operations/s"


FLASH = CATALOGUE.replace("media: hdd", "media: ssd")
LIMITED = CATALOGUE.replace(
    "    measured:\n",
    "    measured:\n      random_read: {rate: {value: 2000 IOPS, assumed: round}, limited_by: servers}\n",
)


@pytest.mark.parametrize(("catalogue", "most"), [(FLASH, 8000), (LIMITED, 4000)])
def test_a_lone_request_may_be_faster_than_its_share_where_disks_do_not_limit(
    predicts: Predicts, catalogue: str, most: int
) -> None:
    single, _ = known(predicts(catalogue=catalogue), "Random, read")
    assert float(single.interval.high) == pytest.approx(most, rel=0.01)
    assert single.nominal == pytest.approx(most / 80, rel=0.01)


def test_a_prediction_without_ground_says_so(predicts: Predicts) -> None:
    prediction = predicts()
    shared = series(prediction, "One file, write")
    assert {point.value for point in shared} == {None}
    assert shared[0].why_not.startswith("N-1: nothing in the catalogue tells what locks")
    assert series(prediction, "Random, write")[0].why_not.startswith("The catalogue has no random write rate")
    small = predicts(STUDY.replace("sequential, transfer: 1MiB", "sequential, transfer: 64KiB"))
    assert "smaller than the 1 MiB of a stripe" in series(small, "Sequential, write")[0].why_not


def test_a_study_that_cannot_be_predicted_is_refused_with_the_reasons(predicts: Predicts) -> None:
    with pytest.raises(UsageError, match=r"Nothing of the study sweep can be predicted on two\. N-1: nothing"):
        predicts(STUDY.replace("layout: N-N", "layout: N-1"))


def test_more_clients_than_there_are_have_no_prediction(predicts: Predicts) -> None:
    single, eight = series(predicts(configuration=CONFIGURATION.replace("count: 8,", "count: 4,")), "Sequential, read")
    assert single.value is not None
    assert eight.why_not == "The configuration has 4 clients."


def test_a_prediction_without_clients_states_that_only_the_storage_limits_it(predicts: Predicts) -> None:
    prediction = predicts(configuration=CONFIGURATION[: CONFIGURATION.index("    clients:")])
    assert {point.limit for point in series(prediction, "Sequential, write")} == {"RAID controllers"}
    assert prediction.remarks[0].startswith("The configuration has no `clients`")


def test_files_that_fit_into_the_servers_have_a_note(predicts: Predicts) -> None:
    assert series(predicts(), "Sequential, read")[0].notes == ()
    (note,) = series(predicts(STUDY.replace("total: 8GiB", "total: 1GiB")), "Sequential, read")[0].notes
    assert note.startswith("The files fit into the servers' memory of 2 GiB")


def test_every_assumption_is_found_below_a_prediction(predicts: Predicts) -> None:
    assumed = {assumption.name: why for assumption, why in predicts().assumptions}
    assert assumed["link of a client"] == "round"
    assert "max_rpcs_in_flight" in assumed["requests in flight of a rank"]


METADATA = """
name: names
title: Files without content
question: How many names a second?
clients: [1, 8]
workloads:
  names:
    title: Names
    trees: {tree: {items: 100}}
    steps: [create, stat]
"""


def test_metadata_is_at_most_what_the_modules_do(predicts: Predicts) -> None:
    prediction = predicts(METADATA)
    first, _ = series(prediction, "Names, create")
    assert first.value is not None
    assert first.value.interval.low == 0
    assert float(first.value.interval.high) == pytest.approx(10_000, rel=1e-3)
    assert first.notes == ("The catalogue does not say how many processes reached this rate; fewer do less.",)
    assert series(prediction, "Names, stat")[0].why_not == "The catalogue has no stat rate of this configuration."


def measured(rate: float) -> Value:
    middle = Fraction(rate)
    return Value("rate", Interval(middle * 9 / 10, middle, middle * 11 / 10), BYTES_PER_S, Origin("measured", "run"))


CURVE = ((1, measured(1e9)), (2, measured(2e9)), (8, measured(4e9)))


def spot_with(predicts: Predicts, ranks: int) -> Predicted:
    return series(predicts(STUDY.replace("clients: [1, 8]", f"clients: [1, {ranks}]")), "Sequential, write")[1]


def test_a_measured_curve_is_scaled_in_ranks_and_rate(predicts: Predicts) -> None:
    """Two bricks with 8 ranks do twice what one did with 4, which lies a third of the way from 2 to 8."""
    rate = curve.expected(CURVE, spot_with(predicts, 8).spot, measured(8e9))
    assert rate is not None
    assert rate.nominal == pytest.approx(2 * (2e9 + 2e9 / 3))
    assert float(rate.interval.low) == pytest.approx(0.9 * rate.nominal)


@pytest.mark.parametrize("ranks", [32, 64])
def test_beyond_what_was_measured_a_curve_says_nothing(predicts: Predicts, ranks: int) -> None:
    assert curve.expected(CURVE, spot_with(predicts, ranks).spot, measured(8e9)) is None
    assert curve.expected((), spot_with(predicts, ranks).spot, measured(8e9)) is None


@pytest.mark.parametrize("clients", [1, 3, 64, 1000])
@pytest.mark.parametrize("value", ["4 GB/s", "0.1 GB/s", "900 GB/s"])
def test_the_expected_rate_lies_in_the_range(predicts: Predicts, clients: int, value: str) -> None:
    many = CONFIGURATION.replace("count: 8,", "count: 1000,")
    study = STUDY.replace("clients: [1, 8]", f"clients: [{clients}]").replace("total: 8GiB", "per_rank: 1GiB")
    prediction = predicts(study, many, CATALOGUE.replace("4.000 GB/s", value))
    for point in prediction.points:
        if point.value is not None:
            assert point.value.interval.low <= point.value.interval.nominal <= point.value.interval.high
