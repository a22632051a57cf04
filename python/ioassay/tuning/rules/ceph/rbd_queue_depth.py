"""How many requests of a mapped image are under way."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotReadable, Rule, each
from ioassay.tuning.rules.ceph.sources import NO_RBD, RBD
from ioassay.tuning.system import System
from ioassay.tuning.system.ceph import RbdDevice, rbd_devices
from ioassay.tuning.system.numbers import is_whole

_DEFAULT = 128


def _judge(system: System) -> Iterator[Judgement]:
    return each(rbd_devices(system), _device, otherwise=NO_RBD)


def _device(device: RbdDevice) -> Iterator[Judgement]:
    options = device.options
    if options is None:
        yield NotReadable(f"options of {device.name}", "config_info has none; Linux has it since 4.9")
        return
    text = options.get("queue_depth", str(_DEFAULT))
    if not is_whole(text):
        yield NotReadable(f"queue_depth of {device.name}", f"{text} is no number")
    elif int(text) < _DEFAULT:
        because = "requests wait in the node while OSDs could work on them"
        command = f"rbd device unmap /dev/{device.name}, then map it with -o queue_depth={_DEFAULT}"
        yield Change(device.name, f"{text} requests", f"{_DEFAULT} requests", because, command=command)
    else:
        yield Fine(device.name, f"{text} requests")


RULE = Rule(
    name="rbd-queue-depth",
    title="Let at least 128 requests of a mapped RBD image be under way",
    area="Ceph",
    reason="Each request is a round trip to an OSD, and an image is spread over all of them: throughput is the "
    "requests under way times their size by this time. 128 is the default.",
    risk="The image has to be unmapped. Many images with deep queues can overload the OSDs.",
    sources=(RBD,),
    judge=_judge,
    parameters=("queue_depth",),
)
