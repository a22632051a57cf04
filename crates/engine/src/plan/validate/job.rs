//! Limits, rates and think times.

use ioassay_contract::plan::pace::Rate;
use ioassay_contract::plan::{Job, Work};

use super::{A_DAY_NS, positive};
use crate::plan::Refusal;

/// Refuses limits and rates that cannot be kept.
pub(super) fn pace(key: &str, job: &Job) -> Result<(), Refusal> {
    let limit = &job.limit;
    let durations = [("stonewall_ns", limit.stonewall_ns), ("minimum_ns", limit.minimum_ns)];
    for (name, duration_ns) in durations.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        let key = format!("{key}.limit.{name}");
        positive(&key, duration_ns)?;
        if duration_ns > A_DAY_NS {
            return Err(Refusal::new(key, format!("{duration_ns} ns"), format!("take at most {A_DAY_NS} (a day)")));
        }
    }
    let counts = [("bytes_per_rank", limit.bytes_per_rank), ("operations_per_rank", limit.operations_per_rank)];
    for (name, count) in counts.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        positive(&format!("{key}.limit.{name}"), count)?;
    }
    if limit.wear_out && limit.stonewall_ns.is_none() {
        let problem = "there is no stonewall after which ranks could wear out";
        return Err(Refusal::new(format!("{key}.limit.wear_out"), problem, "give limit.stonewall_ns as well"));
    }
    if let (Some(minimum_ns), Some(stonewall_ns)) = (limit.minimum_ns, limit.stonewall_ns)
        && minimum_ns > stonewall_ns
    {
        let problem = format!("{minimum_ns} ns is more than the stonewall of {stonewall_ns} ns");
        let valid = format!("take at most {stonewall_ns}");
        return Err(Refusal::new(format!("{key}.limit.minimum_ns"), problem, valid));
    }
    match job.rate {
        Some(Rate::BytesPerS(rate)) => positive(&format!("{key}.rate.bytes_per_s"), rate)?,
        Some(Rate::OperationsPerS(rate)) => positive(&format!("{key}.rate.operations_per_s"), rate)?,
        None => {}
    }
    if let Some(think) = job.think {
        positive(&format!("{key}.think.every_operations"), think.every_operations)?;
        positive(&format!("{key}.think.duration_ns"), think.duration_ns)?;
        if think.duration_ns > A_DAY_NS {
            let problem = format!("{} ns", think.duration_ns);
            let valid = format!("take at most {A_DAY_NS} (a day)");
            return Err(Refusal::new(format!("{key}.think.duration_ns"), problem, valid));
        }
    }
    only_for_data(key, job)
}

/// Entries have no bytes to count by, and a walk ends when there is nothing left to visit.
fn only_for_data(key: &str, job: &Job) -> Result<(), Refusal> {
    let kind = match job.work {
        Work::Data(_) => return Ok(()),
        Work::Metadata(_) => "metadata",
        Work::Find(_) => "find",
    };
    let refuse = |name: &str, valid: &str| {
        Err(Refusal::new(format!("{key}.{name}"), format!("work of the kind {kind} has none"), valid))
    };
    if job.limit.bytes_per_rank.is_some() {
        return refuse("limit.bytes_per_rank", "take limit.operations_per_rank");
    }
    if job.limit.minimum_ns.is_some() {
        return refuse("limit.minimum_ns", "take more items");
    }
    if matches!(job.rate, Some(Rate::BytesPerS(_))) {
        return refuse("rate.bytes_per_s", "take rate.operations_per_s");
    }
    if kind == "find" && !job.limit.is_none() {
        return refuse("limit", "leave it out: a walk visits every entry");
    }
    if kind == "find" && (job.rate.is_some() || job.think.is_some()) {
        return refuse("rate", "leave rate and think out: a walk goes as fast as it can");
    }
    Ok(())
}
