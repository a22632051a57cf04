"""Slurm over the hosts of a lab: plain `srun` works on each client, and every client is a node of one partition.

Slurm's own settings, keys and state of the machine are neither seen nor touched.
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
"""Compiled in: where all of its commands look."""

_OURS = {"SLURM_CONF": f"{_SETTINGS}/slurm.conf"}
"""Whoever starts a lab may use the Slurm of a cluster, and say so in the environment."""

_OWN = f"{ROOT}/slurm"

_SLOTS = 64
"""What each node is said to have: a lab's hosts share the machine's processors, and ranks may outnumber these."""

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
"""A node that is cut off shall be missed in a minute and not in five, and what no nodes can take be refused."""

# What makes Slurm look for no cgroups, which belong to the machine.
_CGROUP_CONF = "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"

# Open MPI 5 finds its way only with the first two. The others leave MPI_Init one fence of two: where processors are
# scarce Slurm ends the second for some while others wait in the first, and these die of the message that they then get
# (github.com/open-mpi/ompi/issues/12495).
_PMIX_ENVIRONMENT = {
    "PMIX_MCA_gds": "hash",
    "PMIX_MCA_psec": "native",
    "OMPI_MCA_pmix_base_async_modex": "1",
    "OMPI_MCA_pmix_base_collect_data": "0",
}
_MPI_CONF = f'PMIxEnv="{";".join(f"{name}={value}" for name, value in _PMIX_ENVIRONMENT.items())}"\n'


def requirements() -> list[Requirement]:
    """What it needs of the machine."""
    return [
        Command("slurmctld", "slurmctld"),
        Command("slurmd", "slurmd"),
        Command("srun", "slurm-client"),
        Command("munged", "munge"),
    ]


def start(site: Site) -> None:
    """Starts it, and returns when a job over all clients runs. Raises `CannotRun`."""
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
    # One for all hosts: they have one /run, and a socket there is no matter of networks.
    directory = site.directory("munge")
    key = site.write(f"{directory}/key", secrets.token_hex(64), mode=0o400)
    files = [f"--key-file={key}", f"--pid-file={directory}/pid", f"--seed-file={directory}/seed"]
    site.lab.run("mkdir", "-p", "/run/munge")
    daemon = site.server.start("munged", "munged", "--foreground", *files)
    daemon.until(lambda: site.server.space.attempt("munge", "--no-input").returncode == 0)


def _idle(client: Host) -> int:
    """How many nodes wait for work."""
    seen = client.space.attempt("sinfo", "--noheader", "--Node", "--format=%T", environment=_OURS)
    return seen.stdout.split().count("idle")


def _hosts_of_a_job(client: Host, nodes: int) -> list[str]:
    srun = ["srun", f"--nodes={nodes}", "--ntasks-per-node=1", "hostname"]
    ran = client.space.attempt(*srun, environment=_OURS)
    return sorted(ran.stdout.split())
