//! Doubts about memory: what was read from it and not from the storage, or was written into it and may still be there.

use ioassay_host::caches;
use ioassay_protocol::doubt::{Doubt, Reason};
use ioassay_protocol::environment::{DataCache, Environment};
use ioassay_protocol::events::RankRecord;
use ioassay_protocol::plan::data::{DataWork, Order, Transfer};
use ioassay_protocol::plan::metadata::MetadataOperation;
use ioassay_protocol::plan::storage::Target;
use ioassay_protocol::plan::{CacheMethod, Job, Operation};
use ioassay_units::{Bytes, count};

use super::facts::{Facts, doubt};
use super::payload::unwritten;
use crate::plan::Sizes;
use crate::work::{WorkKind, kind_of};
use crate::workload::dataset::Samples;
use crate::workload::layout::Geometry;

/// File systems that keep their data in memory.
const MEMORY_FILE_SYSTEMS: [&str; 3] = ["tmpfs", "ramfs", "devtmpfs"];

/// Caches with at most this share of the file set are cold: above it a read figure is partly memory's.
pub const COLD_SHARE: f64 = 0.01;

/// A doubt names at most so many nodes; its evidence has all of them.
const HOSTS_NAMED: usize = 4;

/// Below this share of the bytes on the device, the rest was moved in memory.
const ON_DEVICE: f64 = 0.8;

pub(super) fn cache_resident(facts: Facts<'_>) -> Option<Doubt> {
    let (planned_bytes, name) = match (facts.dataset(), facts.checkpoint()) {
        (Some(dataset), _) => (Samples::of(facts.plan.datasets.get(dataset)?).all_bytes(), "the dataset"),
        (_, Some(_)) => (facts.plan.moved_bytes(facts.job), "the checkpoint"),
        _ => (planned_bytes(facts)?, "the file set"),
    };
    // What another job left in memory, one that goes past it does not read.
    let resident_bytes = facts.record.resident_bytes_before.filter(|_| !facts.direct())?;
    // Several nodes may each hold what they all read.
    let file_set_bytes = planned_bytes.min(facts.record.bytes).max(resident_bytes).max(1);
    let share = resident_bytes as f64 / file_set_bytes as f64;
    if share <= COLD_SHARE {
        return None;
    }
    let hosts = warm_hosts(facts);
    let whole = if file_set_bytes < planned_bytes { "what was read" } else { name };
    let message = format!(
        "{:.0} % of {whole} ({} of {}) was in {} before the read",
        share * 100.0,
        Bytes(resident_bytes).about(),
        Bytes(file_set_bytes).about(),
        whose_memory(facts.nodes.len(), &hosts),
    );
    let remedy = "drop the caches before the read (a cold-cache step does, as root), remount in that step, or use a \
                  file set twice the size of memory";
    doubt(Reason::CacheResident { resident_bytes, file_set_bytes, hosts }, message, remedy)
}

/// What the files hold that a job on a file set reads. A stonewall may have let far less be written than was planned; then all
/// that is there was read.
fn planned_bytes(facts: Facts<'_>) -> Option<u64> {
    let work = facts.data()?;
    let set = facts.plan.files.get(&work.files)?;
    let geometry = Geometry::of(set, facts.plan.rank_count());
    Some(match work.order {
        // What is drawn with repetition from the files may be far more than they hold.
        Order::IorDrawn(blocks) => geometry.bytes().min(blocks * set.block_bytes * geometry.files()),
        _ => geometry.bytes(),
    })
}

/// The nodes that held something of what they were to read, the one with most first.
fn warm_hosts(facts: Facts<'_>) -> Vec<String> {
    let held = &facts.record.resident_bytes_before_per_node;
    let mut warm: Vec<(u64, &str)> =
        held.iter().zip(facts.nodes).map(|(&bytes, node)| (bytes, node.host.as_str())).collect();
    warm.retain(|&(bytes, _)| bytes > 0);
    warm.sort_by_key(|&(bytes, _)| std::cmp::Reverse(bytes));
    warm.into_iter().map(|(_, host)| host.to_owned()).collect()
}

