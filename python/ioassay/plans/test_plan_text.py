"""A plan in words. The sentences of studies are tested with theirs (`ioassay.studies.test_method`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ioassay.plans import text as plan_text
from ioassay.plans.kinds import metadata
from ioassay.protocol.plan import Tree
from ioassay.store.case_entry import case_entry
from ioassay.testing.front_end_run import ior_plan

DEFINITIONS = json.loads((Path(__file__).parents[1] / "schemas/plan.json").read_text())["$defs"]


def examples(name: str) -> list[Any]:
    """A value of every variant of a type of the plan."""
    return [_example(variant) for variant in DEFINITIONS[name]["oneOf"]]


def _example(schema: dict[str, Any]) -> Any:
    if "const" in schema:
        return schema["const"]
    if "$ref" in schema:
        schema = DEFINITIONS[schema["$ref"].rpartition("/")[2]]
        return _example(schema["oneOf"][0] if "oneOf" in schema else schema)
    match schema["type"]:
        case "object":
            return {key: _example(schema["properties"][key]) for key in schema["required"]}
        case "array":
            return []
        case "boolean":
            return True
    return 3


def text_of(plan: Any) -> str:
    """All words for a plan."""
    text = " ".join([*plan_text.sets(plan), plan_text.steps(plan), plan_text.storage(plan["storage"])])
    assert "{" not in text
    assert case_entry(plan, None, "w", 1, lambda phase, job: "").phases
    return text


@pytest.mark.parametrize("order", examples("Order"), ids=str)
@pytest.mark.parametrize("source", examples("Source"), ids=str)
def test_every_order_and_source_has_words(order: Any, source: Any) -> None:
    plan = ior_plan("case", Path("/scratch/test"))
    plan["steps"][1]["jobs"][0]["work"] |= {"order": order, "source": source}
    assert "read" in text_of(plan)


@pytest.mark.parametrize("fsync", examples("Fsync"), ids=str)
@pytest.mark.parametrize("transfer", examples("Transfer"), ids=str)
def test_every_fsync_and_transfer_has_words(fsync: Any, transfer: Any) -> None:
    plan = ior_plan("case", Path("/scratch/test"))
    plan["steps"][0]["jobs"][0]["work"] |= {"fsync": fsync, "transfer": transfer}
    assert ("fsync" in text_of(plan)) == (fsync != "never")


@pytest.mark.parametrize("layout", examples("Layout"), ids=str)
def test_every_layout_has_words(layout: Any) -> None:
    plan = ior_plan("case", Path("/scratch/test"))
    plan["files"]["test"]["layout"] = layout
    assert ("groups of ranks" in text_of(plan)) == isinstance(layout, dict)


@pytest.mark.parametrize("operation", examples("MetadataOperation"), ids=str)
@pytest.mark.parametrize("sharing", examples("Sharing"))
def test_every_operation_on_a_tree_has_words(operation: Any, sharing: str) -> None:
    plan = ior_plan("case", Path("/scratch/test"))
    tree = {"sharing": sharing, "depth": 1, "branch": 2, "items_per_directory": 3, "leaves_only": False}
    work = {"kind": "metadata", "tree": "tree", "operation": operation, "order": "random", "paths": "full"}
    plan |= {"trees": {"tree": tree | {"items": "files"}}}
    plan["steps"] = [{"step": "phase", "name": "it", "jobs": [{"name": "it", "work": work}]}]
    assert "3 directories in 1 level below the root, 2 in each, with 3 files of each rank" in text_of(plan)


def test_additions_of_a_tree_and_its_work_have_words() -> None:
    plan = ior_plan("case", Path("/scratch/test"))
    tree = {"sharing": "unique", "depth": 0, "branch": 1, "items_per_directory": 3, "leaves_only": True}
    plan |= {"trees": {"tree": tree | {"items": "files", "displaced": 1}}}
    work = {"kind": "metadata", "tree": "tree", "order": "sequential", "paths": "full", "verify": True}
    create = work | {"operation": {"kind": "create", "write_bytes": 9, "fsync": False}, "sync_at_end": True}
    read = work | {"operation": {"kind": "read", "bytes": 9}}
    plan["steps"] = [
        {"step": "phase", "name": name, "jobs": [{"name": name, "work": work}]}
        for name, work in (("create", create), ("look", read))
    ]
    text = text_of(plan)
    for words in (
        "in the tree of the rank 1 further on",
        "create the items of tree, with a sync of the nodes at the end that counts in the time, 9 B each, "
        "with all writes compared",
        "read every item of tree (look), 9 B each, with all reads compared",
    ):
        assert words in text


def test_a_replacement_says_whose_files_and_how_many() -> None:
    plan = ior_plan("case", Path("/scratch/test"))
    tree = {"sharing": "unique", "depth": 1, "branch": 2, "items_per_directory": 3, "leaves_only": True}
    plan |= {"trees": {"tree": tree | {"items": "files", "names": "md-workbench"}}}
    work = {"kind": "metadata", "tree": "tree", "order": "interleaved", "paths": "full"}
    create = {"kind": "create", "write_bytes": 9, "fsync": False}
    jobs: dict[str, dict[str, Any]] = {
        "grow": {"work": work | {"operation": {"kind": "create-tree"}, "order": "sequential"}},
        "create": {
            "work": work | {"operation": create},
            "limit": {"at_rate_of": {"step": 0, "duration_ns": 60 * 10**9}},
        },
        "replace": {"work": work | {"operation": {"kind": "replace", "bytes": 9}, "shift": 1, "verify": True}},
    }
    plan["steps"] = [{"step": "phase", "name": name, "jobs": [{"name": name, **job}]} for name, job in jobs.items()]
    text = text_of(plan)
    for words in (
        "in each of the deepest directories, called as md-workbench calls them",
        "create the items of tree, 9 B each, one of each directory in turn, as many as grow would have done in 1 min",
        "look at every item, read it, remove it and create another one of tree, 9 B each, one of each directory in "
        "turn, in the n-th directory those of the rank n before, by new ones of the rank n after, with all reads "
        "compared",
    ):
        assert words in text, text


def test_every_step_has_words() -> None:
    plan = ior_plan("case", Path("/scratch/test"))
    plan["steps"][0]["settle"] = True
    plan["steps"] += [
        {"step": "pause", "duration_ns": 3 * 10**9},
        {
            "step": "cold-cache",
            "hooks": [
                {"host": "nfs1", "command": {"words": ["ssh", "nfs1", "rm -rf x"], "time_limit_ns": 1}},
                {"command": {"words": ["sh", "-c", "echo 3 > all"], "time_limit_ns": 1}},
            ],
            "attempts": examples("CacheMethod"),
            "remount": {"words": ["remount-scratch", "-a"], "time_limit_ns": 1},
        },
        {"step": "phase", "name": "find", "jobs": [{"name": "find", "work": {"kind": "find", "newer_than_step": 0}}]},
    ]
    assert {step["step"] for step in plan["steps"]} == {step["step"] for step in examples("Step")}
    text = text_of(plan)
    for words in (
        "; remove the files; wait 3 s; run `ssh nfs1 'rm -rf x'` for the server nfs1, then run `echo 3 > all`, then "
        "empty the caches on every node by dropping",
        "then by unmounting the file system and mounting it anew (`remount-scratch -a`), then by",
        "every entry changed since the phase write",
        "wait until all that was written before is on stable storage, then write",
    ):
        assert words in text, text


def test_several_file_sets_are_named() -> None:
    plan = ior_plan("case", Path("/scratch/test"))
    plan["files"]["other"] = plan["files"]["test"]
    text = text_of(plan)
    for words in ("file set test: ", "file set other: ", "write test, with", "remove the files of test"):
        assert words in text


def test_a_tree_too_large_to_count_is_not_counted_to_the_end() -> None:
    large: Tree = {
        "sharing": "unique",
        "depth": 10**9,
        "branch": 1000,
        "items_per_directory": 1,
        "leaves_only": False,
        "items": "files",
    }
    assert "directories in 1000000000 levels" in metadata.tree(large)
