"""What the rules about RAID controllers share: whether there is one, and how its settings are typed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ioassay.tuning.rule import Judgement, NotApplicable, NotReadable
from ioassay.tuning.system import Array, System

SUBJECT = "RAID controller"


def with_array(
    system: System, setting: str, key: str, judge: Callable[[Array], Iterator[Judgement]]
) -> Iterator[Judgement]:
    """What `judge` says of the array that the user gave; without one, why nothing can be said."""
    if system.array is not None:
        yield from judge(system.array)
    elif arrays := [device.name for device in system.concerned() if device.medium == "array" and not device.below]:
        yield unknown(
            setting, key, f"{arrays[0]} is one of {len(arrays)} of its LUNs" if len(arrays) > 1 else arrays[0]
        )
    else:
        yield NotApplicable("no disk here is known to lie on a RAID controller; if one does, give --raid")


def unknown(setting: str, key: str, where: str = "") -> NotReadable:
    """That only the controller knows a setting, and how to say it."""
    place = f" ({where})" if where else ""
    return NotReadable(
        f"{setting} of the {SUBJECT}{place}", f"no host can read it; look it up on the controller and give --raid {key}"
    )


def smcli(script: str) -> str:
    """A command for arrays of Dell's MD series and NetApp's E-series, with the names to fill in."""
    return f"On a Dell MD or NetApp E-series array (others: its own tool): SMcli -n ARRAY -c '{script};'"
