"""`ioassay doctor` in a lab of two hosts with ssh and Slurm: first without problems, then with one problem after the
other.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ioassay.lab.requirements import Command as Needed
from ioassay.launchers.site_mpi import family_of_mpirun, mpirun

from .support import DEADLINE_S, OPEN_MPI_AS_ROOT, Command, ioassay, is_gone, until, up

NAME = f"doctortest-{os.getpid()}"
WHERE = "/run/ioassay/disk/xfs"


@pytest.fixture(scope="module")
def lab() -> Iterator[str]:
    """Two hosts with ssh, Slurm, and one xfs. Its name."""
    needed = [Needed("mpirun", "openmpi-bin"), Needed("mpicc", "libopenmpi-dev")]
    with up("slurm", NAME, needed=needed) as name:
        yield name


def examined(directory: Path, *arguments: str | Path) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit code, and every check by its name."""
    command = Command(["doctor", "--json", *arguments], directory)
    # Doctor waits for unresponsive nodes and targets.
    out, err = command.process.communicate(timeout=4 * DEADLINE_S)
    assert out, err
    (site,) = json.loads(out)["sites"]
    assert list(directory.glob(".ioassay-doctor-*")) == [], "nothing is left where it was started"
    return command.process.returncode, {check["check"]: check for check in site["checks"]}


def not_well(checks: dict[str, dict[str, Any]]) -> set[str]:
    """Checks that are worse than a warning."""
    return {name for name, check in checks.items() if check["status"] in ("failed", "not checked")}


def on(lab: str, host: str, *command: str) -> str:
    code, out, err = ioassay("lab", "exec", f"{lab}/{host}", *command)
    assert code == 0, err
    return out


@contextmanager
def unmounted(lab: str, host: str) -> Iterator[None]:
    """Unmounts the storage on a host within the context."""
    device = on(lab, host, "findmnt", "--noheadings", "--output", "SOURCE", WHERE).strip()
    on(lab, host, "umount", WHERE)
    try:
        yield
    finally:
        on(lab, host, "mount", device, WHERE)


LAUNCHERS = ["local", "mpirun", "srun"]


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_healthy_site_has_no_problem_and_nothing_is_left(lab: str, launcher: str, tmp_path: Path) -> None:
    code, checks = examined(tmp_path, "--target", f"lab:{lab}", "--launcher", launcher, "--ranks-per-node", "2")
    assert not_well(checks) == set(), checks
    assert code == 0
    assert checks["meeting"]["seen"] == "4 ranks on 2 nodes."
    assert checks["same file system"]["seen"] == "The test file that client1 wrote was read by client2."
    assert checks["machines"]["status"] == "warning", "hosts of a lab are one machine"
    if launcher != "local":
        assert "2 nodes" in checks["engine there"]["seen"]
        assert "±" in checks["clocks"]["seen"]
    assert on(lab, "client1", "ls", "-A", WHERE) == ""


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_host_on_which_the_target_is_not_mounted_is_named(lab: str, launcher: str, tmp_path: Path) -> None:
    with unmounted(lab, "client2"):
        code, checks = examined(tmp_path, "--target", f"lab:{lab}", "--launcher", launcher)
        assert on(lab, "client2", "ls", "-A", WHERE) == ""
    assert code == 1
    assert not_well(checks) == {"same file system"}, checks
    assert "are not visible on client2" in checks["same file system"]["seen"]
    assert "client2 has ioassay-lab (tmpfs)" in checks["mount"]["seen"]
    assert on(lab, "client1", "ls", "-A", WHERE) == ""


def test_a_host_on_which_something_else_is_mounted_there_is_named_with_it(lab: str, tmp_path: Path) -> None:
    on(lab, "client2", "mount", "-t", "tmpfs", "-o", "size=20m", "something-else", WHERE)
    try:
        code, checks = examined(tmp_path, "--target", f"lab:{lab}", "--launcher", "mpirun")
    finally:
        on(lab, "client2", "umount", WHERE)
    assert code == 1
    assert "client2 has tmpfs of something-else" in checks["same file system"]["seen"]
    assert "according to client2" in checks["free space"]["seen"]


@pytest.mark.parametrize(("launcher", "words"), [("mpirun", "ssh cannot connect"), ("srun", "Slurm cannot reach")])
def test_a_disconnected_host_is_named_and_the_others_are_examined(
    lab: str, launcher: str, words: str, tmp_path: Path
) -> None:
    assert ioassay("lab", "cut", f"{lab}/client2")[0] == 0
    try:
        code, checks = examined(tmp_path, "--target", f"lab:{lab}", "--launcher", launcher)
    finally:
        assert ioassay("lab", "heal", f"{lab}/client2")[0] == 0
    assert code == 1
    assert not_well(checks) == {"engine there"}, checks
    assert f"client2: {words}" in checks["engine there"]["seen"]
    assert checks["meeting"]["seen"] == "1 rank on 1 node."


