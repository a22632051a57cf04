"""Publications and documentation that several rules go by."""

from __future__ import annotations

from ioassay.tuning.rule import Source

_MD3460 = (
    "Turek, Calleja, Taylor: Commoditisation of the High-End Research Storage Market with the Dell MD3460 & Intel "
    "Enterprise Edition Lustre, University of Cambridge"
)

LINUX_LARGE_IO = Source(f"{_MD3460}, Table 3")
RAID_LARGE_IO = Source(f"{_MD3460}, Table 4")
LUSTRE_SERVER = Source(f"{_MD3460}, Table 5")
LUSTRE_CLIENT = Source(f"{_MD3460}, Table 6")
LARGE_IO_TEXT = Source(f"{_MD3460}, Linux large I/O tuning")

QUEUE_SYSFS = Source("Linux, ABI: sysfs-block", "https://docs.kernel.org/admin-guide/abi-stable.html")
VM_SYSCTL = Source("Linux, Documentation for /proc/sys/vm", "https://docs.kernel.org/admin-guide/sysctl/vm.html")
REQUEST_STACKING = Source(
    "Linux, block/blk-mq.c: blk_insert_cloned_request",
    "https://github.com/torvalds/linux/blob/master/block/blk-mq.c",
)
MPT3SAS = Source(
    "Linux, drivers/scsi/mpt3sas/mpt3sas_base.c: _base_allocate_memory_pools",
    "https://github.com/torvalds/linux/blob/master/drivers/scsi/mpt3sas/mpt3sas_base.c",
)
RHEL_SCHEDULERS = Source(
    "Red Hat Enterprise Linux 9: Setting the disk scheduler",
    "https://docs.redhat.com/en/documentation/red_hat_enterprise_linux/9/html/"
    "monitoring_and_managing_system_status_and_performance/"
    "setting-the-disk-scheduler_monitoring-and-managing-system-status-and-performance",
)
BEEGFS_STORAGE = Source(
    "BeeGFS documentation: Storage Node Tuning", "https://doc.beegfs.io/latest/advanced_topics/storage_tuning.html"
)
MULTIPATH_CONF = Source(
    "multipath-tools: multipath.conf(5)", "https://manpages.ubuntu.com/manpages/plucky/man5/multipath.conf.5.html"
)
SANTRICITY_CACHE = Source(
    "NetApp SANtricity, whose controllers the MD series has: Change cache settings for the storage array",
    "https://docs.netapp.com/us-en/e-series-santricity-118/sm-settings/change-cache-settings-for-storage-array.html",
)
LUSTRE_TUNING = Source(
    'Lustre Operations Manual: "Tuning a Lustre File System"', "https://doc.lustre.org/lustre_manual.xhtml#lustretuning"
)
LUSTRE_PARAMETERS = Source(
    'Lustre Operations Manual: "Lustre Parameters"', "https://doc.lustre.org/lustre_manual.xhtml#lustreproc"
)
LUSTRE_WIKI = Source("Lustre Wiki: Lustre Tuning", "https://wiki.lustre.org/Lustre_Tuning")
EXASCALER_CLIENT = Source(
    "NVIDIA GPUDirect Storage: Understanding EXAScaler File System Performance",
    "https://docs.nvidia.com/gpudirect-storage/troubleshooting-guide/understanding-exascaler-file-system-performance.html",
)


def lustre_source(path: str, what: str) -> Source:
    """A place in Lustre's own source, for limits and defaults that its manual does not give."""
    return Source(f"Lustre, {path}: {what}", f"https://github.com/lustre/lustre-release/blob/master/{path}")
