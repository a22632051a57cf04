"""Slurm's prolog and epilog from `packaging`, with a stand-in for the agent."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

PACKAGING = Path(__file__).parents[1] / "packaging"

AGENT = """\
#!/bin/sh
exec 8> {place}/spool
flock -n 8 || exit 3
mkdir -p "$3" && sleep 0.1 && : > "$3/agent"
trap 'sleep 0.3; exit' TERM
while :; do sleep 0.05 8>&-; done
"""
"""Takes registrations after a moment, delivers for a moment when it is ended, and needs its spool for itself."""

Script = Callable[[str, int], subprocess.Popen[bytes]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Script]:
    """Starts `prolog` or `epilog` of a job, with files below `tmp_path`."""
    agent = tmp_path / "ioassay-agent"
    agent.write_text(AGENT.format(place=tmp_path))
    agent.chmod(0o755)
    for name in ("prolog", "epilog"):
        text = (PACKAGING / f"slurm-{name}.sh").read_text()
        for place, ours in {"/etc/ioassay/agent": tmp_path, "/run/ioassay": tmp_path / "run"}.items():
            assert place in text
            text = text.replace(place, str(ours))
        (tmp_path / name).write_text(text)

    def do(name: str, job: int) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "SLURM_JOB_ID": str(job), "IOASSAY_AGENT": str(agent)}
        return subprocess.Popen(["sh", tmp_path / name], env=environment)

    yield do
    for pid in agents(tmp_path):
        psutil.Process(pid).kill()


def agents(place: Path) -> list[int]:
    """The running agents without their child processes, which look like them at first."""
    setup = str(place / "agent.json")
    processes = [
        process.info
        for process in psutil.process_iter(["pid", "ppid", "cmdline"])
        if setup in (process.info["cmdline"] or [])
    ]
    pids = [process["pid"] for process in processes]
    return [process["pid"] for process in processes if process["ppid"] not in pids]


def test_one_agent_works_from_the_first_job_of_a_node_until_after_the_last(start: Script, tmp_path: Path) -> None:
    assert start("prolog", 1).wait() == 0
    # The job's first command registers with it.
    assert (tmp_path / "run/registrations/agent").exists()
    assert start("prolog", 2).wait() == 0
    (first,) = agents(tmp_path)
    assert start("epilog", 1).wait() == 0
    assert agents(tmp_path) == [first]
    assert start("epilog", 2).wait() == 0
    assert agents(tmp_path) == []


def test_a_job_that_begins_while_the_previous_one_ends_is_watched(start: Script, tmp_path: Path) -> None:
    start("prolog", 0).wait()
    for job in range(5):
        ending, beginning = start("epilog", job), start("prolog", job + 1)
        assert (ending.wait(), beginning.wait()) == (0, 0)
        assert len(agents(tmp_path)) == 1


def test_a_reused_process_number_is_not_mistaken_for_a_crashed_agent(start: Script, tmp_path: Path) -> None:
    (tmp_path / "run/jobs").mkdir(parents=True)
    (tmp_path / "run/agent.pid").write_text(str(os.getpid()))
    start("epilog", 1).wait()  # it would end this test
    (tmp_path / "run/agent.pid").write_text(str(os.getpid()))
    start("prolog", 2).wait()
    assert len(agents(tmp_path)) == 1
