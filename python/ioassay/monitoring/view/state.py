"""The state of jobs, nodes, rules and devices in the latest second, from documents, in bounded memory.

A node's second is shown once it is complete: after the agent's document about itself, which comes last, or when
documents of a later second arrive. Later additions to earlier seconds, such as calls that took several, are left out.
Not: the clock, tables.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from ioassay.monitoring.view.documents import Document
from ioassay.profiles.model import DIRECTION

MOST_NODES: Final = 4096
MOST_ROWS: Final = 10_000
"""Most documents of a node's second; an agent sends some hundred."""
MOST_ALERTS: Final = 1000
AHEAD_S: Final = 5
"""A node whose clock is further ahead is left out: compared with it, all other nodes would look silent."""
SILENT_AFTER_S: Final = 10
"""A node without documents for this long, while others send some, is left out of sums."""

DEVICES: Final = {
    "disk": ("device", "read_bytes", "write_bytes"),
    "nfs": ("mount_point", "server_read_bytes", "server_write_bytes"),
    "lustre": ("file_system", "read_bytes", "write_bytes"),
    "gpfs": ("file_system", "read_bytes", "write_bytes"),
    "network": ("interface", "received_bytes", "sent_bytes"),
    "infiniband": ("port", "received_bytes", "sent_bytes"),
}
"""Kinds of documents about devices: the fields of the name, and of the bytes in both directions."""


@dataclass
class Rates:
    """Totals of calls in a second."""

    read_bytes: int = 0
    write_bytes: int = 0
    metadata_calls: int = 0
    calls: int = 0
    busy_ns: int = 0
    slowest_ns: int = 0

    def add(self, io: Document) -> None:
        """Adds the calls of a class if it is on storage. MPI-IO and maps are left out: they would count twice."""
        direction = DIRECTION.get(io.text("class"))
        if direction is None:
            return
        if direction == "read":
            self.read_bytes += io.number("bytes")
        elif direction == "write":
            self.write_bytes += io.number("bytes")
        else:
            self.metadata_calls += io.number("calls")
        self.calls += io.number("calls")
        self.busy_ns += io.number("busy_ns")
        self.slowest_ns = max(self.slowest_ns, io.number("slowest_ns"))

    def merge(self, other: Rates) -> None:
        self.read_bytes += other.read_bytes
        self.write_bytes += other.write_bytes
        self.metadata_calls += other.metadata_calls
        self.calls += other.calls
        self.busy_ns += other.busy_ns
        self.slowest_ns = max(self.slowest_ns, other.slowest_ns)

    @property
    def mean_ns(self) -> float | None:
        """Mean time of a call; `None` without calls."""
        return self.busy_ns / self.calls if self.calls else None


@dataclass
class Second:
    """The documents of a node's second."""

    second: int
    rows: list[Document] = field(default_factory=list)

    def add(self, document: Document) -> None:
        """Adds a document, unless there are too many."""
        if len(self.rows) < MOST_ROWS:
            self.rows.append(document)

    def of(self, kind: str) -> Iterator[Document]:
        """The documents of a kind."""
        return (row for row in self.rows if row.kind == kind)


@dataclass
class Job:
    """A job in the latest second, over all nodes."""

    name: str
    rates: Rates = field(default_factory=Rates)
    nodes: int = 0
    user: str = ""
    command: str = ""
    processes: int = 0
    throttled_ns: int = 0
    in_flight: int = 0


@dataclass
class NodeRow:
    """A node in its latest second."""

    name: str
    second: int
    is_silent: bool
    """True if it sent no documents while others did."""
    rates: Rates
    jobs: int
    cpu_share: float | None
    """Share of busy processors."""
    memory_share: float | None
    """Share of unavailable memory."""
    dropped: int
    """Documents that its agent dropped."""


@dataclass
class Device:
    """A disk, mount, file system or interface of a node in its latest second."""

    node: str
    kind: str
    name: str
    read_bytes: int
    write_bytes: int
    busy_share: float | None
    """Share of the second with requests; `None` if not counted."""


@dataclass
class Load:
    """The load of a job, or of a client, on a target of a file server, per second."""

    target: str
    service: str
    node: str
    """The server."""
    who: str
    """The job id in the target's counters, or `client NAME` if the target does not count by job."""
    user: str
    command: str
    """Command of the watched job with this id, if there is one."""
    read_bytes: float = 0
    write_bytes: float = 0
    requests: float = 0
    share: float | None = None
    """Share of the target's bytes, or of its requests if it moves none; `None` without both."""
    others: int = 0
    """Number of jobs or clients, if it is a sum."""


@dataclass
class RuleRow:
    """A rule for a job in the latest second, over all nodes."""

    label: str
    job: str
    user: str
    """User id, if the rule sums all jobs of a user."""
    jobs: str = ""
    """The selected jobs; empty for all."""
    measure: str = ""
    nodes: int = 0
    measured: int = 0
    """The highest of any node, or the sum over nodes that share a limit."""
    allowed: int = 0
    waits: int = 0
    waited_ns: int = 0
    beyond_calls: int = 0
    remark: str = ""
    is_broken: bool = False

    @property
    def state(self) -> str:
        if self.waits:
            return "throttles"
        return "broken" if self.is_broken else "ok"


