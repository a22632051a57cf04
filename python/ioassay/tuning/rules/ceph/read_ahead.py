"""How far a client of CephFS reads ahead."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.text.units import format_bytes
from ioassay.tuning.rule import Change, Fine, Judgement, NotReadable, Rule, each
from ioassay.tuning.rules.ceph.sources import MOUNT_CEPH, NO_CEPHFS, mount_again
from ioassay.tuning.system import System
from ioassay.tuning.system.ceph import cephfs_mounts
from ioassay.tuning.system.mounts import Mount
from ioassay.tuning.system.numbers import is_whole

_DEFAULT = 8 << 20


def _judge(system: System) -> Iterator[Judgement]:
    return each(cephfs_mounts(system), _mount, otherwise=NO_CEPHFS)


def _mount(mount: Mount) -> Iterator[Judgement]:
    text = mount.options.get("rasize")
    if text is None:
        yield Fine(mount.point, f"the default, {format_bytes(_DEFAULT)}")
    elif not is_whole(text):
        yield NotReadable(f"read-ahead of {mount.point}", f"rasize={text} is no size")
    elif int(text) < _DEFAULT:
        because = "a sequential reader waits for an OSD at each object, where two could be read at once"
        command = mount_again(mount.point, f"set rasize={_DEFAULT}")
        yield Change(mount.point, format_bytes(int(text)), format_bytes(_DEFAULT), because, command=command)
    else:
        yield Fine(mount.point, format_bytes(int(text)))


RULE = Rule(
    name="cephfs-read-ahead",
    title="Read at least 8 MiB ahead on CephFS",
    area="Ceph",
    reason="Eight MiB is the default and two objects of the default layout, so that two OSDs work for one sequential "
    "reader.",
    risk="Random readers fetch data that they do not use. More can help single streams over many OSDs: sweep it.",
    sources=(MOUNT_CEPH,),
    judge=_judge,
    parameters=("rasize",),
)
