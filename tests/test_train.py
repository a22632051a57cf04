"""Training from a study to a report: a dataset that is created and removed, epochs, how busy accelerators were kept."""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy
import polars as pl
import pytest

from .support import Measurement, ioassay, report_json, until

STUDY = """\
name: small
title: Small training
question: Does it work?
clients: [1]
ranks_per_client: 2
sample_interval: 100ms
workloads:
  small:
    title: Small
    datasets:
      images: {samples: 96, size: 64k, deviation: 20k}
    steps:
      - create-dataset
      - train: {epochs: 2, batch: 4, compute: 10ms, loader_threads: 2, verify: yes, cold-cache: [fadvise]}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    scratch = tmp_path_factory.mktemp("train")
    (scratch / "small.yaml").write_text(STUDY)
    target = scratch / "target"
    target.mkdir()
    code, out, err = ioassay("run", scratch / "small.yaml", "--target", target, "--out", scratch / "run")
    assert code == 0, err
    assert "kept 2 accelerators" in " ".join(out.split()), out
    assert "(step)" in err + out
    assert "0 MB in" not in err + out, "steps move nothing"
    assert list(target.iterdir()) == [], "the dataset is removed with the run's workspace"
    return scratch / "run"


def test_a_report_says_how_busy_the_accelerators_were_kept(run: Path) -> None:
    (training,) = report_json(run)["training"]
    assert training["accelerators"] == 2
    assert [epoch["phase"] for epoch in training["epochs"]] == ["epoch-1", "epoch-2"]
    for epoch in training["epochs"]:
        assert (epoch["steps"], epoch["samples"], epoch["loader_threads"]) == (12, 96, 2)
        # Twelve steps of 10 ms, and the wait for the first batch at least.
        assert 0 < epoch["utilisation"] < 1
        assert epoch["utilisation"] * epoch["duration_ns"] >= 0.9 * 120e6
        assert epoch["dlio_release"] <= epoch["dlio_repository"]
        assert epoch["asked_bytes"] == epoch["read_bytes"] > 96 * 50_000
        assert epoch["first_batch_ns"] > 0


def test_tables_have_a_row_for_each_accelerator_and_epoch(run: Path) -> None:
    training = pl.read_parquet(run / "training.parquet")
    assert training.select("phase", "rank").rows() == [(f"epoch-{epoch}", rank) for epoch in (1, 2) for rank in (0, 1)]
    assert training["steps"].to_list() == [12] * 4


def test_what_was_in_memory_before_an_epoch_is_known(run: Path) -> None:
    reads = [row for row in report_json(run)["measurements"] if row["operation"] == "read"]
    assert len(reads) == 2
    for read in reads:
        assert read["resident_bytes_before"] is not None
        assert read["resident_bytes_before"] <= read["bytes"]


def test_a_page_has_the_answer_and_the_epochs(run: Path) -> None:
    code, text, err = ioassay("report", run, "--format", "md")
    assert code == 0, err
    assert "storage kept 2 accelerators" in text
    assert "| epoch-2 |" in text
    assert "None of them is a result of MLPerf Storage" in text


def test_a_kept_dataset_serves_the_next_run_and_another_one_of_its_name_is_refused(tmp_path: Path) -> None:
    target, study = tmp_path / "target", tmp_path / "small.yaml"
    target.mkdir()
    study.write_text(STUDY.replace("deviation: 20k}", "deviation: 20k, keep: small}"))
    for number, written in ((1, True), (2, False)):
        run = tmp_path / f"run-{number}"
        code, _, err = ioassay("run", study, "--target", target, "--out", run)
        assert code == 0, err
        assert [path.name for path in target.iterdir()] == ["ioassay-dataset-small"]
        (created,) = [row for row in report_json(run)["measurements"] if row["operation"] == "write"]
        assert (created["bytes"] > 0, created["valid"]) == (written, True)
        for form in ("html", "md", "csv"):
            code, _, err = ioassay("report", run, "--format", form, "-o", tmp_path / f"report-{number}.{form}")
            assert code == 0, err
    study.write_text(study.read_text().replace("samples: 96", "samples: 192"))
    code, _, err = ioassay("run", study, "--target", target, "--out", tmp_path / "run-3")
    assert code == 3, err
    assert "samples is 96, not 192" in " ".join(err.split())
    assert [path.name for path in target.iterdir()] == ["ioassay-dataset-small"]


def test_check_judges_utilisation(run: Path, tmp_path: Path) -> None:
    for goal, code in (("1 %", 0), ("99.9 %", 1)):
        criteria = tmp_path / "criteria.yaml"
        criteria.write_text(f"criteria: [{{name: busy, operation: step, utilisation: {goal}}}]\n")
        ended, out, err = ioassay("check", run, "--criteria", criteria, "--json")
        assert ended == code, err
        checks = json.loads(out)["checks"]
        epochs = report_json(run)["training"][0]["epochs"]
        assert [check["value"] for check in checks] == [epoch["utilisation"] for epoch in epochs]


GUIDE = Path(__file__).parents[1] / "docs" / "guides" / "training.md"


def test_the_studies_and_criteria_of_the_guide_are_valid(run: Path, tmp_path: Path) -> None:
    blocks = re.findall(r"^```yaml\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    study, search, criteria, requirements = blocks
    (tmp_path / "study.yaml").write_text(study)
    (tmp_path / "search.yaml").write_text(re.sub(r"clients: .*\nranks_per_client: .*\n", search, study))
    for name, cases in (("study.yaml", 3), ("search.yaml", 32 * 5)):
        code, out, err = ioassay("run", tmp_path / name, "--dry-run", "--json")
        assert code == 0, err
        assert len(json.loads(out)["cases"]) == cases
    (tmp_path / "criteria.yaml").write_text(criteria)
    code, out, err = ioassay("check", run, "--criteria", tmp_path / "criteria.yaml", "--json")
    assert (code, err) == (1, ""), "one client and two accelerators are not what the guide asks for"
    (tmp_path / "needs.yaml").write_text(f"name: needs\n{requirements}")
    code, out, err = ioassay("size", tmp_path / "needs.yaml", "--json")
    assert code == 0, err


SEARCH = STUDY.replace("ranks_per_client: 2", "ranks_per_client: 1 to 6\nsearch: accelerators")


@pytest.mark.parametrize(
    ("train", "fed", "measured"),
    [
        ({"10ms": "0s"}, 0, {4: 1, 2: 1, 1: 3}),
        ({"batch: 4": "batch: 4, utilisation: 1 %"}, 6, {4: 1, 6: 3}),
    ],
)
def test_a_search_runs_only_the_cases_that_it_takes(
    tmp_path: Path, train: dict[str, str], fed: int, measured: dict[int, int]
) -> None:
    study, target, run = SEARCH, tmp_path / "target", tmp_path / "run"
    for old, new in train.items():
        study = study.replace(old, new)
    (tmp_path / "small.yaml").write_text(study)
    target.mkdir()
    code, out, err = ioassay("run", tmp_path / "small.yaml", "--target", target, "--out", run)
    assert code == 0, err
    assert f"{30 - sum(measured.values())} cases of small are not needed" in err
    assert "With 95 % confidence, after 3 runs" in " ".join(out.split())
    # Seven cases of five measurements are usual.
    assert "/35]" in err
    assert "/150]" not in err
    (answer,) = report_json(run)["accelerators"]
    assert (answer["fed"], answer["goal"]) == (fed, 0.01 if fed else 0.9)
    assert {count["accelerators"]: count["repetitions"] for count in answer["counts"]} == measured
    cases = json.loads((run / "run.json").read_text())["cases"]
    assert {case["state"] for case in cases} == {"complete", "not needed"}

    # As if the control plane had been killed before the last case: it is measured again, and no more.
    ended = [case for case in cases if case["state"] == "complete"][-1]
    stored = json.loads((run / "run.json").read_text())
    for case in stored["cases"]:
        if case["state"] == "not needed" or case["id"] == ended["id"]:
            case |= {"state": "pending", "skipped": None}
    (run / "run.json").write_text(json.dumps(stored | {"state": "interrupted"}))
    code, _, err = ioassay("run", "--resume", run)
    assert code == 0, err
    (answer,) = report_json(run)["accelerators"]
    assert {count["accelerators"]: count["repetitions"] for count in answer["counts"]} == measured


def test_an_evaluation_has_a_row_and_no_part_in_the_answer(tmp_path: Path) -> None:
    target, study = tmp_path / "target", tmp_path / "small.yaml"
    target.mkdir()
    # Its accelerators do not compute, so that they would be the least busy by far.
    evaluate = "hold: yes, compute_deviation: 1ms, evaluate: {every: 2, samples: 32, compute: 0s}"
    study.write_text(STUDY.replace("verify: yes", f"verify: yes, {evaluate}"))
    code, out, err = ioassay("run", study, "--target", target, "--out", tmp_path / "run")
    assert code == 0, err
    (training,) = report_json(tmp_path / "run")["training"]
    assert [(epoch["phase"], epoch["is_evaluation"]) for epoch in training["epochs"]] == [
        ("epoch-1", False),
        ("epoch-2", False),
        ("evaluation-2", True),
    ]
    *trained, evaluation = training["epochs"]
    assert evaluation["samples"] == 32
    assert evaluation["utilisation"] < 0.1 < min(epoch["utilisation"] for epoch in trained)
    assert "busy over 2 epochs" in " ".join(out.split())
    assert list(target.iterdir()) == []


def crc32c(data: bytes) -> int:
    """CRC-32C bit by bit, apart from what the engine uses."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    """Checksum of a record as TFRecord's description has it."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def tfrecords(file: Path) -> Iterator[tuple[int, bytes]]:
    """Offset and bytes of each record, both checksums checked."""
    stored, offset = file.read_bytes(), 0
    while offset < len(stored):
        length, of_length = struct.unpack_from("<QI", stored, offset)
        assert of_length == masked(stored[offset : offset + 8])
        record = stored[offset + 12 : offset + 12 + length]
        (of_record,) = struct.unpack_from("<I", stored, offset + 12 + length)
        assert of_record == masked(record)
        yield offset, record
        offset += 16 + length


