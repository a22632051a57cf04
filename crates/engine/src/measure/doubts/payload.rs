//! Doubts about the data: what the storage could make less of, and what making or comparing it took.

use ioassay_protocol::doubt::{Doubt, Reason};
use ioassay_protocol::environment::Mount;
use ioassay_protocol::events::RankRecord;
use ioassay_protocol::plan::Job;
use ioassay_protocol::plan::data::{DataWork, Payload};
use ioassay_units::{Bytes, Nanoseconds};

use super::facts::{Facts, Unwritten, doubt};
use crate::work::kind_of;

/// Above this share of a rank's time in making bytes, its rate is partly that of the processor.
const FILL_SHARE: f64 = 0.05;

/// Above this share of bytes without data, a read figure is partly that of zeros which no storage delivered.
const UNWRITTEN_SHARE: f64 = 0.01;

pub(super) fn unwritten(facts: Facts<'_>) -> Option<Doubt> {
    let Unwritten { unwritten_bytes, bytes } = facts.unwritten;
    let share = unwritten_bytes as f64 / bytes.max(1) as f64;
    if share < UNWRITTEN_SHARE {
        return None;
    }
    let message = format!(
        "{:.0} % of what was read ({} of {}) was never written: the file system returns zeros for it without reading",
        share * 100.0,
        Bytes(unwritten_bytes).about(),
        Bytes(bytes).about(),
    );
    let remedy = "write the files in full before they are read; truncate and fallocate write no data";
    doubt(Reason::Unwritten { unwritten_bytes, bytes }, message, remedy)
}

pub(super) fn reducible_payload(facts: Facts<'_>) -> Option<Doubt> {
    let work = facts.data().filter(|_| facts.capabilities.files)?;
    if holds_unknown_data(facts, work) {
        let message = "the case did not write the files, so their content is unknown: storage that compresses or \
                       deduplicates may have moved less than counted";
        let reason = Reason::ReduciblePayload { content: "unknown".to_owned() };
        return doubt(reason, message.to_owned(), "write the files in the same case, or verify what is read");
    }
    let reducible = match facts.plan.files.get(&work.files)?.payload {
        Payload::Zero {} => "zeros",
        // IOR's incompressible packets too repeat one word (hpc/ior 4.1, generate_memory_pattern).
        Payload::IorTimestamp { .. } | Payload::IorOffset { .. } | Payload::IorIncompressible { .. } => {
            "a repeating pattern"
        }
        Payload::Reducible { zero_percent, duplicate_percent } => {
            return compressed_payload(facts, zero_percent, duplicate_percent);
        }
        _ => return None,
    };
    let message = format!("the data is {reducible}: storage that compresses or deduplicates moves less than counted");
    doubt(
        Reason::ReduciblePayload { content: reducible.to_owned() },
        message,
        "use the payload unique (IOR: -l random)",
    )
}

/// True if a job reads files that no job of the plan writes, and does not compare them with their planned content.
fn holds_unknown_data(facts: Facts<'_>, work: &DataWork) -> bool {
    let writes = |job: &Job| kind_of(&job.work).writes_files(&work.files).is_some();
    work.verify.is_none() && !facts.plan.jobs().any(writes)
}

/// The shares were chosen on purpose, so they are doubted only where the node itself is known to compress.
fn compressed_payload(facts: Facts<'_>, zero_percent: u8, duplicate_percent: u8) -> Option<Doubt> {
    if (zero_percent, duplicate_percent) == (0, 0) {
        return None;
    }
    let file_system = facts.nodes.iter().find_map(|node| compresses(node.mount.as_ref()?))?;
    let content = format!("{zero_percent} % zeros and {duplicate_percent} % duplicate blocks");
    let message =
        format!("the data has {content}, and the target's {file_system} compresses it: less was moved than counted");
    let remedy = "use the payload unique, mount without compression, or read the rate as valid for such data only";
    doubt(Reason::ReduciblePayload { content }, message, remedy)
}

/// The file system's name, if it compresses what is written. ZFS does by default, and its mount options do not show it.
fn compresses(mount: &Mount) -> Option<&str> {
    let compressing = |option: &String| {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        key.contains("compress") && !key.starts_with("no") && !matches!(value, "no" | "none" | "off")
    };
    let compresses = match mount.file_system.as_str() {
        "btrfs" | "bcachefs" | "f2fs" => mount.options.iter().any(compressing),
        other => other == "zfs",
    };
    compresses.then_some(&mount.file_system)
}

/// Latencies do not count the time in which bytes are made, but the rate does, since it is over the phase.
pub(super) fn payload_bound(facts: Facts<'_>) -> Option<Doubt> {
    let share = |rank: &RankRecord| rank.fill_ns as f64 / (rank.end_ns - rank.start_ns).max(1) as f64;
    let most = facts.record.ranks.iter().max_by(|first, other| share(first).total_cmp(&share(other)))?;
    if share(most) <= FILL_SHARE {
        return None;
    }
    let (rank, fill_ns, worked_ns) = (most.rank, most.fill_ns, most.end_ns - most.start_ns);
    let message = format!(
        "rank {rank} spent {:.0} % of its time ({} of {}) generating data: the rate is partly the processor's",
        share(most) * 100.0,
        Nanoseconds(fill_ns).about(),
        Nanoseconds(worked_ns).about(),
    );
    let file_set = facts.data().map(|work| &work.files);
    let verifies = |job: &Job| {
        kind_of(&job.work).data().is_some_and(|work| work.verify.is_some() && Some(&work.files) == file_set)
    };
    let remedy = if facts.checkpoint().is_some() {
        "use fewer ranks for each processor, and restore without verification"
    } else if facts.plan.jobs().any(verifies) {
        "keep more transfers in flight, or measure the write without verification and with the payload repeated, which is \
         generated once"
    } else {
        "use the payload repeated, which is generated once, or keep more transfers in flight"
    };
    doubt(Reason::PayloadBound { rank, fill_ns, worked_ns }, message, remedy)
}

/// The payload of what a job compares, and what of it is moved at once; nothing where it compares nothing.
fn compared(facts: Facts<'_>) -> Option<(Option<Payload>, &'static str)> {
    let data = facts.data().filter(|work| work.verify.is_some());
    let items = || facts.metadata().filter(|work| work.verify);
    let of_data = data.map(|work| (Some(facts.plan.files[&work.files].payload), "transfer"));
    of_data.or_else(|| items().map(|work| (facts.plan.trees[&work.tree].payload, "file")))
}

/// Of a payload that is the same in every transfer or file of a rank.
pub(super) fn positions_unverified(facts: Facts<'_>) -> Option<Doubt> {
    let (payload, each) = compared(facts)?;
    if !matches!(payload, Some(Payload::IorTimestamp { .. })) {
        return None;
    }
    let message = format!(
        "each {each} of a rank holds the same bytes (the packet type timestamp), so one in the place of another passes the \
         verification"
    );
    let remedy = "write and verify what differs by position: the payload unique, or the packet type offset";
    doubt(Reason::PositionsUnverified, message, remedy)
}

pub(super) fn verified(facts: Facts<'_>) -> Option<Doubt> {
    compared(facts)?;
    let message = "every byte was compared with what was written, within the measured time".to_owned();
    doubt(Reason::VerificationTimed, message, "measure without verification, and verify in a separate phase")
}
