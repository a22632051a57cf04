"""Checks on constructed facts. `tests/test_doctor.py` tests them with real facts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from ioassay.doctor import checks
from ioassay.doctor.checks import control_plane, launcher, node_probe, nodes, rendezvous, target
from ioassay.doctor.checks.node_names import listed, who_differs
from ioassay.doctor.facts import ControlPlane, Launcher, NodeProbe, Problem, Rendezvous
from ioassay.doctor.verdict import Verdict
from ioassay.launchers.failure_messages import meaning, telling
from ioassay.protocol.event import EventSurvey, SurveyedNode
from ioassay.protocol.facts import PROTOCOL_VERSION
from ioassay.version import __version__

HERE = ControlPlane("0.1", "3.11", "/bin/ioassay-engine", "0.1", "/home/me")

MPIRUN = Launcher(
    "mpirun",
    command="/mpi/bin/mpirun",
    version="mpirun (Open MPI) 4.1.4",
    family="open-mpi",
    compiler="/mpi/bin/mpicc",
    compiler_family="open-mpi",
    library="/cache/mpi.so",
    library_name="Open MPI v4.1.4",
)

SRUN = Launcher(
    "srun",
    command="/bin/srun",
    version="slurm 24.05",
    compiler="/mpi/bin/mpicc",
    compiler_family="open-mpi",
    plugins=("none", "pmi2", "pmix", "pmix_v4"),
    plugin="pmix",
    allocated=("n1", "n2"),
)


def node(name: str, **changed: Any) -> SurveyedNode:
    """A healthy node; `part__field` changes a field of one of its parts."""
    fields: Any = {
        "ranks": 4,
        "processors": 8,
        "environment": {
            "host": name,
            "boot_id": f"kernel of {name}",
            "cpu_model": "EPYC",
            "processors": 8,
            "memory_bytes": 64 << 30,
            "kernel": "Linux 6.12.1 #1 SMP x86_64",
            "operating_system": "Rocky Linux 9",
            "clock": {"source": "tsc", "resolution_ns": 10},
            "mount": {
                "mount_point": "/scratch",
                "source": "mgs@o2ib:/scratch",
                "file_system": "lustre",
                "options": ["flock", "rw"],
                "total_bytes": 1 << 50,
                "free_bytes": 1 << 49,
                "block_bytes": 4096,
            },
        },
        "target": {"answered": True, "free_bytes": 1 << 49, "free_inodes": 1 << 30, "shared": True, "problem": None},
        "limits": {
            "open_files": 65536,
            "processes": None,
            "file_bytes": None,
            "locked_bytes": None,
            "core_bytes": 0,
            "meeting_bytes": 20 << 30,
            "shared_memory_bytes": 32 << 30,
        },
        "abilities": {"drop_caches": True, "mount": True, "cachestat": True, "io_uring_refused": None},
        "wall_clock": {"synchronized": True, "offset_ns": 20_000},
        "clock_uncertainty_ns": 8_000,
    }
    for key, value in changed.items():
        part, _, field = key.partition("__")
        if field:
            fields[part][field] = value
        else:
            fields[part] = value
    return cast(SurveyedNode, fields)


def two(**changed: Any) -> list[SurveyedNode]:
    """Two healthy nodes, with changes on the second, `n2`."""
    return [node("n1"), node("n2", **changed)]


def met(survey: list[SurveyedNode] | None = None, **changed: Any) -> Rendezvous:
    """Two connected nodes with 4 ranks each."""
    event: EventSurvey = {
        "event": "survey",
        "version": PROTOCOL_VERSION,
        "engine_version": __version__,
        "unix_ns": 1_700_000_000_000_000_000,
        "nodes": survey or two(),
    }
    connected = Rendezvous(["n1", "n2"], 4, "/scratch", "/scratch/ioassay-doctor-1", "/home/me/e", event)
    return replace(connected, **changed)


def problem(message: str) -> dict[str, str]:
    return {"message": message, "remedy": "mend it"}


def test_every_line_of_a_healthy_site_is_ok() -> None:
    of_nodes = [judge(two()) for judge in checks.NODES.values()]
    of_target = [judge(met(), two()) for judge in checks.TARGET.values()]
    of_meeting = [judge(met()) for judge in checks.MEETING.values()]
    of_launcher = [judge(launcher_facts) for judge in checks.LAUNCHER.values() for launcher_facts in (MPIRUN, SRUN)]
    of_nodes_alone = [judge([NodeProbe("n1", __version__)]) for judge in checks.REACHED.values()]
    here = [judge(HERE) for judge in checks.CONTROL_PLANE.values()]
    verdicts = [
        verdict for verdict in (*of_nodes, *of_target, *of_meeting, *of_launcher, *of_nodes_alone, *here) if verdict
    ]
    assert [verdict for verdict in verdicts if verdict.status != "ok"] == []
    assert all(verdict.seen for verdict in verdicts)


@pytest.mark.parametrize(
    ("judge", "changed", "status", "words"),
    [
        (nodes.machines, {"environment__boot_id": "kernel of n1"}, "warning", "n1 and n2 are 1 machine"),
        (nodes.alike, {"environment__kernel": "Linux 6.1.0 #9 x"}, "warning", "kernel: n2 has Linux 6.1.0"),
        (nodes.alike, {"environment__memory_bytes": 32 << 30}, "warning", "n2 has about 32 GiB"),
        (nodes.processors, {"ranks": 16}, "warning", "16 ranks share 8 processors on n2"),
        (nodes.clocks, {"clock_uncertainty_ns": 3_000_500}, "warning", "n2 is known only to ± 3001 us"),
        (nodes.time_of_day, {"wall_clock__offset_ns": -90_000_000_000}, "warning", "n2 and n1 are 90.0 s apart"),
        (nodes.time_of_day, {"wall_clock__synchronized": False}, "warning", "on n2"),
        (nodes.open_files, {"limits__open_files": 200}, "failed", "ulimit -n is 200 on n2"),
        (nodes.processes, {"limits__processes": 50}, "failed", "ulimit -u is 50 on n2"),
        (nodes.file_size, {"limits__file_bytes": 1 << 20}, "failed", "ulimit -f is 1.00 MiB on n2"),
        (nodes.file_size, {"limits__file_bytes": 1 << 40}, "warning", "limited to 1.00 TiB on n2"),
        (nodes.shared_memory, {"limits__shared_memory_bytes": 64 << 20}, "warning", "64.0 MiB free on n2, for 4 ranks"),
        (nodes.shared_memory, {"limits__shared_memory_bytes": None}, "warning", "no /dev/shm on n2"),
        (nodes.cold_caches, {"abilities__drop_caches": False}, "warning", "is not writable on n2"),
        (nodes.io_uring, {"abilities__io_uring_refused": "EPERM"}, "warning", "io_uring is not available on n2: EPERM"),
    ],
)
def test_a_problem_of_a_node_has_its_name_and_a_remedy(
    judge: Callable[[Sequence[SurveyedNode]], Verdict], changed: dict[str, Any], status: str, words: str
) -> None:
    verdict = judge(two(**changed))
    assert (verdict.status, words in verdict.seen) == (status, True), verdict
    assert verdict.remedy
    assert judge(two()).status == "ok"


def test_memory_needs_to_be_locked_only_with_infiniband() -> None:
    changed = two(limits__locked_bytes=65536)
    assert nodes.locked_memory(changed).status == "ok"
    changed[1]["environment"]["network"] = [{"name": "mlx5_0/1", "state": "ACTIVE"}]
    assert nodes.locked_memory(changed).status == "warning"


@pytest.mark.parametrize(
    ("judge", "changed", "status", "words"),
    [
        (target.usable, {"target__problem": problem("n2 says no"), "target__shared": None}, "failed", "n2: n2 says no"),
        (target.same, {"target__shared": False, "target__problem": problem("x")}, "failed", "are not visible on n2"),
        (target.same, {"target__shared": None, "target__problem": problem("x")}, "not checked", "on n2"),
        (target.mounted_alike, {"environment__mount": None}, "ok", "/scratch"),
        (target.free_space, {"target__free_bytes": 5 << 20}, "warning", "Only 5.00 MiB"),
        (target.free_space, {"target__free_inodes": 7}, "warning", "7 inodes are free, according to n2"),
    ],
)
def test_a_problem_of_the_target_has_the_node_and_a_remedy(
    judge: Callable[[Rendezvous, Sequence[SurveyedNode]], Verdict], changed: dict[str, Any], status: str, words: str
) -> None:
    verdict = judge(met(), two(**changed))
    assert (verdict.status, words in verdict.seen) == (status, True), verdict


def test_implausible_free_space_is_shown() -> None:
    survey = two()
    mount = survey[1]["environment"]["mount"]
    assert mount
    mount["notes"] = ["it has no size: free space was not checked"]
    verdict = target.free_space(met(), survey)
    assert verdict
    assert (verdict.status, verdict.seen.endswith("are free. It has no size: free space was not checked.")) == (
        "ok",
        True,
    )
    for node in survey:
        node["target"] = {**node["target"], "free_bytes": None} if node["target"] else None
    verdict = target.free_space(met(), survey)
    assert verdict
    assert (verdict.status, verdict.seen) == ("not checked", "It has no size: free space was not checked.")


def test_a_node_with_other_mount_options_is_named_with_them() -> None:
    changed = [node("n1"), node("n2"), node("n3")]
    mount = changed[2]["environment"]["mount"]
    assert mount is not None
    mount["options"] = ["ro"]
    verdict = target.mounted_alike(met(), changed)
    assert verdict is not None
    assert verdict.status == "warning"
    assert "options: n3 has ro, the others flock,rw" in verdict.seen


def test_sharing_is_not_checked_on_one_node() -> None:
    assert target.same(met(), [node("n1")]) is None


def test_no_node_is_blamed_for_a_file_that_the_first_could_not_write() -> None:
    unwritten = [node("n1", target__shared=False, target__problem=problem("full")), node("n2", target__shared=None)]
    assert target.same(met(), unwritten).status == "not checked"  # type: ignore[union-attr]
    assert "n1: full" in target.usable(met(), unwritten).seen


def test_leftovers_in_the_target_are_named_even_if_they_appear_later() -> None:
    assert "/scratch/x could not be removed" in target.left_behind(met(left=["/scratch/x"]), two()).seen
    hung = [node("n1", target__answered=False), node("n2")]
    verdict = target.left_behind(met(), hung)
    assert verdict.status == "failed"
    assert "ioassay-doctor-1" in verdict.remedy


def test_an_engine_of_another_version_or_none_fails() -> None:
    assert control_plane.engine(replace(HERE, engine_version="0.2")).status == "failed"
    missing = control_plane.engine(replace(HERE, engine_problem=Problem("It is missing.", "Install it.")))
    assert missing == Verdict("failed", "It is missing.", "Install it.")
    assert control_plane.run_directory(replace(HERE, run_place_problem=Problem("a", "b"))).status == "failed"


def test_two_mpis_fail_and_two_versions_are_a_warning() -> None:
    other = replace(MPIRUN, compiler_family="mpich", library_name="MPICH Version: 4.2")
    assert launcher.one_mpi(other).status == "failed"  # type: ignore[union-attr]
    newer = replace(MPIRUN, library_name="Open MPI v5.0.1")
    verdict = launcher.one_mpi(newer)
    assert verdict is not None
    assert verdict.status == "warning"
    assert "4.1.4" in verdict.seen
    assert "5.0.1" in verdict.seen


def test_a_missing_launcher_or_library_fails() -> None:
    assert launcher.starts(Launcher("mpirun", problem=Problem("none", "load"))) == Verdict("failed", "none", "load")
    unbuilt = replace(MPIRUN, library=None, library_problem=Problem("no", "build"))
    assert launcher.library(unbuilt) == Verdict("failed", "no", "build")
    assert launcher.library(Launcher("local")) is None


def test_an_srun_without_the_mpi_plugin_fails() -> None:
    verdict = launcher.slurm(replace(SRUN, plugins=("none", "pmi2")))
    assert verdict is not None
    assert verdict.status == "failed"
    assert "none and pmi2" in verdict.seen
    assert launcher.slurm(MPIRUN) is None


PRINTED = {
    "mpirun has detected an attempt to run as root.\n": "root",
    "There are not enough slots available in the system\n": "slots",
    "Host key verification failed.\n": "key",
    "root@n2: Permission denied (publickey,password).\n": "password",
    "ssh: Could not resolve hostname n2: Name or service not known\n": "name",
    "ssh: connect to host n2 port 22: No route to host\n": "connect",
    "bash: line 1: orted: command not found\n": "MPI is not installed",
    "srun: error: Couldn't find the specified plugin name for mpi/pmix_v9 looking at all files\n": "does not support",
    "srun: error: Task launch for StepId=11.0 failed on node n2: Communication connection failure\n": "cannot reach",
    "srun: error: Unable to create step for job 7: Invalid node name specified\n": "does not grant",
    "/x/ioassay-engine: /lib64/libc.so.6: version `GLIBC_2.34' not found\n": "operating system of the node differs",
    "slurmstepd: error: execve(): /x/ioassay-engine: No such file or directory\n": "cannot find",
}


@pytest.mark.parametrize("printed", PRINTED)
def test_messages_of_launchers_are_explained(printed: str) -> None:
    explanation = meaning("something before\n" + printed)
    assert explanation is not None
    assert PRINTED[printed] in explanation.message
    assert explanation.remedy


def test_unknown_messages_are_quoted() -> None:
    assert meaning("the flux is low") is None
    assert telling("a\n-----\nthe flux is low\n----\n\n") == ["the flux is low"]
    verdict = node_probe.engine_there([NodeProbe("n2", None, "the flux is low\n")])
    assert verdict is not None
    assert "the flux is low" in verdict.seen


def test_nodes_with_the_same_trouble_are_named_together() -> None:
    timed_out = "ssh: connect to host port 22: Connection timed out"
    verdict = node_probe.engine_there(
        [
            NodeProbe("n1", __version__),
            NodeProbe("n2", None, timed_out),
            NodeProbe("n3", None, timed_out),
            NodeProbe("n4", "0.0"),
            NodeProbe("n5", None, "", waited_s=20.1),
        ]
    )
    assert verdict is not None
    assert verdict.status == "failed"
    assert "n2 and n3: ssh cannot connect" in verdict.seen
    assert "n4: the engine there is 0.0" in verdict.seen
    assert "n5: no answer within 20 s" in verdict.seen
    assert node_probe.engine_there([]) is None


def test_the_error_of_the_engine_precedes_output_of_the_launcher() -> None:
    unmet = met(survey=None)
    unmet = replace(unmet, survey=None, failure=Problem("two MPIs", "take one"), printed="Permission denied (x")
    assert rendezvous.met(unmet) == Verdict("failed", "Two MPIs.", "Take one.")
    assert "password" in rendezvous.met(replace(unmet, failure=None)).seen
    assert "The launcher printed: boom" in rendezvous.met(replace(unmet, failure=None, printed="boom\n")).seen


def test_ranks_on_other_nodes_than_requested_are_a_warning() -> None:
    verdict = rendezvous.met(met(survey=[node("n1", ranks=8)]))
    assert verdict.status == "warning"
    assert "8 on n1" in verdict.seen


def test_a_run_directory_that_the_first_node_does_not_see_is_detected() -> None:
    unseen = replace(met(), survey=None, printed="ioassay-engine: open /home/me/e: No such file or directory\n")
    assert rendezvous.events(unseen).status == "failed"
    assert rendezvous.events(replace(unseen, printed="")).status == "not checked"


def test_many_names_are_shortened_to_the_first_and_a_count() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed([f"n{number}" for number in range(1, 9)]) == "n1, n2, n3, n4, n5 and 3 more"
    assert who_differs(two(), lambda node: "same") is None
