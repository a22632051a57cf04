"""How processors choose their clock."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule, Source
from ioassay.tuning.system import System
from ioassay.tuning.system.processors import counted, frequency_settings

CPUFREQ = Source("Linux, CPU performance scaling", "https://docs.kernel.org/admin-guide/pm/cpufreq.html")
INTEL_PSTATE = Source("Linux, intel_pstate", "https://docs.kernel.org/admin-guide/pm/intel_pstate.html")


def _judge(system: System) -> Iterator[Judgement]:
    governors = frequency_settings(system.snapshot, "scaling_governor")
    if not governors:
        yield NotApplicable(
            "the kernel does not scale the processors' clock; a virtual machine, or set in the firmware"
        )
        return
    slow = [governor for governor in governors.values() if governor != "performance"]
    if not slow:
        yield Fine(system.host, counted(governors.values()))
        return
    drivers = set(frequency_settings(system.snapshot, "scaling_driver").values())
    offered = frequency_settings(system.snapshot, "scaling_available_governors")
    because = f"driver {', '.join(sorted(drivers))}" if drivers else ""
    if any(driver in ("intel_pstate", "amd-pstate-epp") for driver in drivers) and "powersave" in slow:
        because += ", whose powersave is not the slowest clock but follows the load"
    if offered and not any("performance" in names.split() for names in offered.values()):
        yield NotApplicable(f"the kernel offers no governor performance, only {next(iter(offered.values()))}")
        return
    assignment = Assignment("sys:devices/system/cpu/cpu*/cpufreq/scaling_governor", "performance")
    yield Change(system.host, counted(slow), "performance", because, (assignment,))


RULE = Rule(
    name="cpu-governor",
    title="Use the governor performance while measuring and on servers",
    area="processor and network",
    reason="A process that waits for I/O leaves its processor idle, so governors that follow the load lower the "
    "clock, and each completion is handled slowly; latency and its spread suffer most.",
    risk="More power and heat; on dense nodes less turbo for the busy cores. tuned, power-profiles-daemon and the "
    "firmware can set it back. Deep idle states are a setting of their own.",
    sources=(CPUFREQ, INTEL_PSTATE),
    judge=_judge,
    parameters=("scaling_governor",),
)
