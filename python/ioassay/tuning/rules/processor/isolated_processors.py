"""Whether processors are kept from the scheduler."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Judgement, NotApplicable, Rule, Source
from ioassay.tuning.system import System
from ioassay.tuning.system.processors import isolated, list_text


def _judge(system: System) -> Iterator[Judgement]:
    apart = isolated(system.snapshot)
    if not apart:
        yield NotApplicable("no processor is isolated")
        return
    left = system.processors - len(apart)
    because = f"ranks without binding share the {left} that are left" if left > 0 else ""
    command = f"taskset -c {list_text(apart)} COMMAND, or take isolcpus out of the kernel's command line"
    yield Change(
        system.host,
        f"processors {list_text(apart)} isolated",
        "ranks bound to them, or none isolated",
        because,
        command=command,
    )


RULE = Rule(
    name="isolated-processors",
    title="Bind ranks where processors are isolated",
    area="processor and network",
    reason="The scheduler places nothing on isolated processors, so a run without binding uses only the others; ranks "
    "that are bound to several isolated processors all run on the first, because no load balancing moves them.",
    risk="Bind each rank to one processor. Kernel threads of file systems and networks stay on the others, which then "
    "limit.",
    sources=(
        Source(
            "Linux, the kernel's command-line parameters: isolcpus",
            "https://docs.kernel.org/admin-guide/kernel-parameters.html",
        ),
    ),
    judge=_judge,
    parameters=("isolcpus",),
)