fn whose_memory(nodes: usize, hosts: &[String]) -> String {
    let (named, more) = hosts.split_at(hosts.len().min(HOSTS_NAMED));
    match more.len() {
        _ if nodes == 1 => "this node's page cache".to_owned(),
        0 => format!("the page cache of {}", named.join(", ")),
        more => format!("the page cache of {} and {}", named.join(", "), count(more as u64, "other node")),
    }
}

pub(super) fn cache_unknown(facts: Facts<'_>) -> Option<Doubt> {
    let kind = kind_of(&facts.job.work);
    let files = set_of(kind).filter(|_| facts.capabilities.files && facts.record.operation == Operation::Read)?;
    let measured = facts.record.resident_bytes_before.is_some();
    let (unseen, remedy) = match fuse_of(facts.nodes) {
        _ if measured => (
            None,
            "empty each with a hook in the cold-cache step (docs/guides/cold-caches.md says how), or use a file set twice \
             as large as they are",
        ),
        Some(file_system) => (
            Some(format!(
                "on {file_system} opening a file drops its cached pages, so measuring residency would empty the cache"
            )),
            "clear the caches of its process with a hook in the cold-cache step, or use a file set twice their size",
        ),
        None => (
            Some("neither cachestat nor mincore works on these files".to_owned()),
            "use Linux 6.5 or newer, or a file set twice the size of memory",
        ),
    };
    let because: Vec<String> = unseen.into_iter().chain(caches_of(facts, files)).collect();
    if because.is_empty() {
        return None;
    }
    let because = because.join("; ");
    let whose = if measured { "what other caches than the page cache held" } else { "page-cache residency" };
    let message = format!("{whose} before the read is unknown: {because}");
    doubt(Reason::CacheUnknown { because }, message, remedy)
}

/// The file set or checkpoint that a job works on, or the dataset that it reads.
fn set_of(kind: &dyn WorkKind) -> Option<&str> {
    let checkpoint = || kind.checkpoint().map(|work| work.checkpoint.as_str());
    kind.data().map(|work| work.files.as_str()).or_else(|| kind.reads_dataset()).or_else(checkpoint)
}

/// What may hold `files` although the page cache does not, unless something has emptied it since they were written.
fn caches_of(facts: Facts<'_>, files: &str) -> Option<String> {
    let uses = |job: &Job| set_of(kind_of(&job.work)) == Some(files);
    if facts.is_later(facts.emptied.by_hooks, uses) {
        return None;
    }
    let remounted = facts.is_later(facts.emptied.by_remount, uses);
    let is_emptied = |cache: &&DataCache| {
        let ways = caches::by_name(&cache.name).map(|entry| entry.emptied_by).unwrap_or_default();
        remounted && ways.contains(&CacheMethod::Remount)
    };
    let every = facts.nodes.iter().flat_map(|node| &node.caches).filter(|cache| !is_emptied(cache));
    let mut may: Vec<&str> = every.map(|cache| cache.because.as_str()).collect();
    may.sort_unstable();
    may.dedup();
    (!may.is_empty()).then(|| may.join("; "))
}

/// True if the target's data lies on other machines.
pub(super) fn on_network(nodes: &[Environment]) -> bool {
    nodes.iter().filter_map(|node| node.mount.as_ref()).any(|mount| caches::is_network(&mount.file_system))
}

/// The type of a file system that is a process of a user.
fn fuse_of(nodes: &[Environment]) -> Option<&str> {
    let mut types = nodes.iter().filter_map(|node| Some(node.mount.as_ref()?.file_system.as_str()));
    types.find(|file_system| caches::is_fuse(file_system))
}

