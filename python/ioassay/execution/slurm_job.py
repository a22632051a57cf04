"""A whole run as a job of Slurm: its script, submission and state.

The job resumes the run (`ioassay run --resume`) inside its allocation, with `srun` as the launcher, so that the
same script, submitted again, runs the cases for which the first job had no time.
Not here: what a run is, printing.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ioassay.errors import CannotRun
from ioassay.store.document import RunDocument
from ioassay.text.units import format_count

SCRIPT = "job.sh"
"""In the run directory."""

_WARNED_S = 60
"""How long before its time limit Slurm signals the control plane, which then stops in order."""

_LOOK_EVERY_S = 2.0

_UNFINISHED = {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "REQUEUED", "RESIZING", "SIGNALING"}


@dataclass(frozen=True)
class Job:
    """A submitted job."""

    id: str

    def look(self) -> tuple[str, str]:
        """Its state and reason, in Slurm's words; `GONE` if Slurm no longer knows it."""
        printed = _run("scontrol", "--oneliner", "show", "job", self.id)
        if printed is None:
            return "GONE", ""
        words = dict(word.split("=", 1) for word in printed.split() if "=" in word)
        return words.get("JobState", "GONE"), words.get("Reason", "").replace("None", "")


def script(run: RunDocument, path: Path) -> str:
    """The script that runs `run`, whose directory is `path`."""
    cases = [case for case in run.cases if not case.is_settled]
    nodes = max(case.clients for case in cases)
    ranks = max(case.ranks_per_client for case in cases)
    remaining = ("at most " if run.stops_early else "") + format_count(len(cases), "case")
    settings = [
        f"--job-name=ioassay-{run.study.name}",
        f"--nodes={nodes}",
        f"--ntasks-per-node={ranks}",
        "--exclusive",
        f"--output={path}/logs/slurm-%j.txt",
        f"--signal=B:TERM@{_WARNED_S}",
        *run.launcher_options,
    ]
    # -P: the job starts in the directory of its submission, whose files must not be imported. -I would also keep Python
    # from an ioassay that was installed with --user or is found by PYTHONPATH.
    resume = shlex.join([sys.executable, "-P", "-m", "ioassay", "run", "--resume", str(path)])
    return "\n".join(
        [
            "#!/bin/bash",
            f"# {run.study.title}: {remaining} left to run. Submit it again to resume.",
            *(f"#SBATCH {setting}" for setting in settings),
            "",
            "# Replaces the shell, so that the warning signal before the time limit reaches it.",
            f"exec {resume}",
            "",
        ]
    )


def submit(path: Path) -> Job:
    """Submits the script of the run at `path`. Raises `CannotRun` with Slurm's error."""
    command = ["sbatch", "--parsable", str(path / SCRIPT)]
    try:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as error:
        raise CannotRun(
            f"sbatch cannot be started: {error.strerror}.", "Run this on a node with Slurm's commands."
        ) from error
    job_id = re.match(r"(\d+)", result.stdout)
    if result.returncode != 0 or not job_id:
        raise CannotRun(
            f"Slurm rejected the job: {result.stderr.strip() or result.stdout.strip()}",
            f"Correct {path / SCRIPT}, and submit it with: sbatch {path / SCRIPT}",
        )
    return Job(job_id[1])


def follow(job: Job, goes_on: Callable[[], bool]) -> Iterator[tuple[str, str]]:
    """The state of a job and its reason, now and whenever they change, until it has ended or `goes_on` says no."""
    last = None
    while goes_on():
        state = job.look()
        if state != last:
            last = state
            yield state
        if state[0] not in _UNFINISHED:
            return
        time.sleep(_LOOK_EVERY_S)


def _run(*command: str) -> str | None:
    """The output of a command; `None` if it fails."""
    try:
        result = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout if result.returncode == 0 else None
