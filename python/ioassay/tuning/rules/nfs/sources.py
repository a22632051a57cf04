"""Documents that several of these rules go by."""

from __future__ import annotations

from ioassay.tuning.rule import Source
from ioassay.tuning.system.nfs import NfsMount

NFS_MANUAL = Source("nfs(5)", "https://man7.org/linux/man-pages/man5/nfs.5.html")
EXPORTS_MANUAL = Source("exports(5)", "https://man7.org/linux/man-pages/man5/exports.5.html")
KERNEL_PARAMETERS = Source(
    "Linux, the kernel's command-line parameters", "https://docs.kernel.org/admin-guide/kernel-parameters.html"
)
AZURE_SLOTS = Source(
    "Microsoft, Linux concurrency best practices for Azure NetApp Files: session slots and slot table entries",
    "https://learn.microsoft.com/en-us/azure/azure-netapp-files/performance-linux-concurrency-session-slots",
)

NO_MOUNTS = "no NFS file system is mounted here, or the target does not lie on one"
NO_SERVER = "no NFS server runs on this node"


def mount_again(mount: NfsMount, option: str) -> str:
    """What to do for an option that a remount does not change."""
    return f"set {option} in /etc/fstab or the automounter's map, then: umount {mount.point} && mount {mount.point}"