@dataclass
class _Node:
    pending: Second
    complete: Second | None = None


@dataclass
class View:
    """The state of all nodes."""

    alerts: deque[Document] = field(default_factory=lambda: deque(maxlen=MOST_ALERTS))
    """The latest last."""
    alert_count: int = 0
    refused: int = 0
    """Invalid lines."""
    ahead: str = ""
    """A message about a node whose clock is ahead."""
    _nodes: dict[str, _Node] = field(default_factory=dict)

    def add(self, document: Document, now: int | None = None) -> bool:
        """Adds a document, unless its clock is ahead of `now`, the current second.

        Returns True if it was added.
        """
        if now is not None and document.second > now + AHEAD_S:
            self.ahead = f"The clock of {document.node} is {document.second - now} s ahead of this node's"
            return False
        node = self._nodes.get(document.node)
        if node is None:
            if len(self._nodes) >= MOST_NODES:
                return False
            node = self._nodes[document.node] = _Node(Second(document.second))
        if document.kind == "alert":
            self.alerts.append(document)
            self.alert_count += 1
        if document.second > node.pending.second:
            node.complete, node.pending = node.pending, Second(document.second)
        if document.second == node.pending.second:
            node.pending.add(document)
            if document.kind == "agent":
                node.complete = node.pending
        return True

    @property
    def second(self) -> int | None:
        """The latest complete second of any node."""
        return max((node.complete.second for node in self._nodes.values() if node.complete), default=None)

    def seconds(self) -> dict[str, Second]:
        """The latest complete second of each node that is not silent."""
        newest = self.second or 0
        complete = ((name, node.complete) for name, node in sorted(self._nodes.items()) if node.complete)
        return {name: latest for name, latest in complete if newest - latest.second < SILENT_AFTER_S}

    def totals(self) -> Rates:
        """Totals of all jobs on all nodes."""
        rates = Rates()
        for second in self.seconds().values():
            for io in second.of("io"):
                rates.add(io)
        return rates

    def jobs(self) -> list[Job]:
        """The jobs, by amount."""
        jobs: dict[str, Job] = {}
        for second in self.seconds().values():
            names = set()
            for row in second.rows:
                if row.kind not in ("io", "job", "in_flight"):
                    continue
                name = row.text("job")
                job = jobs.setdefault(name, Job(name))
                names.add(name)
                if row.kind == "io":
                    job.rates.add(row)
                elif row.kind == "in_flight":
                    job.in_flight += 1
                else:
                    job.user, job.command = row.text("user"), job.command or row.text("command")
                    job.processes += row.number("processes")
                    job.throttled_ns += row.number("throttled_ns")
            for name in names:
                jobs[name].nodes += 1
        return sorted(jobs.values(), key=lambda job: (-_weight(job.rates), job.name))

    def nodes(self) -> list[NodeRow]:
        """The nodes, by name."""
        live = self.seconds()
        rows = []
        for name, node in sorted(self._nodes.items()):
            second = node.complete
            if second is None:
                continue
            rates = Rates()
            for io in second.of("io"):
                rates.add(io)
            cpu, memory, agent = (next(second.of(kind), None) for kind in ("cpu", "memory", "agent"))
            rows.append(
                NodeRow(
                    name,
                    second.second,
                    name not in live,
                    rates,
                    len({job.text("job") for job in second.of("job")}),
                    _cpu_share(cpu),
                    _memory_share(memory),
                    agent.number("dropped_documents") if agent else 0,
                )
            )
        return rows

    def devices(self) -> list[Device]:
        """The devices in use, the busiest first."""
        devices = []
        for second in self.seconds().values():
            for row in second.rows:
                if row.kind not in DEVICES:
                    continue
                name, read, write = DEVICES[row.kind]
                busy = min(1.0, row.number("busy_ns") / 1e9) if "busy_ns" in row.numbers else None
                device = Device(row.node, row.kind, row.text(name), row.number(read), row.number(write), busy)
                if busy or device.read_bytes or device.write_bytes:
                    devices.append(device)
        return sorted(
            devices,
            key=lambda device_: (
                -(device_.busy_share or 0),
                -(device_.read_bytes + device_.write_bytes),
                device_.node,
                device_.name,
            ),
        )

    def loads(self) -> list[Load]:
        """The loads on targets: targets by load, and on each the loads by amount."""
        live = self.seconds()
        jobs = {row.text("job"): row for second in live.values() for row in second.of("job")}
        weighted: list[tuple[float, Load]] = []
        for second in live.values():
            rows: dict[tuple[str, str], list[Document]] = {}
            for kind in ("target_job", "target_client"):
                by_target: dict[tuple[str, str], list[Document]] = {}
                for row in second.of(kind):
                    by_target.setdefault(_target(row), []).append(row)
                # Clients only if a target does not count by job.
                rows = by_target | rows
            for target in second.of("target"):
                per_second = 1000 / max(1, target.number("over_ms"))
                weight = _load(target) * per_second
                loading = rows.get(_target(target)) or ([target] if _load(target) else [])
                weighted += [(weight, _load_row(target, row, jobs, per_second)) for row in loading]
        weighted.sort(
            key=lambda pair: (
                -pair[0],
                pair[1].target,
                pair[1].others > 0,
                -(pair[1].read_bytes + pair[1].write_bytes + _METADATA_BYTES * pair[1].requests),
                pair[1].who,
            )
        )
        return [load for _, load in weighted]

    def in_flight(self) -> list[Document]:
        """Calls in flight for longer than a second, the oldest first."""
        calls = [call for second in self.seconds().values() for call in second.of("in_flight")]
        return sorted(calls, key=lambda call: -call.number("since_ns"))

    def rules(self) -> list[RuleRow]:
        """The rules, throttling and broken ones first."""
        rules: dict[tuple[str, str, str], RuleRow] = {}
        for second in self.seconds().values():
            for row in second.of("rule"):
                key = (row.text("label"), row.text("job"), user_added_up(row))
                rule = rules.setdefault(key, RuleRow(*key))
                rule.nodes += 1
                measured = row.number("measured")
                shared = row.text("scope") in SHARED_SCOPES
                rule.measured = rule.measured + measured if shared else max(rule.measured, measured)
                rule.jobs = row.text("jobs")
                rule.allowed = row.number("allowed")
                rule.waits += row.number("waits")
                rule.waited_ns += row.number("waited_ns")
                rule.beyond_calls += row.number("beyond_calls")
                rule.measure = row.text("measure")
                rule.remark = rule.remark or row.text("remark")
            for alert in second.of("alert"):
                key = (alert.text("label"), alert.text("job"), user_added_up(alert))
                rules.setdefault(key, RuleRow(*key)).is_broken = True
        return sorted(rules.values(), key=lambda rule: (rule.state == "ok", rule.label, rule.job, rule.user))


