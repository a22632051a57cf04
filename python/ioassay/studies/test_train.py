"""What a study can say of training: the plan that it becomes, its words, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ioassay.plans import text as plan_text
from ioassay.studies.directory_sizes import MOST_SIZES, directory_sizes
from ioassay.studies.library import find_study
from ioassay.studies.needs import overview
from ioassay.studies.refusals import refuse
from ioassay.studies.resolve import resolve
from ioassay.studies.test_replay import one_case
from ioassay.studies.test_workloads import HEAD
from ioassay.yaml_models.source import SourceError, parse_source

TRAIN = """\
storage: {api: posix, direct: yes}
settings: {epochs: 2}
workloads:
  w:
    title: W
    datasets:
      images: {samples: 40, size: 100k, deviation: 30k}
    steps:
      - create-dataset
      - train: {epochs: "${epochs}", batch: 4, compute: 10ms, loader_threads: 2, sync: yes,
          cold-cache: [drop-caches, fadvise]}
"""


def test_each_epoch_is_a_phase_after_caches_were_emptied() -> None:
    (case, plan) = one_case(TRAIN)
    assert plan["datasets"] == {
        "images": {
            "samples": 40,
            "sizes": {
                "normal": {
                    "mean_bytes": 100 << 10,
                    "standard_deviation_bytes": 30 << 10,
                    "least_bytes": 1024,
                }
            },
            "samples_per_file": 1,
            "seed": 1,
        }
    }
    create, *epochs = plan["steps"]
    assert [step["step"] for step in epochs] == ["cold-cache", "phase", "cold-cache", "phase"]
    assert create["jobs"] == [
        {
            "name": "create-dataset",
            "work": {"kind": "train", "dataset": "images", "operation": {"kind": "create", "fsync": True}},
            # Direct I/O cannot write files of any size.
            "storage": {"api": "posix"},
        }
    ]
    assert [step["name"] for step in epochs[1::2]] == ["epoch-1", "epoch-2"]
    assert all(step["settle"] for step in epochs[1::2])
    (job,) = epochs[3]["jobs"]
    assert job["work"] == {
        "kind": "train",
        "dataset": "images",
        "operation": {
            "kind": "epoch",
            "number": 1,
            "batch": 4,
            "loader_threads": 2,
            "prefetch": 2,
            "shuffle": "samples",
            "drop_last": True,
            "compute_ns": 10_000_000,
            "compute": "sleep",
            "sync_steps": True,
        },
    }
    assert [(key[1], key[3]) for key in case.measured] == [
        ("create-dataset", "write"),
        ("epoch-1", "read"),
        ("epoch-1", "step"),
        ("epoch-2", "read"),
        ("epoch-2", "step"),
    ]


def test_training_has_words() -> None:
    _, plan = one_case(TRAIN)
    (samples,) = plan_text.sets(plan)
    assert samples == "40 samples of 100 KiB in the mean (standard deviation 30 KiB), each in a file"
    create, _, epoch, *_ = plan_text.each_step(plan)
    assert create.startswith("create the dataset, each file synced before it is closed")
    assert epoch == (
        "wait until all that was written before is on stable storage, then train (epoch-1), in batches of 4 samples, "
        "10 ms of computation for each, 2 loader threads of each rank, each up to 2 batches ahead, samples shuffled, "
        "ranks wait for one another after each step"
    )


def test_containers_and_subfolders_have_words() -> None:
    dataset = "samples: 40, size: 100k, samples_per_file: 4, container: tfrecord, subfolders: 5"
    _, plan = one_case(TRAIN.replace("samples: 40, size: 100k, deviation: 30k", dataset))
    images = plan["datasets"]["images"]
    assert (images["container"], images["subfolders"]) == ("tfrecord", 5)
    (samples,) = plan_text.sets(plan)
    assert samples == "40 samples of 100 KiB, 4 samples in each file (TFRecord, with an index), in 5 subfolders"


@pytest.mark.parametrize(
    ("old", "new", "wrong", "instead"),
    [
        ("batch: 4", "batch: 4, dataset: texts", "there is no dataset `texts`", "images"),
        ("batch: 4", "batch: 41", "40 samples are no batch of 41 for each of 4 ranks", "use 164 samples"),
        (
            "size: 100k, deviation: 30k",
            "deviation: 30k",
            "needs exactly one of `size`, `sizes` and `like`",
            "size: 112k",
        ),
        ("samples: 40", "samples: 40, samples_per_file: 7", "40 samples do not fill files of 7", "a multiple of 7"),
        ("size: 100k", "size: 100k, container: npz, samples_per_file: 4", "do not fit into one array", "use 1"),
        ("size: 100k", "size: 3g, container: parquet", "a sample may have 3", "use samples of at most"),
        ("size: 100k, deviation: 30k", "like: /nothing/there", "cannot be counted", "name a directory"),
        ("compute: 10ms", "compute: {10ms: 0}", "without a weight", "90ms: 3"),
        ("compute: 10ms", "compute: 10ms, samples: 41", "41 samples are more than the dataset has", "at most 40"),
        ("compute: 10ms", "compute: 10ms, evaluate: {every: 0}", "out of range", "use 1 to 1000"),
        ("epochs: 2}", "epochs: many}", "many", "whole number"),
        ("compute: 10ms, ", "", "is missing", "How long an accelerator computes"),
    ],
)
def test_impossible_values_are_refused_with_their_line(old: str, new: str, wrong: str, instead: str) -> None:
    assert old in TRAIN
    with pytest.raises(SourceError) as refused:
        refuse(resolve(parse_source(HEAD + TRAIN.replace(old, new), "my.yaml", "study"), None, []))
    (problem, *_) = refused.value.problems
    assert wrong in problem.wrong
    assert instead in f"{problem.wrong} {problem.meant}"


def test_a_batch_that_many_numbers_of_ranks_refuse_is_one_problem() -> None:
    study = HEAD + TRAIN.replace("w:\n", "w:\n    clients: [1]\n    ranks_per_client: 1 to 16\n", 1)
    with pytest.raises(SourceError) as refused:
        refuse(resolve(parse_source(study, "my.yaml", "study"), None, []))
    (problem,) = refused.value.problems
    assert problem.wrong == (
        "40 samples are no batch of 4 for each of 16 ranks, with ranks_per_client 16 and 5 smaller numbers of ranks"
    )
    assert problem.meant.startswith("use 64 samples or more")
    assert "`drop_last: no`" in problem.meant


@pytest.mark.parametrize("written", ["1 to 4", "[1 to 4]", "[1, 2 to 4]", "[1, 2, 3, 4]"])
def test_numbers_of_ranks_may_be_ranges(written: str) -> None:
    study = HEAD + TRAIN.replace("w:\n", f"w:\n    ranks_per_client: {written}\n", 1)
    resolved = resolve(parse_source(study, "my.yaml", "study"), None, [])
    assert resolved.study.workloads["w"].ranks_per_client == [1, 2, 3, 4]


def test_a_built_in_study_searches_where_it_is_told_to() -> None:
    settings = ["search=accelerators", "accelerators=1 to 6", "repetitions=3"]
    resolved = resolve(find_study("unet3d"), "laptop", settings)
    workload = resolved.study.workloads["unet3d"]
    assert (workload.search, workload.ranks_per_client) == ("accelerators", [1, 2, 3, 4, 5, 6])


SEARCH = TRAIN.replace("w:\n", "w:\n    search: accelerators\n    ranks_per_client: 1 to 3\n", 1)


def test_a_search_has_a_case_for_each_number_of_accelerators_and_repetition() -> None:
    resolved = resolve(parse_source(HEAD + SEARCH, "my.yaml", "study"), None, [])
    (entry,) = resolved.entry.workloads
    assert (entry.search, entry.stops_early) == ("accelerators", True)
    assert [point.ranks_per_client for point in resolved.points["w"]] == [1, 2, 3]
    assert resolved.study.workloads["w"].repetitions.most == 5
    assert "a search measures only those that it takes" in " ".join(resolved.entry.method)
    of_two = resolve(
        parse_source(HEAD + SEARCH.replace("search:", "repetitions: 2\n    search:"), "m", "study"), None, []
    )
    assert of_two.study.workloads["w"].repetitions.most == 2


@pytest.mark.parametrize(
    ("old", "new", "wrong", "instead"),
    [
        ("1 to 3", "2", "leaves nothing to search among", "1 to 16"),
        ("1 to 3", "3 to 1", "is not a range", "1 to 16"),
        ("search: accelerators", "search: ranks", "ranks", "accelerators"),
        ("search:", "repetitions: until 5 %, at most 9\n    search:", "`repetitions: until`", "such as 5"),
        ("batch: 4", "batch: 4, utilisation: 0.9", "0.9", "25%"),
        ("batch: 4", "batch: 4, utilisation: 100 %", "out of range", "such as 90 %"),
    ],
)
def test_a_search_that_finds_nothing_is_refused(old: str, new: str, wrong: str, instead: str) -> None:
    assert old in SEARCH
    with pytest.raises(SourceError) as refused:
        resolve(parse_source(HEAD + SEARCH.replace(old, new), "my.yaml", "study"), None, [])
    (problem, *_) = refused.value.problems
    assert wrong in problem.wrong
    assert instead in f"{problem.wrong} {problem.meant}"


def test_only_accelerators_can_be_searched_for() -> None:
    study = """\
