"""A Slurm job script, executed by hand."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from .support import ioassay


def test_a_job_imports_nothing_from_the_directory_in_which_it_is_submitted(target: Path, tmp_path: Path) -> None:
    run, submitted = tmp_path / "run", tmp_path / "submitted"
    options = ["--target", target, "--launcher", "sbatch", "--script-only", "--out", run]
    code, out, err = ioassay("run", "quick", *options)
    assert (code, out.strip()) == (0, f"sbatch {run}/job.sh"), err
    submitted.mkdir()
    trace = tmp_path / "trace"
    for name in ("typer", "ioassay", "signal"):
        (submitted / f"{name}.py").write_text(f"open({str(trace)!r}, 'w')\n")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SLURM_")}
    result = subprocess.run(
        ["bash", run / "job.sh"], cwd=submitted, env=environment, capture_output=True, text=True, check=False
    )
    assert not trace.exists()
    if shutil.which("mpicc") is None:
        pytest.skip("there is no mpicc in PATH, without which the job ends before it asks for its allocation")
    # It got as far as to ask for the allocation that a job has.
    assert (result.returncode, "allocation" in result.stderr) == (3, True), result.stderr
