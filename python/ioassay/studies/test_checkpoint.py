"""What a study can say of checkpoints: the plan that it becomes, its words, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ioassay.plans import text as plan_text
from ioassay.studies.library import find_study
from ioassay.studies.needs import overview
from ioassay.studies.refusals import refuse
from ioassay.studies.resolve import resolve
from ioassay.studies.test_replay import one_case
from ioassay.studies.test_workloads import HEAD
from ioassay.yaml_models.source import SourceError, parse_source

CHECKPOINT = """\
workloads:
  w:
    title: W
    checkpoints:
      llama: {model: llama3-8b, tensor: 2, zero: 3, keep: 2}
    steps:
      - save-checkpoint: {count: 3, every: 60s, rename: yes, transfer: 16m}
      - cold-cache: [drop-caches, fadvise]
      - restore-checkpoint: {count: 2, shift: 1, verify: yes}
"""


def test_saves_and_restores_are_phases_that_wait_for_what_was_written_before() -> None:
    (case, plan) = one_case(CHECKPOINT)
    assert plan["checkpoints"] == {
        "llama": {
            "model": {
                "transformer": {
                    "layers": 32,
                    "hidden": 4096,
                    "feed_forward": 14336,
                    "heads": 32,
                    "kv_heads": 8,
                    "vocabulary": 128256,
                }
            },
            "model_bytes": 2,
            "optimizer_bytes": 12,
            "tensor": 2,
            "pipeline": 1,
            "zero": 3,
            "keep": 2,
        }
    }
    save, cold, restore = plan["steps"]
    assert (save["name"], cold["step"], restore["name"]) == ("save-checkpoint", "cold-cache", "restore-checkpoint")
    assert save["settle"]
    assert restore["settle"]
    assert [job["work"] for job in (*save["jobs"], *restore["jobs"])] == [
        {
            "kind": "checkpoint",
            "checkpoint": "llama",
            "transfer_bytes": 16 << 20,
            "operation": {
                "kind": "save",
                "count": 3,
                "every_ns": 60 * 10**9,
                "compute": "sleep",
                "fsync": True,
                "rename": True,
            },
        },
        {
            "kind": "checkpoint",
            "checkpoint": "llama",
            "transfer_bytes": 8 << 20,
            "operation": {"kind": "restore", "count": 2, "shift": 1, "verify": True},
        },
    ]
    assert [(key[1], key[3]) for key in case.measured] == [
        ("save-checkpoint", "write"),
        ("save-checkpoint", "checkpoint"),
        ("restore-checkpoint", "read"),
        ("restore-checkpoint", "checkpoint"),
    ]


def test_a_checkpoint_of_8_billion_parameters_has_105_gib_by_the_engine() -> None:
    case, _ = one_case(CHECKPOINT)
    save, _, restore, _ = (case.job(phase, job) for phase, job, _ in [key[1:] for key in case.measured])
    assert save.file_set_bytes == pytest.approx(104.7 * 2**30, rel=0.001)
    assert (save.files, restore.files) == (8, 8)
    assert case.written_bytes == 3 * save.file_set_bytes
    # One more is there than is kept while a new one is written.
    assert case.file_set_bytes == 3 * save.file_set_bytes


def test_checkpoints_have_words() -> None:
    _, plan = one_case(CHECKPOINT)
    assert [*plan_text.sets(plan)] == [
        "a transformer of 32 layers with a hidden size of 4096, 2 bytes of each parameter and 12 bytes of the "
        "optimizer's state, tensor 2 × pipeline 1, ZeRO 3, 2 generations kept"
    ]
    save, _, restore = plan_text.each_step(plan)
    assert save.endswith(
        "save 3 generations of the checkpoint, in transfers of 16 MiB, each after 1 min of computation, each file "
        "synced before it is closed, each file renamed when it is complete"
    )
    assert restore.endswith(
        "restore 2 generations of the checkpoint, in transfers of 8 MiB, each rank the files of the rank 1 further on, "
        "all of it verified"
    )


def test_saves_beside_computation_have_a_rate_of_the_copy() -> None:
    _, plan = one_case(CHECKPOINT.replace("rename: yes", "background: 20GB/s"))
    save, *_ = plan["steps"]
    (job,) = save["jobs"]
    assert job["work"]["operation"]["background"] == {"copy_bytes_per_s": 20 * 10**9}
    assert "written beside computation after a copy at 20.0 GB/s" in plan_text.each_step(plan)[0]


@pytest.mark.parametrize(
    ("old", "new", "wrong", "instead"),
    [
        ("llama3-8b", "llama3-8", '"llama3-8" is no model that is built in', "llama3-8b"),
        ("model: llama3-8b, ", "", "needs exactly one of `model`, `transformer` and `parameters`", "llama3-8b"),
        ("model: llama3-8b", "model: llama3-8b, parameters: 5", "needs exactly one of `model`", "llama3-8b"),
        ("tensor: 2", "tensor: 3", "4 ranks are no multiple of tensor 3 × pipeline 1", "use 3 or 6 ranks"),
        ("keep: 2", "keep: 0", "0", "out of range"),
        ("keep: 2", "keep: 1", "2 generations cannot be restored, since only 1 are there", "save and keep more"),
        ("zero: 3", "zero: 4", "4", "0 to 3"),
        ("{count: 3, ", "{checkpoint: gpt, count: 3, ", "there is no checkpoint `gpt`", "llama"),
        ("rename: yes", "background: 0B/s", "out of range", "1.00 MB/s"),
        ("shift: 1", "shift: 4", "there is no rank 4 further on", "use at most 3"),
    ],
)
def test_impossible_values_are_refused_with_their_line(old: str, new: str, wrong: str, instead: str) -> None:
    assert old in CHECKPOINT
    with pytest.raises(SourceError) as refused:
        refuse(resolve(parse_source(HEAD + CHECKPOINT.replace(old, new, 1), "my.yaml", "study"), None, []))
    (problem, *_) = refused.value.problems
    assert wrong in problem.wrong
    assert instead in f"{problem.wrong} {problem.meant}"


@pytest.mark.parametrize(
    ("study", "full_gib", "node_gib"),
    [
        ("llama3-8b", 15.0 + 89.7, 15.0 + 89.7),
        ("llama3-70b", 130.2 + 781.0, 137.9),
        ("llama3-405b", 756.0 + 4535.8, 221.0),
        ("llama3-1t", 2203.6 + 13221, 326.2),
    ],
)
def test_the_llama_3_family_has_the_sizes_of_mlperf_storage_and_fits_a_laptop(
    study: str, full_gib: float, node_gib: float
) -> None:
    needs: dict[str | None, Any] = {need.scale: need for need in overview(find_study(study)).needs}
    # Ten generations are kept of ten; one of two, while another one is written.
    assert needs["full"].at_once_bytes == pytest.approx(10 * full_gib * 2**30, rel=0.001)
    assert needs["node"].at_once_bytes == pytest.approx(2 * node_gib * 2**30, rel=0.01)
    assert needs["laptop"].written_bytes < 2.5e9
