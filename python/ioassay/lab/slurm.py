"""Slurm on the hosts of a lab: `srun` works on each client, and all clients are nodes of one partition.

The machine's own Slurm settings, keys and state are neither read nor changed.
"""

from __future__ import annotations

import secrets
from pathlib import Path

import psutil

from ioassay.errors import CannotRun
from ioassay.lab.record import ROOT
from ioassay.lab.requirements import Command, Requirement
from ioassay.lab.site import Host, Site
from ioassay.lab.waiting import until

_SETTINGS = "/etc/slurm"
"""The directory that is compiled into its commands."""

_OURS = {"SLURM_CONF": f"{_SETTINGS}/slurm.conf"}
"""Overrides the environment of users who configure the Slurm of a cluster there."""

_OWN = f"{ROOT}/slurm"

_SLOTS = 64
"""The slots of each node: hosts share the machine's processors, and there may be more ranks than processors."""

_SLURM_CONF = f"""\
ClusterName=lab
SlurmctldHost={{server.name}}({{server.address}})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={_OWN}/state
SlurmdSpoolDir={_OWN}/%n
TmpFS={_OWN}/%n
SlurmctldPidFile={_OWN}/slurmctld.pid
SlurmdPidFile={_OWN}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
EnforcePartLimits=ALL
SlurmctldTimeout=20
SlurmdTimeout=20
KillWait=5
MailProg=/bin/true
{{nodes}}
PartitionName=lab Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
"""The timeouts detect a disconnected node within a minute instead of five; jobs that do not fit are refused."""

# Keeps Slurm from using cgroups, which belong to the machine.
_CGROUP_CONF = "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"

# Open MPI 5 needs the first two. The others reduce the two fences of MPI_Init to one: with few processors, Slurm ends
# the second fence for some ranks while others still wait in the first, and these then abort
# (github.com/open-mpi/ompi/issues/12495).
_PMIX_ENVIRONMENT = {
    "PMIX_MCA_gds": "hash",
    "PMIX_MCA_psec": "native",
    "OMPI_MCA_pmix_base_async_modex": "1",
    "OMPI_MCA_pmix_base_collect_data": "0",
}
_MPI_CONF = f'PMIxEnv="{";".join(f"{name}={value}" for name, value in _PMIX_ENVIRONMENT.items())}"\n'


def requirements() -> list[Requirement]:
    return [
        Command("slurmctld", "slurmctld"),
        Command("slurmd", "slurmd"),
        Command("srun", "slurm-client"),
        Command("munged", "munge"),
    ]


def start(site: Site) -> None:
    """Starts Slurm, and returns when a job over all clients runs. Raises `CannotRun`."""
    if not Path(_SETTINGS).is_dir():
        raise CannotRun(
            f"{_SETTINGS} does not exist, where Slurm looks for its settings.", f"Create it: mkdir {_SETTINGS}"
        )
    site.private(_SETTINGS)
    _start_munge(site)
    nodes = "\n".join(_node(client) for client in site.clients)
    site.write(f"{_SETTINGS}/slurm.conf", _SLURM_CONF.format(server=site.server, nodes=nodes))
    site.write(f"{_SETTINGS}/cgroup.conf", _CGROUP_CONF)
    site.write(f"{_SETTINGS}/mpi.conf", _MPI_CONF)
    site.directory("slurm/state")
    controller = site.server.start("slurmctld", "slurmctld", "-D", "-i", environment=_OURS)
    for client in site.clients:
        site.directory(f"slurm/{client.name}")
        client.start("slurmd", "slurmd", "-D", environment=_OURS)
    controller.until(lambda: _idle(site.clients[0]) == len(site.clients), "all nodes to be idle")
    names = sorted(client.name for client in site.clients)
    until(lambda: _hosts_of_a_job(site.clients[0], len(names)) == names, "a job over all clients")


def _node(client: Host) -> str:
    memory_mib = psutil.virtual_memory().total >> 20
    name = f"NodeName={client.name} NodeHostname={client.name} NodeAddr={client.address}"
    return f"{name} CPUs={_SLOTS} RealMemory={memory_mib}"


def _start_munge(site: Site) -> None:
    # One daemon serves all hosts: they share /run, where its socket is.
    directory = site.directory("munge")
    key = site.write(f"{directory}/key", secrets.token_hex(64), mode=0o400)
    files = [f"--key-file={key}", f"--pid-file={directory}/pid", f"--seed-file={directory}/seed"]
    site.lab.run("mkdir", "-p", "/run/munge")
    daemon = site.server.start("munged", "munged", "--foreground", *files)
    daemon.until(lambda: site.server.space.attempt("munge", "--no-input").returncode == 0)


def _idle(client: Host) -> int:
    """The number of idle nodes."""
    result = client.space.attempt("sinfo", "--noheader", "--Node", "--format=%T", environment=_OURS)
    return result.stdout.split().count("idle")


def _hosts_of_a_job(client: Host, nodes: int) -> list[str]:
    srun = ["srun", f"--nodes={nodes}", "--ntasks-per-node=1", "hostname"]
    result = client.space.attempt(*srun, environment=_OURS)
    return sorted(result.stdout.split())
