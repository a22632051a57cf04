"""Contracts of users: YAML → the rules that agents enforce, and back.

Contracts of Mistral (`mistral`) become the same document.
Not: rules in words (`explanation`), enforcement (`crates/agent`, `crates/recorder`).
"""

from __future__ import annotations

import grp
import json
import pwd
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

import yaml
from pydantic_core import ValidationError

from ioassay.errors import UsageError
from ioassay.monitoring import calls
from ioassay.monitoring.mistral.contract_file import read_contract
from ioassay.monitoring.mistral.mapping import rules_of
from ioassay.monitoring.rule_check import (
    IN_BYTES,
    KEY,
    MEASURES,
    THROTTLED,
    absolute_path,
    check,
    conflicts,
)
from ioassay.protocol.contract import Contract, Jobs, Measure, Rule, Scope
from ioassay.protocol.facts import LONGEST_WINDOW_S, PROTOCOL_VERSION
from ioassay.store import protocol
from ioassay.text import units
from ioassay.yaml_models.model import BeforeValidator, Field, Part, model_validator
from ioassay.yaml_models.source import (
    Origin,
    Problem,
    SourceError,
    locate,
    parse_source,
    quoted,
    read_text,
    wrong_and_meant,
)
from ioassay.yaml_models.validate import validate
from ioassay.yaml_models.values import Kind, parsed
from ioassay.yaml_models.values import text_of as single_text

NOUN: Final = "contract"
LONGEST_LABEL: Final = 128
LARGEST_ID: Final = 2**32 - 2
"""The largest id of a user or group; the next number means none."""

_NS: Final = 1_000_000_000
_SCOPES: Final[dict[str, Scope]] = {"job": "job", "node": "node", "whole job": "whole-job", "user": "user"}
_MISTRAL: Final = re.compile(r"\s*[0-9]+\s*,")
"""The beginning of a contract of Mistral: `2, monitortimeframe, 1s`."""


@dataclass(frozen=True)
class Amount:
    """The allowed amount in a window, or per second if there is no window."""

    amount: int
    window_s: int | None


def _window(text: str) -> int:
    window_ns = units.parse_duration_ns(text)
    if window_ns % _NS or not 1 <= window_ns // _NS <= LONGEST_WINDOW_S:
        raise ValueError(f"{quoted(text)} is not a whole number of seconds up to a day; write 1s, 10s or 5min")
    return window_ns // _NS


def _count(text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,19}) ?(k|M|G|)", text)
    if match is None:
        raise ValueError(f"{quoted(text)} is not a number of calls; write 500, 20k or 3M")
    return int(match[1]) * {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}[match[2]]


def _amount(text: str, parse: Any, example: str) -> Amount:
    rate = re.fullmatch(r"(.+?) ?/ ?s", text)
    if rate:
        return Amount(parse(rate[1]), None)
    per_window = re.fullmatch(r"(.+) per (.+)", text)
    if per_window:
        return Amount(parse(per_window[1]), _window(per_window[2]))
    raise ValueError(f"{quoted(text)} has no time; write {example}")


def _bandwidth(text: str) -> Amount:
    return _amount(text, units.parse_bytes, "50MB/s, or 500MB per 10s")


def _calls_in_time(text: str) -> Amount:
    return _amount(text, _count, "10k/s, or 100k per 10s")


@dataclass(frozen=True)
class Sizes:
    """Sizes of transfers, both ends included. `None`: any."""

    least: int
    most: int | None


def _sizes(text: str) -> Sizes:
    if match := re.fullmatch(r"(.+) to (.+)", text):
        sizes = Sizes(units.parse_bytes(match[1]), units.parse_bytes(match[2]))
    elif match := re.fullmatch(r"(.+) or more", text):
        sizes = Sizes(units.parse_bytes(match[1]), None)
    elif match := re.fullmatch(r"(.+) or less", text):
        sizes = Sizes(0, units.parse_bytes(match[1]))
    else:
        raise ValueError(f"{quoted(text)} is not a range of sizes; write 4k to 64k, 64k or less, or 1MiB or more")
    if sizes.most is not None and sizes.most < sizes.least:
        raise ValueError(f"{quoted(text)} ends before it begins; write the smaller size first")
    return sizes


@dataclass(frozen=True)
class NodeCounts:
    """Numbers of nodes of a job, both ends included. `None`: any."""

    least: int
    most: int | None