/// What was in memory before is another doubt; here it comes into memory, or stays there, while the phase lasts.
pub(super) fn device_moved_less(facts: Facts<'_>) -> Option<Doubt> {
    let saves = facts.checkpoint().is_some() && facts.record.operation == Operation::Write;
    let writes = saves || facts.data().is_some_and(|work| work.transfer.writes());
    let (device, device_bytes) = on_device(facts)?;
    let forced = !writes || facts.synced || facts.direct();
    if !forced || !facts.capabilities.files || facts.failure.is_some() {
        return None;
    }
    // Then it is known why.
    if cache_resident(facts).is_some() || unwritten(facts).is_some() {
        return None;
    }
    let bytes = facts.record.bytes;
    if device_bytes as f64 >= ON_DEVICE * bytes as f64 {
        return None;
    }
    let [moved, of_device] = [bytes, device_bytes].map(|bytes| Bytes(bytes).about());
    let message = match facts.record.operation {
        Operation::Read => format!(
            "{moved} were read, but only {of_device} came from device {device}: the rest was already cached by this \
             phase, or was never written"
        ),
        _ => format!(
            "{moved} were written, but only {of_device} went to device {device}: the rest was overwritten in memory \
             first"
        ),
    };
    let remedy = "use a file set large enough that nothing is moved twice, or direct I/O";
    doubt(Reason::DeviceMovedLess { bytes, device_bytes, device }, message, remedy)
}

/// The device under the target, and how many bytes went to or came from it for the ranks. `None` where it is not on this
/// node, and of mixes, whose reads and writes cannot be distinguished there.
fn on_device(facts: Facts<'_>) -> Option<(String, u64)> {
    let is_mix = |work: &DataWork| matches!(work.transfer, Transfer::Mixed(_));
    let reads = facts.dataset().is_some() || kind_of(&facts.job.work).reads_back();
    let only_reads = reads && facts.record.operation == Operation::Read;
    let moves_checkpoint = facts.checkpoint().is_some() && facts.record.operation != Operation::Checkpoint;
    if !only_reads && !moves_checkpoint && facts.data().is_none_or(is_mix) {
        return None;
    }
    let devices = facts.nodes.iter().map(|node| node.block_device.as_ref()).collect::<Option<Vec<_>>>()?;
    let bytes = |rank: &RankRecord| match facts.record.operation {
        Operation::Read => rank.usage.device_read_bytes,
        _ => rank.usage.device_write_bytes,
    };
    Some((devices.first()?.name.clone(), facts.record.ranks.iter().map(bytes).sum::<Option<u64>>()?))
}

/// What goes round again finds in memory what it has moved before. Where the device's own count is known, that tells.
pub(super) fn repeated_passes(facts: Facts<'_>) -> Option<Doubt> {
    let work = facts.data()?;
    let set = facts.plan.files.get(&work.files)?;
    // Of writes that nothing forced to storage it is known that they may still be in memory.
    let forced = facts.record.operation == Operation::Read || facts.synced;
    if !forced || facts.direct() || !facts.capabilities.files || facts.failure.is_some() {
        return None;
    }
    // Then it is known why, or how much.
    if on_device(facts).is_some() || cache_resident(facts).is_some() || memory_backed(facts).is_some() {
        return None;
    }
    let geometry = Geometry::of(set, facts.plan.rank_count());
    let workers = u64::from(facts.plan.workers(facts.job).count);
    let (bytes, pass_bytes) = (facts.record.bytes, geometry.bytes().max(geometry.part_bytes() * workers));
    let memory_bytes = facts.nodes.iter().map(|node| node.memory_bytes).sum();
    if bytes <= pass_bytes || pass_bytes > memory_bytes {
        return None;
    }
    let [moved, once] = [bytes, pass_bytes].map(|bytes| Bytes(bytes).about());
    let message = format!(
        "the phase moved {moved}, and its files have {once} in all: passes after the first may have been served by the \
         page cache"
    );
    let remedy = "use a file set twice the size of memory, or direct I/O";
    doubt(Reason::RepeatedPasses { bytes, pass_bytes, memory_bytes }, message, remedy)
}

