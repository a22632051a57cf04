"""What holds of every rule, whatever it is about."""

from __future__ import annotations

import importlib
import pkgutil
import random
import re
from collections.abc import Callable, Mapping
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ioassay.testing import snapshots, storage_nodes, tuned_systems
from ioassay.testing.apply_assignments import applied
from ioassay.tuning import rules
from ioassay.tuning.rule import Area, Assignment, Change, Fine, Judgement, NotApplicable, NotReadable, Rule, Source
from ioassay.tuning.rules import RULES
from ioassay.tuning.snapshot import Snapshot
from ioassay.tuning.system import Array, System

_GRAMMAR = re.compile(
    r"block:[A-Za-z0-9!_.-]+/[a-z0-9_]+(/[a-z0-9_]+)?|sysctl:[a-z]+(\.[a-z0-9_-]+)+|sys:[a-z0-9_/.:*-]+|"
    r"lctl:[A-Za-z0-9_*-]+(\.[A-Za-z0-9_*-]+)+|mount:/[^ ]*/[a-z_]+|module:[a-z0-9_]+/[a-z0-9_]+"
)
_SYSTEMS: Mapping[str, Callable[[], Snapshot]] = {
    "md3460_oss": tuned_systems.md3460_oss,
    "md3460_oss_tuned": tuned_systems.md3460_oss_tuned,
    "lustre_client": tuned_systems.lustre_client,
    "nvme_node": tuned_systems.nvme_node,
    "nfs_client": lambda: storage_nodes.nfs_client().snapshot(),
    "nfs_server": lambda: storage_nodes.nfs_server().snapshot(),
    "gpfs_client": lambda: storage_nodes.gpfs_client().snapshot(),
    "ext4_host": lambda: storage_nodes.ext4_host().snapshot(),
}
_KNOWN = {name: make() for name, make in _SYSTEMS.items()}
_GARBAGE = (
    b"", b"-1", b"0", b"1", b"\xff\xfe", b"9" * 25, b"9" * 5000, b"[", b"[]", b"x y z", b"1.5", "²".encode(), b"4:1\n:",
)  # fmt: skip
_ARRAYS = (None, tuned_systems.MD3460, tuned_systems.MD3460_UNTUNED, Array(9, 64 << 10, 1))

each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
each_system = pytest.mark.parametrize(
    "system",
    [
        pytest.param(System(made, array), id=f"{name}-{at}")
        for name, made in _KNOWN.items()
        for at, array in enumerate(_ARRAYS)
    ],
)


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


def test_each_rule_has_a_name_and_a_module_of_its_own() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(rules.__path__, f"{rules.__name__}.")
        if ".test_" not in found.name and not found.name.endswith("conftest")
    ]
    with_rule = [module.RULE for module in modules if hasattr(module, "RULE")]
    assert sorted(rule.name for rule in with_rule) == sorted(rule.name for rule in RULES)


@each_rule
def test_of_an_empty_snapshot_a_rule_says_why_it_does_not_apply(rule: Rule) -> None:
    judgements = rule.judgements(System(snapshots.snapshot({})))
    assert judgements
    assert all(isinstance(one, NotApplicable | NotReadable) for one in judgements), judgements


@each_system
@each_rule
def test_what_a_rule_recommends_makes_it_content(rule: Rule, system: System) -> None:
    judgements = rule.judgements(system)
    _check(judgements)
    to_set = [one for one in judgements if isinstance(one, Change) and one.assignments]
    after = applied(system.snapshot, [assignment for one in to_set for assignment in one.assignments])
    again = rule.judgements(System(after, system.array))
    subjects = {one.subject for one in to_set}
    assert not [one for one in again if isinstance(one, Change) and one.subject in subjects]
    assert {one.subject for one in again if isinstance(one, Fine)} >= subjects


@each_rule
@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32), name=st.sampled_from(sorted(_KNOWN)), array=st.sampled_from(_ARRAYS))
def test_a_rule_never_raises_whatever_files_say(rule: Rule, seed: int, name: str, array: Array | None) -> None:
    chance = random.Random(seed)
    known, damaged = _KNOWN[name], chance.choice((0.05, 0.3, 1.0))
    files = {
        path: chance.choice((*_GARBAGE, chance.randbytes(20))) if chance.random() < damaged else content
        for path, content in known.files.items()
    }
    _check(rule.judgements(System(Snapshot(known.document, files, known.links, known.outputs), array)))


@each_rule
@each_system
def test_where_nothing_can_be_read_a_rule_changes_nothing(rule: Rule, system: System) -> None:
    before = system.snapshot
    unreadable = dict.fromkeys(before.files, "Permission denied")
    blind = snapshots.snapshot({}, links=before.links, unreadable=unreadable)
    judgements = rule.judgements(System(blind))
    assert all(isinstance(one, NotApplicable | NotReadable) for one in judgements), judgements


def _check(judgements: list[Judgement]) -> None:
    assert judgements
    for one in judgements:
        if isinstance(one, Change):
            assert one.subject
            assert one.value
            assert one.wanted
            assert one.value != one.wanted
            assert one.assignments or one.command
            for assignment in one.assignments:
                assert isinstance(assignment, Assignment)
                assert _GRAMMAR.fullmatch(assignment.name), assignment
                assert assignment.value
        elif isinstance(one, Fine):
            assert one.subject
            assert one.value
        elif isinstance(one, NotApplicable):
            assert one.why
            assert not one.why.endswith(".")
        else:
            assert one.what
            assert one.reason
