"""What holds of every rule, whatever it is about."""

from __future__ import annotations

import importlib
import pkgutil
import random
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import product
from typing import get_args

import pytest

from ioassay.protocol.snapshot import CommandOutput
from ioassay.protocol.snapshot import Snapshot as Document
from ioassay.testing import snapshots, storage_nodes, tuned_systems
from ioassay.testing.apply_assignments import applied
from ioassay.tuning import rules
from ioassay.tuning.rule import (
    Area,
    Assignment,
    Change,
    Fine,
    Judgement,
    NotApplicable,
    NotJudged,
    NotReadable,
    Rule,
    Source,
)
from ioassay.tuning.rules import RULES
from ioassay.tuning.snapshot import Snapshot
from ioassay.tuning.system import Array, System

_GRAMMAR = re.compile(
    r"block:[A-Za-z0-9!_.-]+/[a-z0-9_]+(/[a-z0-9_]+)?|sysctl:[a-z]+(\.[a-z0-9_-]+)+|sys:[a-z0-9_/.:*-]+|"
    r"lctl:[A-Za-z0-9_*-]+(\.[A-Za-z0-9_*-]+)+|mount:/[^ ]*/[a-z_]+|module:[a-z0-9_]+/[a-z0-9_]+"
)
_MADE: Mapping[str, Callable[[], Snapshot]] = {
    "md3460_oss": tuned_systems.md3460_oss,
    "md3460_oss_tuned": tuned_systems.md3460_oss_tuned,
    "lustre_client": tuned_systems.lustre_client,
    "nvme_node": tuned_systems.nvme_node,
    "nfs_client": lambda: storage_nodes.nfs_client().snapshot(),
    "nfs_server": lambda: storage_nodes.nfs_server().snapshot(),
    "gpfs_client": lambda: storage_nodes.gpfs_client().snapshot(),
    "ext4_host": lambda: storage_nodes.ext4_host().snapshot(),
    "beegfs_client": lambda: storage_nodes.beegfs_client().snapshot(),
    "beegfs_server": lambda: storage_nodes.beegfs_server().snapshot(),
    "btrfs_host": lambda: storage_nodes.btrfs_host("compress=zstd:9,discard", data="raid6").snapshot(),
    "network_client": lambda: storage_nodes.network_client().snapshot(),
    "zfs_server": lambda: storage_nodes.zfs_server(sync="disabled", compression="off").snapshot(),
}
_GARBAGE = (
    b"", b"-1", b"0", b"1", b"\xff\xfe", b"9" * 25, b"9" * 5000, b"[", b"[]", b"x y z", b"1.5", "²".encode(), b"4:1\n:",
)  # fmt: skip
_DAMAGED = (0.05, 0.3, 1.0)
"""Shares of the files that say something else."""
_SEEDS = 12
_ARRAYS = (None, tuned_systems.MD3460, tuned_systems.MD3460_UNTUNED, Array(9, 64 << 10, 1))

each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)


@cache
def _snapshots() -> Mapping[str, Snapshot]:
    return {name: make() for name, make in _MADE.items()}


@cache
def _systems() -> Mapping[str, System]:
    """Every system with every array, once for all rules: what it knows of its files is expensive."""
    return {
        f"{name}, array {index}": System(known, array)
        for name, known in _snapshots().items()
        for index, array in enumerate(_ARRAYS)
    }


@cache
def _damaged() -> Mapping[str, System]:
    """Every system with garbage in few, in some and in all of its files, each time other garbage in other files."""
    systems = {}
    for name, known in _snapshots().items():
        for share, index in product(_DAMAGED, range(_SEEDS)):
            seed = f"{name}, {share:.0%} damaged, seed {index}"
            chance = random.Random(seed)
            files = {
                path: chance.choice((*_GARBAGE, chance.randbytes(20))) if chance.random() < share else content
                for path, content in known.files.items()
            }
            snapshot = Snapshot(known.document, files, known.links, known.outputs)
            systems[seed] = System(snapshot, _ARRAYS[index % len(_ARRAYS)])
    return systems


@cache
def _blind() -> Mapping[str, System]:
    """Every system with files of which none can be read, and commands that all fail."""
    return {
        name: System(
            snapshots.snapshot(
                {},
                links=known.links,
                unreadable=dict.fromkeys(known.files, "Permission denied"),
                failed={" ".join(command["argv"]): "Permission denied" for command in known.document["commands"]},
            )
        )
        for name, known in _snapshots().items()
    }


@contextmanager
def _about(name: str) -> Iterator[None]:
    """Has what is raised name the system."""
    try:
        yield
    except Exception as error:
        error.add_note(f"System: {name}")
        raise