/// Stat and small reads are answered from the node's own memory unless something emptied it since the items were
/// created there.
pub(super) fn attributes_cached(facts: Facts<'_>) -> Option<Doubt> {
    let work = facts.metadata()?;
    let looks = matches!(facts.record.operation, Operation::Stat | Operation::Read);
    // Of what lies behind a URL the node remembers nothing.
    if !looks || !facts.capabilities.files || matches!(facts.plan.target, Target::Url(_)) {
        return None;
    }
    let emptied = facts.is_later(facts.emptied.attributes, |job| uses_tree(job, &work.tree));
    // Ranks follow each other client by client, so a shift by all of a client's ranks leads to another one.
    let other_node = facts.machines() > 1 && work.shift >= facts.plan.ranks.per_client;
    if emptied || other_node {
        return None;
    }
    let (items, shift) = (facts.record.operations, work.shift);
    let message = format!(
        "the node itself had created the items that it accessed ({}) and may have cached them",
        count(items, "item")
    );
    let remedy =
        "run on several nodes and shift the job by the ranks of a client, or drop the caches or remount before it";
    doubt(Reason::AttributesCached { items, shift }, message, remedy)
}

fn uses_tree(job: &Job, tree: &str) -> bool {
    kind_of(&job.work).metadata().is_some_and(|work| work.tree == tree)
}

pub(super) fn memory_backed(facts: Facts<'_>) -> Option<Doubt> {
    let mount = facts.nodes.first()?.mount.as_ref()?;
    let file_system = mount.file_system.clone();
    if !facts.capabilities.files || !MEMORY_FILE_SYSTEMS.contains(&file_system.as_str()) {
        return None;
    }
    let message = format!("the target is {file_system}, so this measures memory, not storage");
    doubt(Reason::MemoryBacked { file_system }, message, "choose a target on the storage to be measured")
}

pub(super) fn unsynced_write(facts: Facts<'_>) -> Option<Doubt> {
    let written_bytes = facts.record.bytes;
    let remedy = if facts.data().is_some() && facts.record.operation == Operation::Write {
        "fsync at the end of the phase, within the measured time"
    } else if facts.checkpoint().is_some() && facts.record.operation == Operation::Write {
        "fsync each file (fsync: true), within the measured time"
    } else {
        // What an application did not force to storage, its replay does not either.
        match facts.metadata()?.operation {
            MetadataOperation::Create { write_bytes: 1.., .. } | MetadataOperation::Write { .. } => {
                "fsync each file, or sync at the end, within the measured time"
            }
            MetadataOperation::Replace { bytes: 1.. } if facts.record.operation == Operation::Create => {
                "sync at the end, within the measured time"
            }
            _ => return None,
        }
    };
    let kept = facts.synced || facts.capabilities.synced_by_close;
    if kept || facts.direct() || !facts.capabilities.files {
        return None;
    }
    let message = format!("{} were written without fsync and may still be in memory", Bytes(written_bytes).about());
    doubt(Reason::UnsyncedWrite { written_bytes }, message, remedy)
}

/// A local file system has created an entry when it is in its journal in memory, which is written seconds later. What lies
/// on other machines is as durable there as they promise.
pub(super) fn unsynced_create(facts: Facts<'_>) -> Option<Doubt> {
    let work = facts.metadata()?;
    let empty = matches!(
        work.operation,
        MetadataOperation::Create { write_bytes: 0, .. } | MetadataOperation::Replace { bytes: 0 }
    );
    let local = |file_system: &str| {
        let elsewhere = caches::is_network(file_system) || caches::is_fuse(file_system);
        !elsewhere && !MEMORY_FILE_SYSTEMS.contains(&file_system)
    };
    let in_memory = facts.nodes.iter().filter_map(|node| node.mount.as_ref()).any(|mount| local(&mount.file_system));
    let kept = facts.synced || facts.capabilities.synced_by_close || !facts.capabilities.files;
    if facts.record.operation != Operation::Create || !empty || !in_memory || kept {
        return None;
    }
    let items = facts.record.operations;
    let message = format!("{} were created without a sync and may still be in memory", count(items, "item"));
    doubt(Reason::UnsyncedCreate { items }, message, "sync at the end, within the measured time (mdtest: -Y)")
}

#[cfg(test)]
mod tests {
    use ioassay_protocol::environment::{Environment, Mount};
    use ioassay_protocol::events::PhaseRecord;
    use serde_json::json;

