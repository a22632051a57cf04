"""Properties of the nodes. Every function gets all nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ioassay.doctor.checks.node_names import host, listed, on, who_differs
from ioassay.doctor.verdict import Verdict, failed, ok, warning
from ioassay.text.units import format_about_bytes, format_count, format_duration

if TYPE_CHECKING:
    from ioassay.protocol.event import Limits, SurveyedNode

    _Limit = Callable[[Limits], int | None]
    """One of the limits of a node; `None`: unlimited."""

_FILES_BESIDE = 256
"""Further open files of an MPI process: libraries, shared memory, sockets to its neighbours."""
_FILES_PER_RANK = 8
"""Open files of the launcher's helper on a node per rank: its pipes and its socket."""

_PROCESSES_PER_RANK = 6
"""A rank is two processes, one of which has threads of MPI."""
_PROCESSES_BESIDE = 64

_LEAST_SHARED_BYTES = 64 << 20
_SHARED_BYTES_PER_RANK = 8 << 20
"""Bytes of /dev/shm that MPIs use per rank (Open MPI's vader: 4 to 8 MiB)."""

_LEAST_LOCKED_BYTES = 64 << 20

_SAMPLES_APART_NS = 1_000_000
_WALL_APART_NS = 1_000_000_000


def machines(nodes: Sequence[SurveyedNode]) -> Verdict:
    """Nodes are separate machines."""
    machines = {node["environment"]["boot_id"] or host(node) for node in nodes}
    names = listed([host(node) for node in nodes])
    if len(machines) < len(nodes):
        return warning(
            f"{names} are {format_count(len(machines), 'machine')}.",
            "Fine for a trial, but rates are those of one machine; use separate nodes to measure storage.",
        )
    return ok(f"{names}.")


def alike(nodes: Sequence[SurveyedNode]) -> Verdict:
    """Nodes have the same system and hardware."""
    kinds: dict[str, Callable[[SurveyedNode], str]] = {
        "kernel": lambda node: node["environment"]["kernel"].split(" #")[0],
        "system": lambda node: node["environment"]["operating_system"] or "",
        "processor": lambda node: node["environment"]["cpu_model"] or "",
        "processors": lambda node: str(node["processors"]),
        # Kernels reserve a varying part of it.
        "memory": lambda node: f"about {round(node['environment']['memory_bytes'] / (1 << 30))} GiB",
    }
    differences = [
        f"{kind}: {difference}" for kind, value_of in kinds.items() if (difference := who_differs(nodes, value_of))
    ]
    if differences:
        return warning(
            f"{'; '.join(differences)}.",
            "Use identical nodes, or expect the slowest to set the rate: a phase ends with its last rank.",
        )
    return ok(
        "; ".join(value_of(nodes[0]) for kind, value_of in kinds.items() if kind in ("kernel", "system", "memory"))
    )


def processors(nodes: Sequence[SurveyedNode]) -> Verdict:
    """There is a processor for each rank."""
    crowded = [node for node in nodes if node["ranks"] > node["processors"]]
    if not crowded:
        fewest = min(node["processors"] for node in nodes)
        most = max(node["ranks"] for node in nodes)
        suffix = " of a node" if len(nodes) > 1 else ""
        return ok(f"{format_count(fewest, 'processor')} for {format_count(most, 'rank')}{suffix}.")
    worst = max(crowded, key=lambda node: node["ranks"] / node["processors"])
    return warning(
        f"{format_count(worst['ranks'], 'rank')} share {format_count(worst['processors'], 'processor')} "
        f"on {host(worst)}.",
        "Use a smaller --ranks-per-node, or give ranks more processors (--launcher-options '--bind-to none', "
        "srun: --cpus-per-task).",
    )


def clocks(nodes: Sequence[SurveyedNode]) -> Verdict:
    """The clocks of all nodes can be aligned."""
    uncertainties = {host(node): node["clock_uncertainty_ns"] or 0 for node in nodes}
    name, most_ns = max(uncertainties.items(), key=lambda item: item[1])
    other_clocks = [node for node in nodes if node["environment"]["clock"]["source"] != "tsc"]
    if most_ns > _SAMPLES_APART_NS:
        return warning(
            f"The clock of {name} is known only to ± {format_duration(_rounded(most_ns))}.",
            "Samples of different nodes may be off by this; rates are unaffected. Check the network for other traffic.",
        )
    source = "the processors' counters" if not other_clocks else f"the kernel's clock {on(other_clocks, nodes)}"
    suffix = f"; clocks of nodes are known to ± {format_duration(_rounded(most_ns))}" if most_ns else ""
    return ok(f"Operations are timed by {source}{suffix}.")


