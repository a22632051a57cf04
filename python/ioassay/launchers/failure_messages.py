"""Error messages of launchers: finds the relevant lines, and explains them.

Not here: messages of the engines, whose errors are events.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Meaning(NamedTuple):
    """The explanation of a launcher's message."""

    message: str
    remedy: str


_PASSWORD = (
    "Set up ssh without a password: ssh-keygen, ssh-copy-id NODE, and ssh-keyscan NODE >> ~/.ssh/known_hosts; "
    "test it with: ssh -o BatchMode=yes NODE true"
)
_NETWORK = "Check that the node is up and that its sshd answers: ssh -o BatchMode=yes NODE true"

_MEANINGS = (
    (
        r"detected an attempt to run as root|allow-run-as-root",
        "Open MPI refuses to run as root.",
        "Run as a normal user, or allow it: --launcher-options --allow-run-as-root, or export OMPI_ALLOW_RUN_AS_ROOT=1 "
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
    ),
    (
        r"not enough slots",
        "mpirun has fewer slots than the requested ranks.",
        "Use a smaller --ranks-per-node, ask for more tasks in the allocation, or add --launcher-options "
        "'--oversubscribe'.",
    ),
    (r"Host key verification failed", "ssh does not know the node's host key.", _PASSWORD),
    (r"Permission denied \(|password:|passphrase", "ssh asks for a password.", _PASSWORD),
    (
        r"Could not resolve hostname|Name or service not known|Temporary failure in name resolution",
        "The node's name cannot be resolved.",
        "Correct --hosts, or add the name to DNS or /etc/hosts.",
    ),
    (
        r"No route to host|Connection (?:timed out|refused|closed)|Network is unreachable",
        "ssh cannot connect to the node.",
        _NETWORK,
    ),
    (
        r"(?:orted|prted|hydra_pmi_proxy)[^\n]*(?:not found|No such file)",
        "The launcher's MPI is not installed at the same path on the node.",
        "Install it at the same path on all nodes, or set the path: --launcher-options '--prefix DIR'.",
    ),
    (
        r"Invalid MPI type|specified plugin name for mpi/|Couldn't find the specified plugin",
        "srun does not support this MPI.",
        "See srun --mpi=list; install Slurm's plug-in, or use --launcher mpirun in the allocation.",
    ),
    (
        r"Task launch for \S+ failed on node|Communication connection failure|Unable to contact slurm controller",
        "Slurm cannot reach the node.",
        "Check that it is up, reachable and running slurmd: sinfo -N -l, scontrol show node NODE",
    ),
    (
        r"Invalid node name|not in partition|Requested nodes are busy|nodes required for job are DOWN|"
        r"Requested node configuration is not available|Unable to allocate resources",
        "Slurm does not grant these nodes.",
        "See sinfo -N -l, and use nodes of the allocation; to get one: salloc --nodes=N",
    ),
    (
        r"GLIBC_\S+' not found|error while loading shared libraries",
        "The engine does not start: the operating system of the node differs from this one.",
        "Build ioassay on the oldest of the systems (pip install .), or install the missing library on the node.",
    ),
    (
        r"ioassay-engine[^\n]*(?:No such file|not found)|(?:could not access|execve)[^\n]*\s*[^\n]*executable|"
        r"execve[^\n]*No such file|unable to find the specified executable",
        "The launcher cannot find the engine.",
        "Install ioassay in a directory shared by all nodes, or at the same path on each.",
    ),
)


_NO_HEARTBEAT = "no heartbeat from "
"""Engines print this on standard error after they lost a node: the engine that writes events may be on it."""

_LOSSES = (
    # ssh, with which launchers start their helpers on the other nodes.
    r"ssh: .+",
    r"(?:ssh_exchange_identification|kex_exchange_identification|client_loop): .+",
    r"Connection (?:closed|reset|timed out) .+",
    r"Connection to \S+ (?:closed|timed out).*",
    r"Timeout, server \S+ not responding\.",
    r"Host key verification failed\..*",
    r"\S+: Permission denied \(.+",
    # Open MPI 4 and 5, whose helpers are orted and prted.
    r"Remote daemon: .+",
    r"Remote host: .+",
    r".*noticed that process rank .+ on node \S+ exited .+",
    r".*has exited due to process rank .+ on node \S+ calling .+",
    # Hydra of MPICH, in its table of a bad termination.
    r"PID \d+ RUNNING AT \S+",
    r"EXIT CODE: \d+",
    # The engine itself.
    rf"ioassay-engine: {_NO_HEARTBEAT}.+",
    # Slurm.
    r"(?:srun|slurmstepd|salloc): error: .+",
)
"""Whole lines that name a node that was not reached or is lost, or on which a process ended."""

_LOSS = re.compile("|".join(f"(?:{pattern})" for pattern in _LOSSES))

_NOISE = re.compile(
    # Lines that are independent of the cause, and messages about the consequences.
    r"help message|_base_help_aggregate|This usually is caused by|YOU CAN IGNORE|CLEANING UP|"
    r"^(?:\[(?:mpiexec|proxy)\b\S*@|\[\d+\.\d+\] \[\S+ *:\d+ *:\d+\] .*WARN|Warning: Permanently added|try: )"
)

_MOST_LINES = 4


def losses(printed: str) -> list[str]:
    """The lines that name a node that was not reached or is lost."""
    return [line for line in _lines(printed) if _LOSS.fullmatch(line)]


def is_lost(printed: str, begun: bool) -> bool:
    """True if a node is lost for good. Once the engines have `begun` they watch each other, and a launcher's lost
    connection is ignored: MPICH's launcher continues without ssh."""
    return _NO_HEARTBEAT in printed or (not begun and bool(losses(printed)))


def telling(printed: str) -> list[str]:
    """The few relevant lines: those about lost nodes, or else the last one.

    Frames of dashes, the advice within them and repetitions are left out.
    """
    return losses(printed)[:_MOST_LINES] or _lines(printed)[-1:]


_WRAPPED = re.compile(r"\b(exited on|calling)\n")
"""Line breaks of Open MPI within the sentence that names the node."""


def _lines(printed: str) -> list[str]:
    """Each line once, without frames."""
    lines = (" ".join(line.split()).strip("-*= \0") for line in _WRAPPED.sub(r"\1 ", printed).splitlines())
    return list(dict.fromkeys(line for line in lines if line and not _NOISE.search(line)))


def meaning(printed: str) -> Meaning | None:
    """The explanation; `None` for an unknown message."""
    for pattern, message, remedy in _MEANINGS:
        if re.search(pattern, printed):
            return Meaning(message, remedy)
    return None
