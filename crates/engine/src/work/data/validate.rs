//! File sets, and the jobs that move their bytes.

use std::collections::BTreeMap;

use ioassay_protocol::plan::data::{
    Advice, DataWork, FileSet, Fsync, Layout, Order, Payload, SizeAtOpen, Source, Transfer, Verify,
};
use ioassay_protocol::plan::storage::Target;
use ioassay_protocol::plan::{Job, Plan};

use ioassay_units::Bytes;

use super::collective;
use crate::refusal::Refusal;
use crate::storage::Capabilities;
use crate::work::checks::{positive, range};
use crate::work::kind_of;
use crate::work::storage::JobStorage;
use crate::workload::layout::{Geometry, geometries};

/// The most that a case may hold, and write: offsets of files and tables of results are integers of 64 bits with a sign.
pub const LARGEST_CASE_BYTES: u64 = i64::MAX as u64;

/// Linux moves at most 2 GiB - 4 KiB per call; beyond 1 GiB the buffers are what is measured.
pub const LARGEST_TRANSFER_BYTES: u64 = 1 << 30;

/// Which parts of a file set are written in full, so that they can be read.
pub(crate) type Filled = Vec<bool>;

/// Refuses a file set that no file can hold.
pub(crate) fn file_set(key: &str, set: &FileSet, ranks: u32) -> Result<(), Refusal> {
    range(&format!("{key}.ranks"), set.ranks, ranks)?;
    let parts = set.ranks.map_or(ranks, |range| range.count);
    // Before the sizes, which follow from how ranks share files.
    let sharers = sharers(key, set, parts)?;
    let sizes = [
        ("files_per_rank", set.files_per_rank),
        ("transfer_bytes", set.transfer_bytes),
        ("block_bytes", set.block_bytes),
        ("segments", set.segments),
    ];
    for (name, value) in sizes {
        if value == 0 {
            return Err(Refusal::new(format!("{key}.{name}"), "0 moves no data", "use 1 or more"));
        }
    }
    if set.transfer_bytes > LARGEST_TRANSFER_BYTES {
        let problem = format!("a call cannot move {} bytes", set.transfer_bytes);
        let valid = format!("use at most {LARGEST_TRANSFER_BYTES} (1 GiB)");
        return Err(Refusal::new(format!("{key}.transfer_bytes"), problem, valid));
    }
    multiple(&format!("{key}.block_bytes"), set.block_bytes, set.transfer_bytes, "the transfer,")?;
    let file = set.block_bytes.checked_mul(set.segments).and_then(|bytes| bytes.checked_mul(sharers));
    let file = file.and_then(|bytes| bytes.checked_add(set.offset_bytes));
    let files = (u64::from(parts) / sharers).checked_mul(set.files_per_rank);
    let all = file.and_then(|file| file.checked_mul(files?));
    countable(&format!("{key}.segments"), "the files add up to", all.unwrap_or(u64::MAX))?;
    if let Payload::Reducible { zero_percent, duplicate_percent } = set.payload {
        percent(&format!("{key}.payload.zero_percent"), zero_percent, 0, 100)?;
        percent(&format!("{key}.payload.duplicate_percent"), duplicate_percent, 0, 100)?;
    }
    Ok(())
}

/// Refuses a file set that the storage API cannot keep.
pub(crate) fn kept(key: &str, set: &FileSet, geometry: &Geometry, storage: &JobStorage<'_>) -> Result<(), Refusal> {
    let api = &storage.asked.api;
    let refuse = |name: &str, problem: String, valid: String| {
        Err(storage.blame("api", Refusal::new(format!("{key}.{name}"), problem, valid)))
    };
    if storage.can.whole_files && (set.block_bytes != set.transfer_bytes || set.segments != 1) {
        let problem = format!("{api} writes each file of this target in a single transfer");
        let valid = format!("use block_bytes {}, 1 segment and more files", set.transfer_bytes);
        return refuse("block_bytes", problem, valid);
    }
    let parts = geometry.transfers_per_file;
    if let Some(can) = storage.can.parts.filter(|_| parts > 1) {
        if set.transfer_bytes < can.smallest_bytes {
            let problem = format!(
                "each transfer is a part of an object, and this storage refuses parts of {}",
                Bytes(set.transfer_bytes).about()
            );
            let smallest = Bytes(can.smallest_bytes).about();
            return refuse("transfer_bytes", problem, format!("use at least {smallest}, or files of one transfer"));
        }
        if parts > can.most {
            let problem = format!("an object would have {parts} parts, one for each transfer");
            let valid = format!("use larger transfers or smaller files: at most {} parts", can.most);
            return refuse("transfer_bytes", problem, valid);
        }
    }
    if geometry.sharers > 1 && !storage.can.shared_files {
        let problem = format!("{api} does not support files shared by ranks");
        return refuse("layout", problem, "use N-N, or another storage API".to_owned());
    }
    Ok(())
}