def time_of_day(nodes: Sequence[SurveyedNode]) -> Verdict:
    """The nodes' wall clocks are synchronized and agree."""
    offsets = {host(node): abs(node["wall_clock"]["offset_ns"] or 0) for node in nodes}
    name, most_ns = max(offsets.items(), key=lambda item: item[1])
    if most_ns > _WALL_APART_NS:
        return warning(
            f"The wall clocks of {name} and {host(nodes[0])} are {most_ns / 1e9:.1f} s apart.",
            "Check NTP (chronyc sources): logs of servers and nodes do not match, and Kerberos tickets fail.",
        )
    if unsynchronized := [node for node in nodes if node["wall_clock"]["synchronized"] is False]:
        return warning(
            f"The clock is not synchronized {on(unsynchronized, nodes)}.",
            "Start chronyd or ntpd (timedatectl set-ntp true). Rates are unaffected, but logs may not match.",
        )
    suffix = f"; they agree to {most_ns / 1e6:.1f} ms" if most_ns else ""
    is_synchronized = all(node["wall_clock"]["synchronized"] for node in nodes)
    return ok(
        f"{'Clocks are synchronized' if is_synchronized else 'Whether clocks are synchronized is unknown'}{suffix}."
    )


def open_files(nodes: Sequence[SurveyedNode]) -> Verdict:
    """Ranks and launcher may have enough open files (`ulimit -n`)."""
    needed = max(_FILES_BESIDE + _FILES_PER_RANK * node["ranks"] for node in nodes)
    return _limit(nodes, lambda limits: limits["open_files"], needed, "ulimit -n", str)


def processes(nodes: Sequence[SurveyedNode]) -> Verdict:
    """There may be enough processes (`ulimit -u`)."""
    needed = max(_PROCESSES_BESIDE + _PROCESSES_PER_RANK * node["ranks"] for node in nodes)
    return _limit(nodes, lambda limits: limits["processes"], needed, "ulimit -u", str)


def file_size(nodes: Sequence[SurveyedNode]) -> Verdict:
    """The file size limit suffices for the rendezvous of the ranks and for data files (`ulimit -f`)."""
    needed = max(node["limits"]["meeting_bytes"] for node in nodes)
    verdict = _limit(nodes, lambda limits: limits["file_bytes"], needed, "ulimit -f", format_about_bytes)
    limited = _limited(nodes, lambda limits: limits["file_bytes"])
    if verdict.status == "ok" and limited:
        least = min(limit for _, limit in limited)
        return warning(
            f"Files are limited to {format_about_bytes(least)} {on([node for node, _ in limited], nodes)}.",
            "Raise the limit (ulimit -f unlimited, /etc/security/limits.conf), or measure with smaller files.",
        )
    return verdict


def locked_memory(nodes: Sequence[SurveyedNode]) -> Verdict:
    """MPI over InfiniBand may lock enough memory (`ulimit -l`)."""
    adapters = [node for node in nodes if any(link.get("state") for link in node["environment"].get("network", []))]
    limited = _limited(adapters, lambda limits: limits["locked_bytes"])
    low = [(node, limit) for node, limit in limited if limit < _LEAST_LOCKED_BYTES]
    if low:
        least = min(limit for _, limit in low)
        on_nodes = on([node for node, _ in low], nodes)
        return warning(
            f"ulimit -l is {format_about_bytes(least)} {on_nodes}, which has InfiniBand adapters.",
            "Set it to unlimited (/etc/security/limits.conf; slurmd: LimitMEMLOCK=infinity), or MPI may be slow.",
        )
    return ok(f"ulimit -l {_least(nodes, lambda limits: limits['locked_bytes'], format_about_bytes)}")


