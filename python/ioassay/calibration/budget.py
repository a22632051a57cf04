"""How much of a time limit is left for measuring: the limit counts from the start of the process to its end.

What the analysis and the report will take is estimated by what starting has taken, which is of the same kind: both are
bound by the processor, and slower on a slow or busy node alike.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

_REPORT_PER_START = 0.7
"""What the report takes of the time for importing what it needs: 0.4 to 0.6 on busy nodes."""

_SHORTEST_REPORT_S = 1.5


@dataclass(frozen=True)
class Budget:
    """The time of a command. Moments are of `time.monotonic`."""

    began_s: float
    started_s: float
    """When everything was imported and the command could begin its work."""
    limit_s: float

    @classmethod
    def of_this_process(cls, limit_s: float) -> Budget:
        """To be called once everything is imported."""
        now_s = time.monotonic()
        return cls(now_s - _age_s(), now_s, limit_s)

    @property
    def report_s(self) -> float:
        """What is kept for the analysis and the report."""
        return max(_SHORTEST_REPORT_S, _REPORT_PER_START * (self.started_s - self.began_s))

    @property
    def measured_by_s(self) -> float:
        """When the last phase is to have ended."""
        return self.began_s + self.limit_s - self.report_s

    @property
    def left_s(self) -> float:
        """The time left for measuring, now."""
        return self.measured_by_s - time.monotonic()

    @property
    def passed_s(self) -> float:
        """The time since the process started."""
        return time.monotonic() - self.began_s


def _age_s() -> float:
    """How long ago this process started, by the kernel (proc_pid_stat(5), field 22, in ticks since the boot)."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
