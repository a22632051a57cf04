"""No key that describes I/O is accepted and then ignored: each changes the plan that the engine gets."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ioassay.protocol.plan import Plan
from ioassay.studies.files import SIZES, FileSet, Tree
from ioassay.studies.replay import (
    Fill,
    Replay,
    Stream,
    StreamChanges,
    StreamLookups,
    StreamOrder,
    StreamTransfers,
)
from ioassay.studies.steps import Find, Limit, Mixed, Phase
from ioassay.studies.storage import Storage, Uring
from ioassay.studies.test_cases import cases
from ioassay.yaml_models.model import Part

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
    return of_write({"limit": {"operations": 7} | keys})


def of_find(keys: Keys) -> Plan:
    return plan([{"create-tree": {"tree": "tree"}}, {"write": {"files": "files"}}, {"find": keys}])


def of_storage(keys: Keys) -> Plan:
    return of_write({"storage": {"api": "io_uring", "depth": 4} | keys})


def of_uring(keys: Keys) -> Plan:
    return of_storage({"direct": "yes", "uring": {"registered_files": "no"} | keys})


TRANSFERS: Keys = {"tree": "tree", "count": 8, "file_size": "64KiB", "sizes": "4KiB"}


def of_replay(keys: Keys) -> Plan:
    streams = {"streams": [{"stat": {"tree": "tree", "count": 7}}]}
    return plan([{"create-tree": {"tree": "tree"}}, {"replay": {"duration": "3s"} | streams | keys}])


def of_stream(keys: Keys) -> Plan:
    return of_replay({"streams": [keys or {"stat": {"tree": "tree", "count": 8}}]})


def of_stream_read(keys: Keys) -> Plan:
    return of_stream({"read": TRANSFERS | keys})


def of_stream_order(keys: Keys) -> Plan:
    return of_stream_read({"order": {"consecutive": 2, "forward": 1, "random": 1} | keys})


def of_stream_stat(keys: Keys) -> Plan:
    return of_stream({"stat": {"tree": "tree", "count": 7} | keys})


def of_stream_remove(keys: Keys) -> Plan:
    return of_stream({"remove": {"tree": "tree", "count": 7} | keys})


def of_fill(keys: Keys) -> Plan:
    return of_stream({"fill": {"tree": "tree", "file_size": "1MiB"} | keys})


OF_STREAM: Keys = {"tree": "other-tree", "timeline": [1, 2, 0]}
OF_RANKS: Keys = OF_STREAM | {"ranks": "1-2", "items": "all"}

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
        "at_rate_of": {"phase": "before", "time": "60s"},
        "runtime": "30s",
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
    (Replay, of_replay): {
        "name": "phase-1",
        "duration": "4s",
        "pace": "unlimited",
        "streams": [{"open": {"tree": "tree", "count": 7}}],
    },
    (Stream, of_stream): {
        "fill": {"tree": "tree", "file_size": "1MiB"},
        "read": TRANSFERS,
        "write": TRANSFERS,
        "open": {"tree": "tree", "count": 8},
        "stat": {"tree": "tree", "count": 8, "absent": "yes"},
        "create": {"tree": "tree", "count": 8},
        "rename": {"tree": "tree", "count": 8},
        "remove": {"tree": "tree", "count": 8},
    },
    (Fill, of_fill): {**OF_STREAM, "file_size": "2MiB"},
    (StreamTransfers, of_stream_read): {
        **OF_RANKS,
        "count": 9,
        "opens": 2,
        "file_size": "128KiB",
        "sizes": {"4KiB": 300, "1MiB": 20},
        "order": "random",
        "region": "segment",
        "sync_every": 4,
    },
    (StreamOrder, of_stream_order): {"consecutive": 3, "forward": 2, "backward": 2, "random": 2},
    (StreamLookups, of_stream_stat): {**OF_RANKS, "count": 9, "absent": "yes"},
    (StreamChanges, of_stream_remove): {**OF_RANKS, "count": 9},
    (Storage, of_storage): {
        "api": "mmap",
        "options": {"collective": "yes"},
        "direct": "yes",
        "cache": "uncached",
        "depth": 8,
        "vectors": 2,
        "retries": 3,
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
