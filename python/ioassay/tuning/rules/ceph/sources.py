"""Documents that several of these rules go by."""

from __future__ import annotations

from ioassay.tuning.rule import Source

MOUNT_CEPH = Source("Ceph 20 (Tentacle), mount.ceph(8)", "https://docs.ceph.com/en/tentacle/man/8/mount.ceph/")
RBD = Source("Ceph 20 (Tentacle), rbd(8): kernel rbd options", "https://docs.ceph.com/en/tentacle/man/8/rbd/")

NO_CEPHFS = "the kernel mounts no CephFS here, or the target does not lie on it"
NO_RBD = "no image of RBD is mapped here, or none lies below the target"


def mount_again(point: str, what: str) -> str:
    """What to do for an option that is agreed on when it is mounted."""
    return f"{what} in /etc/fstab, then: umount {point} && mount {point}"