SHARED_SCOPES: Final = frozenset({"whole job", "user"})
"""Scopes of rules whose limits the nodes of a job or user share."""


def user_added_up(document: Document) -> str:
    """The user id if a rule sums all jobs of a user; otherwise empty."""
    return document.text("user") if document.text("scope") == "user" else ""


_METADATA_BYTES: Final = 4096
"""Weight of a metadata call: a page, so that both kinds of jobs rank high."""


def _weight(rates: Rates) -> int:
    return rates.read_bytes + rates.write_bytes + _METADATA_BYTES * rates.metadata_calls


def _target(row: Document) -> tuple[str, str]:
    return row.text("service"), row.text("target")


def _bytes(row: Document) -> int:
    return row.number("read_bytes") + row.number("write_bytes")


def _requests(row: Document) -> int:
    return row.number("reads") + row.number("writes") + row.number("metadata_operations")


def _load(row: Document) -> int:
    return _bytes(row) + _METADATA_BYTES * _requests(row)


def _load_row(target: Document, row: Document, jobs: Mapping[str, Document], per_second: float) -> Load:
    """The load of `row` on a target; `row` is the target's own document if it has no others."""
    name, user, count, watched = "all clients", "", 0, None
    if row.kind == "target_job":
        job, count = row.text("job"), row.number("jobs")
        name, user = job or "no job id", row.text("user")
        watched = jobs.get(row.text("scheduler_job") or job)
    elif row.kind == "target_client":
        client, count = row.text("client"), row.number("clients")
        name = client if count > 1 else f"client {client}"
    total = _bytes(target) or _requests(target)
    amount = _bytes(row) if _bytes(target) else _requests(row)
    return Load(
        target=target.text("target"),
        service=target.text("service"),
        node=target.node,
        who=name,
        user=user or (watched.text("user") if watched else ""),
        command=watched.text("command") if watched else "",
        read_bytes=row.number("read_bytes") * per_second,
        write_bytes=row.number("write_bytes") * per_second,
        requests=_requests(row) * per_second,
        # Parts are read slightly later than the total.
        share=min(1.0, amount / total) if total else None,
        others=count if count > 1 else 0,
    )


def _cpu_share(cpu: Document | None) -> float | None:
    if cpu is None:
        return None
    idle = cpu.number("idle_ns") + cpu.number("iowait_ns")
    total = sum(value for name, value in cpu.numbers.items() if name.endswith("_ns"))
    return (total - idle) / total if total else None


def _memory_share(memory: Document | None) -> float | None:
    if memory is None or not memory.number("total_bytes"):
        return None
    return max(0.0, 1 - memory.number("available_bytes") / memory.number("total_bytes"))
