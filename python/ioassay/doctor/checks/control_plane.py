"""This node: ioassay, its engine, and the directory for runs."""

from __future__ import annotations

from ioassay.doctor.facts import ControlPlane
from ioassay.doctor.verdict import Verdict, failed, ok


def versions(facts: ControlPlane) -> Verdict:
    return ok(f"{facts.ioassay_version}, Python {facts.python_version}")


def engine(facts: ControlPlane) -> Verdict:
    """The engine exists and has the same version."""
    if facts.engine_problem is not None:
        return failed(facts.engine_problem.message, facts.engine_problem.remedy)
    if facts.engine_version != facts.ioassay_version:
        return failed(
            f"{facts.engine} is version {facts.engine_version}, but ioassay is {facts.ioassay_version}.",
            "Install both together (pip install .), or unset IOASSAY_ENGINE if it names another engine.",
        )
    return ok(f"{facts.engine_version}, {facts.engine}")


def run_directory(facts: ControlPlane) -> Verdict:
    if facts.run_place_problem is not None:
        return failed(facts.run_place_problem.message, facts.run_place_problem.remedy)
    return ok(f"{facts.run_place} is writable and supports file locks.")
