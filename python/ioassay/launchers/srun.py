"""Slurm's `srun`, inside an allocation: as a job step on the first nodes of the job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ioassay.errors import CannotRun
from ioassay.launchers.placement import Placement
from ioassay.launchers.site_mpi import family_of_mpicc, mpicc


class Srun:
    """Starts a process for each rank on the first nodes, with consecutive ranks for each client."""

    needs_mpi = True
    mpi_plugins: Mapping[str, str] = {"open-mpi": "pmix", "mpich": "pmi2"}
    beside: Sequence[str] = ("srun", "--overlap", "--nodes=1", "--ntasks=1", "--nodelist")
    """A step of the current job."""

    def program(self, nodes: int, ranks_per_node: int, hosts: Sequence[str]) -> list[str]:
        """`srun` on the nodes of the allocation."""
        return ["srun", f"--nodes={nodes}", f"--ntasks-per-node={ranks_per_node}"]

    def tokens(self, engine: Path, placement: Placement) -> list[str]:
        """`srun` with one task per rank. Raises `CannotRun` if clients cannot be spread evenly."""
        nodes, ranks_on_each = len(placement.used), placement.ranks_on_each
        if not nodes:
            raise CannotRun(
                "`srun` needs a Slurm allocation, and there is none here.",
                "Use `--launcher sbatch`, or get an allocation: salloc --nodes=N",
            )
        if len(set(ranks_on_each)) > 1:
            raise CannotRun(
                f"{placement.clients} clients cannot be spread evenly over {nodes} nodes by `srun`.",
                "Use as many nodes as clients.",
            )
        step_arguments = [
            f"--nodes={nodes}",
            f"--ntasks={placement.ranks}",
            f"--ntasks-per-node={ranks_on_each[0]}",
            f"--nodelist={','.join(node.name for node in placement.used)}",
            "--distribution=block",
            # The first process is stopped by its standard input.
            "--input=0",
            # Other steps of this job, such as the control plane, are on the same nodes.
            "--overlap",
        ]
        if placement.library:
            step_arguments.append(f"--mpi={self.mpi_plugins[family_of_mpicc(mpicc())]}")
        return [*placement.launch(engine), "srun", *step_arguments, *placement.options, *placement.engine(engine)]
