"""Contracts: YAML → rules and back, with every error and its line; what rules mean."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.errors import UsageError
from ioassay.monitoring import calls, contract, explanation
from ioassay.monitoring.contract import LARGEST_ID, document, parse, text_of
from ioassay.monitoring.explanation import changes, sentences
from ioassay.monitoring.rule_check import MEASURES, OF_PROCESSES, conflicts
from ioassay.protocol.contract import Contract, Jobs, Rule
from ioassay.protocol.facts import PROTOCOL_VERSION
from ioassay.protocol.record_layout import OPERATIONS, PATH_RULES, PATH_RULES_BYTES
from ioassay.yaml_models.source import SourceError

READS = """\
rules:
  - monitor: heavy reads of home
    path: /home/
    calls: [read]
    sizes: 0 to 64k
    bandwidth: 50MB/s
    over: 10s
"""

MISTRAL = """\
# made for Mistral
2, throttletimeframe, 10s
reads, /scratch/, read, all, bandwidth, 1GB
"""


def only_rule(text: str) -> Rule:
    (rule,) = parse(text, "contract.yaml").contract["rules"]
    return rule


def rule(*lines: str) -> str:
    return "rules:\n  - " + "\n    ".join(lines) + "\n"


def problems(text: str) -> str:
    with pytest.raises(SourceError) as error:
        parse(text, "contract.yaml")
    return error.value.message


def test_a_bandwidth_is_a_rate_and_its_limit_that_of_the_window() -> None:
    assert only_rule(READS) == {
        "action": "monitor",
        "calls": ["read", "stream read", "copy from", "submit read"],
        "label": "heavy reads of home",
        "least_bytes": 0,
        "limit": 500_000_000,
        "measure": "bandwidth",
        "most_bytes": 65536,
        "path": "/home",
        "scope": "job",
        "window_s": 10,
    }


def test_an_amount_per_time_sets_the_window() -> None:
    parsed = only_rule(rule("throttle: stats", "calls: [stat]", "count: 100k per 10s", "scope: node"))
    assert (parsed["limit"], parsed["window_s"], parsed["scope"], parsed["action"]) == (100_000, 10, "node", "throttle")


def test_a_rule_is_for_the_jobs_that_it_selects() -> None:
    parsed = only_rule(
        rule(
            "throttle: a",
            "calls: [stat]",
            "count: 1/s",
            "scope: whole job",
            "user: [root, 1001]",
            "group: 5",
            "project: climate*",
            "job name: [a, 'b c']",
            "nodes: 2 to 4",
        )
    )
    assert (parsed["scope"], parsed["jobs"]) == (
        "whole-job",
        {
            "users": [0, 1001],
            "groups": [5],
            "projects": ["climate*"],
            "names": ["a", "b c"],
            "least_nodes": 2,
            "most_nodes": 4,
        },
    )


@pytest.mark.parametrize(
    ("text", "jobs"),
    [
        ("4", {"least_nodes": 4, "most_nodes": 4}),
        ("1", {"most_nodes": 1}),
        ("1 to 4", {"most_nodes": 4}),
        ("4 or less", {"most_nodes": 4}),
        ("64 or more", {"least_nodes": 64}),
    ],
)
def test_numbers_of_nodes_are_written_like_sizes(text: str, jobs: Jobs) -> None:
    assert only_rule(rule("throttle: a", "calls: [stat]", "count: 1/s", f"nodes: {text}"))["jobs"] == jobs


def test_rules_for_some_jobs_do_not_count_among_the_slots_of_all() -> None:
    lines = [f"  - {{throttle: 'r{n}', calls: [read], bandwidth: 1MB/s, user: {n}}}" for n in range(100)]
    assert len(parse("rules:\n" + "\n".join(lines), "c").contract["rules"]) == 100
    assert "more rules without a path" in problems(
        "rules:\n" + "\n".join(line.split(", user")[0] + "}" for line in lines)
    )


def test_a_plain_class_covers_less_than_the_group_with_its_name() -> None:
    assert only_rule(rule("monitor: a", "calls: [plain read]", "count: 1/s"))["calls"] == ["read"]
    assert "stream read" in only_rule(rule("monitor: a", "calls: [READ]", "count: 1/s"))["calls"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["calls: [read]", "count: 1/s"], "contract.yaml:2: rules[0]: needs a label"),
        (["monitor: a", "throttle: b", "calls: [read]", "count: 1/s"], "either `monitor: LABEL` or `throttle: LABEL`"),
        (["monitor: a", "calls: [read]"], "has no measure"),
        (["monitor: a", "calls: [read]", "count: 1/s", "bandwidth: 1MB/s"], "`bandwidth` and `count`"),
        (["monitor: a", "calls: [reed]", "count: 1/s"], 'contract.yaml:3: rules[0].calls[0]: "reed" is not a kind'),
        (["monitor: a", "calls: [read]", "bandwidth: 50MB"], "has no time; write 50MB/s"),
        (["monitor: a", "calls: [read]", "count: 1 per 2s", "over: 3s"], "has two windows"),
        (["monitor: a", "calls: [stat]", "bandwidth: 1MB/s"], "calls that move no bytes"),
        (["monitor: a", "calls: [stat]", "sizes: 1 or more", "count: 1/s"], "`sizes` of calls that move no bytes"),
        (["monitor: a", "count: 1/s"], "is measured of calls"),
        (["monitor: a", "calls: [read]", "user time: 1s"], "is measured of whole processes"),
        (["throttle: a", "calls: [read]", "mean latency: 1s"], "throttle `bandwidth` or `count`"),
        (["throttle: a", "calls: [read]", "count: 0/s"], "would stop the job for good"),
        (["throttle: a", "calls: [map]", "bandwidth: 1MB/s"], "nothing can hold these calls back"),
        (["monitor: a", "calls: [read]", "count: 1/s", "path: home"], "not an absolute path"),
        (["monitor: a", "calls: [read]", "count: 1/s", "path: /a/../b"], "without `..`"),
        (["monitor: a", "calls: [read]", "count: 1/s", "sizes: 2k to 1k"], "ends before it begins"),
        (["monitor: a", "calls: [read]", "count: 1/s", "over: 1500ms"], "whole number of seconds"),
        (["monitor: a", "calls: [read]", "bandwidth: 16383PiB/s", "over: 1h"], "fit 64 bits"),
        (["monitor: a", "calls: [read]", "count: 1/s", "scope: user"], "only throttles"),
        (["monitor: a", "calls: [read]", "count: 1/s", "scope: whole job"], "only throttles"),
        (["monitor: a", "calls: [read]", "count: 1/s", "user: no such user"], "this node has no user"),
        (["monitor: a", "calls: [read]", "count: 1/s", "group: 4294967295"], "no number of a group"),
        (["monitor: a", "calls: [read]", "count: 1/s", "project: []"], "an empty list"),
        (["monitor: a", "calls: [read]", "count: 1/s", "nodes: 4 to 2"], "ends before it begins"),
        (["monitor: a", "calls: [read]", "count: 1/s", "nodes: 0"], "ends before it begins"),
        (["monitor: a", "calls: [read]", "count: 1/s", "nodes: many"], "not a number of nodes"),
        (["monitor: a", "calls: [read]", "count: 1/s", "skope: node"], "unknown key; did you mean `scope`?"),
    ],
)
def test_an_invalid_rule_is_refused_with_its_line_and_a_remedy(lines: list[str], message: str) -> None:
    assert message in problems(rule(*lines))


def test_every_group_of_calls_is_explained_and_recorded() -> None:
    assert set(calls.ABOUT) == set(calls.GROUPS)
    assert all(set(group) <= set(OPERATIONS) for group in calls.GROUPS.values())
    for words in calls.WORDS:
        assert calls.words_of(calls.classes_of([words])) == [words]


def test_a_label_belongs_to_one_rule() -> None:
    twice = READS + READS.removeprefix("rules:\n")
    assert "contract.yaml:8: rules[1]: the label" in problems(twice)


def test_more_rules_than_recorders_can_count_are_refused() -> None:
    rules = [f"  - throttle: {number}\n    calls: [read]\n    count: 1/s\n" for number in range(33)]
    assert parse("rules:\n" + "".join(rules[:32]), "contract.yaml").contract["rules"]
    assert "contract.yaml:98: rules[32]: more rules without a path than the 64" in problems("rules:\n" + "".join(rules))
    memory = "".join(f"  - monitor: m{number}\n    user time: 1s\n" for number in range(100))
    assert len(parse("rules:\n" + memory, "contract.yaml").contract["rules"]) == 100


def with_paths(count: int, length: int = 20) -> Contract:
    """A contract with so many rules with paths of so many letters."""
    path = "x" * (length - 7)
    text = rule("throttle: a", "path: /data", "calls: [read]", "count: 1/s")
    (first,) = parse(text, "contract.yaml").contract["rules"]
    rules = [Rule(**{**first, "label": f"r{n}", "path": f"/{n:06}{path}"}) for n in range(count)]
    return Contract(version=PROTOCOL_VERSION, rules=rules)


def test_rules_with_paths_may_be_more_than_recorders_count_at_once() -> None:
    assert not list(conflicts(with_paths(10_000)["rules"]))
    assert not list(conflicts(with_paths(PATH_RULES)["rules"]))
    ((number, wrong, _),) = conflicts(with_paths(PATH_RULES + 2)["rules"])
    assert (number, wrong) == (PATH_RULES, f"more rules with paths than {PATH_RULES}")
    contract = with_paths(1000)
    contract["rules"] += [Rule(**{**r, "label": f"all {r['label']}", "path": None}) for r in contract["rules"][:33]]
    ((number, wrong, _),) = conflicts(contract["rules"])
    assert (number, "more rules without a path than the 64" in wrong) == (1032, True)


def test_paths_that_recorders_have_no_room_for_are_refused() -> None:
    long = "/" + "x" * 9000
    assert only_rule(rule("throttle: a", f"path: {long}", "calls: [read]", "count: 1/s"))["path"] == long
    assert not list(conflicts(with_paths(1000, 1000)["rules"]))
    ((number, _, todo),) = conflicts(with_paths(6000, 1000)["rules"])
    assert (number, todo) == (PATH_RULES_BYTES // 1000, "write shorter ones")


def test_a_mistral_contract_is_recognized_by_its_first_line() -> None:
    loaded = parse(MISTRAL, "old.contract", "node")
    (converted,) = loaded.contract["rules"]
    assert (converted["label"], converted["action"], converted["scope"]) == ("reads", "throttle", "node")
    assert (converted["limit"], converted["window_s"], converted["path"]) == (10**9, 10, "/scratch")
    assert "bandwidth: 1GB per 10s" in text_of(loaded.contract)


def test_the_document_of_an_agent_is_read_as_a_contract() -> None:
    before = parse(READS, "contract.yaml").contract
    assert parse(document(before).decode(), "contract.json").contract == before
    assert "rules.0" in problems('{"version": 2, "rules": [{"label": "a"}]}')
    assert "version 1 instead of" in problems('{"version": 1, "rules": []}')
    assert "not JSON" in problems("{")
    lines = json.dumps({"version": PROTOCOL_VERSION, "rules": [{**before["rules"][0], "label": "a\nreboot"}]})
    assert "cannot be printed" in problems(lines)
    twice = json.dumps({"version": PROTOCOL_VERSION, "rules": before["rules"] * 2})
    assert "given twice" in problems(twice)


def test_a_contract_may_have_no_rules() -> None:
    assert parse("rules: []", "contract.yaml").contract["rules"] == []
    assert "begin with `rules:`" in problems("")


def test_each_rule_is_explained_in_a_sentence() -> None:
    text = READS + "\n".join(
        [
            "  - {throttle: storm, calls: [metadata], count: 20k/s, scope: node}",
            "  - {throttle: all, calls: [read, map], bandwidth: 2GB per 3s}",
            "  - {monitor: slow, calls: [sync], longest latency: 2s}",
            "  - {throttle: big, calls: [stat], count: 9/s, scope: whole job, user: 4294967000, nodes: 1}",
            "  - {throttle: mine, calls: [stat], count: 9/s, scope: user, project: [a*, b], job name: c}",
        ]
    )
    assert sentences(parse(text, "contract.yaml").contract) == [
        "Alerts when read calls of 64KiB or less below /home of a job on a node move more than 500MB in 10 s.",
        "Holds metadata calls of all jobs on a node together to 20k calls/s.",
        "Holds read and map calls of each job on a node to 666666666B/s. Counts map and submit read calls but cannot "
        "hold them.",
        "Alerts when one of the sync calls of a job on a node takes longer than 2s, looking at 1 s at a time.",
        "Holds stat calls of each job (user 4294967000, 1 node) over all its nodes to 9 calls/s.",
        "Holds stat calls of all jobs (project a* or b, job name c) of each user over all nodes to 9 calls/s.",
    ]


def test_changes_are_found_by_label() -> None:
    def of(*rules: tuple[str, int]) -> Contract:
        return Contract(
            version=PROTOCOL_VERSION, rules=[{**only_rule(READS), "label": a, "limit": b} for a, b in rules]
        )

    actual = changes(of(("a", 1), ("b", 1), ("c", 1)), of(("b", 1), ("c", 2), ("d", 1)))
    assert actual == explanation.Changes(new=["d"], gone=["a"], changed=["c"], kept=["b"])


LABELS = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=20)
AMOUNTS = st.integers(1, 2**64 - 1)


IDS = st.lists(st.integers(0, LARGEST_ID), min_size=1, max_size=3)
PATTERNS = st.lists(LABELS, min_size=1, max_size=3)


@st.composite
def selections(draw: st.DrawFn) -> Jobs:
    jobs = Jobs()
    for key, values in (("users", IDS), ("groups", IDS), ("projects", PATTERNS), ("names", PATTERNS)):
        if draw(st.booleans()):
            jobs[key] = draw(values)  # type: ignore[literal-required]
    least, most = sorted(draw(st.tuples(st.integers(2, 2**32 - 2), st.integers(2, 2**32 - 2))))
    if draw(st.booleans()):
        jobs["least_nodes"] = least
    if draw(st.booleans()):
        jobs["most_nodes"] = most
    return jobs


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    measure = draw(st.sampled_from(sorted(MEASURES.values())))
    action = draw(st.sampled_from(["monitor", "throttle"])) if measure in ("bandwidth", "count") else "monitor"
    names = [name for name in OPERATIONS if not name.startswith("elsewhere")]
    transfers = [name for name in names if calls.moves_bytes([name])]
    sized = measure in ("bandwidth", "seek-distance") or draw(st.booleans())
    of_processes = measure in OF_PROCESSES
    chosen = set() if of_processes else draw(st.sets(st.sampled_from(transfers if sized else names), min_size=1))
    if action == "throttle" and calls.NOT_HELD.issuperset(chosen):
        chosen.add("write")
    least, most = sorted(draw(st.tuples(AMOUNTS, AMOUNTS))) if sized and not of_processes else (0, None)
    limit, window_s = draw(AMOUNTS if measure != "count" else st.integers(1, 10**18)), draw(st.integers(1, 86_400))
    rule = Rule(
        action=action,  # type: ignore[typeddict-item]
        calls=[name for name in OPERATIONS if name in chosen],
        label=draw(LABELS),
        least_bytes=least,
        limit=max(limit, window_s) if action == "throttle" else limit,
        measure=measure,
        most_bytes=most,
        path=None if of_processes else draw(st.sampled_from([None, "/scratch", "/home/a b: #c"])),
        scope=draw(st.sampled_from(["job", "node"] if action == "monitor" else ["job", "node", "whole-job", "user"])),
        window_s=window_s,
    )
    if jobs := draw(selections()):
        rule["jobs"] = jobs
    return rule


@given(st.lists(rules(), max_size=4, unique_by=lambda rule: rule["label"]))
def test_rules_written_as_yaml_are_read_back_unchanged(drawn: list[Rule]) -> None:
    written = Contract(version=PROTOCOL_VERSION, rules=drawn)
    assert parse(text_of(written), "contract.yaml").contract == written
    assert parse(document(written).decode(), "contract.json").contract == written
    assert len(sentences(written)) == len(drawn)


@given(
    st.one_of(
        st.text(),
        st.lists(st.sampled_from([*READS.splitlines(keepends=True), "  - ", ":", "{", "[", "1s", "MB/s"])).map("".join),
        st.text().map(lambda text: "2, " + text),
        st.text().map(lambda text: "{" + text),
        st.dictionaries(st.sampled_from(["version", "rules"]), st.one_of(st.integers(), st.lists(st.integers()))).map(
            json.dumps
        ),
    )
)
def test_any_text_is_a_contract_or_an_error_with_a_line(text: str) -> None:
    source_error = None
    try:
        parse(text, "contract.yaml")
    except SourceError as error:
        source_error = error
    assert source_error is None or all(str(problem).startswith("contract.yaml:") for problem in source_error.problems)


def test_a_rule_that_yaml_cannot_express_is_refused() -> None:
    inexpressible = {**only_rule(READS), "calls": ["elsewhere read"]}
    with pytest.raises(UsageError, match="cannot say"):
        text_of(Contract(version=PROTOCOL_VERSION, rules=[inexpressible]))  # type: ignore[list-item]


@pytest.mark.parametrize("file", sorted((Path(__file__).parents[3] / "examples/contracts").glob("*.yaml")))
def test_an_example_is_a_contract(file: Path) -> None:
    loaded = contract.load(file)
    assert loaded.contract["rules"]
    assert not loaded.notes


@pytest.mark.parametrize(
    "text",
    [
        "rules: [{throttle: a, calls: [read], count: 9 per 10s}]",
        "2, throttletimeframe, 10s\na, /, read, all, count, 9",
    ],
)
def test_a_rate_below_the_lowest_is_refused_rather_than_raised(text: str) -> None:
    with pytest.raises(SourceError, match="a limit of 9 in 10 s, and the lowest rate is 1 per second"):
        parse(text, "c")
    assert parse(text.replace("9", "10"), "c").contract["rules"]


OF_AGENTS: dict[str, object] = {
    "action": "throttle",
    "calls": ["read"],
    "label": "reads",
    "least_bytes": 0,
    "limit": 5,
    "measure": "bandwidth",
    "scope": "job",
    "window_s": 1,
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"window_s": 0}, "window of 0 s"),
        ({"window_s": 90_000}, "window of 90000 s"),
        ({"limit": 0}, "would stop the job for good"),
        ({"calls": ["reed"]}, 'calls "reed", which no recorder counts'),
        ({"calls": []}, "is measured of calls"),
        ({"calls": ["map"]}, "nothing can hold these calls back"),
        ({"path": "data"}, "not an absolute path"),
        ({"least_bytes": 9, "most_bytes": 8}, "sizes that no transfer can have"),
        ({"jobs": {"least_nodes": 3, "most_nodes": 2}}, "numbers of nodes that no job can have"),
        ({"jobs": {"names": [""]}}, "a job name that is empty"),
        ({"action": "monitor", "scope": "user"}, "only throttles"),
        ({"label": ""}, "a label that is empty"),
        ({"label": "a\x1b[2J"}, "a label that is empty or cannot be printed"),
    ],
)
def test_rules_of_a_document_are_checked_like_those_of_people(change: dict[str, object], message: str) -> None:
    text = json.dumps({"version": PROTOCOL_VERSION, "rules": [{**OF_AGENTS, **change}]})
    assert message in problems(text)
    assert "contract.yaml:1: rules[0]" in problems(text)


@pytest.mark.parametrize("limit", [-1, 2**64, 0.5])
def test_a_document_with_a_number_that_no_agent_reads_is_refused(limit: float) -> None:
    text = json.dumps({"version": PROTOCOL_VERSION, "rules": [{**OF_AGENTS, "limit": limit}]})
    assert "contract.yaml:1: rules.0.limit: Input should be" in problems(text)
