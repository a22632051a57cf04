"""This side: ioassay, its engine, the place for run directories."""

from __future__ import annotations

import platform
from pathlib import Path

from ioassay import __version__
from ioassay.doctor.collect.command_output import said
from ioassay.doctor.facts import ControlPlane, Problem
from ioassay.engine import find_engine, version_of
from ioassay.errors import CannotRun, IoassayError
from ioassay.results.lock import Lock
from ioassay.results.stored_directory import StoredDirectory


def control_plane(scratch: Path, scratch_problem: Problem | None) -> ControlPlane:
    """This side. `scratch` is a directory where a run directory would be, if that could be had."""
    problem = scratch_problem
    if problem is None:
        try:
            with StoredDirectory.open(scratch) as directory:
                Lock.acquire(directory).release()
        except IoassayError as error:
            problem = Problem.of(error)
        except OSError as error:
            problem = Problem(f"{scratch.parent}: {error.strerror}.", "Name another place with --out.")
    engine, version, engine_problem = None, None, None
    try:
        engine = str(find_engine())
        version = version_of(said([engine, "--version"]))
        if version is None:
            engine_problem = Problem(f"{engine} does not start.", f"Start it by hand: {engine} --version")
    except CannotRun as error:
        engine_problem = Problem.of(error)
    return ControlPlane(
        ioassay_version=__version__,
        python_version=platform.python_version(),
        engine=engine,
        engine_version=version,
        engine_problem=engine_problem,
        run_place=str(scratch.parent),
        run_place_problem=problem,
    )
