from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from ioassay.errors import CannotRun
from ioassay.execution.interruption import Interruption
from ioassay.store.loaded import LoadedRun
from ioassay.store.states import RunState
from ioassay.store.sweep_directory import SweepDirectory
from ioassay.store.sweep_document import ConstraintEntry, ObjectiveEntry, SweepDocument
from ioassay.testing.artificial_device import ArtificialDevice, sweep_document
from ioassay.tuning.settings import CannotSet
from ioassay.tuning.sweep import objective
from ioassay.tuning.sweep.answer import Answer, answer
from ioassay.tuning.sweep.loop import Loop
from ioassay.tuning.sweep.trials import trials

_SIZES = ("64", "128", "256", "512", "1024")
_DEPTHS = ("1", "8", "64")
_FEW = {"size": ("128", "512", "1024"), "depth": ("1", "8")}
"""A grid of few points, for what does not depend on how many there are."""
_TODAY = {"size": "128", "depth": "8"}


def _prefers_512(values: Mapping[str, str]) -> float:
    """Best at 512 with any depth but 1."""
    index = _SIZES.index(values["size"])
    return 1e9 * (0.3 + 0.7 / (1 + abs(index - 3))) * (0.9 if values["depth"] == "1" else 1.0)


def _document(**changed: object) -> SweepDocument:
    return sweep_document(_FEW, _TODAY, **changed)


def _document_of_many_points(**changed: object) -> SweepDocument:
    return sweep_document({"size": _SIZES, "depth": _DEPTHS}, _TODAY, **changed)


def _swept(path: Path, device: ArtificialDevice, document: SweepDocument | None = None) -> Answer:
    directory = SweepDirectory.create(path, document) if document else SweepDirectory.reopen(path)
    with directory:
        Loop(directory, device, device, lambda line: None, Interruption()).run()
        return answer(directory.document)


def test_the_optimum_of_a_grid_is_found_and_confirmed_with_fresh_pairs(tmp_path: Path) -> None:
    device = ArtificialDevice(_prefers_512, _TODAY)
    swept = _swept(tmp_path / "sweep", device, _document_of_many_points())
    assert swept.verdict == "better"
    assert swept.confirmed is not None
    assert swept.confirmed.values["size"] == "512"
    assert swept.confirmed.gain is not None
    truth = _prefers_512({"size": "512", "depth": "8"}) / _prefers_512(_TODAY)
    assert swept.confirmed.gain.low < truth < swept.confirmed.gain.high
    assert {measurement.run for measurement in swept.confirmed.measurements}.isdisjoint(
        measurement.run for measurement in (swept.best.measurements if swept.best else [])
    )


def test_a_parameter_without_effect_is_not_recommended(tmp_path: Path) -> None:
    device = ArtificialDevice(_prefers_512, _TODAY, noise=0.02, seed=4)
    swept = _swept(tmp_path / "sweep", device, _document_of_many_points())
    assert swept.recommended == {"size": "512"}
    assert {contribution.name: contribution.matters for contribution in swept.contributions} == {
        "size": True,
        "depth": False,
    }


def test_a_sweep_whose_measurements_all_carry_a_doubt_that_voids_them_ends_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    observe = objective.observe
    monkeypatch.setattr(
        objective, "observe", lambda run, of: replace(observe(run, of), doubts={"device-moved-less": "use direct I/O"})
    )
    device = ArtificialDevice(_prefers_512, _TODAY)
    swept = _swept(tmp_path / "sweep", device, _document())
    assert (swept.verdict, swept.recommended) == ("withheld", {})
    assert swept.document.state == "complete"
    assert len(swept.document.measurements) == 6  # three pairs of the first point


def test_a_constraint_whose_measurements_memory_gave_withholds_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    observe = objective.observe

    def doubted(run: LoadedRun, of: ObjectiveEntry | ConstraintEntry) -> objective.Observed:
        observed = observe(run, of)
        return (
            replace(observed, doubts={"cache-resident": "drop caches"}) if isinstance(of, ConstraintEntry) else observed
        )

    monkeypatch.setattr(objective, "observe", doubted)
    limit = ConstraintEntry(phase="write", least_share=0.5)
    device = ArtificialDevice(_prefers_512, _TODAY)
    swept = _swept(tmp_path / "sweep", device, _document(constraints=[limit]))
    assert (swept.verdict, swept.recommended, swept.remedies) == ("withheld", {}, ["drop caches"])
    assert len({measurement.trial for measurement in swept.document.measurements}) == 1


class _Refusing(ArtificialDevice):
    """Does not take the size 1024."""

    def switch(self, values: Mapping[str, str]) -> None:
        if values["size"] == "1024":
            raise CannotSet("sys:size: asked 1024, the kernel made it 512.")
        super().switch(values)


def test_a_value_that_a_setting_refuses_costs_its_points_and_not_the_sweep(tmp_path: Path) -> None:
    swept = _swept(tmp_path / "sweep", _Refusing(_prefers_512, _TODAY), _document())
    assert swept.verdict == "better"
    assert swept.recommended["size"] == "512"
    assert [refusal.point["size"] for refusal in swept.document.refused] == ["1024", "1024"]
    assert swept.document.refused[0].why == "sys:size: asked 1024, the kernel made it 512."
    assert _swept(tmp_path / "sweep", _Refusing(_prefers_512, _TODAY)).document.refused == swept.document.refused


def test_a_sweep_reports_that_every_value_is_refused(tmp_path: Path) -> None:
    document = sweep_document({"size": ("1024",)}, {"size": "128"})
    with pytest.raises(CannotRun, match="the kernel made it 512"):
        _swept(tmp_path / "sweep", _Refusing(_prefers_512, {"size": "128", "depth": "8"}), document)


