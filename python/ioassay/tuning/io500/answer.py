"""The answer of the procedure: the recommended ranks per node, and the command lines of the full benchmark."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass
from statistics import median

from ioassay.analysis.intervals import Interval
from ioassay.analysis.spread import Spread
from ioassay.launchers import DEFAULT, find_launcher
from ioassay.store.tune_io500_document import Io500Measurement, TuneIo500Document
from ioassay.text.units import parse_bytes
from ioassay.tuning.io500 import history
from ioassay.tuning.io500.balance import Balance, Standing
from ioassay.tuning.io500.ramp import Ramp
from ioassay.tuning.io500.settings import AMOUNTS, of_run, typed, words


@dataclass(frozen=True)
class RankCount:
    """The measurements at a rank count in step 5."""

    ranks: int
    score: Spread
    bandwidth: Spread
    """GiB/s"""
    metadata: Spread
    """kIOPS"""
    phases: dict[str, float]
    """Medians by phase, in GiB/s or kIOPS."""
    standing: Standing
    ratio: Interval | None


@dataclass(frozen=True)
class Answer:
    """Everything that follows from a document."""

    document: TuneIo500Document
    ramp: Ramp
    balance: Balance
    rank_counts: tuple[RankCount, ...]

    @property
    def best(self) -> RankCount | None:
        """The recommended one; `None` while no score is valid."""
        return next((rank_count for rank_count in self.rank_counts if rank_count.ranks == self.balance.best), None)

    @property
    def void_doubts(self) -> dict[str, int]:
        """The kinds of doubts that void a comparison, each with the number of the best rank count's runs of all phases
        that carry it.
        """
        kinds = (kind for measurement in self._scored for kind in measurement.void_doubts)
        return dict(Counter(kinds).most_common())

    @property
    def _scored(self) -> list[Io500Measurement]:
        best = self.best
        return [
            measurement
            for measurement in self.document.measurements
            if best and measurement.ranks == best.ranks and measurement.score
        ]

    @property
    def is_withheld(self) -> bool:
        """Whether most scores of the best rank count say nothing about the storage."""
        doubted = [measurement for measurement in self._scored if measurement.void_doubts]
        return 2 * len(doubted) > len(self._scored)

    @property
    def is_decided(self) -> bool:
        """Whether nothing is left to measure."""
        return self.best is not None and not history.next_turns(self.document)


def answer(document: TuneIo500Document) -> Answer:
    """The answer, as far as it goes."""
    ramp = history.ramp_of(document)
    state = history.balance_of(document, ramp)
    measured = [measurement for measurement in document.measurements if measurement.stage == "balance"]
    counts = []
    for candidate in state.candidates:
        measurements = [
            measurement for measurement in measured if measurement.ranks == candidate.ranks and measurement.score
        ]
        if not measurements and candidate.standing != "failed":
            continue
        names = dict.fromkeys(name for measurement in measurements for name in measurement.phases)
        counts.append(
            RankCount(
                ranks=candidate.ranks,
                score=Spread([measurement.score or 0.0 for measurement in measurements]),
                bandwidth=Spread([measurement.bandwidth or 0.0 for measurement in measurements]),
                metadata=Spread([measurement.metadata or 0.0 for measurement in measurements]),
                phases={
                    name: median(measurement.phases.get(name, 0.0) for measurement in measurements) for name in names
                },
                standing=candidate.standing,
                ratio=candidate.ratio,
            )
        )
    return Answer(document, ramp, state, tuple(counts))


def study_command(document: TuneIo500Document, ranks: int) -> str:
    """The command line that runs the IO500 by its rules with so many ranks per node."""
    user_settings = {key: value for key, value in typed(document.user_settings).items() if key not in AMOUNTS}
    settings = of_run(user_settings, document.nodes.nodes, ranks)
    launched = ["--launcher", document.launcher] if document.launcher != DEFAULT else []
    hosts = ["--hosts", ",".join(document.hosts)] if document.hosts else []
    options = ["--launcher-options", shlex.join(document.launcher_options)] if document.launcher_options else []
    lab = ["--clients", document.clients] if document.clients and not document.target.startswith("lab:") else []
    set_all = [word for setting_word in words(settings) for word in ("--set", setting_word)]
    return shlex.join(
        ["ioassay", "run", "io500", "--target", document.target, *launched, *hosts, *options, *lab, *set_all]
    )


def front_end_config(document: TuneIo500Document) -> str:
    """`config.ini` for `ioassay-engine io500`, and for the official program.

    On a single node caches are dropped before each phase, as the study does.
    """
    lines = ["[global]", f"datadir = {document.directory}"]
    if document.nodes.nodes == 1:
        lines.append("drop-caches = TRUE")
    if (transfer := typed(document.user_settings).get("easy_transfer")) is not None:
        lines += ["", "[ior-easy]", f"transferSize = {parse_bytes(transfer)}"]
    return "\n".join([*lines, ""])


def front_end_command(document: TuneIo500Document, ranks: int) -> str:
    """The command line of the front end: started by a launcher where there are several nodes."""
    nodes = document.nodes.nodes
    launcher = find_launcher(document.launcher)
    if nodes == 1 and not launcher.needs_mpi:
        return f"ioassay-engine io500 --ranks {ranks} config.ini"
    return shlex.join([*launcher.program(nodes, ranks, document.hosts), "ioassay-engine", "io500", "config.ini"])