@pytest.mark.parametrize("launcher", ["local", "mpirun"])
def test_a_hanging_target_is_named_with_the_call_and_blocks_nothing(lab: str, launcher: str, tmp_path: Path) -> None:
    on(lab, "client1", "fsfreeze", "--freeze", WHERE)
    command = Command(["doctor", "--json", "--target", f"lab:{lab}", "--launcher", launcher], tmp_path)
    try:
        out, err = command.process.communicate(timeout=4 * DEADLINE_S)
    finally:
        on(lab, "client1", "fsfreeze", "--unfreeze", WHERE)
    assert command.process.returncode == 1, err
    checks = {check["check"]: check for check in json.loads(out)["sites"][0]["checks"]}
    # It hangs in the first rank's mkdirat, and mpirun does not always start that on the first host.
    hosts = ["client1"] if launcher == "local" else ["client1", "client2"]
    named = [host for host in hosts if f"has not responded on {host}" in checks["target"]["seen"]]
    assert len(named) == 1, checks["target"]["seen"]
    assert "mkdirat hangs" in checks["target"]["seen"]
    assert not_well(checks) == {"target", "same file system", "left behind"}, checks
    # The call finishes now, as the line predicted.
    _, _, workspace = checks["left behind"]["remedy"].partition("rm -r ")
    on(lab, "client1", "rm", "-rf", workspace)
    assert on(lab, "client1", "ls", "-A", WHERE) == ""


def test_an_mpirun_of_another_mpi_is_detected_before_and_during_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("mpicc") is None or family_of_mpirun(mpirun()) != "open-mpi":
        pytest.skip("the mpirun and mpicc in PATH are not Open MPI's")
    # As MPICH's does, it starts processes and tells them by PMI; Open MPI in them does not listen to that.
    fake = tmp_path / "bin" / "mpirun"
    fake.parent.mkdir()
    fake.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --version ]; then echo "HYDRA build details:"; echo "    Version:  4.2.0"; exit; fi\n'
        "n=$2; shift 2\nexport PMI_SIZE=$n\n"
        'for rank in $(seq 0 $((n - 1))); do PMI_RANK=$rank "$@" < /dev/null & done\nwait\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    code, checks = examined(tmp_path, "--launcher", "mpirun", "--ranks-per-node", "2")
    assert code == 1
    assert "belongs to MPICH's family" in checks["one MPI"]["seen"]
    assert "another MPI's launcher" in checks["meeting"]["seen"], checks["meeting"]
    assert checks["machines"]["status"] == "not checked"


def test_the_refusal_of_open_mpi_to_start_as_root_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("mpicc") is None or family_of_mpirun(mpirun()) != "open-mpi" or os.geteuid() != 0:
        pytest.skip("it takes root, and an Open MPI")
    for name in OPEN_MPI_AS_ROOT:
        monkeypatch.delenv(name)
    code, checks = examined(tmp_path, "--launcher", "mpirun")
    assert code == 1
    assert "OMPI_ALLOW_RUN_AS_ROOT" in checks["engine there"]["remedy"]


def test_a_local_directory_is_examined_without_a_lab(target: Path, tmp_path: Path) -> None:
    code, out, err = ioassay("doctor", "--target", target, directory=tmp_path)
    assert code == 0, out + err
    assert "ok           target" in out
    assert list(target.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["target"]


def test_a_missing_target_has_failed_with_a_remedy(tmp_path: Path) -> None:
    code, checks = examined(tmp_path, "--target", tmp_path / "nowhere")
    assert code == 1
    assert not_well(checks) == {"target"}, checks
    assert "use an existing directory" in checks["target"]["remedy"].lower()


def test_the_nodes_are_examined_without_a_target(tmp_path: Path) -> None:
    code, checks = examined(tmp_path)
    assert code == 0
    assert not_well(checks) == {"target"}, checks
    assert checks["processors"]["status"] == "ok"


def test_an_srun_without_nodes_has_failed_and_dependent_checks_are_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)
    code, checks = examined(tmp_path, "--launcher", "srun")
    assert code == 1
    assert checks["launcher"]["status"] == "failed"
    assert checks["io_uring"]["status"] == "not checked"


def test_a_read_only_directory_for_runs_has_failed(target: Path, tmp_path: Path) -> None:
    if not Path("/sys/kernel").is_dir():
        pytest.skip("there is no /sys, where nobody can create anything")
    code, checks = examined(tmp_path, "--target", target, "--out", "/sys/kernel")
    assert code == 1
    assert not_well(checks) == {"run directory"}, checks


def test_a_signal_ends_it_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("mpicc") is None:
        pytest.skip("there is no mpicc in PATH")
    # A launcher that never comes back.
    slow = tmp_path / "bin" / "mpirun"
    slow.parent.mkdir()
    slow.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --version ]; then echo "mpirun (Open MPI) 4.1.4"; exit; fi\n'
        'echo $$ > "$0.pid"\nexec sleep 600\n'
    )
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    command, pid = Command(["doctor", "--launcher", "mpirun"], tmp_path), slow.with_name("mpirun.pid")
    until(lambda: pid.exists() and pid.read_text().strip(), "the launcher to start")
    command.process.send_signal(signal.SIGINT)
    code, _, err = command.end()
    assert code == 3, err
    assert "SIGINT" in err
    until(lambda: is_gone(int(pid.read_text())), "the launcher to end")
    assert [path.name for path in tmp_path.iterdir()] == ["bin"]
