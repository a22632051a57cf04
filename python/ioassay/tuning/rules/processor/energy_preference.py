"""What processors prefer where the hardware chooses the clock."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule, Source
from ioassay.tuning.rules.processor.governor import INTEL_PSTATE
from ioassay.tuning.system import System
from ioassay.tuning.system.processors import counted, frequency_settings

_ATTRIBUTE = "energy_performance_preference"
_FASTEST = {"performance", "0"}


def _judge(system: System) -> Iterator[Judgement]:
    preferences = frequency_settings(system.snapshot, _ATTRIBUTE)
    governors = frequency_settings(system.snapshot, "scaling_governor")
    if not preferences:
        yield NotApplicable("the processors have no energy preference, or their driver does not offer it")
    elif all(governors.get(cpu) == "performance" for cpu in preferences):
        yield NotApplicable("the governor performance fixes the preference; see cpu-governor")
    elif set(preferences.values()) <= _FASTEST:
        yield Fine(system.host, counted(preferences.values()))
    else:
        low = [value for value in preferences.values() if value not in _FASTEST]
        assignment = Assignment(f"sys:devices/system/cpu/cpu*/cpufreq/{_ATTRIBUTE}", "performance")
        yield Change(system.host, counted(low), "performance", "", (assignment,))


RULE = Rule(
    name="cpu-energy-preference",
    title="Prefer performance where processors choose their clock themselves",
    area="processor and network",
    reason="With intel_pstate and amd_pstate in active mode the processor chooses its clock and goes by this "
    "preference: balance_performance and above answer short bursts, such as completions of I/O, late.",
    risk="More power and heat. Setting the governor to performance has the same effect and takes precedence.",
    sources=(INTEL_PSTATE, Source("Linux, amd-pstate", "https://docs.kernel.org/admin-guide/pm/amd-pstate.html")),
    judge=_judge,
    parameters=(_ATTRIBUTE,),
)
