"""The part of a time limit that is left for measuring: the limit counts from the start of the process to its end.

The time for analysis and report is estimated from the time that starting took, which behaves alike: both are
bound by the processor, and slower on a slow or busy node alike.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

_REPORT_PER_START = 0.7
"""Time for the report, relative to the time for imports: 0.4 to 0.6 on busy nodes."""

_SHORTEST_REPORT_S = 1.5


@dataclass(frozen=True)
class Budget:
    """The time of a command. Times are of `time.monotonic`."""

    began_s: float
    started_s: float
    """When all imports were done and the command began."""
    limit_s: float

    @classmethod
    def of_this_process(cls, limit_s: float) -> Budget:
        """Must be called after all imports."""
        now_s = time.monotonic()
        return cls(now_s - _age_s(), now_s, limit_s)

    @property
    def report_s(self) -> float:
        """Time reserved for the analysis and the report."""
        return max(_SHORTEST_REPORT_S, _REPORT_PER_START * (self.started_s - self.began_s))

    @property
    def measured_by_s(self) -> float:
        """When the last phase should have ended."""
        return self.began_s + self.limit_s - self.report_s

    @property
    def left_s(self) -> float:
        """The time left for measuring now."""
        return self.measured_by_s - time.monotonic()

    @property
    def passed_s(self) -> float:
        """The time since the process started."""
        return time.monotonic() - self.began_s


def _age_s() -> float:
    """Age of this process, from the kernel (proc_pid_stat(5), field 22, in ticks since the boot)."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
