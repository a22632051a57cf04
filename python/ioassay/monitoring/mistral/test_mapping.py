import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.errors import UsageError
from ioassay.monitoring.mistral.contract_file import MistralContract, MistralRule, read_contract, write_contract
from ioassay.monitoring.mistral.mapping import (
    CALL_TYPE,
    MEASURE,
    MEASUREMENT,
    call_types_of,
    classes_of,
    contracts_of,
    rules_of,
)
from ioassay.monitoring.mistral.terms import CALL_TYPES, MEASUREMENTS, CallType, Measurement, SizeRange, Unreadable
from ioassay.protocol.contract import Rule, Scope
from ioassay.testing import mistral
from ioassay.yaml_models.source import SourceError

READ = ["read", "stream read", "copy from", "submit read"]
WRITE = ["write", "stream write", "copy to", "submit write"]


def converted(*rules: str, kind: str = "monitor", timeframe: str = "1s") -> tuple[list[Rule], list[str]]:
    """The rules of a contract with these lines, and its notes."""
    contract = read_contract("\n".join((f"2, {kind}timeframe, {timeframe}", *rules)), "c")
    conversion = rules_of(contract, "job", "c")
    return conversion.rules, [str(note) for note in conversion.notes]


def refusal(*rules: str, kind: str = "monitor", timeframe: str = "1s") -> str:
    with pytest.raises(SourceError) as refused:
        converted(*rules, kind=kind, timeframe=timeframe)
    return refused.value.message


def test_a_rule_of_mistral_becomes_one_of_ioassay() -> None:
    rules, notes = converted("reads, /scratch/, read, 4kB-1MB, bandwidth, 1GB", kind="throttle", timeframe="5s")
    assert rules == [
        Rule(
            action="throttle",
            calls=READ,
            label="reads",
            least_bytes=4000,
            limit=10**9,
            measure="bandwidth",
            most_bytes=10**6,
            path="/scratch",
            scope="job",
            window_s=5,
        )
    ]
    assert not notes


def test_times_are_nanoseconds_and_the_root_is_all_files() -> None:
    ((rule,), _) = converted("slow, /, open+create, all, mean-latency, 10ms")
    assert (rule["limit"], rule.get("path"), rule["calls"]) == (10_000_000, None, ["open", "create"])


def test_memory_and_time_are_those_of_processes() -> None:
    ((memory, time), _) = converted("m, /any, none, all, memory, 1GB", "t, /, none, all, user-time, 1s")
    assert (memory["measure"], memory["calls"], memory.get("path")) == ("resident-memory", [], None)
    assert (time["measure"], time["limit"]) == ("user-time", 10**9)


def test_rules_of_the_administrators_are_of_the_whole_node() -> None:
    contract = read_contract("2, monitortimeframe, 1s\nreads, /, read, all, count, 1k", "c")
    assert [rule["scope"] for rule in rules_of(contract, "node", "c").rules] == ["node"]


@pytest.mark.parametrize(
    ("rule", "note"),
    [
        ("a,/,create,all,count,1", r"c:2: a: opens that create a file and opens that do not are one class .*"),
        ("a,/,open,all,count,1", r"c:2: a: opens that create a file .*"),
        ("a,/,mpi_open,all,count,1", r"c:2: a: opening, closing and syncing files of MPI are one class of calls"),
        ("a,/,seek,all,seek-distance,1MB", r"c:2: a: the distance is measured from the end of a transfer .*"),
        ("a,/,none,all,host-cpu-iowait-time,1s", r"c:2: a: the time is that of the watched processes, .*"),
    ],
)
def test_a_rule_that_is_measured_differently_has_a_note(rule: str, note: str) -> None:
    (_, (actual_note,)) = converted(rule)
    assert re.fullmatch(note, actual_note)


