//! Lustre: parameters and statistics of clients and servers that tuning goes by, from where the kernel module keeps them.

use crate::client::{LUSTRE_PARAMETERS, LUSTRE_PLACES};
use crate::snapshot::collector::Collector;
use crate::snapshot::pattern;

/// Files besides the parameters that a run records, of clients and servers alike.
const WANTED: &str = "{version,jobid_var,jobid_name,checksums,checksum_type,checksum_pages,cur_dirty_bytes,\
                      cur_grant_bytes,grant*,tot_granted,tot_dirty,tot_pending,rpc_stats,import,brw_stats,brw_size,\
                      max_rpcs_in_flight,max_mod_rpcs_in_flight,max_dirty_mb,max_pages_per_rpc,short_io_bytes,max_read_ahead_*,\
                      read_ahead_*,max_cached_mb,statahead_*,xattr_cache,fast_read,hybrid_io*,parallel_dio,unstable_stats,\
                      read_cache_enable,writethrough_cache_enable,readcache_max_filesize,readcache_max_io_mb,\
                      writethrough_max_io_mb,nonrotational,sync_journal,sync_on_lock_cancel,max_dirty,precreate_batch,\
                      threads_min,threads_max,threads_started,nrs_policies,nrs_tbf_rule,nrs_*,lru_size,lru_max_age,\
                      lock_count,stripecount,stripesize,stripeoffset,stripetype,qos_*,timeouts,num_exports,recovery_status,\
                      fstype,mntdev,lfsck_speed_limit}";

/// Of LNet, below each of these.
const LNET_PLACES: [&str; 2] = ["sys/kernel/debug/lnet", "proc/sys/lnet"];
const LNET: &str = "{nis,peers,stats,buffers,routers,routes,console_ratelimit}";

/// Directories with one entry for each client, lock or target, or with links to what is collected elsewhere.
const SKIPPED: [&str; 5] = ["exports", "gss", "job_stats", "target_obds", "nodemap"];

/// How deep the tree is: `ldlm/services/ldlm_canceld`.
const DEPTH: u32 = 4;

/// Collects them.
pub fn collect(collector: &mut Collector<'_>) {
    for place in LUSTRE_PLACES {
        directory(collector, place, DEPTH);
    }
    for place in LNET_PLACES {
        collector.matching(&format!("{place}/{LNET}"));
    }
}

fn directory(collector: &mut Collector<'_>, path: &str, depth: u32) {
    for name in collector.names(path) {
        let inner = format!("{path}/{name}");
        if collector.is_link(&inner) || SKIPPED.contains(&name.as_str()) {
            continue;
        }
        if !collector.is_directory(&inner) {
            if is_wanted(&name) {
                collector.file(&inner);
            }
        } else if depth > 1 {
            directory(collector, &inner, depth - 1);
        }
    }
}

fn is_wanted(name: &str) -> bool {
    pattern::matches(WANTED, name) || LUSTRE_PARAMETERS.iter().any(|(_, parameters)| parameters.contains(&name))
}
