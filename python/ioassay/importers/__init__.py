"""Results of other tools, read into run directories.

One module for each tool reads its files into `model.Case`; `source` finds and opens files, `gather` reads all
named files, `stored` makes runs of them. A reader knows the formats of all versions of its tool and refuses a file that
fits none, naming the line: a column that moved must never become a number under another name.

How to add a tool: docs/development/importers.md. Not: recomputing what a tool printed (`ioassay.analysis`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ioassay.importers import dlio, elbencho, fio, gather, io500, ior, iozone, iperf3, mdtest, obdfilter_survey
from ioassay.importers.servers import cases, gpfs, lustre, prometheus
from ioassay.importers.servers.cases import ReadCounters
from ioassay.importers.stored import Gathered


@dataclass(frozen=True)
class Importer:
    tool: str
    """As typed on the command line."""
    title: str
    """As printed."""
    reads: str
    """The versions and formats that are read, in words."""
    gather: Callable[[Sequence[Path]], Iterator[Gathered]]
    """Yields the runs found in files and below directories."""
    counters: ReadCounters | None = None
    """Reads a file of counters that can be stored beside a run."""


def _one_run(tool: str, title: str, reads: str, read: gather.Reader) -> Importer:
    """An importer of a tool whose files are all cases of one run."""
    return Importer(tool, title, reads, partial(gather.one_run, tool, title, read))


def _counters(tool: str, title: str, reads: str, read: ReadCounters) -> Importer:
    """An importer of server counters; each file is of one server."""
    return Importer(tool, title, reads, partial(gather.one_run, tool, title, cases.reader(read)), read)


IMPORTERS: Mapping[str, Importer] = {
    importer.tool: importer
    for importer in (
        _one_run("ior", "IOR", "2.10 to 4.1: standard output, JSON, CSV by iteration and by rank", ior.read),
        _one_run("mdtest", "mdtest", "1.9 to 4.1: standard output, CSV by rank", mdtest.read),
        Importer("io500", "IO500", "2017 to 2026: result_summary.txt, result.txt, files of the phases", io500.gather),
        _one_run("elbencho", "elbencho", "1.0 to 3.1: CSV and JSON of results, console, live CSV", elbencho.read),
        _one_run("fio", "fio", "2.0 to 3.42: JSON and json+, of one machine and of clients", fio.read),
        _one_run("iozone", "IOzone", "3: throughput mode and auto mode", iozone.read),
        _one_run("iperf3", "iperf3", "3.0 to 3.21: JSON and streamed JSON, of clients and servers", iperf3.read),
        Importer(
            "dlio",
            "DLIO",
            "1 and 2, and MLPerf Storage 0.5 to 2.0: folders with summary.json, per_epoch_stats.json, N_output.json",
            dlio.gather,
        ),
        _counters(
            "lustre",
            "Lustre",
            "statistics of 2.8 to 2.17: lctl get_param of stats, md_stats, job_stats, brw_stats, llite and LNet",
            lustre.read,
        ),
        _counters(
            "prometheus",
            "Prometheus",
            "text and OpenMetrics of Lustre's exporters (HPE and GSI, whamcloud): several scrapes with their times",
            prometheus.read,
        ),
        _counters("gpfs", "GPFS", "mmpmon: responses to fs_io_s and io_s, with -p and without", gpfs.read),
        _one_run("obdfilter-survey", "obdfilter-survey", "the summary (.summary)", obdfilter_survey.read),
    )
}
"""Every tool, by the name that is typed."""
