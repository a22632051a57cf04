"""How readily the kernel swaps programs out instead of dropping cached file data."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Bounds, Change, Fine, Judgement, NotApplicable, Rule, Source, missing
from ioassay.tuning.system import System

_DEFAULT = 60
_VM_6_1 = Source(
    "Linux 6.1, Documentation for /proc/sys/vm: swappiness",
    "https://www.kernel.org/doc/html/v6.1/admin-guide/sysctl/vm.html",
)
_BOUNDS = Bounds(
    _VM_6_1,
    most=100,
    above="memory of programs is swapped out before cached file data is dropped, although swap lies on a disk",
)


def _judge(system: System) -> Iterator[Judgement]:
    now = system.snapshot.number("proc/sys/vm/swappiness")
    swaps = system.snapshot.text("proc/swaps")
    if now is None:
        yield missing("/proc/sys/vm/swappiness")
        return
    places = [line.split()[0] for line in (swaps or "").splitlines()[1:] if line.split()]
    if breach := _BOUNDS.breach(now):
        if swaps is None:
            yield missing("/proc/swaps")
        elif not places:
            yield Fine(system.host, f"{now}, without effect: the node has no swap")
        elif all("zram" in place for place in places):
            yield Fine(system.host, f"{now}, with swap in memory (zram)")
        else:
            because = breach.replace("a disk", ", ".join(places))
            assignment = Assignment("sysctl:vm.swappiness", str(_DEFAULT))
            yield Change(system.host, str(now), str(_DEFAULT), because, (assignment,), is_harmful=True)
    else:
        yield NotApplicable(f"{now} is within the bounds for any node; no source recommends a value for I/O")


RULE = Rule(
    name="swappiness",
    title="Drop cached file data before swapping programs out to a disk",
    area="memory",
    reason="The value is the cost of reading a page of a file back, against that of swapping one in, of 200 for both "
    "together. Above 100 swap counts as the cheaper one, which is true of swap in memory only.",
    risk="Idle programs stay in memory, and less of it is left to cache files.",
    sources=(_VM_6_1,),
    judge=_judge,
    parameters=("swappiness",),
    bounds={"swappiness": _BOUNDS},
)