/// Refuses what direct I/O cannot move where it moves multiples of `unit` bytes.
pub(crate) fn aligned(
    key: &str,
    plan: &Plan,
    work: &DataWork,
    storage: &JobStorage<'_>,
    unit: u64,
) -> Result<(), Refusal> {
    let sector = |key: String, value| multiple(&key, value, unit, "the sector size that direct I/O needs,");
    let (name, set) = (&work.files, &plan.files[&work.files]);
    for (size, value) in [("transfer_bytes", set.transfer_bytes), ("offset_bytes", set.offset_bytes)] {
        sector(format!("files.{name}.{size}"), value).map_err(|refusal| {
            let valid = format!("{}, or leave direct out", refusal.valid);
            storage.blame("direct", Refusal { valid, ..refusal })
        })?;
    }
    work.piece_bytes.map_or(Ok(()), |bytes| sector(format!("{key}.piece_bytes"), bytes))
}

/// All file sets together must be countable too.
pub(crate) fn all_file_sets(sets: &BTreeMap<String, FileSet>, ranks: u32) -> Result<(), Refusal> {
    let bytes = geometries(sets, ranks).map(|(_, set)| set.file_bytes * set.files()).fold(0, u64::saturating_add);
    countable("files", "the file sets add up to", bytes)
}

/// Refuses bytes that no table of results could hold; `have` says whose they are.
pub(crate) fn countable(key: &str, have: &str, bytes: u64) -> Result<(), Refusal> {
    if bytes <= LARGEST_CASE_BYTES {
        return Ok(());
    }
    // A saturated sum is no number to print.
    let about = if bytes == u64::MAX { "2^64 bytes or more".to_owned() } else { format!("{bytes} bytes") };
    let valid = format!("keep a case at or below {LARGEST_CASE_BYTES} bytes");
    Err(Refusal::new(key, format!("{have} {about}"), valid))
}

fn sharers(key: &str, set: &FileSet, parts: u32) -> Result<u64, Refusal> {
    match set.layout {
        Layout::FilePerRank => Ok(1),
        Layout::SharedFile => Ok(parts.into()),
        Layout::Groups(groups) if groups > 0 && parts.is_multiple_of(groups) => Ok((parts / groups).into()),
        Layout::Groups(groups) => {
            let problem = format!("{parts} ranks cannot be split into {groups} equal groups");
            let divisors: Vec<String> = (1..=parts.min(1 << 12))
                .filter(|&groups| parts.is_multiple_of(groups))
                .map(|d| d.to_string())
                .collect();
            Err(Refusal::new(format!("{key}.layout"), problem, format!("use one of {}", divisors.join(", "))))
        }
    }
}

fn multiple(key: &str, value: u64, unit: u64, what: &str) -> Result<(), Refusal> {
    if value.is_multiple_of(unit) {
        return Ok(());
    }
    let below = value - value % unit;
    let above = below.saturating_add(unit);
    let problem = format!("{value} is not a multiple of {what} {unit} bytes");
    let valid = if below == 0 { format!("use {above}") } else { format!("use {below} or {above}") };
    Err(Refusal::new(key, problem, valid))
}

fn percent(key: &str, value: u8, lowest: u8, highest: u8) -> Result<(), Refusal> {
    if (lowest..=highest).contains(&value) {
        return Ok(());
    }
    Err(Refusal::new(key, format!("{value} % is out of range"), format!("use {lowest} to {highest}")))
}