def test_rules_for_which_mistral_logs_only_the_highest_are_named() -> None:
    (_, notes) = converted(*(f"r{size}, /usr, read, all, bandwidth, {size}MB" for size in (5, 1, 50)))
    assert notes == [
        f"c:{line}: {label}: Mistral does not log {lower} where this rule is broken too; here each of them alerts"
        for line, label, lower in ((2, "r5", "r1"), (4, "r50", "r5, r1"))
    ]


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("a,/,create,all,count,1", r"c:2: a: opens that create a file .*; so it would slow down other calls too.*"),
        ("a,/,read,all,mean-latency,1s", r"c:2: a: mean-latency cannot be throttled; throttle bandwidth or count"),
        ("a,/,none,all,memory,1GB", r"c:2: a: memory cannot be throttled; .*"),
        ("a,/,none,all,cpu-time,1s", r"c:2: a: cpu-time is the sum of two measures; write a rule for user-time .*"),
        ("a,/,mpi_delete,all,count,1", r"c:2: a: calls of the type mpi_delete are not recorded; leave it out"),
        ("a,/,none,all,count,1", r"c:2: a: count of none; write a type of calls"),
        ("a,/,none+read,all,count,1", r"c:2: a: count of none\+read; write a type of calls"),
        ("a,/,read+open,all,bandwidth,1B", r"c:2: a: calls of open\+read do not all move bytes; use mpi_read, .*"),
        ("a,/,seek,-4kB,count,1", r"c:2: a: calls of seek do not all have a size; write the size range all"),
        ("a,scratch,read,all,count,1", r'c:2: a: the path "scratch" is not absolute; write an absolute path'),
        ("a,/x/../y,read,all,count,1", r'c:2: a: the path "/x/../y" has `\.\.`; write the path that it leads to'),
        ("a,/,read,all,bandwidth,0B", r"c:2: a: has a limit of 0, which would stop the job for good; write .*"),
        ("a,/,mmap,all,count,1", r"c:2: a: nothing can hold these calls back; monitor them"),
        ("a,/x/$USER,read,all,count,1", r'c:2: a: the path "/x/\$USER" has a variable .*; write its value'),
    ],
)
def test_an_unsupported_rule_is_refused_with_its_name_and_line(rule: str, problem: str) -> None:
    assert re.fullmatch(problem, refusal(rule, kind="throttle"))


def test_some_are_refused_in_monitoring_contracts_only_because_no_other_has_them() -> None:
    assert refusal("a,/,read,all,user-time,1s") == "c:2: a: user-time of read; write the type of calls none"
    assert refusal("a,/,read,all,seek-distance,1B") == "c:2: a: seek-distance is that of seeks alone; write seek"
    assert refusal("a,/,read,all,max-latency,9223372036854s") == (
        "c:2: a: the threshold is longer than 584 years; write a shorter time"
    )


def test_windows_are_whole_seconds_and_labels_differ() -> None:
    assert refusal("a,/,read,all,count,1", timeframe="50ms").startswith("c:1: the time frame is not a whole number of")
    assert refusal("a,/,read,all,count,1", "a,/,write,all,count,1") == (
        "c:3: a: the label is that of an earlier rule; give each rule a label of its own"
    )


@pytest.mark.parametrize("measurement", [name for name in MEASUREMENTS if name != "cpu-time"])
def test_every_measurement_but_processor_time_has_a_measure(measurement: str) -> None:
    assert MEASURE[measurement] in MEASUREMENT  # type: ignore[index]


def test_every_type_of_calls_has_classes_or_is_refused() -> None:
    refused = set()
    for call_type in CALL_TYPES:
        try:
            assert bool(classes_of([call_type], "count")) == (call_type != "none")
        except Unreadable:
            refused.add(call_type)
    assert refused - {"accept", "connect", "glob"} == {"mpi_access", "mpi_delete", "mpi_fschange", "mpi_seek"}
    assert set(CALL_TYPE.values()) <= set(CALL_TYPES)


def test_alerts_name_the_types_of_their_classes() -> None:
    assert call_types_of([*READ, "open", "sync"], "count") == ("open", "read")
    assert call_types_of(["sync"], "count") == ("none",)
    assert call_types_of(["read", "write"], "seek-distance") == ("seek",)