@each_rule
def test_a_rule_says_what_it_must(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert rule.area in get_args(Area)
    assert rule.title[0].isupper()
    assert not rule.title.endswith(".")
    assert len(rule.title) <= 90
    for text in (rule.reason, rule.risk):
        assert text == text.strip()
        assert text.endswith(".")
        assert "  " not in text
    assert rule.parameters
    assert rule.sources
    for source in rule.sources:
        assert isinstance(source, Source)
        assert source.text
        assert source.url == "" or source.url.startswith(("https://", "http://"))
    assert set(rule.bounds) <= set(rule.parameters)
    assert (rule.weight == "usual") == (rule.weight_reason == "")


def test_each_rule_has_a_name_of_its_own_and_is_listed_by_its_area() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(rules.__path__, f"{rules.__name__}.")
        if ".test_" not in module.name and not module.name.endswith("conftest")
    ]
    defined = [value for module in modules for value in vars(module).values() if isinstance(value, Rule)]
    assert len(defined) > 100
    assert sorted(rule.name for rule in defined) == sorted(rule.name for rule in RULES)


@each_rule
def test_a_rule_says_why_it_does_not_apply_to_an_empty_snapshot(rule: Rule) -> None:
    judgements = rule.judgements(System(snapshots.snapshot({})))
    assert judgements
    assert all(isinstance(judgement, NotApplicable | NotReadable) for judgement in judgements), judgements


@each_rule
def test_a_rule_is_content_once_its_recommendation_is_set(rule: Rule) -> None:
    for name, system in _systems().items():
        with _about(name):
            judgements = rule.judgements(system)
            _check(judgements)
            to_set = [judgement for judgement in judgements if isinstance(judgement, Change) and judgement.assignments]
            if not to_set:
                continue
            after = applied(
                system.snapshot, [assignment for judgement in to_set for assignment in judgement.assignments]
            )
            again = rule.judgements(System(after, system.array))
            subjects = {judgement.subject for judgement in to_set}
            assert not [
                judgement for judgement in again if isinstance(judgement, Change) and judgement.subject in subjects
            ]
            assert {judgement.subject for judgement in again if isinstance(judgement, Fine)} >= subjects


@each_rule
def test_a_rule_never_raises_whatever_files_say(rule: Rule) -> None:
    for name, system in _damaged().items():
        with _about(name):
            _check(rule.judgements(system))


@each_rule
def test_a_rule_recommends_nothing_where_no_file_can_be_read(rule: Rule) -> None:
    for name, system in _blind().items():
        with _about(name):
            judgements = rule.judgements(system)
            assert all(isinstance(judgement, NotApplicable | NotReadable) for judgement in judgements), judgements


_COMMANDS = {
    "ext4-journal-size": (storage_nodes.ext4_host, "dumpe2fs -h /dev/sdb1"),
    "ext4-stripe": (storage_nodes.ext4_host, "dumpe2fs -h /dev/sdb1"),
    "xfs-allocation-groups": (storage_nodes.nfs_server, "xfs_info /export"),
    "gpfs-block-size": (storage_nodes.gpfs_client, "mmlsfs all -Y"),
    "gpfs-allocation-map": (storage_nodes.gpfs_client, "mmlsfs all -Y"),
    "gpfs-access-times": (storage_nodes.gpfs_client, "mmlsfs all -Y"),
}
"""Rules that need the output of one command, and a node on which they do."""


@pytest.mark.parametrize("name", _COMMANDS)
def test_a_rule_whose_command_failed_names_the_command_and_its_error(name: str) -> None:
    node, command = _COMMANDS[name]
    system = System(node().with_failed({command: "Permission denied"}).snapshot(), Array(8, 128 << 10, 2))
    (rule,) = (rule for rule in RULES if rule.name == name)
    assert NotReadable(command, "exit status 1: Permission denied") in rule.judgements(system)


@each_rule
def test_commands_that_fail_make_no_rule_recommend_otherwise(rule: Rule) -> None:
    for name, system in _systems().items():
        with _about(name):
            ran = system.snapshot.document["commands"]
            failed = [CommandOutput(argv=output["argv"], exit_code=1, error="Permission denied") for output in ran]
            assert _recommended(rule, system, failed) == _recommended(rule, system, [])


def _recommended(rule: Rule, system: System, commands: list[CommandOutput]) -> list[Judgement]:
    """What is fine and what is to be changed, where these commands were run."""
    document: Document = {**system.snapshot.document, "commands": commands}
    judgements = rule.judgements(System(replace(system.snapshot, document=document), system.array))
    return [judgement for judgement in judgements if isinstance(judgement, Fine | Change)]


def _check(judgements: list[Judgement]) -> None:
    assert judgements
    for judgement in judgements:
        if isinstance(judgement, Change):
            assert judgement.subject
            assert judgement.value
            assert judgement.wanted
            assert judgement.value != judgement.wanted
            assert judgement.assignments or judgement.command
            for assignment in judgement.assignments:
                assert isinstance(assignment, Assignment)
                assert _GRAMMAR.fullmatch(assignment.name), assignment
                assert assignment.value
        elif isinstance(judgement, Fine):
            assert judgement.subject
            assert judgement.value
        elif isinstance(judgement, NotApplicable):
            assert judgement.why
            assert not judgement.why.endswith(".")
        elif isinstance(judgement, NotJudged):
            assert judgement.subject
            assert judgement.value
            assert judgement.why.startswith("depends on ")
        else:
            assert judgement.what
            assert judgement.reason
