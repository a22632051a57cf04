"""Throttle rules as limits of Lustre's servers: commands for the token bucket filter (TBF) of their scheduler (NRS).

Syntax: Lustre Operations Manual, "Network Request Scheduler (NRS) Tuning", section "Token Bucket Filter (TBF) policy".
Lists of users and groups have spaces between the numbers, and a request has the user and group of the process that
makes it (`nrs_tbf_id_list_parse` and `nrs_tbf_id_list_match` of lustre/ptlrpc/nrs_tbf.c).
Buckets: under the policy `tbf`, requests with the same job, node, operation, user and group share a bucket
(`nrs_tbf_cli_gen_key` there), and each CPU partition of a server has its own (LU-17158).
Grammar: Lustre 2.10 to 2.17 split a rule's conditions at `,` and `&`, and a list of jobs at spaces, without any
quoting (`nrs_tbf_conds_parse`, `nrs_tbf_conjunction_parse` and `nrs_tbf_jobid_list_parse` of the same file).

Not: running the commands. They are untested: no Lustre was available.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ioassay.errors import UsageError
from ioassay.monitoring.calls import GROUPS
from ioassay.protocol.contract import Contract, Jobs, Rule
from ioassay.text import units
from ioassay.yaml_models.source import quoted

DEFAULT_RPC_BYTES: Final = 4 << 20
"""`max_pages_per_rpc` of 1024 pages of 4 KiB."""

_OPERATION: Final = {"read": "ost_read", "write": "ost_write"}
_POLICIES: Final = "ost.OSS.ost_io.nrs_policies"
_RULES: Final = "ost.OSS.ost_io.nrs_tbf_rule"
_LONGEST_JOB: Final = 31
"""Bytes of a job id: `LUSTRE_JOBID_SIZE` of lustre_user.h is 32, with the NUL behind it."""
_SEPARATORS: Final = {" ": "a space separates jobs", ",": "a comma separates conditions", "&": "`&` joins conditions"}
"""Characters at which servers split a rule, and which cannot be quoted."""
_ESCAPED: Final = re.compile(rb"\\x([0-9A-Fa-f]{2})")


@dataclass(frozen=True)
class Servers:
    """The numbers by which limits are divided."""

    partitions: int
    """CPU partitions of a server."""
    count: int
    """Object storage servers over which the files of a job are spread."""
    rpc_bytes: int
    """Bytes of a full request."""


@dataclass(frozen=True)
class Whose:
    """Whose requests are limited: by default, those of all jobs and users."""

    job: str | None = None
    """As in the clients' `jobid_var`, or in `job_stats` of the servers; `*` matches any characters."""
    user: int | None = None


@dataclass(frozen=True)
class Limit:
    """A rule of a server."""

    name: str
    rule: Rule
    operations: tuple[str, ...]
    rate: int
    """Requests per second and bucket."""


@dataclass(frozen=True)
class Limits:
    """The limits for a contract's throttle rules."""

    limits: list[Limit]
    refused: dict[str, str]
    """Rules that the servers cannot enforce: the reason, by label."""


def limits_of(contract: Contract, servers: Servers, mount: str | None) -> Limits:
    """The limits for the throttle rules of a contract; `mount` is the file system's mount point."""
    limits: list[Limit] = []
    refused: dict[str, str] = {}
    limited: list[tuple[str, Rule]] = []
    for number, rule in enumerate(contract["rules"], start=1):
        if rule["action"] != "throttle":
            continue
        directions = [name for name in _OPERATION if set(GROUPS[name]) <= set(rule["calls"])]
        if reason := _refusal(rule, directions, mount):
            refused[rule["label"]] = reason
            continue
        operations = tuple(_OPERATION[name] for name in directions)
        labels = (
            limited_rule["label"]
            for name, limited_rule in limited
            if name in operations and _may_meet(limited_rule, rule)
        )
        earlier = next(labels, None)
        rate = rule["limit"] // rule["window_s"] // servers.rpc_bytes
        rate //= servers.partitions * servers.count * len(operations)
        if earlier is not None:
            refused[rule["label"]] = (
                f"{quoted(earlier)} already limits these requests, and one rule applies to a request"
            )
        elif rate == 0:
            refused[rule["label"]] = (
                "below the lowest rate, one request per second for each CPU partition; allow at least "
                f"{_smallest(servers, len(operations))}"
            )
        else:
            limited += [(name, rule) for name in operations]
            limits.append(Limit(f"ioassay_{number}", rule, operations, rate))
    return Limits(limits, refused)


def _may_meet(first: Rule, second: Rule) -> bool:
    """True if both rules may apply to one request: unless they are for different users."""
    users = [set(rule.get("jobs", Jobs()).get("users", [])) for rule in (first, second)]
    return not all(users) or bool(users[0] & users[1])


def _smallest(servers: Servers, operations: int) -> str:
    return f"{units.format_exact_bytes(servers.rpc_bytes * servers.partitions * servers.count * operations)}/s"