def _node_counts(text: str) -> NodeCounts:
    count = units.parse_count
    if match := re.fullmatch(r"(.+) to (.+)", text):
        counts = NodeCounts(count(match[1]), count(match[2]))
    elif match := re.fullmatch(r"(.+) or more", text):
        counts = NodeCounts(count(match[1]), None)
    elif match := re.fullmatch(r"(.+) or less", text):
        counts = NodeCounts(0, count(match[1]))
    elif re.fullmatch(r"[0-9]+", text):
        counts = NodeCounts(count(text), count(text))
    else:
        raise ValueError(f"{quoted(text)} is not a number of nodes; write 1, 1 to 4, 4 or less, or 64 or more")
    if counts.most is not None and counts.most < max(1, counts.least):
        raise ValueError(f"{quoted(text)} ends before it begins; write the smaller number first")
    if max(counts.least, counts.most or 0) > LARGEST_ID:
        raise ValueError(f"{quoted(text)} is more nodes than there are; write a smaller number")
    return counts


def _user(text: str) -> int:
    return _id(text, "user", lambda name: pwd.getpwnam(name).pw_uid)


def _group(text: str) -> int:
    return _id(text, "group", lambda name: grp.getgrnam(name).gr_gid)


def _id(text: str, noun: str, number_of: Callable[[str], int]) -> int:
    """The id of a user or group. Names are those of this node; agents compare ids."""
    if re.fullmatch(r"[0-9]+", text):
        number = int(text)
        if number > LARGEST_ID:
            raise ValueError(f"{quoted(text)} is no number of a {noun}; write 0 to {LARGEST_ID}")
        return number
    try:
        return number_of(text)
    except (KeyError, ValueError):
        raise ValueError(f"this node has no {noun} {quoted(text)}; write the number of the {noun}") from None


def _pattern(text: str) -> str:
    if not text or len(text) > LONGEST_LABEL or not text.isprintable():
        raise ValueError(f"{quoted(text)} is not a name; write 1 to {LONGEST_LABEL} characters that can be printed")
    return text


def _one_or_several(parse: Callable[[str], object]) -> BeforeValidator:
    """A value, or a list of them."""

    def several(value: object) -> list[object]:
        values = value if isinstance(value, list) else [value]
        if not values:
            raise ValueError("is an empty list; write at least one, or leave the key out")
        return [parse(single_text(item)) for item in values]

    return BeforeValidator(several)


def _label(text: str) -> str:
    label = " ".join(text.split())
    if not label or len(label) > LONGEST_LABEL or not label.isprintable():
        raise ValueError(f"{quoted(text)} is not a label; write 1 to {LONGEST_LABEL} characters that can be printed")
    return label


Label = Annotated[str, parsed(_label), Kind("label")]
AbsolutePath = Annotated[str, parsed(absolute_path), Kind("absolute path")]
Window = Annotated[int, parsed(_window), Kind("duration")]
Bandwidth = Annotated[Amount, parsed(_bandwidth), Kind("`50MB/s`, or `500MB per 10s`")]
Calls = Annotated[Amount, parsed(_calls_in_time), Kind("`10k/s`, or `100k per 10s`")]
Latency = Annotated[int, parsed(units.parse_duration_ns), Kind("duration, such as `10ms`")]
Memory = Annotated[int, parsed(units.parse_bytes), Kind("size, such as `64GiB`")]
SizeRange = Annotated[Sizes, parsed(_sizes), Kind("`4k to 64k`, `64k or less`, `1MiB or more`")]
Users = Annotated[list[int], _one_or_several(_user), Kind("user: name or number; or a list")]
Groups = Annotated[list[int], _one_or_several(_group), Kind("group: name or number; or a list")]
Names = Annotated[list[str], _one_or_several(_pattern), Kind("name, with `*`, `?`, `[a-z]`; or a list")]
Nodes = Annotated[NodeCounts, parsed(_node_counts), Kind("`4`, `1 to 4`, `4 or less`, `64 or more`")]
CallWord = Annotated[str, parsed(calls.word), Kind("[kind of calls](#kinds-of-calls)")]


