//! Network interfaces and InfiniBand adapters, the protocols above them, and the adapters' places in the machine.

use super::devices;
use crate::snapshot::collector::Collector;

const PATTERNS: &[&str] = &[
    "sys/class/net/*/{mtu,speed,operstate,tx_queue_len,duplex,type,gro_flush_timeout,napi_defer_hard_irqs}",
    "sys/class/net/*/device/numa_node",
    "sys/class/net/*/queues/*/{rps_cpus,rps_flow_cnt,xps_cpus,xps_rxqs}",
    "sys/class/net/*/bonding/{mode,slaves,xmit_hash_policy,lacp_rate,miimon}",
    "sys/class/infiniband/*/device/numa_node",
    "sys/class/infiniband/*/{board_id,fw_ver,hca_type,node_type}",
    "sys/class/infiniband/*/ports/*/{rate,state,link_layer,phys_state}",
    "proc/sys/net/core/{rmem_*,wmem_*,netdev_*,somaxconn,optmem_max,default_qdisc,busy_poll,busy_read,dev_weight,\
     rps_sock_flow_entries}",
    "proc/sys/net/ipv4/{tcp_rmem,tcp_wmem,tcp_mem,udp_mem,tcp_congestion_control,tcp_available_congestion_control,tcp_slow_*,\
     tcp_slot*,tcp_window_scaling,tcp_timestamps,tcp_sack,tcp_mtu_probing,tcp_no_metrics_save,tcp_moderate_rcvbuf,\
     tcp_adv_win_scale,tcp_limit_output_bytes,tcp_max_syn_backlog,tcp_notsent_lowat,tcp_low_latency}",
];

/// Collects them.
pub fn collect(collector: &mut Collector<'_>) {
    for pattern in PATTERNS {
        collector.matching(pattern);
    }
    for pattern in ["sys/class/net/*/device", "sys/class/net/*/master"] {
        collector.paths(pattern).iter().for_each(|link| collector.link(link));
    }
    for pattern in ["sys/class/net/*", "sys/class/infiniband/*"] {
        devices::above_all(collector, pattern);
    }
}