/// Refuses work on a file set that contradicts itself or reads what is not there.
pub(crate) fn work(
    key: &str,
    plan: &Plan,
    job: &Job,
    work: &DataWork,
    storage: &JobStorage<'_>,
    filled: &mut BTreeMap<String, Filled>,
) -> Result<(), Refusal> {
    let Some(set) = plan.files.get(&work.files) else {
        let known: Vec<&str> = plan.files.keys().map(String::as_str).collect();
        let valid = format!("use one of: {}", known.join(", "));
        return Err(Refusal::new(format!("{key}.files"), format!("there is no file set {:?}", work.files), valid));
    };
    let ranks = plan.ranks.total().unwrap_or(0);
    let geometry = Geometry::of(set, ranks);
    let (members, can) = (job.range(ranks).count, &storage.can);
    kept(&format!("files.{}", work.files), set, &geometry, storage)?;
    order(key, work, set, &geometry)?;
    if let Source::Listed(list) = &work.source {
        listed(key, list, members, &geometry)?;
    }
    if work.barriers && (geometry.files_per_rank != 1 || members != ranks) {
        let problem = "barriers need all ranks in the job, with one file each";
        return Err(Refusal::new(format!("{key}.barriers"), problem, "leave it out, or use files_per_rank 1"));
    }
    if let Transfer::Mixed(read_percent) = work.transfer {
        percent(&format!("{key}.transfer.mixed"), read_percent, 1, 99)?;
    }
    limits(key, job, set, &geometry)?;
    options(key, work, storage)?;
    collective::work(key, plan, job, work, storage, &geometry)?;
    if work.transfer.writes() {
        writes(key, work, set, can, members, &geometry)?;
    }
    verification(key, work, set, can)?;
    pieces(key, plan, work, set)?;
    let filled = filled.entry(work.files.clone()).or_insert_with(|| vec![false; geometry.parts as usize]);
    if work.transfer.reads() {
        reads(key, plan, work, can, members, filled)?;
    }
    // A limit leaves a beginning that can be read back, but only what has full coverage leaves no holes.
    if work.transfer == Transfer::Write && work.order.covers() {
        filled.iter_mut().take(members as usize).for_each(|part| *part = true);
    }
    Ok(())
}

fn listed(key: &str, list: &[u32], members: u32, geometry: &Geometry) -> Result<(), Refusal> {
    if list.len() == members as usize && list.iter().all(|&part| part < geometry.parts) {
        return Ok(());
    }
    let valid = format!("list one part, from 0 to {}, for each of {members} ranks", geometry.parts - 1);
    Err(Refusal::new(
        format!("{key}.source.listed"),
        format!("the list does not name a valid part for each rank ({} parts)", list.len()),
        valid,
    ))
}

fn order(key: &str, work: &DataWork, set: &FileSet, geometry: &Geometry) -> Result<(), Refusal> {
    match work.order {
        Order::IorShuffled(_) if geometry.files_per_rank != 1 => {
            let problem = format!("this order does not work with {} files per rank", geometry.files_per_rank);
            Err(Refusal::new(
                format!("{key}.order.ior-shuffled"),
                problem,
                "use one file per rank, as IOR does, or the order random",
            ))
        }
        Order::IorShuffled(_) if geometry.transfers_per_segment() > u32::MAX.into() => {
            let problem =
                format!("{} transfers in a segment are too many to shuffle", geometry.transfers_per_segment());
            Err(Refusal::new(
                format!("{key}.order.ior-shuffled"),
                problem,
                "use the order random, which needs no list of transfers",
            ))
        }
        Order::IorShuffled(_) => Ok(()),
        Order::IorDrawn(_) if work.transfer != Transfer::Read || work.verify.is_some() => {
            let problem = "this order draws blocks from the whole file, whichever rank they belong to";
            Err(Refusal::new(format!("{key}.order.ior-drawn"), problem, "use it for reads without verify only"))
        }
        Order::IorDrawn(_) if geometry.files_per_rank != 1 => {
            let problem = format!("this order does not work with {} files per rank", geometry.files_per_rank);
            Err(Refusal::new(
                format!("{key}.order.ior-drawn"),
                problem,
                "use one file per rank, or the order random-with-replacement",
            ))
        }
        Order::IorDrawn(blocks) if blocks == 0 || blocks.checked_mul(set.block_bytes).is_none() => {
            let problem = format!("{blocks} blocks of {} bytes cannot be drawn", set.block_bytes);
            Err(Refusal::new(format!("{key}.order.ior-drawn"), problem, "use the number of whole blocks in the file"))
        }
        Order::IorDrawn(_) => Ok(()),
        Order::Strided(stride) => positive(&format!("{key}.order.strided"), stride),
        Order::Zipf(exponent) if !(exponent > 0.0 && exponent <= 10.0) => Err(Refusal::new(
            format!("{key}.order.zipf"),
            format!("an exponent of {exponent} is out of range"),
            "use more than 0, up to 10",
        )),
        Order::HotSpot { transfers_percent, operations_percent } => {
            percent(&format!("{key}.order.hot-spot.transfers_percent"), transfers_percent, 1, 99)?;
            percent(&format!("{key}.order.hot-spot.operations_percent"), operations_percent, 1, 99)
        }
        Order::Zipf(_) | Order::Sequential | Order::Backward | Order::Random | Order::RandomWithReplacement => Ok(()),
    }
}