def rules_with(
    call_types: Collection[CallType], measurements: Collection[Measurement]
) -> st.SearchStrategy[MistralRule]:
    return st.builds(
        MistralRule,
        label=st.just(""),
        path=mistral.words.map("/".__add__).filter(lambda path: "$" not in path and path.strip("/") != ""),
        call_types=st.sets(st.sampled_from([*call_types]), min_size=1).map(lambda names: tuple(sorted(names))),
        sizes=mistral.sizes if {"read"} <= {*call_types} <= SIZED else st.just(SizeRange()),
        measurement=st.sampled_from([*measurements]),
        threshold=st.integers(0, 2**64 // 1000),
    )


SIZED: set[CallType] = {"read", "write", "mpi_read", "mpi_write"}
usable_rules = (
    rules_with(SIZED, ["bandwidth", "count", "max-latency"])
    | rules_with(["access", "create", "delete", "fschange", "mmap", "open", "seek"], ["count", "mean-latency"])
    | rules_with(["seek"], ["seek-distance"])
    | rules_with(["none"], ["memory", "memory-vsize", "user-time", "host-cpu-iowait-time"])
)


@given(st.lists(usable_rules, min_size=1, max_size=4), st.sampled_from(["job", "node"]), st.integers(1, 86_400))
def test_rules_of_a_contract_convert_back_to_the_same_contract(
    rules: list[MistralRule], scope: Scope, window_s: int
) -> None:
    labelled = tuple(replace(rule, label=f"{number}") for number, rule in enumerate(rules))
    converted_rules = rules_of(MistralContract("monitor", window_s * 10**6, labelled), scope, "c").rules
    again = contracts_of(converted_rules)[scope, "monitor"]
    assert rules_of(read_contract(write_contract(again), "c"), scope, "c").rules == converted_rules


@given(mistral.contracts)
def test_any_contract_makes_rules_or_is_refused_with_a_line(contract: MistralContract) -> None:
    try:
        problems = rules_of(contract, "job", "c").notes
    except SourceError as error:
        problems = error.problems
    assert all(re.match(r"c:\d+: .", str(problem)) for problem in problems)


RULE = converted("a, /scratch, read, all, count, 1k")[0][0]


def test_rules_go_to_the_contract_of_their_scope_and_kind() -> None:
    node: Rule = {**RULE, "scope": "node", "label": "b"}
    assert [*contracts_of([RULE, node])] == [("job", "monitor"), ("node", "monitor")]


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ([{"calls": ["sync"]}], r'rule "a": count of none; write a type of calls'),
        ([{"calls": ["read"]}], r'rule "a": Mistral\'s read has stream read, copy from, submit read too; .*'),
        ([{"calls": ["read", "sync"]}], r'rule "a": Mistral\'s read has .* too; .*'),
        ([{"calls": [*READ, "sync"]}], r'rule "a": Mistral\'s read has other classes too; .*'),
        ([{"measure": "mean-latency", "limit": 1500}], r'rule "a" has a limit of 1500 ns; Mistral knows whole .*'),
        ([{"measure": "seek-distance", "calls": ["read"]}], r'rule "a": Mistral\'s seek has .*'),
        ([{"action": "throttle", "scope": "user"}], r'rule "a" has `scope: user`; Mistral\'s rules are for one node'),
        ([{"jobs": {"users": [7]}}], r'rule "a" is for some jobs only; Mistral\'s rules are for all: .*'),
        ([{"limit": 2**64 - 1}], r'rule "a" has a larger number than plug-ins take; write a smaller one'),
        ([{}, {"window_s": 5}], r"The monitor rules have windows of 1 s, 5 s; a contract of Mistral has one\."),
    ],
)
def test_rules_that_mistral_cannot_express_are_refused(rules: Sequence[dict[str, object]], reason: str) -> None:
    with pytest.raises(UsageError) as refused:
        contracts_of([cast("Rule", {**RULE, **rule}) for rule in rules])
    assert re.fullmatch(reason, refused.value.message)