def _refusal(rule: Rule, directions: list[str], mount: str | None) -> str | None:
    """Why a server cannot enforce a rule; `None` if it can."""
    path, jobs = rule.get("path"), rule.get("jobs", Jobs())
    all_classes = sorted(name for direction in directions for name in GROUPS[direction])
    reasons = {
        "servers count requests (RPCs), not calls; throttle `bandwidth`": rule["measure"] != "bandwidth",
        "servers do not distinguish kinds of reads or writes; use `calls: [read]`, `[write]` or `[read, write]`": (
            sorted(rule["calls"]) != all_classes
        ),
        "servers do not see the sizes of calls; leave out `sizes`": (
            bool(rule["least_bytes"]) or rule.get("most_bytes") is not None
        ),
        "servers limit each job on each node, not several together; use `scope: job`": rule["scope"] != "job",
        "servers do not know the scheduler's `project`; leave it out, and name the job with --job": (
            bool(jobs.get("projects"))
        ),
        "servers do not know the scheduler's `job name`; leave it out, and name the job with --job": (
            bool(jobs.get("names"))
        ),
        "servers do not know how many nodes a job has; leave out `nodes`": (
            bool(jobs.get("least_nodes")) or jobs.get("most_nodes") is not None
        ),
        f"servers do not see paths; if the file system is mounted at {path}, add --file-system {path}": (
            bool(path) and path != mount
        ),
    }
    return next((reason for reason, applies in reasons.items() if applies), None)


def start(limits: Limits, whose: Whose) -> Iterator[str]:
    """The commands that set the limits on each server. Raises `UsageError` for an invalid job."""
    yield _set(_POLICIES, "tbf")
    for limit in limits.limits:
        conditions = [f"jobid={{{_job(whose.job)}}}"] if whose.job is not None else []
        jobs = limit.rule.get("jobs", Jobs())
        users = jobs.get("users", [])
        if whose.user is not None:
            if users and whose.user not in users:
                raise UsageError(
                    f"The rule {quoted(limit.rule['label'])} is not for user {whose.user}.", "Omit --user."
                )
            users = [whose.user]
        conditions += [f"uid={{{' '.join(map(str, users))}}}"] if users else []
        conditions += [f"gid={{{' '.join(map(str, jobs['groups']))}}}"] if jobs.get("groups") else []
        conditions += [f"opcode={{{' '.join(limit.operations)}}}"]
        yield _set(_RULES, f"start {limit.name} {'&'.join(conditions)} rate={limit.rate}")


def stop(limits: Limits) -> Iterator[str]:
    """The commands that remove the limits."""
    for limit in limits.limits:
        yield _set(_RULES, f"stop {limit.name}")
    yield _set(_POLICIES, "fifo")


def _set(parameter: str, value: str) -> str:
    return f"lctl set_param {parameter}={shlex.quote(value)}"


def _job(job: str) -> str:
    """A job id as in a rule. Raises `UsageError` for one that the servers' grammar cannot express."""
    job_id = _unquoted(job)
    option = f"--job {quoted(job)}"
    if not job_id:
        raise UsageError(
            f"{option} is empty, and servers cannot name jobs without an id.", "Leave out --job: all jobs."
        )
    obstacle = next((reason for separator, reason in _SEPARATORS.items() if separator in job_id), None)
    if obstacle is None and any(not character.isprintable() for character in job_id):
        obstacle = "it has characters that cannot be printed"
    if obstacle is not None:
        pattern = "".join("*" if letter in _SEPARATORS or not letter.isprintable() else letter for letter in job_id)
        raise UsageError(
            f"{option} cannot be named in a rule of Lustre's servers: {obstacle}.",
            f"Write * instead, which stands for any characters: --job {shlex.quote(re.sub('[*]+', '*', pattern))}",
        )
    if len(job_id.replace("*", "").encode()) > _LONGEST_JOB:
        raise UsageError(
            f"{option} is longer than a job id of Lustre, which has at most {_LONGEST_JOB} bytes.",
            "Write it as `lctl get_param obdfilter.*.job_stats` shows it on a server.",
        )
    return job_id


def _unquoted(job: str) -> str:
    """Decodes a job id quoted by `job_stats`, with `\\xHH` for special characters (from 2.15 on), as it is
    in requests.
    """
    if len(job) < len('""') or not (job.startswith('"') and job.endswith('"')):
        return job
    raw = _ESCAPED.sub(lambda escape: bytes([int(escape[1], 16)]), os.fsencode(job[1:-1]))
    return os.fsdecode(raw)


def script(limits: Limits, servers: Servers, whose: Whose, *, unset: bool) -> str:
    """The script for administrators that sets or removes the limits, with the assumptions as comments."""
    assumptions = (
        f"{units.format_exact_bytes(servers.rpc_bytes)} a request, {units.format_count(servers.count, 'server')}, "
        f"{units.format_count(servers.partitions, 'CPU partition')} each"
    )
    lines = [
        "#!/bin/sh",
        "# Run it as root on every object storage server (OSS).",
        "# Written from the Lustre Operations Manual (NRS, Token Bucket Filter), and not tried: there was no Lustre.",
    ]
    if unset:
        return "\n".join([*lines, "# The scheduler goes back to its default, fifo.", *stop(limits)]) + "\n"
    lines += [
        f"# Computed for: {assumptions}. A bucket is of one job, node, user and operation.",
        "# Servers count requests: small ones count like full ones, so that small I/O is held to fewer bytes.",
        "# A node whose requests come to one CPU partition gets that partition's share of its limit.",
        "# This replaces the server's present scheduling policy: lctl get_param ost.OSS.ost_io.nrs_policies",
    ]
    for limit in limits.limits:
        requested = units.format_exact_bytes(limit.rule["limit"] // limit.rule["window_s"])
        enforced = limit.rate * servers.rpc_bytes * servers.partitions * servers.count * len(limit.operations)
        lines.append(
            f"# {limit.name}: {limit.rule['label']}: {requested}/s of {' and '.join(limit.operations)}; as whole "
            "requests "
            f"{units.format_exact_bytes(enforced)}/s"
        )
    lines += [f"# not here: {label}: {reason}" for label, reason in limits.refused.items()]
    return "\n".join([*lines, *start(limits, whose)]) + "\n"
