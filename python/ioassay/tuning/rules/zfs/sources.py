"""Documents that several of these rules go by."""

from __future__ import annotations

from ioassay.tuning.rule import Source

ZFS_PROPERTIES = Source("OpenZFS 2.3, zfsprops(7)", "https://openzfs.github.io/openzfs-docs/man/v2.3/7/zfsprops.7.html")
ZFS_CONCEPTS = Source(
    "OpenZFS 2.3, zpoolconcepts(7)", "https://openzfs.github.io/openzfs-docs/man/v2.3/7/zpoolconcepts.7.html"
)
ZPOOL_PROPERTIES = Source(
    "OpenZFS 2.3, zpoolprops(7)", "https://openzfs.github.io/openzfs-docs/man/v2.3/7/zpoolprops.7.html"
)
ZFS_MODULE = Source("OpenZFS 2.3, zfs(4)", "https://openzfs.github.io/openzfs-docs/man/v2.3/4/zfs.4.html")
ZFS_MODULE_2_1 = Source("OpenZFS 2.1, zfs(4)", "https://openzfs.github.io/openzfs-docs/man/v2.1/4/zfs.4.html")
ZFS_WORKLOADS = Source(
    "OpenZFS documentation, Workload Tuning",
    "https://openzfs.github.io/openzfs-docs/Performance%20and%20Tuning/Workload%20Tuning.html",
)

NO_ZFS = "no ZFS is loaded here, or the target does not lie on it"
