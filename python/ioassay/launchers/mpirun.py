"""`mpirun`, of Open MPI or of MPICH and those made of it (Intel MPI, MVAPICH, Cray's mpiexec.hydra)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ioassay.launchers.placement import Placement
from ioassay.launchers.site_mpi import Family, family_of_mpirun, mpirun


def program(nodes: int, ranks_per_node: int, hosts: Sequence[str]) -> list[str]:
    """`mpirun` with arguments that both families of MPI accept."""
    host_arguments = ["--host", ",".join(f"{host}:{ranks_per_node}" for host in hosts[:nodes])] if hosts else []
    return ["mpirun", *host_arguments, "-np", str(nodes * ranks_per_node)]


class Mpirun:
    """Starts a process for each rank on the first nodes, with consecutive ranks for each client."""

    needs_mpi = True
    mpi_plugins: Mapping[str, str] = {}
    beside: Sequence[str] = ()
    program = staticmethod(program)

    def tokens(self, engine: Path, placement: Placement) -> list[str]:
        """`mpirun` with the arguments of its MPI. Raises `CannotRun` if there is none, or an unknown one."""
        command = mpirun()
        placement_arguments = _WHERE[family_of_mpirun(command)](placement)
        return [
            *placement.launch(engine),
            str(command),
            *placement_arguments,
            *placement.options,
            *placement.engine(engine),
        ]


def _open_mpi(placement: Placement) -> list[str]:
    names = [node.name for node in placement.used] or ["localhost"]
    hosts = [f"{name}:{ranks}" for name, ranks in zip(names, placement.ranks_on_each, strict=True)]
    forwarded = [token for name in placement.forwarded for token in ("-x", name)]
    # Slots are filled in the order of hosts, so that the ranks of a client are consecutive.
    return ["--host", ",".join(hosts), "--map-by", "slot", "-np", str(placement.ranks), *forwarded]


def _hydra(placement: Placement) -> list[str]:
    if not placement.used:
        return ["-n", str(placement.ranks)]
    hosts = [f"{node.name}:{ranks}" for node, ranks in zip(placement.used, placement.ranks_on_each, strict=True)]
    # Environment variables are passed on as they are.
    return ["-hosts", ",".join(hosts), "-n", str(placement.ranks)]


_WHERE: dict[Family, Callable[[Placement], list[str]]] = {"open-mpi": _open_mpi, "mpich": _hydra}
