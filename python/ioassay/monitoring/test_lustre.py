"""Throttle rules as commands for Lustre's servers: rates, refusals, syntax of the manual."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from ioassay.errors import UsageError
from ioassay.monitoring.contract import parse
from ioassay.monitoring.lustre import DEFAULT_RPC_BYTES, Limits, Servers, Whose, limits_of, script, start, stop

SERVERS = Servers(partitions=2, count=1, rpc_bytes=DEFAULT_RPC_BYTES)


def limits(*rules: str, mount: str | None = None, servers: Servers = SERVERS) -> Limits:
    text = "rules:\n" + "".join(f"  - {{{rule}}}\n" for rule in rules)
    return limits_of(parse(text, "contract.yaml").contract, servers, mount)


WRITES = "throttle: writes, calls: [write], bandwidth: 800MiB/s"


def test_a_rate_is_divided_by_request_partitions_and_servers() -> None:
    assert [limit.rate for limit in limits(WRITES).limits] == [100]
    four = Servers(partitions=2, count=4, rpc_bytes=1 << 20)
    assert [limit.rate for limit in limits(WRITES, servers=four).limits] == [100]
    assert [limit.rate for limit in limits(WRITES.replace("MiB/s", "MiB per 2s")).limits] == [50]


def test_reads_and_writes_of_a_rule_have_a_bucket_each_and_half_of_the_rate() -> None:
    (limit,) = limits(WRITES.replace("[write]", "[read, write]")).limits
    assert (limit.operations, limit.rate) == (("ost_read", "ost_write"), 50)


def test_the_commands_are_those_of_the_manual() -> None:
    plan = limits(WRITES, WRITES.replace("writes", "reads").replace("[write]", "[read]"))
    assert [*start(plan, Whose(job="4711"))] == [
        "lctl set_param ost.OSS.ost_io.nrs_policies=tbf",
        "lctl set_param ost.OSS.ost_io.nrs_tbf_rule='start ioassay_1 jobid={4711}&opcode={ost_write} rate=100'",
        "lctl set_param ost.OSS.ost_io.nrs_tbf_rule='start ioassay_2 jobid={4711}&opcode={ost_read} rate=100'",
    ]
    assert "'start ioassay_1 opcode={ost_write} rate=100'" in [*start(plan, Whose())][1]
    assert "'start ioassay_1 uid={1000}&opcode={ost_write} rate=100'" in [*start(plan, Whose(user=1000))][1]
    assert [*stop(plan)] == [
        "lctl set_param ost.OSS.ost_io.nrs_tbf_rule='stop ioassay_1'",
        "lctl set_param ost.OSS.ost_io.nrs_tbf_rule='stop ioassay_2'",
        "lctl set_param ost.OSS.ost_io.nrs_policies=fifo",
    ]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("throttle: a, calls: [stat], count: 10/s", "RPCs), not calls"),
        ("throttle: a, calls: [plain read], bandwidth: 1GB/s", "kinds of reads or writes"),
        ("throttle: a, calls: [read, map], bandwidth: 1GB/s", "kinds of reads or writes"),
        ("throttle: a, calls: [MPI read], bandwidth: 1GB/s", "kinds of reads or writes"),
        ("throttle: a, calls: [read], bandwidth: 1GB/s, sizes: 64k or less", "sizes of calls"),
        ("throttle: a, calls: [read], bandwidth: 1GB/s, scope: node", "use `scope: job`"),
        ("throttle: a, calls: [read], bandwidth: 1GB/s, scope: user", "use `scope: job`"),
        ("throttle: a, calls: [read], bandwidth: 1GB/s, project: climate", "the scheduler's `project`"),
        ("throttle: a, calls: [read], bandwidth: 1GB/s, job name: a*", "the scheduler's `job name`"),
        ("throttle: a, calls: [read], bandwidth: 1GB/s, nodes: 2 or more", "leave out `nodes`"),
        ("throttle: a, calls: [read], bandwidth: 1GB/s, path: /lustre/project", "do not see paths"),
        ("throttle: a, calls: [read], bandwidth: 1MB/s", "allow at least 8MiB/s"),
    ],
)
def test_a_rule_that_servers_cannot_enforce_is_refused_by_name(rule: str, message: str) -> None:
    plan = limits(rule, mount="/lustre")
    assert not plan.limits
    assert message in plan.refused["a"]


def test_a_second_rule_for_the_same_requests_is_refused() -> None:
    plan = limits(WRITES, "throttle: all, calls: [read, write], bandwidth: 1GB/s")
    assert [limit.rule["label"] for limit in plan.limits] == ["writes"]
    assert '"writes" already limits these requests' in plan.refused["all"]


def test_users_and_groups_are_those_of_requests() -> None:
    plan = limits(WRITES + ", user: [7, 8], group: 9", WRITES.replace("writes", "others") + ", user: 10")
    assert not plan.refused
    conditions = [command.split("'")[1] for command in [*start(plan, Whose())][1:]]
    assert conditions == [
        "start ioassay_1 uid={7 8}&gid={9}&opcode={ost_write} rate=100",
        "start ioassay_2 uid={10}&opcode={ost_write} rate=100",
    ]
    assert limits(WRITES + ", user: 7", WRITES.replace("writes", "all") + ", user: [7, 8]").refused
    assert limits(WRITES + ", user: 7", WRITES.replace("writes", "all") + ", group: 8").refused


def test_the_path_of_the_whole_file_system_is_none_and_monitors_are_left_to_agents() -> None:
    plan = limits(WRITES + ", path: /lustre", "monitor: a, calls: [stat], count: 1/s", mount="/lustre")
    assert len(plan.limits) == 1
    assert not plan.refused


def test_the_script_says_what_is_left_of_a_rate_in_whole_requests() -> None:
    plan = limits(WRITES.replace("800MiB", "15MiB"))
    assert "# ioassay_1: writes: 15MiB/s of ost_write; as whole requests 8MiB/s" in script(
        plan, SERVERS, Whose(), unset=False
    )


def named_job(job: str) -> str:
    """The job that a server finds in the rule, as lustre/ptlrpc/nrs_tbf.c of 2.17 takes it apart."""
    _, command = start(limits(WRITES), Whose(job=job))
    _, _, assignment = shlex.split(command)
    _, _, rule = assignment.partition("=")
    head, _, rest = rule.rpartition("}")
    assert rest == " rate=100"
    word, name, conditions = (head + "}").split(" ", 2)
    assert (word, name) == ("start", "ioassay_1")
    (disjunction,) = conditions.split(",")
    field, _, value = disjunction.split("&")[0].partition("=")
    assert (field, value[0], value[-1]) == ("jobid", "{", "}")
    (only,) = value[1:-1].split(" ")
    return only


@pytest.mark.parametrize(
    "job",
    [
        "4711",
        "kworker/86:1.0",
        "dd.1000",
        "my\"job'.0",
        "python3.11.1000@node-7",
        "a=b",
        "a}b{c",
        "$(reboot)`x`;#",
        "back\\slash",
        "größe.1000",
        "-rf",
        "sim*",
        "}",
    ],
)
def test_a_server_finds_the_job_in_the_rule_whatever_characters_it_has(job: str) -> None:
    assert named_job(job) == job


@pytest.mark.parametrize(
    ("from_job_stats", "job"),
    [
        (r'"kworker/86:1.0"', "kworker/86:1.0"),
        (r'"kworker\x2F86\x3A1.0"', "kworker/86:1.0"),
        (r'"\x22a\x22"', '"a"'),
        (r'"gr\xC3\xB6\xC3\x9Fe.0"', "größe.0"),
        ('"', '"'),
    ],
)
def test_a_job_can_be_given_as_job_stats_shows_it(from_job_stats: str, job: str) -> None:
    assert named_job(from_job_stats) == job


@pytest.mark.parametrize(
    ("job", "reason", "instead"),
    [
        ("my job.0", "a space separates jobs", "--job 'my*job.0'"),
        (r'"my\x20job.0"', "a space separates jobs", "--job 'my*job.0'"),
        ("a,b", "a comma separates conditions", "--job 'a*b'"),
        ("1}&uid={0", "`&` joins conditions", "--job '1}*uid={0'"),
        ("a\tb", "cannot be printed", "--job 'a*b'"),
        ("a\n\nb", "cannot be printed", "--job 'a*b'"),
        ("", "is empty", "Leave out --job"),
        ('""', "is empty", "Leave out --job"),
        ("x" * 32, "at most 31 bytes", "job_stats"),
        ("ö" * 16, "at most 31 bytes", "job_stats"),
    ],
)
def test_a_job_that_the_grammar_of_servers_cannot_express_is_refused_with_what_to_write(
    job: str, reason: str, instead: str
) -> None:
    with pytest.raises(UsageError) as refused:
        list(start(limits(WRITES), Whose(job=job)))
    assert reason in refused.value.message
    assert instead in str(refused.value.remedy)


def test_a_pattern_may_be_longer_than_an_id() -> None:
    assert named_job("*" + "x" * 31 + "*") == "*" + "x" * 31 + "*"


def test_a_shell_can_parse_the_script() -> None:
    plan = limits('throttle: it\'s "a" `label` $(x), calls: [write], bandwidth: 800MiB/s')
    for unset in (False, True):
        text = script(plan, SERVERS, Whose(), unset=unset)
        assert "not tried" in text
        subprocess.run(["sh", "-n"], input=text, text=True, check=True)
        commands = [shlex.split(line) for line in text.splitlines() if not line.startswith("#")]
        assert {tuple(words[:2]) for words in commands} == {("lctl", "set_param")}
