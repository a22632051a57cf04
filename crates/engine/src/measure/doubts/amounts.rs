//! Doubts about amounts: too little was done, or in too short a time, or not at once.

use ioassay_protocol::doubt::{Doubt, Reason};
use ioassay_protocol::events::{PhaseRecord, RankRecord};
use ioassay_units::{Bytes, Nanoseconds, count};

use super::facts::{Facts, doubt, invalid};
use crate::plan::Sizes;
use crate::work::kind_of;

/// A phase shorter than this is dominated by start, finish and scheduling.
pub const SHORTEST_PHASE_NS: u64 = 1_000_000_000;

pub(super) fn failed(facts: Facts<'_>) -> Option<Doubt> {
    let failure = facts.failure?;
    let message = format!("the phase ended with an error: {}", failure.message);
    invalid(Reason::Failed { error: failure.message.clone() }, message, &failure.remedy)
}

pub(super) fn missing_bytes(facts: Facts<'_>) -> Option<Doubt> {
    let (moved_bytes, planned_bytes) = (facts.record.bytes, facts.plan.moved_bytes(facts.job));
    if facts.record.complete || facts.failure.is_some() || facts.data().is_none() {
        return None;
    }
    let message =
        format!("only {} of the planned {} were moved", Bytes(moved_bytes).about(), Bytes(planned_bytes).about());
    invalid(Reason::MissingBytes { moved_bytes, planned_bytes }, message, "repeat the case and let it finish")
}

pub(super) fn nothing_done(facts: Facts<'_>) -> Option<Doubt> {
    let duration_ns = facts.record.duration_ns;
    let may_do_none = kind_of(&facts.job.work).may_do_none(facts.plan, facts.record.operation);
    if may_do_none || facts.record.operations > 0 || facts.failure.is_some() || missing_bytes(facts).is_some() {
        return None;
    }
    let duration = Nanoseconds(duration_ns).about();
    let message = format!("no operation completed in {duration}: a rate of 0 says nothing about the storage");
    let remedy = "allow more time or operations (stonewall, limit, rate), or check that there are files to work on";
    invalid(Reason::NothingDone { duration_ns }, message, remedy)
}

/// Of the rank that was suspended longest.
pub(super) fn suspended(facts: Facts<'_>) -> Option<Doubt> {
    let lasted = |rank: &RankRecord| {
        rank.suspended.iter().map(|suspension| suspension.end_ns - suspension.begin_ns).sum::<u64>()
    };
    let rank = facts.record.ranks.iter().filter(|rank| !rank.suspended.is_empty()).max_by_key(|rank| lasted(rank))?;
    let (suspended_ns, begin_ns, times) = (lasted(rank), rank.suspended[0].begin_ns, rank.suspended.len() as u32);
    let [suspended, begin] = [suspended_ns, begin_ns].map(|ns| Nanoseconds(ns).about());
    let message = match times {
        1 => format!("the run was suspended for {suspended}, from {begin} into the phase"),
        _ => format!("the run was suspended {times} times for {suspended} in all, first {begin} into the phase"),
    };
    let remedy = "run again, and let nothing suspend it: Ctrl-Z, SIGSTOP, a frozen control group, a batch system that \
                  suspends jobs, a paused or sleeping machine";
    invalid(Reason::Suspended { suspended_ns, begin_ns, times }, message, remedy)
}

/// Fewer samples than this in which nothing ended may be one slow operation.
const STALLED_SAMPLES: usize = 2;

