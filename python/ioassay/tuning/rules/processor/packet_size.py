"""How large packets are."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, Rule, Source, each, missing
from ioassay.tuning.system import System
from ioassay.tuning.system.network import Interface, interfaces

_WANTED = 9000
_FAST_MEGABITS = 10_000


def _judge(system: System) -> Iterator[Judgement]:
    every = interfaces(system.snapshot)
    fast = [one for one in every if one.is_ethernet and one.is_up and one.megabits >= _FAST_MEGABITS]
    return each(
        [one for one in fast if not one.is_bonded and (one.is_physical or one.members)],
        _interface,
        otherwise="no Ethernet link of 10 Gb/s or more is up",
    )


def _interface(one: Interface) -> Iterator[Judgement]:
    now = one.mtu
    if now is None:
        yield missing(f"/sys/class/net/{one.name}/mtu")
    elif now >= _WANTED:
        yield Fine(one.name, f"MTU {now}")
    else:
        because = f"on a link of {one.megabits / 1000:g} Gb/s, if it leads to the storage"
        assignment = Assignment(f"sys:class/net/{one.name}/mtu", str(_WANTED))
        yield Change(one.name, f"MTU {now}", f"MTU {_WANTED}", because, (assignment,))


RULE = Rule(
    name="packet-size",
    title="Use an MTU of 9000 on Ethernet storage networks",
    area="processor and network",
    reason="With an MTU of 1500 a transfer takes six times as many packets, each of which costs processor time and "
    "headers: 94 % of the line carries data instead of 99 %.",
    risk="Every adapter, switch and router on the way needs it: where one does not, large packets vanish and mounts "
    "hang although ping works; test with: ping -M do -s 8972. Adapters that join packets themselves leave little to "
    "gain: Dell advises to measure it. Changing it interrupts the link on some adapters.",
    sources=(
        Source(
            "Dell PowerScale: Network Design Considerations, data payload to Ethernet frame efficiency",
            "https://infohub.delltechnologies.com/l/powerscale-network-design-considerations/data-payload-to-ethernet-frame-efficiency",
        ),
        Source(
            "Hitachi NAS Platform, Jumbo frames support",
            "https://docs.hitachivantara.com/r/en-us/nas-platform/15.1.x/mk-92hnas008/network-interfaces/jumbo-frames-support",
        ),
    ),
    judge=_judge,
    parameters=("mtu",),
)