workloads:
  w:
    title: W
    files: {data: {layout: N-N, per_rank: 1m, transfer: 64k, order: sequential}}
    ranks_per_client: [1, 2]
    search: accelerators
    steps: [write]
"""
    with pytest.raises(SourceError) as refused:
        resolve(parse_source(HEAD + study, "my.yaml", "study"), None, [])
    assert "trains nothing" in refused.value.problems[0].wrong


@pytest.mark.parametrize(
    ("study", "criterion", "wrong", "instead"),
    [
        (SEARCH, "utilisation: 90 %", "also measures accelerators that miss", "measure: accelerators"),
        (SEARCH, "utilisation: 90 %, workload: w", "also measures accelerators that miss", "measure: accelerators"),
        (
            TRAIN.replace("w:\n", "w:\n    clients: [1]\n", 1),
            "accelerators: 4",
            "one number of accelerators",
            "measure: utilisation",
        ),
        (
            "steps: [find]\nworkloads: {w: {title: W}}\n",
            "measure: utilisation, at_least: 90 %",
            "trains nothing",
            "such as `rate`",
        ),
        (SEARCH, "measure: utilisation, at_least: 2kIOPS", "is not a share", "25%"),
        (SEARCH, "accelerators: few", "not a whole number", "for example 4"),
    ],
)
def test_criteria_of_training_that_cannot_be_met_are_refused(
    study: str, criterion: str, wrong: str, instead: str
) -> None:
    text = f"{HEAD}{study}acceptance: [{{{criterion}, because: the tender asks for it}}]\n"
    with pytest.raises(SourceError) as refused:
        resolve(parse_source(text, "my.yaml", "study"), None, [])
    (problem,) = refused.value.problems
    assert wrong in problem.wrong
    assert instead in f"{problem.wrong} {problem.meant}"


def test_cases_know_the_goal_of_their_epochs() -> None:
    case, _ = one_case(TRAIN.replace("batch: 4", "batch: 4, utilisation: 70 %"))
    assert [(phase.name, phase.jobs[0].utilisation_goal) for phase in case.phases] == [
        ("create-dataset", None),
        ("epoch-1", 0.7),
        ("epoch-2", 0.7),
    ]


def test_computing_times_have_a_distribution() -> None:
    def epoch(compute: str) -> Any:
        (_, plan) = one_case(TRAIN.replace("compute: 10ms", compute))
        assert plan_text.each_step(plan)
        return plan["steps"][2]["jobs"][0]["work"]["operation"]

    normal = epoch("compute: 10ms, compute_deviation: 2ms")
    assert normal["compute_ns"] == 10_000_000
    assert normal["compute_times"] == {"normal": {"standard_deviation_ns": 2_000_000}}
    weighted = epoch("compute: {10ms: 3, 30ms: 1}")
    assert weighted["compute_ns"] == 15_000_000
    assert weighted["compute_times"] == {
        "histogram": [{"ns": 10_000_000, "weight": 3}, {"ns": 30_000_000, "weight": 1}]
    }


def test_evaluations_come_after_epochs_with_what_they_say_themselves() -> None:
    evaluate = "hold: yes, evaluate: {every: 2, dataset: others, samples: 12, batch: 2}"
    text = TRAIN.replace("verify: no, ", "").replace("sync: yes", f"sync: yes, dataset: images, {evaluate}")
    text = text.replace("settings: {epochs: 2}", "settings: {epochs: 3}")
    text = text.replace("    steps:", "      others: {samples: 20, size: 1k}\n    steps:")
    text = text.replace(
        "      - create-dataset\n",
        "".join(f"      - create-dataset: {{name: {name}, dataset: {name}}}\n" for name in ("images", "others")),
    )
    _, plan = one_case(text)
    phases = {step["name"]: step["jobs"][0]["work"] for step in plan["steps"] if step["step"] == "phase"}
    assert [*phases] == ["images", "others", "epoch-1", "epoch-2", "evaluation-2", "epoch-3"]
    evaluation, training = phases["evaluation-2"], phases["epoch-2"]
    assert (evaluation["dataset"], training["dataset"]) == ("others", "images")
    of_training, of_evaluation = training["operation"], evaluation["operation"]
    assert of_evaluation["evaluation"]
    assert of_evaluation["hold_batches"]
    assert (of_evaluation["samples"], of_evaluation["batch"], of_evaluation["number"]) == (12, 2, 1)
    assert "evaluation" not in of_training
    assert "samples" not in of_training
    assert of_training["sync_steps"]
    assert "sync_steps" not in of_evaluation
    assert [step["step"] for step in plan["steps"]].count("cold-cache") == 4, "also before the evaluation"


def test_sizes_may_be_those_of_a_directory(tmp_path: Path) -> None:
    for number, size in enumerate([100] * 3 + [7000]):
        (tmp_path / f"sub{number}").mkdir()
        (tmp_path / f"sub{number}" / "file").write_bytes(bytes(size))
    (tmp_path / "empty").touch()
    (tmp_path / "link").symlink_to(tmp_path / "sub3" / "file")
    _, plan = one_case(TRAIN.replace("size: 100k, deviation: 30k", f"like: {tmp_path}"))
    sizes = plan["datasets"]["images"]["sizes"]
    assert sizes == {"histogram": [{"bytes": 100, "weight": 3}, {"bytes": 7000, "weight": 1}]}


def test_many_sizes_of_a_directory_become_groups_with_the_same_sum(tmp_path: Path) -> None:
    for size in range(1, 1001):
        (tmp_path / str(size)).write_bytes(bytes(size))
    sizes = directory_sizes(str(tmp_path))
    assert (len(sizes), sum(sizes.values())) == (MOST_SIZES, 1000)
    assert sum(size * count for size, count in sizes.items()) == pytest.approx(1000 * 1001 / 2, rel=0.01)


def test_one_epoch_needs_no_number() -> None:
    _, plan = one_case(TRAIN.replace('epochs: "${epochs}", ', "").replace("settings: {epochs: 2}\n", ""))
    assert [step.get("name") for step in plan["steps"]] == ["create-dataset", None, "train"]
    assert [step["step"] for step in plan["steps"]] == ["phase", "cold-cache", "phase"]


def test_unet3d_has_the_sizes_of_mlperf_and_fits_a_laptop() -> None:
    needs: dict[str | None, Any] = {need.scale: need for need in overview(find_study("unet3d")).needs}
    assert needs["full"].at_once_bytes == pytest.approx(28000 * 146_600_628, rel=0.01)
    assert needs["laptop"].at_once_bytes == pytest.approx(168 * 9_162_539, rel=0.05)
    # Its three cases share one dataset.
    assert needs["laptop"].written_bytes == needs["laptop"].at_once_bytes
