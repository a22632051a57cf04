"""`ioassay tune sweep` on a device with a known optimum: a plug-in in C that takes its time, and a setting that two
commands read and write.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ioassay.store.experiment_document import RUNS
from ioassay.store.run_directory import load
from ioassay.store.sweep_directory import read_sweep
from ioassay.store.sweep_document import SweepDocument

from .support import DEADLINE_S, ioassay, until

_SOURCE = Path(__file__).parent / "artificial_device/device.c"

_STUDY = """\
name: device
title: The artificial device
question: How fast is it?
settings: {{transfer: 64KiB}}
clients: [1]
ranks_per_client: [1]
sample_interval: 100ms
storage:
  api: {library}
  options: {{setting: {setting}}}
steps:
  - write: {{limit: {{minimum: 150ms, stonewall: 150ms}}}}
workloads:
  io:
    title: I/O
    layout: N-N
    order: sequential
    transfer: ${{transfer}}
    per_rank: 64MiB
"""

_EXPERIMENT = """\
name: device
study: {study}
parameters:
  transfer: {{key: transfer, values: [16KiB, 64KiB, 256KiB, 1MiB]}}
  width: {{get: "cat {setting}", set: "echo {{value}} > {setting}", values: [2, 8]}}
objective: {{phase: write}}
budget: {{trials: {trials}, pairs: 5, precision: 5%}}
"""


class Device:
    """The device, its setting, and an experiment with both."""

    def __init__(self, directory: Path, library: Path) -> None:
        self.setting = directory / "setting"
        self.setting.write_text("2\n")
        self.study = directory / "device.yaml"
        self.study.write_text(_STUDY.format(library=library, setting=self.setting))
        self.experiment = directory / "experiment.yaml"
        self.target = directory / "target"
        self.target.mkdir()
        self.out = directory / "sweep"
        self.journal = directory / "journal"

    def command_line(self, trials: int) -> list[str]:
        """The command line of a sweep."""
        self.experiment.write_text(_EXPERIMENT.format(study=self.study, setting=self.setting, trials=trials))
        return [str(self.experiment), "--target", str(self.target), "--out", str(self.out), "--yes", "--json"]

    def start(self, arguments: Sequence[str]) -> subprocess.Popen[str]:
        """`ioassay tune sweep`, on its way."""
        return subprocess.Popen(
            [sys.executable, "-m", "ioassay", "tune", "sweep", *arguments, "--journal", str(self.journal)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def sweep(self, arguments: Sequence[str]) -> dict[str, Any]:
        """The answer of `ioassay tune sweep`."""
        process = self.start(arguments)
        answer, errors = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 0, errors
        document: dict[str, Any] = json.loads(answer)
        return document

    def measured(self) -> int:
        """How many measurements there are."""
        return len(read_sweep(self.out).measurements) if (self.out / "sweep.json").exists() else 0


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plug-in, compiled."""
    directory = tmp_path_factory.mktemp("device")
    command = [sys.executable, "-m", "ioassay", "api", "build", str(_SOURCE), "--output", str(directory)]
    subprocess.run(command, check=True, capture_output=True)
    return next(directory.glob("*.so"))


@pytest.fixture
def device(tmp_path: Path, library: Path) -> Device:
    return Device(tmp_path, library)


def test_a_sweep_finds_the_known_optimum_proves_it_and_puts_the_setting_back(device: Device) -> None:
    answer = device.sweep(device.command_line(trials=7))
    assert answer["verdict"] == "better"
    assert answer["recommended"] == {"transfer": "256KiB", "width": "8"}
    gain = answer["confirmed"]["gain"]
    truth = 3 * 3  # transfers of 64 KiB are two halvings from the best; the setting is not 8
    assert gain["low"] < truth * 1.05
    assert gain["high"] > truth * 0.95
    assert {contribution["parameter"]: contribution["matters"] for contribution in answer["contributions"]} == {
        "transfer": True,
        "width": True,
    }
    assert device.setting.read_text() == "2\n"
    document = read_sweep(device.out)
    assert {path.name for path in (device.out / RUNS).iterdir()} == {
        measurement.run for measurement in document.measurements
    }
    assert load(device.out / RUNS / document.measurements[0].run).document.state == "complete"
    assert (device.out / "report.html").stat().st_size > 10_000
    apply = ["tune", "apply", "command:width=8", "--commands", device.out / "commands.yaml", "--yes", "--settle", "0"]
    assert ioassay(*apply, "--journal", device.journal)[0] == 0
    assert device.setting.read_text() == "8\n"


def test_a_killed_sweep_leaves_a_journal_and_resumes_where_it_was(device: Device) -> None:
    process = device.start(device.command_line(trials=2))
    until(lambda: device.measured() >= 4 and device.setting.read_text() == "8\n", "setting 8")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=DEADLINE_S)
    before = _runs(read_sweep(device.out))
    resumed = device.sweep(["--resume", str(device.out), "--yes", "--json"])
    assert device.setting.read_text() == "2\n"
    assert resumed["sweep"]["state"] == "complete"
    assert _runs(read_sweep(device.out))[: len(before)] == before


def test_rollback_restores_what_a_killed_sweep_left(device: Device) -> None:
    process = device.start(device.command_line(trials=2))
    until(lambda: device.setting.read_text() == "8\n", "setting 8")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=DEADLINE_S)
    assert device.setting.read_text() == "8\n"
    command = [sys.executable, "-m", "ioassay", "tune", "rollback", "--journal", str(device.journal)]
    subprocess.run(command, check=True, capture_output=True, timeout=DEADLINE_S)
    assert device.setting.read_text() == "2\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_sweep_in_order_with_the_setting_back(device: Device, number: signal.Signals) -> None:
    process = device.start(device.command_line(trials=7))
    until(lambda: device.measured() >= 2, "two measurements")
    os.kill(process.pid, number)
    _, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 3, errors
    assert f"ioassay tune sweep --resume {device.out}" in errors
    assert device.setting.read_text() == "2\n"
    assert read_sweep(device.out).state == "interrupted"


def test_a_sweep_of_settings_changes_nothing_without_an_answer_to_its_question(device: Device) -> None:
    arguments = [argument for argument in device.command_line(trials=2) if argument != "--yes"]
    process = device.start(arguments)
    _, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 2, errors
    assert "Nothing was changed" in errors
    assert device.setting.read_text() == "2\n"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (["--vary", "transfre=1MiB"], "`transfre` is not a setting of the study"),
        (["--vary", "block:nosuchdevice/nr_requests=64"], "nosuchdevice"),
        (["--vary", "transfer=1.5x"], "--set transfer=1.5x"),
        (["--objective", "wirte"], "The study has no phase `wirte`"),
        (["--keep", "write=fast"], "--keep write=fast"),
        (["--trials", "many"], "--trials many"),
        (["--vary", "transfer=64KiB", "--vary", "width=x"], "width"),
    ],
)
def test_invalid_arguments_are_refused_before_anything_is_measured(
    device: Device, changed: list[str], message: str
) -> None:
    process = device.start([*device.command_line(trials=2), *changed])
    _, error = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 2, error
    assert message in error
    assert not device.out.exists()


def _runs(document: SweepDocument) -> list[str]:
    return [measurement.run for measurement in document.measurements]