def test_no_difference_is_an_answer_where_no_parameter_matters(tmp_path: Path) -> None:
    device = ArtificialDevice(lambda values: 1e9, _TODAY, noise=0.05, seed=2)
    swept = _swept(tmp_path / "sweep", device, _document())
    assert swept.verdict in ("no difference", "nothing better")
    assert swept.recommended == {}


def test_a_device_that_gets_slower_all_the_time_does_not_mislead_it(tmp_path: Path) -> None:
    device = ArtificialDevice(lambda values: 1e9, _TODAY, noise=0.01, drift=0.02)
    swept = _swept(tmp_path / "sweep", device, _document())
    assert swept.recommended == {}


def test_todays_settings_alternate_with_each_point(tmp_path: Path) -> None:
    device = ArtificialDevice(_prefers_512, _TODAY)
    swept = _swept(tmp_path / "sweep", device, _document())
    for trial in swept.trials:
        sides = [measurement.side for measurement in trial.measurements]
        assert sides[:6] == ["today", "point", "point", "today", "today", "point"]
        assert len(trial.pairs) >= 3


@pytest.mark.parametrize("seed", range(1, 4))
def test_a_rule_reaches_95_percent_of_the_best_within_5_trials(tmp_path: Path, seed: int) -> None:
    device = ArtificialDevice(_prefers_512, _TODAY, seed=seed)
    document = _document_of_many_points(trials=5)
    document.parameters[0].suggested = "512"
    swept = _swept(tmp_path / "sweep", device, document)
    best = max(_prefers_512({"size": size, "depth": depth}) for size, depth in product(_SIZES, _DEPTHS))
    assert swept.confirmed is not None
    assert _prefers_512({name: value or "" for name, value in swept.confirmed.values.items()}) >= 0.95 * best


def _interrupted_at(stop: int, number: int) -> RunState | None:
    return "interrupted" if number == stop else None


def test_a_sweep_that_is_interrupted_anywhere_goes_on_and_finds_the_same(tmp_path: Path) -> None:
    def document() -> SweepDocument:
        sweep = sweep_document(_FEW, today, trials=2)
        sweep.parameters[0].suggested, sweep.parameters[1].suggested = "512", "8"
        return sweep

    today = {"size": "128", "depth": "1"}
    whole = _swept(tmp_path / "whole", ArtificialDevice(_prefers_512, today), document())
    stages = [measurement.stage for measurement in whole.document.measurements]
    assert set(stages) == {"search", "confirmation", "contribution"}
    stops = [1, 2, *(stages.index(stage) for stage in ("confirmation", "contribution")), len(stages) - 2]
    for stop in stops:
        path = tmp_path / f"at-{stop}"
        device = ArtificialDevice(_prefers_512, today)
        device.fail = partial(_interrupted_at, stop)
        with SweepDirectory.create(path, document()) as directory, Interruption() as interruption:
            Loop(directory, device, device, lambda line: None, interruption).run()
            assert directory.document.state == "interrupted"
        resumed = _swept(path, device)
        assert resumed.document.state == "complete"
        assert resumed.verdict == whole.verdict
        assert all(len(trial.pairs) >= 3 for trial in trials(resumed.document, "search"))


def test_a_point_that_fails_is_passed_over(tmp_path: Path) -> None:
    device = ArtificialDevice(_prefers_512, _TODAY)
    device.fail = lambda number: "failed" if device.measured[number]["size"] == "1024" else None
    swept = _swept(tmp_path / "sweep", device, _document())
    hopeless = [trial for trial in swept.trials if trial.values["size"] == "1024"]
    assert hopeless
    assert all(trial.is_hopeless for trial in hopeless)
    assert swept.verdict == "better"


def test_a_sweep_without_a_valid_number_of_todays_settings_fails_with_the_reason(tmp_path: Path) -> None:
    device = ArtificialDevice(_prefers_512, _TODAY, fail=lambda number: "failed")
    with pytest.raises(CannotRun, match="measurements with today's settings are not valid"):
        _swept(tmp_path / "sweep", device, _document())


def test_a_run_that_leaves_files_on_the_target_ends_the_sweep(tmp_path: Path) -> None:
    device = ArtificialDevice(_prefers_512, _TODAY, leftovers=["/mnt/store/ioassay-r"])
    with pytest.raises(CannotRun, match="left /mnt/store/ioassay-r on the target") as refused:
        _swept(tmp_path / "sweep", device, _document())
    assert f"ioassay clean {tmp_path / 'sweep' / 'runs'}" in (refused.value.remedy or "")
    assert len(device.measured) == 1


def test_leftovers_of_an_interrupted_run_are_named(tmp_path: Path) -> None:
    device = ArtificialDevice(_prefers_512, _TODAY, fail=lambda number: "interrupted", leftovers=["/mnt/store/r"])
    with SweepDirectory.create(tmp_path / "sweep", _document()) as directory, Interruption() as interruption:
        Loop(directory, device, device, lambda line: None, interruption).run()
        reason = directory.document.reason or ""
    assert directory.document.state == "interrupted"
    assert "The run left /mnt/store/r on the target. Remove it with `ioassay clean " in reason


def test_a_point_that_breaks_a_constraint_is_not_recommended(tmp_path: Path) -> None:
    device = ArtificialDevice(_prefers_512, _TODAY)
    impossible = ConstraintEntry(phase="read", least_share=1.5)
    swept = _swept(tmp_path / "sweep", device, _document(constraints=[impossible]))
    assert swept.verdict == "nothing better"
    assert all(trial.broken for trial in swept.trials if trial.pairs)