/// Of the longest time in which no rank ended an operation. A run that was suspended has no such time of its own, and where
/// users think or ranks compute in between it tells nothing of the storage.
pub(super) fn stalled(facts: Facts<'_>) -> Option<Doubt> {
    let PhaseRecord { ranks, sample_interval_ns, .. } = facts.record;
    if ranks.iter().any(|rank| !rank.suspended.is_empty()) || kind_of(&facts.job.work).is_paced_by().is_some() {
        return None;
    }
    let count = ranks.iter().map(|rank| rank.sample_operations.len()).max()?;
    let ended = |sample: usize| ranks.iter().any(|rank| rank.sample_operations.get(sample).is_some_and(|&all| all > 0));
    let busy: Vec<usize> = (0..count).filter(|&sample| ended(sample)).collect();
    let (before, after) =
        busy.windows(2).map(|pair| (pair[0], pair[1])).max_by_key(|&(before, after)| after - before)?;
    let samples = after - before - 1;
    let stalled_ns = samples as u64 * sample_interval_ns;
    let slowest_ns = ranks.iter().map(|rank| rank.slowest_ns).max()?;
    // Who waits for a rate that the plan sets, or for its turn, is not stalled; nor is an operation that always takes so long.
    if samples < STALLED_SAMPLES || slowest_ns < stalled_ns || facts.median_ns.saturating_mul(10) > stalled_ns {
        return None;
    }
    let begin_ns = (before as u64 + 1) * sample_interval_ns;
    let message = format!(
        "no operation of any rank ended from {} to {} into the phase: the storage, or what leads to it, stalled, and the \
         slowest operation took {}",
        Nanoseconds(begin_ns).about(),
        Nanoseconds(begin_ns + stalled_ns).about(),
        Nanoseconds(slowest_ns).about(),
    );
    let remedy = "look for that time in the kernel's log and those of the servers; the rate includes the stall";
    doubt(Reason::Stalled { stalled_ns, begin_ns, slowest_ns }, message, remedy)
}

pub(super) fn short_phase(facts: Facts<'_>) -> Option<Doubt> {
    let (duration_ns, wanted_ns) = (facts.record.duration_ns, SHORTEST_PHASE_NS);
    if duration_ns >= wanted_ns {
        return None;
    }
    let message = format!("the phase took only {}", Nanoseconds(duration_ns).about());
    let remedy = if facts.record.stonewall.is_some() {
        "raise the stonewall, which ended the phase"
    } else {
        kind_of(&facts.job.work).longer_remedy()
    };
    doubt(Reason::ShortPhase { duration_ns, wanted_ns }, message, remedy)
}

pub(super) fn short_transfers(facts: Facts<'_>) -> Option<Doubt> {
    let calls = facts.record.ranks.iter().map(|rank| rank.short_transfers).sum();
    if calls == 0 {
        return None;
    }
    let message = format!("{} moved fewer bytes than requested; further calls moved the rest", count(calls, "call"));
    doubt(Reason::ShortTransfers { calls }, message, "check for a full device, a signal, or a file system limit")
}

#[cfg(test)]
mod tests {
    use ioassay_protocol::events::{Stonewall, Suspension};
    use ioassay_protocol::plan::{Operation, Plan, Step};
    use serde_json::json;

    use super::super::given;
    use super::*;
    use crate::measure::records;

    fn plan() -> Plan {
        given::plan(2, json!("at-end"), json!({}))
    }

    /// Two ranks, suspended at these times.
    fn suspended_at(times: [&[(u64, u64)]; 2]) -> PhaseRecord {
        let of = |(rank, times): (u32, &[(u64, u64)])| RankRecord {
            suspended: times.iter().map(|&(begin_ns, end_ns)| Suspension { begin_ns, end_ns }).collect(),
            ..records::rank(rank)
        };
        records::phase("write", Operation::Write, (0..).zip(times).map(of).collect())
    }

    #[test]
    fn a_phase_that_was_suspended_is_invalid_and_says_when_and_how_long() {
        let (plan, second_ns) = (plan(), 1_000_000_000);
        let once = suspended_at([&[], &[(second_ns, 5 * second_ns)]]);
        let doubt = suspended(given::facts(&plan, &[], &once)).unwrap();
        assert!(doubt.invalidates);
        assert_eq!(doubt.reason, Reason::Suspended { suspended_ns: 4 * second_ns, begin_ns: second_ns, times: 1 });
        assert_eq!(doubt.message, "the run was suspended for 4.00 s, from 1.00 s into the phase");
        let twice = suspended_at([&[(1, 2)], &[(second_ns, 2 * second_ns), (3 * second_ns, 4 * second_ns)]]);
        let message = suspended(given::facts(&plan, &[], &twice)).unwrap().message;
        assert!(message.starts_with("the run was suspended 2 times for 2.00 s in all, first 1.00 s into"), "{message}");
        assert_eq!(suspended(given::facts(&plan, &[], &suspended_at([&[], &[]]))), None);
    }

