"""The dashboards: their variables and panels. Not: queries of a store, Grafana's JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ioassay.monitoring.dashboards.measures import CLASS_GROUP, Measure, Variable, labels

# Grafana's names of units.
BYTES_PER_SECOND: Final = "Bps"
BYTES: Final = "bytes"
PER_SECOND: Final = "ops"
NANOSECONDS: Final = "ns"
NUMBER: Final = "short"
SHARE: Final = "percentunit"

# Summed nanoseconds per second are the mean number of active threads, processors or requests.
_OF_A_SECOND: Final = 1e-9


@dataclass(frozen=True)
class Panel:
    """Measures over time, in one graph."""

    title: str
    unit: str
    measures: tuple[Measure, ...]
    about: str = ""
    axis: str = ""
    """What is counted, if the unit does not say it."""
    is_stacked: bool = False


@dataclass(frozen=True)
class Top:
    """A table of the labels with the highest sums over the displayed time."""

    title: str
    unit: str
    measure: Measure
    about: str = ""


@dataclass(frozen=True)
class Documents:
    """A table of the latest documents of a kind, for stores of documents."""

    title: str
    kind: str
    columns: tuple[str, ...]
    about: str = ""

    def __post_init__(self) -> None:
        assert self.columns[0] in labels(self.kind)


@dataclass(frozen=True)
class Row:
    """Panels under a heading."""

    title: str
    panels: tuple[Panel | Top | Documents, ...]


@dataclass(frozen=True)
class Dashboard:
    """A dashboard of Grafana."""

    name: str
    title: str
    about: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]


def _rates(kind: str, by: tuple[str, ...], fields: Sequence[tuple[str, str]]) -> tuple[Measure, ...]:
    """A measure for each pair of legend and field."""
    return tuple(Measure(kind, field, by, name=name) for name, field in fields)


def _times(kind: str, by: tuple[str, ...], fields: Sequence[tuple[str, str]]) -> tuple[Measure, ...]:
    """Summed times of a second: the mean number at the same time."""
    return tuple(Measure(kind, field, by, scale=_OF_A_SECOND, name=name) for name, field in fields)


def _means(kind: str, by: tuple[str, ...], fields: Sequence[tuple[str, str, str]]) -> tuple[Measure, ...]:
    """Ratios of two amounts, for each triple of legend, amount and divisor."""
    return tuple(Measure(kind, field, by, per=per, name=name) for name, field, per in fields)


_ON_STORAGE: Final = "Calls on files of storage. Those of MPI-IO are counted as the calls that they make."
_ALERT_COLUMNS: Final = (
    *("label", "action", "node", "job", "measure", "measured", "allowed", "window_s", "waits", "waited_ns"),
    *("path", "classes", "command", "pid", "rank", "user", "file"),
)
_GREATEST: Final = "The slowest call of each interval, among those that ended in it."


def _io(by: tuple[str, ...], whose: str) -> tuple[Panel, ...]:
    """Rates of calls on storage."""
    return (
        Panel(f"Data {whose}", BYTES_PER_SECOND, (Measure("io", "bytes", by, groups=("read", "write")),), _ON_STORAGE),
        Panel(
            f"Calls {whose}",
            PER_SECOND,
            (Measure("io", "calls", by, groups=("read", "write", "metadata")),),
            _ON_STORAGE,
        ),
    )


def _by_job(field: str) -> Measure:
    """A measure of jobs on targets of servers."""
    return Measure("target_job", field, ("target", "job"))


def _alerts(*, other_columns: tuple[str, ...]) -> tuple[Top | Documents, ...]:
    columns = tuple(column for column in _ALERT_COLUMNS if column not in other_columns)
    by = tuple(label for label in ("label", "action", "node", "job") if label not in other_columns)
    return (
        Top(
            "Alerts by rule",
            NUMBER,
            Measure("alert", None, by),
            "How often rules were broken in the time that is shown.",
        ),
        Documents(
            "Latest alerts",
            "alert",
            columns,
            "What was measured and what is allowed are in the unit of the measure. A rule that throttles held calls: "
            "`waits` of them, for `waited_ns` together.",
        ),
    )


_NODES: Final = Variable("node", ("agent",), "Nodes")
_JOBS: Final = Variable("job", ("job",), "Jobs", within=("node",))
_NODE: Final = Variable("node", ("agent",), "Node", only_one=True)
_JOB: Final = Variable("job", ("job",), "Job", only_one=True)

CLUSTER: Final = Dashboard(
    "cluster",
    "Cluster",
    "Storage I/O of all nodes, the jobs and nodes that do most of it, alerts, and how the agents fare.",
    (_NODES, _JOBS),
    (
        Row(
            "All nodes",
            (
                *_io((CLASS_GROUP,), "by group of calls"),
                Panel(
                    "Mean latency by group of calls",
                    NANOSECONDS,
                    _means("io", (CLASS_GROUP,), [("", "busy_ns", "calls")]),
                    "Time that calls took, divided by their number.",
                ),
                Panel(
                    "Jobs on nodes",
                    NUMBER,
                    (Measure("job", None, name="jobs"), Measure("job", "processes", name="processes")),
                    "A job counts once on each of its nodes.",
                    axis="jobs, processes",
                ),
            ),
        ),
        Row(
            "Who",
            (
                Top("Jobs that moved most data", BYTES, Measure("io", "bytes", ("job",), groups=("read", "write"))),
                Top(
                    "Jobs with most calls",
                    NUMBER,
                    Measure("io", "calls", ("job",), groups=("read", "write", "metadata")),
                ),
                Top("Nodes that moved most data", BYTES, Measure("io", "bytes", ("node",), groups=("read", "write"))),
                *_io(("job",), "by job"),
                *_io(("node",), "by node"),
                Panel("Slowest call by node", NANOSECONDS, (Measure("io", "slowest_ns", ("node",)),), _GREATEST),
            ),
        ),
        Row(
            "Rules",
            (
                *_alerts(other_columns=()),
                Panel(
                    "Waiting for throttling by job",
                    NUMBER,
                    _times("job", ("job",), [("", "throttled_ns")]),
                    "Threads that wait, on average.",
                    axis="threads",
                ),
            ),
        ),
        Row(
            "Agents",
            (
                Panel("Agents that report", NUMBER, (Measure("agent", name="agents"),), axis="agents"),
                Panel(
                    "Late by node",
                    NANOSECONDS,
                    (Measure("agent", "late_ns", ("node",)),),
                    "By how much an agent looked later than it wanted to.",
                ),
                Panel(
                    "Waiting documents by node",
                    NUMBER,
                    (Measure("agent", "spooled_documents", ("node",)),),
                    "They wait in the spool because a store is slow or cannot be reached.",
                    axis="documents",
                ),
                Panel(
                    "Dropped documents by node",
                    PER_SECOND,
                    (Measure("agent", "dropped_documents", ("node",)),),
                    "Lost, because a spool was full or a store refused them.",
                ),
                Panel(
                    "Tables that agents refuse",
                    NUMBER,
                    (Measure("agent", "refused_tables", ("node",)),),
                    "Damaged, of another version, or more than an agent reads.",
                    axis="tables",
                ),
                Panel(
                    "Processor time of agents",
                    SHARE,
                    _times("agent", ("node",), [("", "processor_ns")]),
                    "Of one processor.",
                ),
            ),
        ),
    ),
)

NODE: Final = Dashboard(
    "node",
    "Node",
    "One node, second by second: its calls, devices, network, file systems, processors, memory and jobs.",
    (_NODE,),
    (
        Row(
            "Calls",
            (
                *_io((CLASS_GROUP,), "by group of calls"),
                Panel(
                    "Mean latency by group of calls",
                    NANOSECONDS,
                    _means("io", (CLASS_GROUP,), [("", "busy_ns", "calls")]),
                    "Time that calls took, divided by their number.",
                ),
                Panel("Slowest call by class", NANOSECONDS, (Measure("io", "slowest_ns", ("class",)),), _GREATEST),
                Panel(
                    "Calls in flight for more than a second",
                    NUMBER,
                    (Measure("in_flight", None, ("job", "class")),),
                    axis="calls",
                ),
                Documents(
                    "Latest calls in flight",
                    "in_flight",
                    ("job", "class", "pid", "thread", "file", "since_ns"),
                    "Each call that was under way for more than a second, once a second.",
                ),
            ),
        ),
        Row(
            "Jobs",
            (
                *_io(("job",), "by job"),
                Panel("Processes by job", NUMBER, (Measure("job", "processes", ("job",)),), axis="processes"),
                Panel("Resident memory by job", BYTES, (Measure("job", "resident_bytes", ("job",)),)),
                *_alerts(other_columns=("node",)),
            ),
        ),
        Row(
            "Devices",
            (
                Panel(
                    "Data of devices",
                    BYTES_PER_SECOND,
                    _rates("disk", ("device",), [("read", "read_bytes"), ("write", "write_bytes")]),
                ),
                Panel(
                    "Requests of devices",
                    PER_SECOND,
                    _rates("disk", ("device",), [("read", "reads"), ("write", "writes")]),
                ),
                Panel(
                    "Mean time of requests",
                    NANOSECONDS,
                    _means("disk", ("device",), [("read", "read_ns", "reads"), ("write", "write_ns", "writes")]),
                    "Queueing included.",
                ),
                Panel(
                    "Busy devices",
                    SHARE,
                    _times("disk", ("device",), [("", "busy_ns")]),
                    "Share of the time in which the device had at least one request.",
                ),
                Panel(
                    "Requests in the queue",
                    NUMBER,
                    _times("disk", ("device",), [("", "queue_ns")]),
                    "On average, those in service included.",
                    axis="requests",
                ),
            ),
        ),
        Row(
            "Network",
            (
                Panel(
                    "Data of interfaces",
                    BYTES_PER_SECOND,
                    _rates("network", ("interface",), [("received", "received_bytes"), ("sent", "sent_bytes")]),
                ),
                Panel(
                    "Errors and drops of interfaces",
                    PER_SECOND,
                    _rates(
                        "network",
                        ("interface",),
                        [
                            ("receive errors", "receive_errors"),
                            ("receive drops", "receive_drops"),
                            ("send errors", "send_errors"),
                            ("send drops", "send_drops"),
                        ],
                    ),
                ),
                Panel(
                    "Data of InfiniBand ports",
                    BYTES_PER_SECOND,
                    _rates("infiniband", ("port",), [("received", "received_bytes"), ("sent", "sent_bytes")]),
                ),
                Panel(
                    "Congestion of InfiniBand ports",
                    PER_SECOND,
                    _rates("infiniband", ("port",), [("", "send_wait_ticks")]),
                    "Ticks of the adapter in which data waited.",
                ),
            ),
        ),
        Row(
            "File systems",
            (
                Panel(
                    "NFS: data with the server",
                    BYTES_PER_SECOND,
                    _rates("nfs", ("mount_point",), [("read", "server_read_bytes"), ("write", "server_write_bytes")]),
                ),
                Panel(
                    "Lustre: data of applications",
                    BYTES_PER_SECOND,
                    _rates("lustre", ("file_system",), [("read", "read_bytes"), ("write", "write_bytes")]),
                ),
                Panel(
                    "GPFS: data of applications",
                    BYTES_PER_SECOND,
                    _rates("gpfs", ("file_system",), [("read", "read_bytes"), ("write", "write_bytes")]),
                ),
            ),
        ),
        Row(
            "Processors and memory",
            (
                Panel(
                    "Processors",
                    NUMBER,
                    _times(
                        "cpu",
                        (),
                        [
                            ("user", "user_ns"),
                            ("nice", "nice_ns"),
                            ("system", "system_ns"),
                            ("interrupts", "interrupt_ns"),
                            ("stolen", "steal_ns"),
                            ("waiting for I/O", "iowait_ns"),
                        ],
                    ),
                    axis="processors",
                    is_stacked=True,
                ),
                Panel(
                    "Processes of the node",
                    NUMBER,
                    _rates("cpu", (), [("runnable", "runnable"), ("blocked by I/O", "blocked")]),
                    axis="processes",
                ),
                Panel(
                    "Memory",
                    BYTES,
                    _rates(
                        "memory",
                        (),
                        [
                            ("total", "total_bytes"),
                            ("available", "available_bytes"),
                            ("page cache", "page_cache_bytes"),
                            ("dirty", "dirty_bytes"),
                            ("being written back", "writeback_bytes"),
                        ],
                    ),
                ),
                Panel(
                    "Pressure",
                    SHARE,
                    _times("pressure", ("resource",), [("some wait for", "some_ns"), ("all wait for", "full_ns")]),
                    "Share of the time in which tasks waited for a resource.",
                ),
                Panel(
                    "Paging",
                    BYTES_PER_SECOND,
                    _rates(
                        "memory",
                        (),
                        [
                            ("paged in", "paged_in_bytes"),
                            ("paged out", "paged_out_bytes"),
                            ("swapped in", "swapped_in_bytes"),
                            ("swapped out", "swapped_out_bytes"),
                        ],
                    ),
                ),
                Panel(
                    "Major faults and stalled allocations",
                    PER_SECOND,
                    _rates("memory", (), [("major faults", "major_faults"), ("stalls", "allocation_stalls")]),
                ),
            ),
        ),
    ),
)

JOB: Final = Dashboard(
    "job",
    "Job",
    "One job, second by second: its calls and how long they take, its processes, its nodes, alerts and throttling.",
    (
        _JOB,
        Variable("node", ("job",), "Nodes", within=("job",)),
        Variable("class", ("io",), "Classes of calls", within=("job",)),
    ),
    (
        Row(
            "Calls",
            (
                Panel("Data by class", BYTES_PER_SECOND, (Measure("io", "bytes", ("class",)),)),
                Panel("Calls by class", PER_SECOND, (Measure("io", "calls", ("class",)),)),
                Panel(
                    "Mean latency by class",
                    NANOSECONDS,
                    _means("io", ("class",), [("", "busy_ns", "calls")]),
                    "Time that calls took, divided by their number.",
                ),
                Panel("Slowest call by class", NANOSECONDS, (Measure("io", "slowest_ns", ("class",)),), _GREATEST),
                Panel(
                    "Threads in calls",
                    NUMBER,
                    _times("io", ("class",), [("", "busy_ns")]),
                    "How many threads are in calls, on average.",
                    axis="threads",
                ),
                Panel(
                    "Calls in flight for more than a second",
                    NUMBER,
                    (Measure("in_flight", None, ("node", "class")),),
                    axis="calls",
                ),
                Documents(
                    "Latest calls in flight",
                    "in_flight",
                    ("node", "class", "pid", "thread", "file", "since_ns"),
                    "Each call that was under way for more than a second, once a second.",
                ),
            ),
        ),
        Row(
            "Nodes",
            (
                *_io(("node",), "by node"),
                Panel(
                    "Mean latency by node",
                    NANOSECONDS,
                    tuple(
                        Measure("io", "busy_ns", ("node",), per="calls", groups=(group,), name=group)
                        for group in ("read", "write", "metadata")
                    ),
                    "Time that calls took, divided by their number.",
                ),
                Panel("Slowest call by node", NANOSECONDS, (Measure("io", "slowest_ns", ("node",)),), _GREATEST),
            ),
        ),
        Row(
            "Processes",
            (
                Panel("Processes by node", NUMBER, (Measure("job", "processes", ("node",)),), axis="processes"),
                Panel(
                    "Memory of processes",
                    BYTES,
                    _rates("job", (), [("resident", "resident_bytes"), ("virtual", "virtual_bytes")]),
                ),
                Panel(
                    "Processors",
                    NUMBER,
                    _times(
                        "job", (), [("user", "user_ns"), ("system", "system_ns"), ("waiting for devices", "io_wait_ns")]
                    ),
                    "Times of all threads in a second, added up.",
                    axis="threads",
                ),
                Panel("Calls that could not be counted", PER_SECOND, (Measure("job", "uncounted_calls", ("node",)),)),
            ),
        ),
        Row(
            "Rules",
            (
                *_alerts(other_columns=("job",)),
                Panel(
                    "Waiting for throttling",
                    NUMBER,
                    _times("job", ("node",), [("", "throttled_ns")]),
                    "Threads that wait, on average.",
                    axis="threads",
                ),
                Panel(
                    "Calls that had to wait, by rule",
                    PER_SECOND,
                    _rates("rule", ("label",), [("waited", "waits"), ("cannot be held", "beyond_calls")]),
                ),
            ),
        ),
    ),
)

FILE_SYSTEM: Final = Dashboard(
    "file-system",
    "File system",
    "File systems as nodes see them: Lustre and its targets, NFS mounts, GPFS, the disks of nodes, and who uses them.",
    (
        _NODES,
        Variable("file_system", ("lustre", "gpfs"), "Lustre and GPFS"),
        Variable("mount_point", ("nfs",), "NFS mounts", within=("node",)),
        Variable("device", ("disk",), "Disks", within=("node",)),
    ),
    (
        Row(
            "Lustre",
            (
                Panel(
                    "Lustre: data of applications",
                    BYTES_PER_SECOND,
                    _rates("lustre", ("file_system",), [("read", "read_bytes"), ("write", "write_bytes")]),
                ),
                Panel(
                    "Lustre: calls of applications",
                    PER_SECOND,
                    _rates(
                        "lustre",
                        ("file_system",),
                        [
                            ("read", "read_calls"),
                            ("write", "write_calls"),
                            ("open", "open_calls"),
                            ("close", "close_calls"),
                            ("getattr", "getattr_calls"),
                            ("create", "create_calls"),
                            ("unlink", "unlink_calls"),
                        ],
                    ),
                ),
                Panel(
                    "Lustre: data by target",
                    BYTES_PER_SECOND,
                    _rates("lustre_target", ("target",), [("read", "read_bytes"), ("write", "write_bytes")]),
                ),
                Panel(
                    "Lustre: mean time of requests by target",
                    NANOSECONDS,
                    _means(
                        "lustre_target",
                        ("target",),
                        [
                            ("all", "request_ns", "answered_requests"),
                            ("read", "read_ns", "read_requests"),
                            ("write", "write_ns", "write_requests"),
                        ],
                    ),
                ),
                Panel(
                    "Lustre: requests by target",
                    PER_SECOND,
                    _rates("lustre_target", ("target",), [("sent", "sent_requests")]),
                ),
                Panel(
                    "Lustre: requests in flight by target",
                    NUMBER,
                    _means("lustre_target", ("target",), [("", "in_flight_sum", "sent_requests")]),
                    "How many were in flight when a request was sent, on average.",
                    axis="requests",
                ),
                Top("Lustre: nodes that read most", BYTES, Measure("lustre", "read_bytes", ("node", "file_system"))),
                Top("Lustre: nodes that wrote most", BYTES, Measure("lustre", "write_bytes", ("node", "file_system"))),
            ),
        ),
        Row(
            "Lustre's servers",
            (
                Top("Servers: who read most from which target", BYTES, _by_job("read_bytes")),
                Top("Servers: who wrote most to which target", BYTES, _by_job("write_bytes")),
                Top("Servers: who asked most of which target", NUMBER, _by_job("metadata_operations")),
                Panel(
                    "Servers: data by target",
                    BYTES_PER_SECOND,
                    _rates("target", ("target",), [("read", "read_bytes"), ("write", "write_bytes")]),
                    "Of all clients, with and without job ids.",
                ),
                Panel(
                    "Servers: data by job",
                    BYTES_PER_SECOND,
                    _rates("target_job", ("job",), [("read", "read_bytes"), ("write", "write_bytes")]),
                ),
                Panel(
                    "Servers: metadata operations by job",
                    PER_SECOND,
                    _rates("target_job", ("job",), [("", "metadata_operations")]),
                ),
                Panel(
                    "Servers: metadata operations by name",
                    PER_SECOND,
                    _rates("target_operation", ("operation",), [("", "operations")]),
                ),
                Panel(
                    "Servers: sizes",
                    PER_SECOND,
                    _rates("target_size", ("stage", "size"), [("read", "reads"), ("write", "writes")]),
                    "Bytes of requests (RPC) and of what disks were asked for.",
                ),
            ),
        ),
        Row(
            "NFS",
            (
                Panel(
                    "NFS: data of applications",
                    BYTES_PER_SECOND,
                    _rates(
                        "nfs",
                        ("mount_point",),
                        [
                            ("read", "normal_read_bytes"),
                            ("write", "normal_write_bytes"),
                            ("direct read", "direct_read_bytes"),
                            ("direct write", "direct_write_bytes"),
                        ],
                    ),
                ),
                Panel(
                    "NFS: data with servers",
                    BYTES_PER_SECOND,
                    _rates("nfs", ("mount_point",), [("read", "server_read_bytes"), ("write", "server_write_bytes")]),
                ),
                Panel(
                    "NFS: operations",
                    PER_SECOND,
                    _rates(
                        "nfs",
                        ("mount_point",),
                        [
                            (word.upper(), f"{word}_operations")
                            for word in ("read", "write", "getattr", "lookup", "open", "commit", "other")
                        ],
                    ),
                ),
                Panel(
                    "NFS: mean round trip",
                    NANOSECONDS,
                    _means(
                        "nfs",
                        ("mount_point",),
                        [
                            (word.upper(), f"{word}_rtt_ns", f"{word}_operations")
                            for word in ("read", "write", "getattr", "commit")
                        ],
                    ),
                    "From transmission to reply.",
                ),
                Panel(
                    "NFS: mean time before transmission",
                    NANOSECONDS,
                    _means(
                        "nfs",
                        ("mount_point",),
                        [
                            (word.upper(), f"{word}_queue_ns", f"{word}_operations")
                            for word in ("read", "write", "getattr", "commit")
                        ],
                    ),
                    "Long times mean that the mount has too few slots or connections.",
                ),
                Panel(
                    "NFS: repeated transmissions and time-outs",
                    PER_SECOND,
                    _rates(
                        "nfs",
                        ("mount_point",),
                        [
                            ("READ again", "read_retransmissions"),
                            ("WRITE again", "write_retransmissions"),
                            ("READ time-outs", "read_timeouts"),
                            ("WRITE time-outs", "write_timeouts"),
                        ],
                    ),
                ),
                Top("NFS: nodes that read most", BYTES, Measure("nfs", "server_read_bytes", ("node", "mount_point"))),
                Top("NFS: nodes that wrote most", BYTES, Measure("nfs", "server_write_bytes", ("node", "mount_point"))),
            ),
        ),
        Row(
            "GPFS",
            (
                Panel(
                    "GPFS: data of applications",
                    BYTES_PER_SECOND,
                    _rates("gpfs", ("file_system",), [("read", "read_bytes"), ("write", "write_bytes")]),
                ),
                Panel(
                    "GPFS: calls of applications",
                    PER_SECOND,
                    _rates(
                        "gpfs",
                        ("file_system",),
                        [
                            ("read", "reads"),
                            ("write", "writes"),
                            ("open", "opens"),
                            ("close", "closes"),
                            ("readdir", "readdirs"),
                            ("inode update", "inode_updates"),
                        ],
                    ),
                ),
                Top("GPFS: nodes that read most", BYTES, Measure("gpfs", "read_bytes", ("node", "file_system"))),
                Top("GPFS: nodes that wrote most", BYTES, Measure("gpfs", "write_bytes", ("node", "file_system"))),
            ),
        ),
        Row(
            "Disks",
            (
                Panel(
                    "Data of disks",
                    BYTES_PER_SECOND,
                    _rates("disk", ("node", "device"), [("read", "read_bytes"), ("write", "write_bytes")]),
                ),
                Panel(
                    "Mean time of requests",
                    NANOSECONDS,
                    _means("disk", ("node", "device"), [("read", "read_ns", "reads"), ("write", "write_ns", "writes")]),
                    "Queueing included.",
                ),
                Panel(
                    "Busy disks",
                    SHARE,
                    _times("disk", ("node", "device"), [("", "busy_ns")]),
                    "Share of the time in which the disk had at least one request.",
                ),
            ),
        ),
        Row(
            "Jobs on these nodes",
            (
                *_io(("job",), "by job"),
                Top("Jobs that moved most data", BYTES, Measure("io", "bytes", ("job",), groups=("read", "write"))),
            ),
        ),
    ),
)

DASHBOARDS: Final = (CLUSTER, NODE, JOB, FILE_SYSTEM)
"""All dashboards."""
