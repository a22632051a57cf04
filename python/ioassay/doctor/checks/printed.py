"""What launchers print when they fail, and what it means: theirs are words for those who know them."""

from __future__ import annotations

import re

from ioassay.doctor.facts import Problem

_PASSWORD = (
    "Let ssh in without a password: ssh-keygen, ssh-copy-id NODE, and ssh-keyscan NODE >> ~/.ssh/known_hosts; "
    "try with: ssh -o BatchMode=yes NODE true"
)
_NETWORK = "See that the node is up and that sshd on it answers: ssh -o BatchMode=yes NODE true"

_MEANINGS = (
    (
        r"detected an attempt to run as root|allow-run-as-root",
        "Open MPI does not start anything for root.",
        "Take a user of your own, or say that it is meant: export OMPI_ALLOW_RUN_AS_ROOT=1 "
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
    ),
    (
        r"not enough slots",
        "mpirun has fewer slots than ranks were asked for.",
        "Take a smaller --ranks-per-node, ask for more tasks in the allocation, or add --launcher-options "
        "'--oversubscribe'.",
    ),
    (r"Host key verification failed", "ssh does not know the node's key.", _PASSWORD),
    (r"Permission denied \(|password:|passphrase", "ssh asks for a password.", _PASSWORD),
    (
        r"Could not resolve hostname|Name or service not known|Temporary failure in name resolution",
        "The node's name is not known.",
        "Correct --hosts, or make the name known (DNS, /etc/hosts).",
    ),
    (
        r"No route to host|Connection (?:timed out|refused|closed)|Network is unreachable",
        "ssh cannot connect.",
        _NETWORK,
    ),
    (
        r"(?:orted|prted|hydra_pmi_proxy)[^\n]*(?:not found|No such file)",
        "The MPI is not where its launcher looks for it on the node.",
        "Install it in the same place on all nodes, or name the place: --launcher-options '--prefix DIR'.",
    ),
    (
        r"Invalid MPI type|specified plugin name for mpi/|Couldn't find the specified plugin",
        "srun does not know the MPI.",
        "See srun --mpi=list; install Slurm's plug-in, or take --launcher mpirun in the allocation.",
    ),
    (
        r"Task launch for \S+ failed on node|Communication connection failure|Unable to contact slurm controller",
        "Slurm does not reach the node.",
        "See that it is up, that slurmd runs there, and that it is reached: sinfo -N -l, scontrol show node NODE",
    ),
    (
        r"Invalid node name|not in partition|Requested nodes are busy|nodes required for job are DOWN|"
        r"Requested node configuration is not available|Unable to allocate resources",
        "Slurm does not give these nodes.",
        "See sinfo -N -l, and name nodes of the allocation; without one, begin with: salloc --nodes=N",
    ),
    (
        r"GLIBC_\S+' not found|error while loading shared libraries",
        "The engine does not start: the node has another system than this one.",
        "Build ioassay on the oldest of the systems (pip install .), or install what it names on the node.",
    ),
    (
        r"ioassay-engine[^\n]*(?:No such file|not found)|(?:could not access|execve)[^\n]*\s*[^\n]*executable|"
        r"execve[^\n]*No such file|unable to find the specified executable",
        "The launcher does not find the engine.",
        "Install ioassay in a directory that all nodes see, or in the same place on each.",
    ),
)


def meaning(printed: str) -> Problem | None:
    """What it means; `None` for what is not known here."""
    for pattern, message, remedy in _MEANINGS:
        if re.search(pattern, printed):
            return Problem(message, remedy)
    return None


def last_line(printed: str) -> str:
    """The last words, for who has nothing better."""
    lines = [line.strip(" -*") for line in printed.splitlines() if line.strip(" -*\t")]
    return lines[-1] if lines else ""