class YamlRule(Part):
    """A rule: whose calls, what is measured of them, and how much of that is allowed.

    It has either `monitor` or `throttle`, and one measure.
    """

    monitor: Label | None = Field(default=None, description="Alert when the rule is broken. The label, in alerts.")
    throttle: Label | None = Field(
        default=None, description="Hold the processes to the limit (`bandwidth` or `count`). The label, in alerts."
    )
    path: AbsolutePath | None = Field(
        default=None,
        description="Only files at this path and beneath it, whatever a program calls them: links of both are "
        "followed, as far as the path has no `*` or `?`. Without it: all files.",
    )
    calls: list[CallWord] = Field(default=[], description="Which calls count. Measures of processes have none.")
    sizes: SizeRange | None = Field(default=None, description="Only transfers of these sizes.")
    bandwidth: Bandwidth | None = Field(default=None, description="Bytes that these calls may move.")
    count: Calls | None = Field(default=None, description="How many such calls there may be.")
    mean_latency: Latency | None = Field(
        default=None, alias="mean latency", description="What the calls may take on average."
    )
    longest_latency: Latency | None = Field(
        default=None, alias="longest latency", description="What a single call may take."
    )
    shortest_latency: Latency | None = Field(
        default=None,
        alias="shortest latency",
        description="What the fastest call of a window may take: broken if all are slower.",
    )
    total_latency: Latency | None = Field(
        default=None, alias="total latency", description="What all calls may take, added up over processes."
    )
    seek_distance: Memory | None = Field(
        default=None,
        alias="seek distance",
        description="How far transfers may begin from the end of the one before, added up.",
    )
    resident_memory: Memory | None = Field(
        default=None, alias="resident memory", description="What the processes may have in memory."
    )
    virtual_memory: Memory | None = Field(
        default=None, alias="virtual memory", description="What the processes may have allocated."
    )
    user_time: Latency | None = Field(
        default=None, alias="user time", description="Processor time that they may spend in programs."
    )
    system_time: Latency | None = Field(
        default=None, alias="system time", description="Processor time that they may spend in the kernel."
    )
    io_wait_time: Latency | None = Field(
        default=None, alias="I/O wait time", description="How long they may wait for block devices."
    )
    over: Window | None = Field(
        default=None,
        description="The window: in each, what is measured is compared with the limit. Without it: 1 s, or what "
        "stands after `per`.",
    )
    scope: Literal["job", "node", "whole job", "user"] = Field(
        default="job",
        description="Whose calls are added up: those of each `job` on each node by itself, of all jobs of a `node`, of "
        "each job on all its nodes (`whole job`), or of all jobs of each `user` on all nodes. The last two hold "
        "back, and do not monitor; their nodes [share](../guides/watch.md#limits-over-several-nodes).",
    )
    user: Users | None = Field(default=None, description="Only jobs of these users, as the kernel knows them.")
    group: Groups | None = Field(
        default=None, description="Only jobs whose processes are in one of these groups, as the kernel knows them."
    )
    project: Names | None = Field(
        default=None,
        description="Only jobs of these projects in the scheduler: the account of Slurm and PBS, the project of LSF, "
        "as the job's environment says. Not project ids of a file system.",
    )
    job_name: Names | None = Field(
        default=None,
        alias="job name",
        description="Only jobs of these names in the scheduler, as the job's environment says.",
    )
    nodes: Nodes | None = Field(
        default=None,
        description="Only jobs with so many nodes, as the job's environment says (Slurm, Torque, LSF, Flux).",
    )

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        self.rule()
        return self

    def rule(self) -> Rule:
        """The rule as in the protocol. Raises `ValueError`."""
        if (self.monitor is None) == (self.throttle is None):
            raise ValueError("needs a label; write either `monitor: LABEL` or `throttle: LABEL`")
        measure, limit = self._measure()
        classes = calls.classes_of(self.calls)
        window_s, total = self.over or 1, limit
        if isinstance(limit, Amount):
            if limit.window_s and self.over:
                raise ValueError(f"has two windows; leave out `over`, or write {KEY[measure]} per second")
            window_s = limit.window_s or window_s
            total = limit.amount * (1 if limit.window_s else window_s)
        assert isinstance(total, int)
        rule = Rule(
            action="monitor" if self.monitor is not None else "throttle",
            calls=classes,
            label=self.monitor or self.throttle or "",
            least_bytes=self.sizes.least if self.sizes else 0,
            limit=total,
            measure=measure,
            most_bytes=self.sizes.most if self.sizes else None,
            path=None if self.path == "/" else self.path,
            scope=_SCOPES[self.scope],
            window_s=window_s,
        )
        if jobs := self._jobs():
            rule["jobs"] = jobs
        check(rule)
        return rule

    def _jobs(self) -> Jobs:
        """The jobs that it selects, without conditions that all jobs meet."""
        jobs = Jobs()
        if self.user:
            jobs["users"] = self.user
        if self.group:
            jobs["groups"] = self.group
        if self.project:
            jobs["projects"] = self.project
        if self.job_name:
            jobs["names"] = self.job_name
        if self.nodes and self.nodes.least > 1:
            jobs["least_nodes"] = self.nodes.least
        if self.nodes and self.nodes.most is not None:
            jobs["most_nodes"] = self.nodes.most
        return jobs

    def _measure(self) -> tuple[Measure, int | Amount]:
        measures = {
            MEASURES[field.alias or name]: getattr(self, name)
            for name, field in type(self).model_fields.items()
            if (field.alias or name) in MEASURES and getattr(self, name) is not None
        }
        if len(measures) != 1:
            measure_names = " and ".join(f"`{KEY[measure]}`" for measure in measures) or "no measure"
            raise ValueError(f"has {measure_names}; write one of {', '.join(f'`{key}`' for key in MEASURES)}")
        return next(iter(measures.items()))