def core_files(nodes: Sequence[SurveyedNode]) -> Verdict:
    """The size of core files (`ulimit -c`)."""
    return ok(f"ulimit -c {_least(nodes, lambda limits: limits['core_bytes'], format_about_bytes)}")


def shared_memory(nodes: Sequence[SurveyedNode]) -> Verdict:
    """There is room in /dev/shm for MPI."""
    rooms = _limited(nodes, lambda limits: limits["shared_memory_bytes"])
    if len(rooms) < len(nodes):
        without = [node for node in nodes if node["limits"]["shared_memory_bytes"] is None]
        return warning(f"There is no /dev/shm {on(without, nodes)}.", "Mount a tmpfs there; most MPIs need one.")
    least, room = min(rooms, key=lambda node_and_room: node_and_room[1])
    free = format_about_bytes(room)
    if any(room < _shared_bytes(node["ranks"]) for node, room in rooms):
        return warning(
            f"/dev/shm has {free} free on {host(least)}, for {format_count(least['ranks'], 'rank')}.",
            "Remove files from it, or enlarge it (mount -o remount,size=…; containers: --shm-size).",
        )
    return ok(f"/dev/shm has {free} free{f' on {host(least)}' if len(nodes) > 1 else ''}.")


def cold_caches(nodes: Sequence[SurveyedNode]) -> Verdict:
    """Caches can be dropped and checked, so that reads come from storage."""
    not_dropping = [node for node in nodes if not node["abilities"]["drop_caches"]]
    without_cachestat = [node for node in nodes if not node["abilities"]["cachestat"]]
    not_mounting = [node for node in nodes if not node["abilities"]["mount"]]
    if not_dropping:
        return warning(
            f"/proc/sys/vm/drop_caches is not writable {on(not_dropping, nodes)}.",
            "Run as root, or use other methods in cold-cache steps (fadvise, read-other-rank); page-cache residency is "
            "measured in any case.",
        )
    measured = "measured page by page (mincore)" if without_cachestat else "measured by cachestat"
    mounts = (
        "file systems can be remounted"
        if not not_mounting
        else f"file systems cannot be remounted {on(not_mounting, nodes)}"
    )
    return ok(f"The page cache can be dropped; residency is {measured}; {mounts}.")


def io_uring(nodes: Sequence[SurveyedNode]) -> Verdict:
    """The kernel allows io_uring."""
    refused = [node for node in nodes if node["abilities"]["io_uring_refused"]]
    if refused:
        reason = Counter(node["abilities"]["io_uring_refused"] for node in refused).most_common(1)[0][0]
        return warning(
            f"io_uring is not available {on(refused, nodes)}: {reason}.",
            "Use the storage API posix instead of uring, or enable it (sysctl kernel.io_uring_disabled=0; in "
            "containers, the seccomp profile).",
        )
    return ok("Available.")


def _limit(
    nodes: Sequence[SurveyedNode], limit_of: _Limit, needed: int, command: str, show: Callable[[int], str]
) -> Verdict:
    low = [(node, limit) for node, limit in _limited(nodes, limit_of) if limit < needed]
    if low:
        least = min(limit for _, limit in low)
        return failed(
            f"{command} is {show(least)} {on([node for node, _ in low], nodes)}; "
            f"{format_count(low[0][0]['ranks'], 'rank')} need about {show(needed)}.",
            f"Raise it ({command}, /etc/security/limits.conf, for Slurm in the unit of slurmd), or use fewer ranks.",
        )
    return ok(f"{command} {_least(nodes, limit_of, show)}")


def _limited(nodes: Sequence[SurveyedNode], limit_of: _Limit) -> list[tuple[SurveyedNode, int]]:
    """The nodes that have a limit, each with it."""
    return [(node, limit) for node in nodes if (limit := limit_of(node["limits"])) is not None]


def _least(nodes: Sequence[SurveyedNode], limit_of: _Limit, show: Callable[[int], str]) -> str:
    limits = [limit for _, limit in _limited(nodes, limit_of)]
    return show(min(limits)) if limits else "unlimited"


def _shared_bytes(ranks: int) -> int:
    return _LEAST_SHARED_BYTES + _SHARED_BYTES_PER_RANK * ranks


def _rounded(time_ns: int) -> int:
    """Rounds up to whole microseconds."""
    return -(-time_ns // 1000) * 1000
