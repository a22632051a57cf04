"""Sweeps over other keys than clients, ranks and groups."""

import pytest

from ioassay.studies.conftest import SMALL
from ioassay.studies.resolve import ResolvedStudy, resolve
from ioassay.studies.test_cases import Cases, cases
from ioassay.studies.test_resolve import refusal
from ioassay.yaml_models.source import parse_source


def sweeping(sweep: str) -> str:
    return SMALL.replace("[1, 2, 4]", "[1]").replace("    transfer: 1MiB\n", f"    sweep: {sweep}\n")


def points(swept: Cases) -> list[dict[str, int | str]]:
    return [case.point for case, _ in swept]


def resolved(text: str) -> ResolvedStudy:
    return resolve(parse_source(text, "my.yaml", "study"), None, [])


def test_a_key_of_a_workload_and_one_of_its_storage_are_swept_together() -> None:
    swept = cases(sweeping("{transfer: [4k, 1m], depth: [1, 32]}").replace("\nsteps:", "\nstorage: uring\nsteps:"))
    assert [(point["transfer"], point["depth"]) for point in points(swept)] == [
        (4096, 1),
        (4096, 32),
        (1 << 20, 1),
        (1 << 20, 32),
    ]
    assert [plan["files"]["data"]["transfer_bytes"] for _, plan in swept] == [4096, 4096, 1 << 20, 1 << 20]
    assert [plan["storage"].get("depth", 1) for _, plan in swept] == [1, 32, 1, 32]
    assert swept[0][0].id == "big.c001.transfer-4096.depth-1.r1"
    assert len({plan["seed"] for _, plan in swept}) == 4


def test_run_json_says_what_the_values_of_an_axis_are_in() -> None:
    text = sweeping("{transfer: [4k, 1m], direct: [no, yes], steps.read.limit.stonewall: [1s, 2s]}")
    entry = resolved(text).entry
    assert [(axis.name, axis.unit) for axis in entry.workloads[0].axes] == [
        ("transfer", "bytes"),
        ("direct", "word"),
        ("steps.read.limit.stonewall", "ns"),
    ]
    assert points(cases(text))[0] == {
        "clients": 1,
        "ranks_per_client": 1,
        "transfer": 4096,
        "direct": "no",
        "steps.read.limit.stonewall": 10**9,
    }


def test_clients_are_outermost_and_a_sweep_of_the_study_holds_for_its_workloads() -> None:
    text = SMALL.replace("[1, 2, 4]", "[1, 2]").replace("    transfer: 1MiB\n", "")
    swept = cases(text.replace("\nsteps:", "\nsweep: {transfer: [64k, 1m]}\nsteps:"))
    assert [(point["clients"], point["transfer"]) for point in points(swept)] == [
        (1, 65536),
        (1, 1 << 20),
        (2, 65536),
        (2, 1 << 20),
    ]


def test_keys_of_trees_and_of_named_file_sets_are_swept_by_their_path() -> None:
    tree = """
name: trees
title: Trees
question: How deep?
clients: [1]
workloads:
  deep:
    title: Deep
    tree: {items: 4, branch: 2}
    steps: [create-tree, create]
    sweep: {tree.depth: [0, 3]}
  two:
    title: Two
    files:
      a: {layout: N-N, order: sequential, per_rank: 1m}
    steps: [write]
    sweep: {files.a.transfer: [64k, 128k]}
"""
    swept = cases(tree)
    assert [plan["trees"]["tree"]["depth"] for _, plan in swept[:2]] == [0, 3]
    assert [plan["files"]["a"]["transfer_bytes"] for _, plan in swept[2:]] == [65536, 131072]


def test_values_may_come_from_a_setting() -> None:
    text = sweeping("{transfer: '${transfers}'}").replace("settings:\n", "settings:\n  transfers: [64k, 1m]\n")
    assert [point["transfer"] for point in points(cases(text, "transfers=4k,8k,16k"))] == [4096, 8192, 16384]


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        (
            "{transfr: [4k]}",
            "my.yaml:21: workloads.big.sweep.transfr: `transfr` is not a key of a workload or its storage; did you",
        ),
        ("{transfer: 4k}", "workloads.big.sweep.transfer: is not a list of values; write for example [64k, 1m]"),
        ("{transfer: []}", "workloads.big.sweep.transfer: is not a list of values"),
        ("{transfer: [4k, 5q]}", 'workloads.big.sweep.transfer[1]: "5q" has the unknown suffix "q"'),
        ("{transfer: [1m], clients: [1, 2]}", "`clients` does not belong in `sweep`; write `clients: [1, 2, 4]`"),
        ("{transfer: [1m], title: [a, b]}", "`title` cannot be swept"),
        ("{transfer: [1m], steps.wirte.fsync: [never]}", "is not a key of a step; write `steps.NAME.KEY`"),
        ("{transfer: [4k, 4096]}", "has the same effect as transfer 4096"),
        ("[4k]", "workloads.big.sweep: is not a set of keys; write for example `sweep: {transfer: [64k, 1m]}`"),
        ("{transfer: [3m]}", "8 MiB of `big` is not a multiple of its transfer of 3 MiB; use 6MiB or 9MiB"),
    ],
)
def test_an_impossible_sweep_is_refused_with_its_place(sweep: str, message: str) -> None:
    assert message in "\n".join(refusal(sweeping(sweep)))


def test_refusals_of_some_combinations_name_their_values() -> None:
    text = sweeping("{transfer: [1000, 2k], depth: [1, 8]}").replace("total: 8MiB", "total: 8192000")
    text = text.replace("\nsteps:", "\nstorage: {api: uring, direct: yes}\nsteps:")
    (sectors,) = refusal(text)
    assert sectors.startswith("my.yaml:22: workloads.big.sweep.transfer[0]: 1000 is not a multiple of the sector size")
    assert ", 512 bytes, with transfer 1000; use 512 or 1024" in sectors
    text = text.replace("1000, 2k", "1k, 2k").replace("- write", "- write: {lock: range}")
    (lock,) = refusal(text)
    assert lock.startswith("my.yaml:13: steps[0].write.lock: transfers cannot be locked one by one while")
    assert lock.endswith("with depth 8; use storage.depth 1")
    (every,) = refusal(text.replace("[1, 8]", "[4, 8]"))
    assert every.endswith("while several are in flight; use storage.depth 1")


def test_a_key_of_storage_that_every_step_replaces_changes_nothing() -> None:
    text = sweeping("{transfer: [1m], depth: [1, 2]}")
    text = text.replace("  - write\n", "  - write: {storage: {api: posix}}\n")
    text = text.replace("  - read\n", "  - read: {storage: {api: posix}}\n")
    assert "has the same effect as transfer 1048576, depth 1: no step uses the key" in refusal(text)[0]


def test_a_figure_is_drawn_against_what_its_workloads_sweep() -> None:
    against = "operation: write, unit: GB/s, against: depth"
    text = sweeping("{transfer: [64k, 1m]}").replace("operation: write, unit: GB/s", against)
    assert "figures[0].against: `big` does not sweep `depth`" in refusal(text)[0]
    assert resolved(text.replace("against: depth", "against: transfer")).entry.figures[0].against == "transfer"


def test_more_combinations_than_a_run_may_have_are_refused_before_they_are_made() -> None:
    many = ", ".join(f"{4 * size}k" for size in range(1, 150))
    assert "has 22201 combinations" in refusal(sweeping(f"{{transfer: [{many}], offset: [{many}]}}"))[0]