class YamlContract(Part):
    """A contract."""

    rules: list[YamlRule] = Field(description="The rules. A contract without any, `rules: []`, lifts those before it.")


@dataclass(frozen=True)
class Loaded:
    """A contract with notes."""

    contract: Contract
    notes: list[Problem]
    """Measures of Mistral that ioassay measures differently."""


def load(path: Path, scope: Scope = "job") -> Loaded:
    """The contract in a file: ours, one of Mistral, or `contract.json`. Raises `SourceError`.

    `scope` is that of Mistral's rules, whose files do not say it.
    """
    return parse(read_text(path, NOUN), str(path), scope)


def parse(text: str, file: str, scope: Scope = "job") -> Loaded:
    """The contract in a text; `file` is its name in problems. Raises `SourceError`."""
    if is_of_mistral(text):
        converted = rules_of(read_contract(text, file), scope, file)
        contract, notes, tree = Contract(rules=converted.rules, version=PROTOCOL_VERSION), converted.notes, None
    elif text.lstrip().startswith("{"):
        contract, notes, tree = _document(text, file), [], None
    else:
        tree = parse_source(text, file, NOUN, "rules").tree
        rules = [rule.rule() for rule in validate(YamlContract, tree).rules]
        contract, notes = Contract(rules=rules, version=PROTOCOL_VERSION), []

    def origin(number: int) -> Origin:
        return locate(tree, ["rules", number]) if tree else Origin(f"{file}:1", f"rules[{number}]")

    if problems := [origin(number).problem(wrong, meant) for number, wrong, meant in conflicts(contract["rules"])]:
        raise SourceError(problems)
    return Loaded(contract, notes)


