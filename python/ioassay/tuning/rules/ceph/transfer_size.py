"""How much one request to an OSD carries."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.text.units import format_bytes
from ioassay.tuning.rule import Change, Fine, Judgement, NotReadable, Rule, Source, each
from ioassay.tuning.rules.ceph.sources import MOUNT_CEPH, NO_CEPHFS, mount_again
from ioassay.tuning.system import System
from ioassay.tuning.system.ceph import cephfs_mounts
from ioassay.tuning.system.mounts import Mount
from ioassay.tuning.system.numbers import is_whole

_OBJECT = 4 << 20
"""Of CephFS, unless a directory's layout says otherwise."""


def _judge(system: System) -> Iterator[Judgement]:
    return each(cephfs_mounts(system), _mount, otherwise=NO_CEPHFS)


def _mount(mount: Mount) -> Iterator[Judgement]:
    for option, operation in (("wsize", "writes"), ("rsize", "reads")):
        subject, text = f"{mount.point} {operation}", mount.options.get(option)
        if text is None:
            yield Fine(subject, f"the default {option}, at least 16 MiB")
        elif not is_whole(text):
            yield NotReadable(subject, f"{option}={text} is no size")
        elif int(text) < _OBJECT:
            now, wanted = format_bytes(int(text)), f"at least {format_bytes(_OBJECT)}"
            because = (
                f"an object has {format_bytes(_OBJECT)} unless its layout says otherwise, and takes several requests"
            )
            yield Change(subject, now, wanted, because, command=mount_again(mount.point, f"leave {option} out"))
        else:
            yield Fine(subject, format_bytes(int(text)))


RULE = Rule(
    name="cephfs-transfer-size",
    title="Let one request of CephFS carry a whole object",
    area="Ceph",
    reason="Each request costs a round trip to an OSD. The defaults of rsize and wsize, 16 MiB or more, never split "
    "an object of the default layout; writes take the smaller of wsize and the stripe unit.",
    risk="None known; memory of the client while requests are under way.",
    sources=(
        MOUNT_CEPH,
        Source("Ceph 20 (Tentacle), File layouts", "https://docs.ceph.com/en/tentacle/cephfs/file-layouts/"),
    ),
    judge=_judge,
    parameters=("rsize", "wsize"),
)
