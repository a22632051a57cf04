"""Documents that several of these rules go by."""

from __future__ import annotations

from ioassay.tuning.rule import Source

CLIENT_FILE = Source(
    "BeeGFS 8.3, beegfs-client.conf",
    "https://github.com/ThinkParQ/beegfs/blob/8.3.1/client_module/build/dist/etc/beegfs-client.conf",
)
META_FILE = Source(
    "BeeGFS 8.3, beegfs-meta.conf",
    "https://github.com/ThinkParQ/beegfs/blob/8.3.1/meta/build/dist/etc/beegfs-meta.conf",
)
STORAGE_FILE = Source(
    "BeeGFS 8.3, beegfs-storage.conf",
    "https://github.com/ThinkParQ/beegfs/blob/8.3.1/storage/build/dist/etc/beegfs-storage.conf",
)
CLIENT_TUNING = Source(
    "BeeGFS 8.2, Client Node Tuning", "https://doc.beegfs.io/latest/advanced_topics/client_tuning.html"
)
CACHING = Source(
    "BeeGFS 8.2, Client Side Caching Modes", "https://doc.beegfs.io/latest/advanced_topics/client_caching.html"
)
META_TUNING = Source(
    "BeeGFS 8.2, Metadata Node Tuning", "https://doc.beegfs.io/latest/advanced_topics/metadata_tuning.html"
)

NO_CLIENT = "no BeeGFS is mounted here, or the target does not lie on it"
NO_DAEMON = "no BeeGFS server is configured here, or the target is none of its stores"