def is_of_mistral(text: str) -> bool:
    """True for a contract of Mistral, judged by its first line that is not empty or a comment."""
    lines = (line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    return bool(_MISTRAL.match(next(lines, "")))


def _document(text: str, file: str) -> Contract:
    """The contract in the JSON for agents."""
    top = Origin(f"{file}:1")
    try:
        contract: Contract = protocol.validator("contract").validate_python(json.loads(text))
    except ValidationError as error:
        raise SourceError([top.problem(protocol.reason(error), "write it with `ioassay watch set`")]) from None
    except (ValueError, RecursionError) as error:
        raise SourceError([top.problem(f"not JSON: {error}", "write a contract as YAML")]) from None
    if contract["version"] != PROTOCOL_VERSION:
        wrong = f"version {contract['version']} instead of {PROTOCOL_VERSION}"
        raise SourceError([top.problem(wrong, "write it again with `ioassay watch set`")])
    for number, rule in enumerate(contract["rules"]):
        try:
            check(rule)
        except ValueError as error:
            raise SourceError([Origin(top.place, f"rules[{number}]").problem(*wrong_and_meant(error))]) from None
    return contract


def document(contract: Contract) -> bytes:
    """The text of `contract.json`."""
    return (json.dumps(contract, indent=2) + "\n").encode()


def text_of(contract: Contract) -> str:
    """The contract as YAML that `parse` reads back unchanged. Raises `UsageError` if YAML cannot express it."""
    rules = [_entries(rule) for rule in contract["rules"]]
    text = yaml.safe_dump({"rules": rules}, sort_keys=False, allow_unicode=True, width=1000)
    try:
        parsed_back = parse(text, "contract").contract
    except SourceError as error:
        raise UsageError(f"The contract has a rule that YAML cannot say: {error.problems[0]}.") from None
    if parsed_back != contract:
        differing = next(
            (
                rule["label"]
                for rule, parsed_rule in zip(contract["rules"], parsed_back["rules"], strict=True)
                if rule != parsed_rule
            ),
            "",
        )
        raise UsageError(f"YAML cannot say the rule {quoted(differing)}.")
    return text


def _entries(rule: Rule) -> dict[str, object]:
    """The keys of a rule in YAML."""
    entries: dict[str, object] = {rule["action"]: rule["label"]}
    if path := rule.get("path"):
        entries["path"] = path
    if rule["calls"]:
        entries["calls"] = calls.words_of(rule["calls"])
    if sizes := sizes_text(rule):
        entries["sizes"] = sizes
    entries[KEY[rule["measure"]]] = limit_text(rule)
    if rule["measure"] not in THROTTLED and rule["window_s"] != 1:
        entries["over"] = f"{rule['window_s']}s"
    if rule["scope"] != "job":
        entries["scope"] = scope_text(rule["scope"])
    jobs = rule.get("jobs", Jobs())
    selected = {
        "user": [_name_of(number, lambda uid: pwd.getpwuid(uid).pw_name, _user) for number in jobs.get("users", [])],
        "group": [_name_of(number, lambda gid: grp.getgrgid(gid).gr_name, _group) for number in jobs.get("groups", [])],
        "project": jobs.get("projects", []),
        "job name": jobs.get("names", []),
    }
    entries |= {key: values[0] if len(values) == 1 else values for key, values in selected.items() if values}
    if nodes := nodes_text(jobs):
        entries["nodes"] = nodes
    return entries


def _name_of(number: int, name_of: Callable[[int], str], number_of: Callable[[str], int]) -> str:
    """The name of a user or group if this node has one with this id, otherwise the id."""
    try:
        name = name_of(number)
        return name if number_of(name) == number else str(number)
    except (KeyError, ValueError, OverflowError):
        return str(number)


def scope_text(scope: Scope) -> str:
    """A scope, as in YAML."""
    return scope.replace("-", " ")


def nodes_text(jobs: Jobs) -> str:
    """The numbers of nodes of a rule's jobs, as in YAML; empty for all."""
    least, most = max(1, jobs.get("least_nodes", 0)), jobs.get("most_nodes")
    if most is None:
        return f"{least} or more" if least > 1 else ""
    if least == most:
        return str(most)
    return f"{least} to {most}" if least > 1 else f"{most} or less"


def jobs_text(rule: Rule) -> str:
    """The jobs that a rule selects, in words; empty for all."""
    jobs = rule.get("jobs", Jobs())
    users = [_name_of(number, lambda uid: pwd.getpwuid(uid).pw_name, _user) for number in jobs.get("users", [])]
    groups = [_name_of(number, lambda gid: grp.getgrgid(gid).gr_name, _group) for number in jobs.get("groups", [])]
    nodes = nodes_text(jobs)
    parts = [
        f"user {' or '.join(users)}" if users else "",
        f"group {' or '.join(groups)}" if groups else "",
        f"project {' or '.join(jobs.get('projects', []))}" if jobs.get("projects") else "",
        f"job name {' or '.join(jobs.get('names', []))}" if jobs.get("names") else "",
        f"{nodes} {'node' if nodes == '1' else 'nodes'}" if nodes else "",
    ]
    return ", ".join(part for part in parts if part)


def sizes_text(rule: Rule) -> str:
    """The transfer sizes of a rule, as in YAML; empty for all."""
    least, most = rule["least_bytes"], rule.get("most_bytes")
    if most is None:
        return f"{units.format_exact_bytes(least)} or more" if least else ""
    if not least:
        return f"{units.format_exact_bytes(most)} or less"
    return f"{units.format_exact_bytes(least)} to {units.format_exact_bytes(most)}"


def limit_text(rule: Rule) -> str:
    """The limit of a rule, as in YAML."""
    limit = amount_text(rule["measure"], rule["limit"])
    if rule["measure"] not in THROTTLED:
        return limit
    return f"{limit}/s" if rule["window_s"] == 1 else f"{limit} per {rule['window_s']}s"


def amount_text(measure: Measure, amount: int) -> str:
    """An amount in the unit of a measure, exactly."""
    if measure == "count":
        factor = next((factor for factor in (10**9, 10**6, 10**3) if amount and amount % factor == 0), 1)
        return f"{amount // factor}{ {10**9: 'G', 10**6: 'M', 10**3: 'k', 1: ''}[factor] }"
    if measure in IN_BYTES:
        return units.format_exact_bytes(amount)
    return units.format_duration(amount).replace(" ", "")
