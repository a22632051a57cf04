import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.errors import UsageError
from ioassay.monitoring.mistral.contract_file import MistralContract, MistralRule, read_contract, write_contract
from ioassay.monitoring.mistral.terms import SizeRange
from ioassay.testing import mistral
from ioassay.yaml_models.source import SourceError

CONTRACT = """\
2, monitortimeframe, 1s
# LABEL, PATH, CALL-TYPE, SIZE-RANGE, MEASUREMENT, THRESHOLD

reads,/scratch/,read,all,bandwidth,1MB
 small writes , /scratch/ , write+read , -4kB , count , 10k
slow,/home,create+open,all,mean-latency,10ms
"""


def test_a_contract_is_read_with_the_lines_of_its_rules() -> None:
    contract = read_contract(CONTRACT, "c")
    assert contract == MistralContract(
        "monitor",
        1_000_000,
        (
            MistralRule("reads", "/scratch/", ("read",), SizeRange(), "bandwidth", 1_000_000),
            MistralRule("small writes", "/scratch/", ("read", "write"), SizeRange(0, 4000), "count", 10_000),
            MistralRule("slow", "/home", ("create", "open"), SizeRange(), "mean-latency", 10_000),
        ),
    )
    assert [contract.line, *(rule.line for rule in contract.rules)] == [1, 4, 5, 6]


def test_both_kinds_and_lines_of_other_systems_are_read() -> None:
    text = CONTRACT.replace("monitor", "throttle").replace("\n", "\r\n")
    assert read_contract(text, "c") == MistralContract("throttle", 1_000_000, read_contract(CONTRACT, "c").rules)


def test_a_contract_is_written_in_the_largest_units_that_are_exact() -> None:
    assert write_contract(read_contract(CONTRACT, "c")) == (
        "2, monitortimeframe, 1s\n"
        "# LABEL, PATH, CALL-TYPE, SIZE-RANGE, MEASUREMENT, THRESHOLD\n"
        "reads, /scratch/, read, all, bandwidth, 1MB\n"
        "small writes, /scratch/, read+write, 0B-4kB, count, 10k\n"
        "slow, /home, create+open, all, mean-latency, 10ms\n"
    )


@given(mistral.contracts)
def test_a_written_contract_is_read_back_unchanged(contract: MistralContract) -> None:
    assert read_contract(write_contract(contract), "c") == contract


HEADER = "2, monitortimeframe, 1s\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", r"c:1: the contract has no header; begin with `2, monitortimeframe, 1s`"),
        ("# 2, monitortimeframe, 1s", r"c:1: the contract has no header; .*"),
        ("\nreads,/,read,all,count,1", r'c:2: "reads,/,read,all,count,1" is not a header; write .*'),
        ("1, monitortimeframe, 1s", r'c:1: contracts of version "1" cannot be read; convert it to version 2'),
        ("2, watchtimeframe, 1s", r'c:1: "watch" is not a kind of contract; use monitor, throttle'),
        ("2, monitortimeframe, 1", r'c:1: "1" is not a whole number with a unit; write a number with us ms s'),
        ("2, monitortimeframe, 0s", r"c:1: a time frame of 0 has no end; write 1s or more"),
        (HEADER + "a,/,read,all,count", r"c:2: 5 fields where a rule has 6; write LABEL, PATH, .*"),
        (HEADER + "a,/,read,all,count,1,2", r"c:2: 7 fields where a rule has 6; .*"),
        (HEADER + HEADER, r"c:2: 3 fields where a rule has 6; .*"),
        (HEADER + ",/,read,all,count,1", r"c:2: the label is empty; write a label"),
        (HEADER + "a:b,/,read,all,count,1", r'c:2: the label "a:b" has a colon or begins with #; .*'),
        (HEADER + "a,,read,all,count,1", r"c:2: the path is empty; write a path"),
        (HEADER + "a,/\t/,read,all,count,1", r"c:2: the path .* has a comma, .*"),
        (HEADER + "a,/,reads,all,count,1", r'c:2: "reads" is not a type of calls; use accept, access, .*'),
        (HEADER + "a,/,read+,all,count,1", r'c:2: "" is not a type of calls; use accept, .*'),
        (HEADER + "a,/,read,4kB,count,1", r'c:2: "4kB" is not a size range; write all, 4kB-1MB, 4kB- or -1MB'),
        (
            HEADER + "a,/,read,4-8kB,count,1",
            r'c:2: "4" is not a whole number with a unit; write a number with B kB MB GB',
        ),
        (HEADER + "a,/,read,8kB-4kB,count,1", r'c:2: "8kB-4kB" ends before it begins; write the smaller size first'),
        (HEADER + "a,/,read,all,latency,1", r'c:2: "latency" is not a measurement; use bandwidth, .*'),
        (HEADER + "a,/,read,all,bandwidth,1", r'c:2: "1" is not a whole number with a unit; .*'),
        (HEADER + "a,/,read,all,bandwidth,1.5MB", r'c:2: "1.5MB" is not a whole number with a unit; .*'),
        (HEADER + "a,/,read,all,bandwidth,1MiB", r'c:2: "1MiB" is not a whole number with a unit; .*'),
        (
            HEADER + "a,/,read,all,count,1s",
            r'c:2: "1s" is not a whole number with a unit; write a number with nothing k M',
        ),
        (HEADER + "a,/,read,all,bandwidth,9999999999GB", r'c:2: "9999999999GB" is larger than plug-ins take; .*'),
    ],
)
def test_an_invalid_rule_is_refused_with_its_line(text: str, problem: str) -> None:
    assert re.fullmatch(problem, refusal(text))


def test_problems_of_all_rules_are_reported() -> None:
    problems = refusal(HEADER + "a,/,read,all,count,x\nb,/,read,all,count,1\nc,/,x,all,count,1").splitlines()
    assert [line.split(": ")[0] for line in problems] == ["c:2", "c:4"]


@pytest.mark.parametrize(
    ("label", "path"), [("a,b", "/"), ("a:b", "/"), (" a", "/"), ("#a", "/"), ("a", "/x,y"), ("a", "")]
)
def test_a_rule_that_no_contract_can_hold_is_not_written(label: str, path: str) -> None:
    rule = MistralRule(label, path, ("read",), SizeRange(), "count", 1)
    with pytest.raises(UsageError, match=r"^rule "):
        write_contract(MistralContract("monitor", 1_000_000, (rule,)))


LINES = st.lists(
    st.sampled_from(["2", "monitortimeframe", "1s", "a", "/", "read", "all", "count", "1", "-", "\n", "", "9" * 30])
)


@given(st.text() | LINES.map(",".join) | LINES.map(lambda fields: HEADER + ",".join(fields)))
def test_any_text_is_a_contract_or_refused_with_a_line(text: str) -> None:
    for line in refusal(text).splitlines():
        line.encode()
        assert re.match(r"c:\d+: .|… and \d+ more\.", line), line


def refusal(text: str) -> str:
    """Why it is no contract; empty: it is one."""
    try:
        read_contract(text, "c")
    except SourceError as error:
        return error.message
    return ""