    use super::super::{Emptied, given};
    use super::*;
    use crate::measure::records;
    use crate::storage::Capabilities;

    const M: u64 = 1 << 20;

    /// The bytes of a pass in the doubt about two ranks with files of 500 MiB that have written so much on a node with so
    /// much memory and no device of its own.
    fn passes(written_bytes: u64, memory_bytes: u64, synced: bool) -> Option<u64> {
        let plan = given::plan(2, json!("at-end"), json!({}));
        let nodes = [Environment { memory_bytes, ..Environment::default() }];
        let ranks = (0..2).map(|rank| RankRecord { bytes: written_bytes / 2, ..records::rank(rank) }).collect();
        let record: PhaseRecord = records::phase("write", Operation::Write, ranks);
        let capabilities = Capabilities { files: true, ..Capabilities::NONE };
        let facts = Facts { capabilities, synced, ..given::facts(&plan, &nodes, &record) };
        match repeated_passes(facts)?.reason {
            Reason::RepeatedPasses { pass_bytes, .. } => Some(pass_bytes),
            other => unreachable!("{other:?}"),
        }
    }

    #[test]
    fn what_goes_round_again_in_files_that_memory_holds_is_doubted() {
        assert_eq!(passes(1001 * M, 2000 * M, true), Some(1000 * M));
        assert_eq!(passes(1000 * M, 2000 * M, true), None, "one pass");
        assert_eq!(passes(1001 * M, 999 * M, true), None, "memory does not hold it");
        assert_eq!(passes(1001 * M, 2000 * M, false), None, "that it may be in memory is another doubt");
    }

    /// What the doubt about a read says that follows a write on a node with this file system, cold by `resident_bytes`, after
    /// a step has `emptied` something.
    fn unknown(file_system: &str, resident_bytes: Option<u64>, emptied: Emptied) -> Option<String> {
        let plan = given::plan(1, json!("at-end"), json!({}));
        let mount = Mount { file_system: file_system.to_owned(), ..Mount::default() };
        let caches = caches::caches(std::path::Path::new("/"), Some(&mount), (0, 0));
        let nodes = [Environment { mount: Some(mount), caches, ..Environment::default() }];
        let mut record = records::phase("read", Operation::Read, vec![records::rank(0)]);
        (record.step, record.resident_bytes_before) = (2, resident_bytes);
        let capabilities = Capabilities { files: true, ..Capabilities::NONE };
        let facts = Facts { capabilities, emptied, ..given::facts(&plan, &nodes, &record) };
        match cache_unknown(facts)?.reason {
            Reason::CacheUnknown { because } => Some(because),
            other => unreachable!("{other:?}"),
        }
    }

    #[test]
    fn a_read_that_a_cache_beside_the_page_cache_may_have_answered_is_doubted_until_it_was_emptied() {
        let nothing = Emptied::default();
        let hooks = Emptied { by_hooks: Some(1), ..nothing };
        let remount = Emptied { by_remount: Some(1), ..nothing };
        assert_eq!(unknown("ext4", Some(0), nothing), None);
        let arc = "ZFS may have cached the files in its ARC or L2ARC";
        assert_eq!(unknown("zfs", Some(0), nothing).as_deref(), Some(arc));
        assert_eq!(unknown("zfs", Some(0), remount).as_deref(), Some(arc));
        assert_eq!(unknown("zfs", Some(0), hooks), None);
        assert!(unknown("fuse.sshfs", Some(0), nothing).is_some());
        assert_eq!(unknown("fuse.sshfs", Some(0), remount), None);
        let rclone = unknown("fuse.rclone", None, nothing).unwrap();
        assert!(rclone.starts_with("on fuse.rclone opening a file drops its cached pages"), "{rclone}");
        assert!(rclone.ends_with("; rclone may have kept the files in its cache directory"), "{rclone}");
        assert!(unknown("fuse.rclone", None, hooks).unwrap().ends_with("measuring residency would empty the cache"));
    }
}