    #[test]
    fn a_stall_is_a_time_in_which_nobody_ends_an_operation_and_somebody_waits_for_one() {
        let (plan, second_ns) = (plan(), 1_000_000_000);
        let phase = |slowest_ns, samples: [&[u64]; 2]| {
            let of = |(rank, samples): (u32, &[u64])| RankRecord {
                slowest_ns,
                sample_operations: samples.to_vec(),
                ..records::rank(rank)
            };
            records::phase("write", Operation::Write, (0..).zip(samples).map(of).collect())
        };
        let stall_of = |record: &PhaseRecord| stalled(given::facts(&plan, &[], record)).map(|doubt| doubt.reason);
        let stall = phase(5 * second_ns, [&[9, 0, 0, 0, 0, 9], &[9, 9, 0, 0, 0, 9]]);
        let reason = Reason::Stalled { stalled_ns: 3 * second_ns, begin_ns: 2 * second_ns, slowest_ns: 5 * second_ns };
        assert_eq!(stall_of(&stall), Some(reason));
        assert_eq!(stall_of(&phase(2 * second_ns, [&[9, 0, 0, 0, 0, 9], &[9, 9, 0, 0, 0, 9]])), None, "nobody waits");
        assert_eq!(stall_of(&phase(5 * second_ns, [&[9, 0, 0, 0, 0, 9], &[9, 9, 0, 1, 0, 9]])), None, "one works");
        assert_eq!(stall_of(&phase(9 * second_ns, [&[9, 9, 0, 0, 0, 0], &[9, 9, 0, 0, 0, 0]])), None, "the final sync");
        let slow = records::phase("write", Operation::Write, stall.ranks.clone());
        let facts = Facts { median_ns: second_ns, ..given::facts(&plan, &[], &slow) };
        assert_eq!(stalled(facts), None, "every operation takes long");
        let mut suspended = stall.clone();
        suspended.ranks[0].suspended = vec![Suspension { begin_ns: 2 * second_ns, end_ns: 5 * second_ns }];
        assert_eq!(stall_of(&suspended), None, "the run was suspended");
        let mut serving = plan.clone();
        let Step::Phase(phase) = &mut serving.steps[0] else { unreachable!("it has one phase") };
        phase.jobs[0].work = serde_json::from_value(json!({
            "kind": "kv-cache", "files": "data", "object_tokens": 16, "users": 2,
            "contexts": {"count": 3, "tokens": {"least": 16, "most": 64}, "exponent": 1.0},
            "turns": {"least": 1, "most": 3}, "prompt_tokens": {"least": 4, "most": 20},
            "answer_tokens": {"least": 4, "most": 20}, "prefill_tokens_per_s": 1000, "decode_tokens_per_s": 100,
            "think_ns": 0,
        }))
        .unwrap();
        assert_eq!(stalled(given::facts(&serving, &[], &stall)), None, "users think");
    }

    #[test]
    fn what_to_do_about_a_short_phase_depends_on_its_work_and_on_what_ended_it() {
        let data = plan();
        let mut items = data.clone();
        let Step::Phase(phase) = &mut items.steps[0] else { unreachable!("it has one phase") };
        phase.jobs[0].work = serde_json::from_value(json!({
            "kind": "metadata", "tree": "tree", "operation": {"kind": "stat"}, "order": "sequential", "paths": "full",
        }))
        .unwrap();
        let finished = suspended_at([&[], &[]]);
        let met = Stonewall { at_ns: 1, bytes: 1, operations: 1, least_operations: 1, most_operations: 1 };
        let stopped = PhaseRecord { stonewall: Some(met), ..finished.clone() };
        let remedy = |plan: &Plan, record: &PhaseRecord| short_phase(given::facts(plan, &[], record)).unwrap().remedy;
        assert!(remedy(&data, &finished).starts_with("move more data"));
        assert!(remedy(&items, &finished).starts_with("work on more items"));
        assert!(remedy(&data, &stopped).starts_with("raise the stonewall"));
    }
}
