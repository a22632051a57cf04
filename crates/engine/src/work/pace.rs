//! Limits, rates and think times.

use ioassay_protocol::plan::pace::{AtRateOf, Rate};
use ioassay_protocol::plan::{Job, Plan, Step};

use super::checks::{A_DAY_NS, positive};
use super::{PacingSupport, kind_of};
use crate::refusal::Refusal;

/// Refuses limits and rates that cannot be kept by a job in step `step`.
pub(crate) fn pace(key: &str, plan: &Plan, job: &Job, step: usize) -> Result<(), Refusal> {
    let limit = &job.limit;
    if let Some(earlier) = limit.at_rate_of {
        at_rate_of(&format!("{key}.limit.at_rate_of"), plan, step, earlier)?;
    }
    let durations = [("stonewall_ns", limit.stonewall_ns), ("minimum_ns", limit.minimum_ns)];
    for (name, duration_ns) in durations.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        duration(&format!("{key}.limit.{name}"), duration_ns)?;
    }
    let counts = [("bytes_per_rank", limit.bytes_per_rank), ("operations_per_rank", limit.operations_per_rank)];
    for (name, count) in counts.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        positive(&format!("{key}.limit.{name}"), count)?;
    }
    if limit.wear_out && limit.stonewall_ns.is_none() {
        let problem = "wear_out needs a stonewall";
        return Err(Refusal::new(format!("{key}.limit.wear_out"), problem, "set limit.stonewall_ns as well"));
    }
    if let (Some(minimum_ns), Some(stonewall_ns)) = (limit.minimum_ns, limit.stonewall_ns)
        && minimum_ns > stonewall_ns
    {
        let problem = format!("{minimum_ns} ns is longer than the stonewall of {stonewall_ns} ns");
        let valid = format!("use at most {stonewall_ns} ns");
        return Err(Refusal::new(format!("{key}.limit.minimum_ns"), problem, valid));
    }
    match job.rate {
        Some(Rate::BytesPerS(rate)) => positive(&format!("{key}.rate.bytes_per_s"), rate)?,
        Some(Rate::OperationsPerS(rate)) => positive(&format!("{key}.rate.operations_per_s"), rate)?,
        None => {}
    }
    if let Some(think) = job.think {
        positive(&format!("{key}.think.every_operations"), think.every_operations)?;
        duration(&format!("{key}.think.duration_ns"), think.duration_ns)?;
    }
    supported(key, job)
}

/// A time that must not be 0, nor longer than anything waits.
pub(crate) fn duration(key: &str, duration_ns: u64) -> Result<(), Refusal> {
    positive(key, duration_ns)?;
    if duration_ns > A_DAY_NS {
        return Err(Refusal::new(
            key,
            format!("{duration_ns} ns is too long"),
            format!("use at most {A_DAY_NS} (a day)"),
        ));
    }
    Ok(())
}

/// The rate of an earlier job must be one that a later job could have.
fn at_rate_of(key: &str, plan: &Plan, step: usize, earlier: AtRateOf) -> Result<(), Refusal> {
    duration(&format!("{key}.duration_ns"), earlier.duration_ns)?;
    let refuse = |problem: String, valid: &str| Err(Refusal::new(format!("{key}.step"), problem, valid));
    let there = plan.steps.get(..step).and_then(|before| before.get(earlier.step as usize));
    let Some(Step::Phase(phase)) = there else {
        return refuse(format!("step {} is not an earlier phase", earlier.step), "use the index of an earlier phase");
    };
    let [job] = &phase.jobs[..] else {
        return refuse(format!("{} has {} jobs", phase.name, phase.jobs.len()), "use a phase with one job");
    };
    if kind_of(&job.work).has_several_rates() {
        return refuse(
            format!("{} mixes several kinds of operations", phase.name),
            "use a phase with one kind of operation",
        );
    }
    Ok(())
}

/// Refuses limits and rates that a kind of work cannot keep.
fn supported(key: &str, job: &Job) -> Result<(), Refusal> {
    let kind = kind_of(&job.work);
    let support = kind.pacing();
    if support == PacingSupport::Any {
        return Ok(());
    }
    let refuse = |name: &str, valid: &str| {
        Err(Refusal::new(format!("{key}.{name}"), format!("{} work does not support this", kind.name()), valid))
    };
    if job.limit.bytes_per_rank.is_some() {
        return refuse("limit.bytes_per_rank", "use limit.operations_per_rank");
    }
    if job.limit.minimum_ns.is_some() {
        return refuse("limit.minimum_ns", "use more items");
    }
    if matches!(job.rate, Some(Rate::BytesPerS(_))) {
        return refuse("rate.bytes_per_s", "use rate.operations_per_s");
    }
    let PacingSupport::None { limit, rate } = support else { return Ok(()) };
    if !job.limit.is_none() {
        return refuse("limit", limit);
    }
    if job.rate.is_some() || job.think.is_some() {
        return refuse("rate", rate);
    }
    Ok(())
}
