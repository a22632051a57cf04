"""`ioassay run --launcher sbatch`: the messages while a Slurm job makes the run. Not: what a job is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioassay.cli.output import say
from ioassay.execution import slurm_job
from ioassay.execution.interruption import Interruption
from ioassay.store.run_directory import load, read_document
from ioassay.text.units import format_count

if TYPE_CHECKING:
    from pathlib import Path

    from ioassay.store.loaded import LoadedRun
    from ioassay.store.run_writer import RunWriter


def write(run: RunWriter) -> Path:
    """Writes the script of a run that was prepared, and lets others use the run. Where the script is."""
    run.write(slurm_job.SCRIPT, slurm_job.script(run.document, run.path).encode(), mode=0o755)
    run.close()
    return run.path / slurm_job.SCRIPT


def submit_and_follow(path: Path) -> LoadedRun | None:
    """Submits the run at `path` and says how it goes until its job has ended. `None`: it goes on without us."""
    job = slurm_job.submit(path)
    say(f"Job {job.id} runs the study; its output: {path}/logs/slurm-{job.id}.txt")
    state = "PENDING"
    with Interruption() as interruption:
        for state, reason in slurm_job.follow(job, lambda: interruption.first is None):
            document = read_document(path)
            done = sum(case.is_settled for case in document.cases)
            because = f" ({reason})" if reason else ""
            of = format_count(len(document.cases), "case")
            say(f"Job {job.id}: {state.lower()}{because}, {done} of {of} done")
    if interruption.first is not None:
        say(f"Job {job.id} continues. Check it with: squeue --jobs {job.id}; end it with: scancel {job.id}")
        return None
    loaded = load(path)
    if loaded.document.state != "complete":
        say(f"Job {job.id} ended as {state.lower()}. Resume with: sbatch {path / slurm_job.SCRIPT}")
    return loaded
