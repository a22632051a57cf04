"""No key that describes I/O is accepted and then ignored: each changes the plan that the engine gets."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ioassay.protocol.plan import Plan
from ioassay.studies.files import SIZES, FileSet, Tree
from ioassay.studies.steps import Find, Limit, Mixed, Phase
from ioassay.studies.storage import Storage, Uring
from ioassay.studies.test_cases import cases
from ioassay.yaml_models.values import Part

Keys = dict[str, Any]

FILE_SET: Keys = {"layout": "N-N", "order": "sequential", "transfer": "64KiB", "per_rank": "1MiB"}
TREE: Keys = {"items": 10, "depth": 1, "branch": 2, "payload": "ior-offset 7"}


def plan(steps: list[Any], file_set: Keys = FILE_SET, tree: Keys = TREE) -> Plan:
    """The plan of a study of two clients with a file set `files`, a tree `tree`, and another of each."""
    study = {
        "name": "s",
        "title": "S",
        "question": "Q?",
        "clients": [2],
        "ranks_per_client": 2,
        "workloads": {
            "w": {
                "title": "W",
                "files": {"files": file_set, "other-files": FILE_SET},
                "trees": {"tree": tree, "other-tree": TREE},
                "steps": steps,
            }
        },
    }
    # JSON is YAML, too.
    case: Plan
    ((_, case),) = cases(json.dumps(study))
    return case


def of_file_set(keys: Keys) -> Plan:
    kept = {key: value for key, value in FILE_SET.items() if key not in SIZES or keys.keys().isdisjoint(SIZES)}
    return plan([{"write": {"files": "files"}}], file_set=kept | keys)


def of_file_set_in_groups(keys: Keys) -> Plan:
    return of_file_set({"layout": "N-M", "groups": [1]} | keys)


def of_tree(keys: Keys) -> Plan:
    return plan([{"create-tree": {"tree": "tree"}}, {"create": {"tree": "tree"}}], tree=TREE | keys)


def of_write(keys: Keys) -> Plan:
    return plan([{"write": {"name": "before", "files": "files"}}, {"write": {"files": "files"} | keys}])


def of_read(keys: Keys) -> Plan:
    return plan([{"write": {"files": "files"}}, {"read": {"files": "files"} | keys}])


def of_create(keys: Keys) -> Plan:
    return plan(
        [
            {"create-tree": {"tree": "tree"}},
            {"create-tree": {"name": "other", "tree": "other-tree"}},
            {"create": {"tree": "tree"} | keys},
        ]
    )


def of_stat(keys: Keys) -> Plan:
    return plan([{"create-tree": {"tree": "tree"}}, {"create": {"tree": "tree"}}, {"stat": {"tree": "tree"} | keys}])


def of_mixed(keys: Keys) -> Plan:
    return plan([{"write": {"files": "files"}}, {"mixed": {"files": "files", "read": "70%"} | keys}])


def of_limit(keys: Keys) -> Plan:
    return of_create({"limit": {"operations": 7} | keys})


def of_find(keys: Keys) -> Plan:
    return plan([{"create-tree": {"tree": "tree"}}, {"write": {"files": "files"}}, {"find": keys}])


def of_storage(keys: Keys) -> Plan:
    return of_write({"storage": {"api": "io_uring", "depth": 4} | keys})


def of_uring(keys: Keys) -> Plan:
    return of_storage({"direct": "yes", "uring": {"registered_files": "no"} | keys})


EVERY_KEY: dict[tuple[type[Part], Callable[[Keys], Plan]], Keys] = {
    (FileSet, of_file_set): {
        "layout": "N-1",
        "order": "random",
        "transfer": "32KiB",
        "total": "8MiB",
        "per_client": "8MiB",
        "per_rank": "2MiB",
        "per_file": "2MiB",
        "files_per_rank": 2,
        "segments": 4,
        "interleave": "strided",
        "offset": "1MiB",
        "payload": "unique",
        "ranks": "1/2",
    },
    (FileSet, of_file_set_in_groups): {"groups": [2]},
    (Tree, of_tree): {
        "items": 11,
        "of": "directories",
        "depth": 2,
        "branch": 3,
        "leaves_only": "yes",
        "sharing": "shared",
        "displaced": 1,
        "names": "md-workbench",
        "payload": "ior-offset 8",
        "ranks": "1/2",
    },
    (Phase, of_write): {
        "name": "again",
        "files": "other-files",
        "order": "random",
        "fsync": "never",
        "limit": {"operations": 3},
        "rate": "10MB/s",
        "think": "10ms",
        "storage": {"direct": "yes"},
        "verify": "writes",
        "barriers": "yes",
        "settle": "yes",
        "size": "full",
        "lock": "range",
        "advice": ["random"],
    },
    (Phase, of_read): {"read_from": "shift 1"},
    (Phase, of_stat): {"shift": 1, "paths": "at"},
    (Phase, of_create): {"tree": "other-tree", "bytes": "4KiB", "using": "mknod"},
    (Mixed, of_mixed): {"read": "30%"},
    (Limit, of_limit): {
        "bytes": "1MiB",
        "operations": 8,
        "at_rate_of": {"phase": "create-tree", "time": "60s"},
        "stonewall": "30s",
        "wear_out": "yes",
        "minimum": "3s",
    },
    (Find, of_find): {
        "name": "walk",
        "root": "/elsewhere",
        "tree": "tree",
        "named": "*01*",
        "exactly": "4KiB",
        "at_least": "4KiB",
        "at_most": "4KiB",
        "newer_than": "write",
        "entries": "files",
    },
    (Storage, of_storage): {
        "api": "mmap",
        "options": {"collective": "yes"},
        "direct": "yes",
        "depth": 8,
        "vectors": 2,
        "uring": {"sqpoll": "yes"},
    },
    (Uring, of_uring): {
        "batch": 2,
        "registered_buffers": "yes",
        "registered_files": "yes",
        "sqpoll": "yes",
        "iopoll": "yes",
    },
}


@pytest.mark.parametrize("model", dict.fromkeys(model for model, _ in EVERY_KEY), ids=lambda model: str(model.__name__))
def test_no_key_is_left_out_here(model: type[Part]) -> None:
    tried = {key for (of, _), keys in EVERY_KEY.items() if of is model for key in keys}
    inherited = set(Phase.model_fields) if model is Mixed else set()
    assert tried == set(model.model_fields) - inherited


@pytest.mark.parametrize(
    ("planned", "key", "value"),
    [
        pytest.param(planned, key, value, id=f"{planned.__name__}-{key}")
        for (_, planned), keys in EVERY_KEY.items()
        for key, value in keys.items()
    ],
)
def test_every_key_changes_the_plan(planned: Callable[[Keys], Plan], key: str, value: object) -> None:
    assert planned({key: value}) != planned({})
