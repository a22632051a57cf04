//! Block devices, their queues and partitions, what lies above and below them, and the adapters that they are connected to.

use super::devices;
use crate::snapshot::collector::Collector;

/// Of every block device.
const DEVICE: &[&str] = &[
    "{size,dev,diskseq,ro,removable,hidden,alignment_offset,stat,inflight,cache_type}",
    "queue/*",
    "queue/iosched/*",
    "bdi/{read_ahead_kb,max_ratio,max_ratio_fine,max_bytes,min_ratio,min_ratio_fine,min_bytes,strict_limit,stable_pages_required}",
    "dm/{name,uuid,suspended,rq_based_seq_io_merge_deadline,use_blk_mq}",
    "md/*",
    "md/dev-*/{state,slot,offset,size,errors,bitmap_offset}",
    "loop/*",
    "{comp_algorithm,disksize,max_comp_streams,mem_limit}",
    "device/{model,vendor,rev,type,scsi_level,state,timeout,eh_timeout,queue_depth,queue_type,queue_ramp_up_period,\
     numa_node,cache_type,iocounterbits,ioerr_cnt,iorequest_cnt,iodone_cnt,iotmo_cnt}",
    "device/scsi_disk/*/{cache_type,provisioning_mode,thin_provisioning,protection_type,protection_mode,FUA,\
     manage_start_stop,max_write_same_blocks,max_medium_access_timeouts,max_retries,zeroing_mode,zoned_cap}",
];

/// Of every partition.
const PARTITION: &str = "{partition,start,size,alignment_offset,dev,ro,stat,inflight}";

/// Of adapters, NVMe controllers and the modules of the device mapper.
const ADAPTERS: &[&str] = &[
    "sys/class/scsi_host/*/{proc_name,sg_tablesize,sg_prot_tablesize,can_queue,cmd_per_lun,nr_hw_queues,host_busy,use_blk_mq,\
     model_name,fw_version,version_fw,board_name,fwrev,state,active_mode,supported_mode,unchecked_isa_dma}",
    "sys/class/nvme/*/{model,firmware_rev,numa_node,transport,queue_count,sqsize,cntlid,cntrltype,state,kato,\
     reconnect_delay,ctrl_loss_tmo,fast_io_fail_tmo}",
    "sys/class/nvme-subsystem/*/{model,firmware_rev,iopolicy,subsystype}",
    "sys/class/bdi/*/{read_ahead_kb,max_ratio,min_ratio,strict_limit}",
];

/// Collects them.
pub fn collect(collector: &mut Collector<'_>) {
    for name in collector.names("sys/block") {
        if !is_ram_disk(&name) {
            device(collector, &format!("sys/block/{name}"));
        }
    }
    for link in collector.paths("sys/class/block/*") {
        if !is_ram_disk(link.rsplit('/').next().unwrap_or_default()) {
            collector.link(&link);
        }
    }
    for pattern in ADAPTERS {
        collector.matching(pattern);
    }
    for link in collector.paths("sys/class/nvme-subsystem/*/nvme*") {
        collector.link(&link);
    }
    for adapter in ["sys/class/scsi_host/*", "sys/class/nvme/*"] {
        devices::above_all(collector, adapter);
    }
}

fn device(collector: &mut Collector<'_>, path: &str) {
    collector.link(path);
    for pattern in DEVICE {
        collector.matching(&format!("{path}/{pattern}"));
    }
    for pattern in ["device", "bdi", "md/rd*", "slaves/*", "holders/*"] {
        for link in collector.paths(&format!("{path}/{pattern}")) {
            collector.link(&link);
        }
    }
    for name in collector.names(path) {
        let partition = format!("{path}/{name}");
        let below = collector.real(path).map(|real| format!("{real}/{name}")).unwrap_or_default();
        if !collector.is_link(&below) && collector.exists(&format!("{partition}/partition")) {
            collector.matching(&format!("{partition}/{PARTITION}"));
            for link in collector.paths(&format!("{partition}/holders/*")) {
                collector.link(&link);
            }
        }
    }
    devices::above(collector, path);
}

/// `ram0`, of which kernels have sixteen that nobody uses.
fn is_ram_disk(name: &str) -> bool {
    name.strip_prefix("ram").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}