fn limits(key: &str, job: &Job, set: &FileSet, geometry: &Geometry) -> Result<(), Refusal> {
    let key = key.trim_end_matches(".work");
    if let Some(bytes) = job.limit.bytes_per_rank {
        multiple(&format!("{key}.limit.bytes_per_rank"), bytes, set.transfer_bytes, "the transfer,")?;
        if bytes > geometry.part_bytes() && job.limit.minimum_ns.is_none() {
            let problem = format!("{bytes} bytes are more than each rank's {} bytes", geometry.part_bytes());
            let valid = format!("use at most {}, or set limit.minimum_ns to repeat the I/O", geometry.part_bytes());
            return Err(Refusal::new(format!("{key}.limit.bytes_per_rank"), problem, valid));
        }
    }
    Ok(())
}

/// What the storage API must be able to do.
fn options(key: &str, work: &DataWork, storage: &JobStorage<'_>) -> Result<(), Refusal> {
    let (asked, can) = (storage.asked, &storage.can);
    let api = &asked.api;
    let cannot = |name: &str, what: String, valid: &str| Err(Refusal::new(format!("{key}.{name}"), what, valid));
    let leave = "leave it out, or use another storage API";
    if work.fsync != Fsync::Never && work.transfer.writes() && !can.sync {
        return cannot("fsync", format!("{api} cannot force data to stable storage"), "use never");
    }
    if let Fsync::EveryWrites(writes) = work.fsync {
        positive(&format!("{key}.fsync.every-writes"), writes)?;
        if !can.rewrites {
            let problem = format!("{api} stores a file only once it is written completely");
            return cannot("fsync", problem, "use at-close");
        }
        if asked.depth > 1 {
            let problem = format!("an fsync between writes is not possible with {} transfers in flight", asked.depth);
            return cannot("fsync", problem, "use storage.depth 1, or at-close");
        }
    }
    if work.lock.is_some() && !can.locks {
        return cannot("lock", format!("{api} cannot lock files"), leave);
    }
    if work.lock.is_some() && asked.depth > 1 {
        return cannot(
            "lock",
            "transfers cannot be locked one by one while several are in flight".to_owned(),
            "use storage.depth 1",
        );
    }
    if work.size.is_some() && !can.sizes {
        return cannot("size", format!("{api} cannot set a file's size before it is written"), leave);
    }
    if work.size.is_some() && !work.transfer.writes() {
        return cannot("size", "a job that only reads does not set file sizes".to_owned(), "leave it out");
    }
    for advice in &work.advice {
        if !can.advice.contains(advice) {
            let known: Vec<String> = can.advice.iter().map(name_of).collect();
            let valid = if known.is_empty() { leave.to_owned() } else { format!("use any of: {}", known.join(", ")) };
            return cannot("advice", format!("{api} does not support the advice {}", name_of(advice)), &valid);
        }
    }
    Ok(())
}

