"""Storage in ReFrame 4: a study is run, `ioassay check` gives the verdict, and rates are kept with their references.

    reframe --config-file=site.py --checkpath=storage.py --setvar=target=/mnt/scratch --run --performance-report

`ioassay` is looked for in PATH. The other variables are set like `target`: `--setvar=settings=total:1GiB`.
"""

import json
import re
import shlex
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import run_before, sanity_function, variable

UNITS = {"rate_bytes_per_s": ("MB/s", 1e6), "rate_operations_per_s": ("kIOPS", 1e3)}


class StorageStudy(rfm.RunOnlyRegressionTest):
    """A study on a target, its verdict and its rates. What a site runs is a subclass that says which study."""

    target = variable(str)
    study = variable(str)
    settings = variable(typ.Dict[str, str], value={})
    launcher = variable(str, value="local")  # of the ranks; in a job of several nodes `srun`
    criteria = variable(str, value="")  # a file in `src`, or an absolute path
    baseline = variable(str, value="")  # an absolute path
    tolerance = variable(str, value="5%")

    valid_systems = ["*"]
    valid_prog_environs = ["builtin"]
    executable = "ioassay"
    keep_files = ["run", "check.json", "rates.json"]

    @run_before("run")
    def say_what_to_do(self):
        """A job that runs the study, then writes its rates and its verdict into files."""
        options = ["run", self.study, "--target", self.target, "--launcher", self.launcher, "--out", "run"]
        for name, value in self.settings.items():
            options += ["--set", f"{name}={value}"]
        by = []
        if self.criteria:
            by += ["--criteria", self.criteria]
        if self.baseline:
            by += ["--baseline", self.baseline, "--tolerance", self.tolerance]
        self.executable_opts = [shlex.quote(option) for option in options]
        self.postrun_cmds = [
            "ioassay report run --format json -o rates.json",
            f"ioassay check run {shlex.join(by)} --json > check.json",
        ]

    @sanity_function
    def is_accepted(self):
        """What failed is the reason that ReFrame reports."""
        try:
            verdict = json.loads(Path("check.json").read_text())
        except json.JSONDecodeError:  # nothing could be measured or judged, and the first complaint says why
            complaint = re.search(r"^ioassay: .*(\n  .*)*", Path(self.stderr.evaluate()).read_text(), re.MULTILINE)
            return sn.assert_true(False, complaint[0] if complaint else "there is no verdict")
        failed = [check for check in verdict["checks"] if check["judgement"] == "failed"]
        return sn.assert_false(failed, "\n".join("{group}, {name}: {says}".format(**check) for check in failed))

    @run_before("performance")
    def take_the_rates(self):
        """A performance variable for each rate of the study's summary: `WORKLOAD_JOB_peak`, `…_sustained`."""
        rates = json.loads(Path(self.stagedir, "rates.json").read_text())
        levels = (
            (f"{row['workload']}_{series['job']}_{level}", series[level])
            for row in rates["peak_sustained"]
            for series in row["series"]
            for level in ("peak", "sustained")
            if level in series
        )
        for name, level in levels:
            column = next(column for column in UNITS if column in level)
            unit, divisor = UNITS[column]
            rate = sn.defer(round(level[column] / divisor, 3))
            self.perf_variables[name] = sn.make_performance_function(rate, unit)


@rfm.simple_test
class ScratchIsHealthy(StorageStudy):
    """The study `quick` on scratch."""

    descr = "Scratch is healthy, and as fast as its contract says"
    study = "quick"
    criteria = "criteria.yaml"
    # The rate that it had when it was accepted, and which share of it may be lost. These suit any healthy disk.
    reference = {
        "laptop:disk": {
            "sequential_write_sustained": (50, -0.5, None, "MB/s"),
            "sequential_read_sustained": (50, -0.5, None, "MB/s"),
        },
    }
