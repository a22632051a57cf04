"""Four nodes of a cluster: the quick study through Slurm onto GlusterFS, and again with a node cut off meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ioassay.lab.requirements import Command as Needed
from ioassay.store.events import ProgressTail, read_events
from ioassay.store.run_directory import load, read_document

from .attack import lost_nodes
from .support import LONG, Command, ioassay, study, until, up, workload

NAME = f"nodestest-{os.getpid()}"
HOSTS = ["client1", "client2", "client3", "client4"]


@pytest.fixture(scope="module", autouse=True)
def environment() -> Iterator[None]:
    """Open MPI finds its way between the hosts of a lab by plain TCP."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMPI_MCA_btl", "self,tcp")
        yield


@pytest.fixture(scope="module")
def lab() -> Iterator[str]:
    needed = [Needed("mpirun", "openmpi-bin"), Needed("mpicc", "libopenmpi-dev")]
    with up("nodes", NAME, needed=needed) as name:
        yield name


def _target(lab: str) -> str:
    code, out, err = ioassay(
        "lab", "exec", lab, "findmnt", "--noheadings", "--output", "TARGET", "-t", "fuse.glusterfs"
    )
    assert code == 0, err
    return out.split()[0]


def _python() -> list[str]:
    """This very `ioassay`, inside a lab."""
    return [sys.executable, "-m", "ioassay"]


def _left(lab: str) -> list[str]:
    return ioassay("lab", "exec", lab, "ls", _target(lab))[1].split()


def _nodes(run: Path) -> set[str]:
    return {node["host"] for node in read_document(run).environment}


def test_the_quick_study_runs_over_four_nodes_as_a_job_of_slurm(lab: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    arguments = ["run", "quick", "--target", _target(lab), "--launcher", "sbatch", "--out", str(run)]
    few = ["clients=4", "ranks=1", "repetitions=1", "time=100ms", "write_time=100ms"]
    settings = [word for setting in few for word in ("--set", setting)]
    code, out, err = ioassay("lab", "exec", lab, *_python(), *arguments, *settings)
    assert code in (0, 1), err  # a busy machine may miss a criterion
    assert "completed" in err
    assert "Performance" in out or "Rates, phase by phase" in out
    loaded = load(run)
    assert loaded.document.state == "complete"
    assert loaded.document.launcher == "srun"
    assert _nodes(run) == set(HOSTS)
    assert set(loaded.ranks["node"].to_list()) == set(HOSTS)
    assert (run / "job.sh").stat().st_mode & 0o111
    assert _left(lab) == []


def test_script_only_writes_a_script_without_submitting_it(lab: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    arguments = ["--target", _target(lab), "--launcher", "sbatch", "--script-only", "--out", str(run)]
    code, out, err = ioassay("lab", "exec", lab, *_python(), "run", "quick", *arguments, "--launcher-options=--time=7")
    assert (code, out.strip()) == (0, f"sbatch {run}/job.sh"), err
    script = (run / "job.sh").read_text()
    assert "#SBATCH --time=7" in script
    assert subprocess.run(["bash", "-n", run / "job.sh"], check=False).returncode == 0
    assert read_document(run).cases[0].state == "pending"


def test_a_job_that_reaches_its_time_limit_ends_in_order_and_keeps_its_results(lab: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    file = study(tmp_path, workload("short"), LONG)
    arguments = ["run", file, "--target", _target(lab), "--launcher", "sbatch", "--out", run]
    command = Command(["lab", "exec", lab, *_python(), *arguments])

    def is_moving() -> bool:
        assert command.process.poll() is None, command.end()
        return any(line["bytes"] > 0 for line in ProgressTail(run / "logs" / "long.c002.r1" / "progress.jsonl").new())

    until(is_moving, "the second case to move data")
    number = ioassay("lab", "exec", lab, "squeue", "--noheader", "--format=%i")[1].strip()
    # Slurm looks every half minute which job is near its limit, and warns this one a minute before.
    code, _, err = ioassay("lab", "exec", lab, "scontrol", "update", f"JobId={number}", "TimeLimit=1")
    assert code == 0, err
    code, _, err = command.end()
    assert code != 0
    assert f"Resume with: sbatch {run}/job.sh" in err
    document = read_document(run)
    assert document.state == "interrupted"
    assert [case.state for case in document.cases] == ["complete", "interrupted"]
    finished = read_events(run / "logs" / "long.c002.r1" / "events.jsonl")[-1]
    assert (finished["event"], finished["signal"]) == ("finished", "SIGTERM")
    # Outside of the allocation too, since the same file system is mounted there.
    assert ioassay("lab", "exec", lab, *_python(), "clean", run)[0] == 0
    assert _left(lab) == []


def test_a_disconnected_node_ends_the_run_by_name_and_resume_does_the_rest(lab: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    arguments = ["--target", f"lab:{lab}", "--launcher", "mpirun"]
    # Amounts end the writes, so that none of the second sweep is over before the cut.
    amounts = ["clients=4", "ranks=1", "repetitions=2", "total=1GiB", "random_file=64KiB", "write_time=60s"]
    settings = [word for setting in amounts for word in ("--set", setting)]
    command = Command(["run", "quick", *arguments, *settings, "--out", run])

    def second_is_moving() -> bool:
        assert command.process.poll() is None, command.end()
        lines = ProgressTail(run / "logs" / "sequential.c004.r2" / "progress.jsonl").new()
        return any(line["bytes"] > 0 for line in lines)

    until(second_is_moving, "the second sweep to move data")
    assert ioassay("lab", "cut", f"{lab}/client3")[0] == 0
    try:
        assert command.end()[0] != 0
    finally:
        assert ioassay("lab", "heal", f"{lab}/client3")[0] == 0
    document = read_document(run)
    assert document.state == "failed"
    failed = [case for case in document.cases if case.state == "failed"]
    assert len(failed) == 1
    assert "client3" in (failed[0].error or ""), failed[0].error
    complete = [case.id for case in document.cases if case.state == "complete"]
    assert complete
    assert load(run).measurements.height >= 2 * len(complete)
    written_ns = {case: (run / "logs" / case / "events.jsonl").stat().st_mtime_ns for case in complete}

    code, _, err = ioassay("run", "--resume", run)
    assert code in (0, 1), err
    assert read_document(run).state == "complete"
    assert written_ns == {case: (run / "logs" / case / "events.jsonl").stat().st_mtime_ns for case in complete}
    assert _left(lab) == []


@pytest.mark.parametrize(
    ("launcher", "loss"),
    [("open-mpi-4", "sshd dead before"), ("open-mpi-4", "engines killed"), ("mpich", "sshd stopped before")],
)
def test_a_lost_node_is_named_and_nothing_is_left(lab: str, launcher: str, loss: str) -> None:
    """Three of `make attack`'s matrix: ssh names the node, the launcher does, nobody does and each node is asked."""
    by = next(each for each in lost_nodes.LAUNCHERS if each.name == launcher)
    if by.commands and not by.commands.exists():
        pytest.skip(f"{launcher} is not there (make mpis)")
    row = lost_nodes.attack(lost_nodes.Cluster(lab), by, lost_nodes.find_loss(loss))
    assert row.names_node, row.error
    assert "-----" not in row.error
    assert row.exit_code == 3, row
    assert (row.stray, row.cleaned) == (0, True), row