fn name_of(advice: &Advice) -> String {
    serde_json::to_value(advice).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

fn writes(
    key: &str,
    work: &DataWork,
    set: &FileSet,
    can: &Capabilities,
    members: u32,
    geometry: &Geometry,
) -> Result<(), Refusal> {
    let refuse =
        |name: &str, problem: String, valid: String| Err(Refusal::new(format!("{key}.{name}"), problem, valid));
    if members > geometry.parts {
        let problem = format!("{members} ranks would write {} parts, some of them more than once", geometry.parts);
        return refuse("files", problem, format!("use at most {} ranks for the job", geometry.parts));
    }
    if work.source != Source::Own {
        return refuse("source", "each rank writes only its own part".to_owned(), "leave it out".to_owned());
    }
    if work.size == Some(SizeAtOpen::Empty) && set.layout != Layout::FilePerRank {
        let problem =
            "ranks open a shared file at different times, so the last one would truncate what others wrote".to_owned();
        return refuse("size", problem, "use full or preallocated, or N-N".to_owned());
    }
    if !can.rewrites && (work.order != Order::Sequential || work.transfer != Transfer::Write) {
        let problem = "the storage API writes each file once, from start to end".to_owned();
        return refuse("order", problem, "write in sequential order".to_owned());
    }
    if !can.rewrites && work.verify == Some(Verify::Writes) && geometry.transfers_per_file > 1 {
        let problem = "files of this storage API can be read only once they are written completely".to_owned();
        return refuse("verify", problem, "use verify reads in a phase that reads".to_owned());
    }
    if !can.rewrites && set.offset_bytes > 0 {
        let problem = "the storage API does not support holes in files".to_owned();
        return refuse("files", problem, "use a file set with offset_bytes 0".to_owned());
    }
    Ok(())
}

fn verification(key: &str, work: &DataWork, set: &FileSet, can: &Capabilities) -> Result<(), Refusal> {
    let refuse = |problem: &str, valid: &str| Err(Refusal::new(format!("{key}.verify"), problem, valid));
    match work.verify {
        Some(Verify::Reads) if !work.transfer.reads() => refuse("the job reads nothing", "use writes, or leave it out"),
        Some(Verify::Writes) if !work.transfer.writes() => {
            refuse("the job writes nothing", "use reads, or leave it out")
        }
        Some(_) if !can.files => refuse("the storage API keeps nothing that could be compared", "leave it out"),
        Some(_) if set.payload == Payload::Zero {} => {
            refuse("zeros cannot be distinguished from a hole, so nothing would be verified", "use another payload")
        }
        Some(_) if set.payload == Payload::Repeated {} => {
            let problem =
                "each transfer of a rank holds the same bytes, so data that moved would pass the verification";
            refuse(problem, "use the payload unique")
        }
        Some(_) | None => Ok(()),
    }
}

/// Refuses reads in pieces of what was not written from its beginning on.
fn pieces(key: &str, plan: &Plan, work: &DataWork, set: &FileSet) -> Result<(), Refusal> {
    let Some(bytes) = work.piece_bytes else { return Ok(()) };
    let key = format!("{key}.piece_bytes");
    let refuse = |problem: &str, valid: &str| Err(Refusal::new(key.clone(), problem, valid));
    positive(&key, bytes)?;
    if !set.transfer_bytes.is_multiple_of(bytes) {
        return refuse(
            &format!("{bytes} bytes do not divide the transfer of {} bytes", set.transfer_bytes),
            "use a divisor of the transfer",
        );
    }
    if work.transfer != Transfer::Read || work.verify.is_some() {
        return refuse(
            "writes and verified reads work on whole transfers only",
            "leave it out, or read without verify",
        );
    }
    let in_order =
        |job: &Job| kind_of(&job.work).writes_files(&work.files).is_none_or(|order| order == Order::Sequential);
    if matches!(work.order, Order::IorShuffled(_) | Order::IorDrawn(_)) || !plan.jobs().all(in_order) {
        return refuse("the files are not read or not written in ascending order", "write in sequential order");
    }
    Ok(())
}

fn reads(
    key: &str,
    plan: &Plan,
    work: &DataWork,
    can: &Capabilities,
    members: u32,
    filled: &Filled,
) -> Result<(), Refusal> {
    // An API that keeps nothing reads nothing back either.
    // What a user named may have been written at any time; whether it is there is seen when it is opened.
    if !can.files || matches!(plan.target, Target::InPlace(_)) {
        return Ok(());
    }
    let all = filled.iter().all(|&part| part);
    let own_parts = work.source == Source::Own && filled.iter().take(members as usize).all(|&part| part);
    if all || own_parts {
        return Ok(());
    }
    let problem = "the job reads files that no earlier phase writes in full";
    Err(Refusal::new(
        key,
        problem,
        "add an earlier write phase, with as many ranks, whose order covers each transfer once",
    ))
}
