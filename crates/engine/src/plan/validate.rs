//! Every reason to refuse a plan before any I/O.

use std::collections::HashSet;

use ioassay_contract::plan::{Layout, Operation, Order, Phase, Plan, Step};

use super::Refusal;
use crate::storage;

/// The largest file offset that the system calls take.
const LARGEST_FILE_BYTES: u64 = i64::MAX as u64;

/// More ranks than this on one engine is a typing error.
const MOST_RANKS: u32 = 1 << 20;

/// Refuses a plan that cannot run anywhere.
pub fn validate(plan: &Plan) -> Result<(), Refusal> {
    identifier("run", &plan.run)?;
    identifier("case", &plan.case)?;
    ranks(plan)?;
    sizes(plan)?;
    storage_api(plan)?;
    steps(plan)?;
    if !(1_000_000..=3_600_000_000_000).contains(&plan.sample_interval_ns) {
        let problem = format!("a sample of {} ns", plan.sample_interval_ns);
        return Err(Refusal::new("sample_interval_ns", problem, "take 1000000 (1 ms) to 3600000000000 (1 h)"));
    }
    if !plan.target.directory.is_absolute() {
        let problem = format!("{} is relative", plan.target.directory.display());
        return Err(Refusal::new("target.directory", problem, "give the absolute path of an existing directory"));
    }
    Ok(())
}

/// Identifiers become file names: nothing that a path or a shell would take for more than letters.
fn identifier(key: &str, value: &str) -> Result<(), Refusal> {
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let fits = !value.is_empty() && value.len() <= 128 && !value.starts_with('.') && value.chars().all(letters);
    if fits {
        return Ok(());
    }
    let valid = "use 1 to 128 letters, digits, '.', '_' or '-', not beginning with '.'";
    Err(Refusal::new(key, format!("{value:?} is no identifier"), valid))
}

fn ranks(plan: &Plan) -> Result<(), Refusal> {
    let counts = [("ranks.clients", plan.ranks.clients), ("ranks.per_client", plan.ranks.per_client)];
    for (key, count) in counts {
        if count == 0 {
            return Err(Refusal::new(key, "0 does no I/O", "take 1 or more"));
        }
    }
    match plan.ranks.total() {
        Some(total) if total <= MOST_RANKS => Ok(()),
        _ => {
            let problem = format!("{} clients with {} ranks each", plan.ranks.clients, plan.ranks.per_client);
            Err(Refusal::new("ranks", problem, format!("take at most {MOST_RANKS} ranks in all")))
        }
    }
}

fn sizes(plan: &Plan) -> Result<(), Refusal> {
    let data = &plan.data;
    for (key, value) in [
        ("data.transfer_bytes", data.transfer_bytes),
        ("data.block_bytes", data.block_bytes),
        ("data.segments", data.segments),
    ] {
        if value == 0 {
            return Err(Refusal::new(key, "0 moves nothing", "take 1 or more"));
        }
    }
    if data.transfer_bytes > 1 << 30 {
        // Linux moves at most 2 GiB - 4 KiB per call; beyond 1 GiB the buffers are what is measured.
        let problem = format!("{} bytes in one call", data.transfer_bytes);
        return Err(Refusal::new("data.transfer_bytes", problem, "take at most 1073741824 (1 GiB)"));
    }
    if !data.block_bytes.is_multiple_of(data.transfer_bytes) {
        let below = data.block_bytes - data.block_bytes % data.transfer_bytes;
        let above = below.saturating_add(data.transfer_bytes);
        let problem =
            format!("{} is not a multiple of the transfer of {} bytes", data.block_bytes, data.transfer_bytes);
        let valid = if below == 0 { format!("take {above}") } else { format!("take {below} or {above}") };
        return Err(Refusal::new("data.block_bytes", problem, valid));
    }
    let ranks = u64::from(plan.ranks.total().unwrap_or(u32::MAX));
    let sharers = if data.layout == Layout::SharedFile { ranks } else { 1 };
    let file = data.block_bytes.checked_mul(data.segments).and_then(|bytes| bytes.checked_mul(sharers));
    let file_set = data.block_bytes.checked_mul(data.segments).and_then(|bytes| bytes.checked_mul(ranks));
    match (file, file_set) {
        (Some(file), Some(_)) if file <= LARGEST_FILE_BYTES => Ok(()),
        _ => {
            let problem =
                format!("{} segments of blocks of {} bytes for {ranks} ranks", data.segments, data.block_bytes);
            let valid = format!("keep a file at or below {LARGEST_FILE_BYTES} bytes and all together below 2^64");
            Err(Refusal::new("data.segments", problem, valid))
        }
    }
}

fn storage_api(plan: &Plan) -> Result<(), Refusal> {
    let Some(api) = storage::by_name(&plan.storage.api) else {
        let valid = format!("take one of: {}", storage::names().join(", "));
        return Err(Refusal::new("storage.api", format!("{:?} is unknown", plan.storage.api), valid));
    };
    if plan.data.layout == Layout::SharedFile && !api.capabilities().shared_files {
        let problem = format!("{} cannot share a file among ranks", plan.storage.api);
        return Err(Refusal::new("data.layout", problem, "take N-N, or another storage API"));
    }
    Ok(())
}

fn steps(plan: &Plan) -> Result<(), Refusal> {
    let mut names = HashSet::new();
    let mut written = false;
    for (index, step) in plan.steps.iter().enumerate() {
        let key = |rest: &str| format!("steps[{index}]{rest}");
        match step {
            Step::Phase(phase) => {
                identifier(&key(".name"), &phase.name)?;
                if !names.insert(&phase.name) {
                    let problem = format!("two phases are called {:?}", phase.name);
                    return Err(Refusal::new(key(".name"), problem, "give each phase a name of its own"));
                }
                written |= fills_every_file(phase);
                if phase.operation == Operation::Read && !written {
                    let problem = "reads what no phase before it has written in full";
                    return Err(Refusal::new(key(""), problem, "put a sequential or random write phase before it"));
                }
            }
            Step::ColdCache { attempts } => {
                let distinct: HashSet<_> = attempts.iter().collect();
                if attempts.is_empty() || distinct.len() != attempts.len() {
                    let valid = "name one or more of drop-caches, fadvise, read-other-rank, each once";
                    return Err(Refusal::new(key(".attempts"), format!("{attempts:?}"), valid));
                }
            }
            Step::Pause { duration_ns } if *duration_ns > 86_400_000_000_000 => {
                let problem = format!("a pause of {duration_ns} ns");
                return Err(Refusal::new(key(".duration_ns"), problem, "take at most 86400000000000 (a day)"));
            }
            Step::Pause { .. } => {}
        }
    }
    if names.is_empty() {
        return Err(Refusal::new("steps", "there is no phase, so nothing is measured", "add a phase"));
    }
    Ok(())
}

/// Only a write with full coverage leaves files without holes.
fn fills_every_file(phase: &Phase) -> bool {
    phase.operation == Operation::Write && phase.order != Order::RandomWithReplacement
}
