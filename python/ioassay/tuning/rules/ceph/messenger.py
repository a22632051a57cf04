"""How what goes to Ceph's servers is protected on its way."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotJudged, Rule, each
from ioassay.tuning.rules.ceph.sources import MOUNT_CEPH, NO_CEPHFS, RBD, mount_again
from ioassay.tuning.system import System
from ioassay.tuning.system.ceph import cephfs_mounts
from ioassay.tuning.system.mounts import Mount


def _judge(system: System) -> Iterator[Judgement]:
    return each(cephfs_mounts(system), _mount, otherwise=NO_CEPHFS)


def _mount(mount: Mount) -> Iterator[Judgement]:
    mode = mount.options.get("ms_mode", "legacy")
    if "nocrc" in mount.options:
        because = "data that the network damages is stored as it arrives"
        yield Change(mount.point, "nocrc", "crc", because, command=mount_again(mount.point, "leave nocrc out"))
    elif mode in ("secure", "prefer-secure"):
        why = "depends on whether others can listen on the network: encryption costs processor time on every byte"
        yield NotJudged(mount.point, f"ms_mode={mode}", why)
    else:
        yield Fine(mount.point, f"ms_mode={mode}, checksums and no encryption")


RULE = Rule(
    name="ceph-messenger",
    title="Send checksums with data to Ceph, and encrypt where the network is shared",
    area="Ceph",
    reason="nocrc sends writes without checksums, so that damage on the way is stored; secure encrypts every message.",
    risk="crc in place of secure lets others on the network read data: ask who runs the cluster.",
    sources=(MOUNT_CEPH, RBD),
    judge=_judge,
    parameters=("ms_mode", "nocrc"),
)
