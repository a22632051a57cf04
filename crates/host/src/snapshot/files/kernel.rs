//! Processors, memory, interrupts, modules, mounts, and the kernel's settings for file systems and NFS.

use crate::snapshot::collector::Collector;

/// Modules of storage and networks, whose parameters are collected.
const MODULES: &str = "{nvme,nvme_core,nvme_tcp,nvme_rdma,nvme_fabrics,scsi_mod,sd_mod,mpt2sas,mpt3sas,megaraid_sas,smartpqi,hpsa,\
                       aacraid,qla2xxx,lpfc,virtio_blk,virtio_scsi,dm_mod,dm_multipath,md_mod,raid456,raid1,raid10,nfs,nfsv4,nfsd,\
                       nfs_layout*,lockd,sunrpc,rpcrdma,fuse,xfs,ext4,lnet,ko2iblnd,ksocklnd,ost,osc,osp,llite,lov,lmv,mdc,ptlrpc,\
                       obdclass,mgc,mdt,mdd,ofd,osd_ldiskfs,osd_zfs,zfs,spl,mlx5_core,mlx4_core,ib_core,ib_ipoib,libcfs}";

const PATTERNS: &[&str] = &[
    // Processors.
    "sys/devices/system/cpu/{online,possible,present,isolated,nohz_full}",
    "sys/devices/system/cpu/cpuidle/{current_driver,current_governor,current_governor_ro}",
    "sys/devices/system/cpu/smt/{active,control}",
    "sys/devices/system/cpu/intel_pstate/{status,no_turbo}",
    "sys/devices/system/cpu/cpufreq/boost",
    "sys/devices/system/cpu/cpu*/cpufreq/{scaling_governor,scaling_driver,scaling_available_governors,scaling_min_freq,scaling_max_freq,\
     cpuinfo_max_freq,energy_performance_preference}",
    // Memory.
    "sys/devices/system/node/node*/{cpulist,distance,meminfo}",
    "sys/kernel/mm/transparent_hugepage/{enabled,defrag,shmem_enabled,hpage_pmd_size}",
    "sys/kernel/mm/transparent_hugepage/hugepages-*/{enabled,shmem_enabled}",
    "sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
    "proc/{meminfo,swaps}",
    "proc/sys/kernel/{numa_balancing,io_uring_disabled}",
    // Interrupts.
    "proc/interrupts",
    "proc/irq/default_smp_affinity",
    "proc/irq/*/{smp_affinity_list,effective_affinity_list,node}",
    // The kernel, and what is mounted.
    "proc/{version,cmdline,loadavg,modules,mounts,diskstats,mdstat}",
    "proc/self/{mountinfo,mountstats}",
    "proc/sys/fs/{aio-max-nr,aio-nr,file-max,file-nr,nr_open}",
    "proc/sys/fs/nfs/*",
    "proc/sys/dev/raid/{speed_limit_min,speed_limit_max}",
    // NFS.
    "proc/sys/sunrpc/*",
    "proc/fs/nfsd/{threads,pool_threads,pool_mode,pool_stats,max_block_size,max_connections,versions,nfsv4leasetime,\
     nfsv4gracetime}",
    "proc/fs/nfsfs/{servers,volumes}",
    "sys/kernel/sunrpc/xprt-switches/*/xprt_switch_info",
    "proc/net/rpc/{nfs,nfsd}",
];

/// Settings of memory that are no settings: reading one makes the kernel count.
const VM_ACTIONS: [&str; 3] = ["compact_memory", "drop_caches", "stat_refresh"];

/// Collects them.
pub fn collect(collector: &mut Collector<'_>) {
    for pattern in PATTERNS {
        collector.matching(pattern);
    }
    for name in collector.names("proc/sys/vm").iter().filter(|name| !VM_ACTIONS.contains(&name.as_str())) {
        collector.file(&format!("proc/sys/vm/{name}"));
    }
    collector.matching(&format!("sys/module/{MODULES}/parameters/*"));
    collector.matching(&format!("sys/module/{MODULES}/version"));
}
