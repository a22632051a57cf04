"""Every command of `ioassay`: its help line, and where its code is. A new command is one entry here.

Not: subcommands, which a group declares in the package of its name.
"""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One command.

    `place` is `module:attribute`: a function, or the `typer.Typer` of a group. It is imported only when the command is
    asked for, so the first sentence of its help stands here too; a test compares both.
    """

    help_line: str
    place: str


COMMANDS = {
    "quick": Entry("Measure how fast a directory is, and whether it is healthy.", "ioassay.cli.quick:quick"),
    "run": Entry("Run a study on a directory, object store, block device or lab.", "ioassay.cli.run:run"),
    "studies": Entry("List the built-in studies and what they need, or print one.", "ioassay.cli.studies:studies"),
    "systems": Entry("List published storage systems, show one, or check its claims.", "ioassay.cli.systems:systems"),
    "list": Entry("List stored runs and network measurements, newest first.", "ioassay.cli.list:list_"),
    "report": Entry("Write the report of stored runs, sweeps or IO500 tunings.", "ioassay.cli.report:report"),
    "publish": Entry("Export a run: reports, figures, tables.", "ioassay.cli.publish:publish"),
    "compare": Entry("Compare runs, published systems and predictions.", "ioassay.cli.compare:compare"),
    "check": Entry("Judge a run by criteria or against a baseline.", "ioassay.cli.check:check"),
    "trend": Entry("Detect regressions over stored runs.", "ioassay.cli.trend:trend"),
    "import": Entry("Import the results of other tools.", "ioassay.cli.import_:import_"),
    "record": Entry("Run a command and record the I/O of all its processes.", "ioassay.cli.record:record"),
    "profile": Entry("Show what a recorded application does to storage.", "ioassay.cli.profile:profile"),
    "net": Entry("Measure the network between clients and servers with iperf3.", "ioassay.cli.net:net"),
    "doctor": Entry("Check launcher, MPI, nodes, clocks, limits and target.", "ioassay.cli.doctor:doctor"),
    "clean": Entry("Remove what an interrupted run left on its target.", "ioassay.cli.clean:clean"),
    "watch": Entry("Watch I/O live; check, set and convert contracts.", "ioassay.cli.watch:app"),
    "tune": Entry("Check settings, find better ones, apply and put back.", "ioassay.cli.tune:app"),
    "size": Entry("Find and explain storage configurations.", "ioassay.cli.size:app"),
    "lab": Entry("Start real storage systems and several hosts on one machine.", "ioassay.cli.lab:app"),
    "mpi": Entry("Build and list MPI connectors.", "ioassay.cli.mpi:app"),
    "api": Entry("Build and list storage plug-ins: MPI-IO, HDF5, PnetCDF, own.", "ioassay.cli.api:app"),
    "dashboards": Entry("List, print and install Grafana dashboards.", "ioassay.cli.dashboards:app"),
    "completion": Entry("Print the completions for a shell.", "ioassay.cli.completion:completion"),
    "help": Entry("Show the help of a command.", "ioassay.cli.help:help_"),
}
"""All commands in the order of the help."""