@pytest.fixture(scope="module")
def containers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A target on which the same dataset is kept in each container."""
    scratch = tmp_path_factory.mktemp("containers")
    target = scratch / "target"
    target.mkdir()
    for name, keys in {
        "raw": "",
        "tfrecord": ", container: tfrecord, samples_per_file: 6, subfolders: 2",
        "npz": ", container: npz, subfolders: 3",
        "parquet": ", container: parquet, samples_per_file: 24",
    }.items():
        study = scratch / f"{name}.yaml"
        study.write_text(STUDY.replace("size: 64k, deviation: 20k}", f"size: 6k, deviation: 2k, keep: {name}{keys}}}"))
        code, _, err = ioassay("run", study, "--target", target, "--out", scratch / name)
        assert code == 0, err
    return target


def test_other_readers_open_the_containers_and_find_the_same_samples(containers: Path) -> None:
    raw = [file.read_bytes() for file in sorted((containers / "ioassay-dataset-raw").glob("samples.*"))]
    assert len(raw) == 96
    npz = sorted((containers / "ioassay-dataset-npz").glob("*/*.npz"), key=lambda file: file.name)
    assert [numpy.load(file)["x"].tobytes() for file in npz] == raw
    assert zipfile.ZipFile(npz[0]).testzip() is None, "the checksum of the array is right"
    parquet = sorted((containers / "ioassay-dataset-parquet").glob("*.parquet"))
    assert len(parquet) == 4
    assert [sample for file in parquet for sample in pl.read_parquet(file)["sample"]] == raw
    records = sorted((containers / "ioassay-dataset-tfrecord").glob("*/*.tfrecord"), key=lambda file: file.name)
    assert [record for file in records for _, record in tfrecords(file)] == raw


def test_the_index_of_tfrecord_has_the_place_of_each_record(containers: Path) -> None:
    folders = sorted((containers / "ioassay-dataset-tfrecord").glob("samples.*"))
    assert [len(list(folder.iterdir())) for folder in folders] == [16, 16]
    for file in folders[1].glob("*.tfrecord"):
        index = [tuple(map(int, line.split())) for line in file.with_name(f"{file.name}.idx").read_text().splitlines()]
        assert index == [(offset, len(record) + 16) for offset, record in tfrecords(file)]


SHARED = STUDY.replace("ranks_per_client: 2", "ranks_per_client: [1, 2]").replace("20k}", "20k, share: yes}")


def test_cases_of_a_run_share_a_dataset_which_goes_with_the_run(tmp_path: Path) -> None:
    target, study = tmp_path / "target", tmp_path / "small.yaml"
    target.mkdir()
    study.write_text(SHARED)
    code, _, err = ioassay("run", study, "--target", target, "--out", tmp_path / "run")
    assert code == 0, err
    assert "Writes 6.07 MiB, at most 6.07 MiB at once" in " ".join(err.split()), "only one of two cases writes"
    assert list(target.iterdir()) == []
    first, second = (row for row in report_json(tmp_path / "run")["measurements"] if row["operation"] == "write")
    assert first["bytes"] > 0
    assert second["bytes"] == 0, "the second case finds the dataset of the first one"
    assert (first["rate_bytes_per_s"] > 0, second["rate_bytes_per_s"]) == (True, None)


def test_a_shared_dataset_of_an_interrupted_run_is_removed_and_a_resumed_run_creates_it_again(tmp_path: Path) -> None:
    target, study = tmp_path / "target", tmp_path / "small.yaml"
    target.mkdir()
    study.write_text(SHARED.replace("compute: 10ms", "compute: 300ms"))
    running = Measurement(study, target, tmp_path / "run")
    running.until_moving("small")
    until(lambda: any(target.glob("ioassay-dataset-*")), "the dataset")
    os.kill(running.pid, signal.SIGINT)
    code, _, err = running.end()
    assert code == 3, err
    assert list(target.iterdir()) == []
    code, _, err = ioassay("run", "--resume", tmp_path / "run")
    assert code == 0, err
    assert list(target.iterdir()) == []
    assert running.document.state == "complete"
    assert running.document.leftovers == []


def test_clean_names_kept_datasets_and_removes_one_only_by_its_name(tmp_path: Path) -> None:
    target, study, run = tmp_path / "target", tmp_path / "small.yaml", tmp_path / "run"
    target.mkdir()
    study.write_text(STUDY.replace("deviation: 20k}", "deviation: 20k, keep: small}"))
    code, _, err = ioassay("run", study, "--target", target, "--out", run)
    assert code == 0, err
    code, out, err = ioassay("clean", run)
    assert (code, "Kept datasets on the target: small." in out) == (0, True), out + err
    assert [path.name for path in target.iterdir()] == ["ioassay-dataset-small"]
    code, out, err = ioassay("clean", run, "--dataset", "other")
    assert code == 0, err
    assert "no file" in out or "Nothing to remove" in out
    code, out, err = ioassay("clean", run, "--dataset", "small")
    assert (code, "with 96 files" in out) == (0, True), out + err
    assert list(target.iterdir()) == []


def test_the_rules_of_mlperf_storage_are_said_before_anything_else(tmp_path: Path) -> None:
    target, study = tmp_path / "target", tmp_path / "small.yaml"
    target.mkdir()
    study.write_text(STUDY.replace("    datasets:", "    mlperf_storage: unet3d\n    datasets:"))
    expected = "By the rules of MLPerf Storage v2.0, unet3d with 2 accelerators would be invalid"
    code, out, err = ioassay("run", study, "--target", target, "--dry-run")
    assert (code, expected in " ".join(out.split())) == (0, True), out + err
    code, out, err = ioassay("run", study, "--target", target, "--out", tmp_path / "run")
    assert code == 0, err
    assert expected in " ".join(err.split("Run directory")[0].split())


def test_steps_which_move_nothing_have_no_rate_in_bytes(run: Path) -> None:
    code, text, err = ioassay("report", run, "--format", "md")
    assert code == 0, err
    assert "(read)" in text
    assert " 0 MB/s" not in text
